# Licensed under the Apache License, Version 2.0; see LICENSE.

UP_FUZZ_PROGRAMS += build/fuzz/fuzz_uri_map

build/fuzz/fuzz_uri_map: fuzz/fuzz_uri_map.c exchange/uri_map.c \
    exchange/uri_map.h
	@mkdir -p $(@D)
	clang $(UP_CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ \
	    fuzz/fuzz_uri_map.c exchange/uri_map.c $(UP_APR_LIBS)

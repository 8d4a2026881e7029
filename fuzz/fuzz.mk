# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# Fuzzers of the pure layer: always clang, for libFuzzer.

UP_CFLAGS ?= -std=gnu11 -Wall -Wextra -Werror -O2 -g -I. \
    $(shell apr-1-config --cppflags --includes)
UP_APR_LIBS ?= $(shell apr-1-config --link-ld --libs)

UP_FUZZ_SANITIZE := -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -fno-omit-frame-pointer
UP_FUZZ_PURE := $(addprefix build/fuzz/fuzz_,status_parser body_decoder units \
    uri_map accel dns_ttl wsframes rewrite trailers request_head pass_url)
UP_FUZZ_PROGRAMS += $(UP_FUZZ_PURE)

build/fuzz/fuzz_status_parser: status_parser.c status_parser.h \
    exchange/framing.c exchange/framing.h config/units.h
build/fuzz/fuzz_body_decoder: exchange/body_decoder.c \
    exchange/body_decoder.h exchange/framing.h status_parser.h \
    config/units.c config/units.h
build/fuzz/fuzz_units: config/units.c config/units.h
build/fuzz/fuzz_uri_map: exchange/uri_map.c exchange/uri_map.h \
    config/units.c config/units.h
build/fuzz/fuzz_dns_ttl: config/dns_ttl.c config/dns_ttl.h
build/fuzz/fuzz_wsframes: exchange/wsframes.c exchange/wsframes.h \
    exchange/upgrade.c exchange/upgrade.h exchange/fields.c exchange/fields.h
build/fuzz/fuzz_rewrite: exchange/cookies.c exchange/cookies.h \
    exchange/redirects.c exchange/redirects.h
build/fuzz/fuzz_accel: exchange/accel.c exchange/accel.h exchange/fields.c \
    exchange/fields.h config/units.c config/units.h
build/fuzz/fuzz_trailers: exchange/body_decoder.c exchange/body_decoder.h \
    exchange/fields.c exchange/fields.h status_parser.c status_parser.h \
    exchange/framing.h config/units.c config/units.h
build/fuzz/fuzz_request_head: exchange/request_head.c \
    exchange/request_head.h config/expressions.c config/expressions.h \
    exchange/fields.c exchange/fields.h exchange/upgrade.c \
    exchange/upgrade.h exchange/forwarded.c exchange/mapped_fields.c \
    exchange/etags.c exchange/redirects.c exchange/uri_map.c config/units.c
build/fuzz/fuzz_pass_url: config/pass_url.c config/pass_url.h \
    config/address.c config/address.h exchange/uri_map.c exchange/uri_map.h \
    config/units.c config/units.h

$(UP_FUZZ_PURE): build/fuzz/%: fuzz/%.c fuzz/fuzz.h
	@mkdir -p $(@D)
	$(if $(V),,@echo '  $@';)clang $(UP_CFLAGS) $(UP_FUZZ_SANITIZE) \
	    -o $@ $(filter %.c,$^) $(UP_APR_LIBS)

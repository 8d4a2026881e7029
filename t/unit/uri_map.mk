# Licensed under the Apache License, Version 2.0; see LICENSE.
# Unit tests of the pure helpers of request and response heads.

UP_UNIT_PROGRAMS += build/unit/unit_uri_map build/unit/unit_fields

build/unit/unit_uri_map: exchange/uri_map.c exchange/uri_map.h \
    config/units.c config/units.h
build/unit/unit_fields: exchange/fields.c exchange/fields.h

build/unit/unit_uri_map build/unit/unit_fields: \
    build/unit/unit_%: t/unit/unit_%.c
	@mkdir -p $(@D)
	$(CC) $(UP_CFLAGS) $(ASAN_FLAGS) $(CFLAGS) -o $@ $(filter %.c,$^) \
	    $(LDFLAGS) -lcheck -lsubunit -lm -lpthread $(UP_APR_LIBS)

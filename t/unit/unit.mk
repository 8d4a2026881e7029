# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# build/unit/up_unit: one runner for the suites that up_unit.h names.
# UP_SANITIZE=1 builds it with the address and undefined behaviour sanitizers
# as build/unit-sanitize/up_unit.

UP_CFLAGS ?= -std=gnu11 -Wall -Wextra -Werror -O2 -g -I. \
    $(shell apr-1-config --cppflags --includes)
UP_APR_LIBS ?= $(shell apr-1-config --link-ld --libs)
UP_SANITIZE ?=

UP_UNIT_DIR := build/unit$(if $(UP_SANITIZE),-sanitize)
UP_UNIT_SOURCES := \
    $(addprefix t/unit/,up_unit.c up_case.c unit_status_parser.c \
        unit_framing.c unit_body_decoder.c unit_retry.c unit_trail.c \
        unit_units.c unit_uri_map.c unit_fields.c unit_wheel.c \
        unit_pace.c unit_range.c unit_codes.c unit_accel.c \
        unit_dns_ttl.c unit_error_type.c unit_upgrade.c unit_wsframes.c \
        unit_cookies.c unit_redirects.c unit_etags.c) \
    status_parser.c exchange/framing.c config/units.c config/codes.c \
    config/dns_ttl.c \
    drivers/wheel.c \
    $(addprefix exchange/,body_decoder.c error_type.c retry.c trail.c \
        uri_map.c fields.c \
        pace.c range.c accel.c upgrade.c wsframes.c cookies.c redirects.c \
        etags.c)
UP_UNIT_OBJECTS := $(UP_UNIT_SOURCES:%.c=$(UP_UNIT_DIR)/%.o)
UP_UNIT_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
UP_UNIT_FLAGS = $(UP_CFLAGS) $(if $(UP_SANITIZE),$(UP_UNIT_SANITIZE))
UP_UNIT_SAY = $(if $(V),,@echo '  $@';)
UP_UNIT_PROGRAMS += $(UP_UNIT_DIR)/up_unit

# Changes when compiler or flags do.
$(UP_UNIT_DIR)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(UP_UNIT_FLAGS)' | cmp -s - $@ \
	    || echo '$(CC) $(UP_UNIT_FLAGS)' > $@

$(UP_UNIT_DIR)/%.o: %.c $(UP_UNIT_DIR)/flags
	@mkdir -p $(@D)
	$(UP_UNIT_SAY)$(CC) $(UP_UNIT_FLAGS) \
	    $(shell pkg-config --cflags check) -MMD -MP -c -o $@ $<

$(UP_UNIT_DIR)/up_unit: $(UP_UNIT_OBJECTS)
	$(UP_UNIT_SAY)$(CC) $(UP_UNIT_FLAGS) -o $@ $^ \
	    $(shell pkg-config --libs check) $(UP_APR_LIBS)

-include $(UP_UNIT_OBJECTS:.o=.d)

# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# build/unit/up_transport: peers/ and transport/ against sockets of the
# loopback interface. `make unit-transport` runs it alone; UP_TRANSPORT_FLAGS
# adds flags to its build, such as -fsanitize=thread.

UP_TRANSPORT_FLAGS ?=
UP_TRANSPORT_SOURCES := \
    $(addprefix t/unit/,up_transport.c up_case.c balanced.c unit_bell.c \
        unit_health.c unit_roster.c unit_peers.c unit_conn.c unit_pool.c \
        unit_pool_keys.c unit_pool_threads.c unit_spool.c unit_zone.c \
        unit_ledger.c) \
    $(addprefix peers/,balancer.c balancer_round_robin.c bell.c health.c \
        peer.c queue.c roster.c tally.c zone.c counts.c ledger.c \
        shared_lock.c) \
    $(addprefix transport/,backend_conn.c backend_pool.c backend_shelf.c \
        backend_sweep.c spool.c) \
    config/address.c
UP_TRANSPORT_SOURCES += \
    $(addprefix t/unit/,unit_balancers.c unit_balancers_time.c) \
    $(addprefix peers/,balancer_least.c balancer_hash.c balancer_ketama.c \
        balancer_random.c balancer_least_time.c balancer_peak_ewma.c \
        hash_ring.c)
UP_TRANSPORT_OBJECTS := $(UP_TRANSPORT_SOURCES:%.c=build/unit/transport/%.o)
UP_TRANSPORT_BUILD = $(CC) $(UP_CFLAGS) $(UP_TRANSPORT_FLAGS) $(CFLAGS)
UP_UNIT_PROGRAMS += build/unit/up_transport

build/unit/transport/flags: FORCE
	@mkdir -p $(@D); echo '$(UP_TRANSPORT_BUILD)' | cmp -s - $@ \
	    || echo '$(UP_TRANSPORT_BUILD)' > $@

build/unit/transport/%.o: %.c build/unit/transport/flags
	@mkdir -p $(@D)
	$(UP_TRANSPORT_BUILD) -MMD -MP -c -o $@ $<

build/unit/up_transport: $(UP_TRANSPORT_OBJECTS)
	$(UP_TRANSPORT_BUILD) -o $@ $^ $(LDFLAGS) -lcheck -lsubunit -lm -lrt \
	    -lpthread -lz $(UP_APR_LIBS)

unit-transport: build/unit/up_transport
	$<

-include $(UP_TRANSPORT_OBJECTS:.o=.d)

.PHONY: unit-transport

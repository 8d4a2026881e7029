# Licensed under the Apache License, Version 2.0; see LICENSE.
#
#   make                       ./mod_upstream_proxy.so, flags asked from apxs
#   make install               apxs -i -a, or files alone below DESTDIR
#   make deb                   a Debian package below build/deb
#   make check                 everything that must hold (also .ci/run)
#   make test T="t/20-*.t"     Apache::Test suite or a part of it
#   make unit                  unit tests of the pure helpers
#   make lint                  static analysis: clang-tidy, cppcheck
#   make fuzz SECONDS=60       each fuzzer for that many seconds
#   make coverage               the suite, and how much of the source it runs
#   make check-asan            the suite with address and UB sanitizers
#   make stress SECONDS=60     hostile backends and clients; also stress-asan,
#                              stress-tsan
#   make bench, make demo, make clean
#
# CC=clang works with all of them, V=1 shows the commands. A fragment
# (t/unit/*.mk, fuzz/*.mk) names the programs it builds and has the rules for
# them; UP_CFLAGS and UP_APR_LIBS are there to be used:
#   UP_UNIT_PROGRAMS += build/unit/NAME     run without arguments
#   UP_FUZZ_PROGRAMS += build/fuzz/NAME     libFuzzer, seeds in
#                                           fuzz/corpus/NAME

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

MODULE := mod_upstream_proxy.so
APXS ?= apxs
SECONDS := 5
T :=

ifeq ($(origin CC),default)
CC := gcc
endif

# Nothing is asked from apxs before its package is there.
ifneq ($(shell command -v $(APXS)),)
APR_CONFIG := $(shell $(APXS) -q APR_CONFIG)
APU_CONFIG := $(shell $(APXS) -q APU_CONFIG)
APXS_FLAGS := $(shell $(APXS) -q CFLAGS) $(shell $(APXS) -q EXTRA_CPPFLAGS) \
    $(addprefix -isystem ,$(filter-out /usr/include, \
    $(shell $(APXS) -q INCLUDEDIR) $(patsubst -I%,%, \
    $(shell $(APR_CONFIG) --includes) $(shell $(APU_CONFIG) --includes))))
UP_APR_LIBS := $(shell $(APU_CONFIG) --link-ld --libs) \
    $(shell $(APR_CONFIG) --link-ld --libs)
endif

UP_CFLAGS := $(APXS_FLAGS) -std=gnu11 -Wall -Wextra -Werror \
    -fvisibility=hidden -O2 -g -I. -Ibuild/page
ASAN_FLAGS := -fsanitize=address,undefined -fno-omit-frame-pointer
COVERAGE_FLAGS := --coverage -fprofile-update=atomic \
    -Wl,--exclude-libs,libgcov.a
LIBS := -lcares -ljansson -lssl -lcrypto -lz -lm

SOURCES := $(wildcard *.c $(addsuffix /*.c, \
    config peers transport exchange drivers observe))

all: $(MODULE)

# --- the status page ------------------------------------------------------

PAGE := build/page/status_page.h

$(PAGE): tools/page $(addprefix observe/page/status.,html css js)
	@mkdir -p $(@D)
	@tools/page status_page $(filter-out tools/page,$^) > $@.$$$$ \
	    && mv $@.$$$$ $@

# --- variants -------------------------------------------------------------
# $(call variant,NAME,COMPILER,FLAGS): objects and module below build/NAME.
# Files are put in place by a rename, so that two makes at once do no harm;
# build/NAME/flags and build/NAME/link change when what they hold does.

Q = $(if $(V),,@echo '  $$@';)

define variant
$(1)_OBJECTS := $(SOURCES:%.c=build/$(1)/%.o)
$(1)_BUILD = $(2) $(UP_CFLAGS) $(3) -fPIC

build/$(1)/flags: FORCE
	@$$(call remember,$$($(1)_BUILD) $(CFLAGS))

build/$(1)/link: FORCE
	@$$(call remember,$(LDFLAGS) $(LIBS) $(SOURCES))

build/$(1)/observe/status.o: $(PAGE)

build/$(1)/%.o: %.c build/$(1)/flags
	@mkdir -p $$(@D)
	$(Q)$$($(1)_BUILD) $(CFLAGS) -MMD -MP -MF $$(@:.o=.d) -MT $$@ \
	    -c -o $$@.$$$$$$$$ $$< && mv $$@.$$$$$$$$ $$@

build/$(1)/$(MODULE): $$($(1)_OBJECTS) build/$(1)/link
	$(Q)$(2) $(3) -shared $(LDFLAGS) -o $$@.$$$$$$$$ $$($(1)_OBJECTS) $(LIBS) \
	    && mv $$@.$$$$$$$$ $$@

objects-$(1): $$($(1)_OBJECTS)
.PHONY: objects-$(1)

-include $$($(1)_OBJECTS:.o=.d)
endef

remember = mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@

MAIN := $(notdir $(firstword $(filter-out ccache,$(CC))))
$(foreach v,$(filter-out clang,$(MAIN)),$(eval $(call variant,$v,$(CC),)))
$(eval $(call variant,clang,clang,))
$(eval $(call variant,asan,gcc,$(ASAN_FLAGS)))
$(eval $(call variant,cov,gcc,$(COVERAGE_FLAGS)))

build/main: FORCE
	@$(call remember,$(MAIN))

$(MODULE): build/$(MAIN)/$(MODULE) build/main
	@cp $< $@.$$$$ && mv $@.$$$$ $@

objects: objects-$(MAIN) headers

# Every header compiles on its own, whatever was included before it.
HEADERS := $(wildcard *.h */*.h t/unit/*.h)

build/headers/%.o: %.h build/$(MAIN)/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo '  $@';)echo '#include "$<"' | $($(MAIN)_BUILD) \
	    -MMD -MP -MF $(@:.o=.d) -MT $@ -x c -c -o $@ -

headers: $(HEADERS:%.h=build/headers/%.o)

-include $(HEADERS:%.h=build/headers/%.d)

# Static analysis: what .clang-tidy and the line below ask for, no findings.
# A file is looked at again when it or a header of it has changed.
CPPCHECK := cppcheck --quiet --error-exitcode=1 --std=c11 -I. \
    --enable=warning,performance,portability --inline-suppr \
    --suppress=uninitvar
LINT := build/lint$(if $(QUICK),-quick)
LINTED := $(SOURCES:%.c=$(LINT)/%.ok)

# QUICK=1 leaves the clang analyzer out, which takes most of the time.
lint: $(LINTED)

$(LINT)/%.ok: %.c build/$(MAIN)/%.o .clang-tidy tools/lint.h
	@mkdir -p $(@D)
	$(if $(V),,@echo '  $@';)$(CPPCHECK) $<
	@clang-tidy --quiet $(if $(QUICK),--checks='-clang-analyzer-*') $< \
	    -- $(filter-out -O2 -Werror,$(UP_CFLAGS)) \
	    -include tools/lint.h > $@.$$$$ 2>&1 \
	    || { grep -v 'warnings* generated\|^Suppressed\|^Use -' $@.$$$$; \
	    rm -f $@.$$$$; exit 1; }; mv $@.$$$$ $@

# The example of a module that uses the hooks; t/220-hooks.t runs it.
EXAMPLE := build/examples/mod_upstream_example.so

$(EXAMPLE): docs/examples/mod_upstream_example.c mod_upstream_proxy.h
	@mkdir -p $(@D)
	$(if $(V),,@echo '  $@';)$(MAIN) $(UP_CFLAGS) \
	    -fvisibility=default -fPIC -shared -o $@.$$$$ $< && mv $@.$$$$ $@

examples: $(EXAMPLE)

# With DESTDIR the files alone: the configuration is the packager's.
install: $(MODULE)
ifeq ($(DESTDIR),)
	$(APXS) -i -a -n upstream_proxy $(MODULE)
endif
	install -d '$(DESTDIR)$(shell $(APXS) -q LIBEXECDIR)' \
	    '$(DESTDIR)$(shell $(APXS) -q INCLUDEDIR)'
	install -m 644 mod_upstream_proxy.h \
	    '$(DESTDIR)$(shell $(APXS) -q INCLUDEDIR)/'
ifneq ($(DESTDIR),)
	install -m 755 $(MODULE) '$(DESTDIR)$(shell $(APXS) -q LIBEXECDIR)/'
endif

# A Debian package; where it is, is the last line.
VERSION ?= 0.1.0
DEB := build/deb

deb: $(MODULE)
	@mkdir -p $(DEB)
	APXS='$(APXS)' tools/make-deb.sh $(DEB) $(VERSION)

# --- tests ----------------------------------------------------------------

-include $(wildcard t/unit/*.mk) $(wildcard fuzz/*.mk) t/stress/stress.mk

deps:
	tools/install-deps.sh

# A make of its own for each step: the first one may install apxs.
check:
	tools/install-deps.sh
	$(MAKE) all
	$(MAKE) build/clang/$(MODULE)
	$(MAKE) headers
	$(MAKE) -j2 lint QUICK=1
	$(MAKE) unit
	$(MAKE) fuzz SECONDS=4
	UP_JOBS=$${UP_JOBS:-3} $(MAKE) coverage
	$(MAKE) smoke

unit: $(UP_UNIT_PROGRAMS)
	@set -e; for program in $(UP_UNIT_PROGRAMS); do \
	    echo "== $$program"; $$program; done

# New inputs that libFuzzer finds are kept below build, not in the corpus.
fuzz: $(UP_FUZZ_PROGRAMS)
	@set -e; for program in $(UP_FUZZ_PROGRAMS); do \
	    echo "== $$program"; name=$${program##*/}; \
	    mkdir -p build/fuzz/found/$$name; \
	    $$program -max_total_time=$(SECONDS) -print_final_stats=1 \
	        -artifact_prefix=build/fuzz/$$name- \
	        build/fuzz/found/$$name $$(ls -d fuzz/corpus/$$name 2>&-); \
	done

test: $(MODULE) $(EXAMPLE)
	t/TEST $(T)

# The suite with a module that counts which of its lines are run.
coverage: build/cov/$(MODULE)
	rm -rf build/coverage
	UP_COVERAGE=$(CURDIR)/build/coverage UP_MODULE=$(CURDIR)/$< t/TEST $(T)
	tools/coverage build/coverage 85

# The suite is run with the event MPM; the others must work, too.
smoke: $(MODULE)
	UP_MPM=worker t/TEST t/20-smoke.t
	UP_MPM=prefork t/TEST t/20-smoke.t

check-asan: build/asan/$(MODULE)
	UP_MODULE=$(CURDIR)/$< \
	    UP_PRELOAD=$(shell gcc -print-file-name=libasan.so) t/TEST $(T)

bench:
	tools/install-deps.sh bench
	$(MAKE) all
	bench/run

demo:
	tools/install-deps.sh build
	$(MAKE) all
	demo/run

clean:
	rm -rf build $(MODULE)

FORCE:

.PHONY: all deb examples objects headers install deps check lint unit fuzz \
    test coverage \
    smoke check-asan bench demo clean FORCE

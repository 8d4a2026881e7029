# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# Hostile backends and clients, SECONDS at a time, with and without
# UpstreamAsyncDelay: `make stress SECONDS=60`. stress-asan and stress-tsan
# are the same with a sanitizer; httpd is not built with one, so tsan.supp
# leaves out what only httpd's own threads do to each other.

$(eval $(call variant,tsan,gcc,-fsanitize=thread -fno-omit-frame-pointer))

STRESS_ARGS :=
STRESS = set -e; for delay in 0 default; do t/stress/stress \
    --seconds $(SECONDS) --delay $$delay --module

stress: $(MODULE)
	@$(STRESS) $< $(STRESS_ARGS); done

stress-asan: build/asan/$(MODULE)
	@$(STRESS) $< --preload $$(gcc -print-file-name=libasan.so) \
	    $(STRESS_ARGS); done

stress-tsan: build/tsan/$(MODULE)
	@$(STRESS) $< --preload $$(gcc -print-file-name=libtsan.so) \
	    $(STRESS_ARGS); done

.PHONY: stress stress-asan stress-tsan

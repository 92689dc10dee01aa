# SPDX-License-Identifier: BSD-3-Clause
#
# Fuzzing with libFuzzer (clang): every tests/fuzz/<name>_fuzz.c becomes a program with everything below src/pmpi under
# address and undefined sanitizers, in a build folder of its own. `make fuzz` runs each for FUZZ_SECONDS from the
# corpus in tests/fuzz/corpus/<name>; where clang is missing it says so and passes.

FUZZ_CC      ?= clang
FUZZ_SECONDS ?= 10
FUZZ_BUILD   := build-fuzz
FUZZ_SRC     := $(wildcard tests/fuzz/*_fuzz.c)
FUZZ_SHARED  := $(filter-out $(FUZZ_SRC),$(wildcard tests/fuzz/*.c))
FUZZ_NAMES   := $(FUZZ_SRC:tests/fuzz/%_fuzz.c=%)
FUZZ_PROGS   := $(FUZZ_NAMES:%=$(FUZZ_BUILD)/%_fuzz)
FUZZ_CORE    := $(patsubst %.c,$(FUZZ_BUILD)/obj/%.o,$(CORE_SRC) $(ONESIDED_SRC) $(OFFLOAD_SRC))
FUZZ_ANALYZE := $(ANALYZE_SRC:%.c=$(FUZZ_BUILD)/obj/%.o) $(ANALYZE_MATCH:src/%.c=$(FUZZ_BUILD)/obj/analyze/%.o)
# Parsers of the command line's own, with what they lean on.
FUZZ_TOOLS   := $(patsubst %,$(FUZZ_BUILD)/obj/tools/%.o,info/reach_session info/reach info/host_facts volley/volley_plan \
                  launch/needed launch/program launch/places)
FUZZ_SAN     := address,undefined
# -w: gcc judges the same sources with warnings as errors.
FUZZ_CFLAGS  := -std=gnu17 -O1 -g -w -Isrc -I. -pthread -MMD -MP -fno-omit-frame-pointer -fno-sanitize-recover=all

.PHONY: fuzz fuzz-programs
fuzz:
	@if command -v $(FUZZ_CC) >/dev/null 2>&1; then \
	  $(MAKE) -s fuzz-programs && FUZZ_SECONDS=$(FUZZ_SECONDS) bash tests/fuzz/run.sh $(FUZZ_BUILD) $(FUZZ_NAMES); \
	else \
	  echo "$(FUZZ_CC) is missing: no fuzzing"; echo "0 passed, 0 failed, $(words $(FUZZ_NAMES)) skipped"; \
	fi

fuzz-programs: $(FUZZ_PROGS)

$(FUZZ_BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -c $< $(into_place)

$(ANALYZE_SRC:%.c=$(FUZZ_BUILD)/obj/%.o): FUZZ_CFLAGS += $(ANALYZE_FLAGS)

$(FUZZ_BUILD)/obj/analyze/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$<)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) $(ANALYZE_FLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -c $< $(into_place)

$(FUZZ_BUILD)/libcore.a: $(FUZZ_CORE) $(FUZZ_ANALYZE) $(FUZZ_TOOLS) $(FUZZ_SHARED:%.c=$(FUZZ_BUILD)/obj/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

$(FUZZ_BUILD)/%_fuzz: $(FUZZ_BUILD)/obj/tests/fuzz/%_fuzz.o $(FUZZ_BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,$(FUZZ_SAN) -o $(new) $^ $(STATIC_LIBS) -lz -pthread -ldl -lm && mv -f $(new) $@

.SECONDARY: $(FUZZ_SRC:%.c=$(FUZZ_BUILD)/obj/%.o)

-include $(FUZZ_CORE:.o=.d) $(FUZZ_ANALYZE:.o=.d) $(FUZZ_TOOLS:.o=.d) $(FUZZ_SRC:%.c=$(FUZZ_BUILD)/obj/%.d) $(FUZZ_SHARED:%.c=$(FUZZ_BUILD)/obj/%.d)

# SPDX-License-Identifier: BSD-3-Clause
#
# The analyzer of traces: the folders below tools/trace, a library of its own for the castoff command and its tests, with
# a matcher of its own that counts what it looks at (tools/trace/replay/matcher_names.h), under other names, so that both
# fit in one program.

ANALYZE_SRC   := $(wildcard tools/trace/*/*.c)
ANALYZE_MATCH := $(wildcard src/matching/*.c)
ANALYZE_OBJ   := $(ANALYZE_SRC:%.c=$(BUILD)/obj/%.o) $(ANALYZE_MATCH:src/%.c=$(BUILD)/obj/analyze/%.o)
ANALYZE_FLAGS := -include tools/trace/replay/matcher_names.h

$(ANALYZE_SRC:%.c=$(BUILD)/obj/%.o): ALL_CFLAGS += $(ANALYZE_FLAGS)
$(ANALYZE_SRC:%.c=$(BUILD)/obj/%.o): tools/trace/replay/matcher_names.h

$(BUILD)/obj/analyze/%.o: src/%.c tools/trace/replay/matcher_names.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(ANALYZE_FLAGS) -c $< $(into_place)

$(BUILD)/libanalyze.a: $(ANALYZE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# Their objects: mk/tests.mk
ANALYZE_UNIT := $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(wildcard tests/unit/tools/trace/analyze_*_test.c)))
$(ANALYZE_UNIT): $(BUILD)/tests/unit/libshared.a $(BUILD)/libanalyze.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

-include $(ANALYZE_OBJ:.o=.d)

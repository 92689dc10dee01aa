# SPDX-License-Identifier: BSD-3-Clause
#
# The castoff command, a folder for each of its subcommands, and the unit tests of its pure parts (statistics, model,
# launcher, ...): those link the tool's objects beside everything below src/pmpi. `make tool-tests` runs the shell tests
# of the command.

TOOLS_SRC := $(wildcard tools/*/*.c)
TOOLS_OBJ := $(TOOLS_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/castoff: $(TOOLS_OBJ) $(BUILD)/libanalyze.a $(BUILD)/libonesided.a $(BUILD)/liboffload.a $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) -pie -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -lz -pthread -ldl -lm && mv -f $(new) $@

# Pure parts for their unit tests, without main.
$(BUILD)/libtools.a: $(filter-out $(BUILD)/obj/tools/launch/castoff.o,$(TOOLS_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# The tests of tests/unit/tools, but for the analyzer's (mk/analyze.mk). Their objects: mk/tests.mk
TOOLS_UNIT := $(filter-out $(ANALYZE_UNIT),$(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(wildcard tests/unit/tools/*/*_test.c))))
$(TOOLS_UNIT): $(BUILD)/libtools.a $(BUILD)/libanalyze.a $(BUILD)/liboffload.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

# castoff(7) lists the settings as the program has them; a test fails when it does not.
.PHONY: man
man: $(BUILD)/castoff
	$(Q){ cat docs/man/castoff.7.head; $(BUILD)/castoff info --man; cat docs/man/castoff.7.tail; } >docs/man/castoff.7

.PHONY: tool-tests
tool-tests: tools lib bench-programs examples
	@for script in tests/tools/*_test.sh; do echo "== $$script"; sh $$script || exit 1; done

-include $(TOOLS_OBJ:.o=.d)

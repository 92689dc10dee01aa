# SPDX-License-Identifier: BSD-3-Clause
#
# The castoff command, a folder for each of its subcommands, and the unit tests of its pure parts (statistics, model,
# launcher, ...): those link the tool's objects beside everything below src/pmpi. `make tool-tests` runs the shell tests
# of the command.

CASTOFF_VERSION := 0.1.0
MPI_VERSION_TEXT = $(shell $(MPICC) --showme:version 2>/dev/null | awk 'NR == 1 { print $$2, $$3, $$4 }')

TOOLS_SRC := $(wildcard tools/*/*.c)
TOOLS_OBJ := $(TOOLS_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/obj/tools/launch/castoff.o $(BUILD)/obj/tools/info/castoff_info.o $(BUILD)/obj/tools/bench/bench_tune_file.o: \
  ALL_CFLAGS += -DCASTOFF_VERSION='"$(CASTOFF_VERSION)"' -DCASTOFF_MPI_TEXT='"$(MPI_VERSION_TEXT)"'

$(BUILD)/castoff: $(TOOLS_OBJ) $(BUILD)/libanalyze.a $(BUILD)/libonesided.a $(BUILD)/liboffload.a $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) -pie -o $@ $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -lz -pthread -ldl -lm

# Pure parts for their unit tests, without main.
$(BUILD)/libtools.a: $(filter-out $(BUILD)/obj/tools/launch/castoff.o,$(TOOLS_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# tests/unit/tools/<command>/<name>_test.c of every tools/<command>/<name>.c that has one. Their objects: mk/tests.mk
TOOLS_UNIT := $(foreach name,$(basename $(notdir $(TOOLS_SRC))),$(if $(wildcard tests/unit/tools/*/$(name)_test.c),$(name)))
$(TOOLS_UNIT:%=$(BUILD)/tests/unit/%_test): $(BUILD)/libtools.a $(BUILD)/libanalyze.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm

# castoff(7) lists the settings as the program has them; a test fails when it does not.
.PHONY: man
man: $(BUILD)/castoff
	$(Q){ cat docs/man/castoff.7.head; $(BUILD)/castoff info --man; cat docs/man/castoff.7.tail; } >docs/man/castoff.7

.PHONY: tool-tests
tool-tests: tools lib bench-programs examples
	@for script in tests/tools/*_test.sh; do echo "== $$script"; sh $$script || exit 1; done

-include $(TOOLS_OBJ:.o=.d)

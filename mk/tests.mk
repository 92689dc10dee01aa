# SPDX-License-Identifier: BSD-3-Clause
#
# Unit tests: every tests/unit/<name>_test.c becomes a program linked with everything below src/pmpi and cmocka;
# tests/unit/*.c of other names are linked into all of them. `make unit` runs them all.

UNIT_TESTS   := $(wildcard tests/unit/*_test.c)
UNIT_SHARED  := $(filter-out $(UNIT_TESTS),$(wildcard tests/unit/*.c))
UNIT_PROGS   := $(UNIT_TESTS:tests/unit/%.c=$(BUILD)/tests/unit/%)
UNIT_SHARED_OBJ := $(UNIT_SHARED:%.c=$(BUILD)/obj/%.o)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(UNIT_SHARED_OBJ) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(filter %.o %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm

.PHONY: unit
unit: $(UNIT_PROGS)
	@sh tests/run_unit.sh $(UNIT_PROGS)

-include $(UNIT_TESTS:%.c=$(BUILD)/obj/%.d) $(UNIT_SHARED:%.c=$(BUILD)/obj/%.d)

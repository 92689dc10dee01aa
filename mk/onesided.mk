# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided multicast: src/mcast/onesided, which is part of the castoff command and of no preload.

ONESIDED_SRC := $(wildcard src/mcast/onesided/*.c)
ONESIDED_OBJ := $(ONESIDED_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/libonesided.a: $(ONESIDED_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# tests/unit/<name>_test.c of every file there that has one, and onesided_*_test.c.
ONESIDED_UNIT := $(sort $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/onesided_*_test.c)) \
  $(foreach name,$(ONESIDED_SRC:src/mcast/onesided/%.c=%),$(if $(wildcard tests/unit/$(name)_test.c),$(BUILD)/tests/unit/$(name)_test)))
$(ONESIDED_UNIT): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/tests/unit/libshared.a $(BUILD)/libonesided.a \
  $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -lz -pthread -ldl -lm

-include $(ONESIDED_OBJ:.o=.d)

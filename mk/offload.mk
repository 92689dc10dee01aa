# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies: src/offload. Nothing of it is in the preload before all of it works; unit tests and fuzz targets have it.

OFFLOAD_SRC := $(wildcard src/offload/*.c src/offload/*/*.c)
OFFLOAD_OBJ := $(OFFLOAD_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/liboffload.a: $(OFFLOAD_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Their objects: mk/tests.mk. What they share stands in libshared.a, and calls liboffload.a.
OFFLOAD_UNIT := $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(wildcard tests/unit/offload/*_test.c tests/unit/offload/*/*_test.c)))
$(OFFLOAD_UNIT): $(BUILD)/tests/unit/libshared.a $(BUILD)/liboffload.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm

-include $(OFFLOAD_OBJ:.o=.d)

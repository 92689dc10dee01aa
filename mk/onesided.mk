# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided multicast: src/onesided, which is part of the castoff command and of no preload.

ONESIDED_SRC := $(wildcard src/onesided/*.c)
ONESIDED_OBJ := $(ONESIDED_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/libonesided.a: $(ONESIDED_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# Their objects: mk/tests.mk
ONESIDED_UNIT := $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(wildcard tests/unit/onesided/*_test.c)))
$(ONESIDED_UNIT): $(BUILD)/tests/unit/libshared.a $(BUILD)/libonesided.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -lz -pthread -ldl -lm && mv -f $(new) $@

# There a group's end talks to a coordinator that is the test, and has no device.
$(BUILD)/tests/unit/onesided_join_test: $(BUILD)/obj/src/onesided/group/group_control.o

# Sends what a hop has to keep out, in the laboratory.
FORGE := $(BUILD)/tests/lab-verbs/forge_frames
.PHONY: forge-frames
forge-frames: $(FORGE)
$(BUILD)/obj/tests/lab-verbs/forge_frames.o: private ALL_CFLAGS += -Itests/unit/onesided
$(FORGE): $(BUILD)/obj/tests/lab-verbs/forge_frames.o $(BUILD)/tests/unit/libshared.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) && mv -f $(new) $@

# The library for programs: needs libibverbs, and nothing else that is not in the C library.
GROUP_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard src/onesided/group/*.c))

$(BUILD)/libcastoff-group.so: $(GROUP_OBJ) $(BUILD)/libonesided.a $(BUILD)/libcore.a src/onesided/group/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $(filter %.o %.a,$^) $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL \
	  -Wl,--gc-sections -Wl,--version-script=src/onesided/group/exports.map -Wl,-soname,libcastoff-group.so \
	  $(STATIC_LIBS) -libverbs -pthread -ldl && mv -f $(new) $@

all: $(BUILD)/libcastoff-group.so

-include $(GROUP_OBJ:.o=.d)
-include $(ONESIDED_OBJ:.o=.d)

# SPDX-License-Identifier: BSD-3-Clause
#
# Modules that the library loads when they are asked for, because they need more than the C library. They lie beside
# libcastoff.so; without them the feature says that it is not there.

ifndef MODULES_MK
MODULES_MK := 1

STACK_OBJ := $(BUILD)/obj/src/modules/stack_unwind.o

.PHONY: modules
modules: $(BUILD)/libcastoff-stack.so
all: modules

$(BUILD)/libcastoff-stack.so: $(STACK_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $^ $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libcastoff-stack.so -lunwind

-include $(STACK_OBJ:.o=.d)
endif

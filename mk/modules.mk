# SPDX-License-Identifier: BSD-3-Clause
#
# Modules that the library loads when they are asked for, because they need more than the C library. They lie beside
# libcastoff.so; without them the feature says that it is not there.

ifndef MODULES_MK
MODULES_MK := 1

STACK_OBJ := $(BUILD)/obj/src/modules/stack_unwind.o

# Where the compiler finds intel-ipsec-mb, which Debian has for x86-64 alone.
GMAC_OBJ := $(if $(shell $(CC) $(CPPFLAGS) -include intel-ipsec-mb.h -x c -E -o /dev/null /dev/null 2>/dev/null && echo yes),$(BUILD)/obj/src/modules/gmac_ipsec.o)

VERBS_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard src/transport/verbs/*.c src/p2p/channel/rc/*.c))

# What records a program's calls: a preload in front of libcastoff.so, which castoff run adds when a trace is wanted.
# Who of a job runs castoff (pmix.c) is no question of the recorder's.
RECORD_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard src/record/*.c) src/mpi_below/next_mpi.c src/mpi_below/open_mpi.c)

.PHONY: modules
modules: $(BUILD)/libcastoff-stack.so $(if $(GMAC_OBJ),$(BUILD)/libcastoff-gmac.so) $(BUILD)/libcastoff-verbs.so $(BUILD)/libcastoff-record.so
all: modules

$(BUILD)/libcastoff-stack.so: $(STACK_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $^ $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libcastoff-stack.so -lunwind && mv -f $(new) $@

$(BUILD)/libcastoff-gmac.so: $(GMAC_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $^ $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libcastoff-gmac.so -lIPSec_MB && mv -f $(new) $@

$(BUILD)/libcastoff-verbs.so: $(VERBS_OBJ) $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $^ $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL -Wl,--gc-sections \
	  -Wl,-soname,libcastoff-verbs.so -libverbs -lrdmacm -pthread -ldl && mv -f $(new) $@

$(BUILD)/libcastoff-record.so: $(RECORD_OBJ) $(BUILD)/libcore.a src/mpi_below/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $(RECORD_OBJ) $(BUILD)/libcore.a $(LDFLAGS_SAN) -Wl,--version-script=src/mpi_below/exports.map \
	  -Wl,-Bsymbolic-functions $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL -Wl,--gc-sections \
	  -Wl,-soname,libcastoff-record.so -pthread -ldl && mv -f $(new) $@

-include $(STACK_OBJ:.o=.d) $(GMAC_OBJ:.o=.d) $(VERBS_OBJ:.o=.d) $(RECORD_OBJ:.o=.d)
endif

# SPDX-License-Identifier: BSD-3-Clause
#
# Proxies: src/offload. The castoff command can be one, libcastoff-offload.so is for programs that use them by name; what
# the preload has of them is PROXIED_OBJ of the Makefile.

OFFLOAD_SRC := $(wildcard src/offload/*.c src/offload/*/*.c)
OFFLOAD_OBJ := $(OFFLOAD_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/liboffload.a: $(OFFLOAD_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# The library for programs: needs the C library alone.
OFFLOAD_API_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard src/offload/api/*.c))

$(BUILD)/libcastoff-offload.so: $(OFFLOAD_API_OBJ) $(BUILD)/liboffload.a $(BUILD)/libcore.a src/offload/api/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $(new) $(filter %.o %.a,$^) $(LDFLAGS_SAN) $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL \
	  -Wl,--gc-sections -Wl,--version-script=src/offload/api/exports.map -Wl,-soname,libcastoff-offload.so \
	  $(STATIC_LIBS) -pthread -ldl && mv -f $(new) $@

all: $(BUILD)/libcastoff-offload.so

# Programs that show how it is used (examples/README.md): MPI programs, which find the library where it was built.
OFFLOAD_EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/offload_*.c))
.PHONY: examples
examples: $(OFFLOAD_EXAMPLES)
$(OFFLOAD_EXAMPLES): $(BUILD)/examples/%: examples/%.c $(BUILD)/libcastoff-offload.so src/offload/api/castoff_offload.h \
  src/offload/api/castoff_offload_paper.h
	@mkdir -p $(@D)
	$(call say,MPI,$<)
	$(Q)$(MPICC) -std=gnu17 $(CPPFLAGS) $(CFLAGS) $(WARN) -Isrc/offload/api -o $(new) $(LDFLAGS) $< -L$(BUILD) -lcastoff-offload -Wl,-rpath,'$$ORIGIN/..' && mv -f $(new) $@

# There a proxy is started.
$(patsubst %,$(BUILD)/tests/unit/%_test,$(addprefix offload_,world traps deaths ends copies ready bell) proxied proxied_ends proxied_arguments proxied_breaks proxied_crowds proxied_trees): | $(BUILD)/castoff

# Their objects: mk/tests.mk. What they share stands in libshared.a, and calls liboffload.a.
OFFLOAD_UNIT := $(patsubst %.c,$(BUILD)/tests/unit/%,$(notdir $(wildcard tests/unit/offload/*_test.c tests/unit/offload/*/*_test.c)))
$(OFFLOAD_UNIT): $(BUILD)/tests/unit/libshared.a $(BUILD)/liboffload.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

# There the kernel's sockets take and give few bytes at a time, and memory is refused.
$(patsubst %,$(BUILD)/tests/unit/%_test,tcp_carrier tcp_carrier_lost tcp_carrier_hostile tcp_carrier_link tcp_carrier_waking tcp_proxies): private LDFLAGS_SAN += \
  -Wl,--wrap=send,--wrap=recv,--wrap=sendmsg,--wrap=malloc

$(BUILD)/tests/unit/proxied_leaving_test: private LDFLAGS_SAN += -Wl,--wrap=co_rank_group_free,--wrap=co_rank_client_close_team
$(BUILD)/tests/unit/offload_ready_test: private LDFLAGS_SAN += -Wl,--wrap=calloc
$(BUILD)/tests/unit/proxied_crowds_test: private LDFLAGS_SAN += -Wl,--wrap=co_rank_client_is_done,--wrap=co_rank_group_call
$(BUILD)/tests/unit/proxy_bounds_test: private LDFLAGS_SAN += -Wl,--wrap=co_proxy_table_visit

-include $(OFFLOAD_OBJ:.o=.d)

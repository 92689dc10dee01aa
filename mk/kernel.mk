# SPDX-License-Identifier: BSD-3-Clause
#
# The datapath kernel and the matcher, counted: bench/kernel/*.c with them as static programs for this machine and for
# RV64, the instruction set of adapters' processors of this kind, with the library's flags but for link-time
# optimization. `make bench-kernel` counts and puts figure M19 into docs/measurements.md.

KERNEL_SRC   := $(wildcard bench/kernel/*.c) src/mcast/receive/datapath.c src/transport/verbs/verbs_completions.c $(wildcard src/matching/*.c)
KERNEL_FLAGS  = $(filter-out $(LTO) $(HARDEN_C) -fsanitize=% -fno-omit-frame-pointer,$(ALL_CFLAGS))
KERNEL_RV64  ?= riscv64-linux-gnu-gcc
KERNEL_PROGS := $(BUILD)/bench/kernel/x86-64/kernel_count $(BUILD)/bench/kernel/rv64/kernel_count

.PHONY: kernel-programs bench-kernel
kernel-programs: $(KERNEL_PROGS)

$(BUILD)/bench/kernel/x86-64/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(KERNEL_FLAGS) -c $< $(into_place)

$(BUILD)/bench/kernel/rv64/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,RV64,$<)
	$(Q)$(KERNEL_RV64) $(KERNEL_FLAGS) -c $< $(into_place)

$(BUILD)/bench/kernel/x86-64/kernel_count: $(KERNEL_SRC:%.c=$(BUILD)/bench/kernel/x86-64/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) -static -o $(new) $^ && mv -f $(new) $@

$(BUILD)/bench/kernel/rv64/kernel_count: $(KERNEL_SRC:%.c=$(BUILD)/bench/kernel/rv64/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(KERNEL_RV64) -static -o $(new) $^ && mv -f $(new) $@

bench-kernel: deps kernel-programs tools
	@mkdir -p $(BUILD)/figures
	@FIGURES_BUILD=$(BUILD) bench/figures/M19.sh >$(BUILD)/figures/M19.row
	@bash bench/put_figure.sh $(BUILD)/figures M19 docs/measurements.md && bash scripts/readme.sh
	@cat $(BUILD)/figures/M19.txt

-include $(foreach place,x86-64 rv64,$(KERNEL_SRC:%.c=$(BUILD)/bench/kernel/$(place)/obj/%.d))

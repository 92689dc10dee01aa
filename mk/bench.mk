# SPDX-License-Identifier: BSD-3-Clause
#
# Benchmark programs: ordinary MPI programs (bench/coll*.c is one, bench/p2p*.c and bench/fft3d*.c are others, every other
# bench/*.c is one by itself) that know nothing of castoff, and the micro benchmarks of bench/micro, which link everything
# below src/pmpi.
# `make bench-all` measures every figure and writes docs/measurements.md.

BENCH_CFLAGS := -std=gnu17 $(CPPFLAGS) $(CFLAGS) $(PLACELESS) $(WARN) -MMD -MP
COLL_SRC     := $(wildcard bench/coll*.c)
COLL_OBJ     := $(COLL_SRC:bench/%.c=$(BUILD)/obj/bench/%.o)
P2P_SRC      := $(wildcard bench/p2p*.c)
P2P_OBJ      := $(P2P_SRC:bench/%.c=$(BUILD)/obj/bench/%.o)
FFT3D_SRC    := $(wildcard bench/fft3d*.c)
FFT3D_OBJ    := $(FFT3D_SRC:bench/%.c=$(BUILD)/obj/bench/%.o)
BENCH_SINGLE := $(filter-out $(COLL_SRC) $(P2P_SRC) $(FFT3D_SRC),$(wildcard bench/*.c))
BENCH_PROGS  := $(patsubst %,$(BUILD)/bench/%,coll p2p fft3d reach) $(BENCH_SINGLE:bench/%.c=$(BUILD)/bench/%)
MATCH_SRC    := $(wildcard bench/micro/match_speed*.c)
MATCH_OBJ    := $(MATCH_SRC:%.c=$(BUILD)/obj/%.o)
UDP_SRC      := $(wildcard bench/micro/udp_speed*.c)
UDP_OBJ      := $(UDP_SRC:%.c=$(BUILD)/obj/%.o)
MICRO_SRC    := $(filter-out $(MATCH_SRC) $(UDP_SRC),$(wildcard bench/micro/*.c))
MICRO_PROGS  := $(BUILD)/bench/micro/match_speed $(BUILD)/bench/micro/udp_speed $(MICRO_SRC:bench/micro/%.c=$(BUILD)/bench/micro/%)

.PHONY: bench-programs bench-mpich bench-micro bench-all
bench-programs: $(BENCH_PROGS)
bench-micro: $(MICRO_PROGS)

$(BUILD)/obj/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	$(call say,MPI,$<)
	$(Q)$(MPICC) $(BENCH_CFLAGS) -c $< $(into_place)

$(BUILD)/bench/coll: $(COLL_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $(LDFLAGS) $^ && mv -f $(new) $@

$(BUILD)/bench/p2p: $(P2P_OBJ) $(BUILD)/obj/bench/coll_data.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $(LDFLAGS) $^ && mv -f $(new) $@

$(BUILD)/bench/fft3d: $(FFT3D_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $(LDFLAGS) $^ -lm && mv -f $(new) $@

$(BUILD)/bench/alltoall: $(BUILD)/obj/bench/alltoall.o $(BUILD)/obj/bench/coll_place.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $(LDFLAGS) $^ && mv -f $(new) $@

# What castoff info --check starts on each host, with parts of that command.
$(BUILD)/obj/bench/hosts/reach.o: private BENCH_CFLAGS += -I. -Isrc
$(BUILD)/bench/reach: $(BUILD)/obj/bench/hosts/reach.o $(BUILD)/libtools.a $(BUILD)/libanalyze.a $(BUILD)/libonesided.a $(BUILD)/liboffload.a \
    $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -lz -pthread -ldl -lm && mv -f $(new) $@

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(MPICC) -o $(new) $(LDFLAGS) $^ && mv -f $(new) $@

$(BUILD)/obj/bench/micro/%.o: bench/micro/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< $(into_place)

$(BUILD)/bench/micro/match_speed: $(MATCH_OBJ) $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

$(BUILD)/bench/micro/udp_speed: $(UDP_OBJ) $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

$(BUILD)/bench/micro/trace_speed: $(BUILD)/obj/bench/micro/trace_speed.o $(BUILD)/libanalyze.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

$(BUILD)/obj/bench/micro/hop_speed.o: private ALL_CFLAGS += -Itests/unit/onesided
$(BUILD)/bench/micro/hop_speed: $(BUILD)/obj/bench/micro/hop_speed.o $(BUILD)/obj/tests/unit/onesided/roce_frames.o $(BUILD)/libonesided.a \
  $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -lz -pthread -ldl -lm && mv -f $(new) $@

$(patsubst %,$(BUILD)/bench/micro/%,carrier_speed proxy_speed proxy_records): $(BUILD)/bench/micro/%: $(BUILD)/obj/bench/micro/%.o $(BUILD)/liboffload.a $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

$(BUILD)/bench/micro/%: $(BUILD)/obj/bench/micro/%.o $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

# For `castoff bench --family mpich`, and the figures of that family: FAMILY=mpich bench/all.sh build
bench-mpich: mpich $(if $(MPICH_CFLAGS),$(BUILD)/bench/mpich/coll $(BUILD)/bench/mpich/p2p)

$(BUILD)/bench/mpich/coll: $(COLL_SRC)
$(BUILD)/bench/mpich/p2p: $(P2P_SRC) bench/coll_data.c
$(BUILD)/bench/mpich/%: $(wildcard bench/*.h)
	@mkdir -p $(@D)
	$(call say,MPI,$@)
	$(Q)$(MPICH_MPICC) $(filter-out -MMD -MP,$(BENCH_CFLAGS)) -Wno-stringop-overflow -o $(new) $(LDFLAGS) $(filter %.c,$^) && mv -f $(new) $@

bench-all: lib tools bench-programs bench-micro
	bench/all.sh $(BUILD)

.SECONDARY: $(BENCH_SINGLE:%.c=$(BUILD)/obj/%.o) $(MICRO_SRC:%.c=$(BUILD)/obj/%.o)

-include $(BUILD)/obj/bench/hosts/reach.d $(COLL_OBJ:.o=.d) $(P2P_OBJ:.o=.d) $(FFT3D_OBJ:.o=.d) $(BENCH_SINGLE:%.c=$(BUILD)/obj/%.d) $(MICRO_SRC:%.c=$(BUILD)/obj/%.d) $(MATCH_OBJ:.o=.d)

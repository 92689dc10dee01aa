# SPDX-License-Identifier: BSD-3-Clause
#
# Unit tests: tests/unit has the folders of src, and every <name>_test.c there becomes a program, build/tests/unit/<name>_test,
# linked with everything below src/pmpi and cmocka; files of other names are linked into those that use them, and their
# headers are found from every folder. `make unit` runs them all, `make unit UNIT="wire probe"` those, `make test` everything
# (tests/run_all.sh), `make lab-verbs` what needs guests with RDMA, `make env.example` writes the template of the settings.

UNIT_C       := $(wildcard tests/unit/*.c tests/unit/*/*.c tests/unit/*/*/*.c)
UNIT_TESTS   := $(filter %_test.c,$(UNIT_C))
UNIT_SHARED  := $(filter-out $(UNIT_TESTS),$(UNIT_C))
UNIT_HEADERS := $(addprefix -I,$(patsubst %/,%,$(sort $(dir $(UNIT_C)))))
# These simulate whole jobs, or lanes as coroutines, on one thread: the thread sanitizer has nothing to find there, and they
# take it minutes. Every other build runs them, and there tests/unit/one_thread.sh sees to it that they know no threads.
UNIT_ONE_THREAD := $(basename $(notdir $(filter tests/unit/mcast/%,$(UNIT_TESTS)))) match_lane_test adapt_test
UNIT_ALL     := $(filter-out $(if $(filter thread,$(SAN)),$(UNIT_ONE_THREAD)),$(basename $(notdir $(UNIT_TESTS))))
UNIT_WANTED  := $(patsubst %,%_test,$(patsubst %_test,%,$(UNIT)))
UNIT_UNKNOWN := $(filter-out $(UNIT_ALL),$(UNIT_WANTED))
UNIT_PROGS   := $(addprefix $(BUILD)/tests/unit/,$(or $(UNIT_WANTED),$(UNIT_ALL)))
ifneq ($(and $(UNIT_UNKNOWN),$(filter unit,$(MAKECMDGOALS))),)
$(error there is no unit test $(UNIT_UNKNOWN:_test=))
endif
UNIT_SHARED_OBJ := $(UNIT_SHARED:%.c=$(BUILD)/obj/%.o)

UNIT_SHARED_LIB := $(if $(UNIT_SHARED),$(BUILD)/tests/unit/libshared.a)

$(BUILD)/tests/unit/libshared.a: $(UNIT_SHARED_OBJ)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# Each has its object, wherever its source is.
define unit_object
$(BUILD)/tests/unit/$(basename $(notdir $(1))): $(BUILD)/obj/$(1:.c=.o)
endef
$(foreach test,$(UNIT_TESTS),$(eval $(call unit_object,$(test))))

$(BUILD)/obj/tests/unit/%.o: private ALL_CFLAGS += $(UNIT_HEADERS)

$(BUILD)/tests/unit/%_test: $(UNIT_SHARED_LIB) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

# Congestion control on many networks, in virtual time (tests/long/congestion_test.sh).
$(BUILD)/obj/tests/long/%.o: private ALL_CFLAGS += $(UNIT_HEADERS)
$(BUILD)/tests/long/congestion_sweep: $(BUILD)/obj/tests/long/congestion_sweep.o $(BUILD)/obj/tests/long/congestion_rows.o $(UNIT_SHARED_LIB) $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

# Allocations fail there on demand.
$(BUILD)/tests/unit/allocation_test: private LDFLAGS_SAN += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
$(BUILD)/tests/unit/p2p_answers_test: private LDFLAGS_SAN += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/tests/unit/mcast_seed_test $(BUILD)/tests/unit/mcast_seed_datagrams_test \
  $(BUILD)/tests/unit/mcast_lengths_test: private LDFLAGS_SAN += -Wl,--wrap=calloc

# There it is counted how many names are looked at.
$(BUILD)/tests/unit/shm_segment_test: private LDFLAGS_SAN += -Wl,--wrap=shm_open

# There the processor is slow or not as the test says, and the kernel's copies are looked at.
$(BUILD)/tests/unit/shm_cma_test: private LDFLAGS_SAN += \
  -Wl,--wrap=co_memory_copy_is_slow_close_behind,--wrap=process_vm_readv,--wrap=process_vm_writev

# There a rank's processor has AES or not as the test says.
$(BUILD)/tests/unit/engine_auth_test: private LDFLAGS_SAN += -Wl,--wrap=crypto_aead_aes256gcm_is_available

# There the test hears which key a rank got.
$(BUILD)/tests/unit/job_key_test: private LDFLAGS_SAN += -Wl,--wrap=co_auth_open

# There it is counted how often heads are decoded.
$(BUILD)/tests/unit/mcast_heads_test: private LDFLAGS_SAN += -Wl,--wrap=calloc
$(BUILD)/tests/unit/mcast_heads_test $(BUILD)/tests/unit/engine_heads_test: private LDFLAGS_SAN += -Wl,--wrap=co_wire_chunk_decode \
  -Wl,--wrap=co_wire_control_decode,--wrap=co_mcast_deliver,--wrap=co_mcast_deliver_lane,--wrap=co_receive_lane_fill,--wrap=co_landing_open

# There the library that puts buffers into groups is one without RDMA.
$(BUILD)/tests/unit/engine_onesided_test: private LDFLAGS_SAN += -Wl,--wrap=co_onesided_library_load

# There a machine of small pages plays one of large ones.
$(BUILD)/tests/unit/shm_measure_test: private LDFLAGS_SAN += -Wl,--wrap=madvise,--wrap=sysconf

# There parts of src/pmpi meet mpi.h, but no MPI.
$(BUILD)/obj/tests/unit/pmpi/%.o: private ALL_CFLAGS += $(MPI_CFLAGS)
$(BUILD)/tests/unit/collective_buffers_test: $(patsubst %,$(BUILD)/obj/src/pmpi/collective/%_buffers.o,bcast gather)
$(BUILD)/tests/unit/gatherv_buffers_test: $(BUILD)/obj/src/pmpi/collective/gatherv_buffers.o
$(BUILD)/tests/unit/alltoallv_buffers_test: $(BUILD)/obj/src/pmpi/collective/alltoallv_buffers.o
$(foreach test,collective_buffers gatherv_buffers alltoallv_buffers memory_reach,$(BUILD)/tests/unit/$(test)_test): $(BUILD)/obj/src/pmpi/datatype/memory_reach.o
$(BUILD)/tests/unit/message_pool_test: $(BUILD)/obj/src/pmpi/p2p/message_pool.o

# Objects are kept, or every run would compile them again.
.SECONDARY: $(UNIT_TESTS:%.c=$(BUILD)/obj/%.o) $(UNIT_SHARED_OBJ)

include mk/modules.mk

# There the module's parts meet a device that is none.
VERBS_UNIT := $(addprefix $(BUILD)/tests/unit/,verbs_parts_test rc_poll_test rc_query_test verbs_join_test verbs_queue_pair_states_test verbs_health_test)
$(VERBS_UNIT): $(VERBS_OBJ)
$(VERBS_UNIT): private STATIC_LIBS += -libverbs -lrdmacm

# That file alone, without a device.
$(BUILD)/tests/unit/verbs_completions_test: $(BUILD)/obj/src/transport/verbs/verbs_completions.o

# Known-wrong variants of the matcher's lanes, which the lanes' test must find out. They prove the test, not the build.
MATCH_MUTANTS := $(if $(SAN),,$(patsubst %,$(BUILD)/tests/mutants/match_lane_%,1 2 3 4))

MATCH_MUTANT_C := tests/unit/matching/match_lane_test.c tests/unit/matching/match_oracle.c

$(BUILD)/tests/mutants/match_lane_%: $(MATCH_MUTANT_C) src/matching/match_lane.c $(BUILD)/libcore.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MF $@.d -DCO_MATCH_MUTANT=$* -o $(new) $(LDFLAGS) $(MATCH_MUTANT_C) $(BUILD)/libcore.a -lcmocka $(STATIC_LIBS) -pthread -ldl -lm && mv -f $(new) $@

.PHONY: unit test test-long test-all
unit: $(UNIT_PROGS) $(if $(UNIT),,$(MATCH_MUTANTS)) modules
	@MATCH_MUTANTS="$(MATCH_MUTANTS)" ONE_THREAD="$(UNIT_ONE_THREAD:%=$(BUILD)/tests/unit/%)" sh tests/run_unit.sh $(UNIT_PROGS) \
	  $(if $(UNIT)$(SAN),,tests/unit/matching/match_mutants.sh tests/unit/one_thread.sh)

# Do the unit tests notice small faults (tests/mutants/list.txt)? MUTANTS="replay staging" chooses by parts of names.
.PHONY: mutants
mutants:
	@python3 -S tests/mutants/run.py $(MUTANTS)

# Parts build what they need themselves, so that one broken part does not hide the others. PARTS="unit style" chooses.
test: deps
	@bash tests/run_all.sh $(PARTS)

# What takes longer: threads under their sanitizer, the laboratory with RDMA, the models, fuzzing, other compilers in a
# Debian 13 of their own. PARTS chooses here, too.
test-long: deps
	@bash tests/run_all.sh --long $(PARTS)

# Both, but for what needs the network: what continuous integration runs.
test-all: deps
	@bash tests/run_all.sh --all

# The programs of tests/mpi under both MPI of a Debian 13 in a folder (root, network); FAMILIES="--root FOLDER bcast" says
# where that stays, and which programs; FAMILIES=--short takes a few; FAMILIES="--suite 'coll pt2pt'" MPICH's own tests.
.PHONY: test-families
test-families: deps
	@bash tests/families/debian_13.sh $(FAMILIES)

# The same under this machine's MPICH; MPICH_TESTS="--mode on bcast" says which.
.PHONY: test-mpich
test-mpich:
	@bash tests/families/mpich.sh $(MPICH_TESTS)

# castoff under Slurm, in the laboratory, by Debian's packages, which are not installed (root, network);
# SLURM_TESTS="--packages FOLDER cancelled" says where those stay, and which cases.
.PHONY: test-slurm
test-slurm: deps
	@bash tests/families/slurm.sh $(SLURM_TESTS)

# The laboratory with RDMA (tests/lab-verbs/README.md): its self test and all that runs in it.
.PHONY: lab-verbs
lab-verbs: deps
	@bash tests/run_all.sh $(basename $(notdir $(wildcard tests/lab-verbs/*_test.sh)))

# One-sided multicast in that laboratory: a file to three guests through castoff hop, with what may happen meanwhile.
.PHONY: lab-onesided
lab-onesided: deps
	@bash tests/run_all.sh build onesided_test

# What docs/onesided.md says of it, command by command, in guests.
.PHONY: demo-onesided
demo-onesided: deps
	@bash tests/lab-verbs/onesided_demo.sh

# FORCE: whether it is up to date is cheap to find out by writing it.
.PHONY: FORCE
env.example: FORCE $(BUILD)/env_template
	@$(BUILD)/env_template >$(new) && if cmp -s $(new) $@; then rm -f $(new); else mv -f $(new) $@ && echo "  GEN  $@"; fi

$(BUILD)/env_template: $(BUILD)/obj/scripts/env_template.o $(BUILD)/libcore.a
	$(call say,LD,$@)
	$(Q)$(CC) -o $(new) $^ $(LDFLAGS_SAN) $(STATIC_LIBS) -pthread -ldl && mv -f $(new) $@

-include $(UNIT_TESTS:%.c=$(BUILD)/obj/%.d) $(UNIT_SHARED:%.c=$(BUILD)/obj/%.d)

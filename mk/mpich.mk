# SPDX-License-Identifier: BSD-3-Clause
#
# The library for programs of MPICH: the same sources, compiled with MPICH's mpi.h, whose handles are numbers. `make mpich`;
# where that mpi.h is, is what MPICH's compiler wrapper says (MPICH_MPICC=/opt/mpich/bin/mpicc for another than Debian's).

MPICH_MPICC  ?= mpicc.mpich
MPICH_CFLAGS := $(filter -I%,$(shell $(MPICH_MPICC) -show 2>/dev/null))
MPICH_SRC    := $(filter-out src/mpi_below/%,$(PMPI_SRC)) $(addprefix src/mpi_below/,next_mpi.c mpich.c mpich_alone.c pmi.c)
MPICH_OBJ    := $(MPICH_SRC:%.c=$(BUILD)/obj-mpich/%.o)

.PHONY: mpich
mpich: $(if $(MPICH_CFLAGS),$(BUILD)/libcastoff-mpich.so)
	@$(if $(MPICH_CFLAGS),:,echo "there is no $(MPICH_MPICC) that says where mpi.h is; the package libmpich-dev has it"; exit 1)

$(BUILD)/obj-mpich/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(MPICH_CFLAGS) -c $< $(into_place)

$(BUILD)/libcastoff-mpich.so: $(CORE_OBJ) $(MPICH_OBJ) $(PROXIED_OBJ) src/mpi_below/exports.map
	$(call say,LD,$@)
	$(Q)$(call link_preload,$(CORE_OBJ) $(MPICH_OBJ) $(PROXIED_OBJ),libcastoff-mpich.so)

-include $(MPICH_OBJ:.o=.d)

# SPDX-License-Identifier: BSD-3-Clause
# Builds the MPI test programs into build/tests/mpi/. Included by the top Makefile; also usable alone,
# from the top folder: make -f tests/mpi/build.mk mpi-tests. One program per tests/mpi/<call>_<aspect>
# source file, C, C++ or Fortran; tool/ becomes a small PMPI tool that the stacking test preloads.
# Nothing here needs the library itself: the runner preloads it.

mpi_tests_source := tests/mpi
mpi_tests_build := build/tests/mpi

MPICC ?= mpicc
MPICXX ?= mpic++
MPIFORT ?= mpifort
# As in the top Makefile, for who uses this one alone: two makes in one folder do not write into each other's files.
new ?= $@.new.$$$$
# As in the top Makefile, for who uses this one alone.
WARNINGS_FAIL ?= $(if $(filter 1,$(DEV))$(filter true,$(CI)),-Werror)
MPI_TESTS_CFLAGS ?= -std=gnu17 -O2 -g -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror=implicit $(WARNINGS_FAIL)
MPI_TESTS_CXXFLAGS ?= -std=c++17 -O2 -g -DOMPI_SKIP_MPICXX -Wall -Wextra -Wshadow $(WARNINGS_FAIL)
# mpif.h declares nothing, so the compiler compares calls with each other unless told that they may differ.
MPI_TESTS_FFLAGS ?= -O2 -g -std=legacy -w

# From version 5 on Open MPI has persistent collectives by the names that MPI 4 gives them, and by no others; so has MPICH.
mpi_tests_renamed := Barrier_init Bcast_init Allgather_init Allgatherv_init Alltoall_init Alltoallv_init
mpi_tests_names := $(if $(shell $(MPICC) --showme:version 2>/dev/null | grep -o 'Open MPI [0-4]'),,$\
  $(foreach name,$(mpi_tests_renamed),-DMPIX_$(name)=MPI_$(name)))

# Extensions of its own have a module and a header in Open MPI alone.
# MPICH before 4.1.1 adds 1 to places in arrays even where there is none (its issue 6402; with mpi_f08 issue 6989).
mpi_tests_fortran_names := $(mpi_tests_names) $(if $(findstring mpich,$(MPIFORT)),-DWITHOUT_MPI_EXT -DUNDEFINED_OFFSET=1,$\
  -DUNDEFINED_OFFSET=0)

mpi_tests_oracle := $(patsubst $(mpi_tests_source)/%.c,$(mpi_tests_build)/%.o,$(wildcard $(mpi_tests_source)/oracle/*.c))
mpi_tests_headers := $(wildcard $(mpi_tests_source)/oracle/*.h)
mpi_tests_c := $(patsubst $(mpi_tests_source)/%.c,$(mpi_tests_build)/%,$(wildcard $(mpi_tests_source)/*_*.c))
mpi_tests_cxx := $(patsubst $(mpi_tests_source)/%.cpp,$(mpi_tests_build)/%,$(wildcard $(mpi_tests_source)/*_*.cpp))
mpi_tests_fortran := $(patsubst $(mpi_tests_source)/%.f90,$(mpi_tests_build)/%,$(wildcard $(mpi_tests_source)/*_*.f90))
mpi_tests_tool := $(addprefix $(mpi_tests_build)/lib,bcast_counter.so next_counter.so progress_sleeps.so)
# They stand for drivers, by whose names the library finds them.
mpi_tests_drivers := $(mpi_tests_build)/libdevice_driver_cuda.so $(mpi_tests_build)/libdevice_driver_rocm.so

.PHONY: mpi-tests
mpi-tests: $(mpi_tests_c) $(mpi_tests_cxx) $(mpi_tests_fortran) $(mpi_tests_tool) $(mpi_tests_drivers)

$(mpi_tests_build)/oracle/%.o: $(mpi_tests_source)/oracle/%.c $(mpi_tests_headers)
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(MPI_TESTS_CFLAGS) $(mpi_tests_names) -I$(mpi_tests_source) -c $< -o $(new) && mv -f $(new) $@

$(mpi_tests_c): $(mpi_tests_build)/%: $(mpi_tests_source)/%.c $(mpi_tests_oracle) $(mpi_tests_headers)
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(MPI_TESTS_CFLAGS) $(mpi_tests_names) -I$(mpi_tests_source) $< $(mpi_tests_oracle) -o $(new) -lpthread && mv -f $(new) $@

# It answers for the C library, by a function that the MPI library calls.
$(mpi_tests_build)/p2p_yields: private MPI_TESTS_CFLAGS += -rdynamic

# It answers for the MPI library, by a function that Debian's lacks.
$(mpi_tests_build)/device_buffers: private MPI_TESTS_CFLAGS += -rdynamic

$(mpi_tests_cxx): $(mpi_tests_build)/%: $(mpi_tests_source)/%.cpp
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICXX) $(MPI_TESTS_CXXFLAGS) $< -o $(new) && mv -f $(new) $@

$(mpi_tests_fortran): $(mpi_tests_build)/%: $(mpi_tests_source)/%.f90
	$(Q)mkdir -p $(@D)
	$(Q)$(MPIFORT) $(MPI_TESTS_FFLAGS) -cpp $(mpi_tests_fortran_names) -J $(@D) $< -o $(new) && mv -f $(new) $@

$(mpi_tests_tool): $(mpi_tests_build)/lib%.so: $(mpi_tests_source)/tool/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(MPI_TESTS_CFLAGS) -shared -fPIC $< -o $(new) && mv -f $(new) $@

$(mpi_tests_build)/libdevice_driver_cuda.so: private MPI_TESTS_CFLAGS += -DDEVICE_IS_CUDA -Wl,-soname,libcuda.so.1
$(mpi_tests_build)/libdevice_driver_rocm.so: private MPI_TESTS_CFLAGS += -Wl,-soname,libamdhip64.so.6
$(mpi_tests_drivers): $(mpi_tests_source)/tool/device_driver.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(MPI_TESTS_CFLAGS) -shared -fPIC $< -o $(new) && mv -f $(new) $@

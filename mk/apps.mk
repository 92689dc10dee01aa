# SPDX-License-Identifier: BSD-3-Clause
#
# `make test-apps`: real programs from Debian, native and with castoff (tests/apps/apps_test.sh). It installs them; they
# are large, and nothing else needs them. `make traces` records some of them and programs of bench/, and writes
# docs/applications.md (bench/applications.sh). `make bench-real` measures real programs with castoff over without, figure
# M48 (bench/real_programs.sh), and keeps the runs, of which `make readme` makes a table; `make bench-all` measures those that
# are installed.

DEPS_APPS := hpcc lammps quantum-espresso quantum-espresso-data netpipe-openmpi python3-mpi4py python3-numpy \
  scalapack-mpi-test mumps-test libmumps-dev libcoarrays-openmpi-dev

.PHONY: test-apps
test-apps: all
	@sh scripts/install_packages.sh -- $(DEPS_APPS)
	@bash tests/apps/apps_test.sh

.PHONY: traces
traces: all bench-programs
	@sh scripts/install_packages.sh -- $(DEPS_APPS) gnuplot-nox
	@bash bench/applications.sh $(BUILD)

.PHONY: bench-real
bench-real: all bench-programs
	@sh scripts/install_packages.sh -- $(DEPS_APPS)
	@bench/all.sh $(BUILD) M48

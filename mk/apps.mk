# SPDX-License-Identifier: BSD-3-Clause
#
# `make test-apps`: real programs from Debian, native and with castoff (tests/apps/apps_test.sh). It installs them; they
# are large, and nothing else needs them. `make traces` records some of them and programs of bench/, and writes
# docs/applications.md (bench/applications.sh).

DEPS_APPS := hpcc lammps netpipe-openmpi python3-mpi4py scalapack-mpi-test mumps-test libcoarrays-openmpi-dev

.PHONY: test-apps
test-apps: all
	@sh scripts/install_packages.sh -- $(DEPS_APPS)
	@bash tests/apps/apps_test.sh

.PHONY: traces
traces: all bench-programs
	@sh scripts/install_packages.sh -- $(DEPS_APPS) gnuplot-nox
	@bash bench/applications.sh $(BUILD)

# SPDX-License-Identifier: BSD-3-Clause
#
# `make test-suites`: MPICH's tests of MPI, native and with castoff (tests/suites/README.md). It fetches and builds them;
# they take long, and nothing else needs them. SUITE_ARGS has options and filters.

DEPS_SUITES := dpkg-dev gfortran g++ python3

.PHONY: test-suites
test-suites: all
	@sh scripts/install_packages.sh -- $(DEPS_SUITES)
	@bash tests/suites/mpich_suite.sh $(SUITE_ARGS)

# SPDX-License-Identifier: BSD-3-Clause
#
# `make demo`: installs what is missing, builds, and shows an unmodified MPI program without and with castoff, on this
# node and across the laboratory (scripts/demo.sh). Without root it leaves the laboratory out and says so.

.PHONY: demo
# The build comes after the packages: compilers may be among them.
demo: deps
	$(Q)$(MAKE) --no-print-directory -s all bench-programs
	@bash scripts/demo.sh $(BUILD)

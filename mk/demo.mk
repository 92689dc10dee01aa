# SPDX-License-Identifier: BSD-3-Clause
#
# `make demo`: installs what is missing, builds, and shows an unmodified MPI program without and with castoff, on this
# node and across the laboratory (scripts/demo.sh). Without root it leaves the laboratory out and says so.

.PHONY: demo
# The build comes after the packages: compilers may be among them. It takes all cores where nobody has said how many.
demo: deps
	$(Q)$(MAKE) --no-print-directory -s $(if $(filter -j%,$(MAKEFLAGS)),,-j$(or $(shell nproc 2>/dev/null),1)) all bench-programs
	@bash scripts/demo.sh $(BUILD)

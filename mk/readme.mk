# SPDX-License-Identifier: BSD-3-Clause
#
# `make readme` fills the blocks of README.md and docs/settings.md that come from the program: settings and measured figures
# (scripts/readme.sh). `make plot` measures the plot that stands there; it needs root for the laboratory, and gnuplot.

plot_command := build/castoff bench --lab 8 --rate 200mbit --calls bcast,allgather --sizes 1K:1M --svg docs/collectives.svg

.PHONY: readme plot
readme: env.example
	@bash scripts/readme.sh

plot: lib tools bench-programs
	$(plot_command)

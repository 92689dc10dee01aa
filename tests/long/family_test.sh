#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is called beside MPI_Bcast and MPI_Allgather, and persistent collectives, across seven hosts of the laboratory that
# lose 3 % of the datagrams: the case family of tests/lab/castoff_test.sh. Needs root. Closes with "N passed, N failed, N
# skipped". Called by tests/run_all.sh.
exec bash "$(dirname "${BASH_SOURCE[0]}")/../lab/castoff_test.sh" family

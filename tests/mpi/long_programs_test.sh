#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI programs that take minutes ("long:" in their first comment). Closes with "N passed, N failed, N skipped". Called by
# tests/run_all.sh.
exec bash "$(dirname "${BASH_SOURCE[0]}")/run.sh" --long

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What `castoff info --check` says of each fault at each of three hosts, and between them: the case verdicts of
# tests/lab/castoff_test.sh, which takes a quarter of an hour. Needs root. Closes with "N passed, N failed, N skipped". Called
# by tests/run_all.sh.
exec bash "$(dirname "${BASH_SOURCE[0]}")/../lab/castoff_test.sh" verdicts

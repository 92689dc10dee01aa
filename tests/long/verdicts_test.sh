#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What `castoff info --check` says of each fault at each of three hosts, and between them, of one of eight that is slow or
# loses, and where the kernel says little of itself: the cases verdicts, unlike and containers of tests/lab/castoff_test.sh, which
# take half an hour. Needs root. Closes with "N passed, N failed, N skipped". Called by tests/run_all.sh.
exec bash "$(dirname "${BASH_SOURCE[0]}")/../lab/castoff_test.sh" verdicts unlike containers

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs in ONE_THREAD are left out under the thread sanitizer (mk/tests.mk): none of them may know how to start a
# thread. Status 0 when that is so. Called by `make unit`.
status=0
for program in $ONE_THREAD; do
    symbols=$(nm "$program" && nm -D "$program") || { echo "$program: cannot be read" && status=1; }
    case $symbols in
    *pthread_create* | *thrd_create*) echo "$program: starts threads" && status=1 ;;
    esac
done
[ -n "$ONE_THREAD" ] || { echo "no programs" && status=1; }
exit $status

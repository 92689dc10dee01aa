#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# version.sh: prints the version, the commit and its date, "0.2.0 0964134 2026-11-26". The number is that of the file VERSION;
# of commits behind its tag, v0.2.0, it says how many, "0.2.0+12". A tarball has the commit in VERSION, where git puts it.
# Where nobody knows it, there is only the number. Called by mk/version.mk.
set -u
cd "$(dirname "$0")/.." || exit 1

{ read -r number && read -r commit date; } <VERSION || exit 1
case $commit in
'$Format'*) commit="" date="" ;;
esac
# A folder of its own, or that of another project around it?
if [ -e .git ] && head=$(git log -1 --format='%h %cs' 2>/dev/null); then
    commit=${head% *} date=${head#* }
    described=$(GIT_OPTIONAL_LOCKS=0 git describe --always --tags --long --dirty --match "v$number" 2>/dev/null)
    case $described in
    *-dirty) commit=$commit-dirty ;;
    esac
    after=${described#"v$number-"}
    [ "$after" = "$described" ] || [ "${after%%-*}" = 0 ] || number=$number+${after%%-*}
fi
echo "$number $commit $date" | sed 's/ *$//'

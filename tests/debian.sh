# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What tests share that fetch parts of another Debian: counts and the closing line, commands that a signal ends at once, and
# the mirror that this machine's apt uses. Who sources it has `clean_up` of its own, which ends $child and removes what is left.

passed=0 failed=0 skipped=0 child=""
trap 'exit 130' INT TERM HUP

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

skip() { # what, why
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

# In the background and waited for, so that a signal ends this script at once.
waited() { # command...
    "$@" </dev/null &
    child=$!
    wait "$child"
    local status=$?
    child=""
    return $status
}

quietly() { # log, command...
    local log=$1
    shift
    waited "$@" >"$log" 2>&1
}

last_words() { # of a log
    grep -vE '^ *$' "$1" | tail -n 1
}

# What debootstrap has mounted, where it was stopped.
unmount_below() { # folder
    local mounted
    while read -r mounted; do
        umount "$mounted" || return
    done < <(awk -v folder="$1/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r)
}

mirror() {
    apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk '$2 == "main" && $1 !~ /security/ { print $1; exit }'
}

# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# How tests beside guests wait for a command and for what is to come: as long as anything is done, in the guests or for
# the command here, so that a busy machine only makes them slower. Sourced by the tests that run inside.

# In front of a command, here or in a guest: ends it, with status 124, when it hangs.
bounded=(lab-bounded 100 1000)

await() { # command...: until it succeeds; in vain once the guests do nothing any more, or have worked for very long
    local watch
    ! "$@" || return 0
    "${bounded[@]}" sleep infinity 2>/dev/null &
    watch=$!
    until "$@"; do
        kill -0 "$watch" 2>/dev/null || return 1
        read -r -t 0.1 <> <(:)
    done
    kill "$watch"
    wait "$watch" 2>/dev/null
    return 0
}

# Until a program in a guest has said something, or is over.
await_output() { # file pattern job
    await has_said_or_ended "$@"
}

has_said_or_ended() { # file pattern job
    grep -qs "$2" "$1" || ! kill -0 "$3" 2>/dev/null
}

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion for bash: commands, options of a command, settings for --set, and nothing behind --.
. "$(dirname "$0")/check.sh"

command -v bash >/dev/null || { skip "completion" "there is no bash"; finish; }
cat >"$work/complete.sh" <<'END'
. "$1" && shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_castoff
printf '%s\n' "${COMPREPLY[@]}"
END
completes() { # words..., the last one begun
    run bash "$work/complete.sh" "$top/packages/castoff.bash" "$castoff" "$@"
}

completes ""
ok "a command" out_has '^mpirun$'
ok "help" out_has '^help$'
completes tr
ok "a command that is begun" [ "$(cat "$work/out")" = trace ]
completes help b
ok "help of a command" [ "$(cat "$work/out")" = bench ]
completes info --ch
ok "an option" [ "$(cat "$work/out")" = --check ]
completes run --set CASTOFF_LOG
ok "a setting" out_has '^CASTOFF_LOG_FILE=$'
completes run --set CASTOFF_LOG_F
ok "a setting that is begun" [ "$(cat "$work/out")" = CASTOFF_LOG_FILE= ]
completes run -- ./app --se
ok "a program's words are not castoff's" [ -z "$(cat "$work/out")" ]
completes run ./ap
ok "a file is left to bash" [ -z "$(cat "$work/out")" ]
finish

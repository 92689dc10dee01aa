# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Completion of the castoff command for bash. It asks the command itself, so that it knows what that one knows: commands, the
# options that their -h prints, and for --set the names of settings. Everything else is a file, or a program's business.

_castoff() {
    local castoff=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words="" i
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help && COMP_CWORD -eq 2 ]]; then
        words=$("$castoff" -h 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')
        ((COMP_CWORD > 1)) || words+=" help --version"
    elif [[ $before == --set ]]; then
        words=$("$castoff" info --template 2>/dev/null | sed -n 's/^#export \(CASTOFF_[A-Z0-9_]*=\).*/\1/p')
        compopt -o nospace 2>/dev/null
    elif [[ $word == -* ]]; then
        # Behind --, and behind the program, words are the program's.
        for ((i = 2; i < COMP_CWORD; i++)); do
            [[ ${COMP_WORDS[i]} != -- ]] || return 0
        done
        words=$("$castoff" "${COMP_WORDS[1]}" -h 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u)
    else
        return 0
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _castoff castoff

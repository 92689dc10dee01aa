#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# install_packages.sh NEEDED... -- WANTED...
# Installs those Debian packages that are missing, by apt-get, as root or by a sudo that asks for no password. Where
# that is impossible it names them for root; the status is 1 only if a NEEDED one is missing in the end. Asks nothing;
# says nothing when all are there. Called by `make deps`.
set -u

# Prints those of the arguments that are not installed.
missing() {
    for package in "$@"; do
        case $installed in
        *" $package "*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

look() {
    installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${binary:Package}\n' 2>/dev/null |
        sed -n 's/^ii *\([^:]*\).*/\1/p' | tr '\n' ' ')"
}

needed="" wanted="" in_wanted=no
for argument in "$@"; do
    case $argument/$in_wanted in
    --/*) in_wanted=yes ;;
    */no) needed="$needed $argument" ;;
    *) wanted="$wanted $argument" ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: please see to the equivalents of$needed; and for the tests$wanted"
    exit 0
fi
look
# shellcheck disable=SC2086 # lists of words
lacking="$(missing $needed $wanted)"
[ -n "$lacking" ] || exit 0

as_root=none
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
fi

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

if [ "$as_root" != none ]; then
    log=$(mktemp) || exit 1
    trap 'rm -f "$log"' EXIT
    echo "Installing $lacking"
    # The lists may be missing or old; without a network the packages may still be in the cache.
    $as_root apt-get -q update >"$log" 2>&1 || echo "apt-get update failed: $(tail -n 1 "$log")"
    # shellcheck disable=SC2086
    if ! install $lacking >"$log" 2>&1; then
        # One package that cannot be had must not keep the others away.
        for package in $lacking; do
            install "$package" >"$log" 2>&1 || echo "$package: $(grep '^E:' "$log" | head -n 1)"
        done
    fi
    look
fi

# shellcheck disable=SC2086
needed=$(missing $needed)
# shellcheck disable=SC2086
wanted=$(missing $wanted)
[ -z "$needed$wanted" ] && exit 0
if [ -n "$wanted" ]; then
    echo "Not installed, so some tests or measurements are skipped: $wanted"
fi
if [ -n "$needed" ]; then
    echo "Not installed, and needed to build: $needed"
fi
echo "As root: apt-get install $needed$wanted"
[ -z "$needed" ]

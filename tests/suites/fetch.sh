#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fetch.sh PACKAGE FOLDER: unpacks the source of a Debian package below FOLDER, as `apt-get source` does, and prints where.
# What is there already is taken. Changes nothing of the machine: its own places are read, and lists and downloads stay in
# FOLDER, so any user can. Status 77 and a reason when the source cannot be had. Called by mpich_suite.sh.
set -u

package=$1
folder=$2

no_source() {
    echo "$1" >&2
    exit 77
}

unpacked() {
    local there
    for there in "$folder/$package"-*/; do
        [ -d "$there" ] && echo "${there%/}" && return 0
    done
    return 1
}

# The machine's own places of packages, asked for sources: both forms that apt has, main of each.
source_places() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -r "$file" ] || sed -n -E '/ main( |$)/s/^deb(-src)? /deb-src /p' "$file"
    done | sort -u >"$folder/places/all.list"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -r "$file" ] || awk -v RS= '/(^|\n)Components:[^\n]*main/ { print $0 "\n" }' "$file"
    done | sed -E 's/^Types:.*/Types: deb-src/' >"$folder/places/all.sources"
}

unpacked && exit 0
for tool in apt-get dpkg-source; do
    command -v "$tool" >/dev/null || no_source "there is no $tool (Debian packages apt and dpkg-dev)"
done
mkdir -p "$folder/places" "$folder/lists/partial" "$folder/downloads/partial" || exit 1
source_places
cd "$folder" || exit 1
options=(-q -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$PWD/places"
    -o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/downloads" -o "Dir::Cache::archives=$PWD/downloads"
    -o "APT::Sandbox::User=$(id -un)")
# A place without sources must not keep the others away: what counts is whether the package comes.
apt-get "${options[@]}" update >fetch.log 2>&1
# dpkg-source leaves half a folder behind when it is stopped.
mkdir -p half && cd half || exit 1
if ! apt-get "${options[@]}" source "$package" >>../fetch.log 2>&1; then
    reason=$(grep -E '^E:|^W: Failed' ../fetch.log | head -n 1)
    no_source "apt-get source $package: ${reason:-see $folder/fetch.log}"
fi
mv "$package"-*/ .. && cd .. && rm -rf half downloads
unpacked || no_source "apt-get source $package left no folder $package-*"

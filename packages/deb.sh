#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# deb.sh TARBALL FOLDER: builds Debian packages of a tarball that make dist has made, in the folder, which is made anew, and
# fails where lintian finds an error in them. Called by `make deb`, also on a machine without git. Who builds is named by
# DEBFULLNAME and DEBEMAIL.
set -eu
# Nothing of the calling make.
unset MAKEFLAGS MAKELEVEL MFLAGS SAN BUILD

tarball=$(readlink -f -- "$1")
rm -rf -- "$2"
mkdir -p -- "$2"
cd -- "$2"
tar -xzf "$tarball"
cd castoff-*
version=${PWD##*/castoff-}
sed -i "1s/.*/$version/" VERSION
cp -r packages/debian debian
date=$(LC_ALL=C date -u -R -d "$(sed -n '2s/.* //p' VERSION)")
cat >debian/changelog <<END
castoff ($version) unstable; urgency=medium

  * castoff $version; CHANGELOG.md says what has changed.

 -- ${DEBFULLNAME:-castoff} <${DEBEMAIL:-castoff@castoff.invalid}>  $date
END
log=../build.log
if ! dpkg-buildpackage -b -uc -us >"$log" 2>&1; then
    tail -n 30 "$log"
    echo "dpkg-buildpackage failed; all of it is in ${PWD%/*}/build.log"
    exit 1
fi
cd ..
rm -rf castoff-*/
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error ./*.changes >lintian.log 2>&1 || { cat lintian.log; exit 1; }
    grep -E '^[EW]:' lintian.log || true
else
    echo "lintian is not installed: nobody has looked at the packages"
fi
ls ./*.deb | sed "s|^\./|  DEB  $PWD/|"

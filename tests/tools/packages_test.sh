#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What recipes of packages say agrees with the project: Debian's names all that the build needs, each place that make install
# fills is in one of its packages, and Spack's recipe asks for what there is. make test-deb builds and installs them.
# And what is made does not say where: tests/long/same_bytes_test.sh builds all of it twice.
. "$(dirname "$0")/check.sh"
cd "$top" || exit 2

# shellcheck disable=SC2016 # make's
needed=$(printf 'include mk/deps.mk\nsay:\n\t@echo $(DEPS_BUILD) $(DEPS_FAST)\n' | make -s -f - say)
sed -n '/^Build-Depends:/,/^[A-Z][^B]/s/^ *\([a-z0-9.+-]*\).*/\1/p' packages/debian/control >"$work/named"
for package in $needed; do
    case $package in
    gcc | libc6-dev) ;; # every build of a Debian package has them
    *) ok "packages/debian/control: the build needs $package" grep -qx "$package" "$work/named" ;;
    esac
done

run make -s -n install PREFIX=/usr DESTDIR= V=1
sed -n "s|.* \(>\?\)'/usr/\([a-z/0-9.-][a-z/0-9.-]*\)'.*|usr/\2|p" "$work/out" | sort -u >"$work/places"
ok "make install says where" [ "$(wc -l <"$work/places")" -ge 6 ]
while read -r place; do
    found=no
    for part in $(cat packages/debian/*.install); do
        # shellcheck disable=SC2254 # a pattern
        case $place/ in
        $part/*) found=yes ;;
        usr/lib/pkgconfig/*) found=yes ;; # by another name there
        esac
    done
    ok "a Debian package has $place" [ "$found" = yes ]
done <"$work/places"

# By an object with machine code and more, and, without what optimises at link time, by one with machine code alone.
for place in here another/that-is-deeper; do
    mkdir -p "$work/$place"
    cp -r Makefile VERSION mk scripts src "$work/$place"
    run make -s -C "$work/$place" build/libcastoff-stack.so
    ok "$place: make" status_is 0
    mv "$work/$place/build/libcastoff-stack.so" "$work/$place/optimised.so"
    run make -s -C "$work/$place" LTO= BUILD=build-plain build-plain/libcastoff-stack.so
    ok "$place: make LTO=" status_is 0
done
mkdir "$work/o'dd"
cp -r Makefile VERSION mk scripts src "$work/o'dd"
run make -s -C "$work/o'dd" build/libcastoff-stack.so
ok "a folder with a quote: make" status_is 0
ok "another folder: the same bytes" cmp "$work/here/optimised.so" "$work/another/that-is-deeper/optimised.so"
plain=build-plain/libcastoff-stack.so
ok "another folder, LTO=: the same bytes" cmp "$work/here/$plain" "$work/another/that-is-deeper/$plain"

# The recipe is read with what Spack would hand it; what it asks make for is there, and the version is the one.
if command -v python3 >/dev/null; then
    cat >"$work/read.py" <<'END'
import sys, types
said = []
def says(word):
    return lambda *words, **more: said.append((word,) + words)
package = types.ModuleType("spack.package")
package.MakefilePackage = type("MakefilePackage", (), {})
for word in "license", "version", "depends_on":
    setattr(package, word, says(word))
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
recipe = {}
exec(open(sys.argv[1]).read(), recipe)
castoff = recipe["Castoff"]()
castoff.prefix = "/prefix"
print("version", *(words[1] for words in said if words[0] == "version"))
print("archive", castoff.url.rpartition("/")[2])
print("build", *castoff.build_targets)
print("install", *castoff.install_targets)
END
    run python3 -S "$work/read.py" packages/spack/packages/castoff/package.py
    ok "Spack's recipe can be read" status_is 0
    cp "$work/out" "$work/recipe"
    version=$(head -n 1 VERSION)
    ok "Spack's recipe has this version" out_has "^version $version\$"
    ok "Spack's recipe takes what make dist makes" out_has "^archive castoff-$version.tar.gz\$"
    for step in build install; do
        # shellcheck disable=SC2046 # words of a command
        run make -s -n $(sed -n "s/^$step //p" "$work/recipe")
        ok "Spack's recipe, $step: make knows its words" status_is 0
    done
    ok "Spack's repository has a name" grep -q '^  namespace: castoff$' packages/spack/repo.yaml
fi
finish

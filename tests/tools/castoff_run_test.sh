#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff run: whom the preload reaches, status and signals of the program, settings, and what is said when something
# is missing.
. "$(dirname "$0")/check.sh"

run "$castoff" run -- true
ok "true runs with the library in it" loaded_into true
ok "status 0" status_is 0
ok "no word of its own" err_is_empty

run "$castoff" run sh -c 'exit 37'
ok "status of the program" status_is 37
run "$castoff" run sh -c 'kill -TERM $$'
ok "signal of the program" status_is 143
run "$castoff" run -- env
ok "LD_PRELOAD names the library beside the command" out_has "^LD_PRELOAD=$work/bin/libcastoff.so\$"

if unshare --mount mount -t tmpfs none /proc 2>/dev/null; then
    run unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$castoff" run -- env
    ok "so it does where there is no /proc" out_has "^LD_PRELOAD=$work/bin/libcastoff.so\$"
    ok "without a word" err_is_empty
else
    skip "where there is no /proc" "needs root"
fi

LD_PRELOAD=$build/nothing.so run "$castoff" run -- sh -c 'echo "$LD_PRELOAD"'
ok "an existing preload stays behind ours" out_has "^$work/bin/libcastoff.so:$build/nothing.so\$"
many=$(printf '/nowhere/%0200d.so:' $(seq 1 100))$build/nothing.so # 21 KiB
LD_PRELOAD=$many run "$castoff" run --dry-run true
ok "a long one, too, whole" out_has "LD_PRELOAD=$work/bin/libcastoff.so:$many "
run "$castoff" run "/$(printf '%05000d' 0)"
ok "a name that is too long is no other program" err_has 'File name too long'
cp "$work/bin/libcastoff.so" "$work/bin/libcastoff.so.bak"
LD_PRELOAD=$work/bin/libcastoff.so.bak run "$castoff" run -- sh -c 'echo "$LD_PRELOAD"'
ok "a longer name is another library" out_has "^$work/bin/libcastoff.so:$work/bin/libcastoff.so.bak\$"
rm "$work/bin/libcastoff.so.bak"

run "$castoff" run --set CASTOFF_BCAST=no --set LOG=debug --report r.json -- env
ok "a setting" out_has '^CASTOFF_BCAST=no$'
ok "a setting without its prefix" out_has '^CASTOFF_LOG=debug$'
ok "the report" out_has '^CASTOFF_REPORT=r.json$'
cp "$work/bin/libcastoff.so" "$work/bin/libcastoff-record.so"
run "$castoff" run --record trace -- env
ok "what records stands before the library" out_has "^LD_PRELOAD=$work/bin/libcastoff-record.so:$work/bin/libcastoff.so\$"
ok "and writes below this folder" out_has "^CASTOFF_RECORD=$PWD/trace\$"
run "$castoff" run -- "$castoff" run --record /trace -- env
ok "a run that records inside a run" out_has \
    "^LD_PRELOAD=$work/bin/libcastoff-record.so:$work/bin/libcastoff.so\$"
CASTOFF_RECORD=/trace run "$castoff" run -- "$castoff" run -- env
ok "a run inside a run that records" out_has "^LD_PRELOAD=$work/bin/libcastoff-record.so:$work/bin/libcastoff.so\$"
rm "$work/bin/libcastoff-record.so"
run "$castoff" run --record trace -- true
ok "nothing that records: status 1" status_is 1
ok "nothing that records: said" err_has 'libcastoff-record.so, which records, is not beside'
run "$castoff" run --off -- env
ok "off" out_has '^CASTOFF_ENABLE=0$'
CASTOFF_LOG=info run "$castoff" run --env CASTOFF_LOG=debug --env CASTOFF_TTL=3 -- env
ok "--env gives way to the environment" out_has '^CASTOFF_LOG=info$'
ok "--env sets what is unset" out_has '^CASTOFF_TTL=3$'

run "$castoff" run --set CASTOFF_BCATS=no -- true
ok "an unknown setting is refused" status_is 2
ok "with a suggestion" err_has 'did you mean CASTOFF_BCAST?'
ok "and nothing runs" times_loaded 0
run "$castoff" run --set FAULT=dorp=1 -- true
ok "a fault that is none is refused" err_has "CASTOFF_FAULT cannot be .dorp=1.: .dorp=1. is no fault"
run "$castoff" run --set CASTOFF_BCAST=perhaps -- true
ok "a wrong value is refused" status_is 2
ok "with what it takes" err_has "it takes auto, yes or no"
run "$castoff" run --set SHM_TEAM=1T -- true
ok "a size out of range is refused" status_is 2
ok "with the range" err_has 'it takes 16K to 16M'
run "$castoff" run --set CASTOFF_BCAST -- true
ok "a setting without value is refused" status_is 2

run "$castoff" run
ok "no program: status 2" status_is 2
ok "no program: said" err_has 'no program given'
run "$castoff" run -- ./there-is-no-such-program
ok "missing program: status 127" status_is 127
ok "missing program: named" err_has "cannot execute './there-is-no-such-program': No such file"
run "$castoff" run -- there-is-no-such-program
ok "missing on PATH: said" err_has 'not found on PATH'
: >"$work/plain"
run "$castoff" run -- "$work/plain"
ok "not executable: status 126" status_is 126
run "$castoff" run -- "$work/bin"
ok "a folder: status 126" status_is 126
ok "a folder: said" err_has "cannot execute '$work/bin': Is a directory"
run "$castoff" run --frobnicate -- true
ok "unknown option: status 2" status_is 2
ok "unknown option: by the command's name" err_has "^castoff run: unrecognized option '--frobnicate'"

run "$castoff" run -n -- true x "a b'c"
ok "dry run prints" out_has "^LD_PRELOAD=$work/bin/libcastoff.so true x 'a b'\\\\''c'\$"
ok "dry run runs nothing" times_loaded 0
ok "dry run: status 0" status_is 0
run "$castoff" run -v -- true
ok "verbose prints on stderr" err_has 'LD_PRELOAD='
ok "verbose runs" loaded_into true

echo 'int main(void) { return 5; }' >"$work/static.c"
if ${CC:-cc} -static -o "$work/static" "$work/static.c" 2>/dev/null; then
    run "$castoff" run -- "$work/static"
    ok "static program runs" status_is 5
    ok "static program: one clear line" err_has 'is statically linked'
    ok "one line only" [ "$(wc -l <"$work/err")" -eq 1 ]
    PMIX_RANK=1 run "$castoff" run -- "$work/static"
    ok "static program: not a line from every rank" err_is_empty
else
    skip "static program" "no static libc"
fi
# The linker of another C library would end it, for want of functions that castoff takes from this one's.
if ${CC:-cc} -Wl,--dynamic-linker,/lib/ld-musl-x86_64.so.1 -o "$work/musl" "$work/static.c" 2>/dev/null; then
    run "$castoff" run -n -- "$work/musl"
    ok "program of musl: one clear line" err_has 'is built for another C library than castoff (musl)'
    ok "program of musl: nothing is preloaded" out_has "^$work/musl\$"
    # shellcheck disable=SC2016
    run "$castoff" run -- "$castoff" run -v -- "$work/musl"
    ok "program of musl in a run inside a run: not by the outer one" [ "$(grep -c LD_PRELOAD= "$work/err") $(grep -cx "$work/musl" "$work/err")" = "0 1" ]
else
    skip "program of musl" "no linker for it"
fi
if [ "$(id -u)" -eq 0 ]; then
    cp /bin/true "$work/setuid" && chown 65534 "$work/setuid" && chmod 4755 "$work/setuid"
    run "$castoff" run -- "$work/setuid"
    ok "set-user-ID program: said" err_has 'rights of its own'
    ok "set-user-ID program runs" status_is 0
else
    skip "set-user-ID program" "needs root"
fi
printf '#!/bin/sh\nexit 9\n' >"$work/script" && chmod +x "$work/script"
run "$castoff" run -- "$work/script"
ok "script" status_is 9

# A program of MPICH is one that needs its library by this name.
mkdir "$work/mpich"
echo 'int mpich_of_test;' >"$work/mpich/library.c"
cat >"$work/mpich/program.c" <<'TEXT'
#include <stdio.h>
#include <stdlib.h>
extern int mpich_of_test;
int main(void)
{
    const char *preloads = getenv("LD_PRELOAD");
    return printf("LD_PRELOAD=%s %d\n", preloads ? preloads : "(none)", mpich_of_test) < 0;
}
TEXT
${CC:-cc} -shared -fPIC -Wl,-soname,libmpich.so.12 -o "$work/mpich/libmpich.so.12" "$work/mpich/library.c" &&
    ${CC:-cc} -o "$work/mpich/program" "$work/mpich/program.c" "$work/mpich/libmpich.so.12" -Wl,-rpath,"$work/mpich" || exit 1
run "$castoff" run -- "$work/mpich/program"
ok "a program of MPICH, whose library is not here: said" err_has 'is linked with MPICH.*it runs without castoff'
ok "and nothing is preloaded" out_has '^LD_PRELOAD=(none) 0$'
run "$castoff" run -- "$castoff" run -- "$work/mpich/program"
ok "in a run inside a run, too" out_has '^LD_PRELOAD=(none) 0$'
run "$castoff" run --off -- "$work/mpich/program"
ok "what is switched off is not missed" err_is_empty
ok "and runs" out_has '^LD_PRELOAD=(none) 0$'
CASTOFF_ENABLE=off run "$castoff" run -- "$work/mpich/program"
ok "nor by the setting" err_is_empty
CASTOFF_ENABLE=perhaps run "$castoff" run -- "$work/mpich/program"
ok "a setting that is none switches nothing off" err_has 'is linked with MPICH'
cp "$work/bin/libcastoff.so" "$work/bin/libcastoff-mpich.so"
run "$castoff" run -- "$work/mpich/program"
ok "a program of MPICH gets the library for it" out_has "^LD_PRELOAD=$work/bin/libcastoff-mpich.so 0\$"
cp "$work/bin/libcastoff.so" "$work/bin/libcastoff-record.so"
run "$castoff" run --record trace -- "$castoff" run -- "$work/mpich/program"
ok "and in a run inside a run no other" out_has "^LD_PRELOAD=$work/bin/libcastoff-mpich.so 0\$"
ok "which records nothing: said" err_has 'calls of MPICH are not recorded'
rm "$work/bin/libcastoff-record.so"
LD_PRELOAD=$work/bin/libcastoff-mpich.so run "$castoff" run -- env
ok "other programs do not keep it" out_has "^LD_PRELOAD=$work/bin/libcastoff.so\$"
rm "$work/bin/libcastoff-mpich.so"

mv "$work/bin/libcastoff.so" "$work/bin/away.so"
run "$castoff" run -- true
ok "missing library: status 1" status_is 1
ok "missing library: said" err_has 'libcastoff.so is neither'
finish

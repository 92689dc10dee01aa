#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# castoff trace on archives and folders that somebody prepared: nothing outside is written, whatever their links lead
# to, and names do not steer the terminal.
. "$(dirname "$0")/check.sh"

. "$(dirname "$0")/trace_applications.sh"

victim=$work/victim
unharmed() {
    [ "$(cat "$victim")" = "the user's" ]
}
echo "the user's" >"$victim"
export TMPDIR="$work/tmp"
mkdir "$TMPDIR"

# Links where the parsed traces would go, for every process number that may come next.
application "$work/app" 4
mkdir "$work/app/.castoff-cache"
for name in app-0000.txt app-0001.txt; do
    ln -s "$victim" "$work/app/.castoff-cache/$name.events"
    perl -e 'symlink($ARGV[0], "$ARGV[1].$_") for ($$ - 100 .. $$ + 2000)' "$victim" "$work/app/.castoff-cache/$name.events"
done
tar -C "$work" -cf "$work/links.tar" app
run "$castoff" trace "$work/links.tar"
ok "an archive with links: status 1" status_is 1
ok "an archive with links: refused" err_has 'links.tar is not unpacked: it holds what is neither file nor folder: l'
ok "an archive with links: nothing is written" unharmed

run "$castoff" trace "$work/app"
ok "a folder with links: analyzed" out_has 'ranks  *2 of 2'
ok "a folder with links: nothing is written" unharmed
ok "a folder with links: a file has taken the link's place" sh -c "[ -f '$work/app/.castoff-cache/app-0000.txt.events' ] && [ ! -L '$work/app/.castoff-cache/app-0000.txt.events' ]"

application "$work/led" 4
mkdir "$work/elsewhere"
ln -s "$work/elsewhere" "$work/led/.castoff-cache"
run "$castoff" trace "$work/led"
ok "a link in place of the folder: analyzed" out_has 'ranks  *2 of 2'
ok "a link in place of the folder: is not followed" [ -z "$(ls "$work/elsewhere")" ]

application "$work/open" 4
mkdir -m 0777 "$work/open/.castoff-cache"
chmod 0777 "$work/open/.castoff-cache"
run "$castoff" trace "$work/open"
ok "a folder that others can write to: analyzed" out_has 'ranks  *2 of 2'
ok "a folder that others can write to: is not used" [ -z "$(ls "$work/open/.castoff-cache")" ]
run "$castoff" trace --cache "$work/open/.castoff-cache" "$work/open"
ok "the same asked for: said" err_has 'others can write to it, too: parsed traces are not kept'
ok "the same asked for: is not used" [ -z "$(ls "$work/open/.castoff-cache")" ]

application "$work/plain" 4
mkfifo "$work/plain/app-0002.txt"
tar -C "$work" -cf "$work/pipe.tar" plain
rm "$work/plain/app-0002.txt"
run "$castoff" trace "$work/pipe.tar"
ok "a pipe in an archive: refused" err_has 'neither file nor folder: p'
ln "$work/plain/app-0001.txt" "$work/plain/app-0002.txt"
tar -C "$work" -cf "$work/hard.tar" plain
rm "$work/plain/app-0002.txt"
run "$castoff" trace "$work/hard.tar"
ok "a hard link in an archive: refused" err_has 'neither file nor folder: h'

tar -C "$work" -czf "$work/run-12:30.tar.gz" plain
cd "$work" || exit 1
run "$castoff" trace run-12:30.tar.gz
ok "a name with a colon is a name" out_has 'ranks  *2 of 2'
cp run-12:30.tar.gz ./-run.tar.gz
run "$castoff" trace -- -run.tar.gz
ok "a name that begins with a dash is a name" out_has 'ranks  *2 of 2'
TAR_OPTIONS="--to-command=touch\ $work/touched" run "$castoff" trace run-12:30.tar.gz
ok "what others have set for tar does not count" [ ! -e "$work/touched" ]
ok "nothing is kept of an archive" [ -z "$(find "$TMPDIR" -name '*.events')" ]

# 64 TiB of nothing in some bytes.
truncate -s 64T "$work/huge.bin" 2>/dev/null || truncate -s 8T "$work/huge.bin"
tar --sparse -C "$work" -cf "$work/huge.tar" huge.bin
rm "$work/huge.bin"
run "$castoff" trace "$work/huge.tar"
ok "more than there is room for: refused" err_has 'huge.tar is not unpacked: its [0-9]* bytes are more than half'
ok "more than there is room for: nothing was unpacked" [ -z "$(find "$TMPDIR" -name huge.bin)" ]

escape=$(printf 'a\033[31mred')
application "$work/$escape" 4
printf 'MPI_Nothing' >"$work/$escape/app-0002.txt"
run "$castoff" trace --no-cache "$work/$escape"
ok "names do not steer the terminal: what is said" sh -c "! grep -q '$(printf '\033')' '$work/err' '$work/out'"
ok "names do not steer the terminal: they are shown" out_has 'a.x1b.31mred: '
mkdir "$work/none$escape"
run "$castoff" trace "$work/none$escape"
ok "names do not steer the terminal: complaints" err_has 'a.x1b.31mred holds no trace'

finish

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

# Names that lead out of where it is unpacked: by .., from the root, and by a way that ends in the archive again.
printf 'others' >"$work/plain/victim"
outside() { # what, tar's transformation of victim
    tar -C "$work" --absolute-names --transform "s,^plain/victim\$,$2,S" -cf "$work/outside.tar" plain
    run "$castoff" trace "$work/outside.tar"
    ok "$1: status 1" status_is 1
    ok "$1: refused" err_has 'outside.tar is not unpacked: it holds a name that leads outside: -'
    ok "$1: nothing is written" unharmed
}
outside "a name that goes up" "../../../victim"
outside "a name that goes up in its middle" "plain/../../../../victim"
outside "a name that ends above" "plain/.."
outside "a name from the root" "$victim"
tar -C "$work" --absolute-names --transform 's,^plain/victim$,plain/..victim..,S' -cf "$work/inside.tar" plain
run "$castoff" trace "$work/inside.tar"
ok "dots within a name lead nowhere" out_has 'ranks  *2 of 2'
rm "$work/plain/victim"

# The folder of a link first, then a file through it.
mkdir "$work/through" "$work/target"
ln -s "$work/target" "$work/through/sub"
tar -C "$work" -cf "$work/through.tar" through
rm "$work/through/sub"
mkdir "$work/through/sub"
echo others >"$work/through/sub/written"
tar -C "$work" -rf "$work/through.tar" through/sub/written
run "$castoff" trace "$work/through.tar"
ok "a file through a link of the archive: refused" err_has 'neither file nor folder: l'
ok "a file through a link of the archive: nothing is written" [ -z "$(ls "$work/target")" ]

# A tar that lets another archive take the name between its two runs.
mkdir "$work/fake"
real_tar=$(command -v tar)
cat >"$work/fake/tar" <<EOF
#!/bin/sh
"$real_tar" "\$@" || exit
echo . >>"$work/tar-runs"
mv -f "$work/other.tar.gz" "$work/taken.tar.gz" 2>/dev/null
exit 0
EOF
chmod +x "$work/fake/tar"
tar -C "$work" -czf "$work/taken.tar.gz" plain
application "$work/swapped" 4
rm "$work/swapped/app-0001.txt"
tar -C "$work" -czf "$work/other.tar.gz" swapped
run env PATH="$work/fake:$PATH" "$castoff" trace "$work/taken.tar.gz"
ok "an archive replaced after its listing: it was" sh -c "[ ! -e '$work/other.tar.gz' ] && [ \$(wc -l <'$work/tar-runs') -eq 2 ]"
ok "an archive replaced after its listing: what was listed is unpacked" out_has 'ranks  *2 of 2'

# A signal that comes while tar runs.
cat >"$work/fake/tar" <<'EOF'
#!/bin/sh
kill -TERM $PPID
exec sleep 100
EOF
run env PATH="$work/fake:$PATH" "$castoff" trace "$work/inside.tar"
ok "a signal while tar runs ends it by that signal" status_is 143
ok "a signal while tar runs: the archive is not blamed" err_is_empty

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

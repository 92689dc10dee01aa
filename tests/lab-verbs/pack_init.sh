# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The second archive that a guest boots from. The kernel unpacks archives that stand one behind the
# other, so the first process is taken as it is in the source folder while the rest stays cached.

# Writes an archive with guest_init.sh of the current folder as /init to the standard output.
pack_init() {
    local folder
    folder=$(mktemp -d) || return 1
    install -m 755 guest_init.sh "$folder/init" && (cd "$folder" && echo init | cpio --quiet -o -H newc)
    rm -r "$folder"
}

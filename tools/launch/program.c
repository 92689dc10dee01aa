// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at a program before it is started: search along PATH, and the ELF facts that decide whether the dynamic
// linker will preload anything into it. Reads files only. Cold.
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "places.h"

enum { OWN_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };

static int check_file(const char *path)
{
    struct stat facts;
    if (stat(path, &facts)) {
        return -errno;
    }
    if (S_ISDIR(facts.st_mode)) {
        return -EISDIR;
    }
    if (!S_ISREG(facts.st_mode) || access(path, X_OK)) {
        return -EACCES;
    }
    return 0;
}

int co_program_find(char path[PATH_MAX], const char *name, const char *folders)
{
    if (strchr(name, '/')) {
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? check_file(path) : -ENAMETOOLONG;
    }
    int result = -ENOENT;
    while (*name && folders) {
        const char *end = folders + strcspn(folders, ":");
        int length = (int)(end - folders);
        // An empty element is the current folder, as for execvp.
        if (snprintf(path, PATH_MAX, "%.*s/%s", length ? length : 1, length ? folders : ".", name) < PATH_MAX) {
            int found = check_file(path);
            if (found == 0) {
                return 0;
            }
            result = found == -EACCES ? -EACCES : result;
        }
        folders = *end ? end + 1 : NULL;
    }
    return result;
}

static enum co_program_kind look_at_interpreter(int fd, const ElfW(Phdr) * segment)
{
    char path[PATH_MAX] = "";
    size_t bytes = segment->p_filesz < sizeof path ? segment->p_filesz : sizeof path - 1;
    ssize_t got = pread(fd, path, bytes, (off_t)segment->p_offset);
    path[got > 0 ? got : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash && strncmp(slash, "/ld-musl-", 9) == 0 ? CO_PROGRAM_MUSL : CO_PROGRAM_REACHED;
}

static enum co_program_kind look_for_interpreter(int fd, const ElfW(Ehdr) * header)
{
    for (int i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        off_t at = (off_t)(header->e_phoff + (size_t)i * header->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) {
            return CO_PROGRAM_REACHED; // unreadable: let the kernel judge
        }
        if (segment.p_type == PT_INTERP) {
            return look_at_interpreter(fd, &segment);
        }
    }
    return CO_PROGRAM_STATIC;
}

static int own_machine(void)
{
    ElfW(Ehdr) self;
    char path[PATH_MAX];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && co_places_self(path) == 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t got = fd < 0 ? -1 : pread(fd, &self, sizeof self, 0);
    if (fd >= 0) {
        close(fd);
    }
    return got == (ssize_t)sizeof self ? self.e_machine : -1;
}

static enum co_program_kind look_inside(int fd)
{
    ElfW(Ehdr) header;
    ssize_t got = pread(fd, &header, sizeof header, 0);
    if (got < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return CO_PROGRAM_REACHED; // a script: its interpreter is the program
    }
    if (header.e_ident[EI_CLASS] != OWN_CLASS || got < (ssize_t)sizeof header || header.e_machine != own_machine()) {
        return CO_PROGRAM_FOREIGN;
    }
    return look_for_interpreter(fd, &header);
}

static bool gains_rights(const char *path)
{
    struct stat facts;
    if (stat(path, &facts)) {
        return false;
    }
    if (((facts.st_mode & S_ISUID) && facts.st_uid != getuid()) ||
        ((facts.st_mode & S_ISGID) && (facts.st_mode & S_IXGRP) && facts.st_gid != getgid())) {
        return true;
    }
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

enum co_program_kind co_program_look(const char *path)
{
    if (gains_rights(path)) {
        return CO_PROGRAM_SETUID;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return CO_PROGRAM_REACHED; // executable but not readable
    }
    enum co_program_kind kind = look_inside(fd);
    close(fd);
    return kind;
}

const char *co_program_kind_text(enum co_program_kind kind)
{
    switch (kind) {
    case CO_PROGRAM_STATIC:
        return "is statically linked, so nothing can be preloaded into it";
    case CO_PROGRAM_MUSL:
        return "is built for another C library than castoff (musl), which does not start programs with castoff in them";
    case CO_PROGRAM_FOREIGN:
        return "is built for another processor or word size than castoff";
    case CO_PROGRAM_SETUID:
        return "runs with rights of its own (set-user-ID or capabilities), so the system refuses to preload into it";
    case CO_PROGRAM_REACHED:
        break;
    }
    return NULL;
}

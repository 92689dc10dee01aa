// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the dynamic section of an ELF file of our own word size, as it lies in the file. What is not where it should be
// is not there. Cold.
#include "needed.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

// NULL: it would end beyond the file, or lies askew.
static const void *part(const struct file *file, size_t at, size_t bytes)
{
    bool is_inside = at <= file->size && bytes <= file->size - at;
    return is_inside && at % sizeof(void *) == 0 ? file->bytes + at : NULL;
}

static const ElfW(Phdr) * segment_of(const struct file *file, size_t i)
{
    const ElfW(Ehdr) *header = part(file, 0, sizeof *header);
    bool is_known = header != NULL && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                    header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                    header->e_phentsize == sizeof(ElfW(Phdr)) && i < header->e_phnum;
    return is_known ? part(file, (size_t)header->e_phoff + i * sizeof(ElfW(Phdr)), sizeof(ElfW(Phdr))) : NULL;
}

// What the program sees at an address, in the file. SIZE_MAX: nothing.
static size_t place_of(const struct file *file, size_t address)
{
    const ElfW(Phdr) * segment;
    for (size_t i = 0; (segment = segment_of(file, i)) != NULL; i++) {
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return (size_t)(address - segment->p_vaddr + segment->p_offset);
        }
    }
    return SIZE_MAX;
}

static bool is_one_of(const struct file *file, size_t at, const char *const names[])
{
    for (; at < file->size && *names != NULL; names++) {
        size_t bytes = strlen(*names) + 1;
        if (bytes <= file->size - at && memcmp(file->bytes + at, *names, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool section_has(const struct file *file, const ElfW(Dyn) * entries, size_t count, const char *const names[])
{
    size_t strings = SIZE_MAX;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        strings = entries[i].d_tag == DT_STRTAB ? place_of(file, (size_t)entries[i].d_un.d_ptr) : strings;
    }
    for (size_t i = 0; i < count && strings < file->size && entries[i].d_tag != DT_NULL; i++) {
        size_t name = (size_t)entries[i].d_un.d_val;
        if (entries[i].d_tag == DT_NEEDED && name < file->size - strings && is_one_of(file, strings + name, names)) {
            return true;
        }
    }
    return false;
}

static bool file_has(const struct file *file, const char *const names[])
{
    const ElfW(Phdr) * segment;
    for (size_t i = 0; (segment = segment_of(file, i)) != NULL; i++) {
        const ElfW(Dyn) *entries =
            segment->p_type == PT_DYNAMIC ? part(file, (size_t)segment->p_offset, (size_t)segment->p_filesz) : NULL;
        if (entries != NULL) {
            return section_has(file, entries, (size_t)segment->p_filesz / sizeof *entries, names);
        }
    }
    return false;
}

bool co_needed_has(const char *path, const char *const names[])
{
    struct stat facts;
    bool has = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
        struct file file = {.size = (size_t)facts.st_size};
        void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            file.bytes = bytes;
            has = file_has(&file, names);
            munmap(bytes, file.size);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

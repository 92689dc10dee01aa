// SPDX-License-Identifier: BSD-3-Clause
//
// Tells a tool from the MPI library: what defines MPI_Send and is not where PMPI_Send is. It is called only if the
// linker binds it to functions PMPI_X, which are castoff's, for castoff stands in front. One that asks dlsym for what
// comes next gets native's functions, and of a message that it sends and castoff receives neither side would hear. At
// MPI_Init.
#define _GNU_SOURCE
#include "pmpi/life/tool_behind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    size_t count; // at least all that are undefined
};

// Most loaders have made them addresses, those that leave this part read-only have not.
static const void *place_of(const struct link_map *object, ElfW(Addr) value)
{
    return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

static struct symbols symbols_of(const struct link_map *object)
{
    struct symbols symbols = {NULL, NULL, 0};
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *place = place_of(object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) {
            symbols.table = place;
        } else if (entry->d_tag == DT_STRTAB) {
            symbols.names = place;
        } else if (entry->d_tag == DT_GNU_HASH || (entry->d_tag == DT_HASH && symbols.count == 0)) {
            // The second word of either: the first symbol that is hashed, before which are the undefined ones; and all.
            symbols.count = ((const uint32_t *)place)[1];
        }
    }
    return symbols;
}

static bool calls_pmpi(const struct link_map *object)
{
    struct symbols symbols = symbols_of(object);
    for (size_t i = 0; i < symbols.count && symbols.table != NULL && symbols.names != NULL; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        if (symbol->st_shndx == SHN_UNDEF && strncmp(symbols.names + symbol->st_name, "PMPI_", 5) == 0) {
            return true;
        }
    }
    return false;
}

static const struct link_map *object_of(const void *function)
{
    Dl_info info;
    void *object = NULL;
    return function != NULL && dladdr1(function, &info, &object, RTLD_DL_LINKMAP) != 0 ? object : NULL;
}

static void *find(const char *prefix, const char *name)
{
    char symbol[NAME_MAX_BYTES];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return dlsym(RTLD_NEXT, symbol);
}

void *co_tool_behind_find(const char *name, const void *below)
{
    void *function = find("MPI_", name);
    function = function != NULL ? function : find("MPIX_", name);
    if (function == below) { // nearly always, and dladdr1 reads all symbols of the library
        return NULL;
    }
    const struct link_map *object = object_of(function);
    return object != NULL && object != object_of(below) && calls_pmpi(object) ? function : NULL;
}

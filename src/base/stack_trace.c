// SPDX-License-Identifier: BSD-3-Clause
//
// Loads the stack module and turns addresses into words. The module is kept once it is loaded: other threads may be
// in it. Any thread; not hot.
#define _GNU_SOURCE // dladdr
#include "base/stack_trace.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "base/atomics.h"
#include "base/plain_text.h"
#include "base/stack_module.h"

#define MODULE_FILE "libcastoff-stack.so"

enum { FRAMES_MAX = 64, REASON_BYTES = 256, NAME_BYTES = 256 };

static const struct co_stack_module *_Atomic loaded;
static struct co_trylock load_lock = CO_TRYLOCK_INIT; // guards what follows
static const char *directory;
static bool tried;
static char reason[REASON_BYTES] = "not tried";

// Under the lock.
static void load(void)
{
    const struct co_stack_module *(*find)(void) = NULL;

    tried = true;
    *(void **)&find = co_module_load(directory, MODULE_FILE, "co_stack_module", reason, sizeof reason);
    const struct co_stack_module *module = find ? find() : NULL;
    if (find && (!module || module->version != CO_STACK_MODULE_VERSION)) {
        snprintf(reason, sizeof reason, MODULE_FILE " is of another version");
        return;
    }
    co_store_release(&loaded, module); // release M1: the module's own initialization is visible
}

static const struct co_stack_module *find_module(void)
{
    const struct co_stack_module *module = co_load_acquire(&loaded); // acquire M1

    if (!module) {
        co_trylock_wait(&load_lock);
        if (!tried) {
            load();
        }
        module = co_load_acquire(&loaded); // acquire M1
        co_trylock_drop(&load_lock);
    }
    return module;
}

void co_stack_trace_directory_set(const char *new_directory)
{
    co_trylock_wait(&load_lock);
    directory = new_directory;
    tried = false;
    co_store_release(&loaded, NULL); // release M1; the mapping stays, another thread may be in it
    co_trylock_drop(&load_lock);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t co_stack_trace_address_print(uintptr_t address, char *text, size_t size)
{
    const struct co_stack_module *module = find_module();
    char name[NAME_BYTES] = "", shown[NAME_BYTES], file[NAME_BYTES] = ""; // names are the program's
    size_t offset = 0;
    Dl_info info;
    int length;

    // A return address is the one behind the call; the byte before it is in the right function for sure.
    if (address == 0 || dladdr((void *)(address - 1), &info) == 0 || !info.dli_fname) {
        length = snprintf(text, size, address ? "0x%zx" : "unknown", (size_t)address);
    } else if (module && module->name(address - 1, name, sizeof name, &offset) == 0) {
        length = snprintf(text, size, "%s+0x%zx (%s)", co_plain_line(shown, sizeof shown, name), offset + 1,
                          co_plain_line(file, sizeof file, last_part(info.dli_fname)));
    } else {
        offset = (size_t)(address - (uintptr_t)info.dli_fbase);
        length = snprintf(text, size, "%s+0x%zx", co_plain_line(file, sizeof file, last_part(info.dli_fname)), offset);
    }
    return (size_t)length < size ? (size_t)length : size - 1;
}

size_t co_stack_trace_print(char *text, size_t size)
{
    const struct co_stack_module *module = find_module();
    uintptr_t addresses[FRAMES_MAX];
    size_t used = 0, count;

    if (!module) {
        co_trylock_wait(&load_lock);
        int length = snprintf(text, size, "no stack: %s\n", reason);
        co_trylock_drop(&load_lock);
        return (size_t)length < size ? (size_t)length : size - 1;
    }
    text[0] = '\0';
    count = module->walk(addresses, FRAMES_MAX);
    for (size_t i = 1; i < count; i++) { // 0 is this function
        char place[NAME_BYTES + 64];
        co_stack_trace_address_print(addresses[i], place, sizeof place);
        int length = snprintf(text + used, size - used, "  #%zu %s\n", i - 1, place);
        if ((size_t)length >= size - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t)length;
    }
    return used;
}

// Fortran and other bindings are libraries of MPI's family: libmpi.so, libmpi_mpifh.so, libmpi_usempif08.so, ...
static bool is_between(const Dl_info *info, const void *own_base)
{
    return info->dli_fbase == own_base || strncmp(last_part(info->dli_fname), "libmpi", 6) == 0;
}

uintptr_t co_stack_trace_call_site(void)
{
    const struct co_stack_module *module = find_module();
    const void *own_base = NULL;
    uintptr_t addresses[FRAMES_MAX];
    size_t count;

    if (!module || !co_module_own_file(&own_base)) {
        return 0;
    }
    count = module->walk(addresses, FRAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        Dl_info info;
        if (dladdr((void *)(addresses[i] - 1), &info) != 0 && info.dli_fname && !is_between(&info, own_base)) {
            return addresses[i];
        }
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The module libcastoff-stack.so: walks the calling thread's stack and names functions by libunwind. Loaded only when
// a stack is asked for (stall reports, call sites). Any thread; a walk takes microseconds.
#include "base/stack_module.h"

#include <errno.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

static size_t walk(uintptr_t *addresses, size_t max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    size_t count = 0;

    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) {
        return 0;
    }
    // The first step leaves this function.
    while (count < max && unw_step(&cursor) > 0) {
        unw_word_t address;
        if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) {
            break;
        }
        addresses[count++] = (uintptr_t)address;
    }
    return count;
}

static int name_of(uintptr_t address, char *name, size_t size, size_t *offset)
{
    unw_accessors_t *accessors = unw_get_accessors(unw_local_addr_space);
    unw_word_t distance = 0;

    if (!accessors || !accessors->get_proc_name) {
        return -ENOENT;
    }
    int result = accessors->get_proc_name(unw_local_addr_space, (unw_word_t)address, name, size, &distance, NULL);
    if (result != 0 && result != -UNW_ENOMEM) { // a name that was cut is still a name
        return -ENOENT;
    }
    *offset = (size_t)distance;
    return 0;
}

const struct co_stack_module *co_stack_module(void)
{
    static const struct co_stack_module module = {CO_STACK_MODULE_VERSION, walk, name_of};

    return &module;
}

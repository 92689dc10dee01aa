// SPDX-License-Identifier: BSD-3-Clause
//
// What the module libcastoff-stack.so offers. It is a library of its own, so that the preloaded one needs no
// libunwind; base/stack_trace.c loads it at first use and checks the version.
#ifndef CASTOFF_BASE_STACK_MODULE_H
#define CASTOFF_BASE_STACK_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define CO_STACK_MODULE_VERSION 1

struct co_stack_module {
    int version;
    // Return addresses of the calling thread's frames, innermost first, the caller of `walk` as the first. Returns
    // how many were written, at most `max`.
    size_t (*walk)(uintptr_t *addresses, size_t max);
    // Name of the function around the address and how far into it the address is. 0, or -ENOENT without a symbol.
    int (*name)(uintptr_t address, char *name, size_t size, size_t *offset);
};

// The only symbol of the module.
const struct co_stack_module *co_stack_module(void) __attribute__((visibility("default")));

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// A thread gets a stack as large as the limit for the main one by default (ulimit -s), or as the program has set it:
// less than our calls take, or gigabytes of a limit of addresses, and where all memory is locked (mlockall) all of it
// is memory.
#define _GNU_SOURCE // dl_iterate_phdr
#include "base/own_thread.h"

#include <link.h>
#include <signal.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define STACK_BYTES ((size_t)512 << 10)

// The thread-local variables of the program and its libraries lie on the stack, too, before anything else does.
static int add_variables(struct dl_phdr_info *object, size_t size, void *arg)
{
    size_t *bytes = arg;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        *bytes += segment->p_type == PT_TLS ? segment->p_memsz + segment->p_align : 0;
    }
    return 0;
}

static int start_with_stack(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    size_t bytes = STACK_BYTES, page = 4096;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    dl_iterate_phdr(add_variables, &bytes);
    error = pthread_attr_setstacksize(&attributes, (bytes + page - 1) / page * page);
    if (error == 0) {
        error = pthread_create(thread, &attributes, run, arg);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

// A thread has the rights of who makes it to memory with protection keys (pkey_alloc), and to those that come later
// mostly none. But it reads and writes buffers for threads that may do so, so it is made with all of them.
#if defined(__x86_64__)
#define KEYS_LEAF 7 // of cpuid
#define HAS_KEYS (1U << 4)

__attribute__((target("pku"))) static unsigned keys_open(void)
{
    unsigned a = 0, b = 0, has = 0, d = 0, before = 0;
    if (__get_cpuid_count(KEYS_LEAF, 0, &a, &b, &has, &d) != 0 && (has & HAS_KEYS) != 0) {
        before = _rdpkru_u32();
    }
    if (before != 0) {
        _wrpkru(0);
    }
    return before;
}

__attribute__((target("pku"))) static void keys_restore(unsigned before)
{
    if (before != 0) {
        _wrpkru(before);
    }
}
#else
static unsigned keys_open(void)
{
    return 0;
}

static void keys_restore(unsigned before)
{
    (void)before;
}
#endif

int co_own_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    unsigned keys = keys_open();
    int error = start_with_stack(thread, run, arg);
    if (error != 0) { // better one as the program has them than none
        error = pthread_create(thread, NULL, run, arg);
    }
    keys_restore(keys);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

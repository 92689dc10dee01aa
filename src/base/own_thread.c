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

int co_own_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = start_with_stack(thread, run, arg);
    if (error != 0) { // better one as the program has them than none
        error = pthread_create(thread, NULL, run, arg);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

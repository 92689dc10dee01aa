// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of castoff's own, in processes that are somebody else's: they take no signals, which are for the program's
// threads, have a stack of their own size, whatever is usual for those, and may use all memory that those may. Cold.
#ifndef CASTOFF_BASE_OWN_THREAD_H
#define CASTOFF_BASE_OWN_THREAD_H

#include <pthread.h>

// As pthread_create: 0, or an error number. To be joined.
int co_own_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif

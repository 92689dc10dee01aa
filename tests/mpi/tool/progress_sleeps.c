// SPDX-License-Identifier: BSD-3-Clause
//
// A library to preload under MPICH over UCX, native or with castoff: who waits in a call of MPICH's looks again and
// again and keeps the core, and where ranks are more than cores each exchange lasts as many ticks of the scheduler as
// ranks wait. MPICH looks by ucp_worker_progress; here whoever has found nothing for a while sleeps for a moment.
// (Hydra gives each rank a session of its own, and between sessions sched_yield gives nothing away.) It changes nothing
// but when a rank runs.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

enum { LOOKS_MOST = 100 };

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static _Thread_local unsigned looks;
    unsigned (*function)(void *) = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (function == NULL) {
        *(void **)&function = dlsym(RTLD_NEXT, "ucp_worker_progress");
        __atomic_store_n(&next, function, __ATOMIC_RELAXED);
    }
    unsigned moved = function(worker);
    looks = moved > 0 ? 0 : looks + 1;
    if (looks == LOOKS_MOST) {
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL); // some 50 us: the kernel's slack
        looks = 0;
    }
    return moved;
}

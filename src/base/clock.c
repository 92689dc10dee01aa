// SPDX-License-Identifier: BSD-3-Clause
//
// The only file that reads the clock. Called by the engine, its transports, the counts of calls and the
// tools; protocol parts get the time as an argument. Any thread; tens of nanoseconds (vDSO), so a spin loop may read it
// every few rounds.
#define _GNU_SOURCE // for RUSAGE_THREAD
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>

uint64_t co_clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    // 0 means "no time yet" to the timers; a machine is never up for less than a nanosecond, a namespace may be.
    uint64_t now_ns = (uint64_t)now.tv_sec * CO_NS_PER_S + (uint64_t)now.tv_nsec;
    return now_ns ? now_ns : 1;
}

uint64_t co_clock_preemptions(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nivcsw;
}

uint64_t co_clock_wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * CO_NS_PER_S + (uint64_t)now.tv_nsec;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Memory order in one place: the acquire and release operations that castoff uses, spelled so that a
// reader sees which side of an edge he stands on. Every use names its partner by a label in a comment
// (for instance "release K1, read by K1 in co_task_is_done"); a label belongs to one edge of one module, src/shm
// has its own. Hot; header only; any thread.
#ifndef CASTOFF_BASE_ATOMICS_H
#define CASTOFF_BASE_ATOMICS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

// Two lines, because adjacent-line prefetch makes neighbours share traffic.
#define CO_CACHE_LINE 64
#define CO_LINE_PAIR 128

#define co_load_acquire(object) atomic_load_explicit((object), memory_order_acquire)
#define co_load_relaxed(object) atomic_load_explicit((object), memory_order_relaxed)
#define co_store_release(object, value) atomic_store_explicit((object), (value), memory_order_release)
#define co_store_relaxed(object, value) atomic_store_explicit((object), (value), memory_order_relaxed)
#define co_add_relaxed(object, value) atomic_fetch_add_explicit((object), (value), memory_order_relaxed)
#define co_sub_relaxed(object, value) atomic_fetch_sub_explicit((object), (value), memory_order_relaxed)
#define co_add_acq_rel(object, value) atomic_fetch_add_explicit((object), (value), memory_order_acq_rel)
#define co_sub_acq_rel(object, value) atomic_fetch_sub_explicit((object), (value), memory_order_acq_rel)

// Tells the processor that this is a spin loop.
static inline void co_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

// Asks for a line that will be written to soon, before its last reader has to be waited for. __builtin_prefetch(p, 1)
// takes it for reading only on x86-64, unless the compiler is told of the instruction; where the processor has none, it
// does nothing.
static inline void co_prefetch_to_write(const void *address)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("prefetchw %0" ::"m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

// A lock that nobody waits for: who does not get it leaves the work to the holder.
struct co_trylock {
    _Atomic unsigned taken;
};

// clang-format off
#define CO_TRYLOCK_INIT {0}
// clang-format on

static inline int co_trylock_take(struct co_trylock *lock)
{
    // acquire T1: sees everything that the last holder wrote before its release T1.
    return atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire) == 0;
}

static inline void co_trylock_drop(struct co_trylock *lock)
{
    co_store_release(&lock->taken, 0); // release T1
}

// For the rare caller who must have it: yields, since the holder may have been preempted.
static inline void co_trylock_wait(struct co_trylock *lock)
{
    while (!co_trylock_take(lock)) {
        sched_yield();
    }
}

#endif

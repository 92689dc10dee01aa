// SPDX-License-Identifier: BSD-3-Clause
//
// The job's proxies; see the header.
#include "pmpi/life/proxies.h"

#include "base/log.h"
#include "base/settings.h"
#include "pmpi/life/process.h"

#include <inttypes.h>
#include <stdio.h>

static struct co_proxied_world *world;
static struct co_proxied_counts counted; // once it is closed
static char state[CO_PROXIED_WHY_BYTES];

static int descriptor(void *arg)
{
    return co_proxied_descriptor(arg);
}

static void sleeps(void *arg)
{
    co_proxied_sleeps(arg);
}

static void wakes(void *arg)
{
    co_proxied_wakes(arg);
}

static void look(void *arg, uint64_t now_ns)
{
    (void)co_proxied_look(arg, now_ns); // calls that it ends are done
}

static bool move(void *arg)
{
    co_proxied_move(arg);
    return co_proxied_is_crowded(arg);
}

static uint64_t moved(void *arg)
{
    return co_proxied_moved(arg);
}

struct co_proxies co_proxies = {.members_most = CO_PROXIED_MEMBERS_MAX,
                                .descriptor = descriptor,
                                .sleeps = sleeps,
                                .wakes = wakes,
                                .look = look,
                                .move = move,
                                .moved = moved};

// All decide alike, so none has proxies where one has not, for want of memory perhaps.
static bool is_open_everywhere(const struct co_bootstrap *bootstrap, int error)
{
    int least = error, told = bootstrap->minimum(bootstrap->arg, &least, 1);
    if (told == 0 && least == 0) {
        return true;
    }
    if (error == 0) {
        co_proxied_close(world);
        snprintf(state, sizeof state, "some rank could not open them");
    }
    world = NULL;
    return false;
}

static void say_there_are_none(void)
{
    if (co_process.rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_PMPI, "MPI_Ialltoall and its like stay native, for there are no proxies: %s",
               state);
    }
}

#ifdef CO_HAS_LARGE_COUNTS
#define NOT_HERE "not with MPICH (CASTOFF_PROXY=no)"
#endif

// `auto` has no figures yet that would say where they are faster than stock. With MPICH some members of a call may use
// MPI_Ialltoall_c, which nobody takes.
static bool are_wanted(void)
{
    if (co_proxied_why_none(co_setting_number(CO_SET_PROXY)) != NULL) {
        return false;
    }
#ifdef CO_HAS_LARGE_COUNTS
    snprintf(state, sizeof state, NOT_HERE);
    say_there_are_none();
    return false;
#else
    return true;
#endif
}

void co_proxies_open(const struct co_bootstrap *bootstrap)
{
    struct co_proxied_config config = {
        .rank = co_process.rank, .size = co_process.size, .allgather = bootstrap->allgather, .arg = bootstrap->arg};
    if (!are_wanted()) {
        return;
    }
    if (!is_open_everywhere(bootstrap, co_proxied_open(&world, &config, state))) {
        say_there_are_none();
        return;
    }
    snprintf(state, sizeof state, "%s", co_proxied_state(world));
    co_proxies.arg = world;
    co_engine_lend_proxies(co_process.engine, &co_proxies);
}

void co_proxies_close(void)
{
    if (world == NULL) {
        return;
    }
    co_proxied_count(world, &counted);
    // A program that leaves calls under way has their buffers no longer: for their proxy it is gone, as is a process
    // that ends.
    if (co_load_relaxed(&co_proxies.under_way) == 0) { // relaxed: the last thread of MPI's is here
        co_proxied_close(world);
    }
    world = NULL;
}

struct co_proxied_world *co_proxies_world(void)
{
    return world;
}

const char *co_proxies_state(struct co_proxied_counts *counts)
{
    *counts = counted;
    if (world != NULL) {
        co_proxied_count(world, counts);
    }
    return state;
}

const char *co_proxies_why_none(uint64_t large)
{
#ifdef CO_HAS_LARGE_COUNTS
    (void)large;
    return NOT_HERE;
#else
    static char text[CO_PROXIED_WHY_BYTES];
    const char *why = co_proxied_why_none(co_setting_number(CO_SET_PROXY));
    if (why == NULL || large == 0 || co_setting_number(CO_SET_PROXY) != CO_AUTO) {
        return why != NULL ? why : "";
    }
    snprintf(text, sizeof text,
             "%s; worth a try: %" PRIu64 " all-to-all calls of 256 KiB a pair or more between hosts had none", why,
             large);
    return text;
#endif
}

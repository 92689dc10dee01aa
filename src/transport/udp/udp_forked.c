// SPDX-License-Identifier: BSD-3-Clause
//
// A child of fork has all sockets, too, and they live as long as it does: its host would not say that nobody is there
// when the process itself has ended, and would stay in the groups. So they are closed there, where nobody uses them;
// not by exec, for not every child calls it. Cold.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <pthread.h>

#include "base/atomics.h"
#include "transport/udp/udp_state.h"

static struct co_udp *opened;                    // those that are
static struct co_trylock lock = CO_TRYLOCK_INIT; // guards them
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void hold(void)
{
    co_trylock_wait(&lock);
}

static void let_go(void)
{
    co_trylock_drop(&lock);
}

// Where the program has closed one, its number may be another file's, which is the child's.
static void in_child(void)
{
    for (struct co_udp *udp = opened; udp != NULL; udp = udp->next_opened) {
        co_descriptor_close(&udp->unicast_fd, &udp->unicast_file);
        for (unsigned i = 0; i < CO_UDP_GROUPS_MAX; i++) {
            co_descriptor_close(&udp->group_fds[i], &udp->group_files[i]);
        }
    }
    let_go();
}

static void hear_of_forks(void)
{
    pthread_atfork(hold, let_go, in_child);
}

void co_udp_forked_enter(struct co_udp *udp)
{
    pthread_once(&fork_once, hear_of_forks);
    hold();
    udp->next_opened = opened;
    opened = udp;
    let_go();
}

void co_udp_forked_leave(struct co_udp *udp)
{
    hold();
    struct co_udp **link = &opened;
    while (*link != NULL && *link != udp) {
        link = &(*link)->next_opened;
    }
    if (*link != NULL) {
        *link = udp->next_opened;
    }
    let_go();
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Worlds that are open, and castoff_offload_close. In a child of fork a world is nobody's: its descriptors are closed
// there, for the proxy learns from them that the rank has ended.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "offload/api/offload_world.h"

static struct castoff_offload_world *worlds;
static pthread_mutex_t worlds_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void worlds_hold(void)
{
    pthread_mutex_lock(&worlds_lock);
}

static void worlds_let_go(void)
{
    pthread_mutex_unlock(&worlds_lock);
}

static void worlds_forked(void)
{
    for (struct castoff_offload_world *world = worlds; world != NULL; world = world->next) {
        if (!world->is_forked) {
            co_rank_connection_forked(world->connection);
            world->is_forked = true;
        }
    }
    pthread_mutex_unlock(&worlds_lock);
}

static void fork_watch(void)
{
    pthread_atfork(worlds_hold, worlds_let_go, worlds_forked);
}

void co_offload_world_join(struct castoff_offload_world *world)
{
    pthread_once(&fork_once, fork_watch);
    worlds_hold();
    world->next = worlds;
    worlds = world;
    worlds_let_go();
}

static void world_leave(struct castoff_offload_world *world)
{
    worlds_hold();
    struct castoff_offload_world **link = &worlds;
    while (*link != world) {
        link = &(*link)->next;
    }
    *link = world->next;
    worlds_let_go();
}

int castoff_offload_close(struct castoff_offload_world *world)
{
    if (world == NULL) {
        return 0;
    }
    if (!world->is_forked && (world->requests > 0 || world->groups > 0)) {
        return co_offload_fail(-EBUSY, "%u requests have not been waited for, and %u groups not freed", world->requests,
                               world->groups);
    }
    world_leave(world);
    co_rank_connection_close(world->connection);
    free(world->hosts);
    free(world);
    return 0;
}

int castoff_offload_rank(const struct castoff_offload_world *world)
{
    return world->rank;
}

int castoff_offload_size(const struct castoff_offload_world *world)
{
    return world->size;
}

struct castoff_offload_world **castoff_offload_paper_world(void)
{
    static struct castoff_offload_world *world;
    return &world;
}

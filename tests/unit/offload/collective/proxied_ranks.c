// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that call by proxies; see the header.
#include "proxied_ranks.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/poll.h"
#include "base/settings.h"
#include "offload/collective/proxied_state.h"
#include "offload/rank/rank_client_state.h"

struct co_proxied_world *proxied_open(const char *const settings[])
{
    char why[CO_PROXIED_WHY_BYTES];
    struct co_proxied_world *world;
    struct co_proxied_config config = {
        .rank = ranks_own, .size = ranks_count, .allgather = ranks_gather, .command = ranks_command()};

    MUST(setenv("CASTOFF_PROXY", "yes", 1) == 0);
    for (int i = 0; settings != NULL && settings[i] != NULL; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s", settings[i]);
        char *equals = strchr(text, '=');
        MUST(equals != NULL);
        *equals = '\0';
        MUST(setenv(text, equals + 1, 1) == 0);
    }
    co_settings_load();
    int error = co_proxied_open(&world, &config, why);
    if (error == -EPERM) {
        ranks_shared->is_denied = 1;
        _exit(0);
    }
    ranks_must(error == 0, why, __LINE__);
    MUST(co_proxied_state(world)[0] != '\0');
    ranks_shared->proxy = world->world->proxy;
    return world;
}

struct co_proxied_team *proxied_team(struct co_proxied_world *world, uint64_t id)
{
    struct co_proxied_team *team;
    int ranks[RANKS_RANKS_MAX];

    for (int i = 0; i < ranks_count; i++) {
        ranks[i] = i;
    }
    MUST(co_proxied_team_open(&team, world, id, ranks, ranks_count, ranks_own) == 0);
    return team;
}

void proxied_leave_room_for_teams(struct co_proxied_world *world, uint32_t teams)
{
    world->client->team_count = CO_OFFLOAD_TEAMS_MAX - teams;
}

unsigned char proxied_byte(int from, int to, unsigned call)
{
    return (unsigned char)(1 + (unsigned)from * 31 + (unsigned)to * 7 + call * 101);
}

void proxied_fill(unsigned char *send, int members, size_t bytes, int rank, unsigned call)
{
    for (int to = 0; bytes > 0 && to < members; to++) {
        memset(send + (size_t)to * bytes, proxied_byte(rank, to, call), bytes);
    }
}

bool proxied_is_all(const unsigned char *memory, size_t bytes, int value)
{
    return bytes == 0 || (memory[0] == (unsigned char)value && memcmp(memory, memory + 1, bytes - 1) == 0);
}

bool proxied_has(const unsigned char *receive, int members, size_t bytes, int rank, unsigned call)
{
    for (int from = 0; from < members; from++) {
        if (!proxied_is_all(receive + (size_t)from * bytes, bytes, proxied_byte(from, rank, call))) {
            return false;
        }
    }
    return true;
}

void proxied_await(struct co_proxied_world *world, const struct co_proxied_call *call)
{
    while (!co_proxied_is_done(call)) {
        struct pollfd look = {.fd = co_proxied_descriptor(world), .events = POLLIN};
        co_proxied_sleeps(world);
        if (!co_proxied_is_done(call)) {
            (void)co_poll(&look, 1, 100 * CO_NS_PER_MS);
        }
        co_proxied_wakes(world);
        (void)co_proxied_look(world, co_clock_now_ns());
    }
}

struct co_proxied_result proxied_wait(struct co_proxied_world *world, struct co_proxied_call *call)
{
    struct co_proxied_result result;

    proxied_await(world, call);
    co_proxied_end(call, &result);
    return result;
}

void proxied_exchange(struct co_proxied_world *world, struct co_proxied_team *team, size_t bytes, unsigned call)
{
    size_t all = bytes * (size_t)ranks_count;
    unsigned char *send = malloc(all + 1), *receive = malloc(all + 1);
    struct co_proxied_call *under_way;

    proxied_fill(send, ranks_count, bytes, ranks_own, call);
    memset(receive, 99, all + 1);
    MUST(co_proxied_alltoall(&under_way, team, send, receive, bytes) == 0);
    struct co_proxied_result result = proxied_wait(world, under_way);
    MUST(result.error == 0 && result.with == -1 && result.bytes == all);
    MUST(proxied_has(receive, ranks_count, bytes, ranks_own, call) && receive[all] == 99);
    free(send);
    free(receive);
}

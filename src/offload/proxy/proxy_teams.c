// SPDX-License-Identifier: BSD-3-Clause
//
// Teams: who takes part in collective calls, and how many of them each member has begun, as it has said itself
// (CALLED). That number only grows, so the newest says all, and it lets send whatever is of a call below it. Of a team
// that no rank here has open it is dropped, for who opens one asks (ASK) and hears it again; so nothing is kept of
// teams that are closed. A team is a rank's own, with members that it has named itself: a rank that names wrong ones
// harms no other. Called by patterns and proxy_core.c; hearing is hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "offload/little_endian.h"
#include "offload/offload_pattern.h"
#include "offload/proxy/proxy_state.h"

static struct co_offload_key key_of(uint64_t team, uint32_t rank, uint64_t number)
{
    return (struct co_offload_key){.from = rank, .tag = team, .space = CO_OFFLOAD_TEAM, .number = number};
}

static struct co_proxy_called *called_find(const struct co_proxy *proxy, uint64_t team, uint32_t rank)
{
    struct co_offload_key key = key_of(team, rank, 0);
    return (struct co_proxy_called *)co_proxy_table_get(&proxy->called, &key); // the node is its first member
}

// Its place in the team, made if need be. There is room in the table.
static int member_join(struct co_proxy *proxy, struct co_proxy_team *team, uint32_t place, uint32_t rank)
{
    struct co_proxy_called *called = rank < (uint32_t)proxy->config.ranks ? called_find(proxy, team->id, rank) : NULL;

    if (rank >= (uint32_t)proxy->config.ranks || (called != NULL && called->opening == proxy->openings)) {
        return -EPROTO; // none, or twice
    }
    struct co_proxy_peer *peer = co_proxy_peer_of(proxy, rank);
    if (peer->opening != proxy->openings) {
        peer->opening = proxy->openings;
        peer->has_to_ask = false;
        team->peers[team->peer_count++] = (uint32_t)proxy->proxy_of_rank[rank];
    }
    if (called == NULL) {
        called = calloc(1, sizeof *called);
        if (called == NULL) {
            return -ENOMEM;
        }
        called->node.key = key_of(team->id, rank, 0);
        co_proxy_link_init(&called->waiting);
        co_proxy_table_put(&proxy->called, &called->node);
        peer->has_to_ask = true;
    }
    called->opening = proxy->openings;
    called->uses++;
    team->members[place] = called;
    return 0;
}

static void member_leave(struct co_proxy *proxy, struct co_proxy_called *called)
{
    if (--called->uses == 0) {
        assert(co_proxy_link_is_alone(&called->waiting));
        co_proxy_table_remove(&proxy->called, &called->node);
        free(called);
    }
}

static void team_free(struct co_proxy *proxy, struct co_proxy_team *team)
{
    for (uint32_t i = 0; i < team->count && team->members[i] != NULL; i++) {
        member_leave(proxy, team->members[i]);
    }
    co_proxy_layout_free(team->layout);
    free(team->peers);
    free(team);
}

void co_proxy_team_release(struct co_proxy *proxy, struct co_proxy_rank *rank, struct co_proxy_team *team)
{
    if (--team->uses == 0) {
        rank->member_count -= team->count;
        team_free(proxy, team);
    }
}

// Members whose calls nobody here has heard of so far.
static int calls_ask(struct co_proxy *proxy, const struct co_proxy_team *team, uint32_t rank)
{
    struct co_offload_key key = key_of(team->id, rank, 0);
    int error = 0;

    for (uint32_t i = 0; i < team->peer_count && error == 0; i++) {
        struct co_proxy_peer *peer = &proxy->peers[team->peers[i]];
        if (peer->has_to_ask && team->peers[i] != (uint32_t)proxy->config.self) {
            error = co_proxy_control_reserve(peer);
            if (error == 0) {
                co_proxy_control_queue(peer, CO_OFFLOAD_RECORD_ASK, &key);
            }
        }
    }
    return error;
}

static int team_fill(struct co_proxy *proxy, struct co_proxy_team *team, uint32_t rank, const uint8_t *definition)
{
    bool is_member = false;
    int error = co_proxy_table_reserve(&proxy->called, team->count);

    proxy->openings++;
    for (uint32_t i = 0; i < team->count && error == 0; i++) {
        uint32_t member = (uint32_t)co_little_endian_get(definition + (size_t)i * CO_OFFLOAD_MEMBER_BYTES, 4);
        error = member_join(proxy, team, i, member);
        if (member == rank) {
            is_member = true;
            team->place = i;
        }
    }
    return error == 0 && !is_member ? -EPROTO : error;
}

// Whether there are marks of what was said of a member.
static bool was_said_of(const struct co_proxy *proxy, const struct co_proxy_team *team)
{
    uint32_t i = 0;
    while (i < team->count && proxy->ranks[team->members[i]->node.key.from].mark_count == 0) {
        i++;
    }
    return i < team->count;
}

int co_proxy_team_open(struct co_proxy *proxy, int number, const struct co_offload_command *command,
                       const uint8_t *definition, size_t bytes)
{
    struct co_proxy_rank *rank = &proxy->ranks[number];
    uint32_t count = command->operations, proxies = (uint32_t)proxy->config.proxies;

    if (bytes != (size_t)count * CO_OFFLOAD_MEMBER_BYTES || count > (uint32_t)proxy->config.ranks) {
        return -EPROTO;
    }
    if (rank->teams.count >= CO_OFFLOAD_TEAMS_MAX || count > CO_OFFLOAD_MEMBERS_KEPT - rank->member_count) {
        return -ENOSPC;
    }
    struct co_proxy_team *team = calloc(1, sizeof *team + count * sizeof(struct co_proxy_called *));
    uint32_t *peers = calloc(count < proxies ? count : proxies, sizeof *peers);
    if (team == NULL || peers == NULL) {
        free(team);
        free(peers);
        return -ENOMEM;
    }
    *team = (struct co_proxy_team){.id = command->team,
                                   .uses = 1,
                                   .count = count,
                                   .next = proxy->config.first_number + command->begun,
                                   .peers = peers};
    int error = team_fill(proxy, team, (uint32_t)number, definition);
    if (error == 0) {
        error = co_hash_map_put(&rank->teams, team->id, team);
    }
    if (error != 0) {
        team_free(proxy, team);
        return error == -EEXIST ? -EPROTO : error;
    }
    if (command->begun > 0 && was_said_of(proxy, team)) { // else both tables are walked for nothing
        co_proxy_marks_purge(proxy, (uint32_t)number, team->id, team->next);
    }
    rank->member_count += count;
    proxy->counts.operations += count;
    return calls_ask(proxy, team, (uint32_t)number);
}

// One with a call under way stays, for who opens it late has to hear of that call; so the rank closes it last.
int co_proxy_team_close(struct co_proxy *proxy, struct co_proxy_rank *rank, uint64_t id)
{
    struct co_proxy_team *team = co_hash_map_get(&rank->teams, id);
    if (team == NULL || team->uses > 1) {
        return -EPROTO;
    }
    co_hash_map_remove(&rank->teams, id);
    co_proxy_team_release(proxy, rank, team);
    return 0;
}

void co_proxy_teams_close(struct co_proxy *proxy, struct co_proxy_rank *rank)
{
    size_t position = 0;
    struct co_proxy_team *team;
    while ((team = co_hash_map_next(&rank->teams, &position, NULL)) != NULL) {
        co_proxy_team_release(proxy, rank, team);
    }
    co_hash_map_close(&rank->teams);
}

int co_proxy_team_lay_out(struct co_proxy *proxy, struct co_proxy_team *team)
{
    if (team->layout != NULL) {
        return 0;
    }
    uint32_t *proxies = malloc(team->count * sizeof *proxies);
    if (proxies == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < team->count; i++) {
        proxies[i] = (uint32_t)proxy->proxy_of_rank[team->members[i]->node.key.from];
    }
    int error = co_proxy_layout_make(&team->layout, proxies, team->count, (uint32_t)proxy->config.proxies);
    free(proxies);
    return error;
}

bool co_proxy_team_wait(struct co_proxy_team *team, struct co_proxy_end *end)
{
    struct co_proxy_called *called = team->members[end->place];
    if (end->node.key.number >= called->count) {
        co_proxy_link_join_last(&called->waiting, &end->outgoing);
        return true;
    }
    end->is_ready = true;
    return false;
}

// What waited for a call that has begun goes on.
static void called_raise(struct co_proxy *proxy, struct co_proxy_called *called, uint64_t count)
{
    if (count <= called->count) {
        return;
    }
    called->count = count;
    for (struct co_proxy_link *link = called->waiting.after, *next; link != &called->waiting; link = next) {
        struct co_proxy_end *end = co_proxy_end_of(link);
        next = link->after;
        if (end->node.key.number < count) {
            co_proxy_link_leave(link);
            end->is_ready = true;
            co_proxy_end_queue(proxy, end);
        }
    }
}

void co_proxy_team_called(struct co_proxy *proxy, const struct co_proxy_team *team, uint64_t count,
                          const uint32_t *peers, uint32_t peer_count)
{
    struct co_proxy_called *own = team->members[team->place];
    struct co_offload_key key = key_of(team->id, own->node.key.from, count);

    called_raise(proxy, own, count);
    for (uint32_t i = 0; i < peer_count; i++) {
        if (peers[i] != (uint32_t)proxy->config.self) {
            co_proxy_control_queue(&proxy->peers[peers[i]], CO_OFFLOAD_RECORD_CALLED, &key);
        }
    }
}

// What our ranks have called of that team so far.
static int ask_answer(struct co_proxy *proxy, int peer, uint64_t id)
{
    int error = 0;
    for (uint32_t i = 0; i < (uint32_t)proxy->config.ranks && error == 0; i++) {
        const struct co_proxy_team *team = proxy->ranks[i].is_here ? co_hash_map_get(&proxy->ranks[i].teams, id) : NULL;
        uint64_t count = team != NULL ? team->members[team->place]->count : 0;
        if (count > 0) {
            struct co_offload_key key = key_of(id, i, count);
            error = co_proxy_control_reserve(&proxy->peers[peer]);
            if (error == 0) {
                co_proxy_control_queue(&proxy->peers[peer], CO_OFFLOAD_RECORD_CALLED, &key);
            }
        }
    }
    return error;
}

int co_proxy_teams_hear(struct co_proxy *proxy, int peer, enum co_offload_record_kind kind,
                        const struct co_offload_key *key)
{
    if (key->from >= (uint32_t)proxy->config.ranks || proxy->proxy_of_rank[key->from] != peer) {
        return -EPROTO;
    }
    if (kind == CO_OFFLOAD_RECORD_ASK) {
        return ask_answer(proxy, peer, key->tag);
    }
    struct co_proxy_called *called = called_find(proxy, key->tag, key->from);
    if (called != NULL) {
        called_raise(proxy, called, key->number);
    }
    return 0;
}

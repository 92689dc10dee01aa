// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor: takes commands and records to the parts, and draws the conclusions once a turn; see the header.
#include "offload/proxy/proxy_core.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/proxy/proxy_state.h"

static bool config_is_good(const struct co_proxy_config *config)
{
    bool is_good = config->self >= 0 && config->self < config->proxies && config->ranks > 0 &&
                   config->piece_bytes > 0 && config->piece_bytes <= CO_OFFLOAD_RECORD_PAYLOAD_MAX &&
                   config->groups_max > 0 && config->ends_max > 0;
    for (int i = 0; is_good && i < config->ranks; i++) {
        is_good = config->proxy_of_rank[i] >= 0 && config->proxy_of_rank[i] < config->proxies;
    }
    return is_good;
}

static void proxy_free(struct co_proxy *proxy)
{
    free(proxy->proxy_of_rank);
    free(proxy->ranks);
    free(proxy->peers);
    free(proxy->left);
    free(proxy->record);
    free(proxy);
}

int co_proxy_open(struct co_proxy **out, const struct co_proxy_config *config, struct co_carrier *carrier,
                  const struct co_proxy_output *output)
{
    if (!config_is_good(config)) {
        return -EINVAL;
    }
    struct co_proxy *proxy = calloc(1, sizeof *proxy);
    if (proxy == NULL) {
        return -ENOMEM;
    }
    proxy->config = *config;
    proxy->output = *output;
    proxy->sends.secret = proxy->receives.secret = config->hash_secret;
    proxy->send_sequences.secret = proxy->receive_sequences.secret = proxy->called.secret = config->hash_secret;
    proxy->carrier = carrier;
    proxy->proxy_of_rank = calloc((size_t)config->ranks, sizeof *proxy->proxy_of_rank);
    proxy->ranks = calloc((size_t)config->ranks, sizeof *proxy->ranks);
    proxy->peers = calloc((size_t)config->proxies, sizeof *proxy->peers);
    proxy->left = calloc((size_t)config->ranks, sizeof *proxy->left);
    proxy->record = malloc(CO_OFFLOAD_RECORD_BYTES_MAX);
    co_proxy_link_init(&proxy->runnable);
    if (proxy->proxy_of_rank == NULL || proxy->ranks == NULL || proxy->peers == NULL || proxy->left == NULL ||
        proxy->record == NULL) {
        proxy_free(proxy);
        return -ENOMEM;
    }
    memcpy(proxy->proxy_of_rank, config->proxy_of_rank, (size_t)config->ranks * sizeof *proxy->proxy_of_rank);
    for (int i = 0; i < config->proxies; i++) {
        co_proxy_link_init(&proxy->peers[i].outgoing);
    }
    *out = proxy;
    return 0;
}

// Its calls end without a word, and its groups are forgotten.
static void rank_release(struct co_proxy *proxy, struct co_proxy_rank *rank)
{
    for (uint32_t ticket = 0; rank->calls != NULL && ticket < rank->ticket_end; ticket++) {
        if (rank->calls[ticket] != NULL) {
            co_proxy_call_drop(proxy, rank->calls[ticket]);
        }
    }
    co_proxy_groups_close(proxy, rank);
    co_proxy_teams_close(proxy, rank);
    free(rank->calls);
    rank->calls = NULL;
    rank->window = NULL;
    rank->is_here = false;
}

void co_proxy_close(struct co_proxy *proxy)
{
    for (int i = 0; i < proxy->config.ranks; i++) {
        rank_release(proxy, &proxy->ranks[i]);
    }
    co_proxy_ends_close(proxy);
    for (int i = 0; i < proxy->config.proxies; i++) {
        free(proxy->peers[i].controls);
    }
    proxy_free(proxy);
}

int co_proxy_rank_join(struct co_proxy *proxy, int rank, struct co_rank_window *window)
{
    if (rank < 0 || !co_proxy_rank_is_ours(proxy, (uint32_t)rank) || proxy->ranks[rank].is_here ||
        proxy->ranks[rank].is_gone || proxy->ranks[rank].is_leaving) {
        return -EINVAL;
    }
    proxy->ranks[rank].calls = calloc(CO_TICKETS, sizeof(struct co_proxy_call *));
    if (proxy->ranks[rank].calls == NULL) {
        return -ENOMEM;
    }
    proxy->ranks[rank].window = window;
    proxy->ranks[rank].is_here = true;
    co_hash_map_open(&proxy->ranks[rank].groups);
    co_hash_map_open(&proxy->ranks[rank].teams);
    return 0;
}

static void gone_say(struct co_proxy *proxy, uint32_t rank)
{
    uint8_t record[CO_OFFLOAD_RECORD_HEAD_BYTES + 8];
    size_t bytes = co_offload_record_encode_gone(record, rank);

    for (int i = 0; i < proxy->config.proxies; i++) {
        if (i != proxy->config.self && !proxy->peers[i].is_lost) {
            proxy->carrier->ops->control(proxy->carrier, i, record, bytes);
            proxy->counts.control_records++;
        }
    }
}

void co_proxy_rank_lost(struct co_proxy *proxy, int rank)
{
    struct co_proxy_rank *lost = &proxy->ranks[rank];

    if (!lost->is_here) {
        return;
    }
    bool has_left = lost->is_leaving && lost->call_count == 0;
    rank_release(proxy, lost);
    if (has_left) {
        proxy->left[proxy->left_count++] = (uint32_t)rank;
    } else {
        gone_say(proxy, (uint32_t)rank);
    }
    co_proxy_ends_gone(proxy, (uint32_t)rank);
}

bool co_proxy_rank_is_condemned(const struct co_proxy *proxy, int rank)
{
    return proxy->ranks[rank].is_here && proxy->ranks[rank].has_said_too_much;
}

uint64_t co_proxy_rank_moved(const struct co_proxy *proxy, int rank)
{
    return proxy->ranks[rank].moved;
}

uint32_t co_proxy_rank_calls(const struct co_proxy *proxy, int rank)
{
    return proxy->ranks[rank].call_count;
}

// The team's next call of that rank begins and is over with an error, which all its messages have.
static int call_refuse(struct co_proxy *proxy, int rank, const struct co_offload_command *command)
{
    struct co_proxy_group *group;
    int error = co_proxy_pattern_make_empty(proxy, &proxy->ranks[rank], command, &group);

    if (error == 0) {
        error = co_proxy_call_begin(proxy, rank, command->ticket, group, NULL);
        if (error == 0) {
            proxy->ranks[rank].calls[command->ticket]->error = -ECANCELED;
        }
        co_proxy_group_release(proxy, &proxy->ranks[rank], group);
    }
    return error;
}

int co_proxy_command(struct co_proxy *proxy, int rank, const struct co_offload_command *command,
                     const uint8_t *definition, size_t definition_bytes)
{
    struct co_proxy_rank *from = &proxy->ranks[rank];
    struct co_proxy_group *group;

    if (!from->is_here || from->is_leaving) {
        return -EPROTO;
    }
    proxy->counts.commands++;
    switch (command->kind) {
    case CO_OFFLOAD_COMMAND_GROUP:
        return co_proxy_group_define(proxy, from, command, definition, definition_bytes);
    case CO_OFFLOAD_COMMAND_FORGET:
        return co_proxy_group_forget(proxy, from, command->group);
    case CO_OFFLOAD_COMMAND_CALL:
        group = co_proxy_group_find(from, command->group);
        if (group == NULL) {
            return -EPROTO;
        }
        proxy->counts.calls++;
        proxy->counts.cached_calls += group->was_called;
        group->was_called = true;
        return co_proxy_call_begin(proxy, rank, command->ticket, group, NULL);
    case CO_OFFLOAD_COMMAND_SEND:
    case CO_OFFLOAD_COMMAND_RECEIVE:
        return co_proxy_call_begin(proxy, rank, command->ticket, NULL, &command->operation);
    case CO_OFFLOAD_COMMAND_BYE:
        from->is_leaving = true;
        return 0;
    case CO_OFFLOAD_COMMAND_TEAM_OPEN:
        return co_proxy_team_open(proxy, rank, command, definition, definition_bytes);
    case CO_OFFLOAD_COMMAND_TEAM_CLOSE:
        return co_proxy_team_close(proxy, from, command->team);
    case CO_OFFLOAD_COMMAND_ALLTOALL:
    case CO_OFFLOAD_COMMAND_ALLTOALLV:
    case CO_OFFLOAD_COMMAND_BCAST:
    case CO_OFFLOAD_COMMAND_ALLGATHER:
    case CO_OFFLOAD_COMMAND_ALLGATHERV:
        return co_proxy_pattern_define(proxy, from, command, definition, definition_bytes);
    case CO_OFFLOAD_COMMAND_REFUSE:
        return call_refuse(proxy, rank, command);
    default:
        return -EPROTO;
    }
}

// Of another proxy's rank of which too much was said, nothing more is heard. One of ours is hung up.
static void condemned_pass(struct co_proxy *proxy, uint32_t rank)
{
    if (proxy->ranks[rank].has_said_too_much && !co_proxy_rank_is_ours(proxy, rank)) {
        co_proxy_ends_gone(proxy, rank);
    }
}

static int entries_take(struct co_proxy *proxy, int peer, const struct co_offload_record *record)
{
    int error = 0;
    for (uint32_t i = 0; i < record->entries.count && error == 0; i++) {
        struct co_offload_key key = co_offload_record_entry(record, i);
        bool is_of_calls = record->kind == CO_OFFLOAD_RECORD_CALLED || record->kind == CO_OFFLOAD_RECORD_ASK;
        error = is_of_calls ? co_proxy_teams_hear(proxy, peer, record->kind, &key)
                            : co_proxy_ends_hear(proxy, peer, record->kind, &key);
        if (error == 0 && !is_of_calls) {
            condemned_pass(proxy, key.from);
            condemned_pass(proxy, key.to);
        }
    }
    return error;
}

int co_proxy_take(struct co_proxy *proxy, int peer, enum co_carrier_connection connection, const uint8_t *bytes,
                  size_t count)
{
    struct co_offload_record record;

    if (proxy->peers[peer].is_lost) {
        return 0;
    }
    if (co_offload_record_decode(&record, bytes, count) != 0 ||
        (record.kind != CO_OFFLOAD_RECORD_GONE &&
         co_offload_record_is_data(record.kind) != (connection == CO_CARRIER_BULK))) {
        return -EPROTO;
    }
    if (co_offload_record_is_data(record.kind)) {
        return co_proxy_piece_in(proxy, peer, &record);
    }
    if (record.kind != CO_OFFLOAD_RECORD_GONE) {
        return entries_take(proxy, peer, &record);
    }
    if (record.rank >= (uint32_t)proxy->config.ranks || proxy->proxy_of_rank[record.rank] != peer) {
        return -EPROTO;
    }
    co_proxy_ends_gone(proxy, record.rank);
    return 0;
}

void co_proxy_peer_lost(struct co_proxy *proxy, int peer)
{
    proxy->peers[peer].is_lost = true;
    proxy->peers[peer].control_count = 0;
    for (int i = 0; i < proxy->config.ranks; i++) {
        if (proxy->proxy_of_rank[i] == peer) {
            co_proxy_ends_gone(proxy, (uint32_t)i);
        }
    }
}

static void calls_advance(struct co_proxy *proxy)
{
    while (!co_proxy_link_is_alone(&proxy->runnable)) {
        // `runnable` is a call's first member.
        struct co_proxy_call *call = (struct co_proxy_call *)proxy->runnable.after;
        co_proxy_link_leave(&call->runnable);
        call->is_runnable = false;
        if (co_proxy_call_advance(proxy, call)) {
            struct co_offload_completion completion = {
                .state = CO_OFFLOAD_COMPLETION_DONE, .error = call->error, .with = call->with, .bytes = call->bytes};
            int rank = call->rank;
            uint32_t ticket = call->ticket;
            co_proxy_call_free(proxy, call);
            proxy->output.complete(proxy->output.context, rank, ticket, &completion);
        }
    }
}

// One piece to that peer, of the send whose turn it is.
static void piece_move(struct co_proxy *proxy, int peer)
{
    struct co_proxy_end *end = co_proxy_end_of(proxy->peers[peer].outgoing.after);

    co_proxy_link_leave(&end->outgoing);
    size_t bytes = co_proxy_piece_out(proxy, end);
    if (bytes == 0) {
        return;
    }
    if (peer != proxy->config.self) {
        proxy->carrier->ops->bulk(proxy->carrier, peer, proxy->record, bytes);
        proxy->counts.data_records++;
    } else {
        int error = co_proxy_take(proxy, peer, CO_CARRIER_BULK, proxy->record, bytes);
        assert(error == 0);
        (void)error;
    }
    co_proxy_piece_sent(proxy, end, bytes);
}

static bool has_left_to_say(const struct co_proxy *proxy, int peer)
{
    return peer != proxy->config.self && !proxy->peers[peer].is_lost &&
           proxy->peers[peer].left_said < proxy->left_count;
}

static bool peer_can_move(struct co_proxy *proxy, int peer)
{
    return (!co_proxy_link_is_alone(&proxy->peers[peer].outgoing) || has_left_to_say(proxy, peer)) &&
           (peer == proxy->config.self || proxy->carrier->ops->has_room(proxy->carrier, peer));
}

// A rank that has left is gone as others are, but behind all that it has sent: its last bytes may still be on their
// way.
static void left_say(struct co_proxy *proxy, int peer)
{
    uint8_t record[CO_OFFLOAD_RECORD_HEAD_BYTES + 8];
    size_t bytes = co_offload_record_encode_gone(record, proxy->left[proxy->peers[peer].left_said++]);

    proxy->carrier->ops->bulk(proxy->carrier, peer, record, bytes);
    proxy->counts.control_records++;
}

// To ranks of our own. A word for which there is no memory waits for the next turn: nobody else could be blamed for it.
static void controls_hear(struct co_proxy *proxy)
{
    struct co_proxy_peer *self = &proxy->peers[proxy->config.self];
    size_t kept = 0;

    for (size_t i = 0; i < self->control_count; i++) { // more may come meanwhile
        struct co_proxy_control control = self->controls[i];
        int error = co_proxy_ends_hear(proxy, proxy->config.self, control.kind, &control.key);
        assert(error != -EPROTO);
        if (error != 0) {
            self->controls[kept++] = control;
        }
    }
    self->control_count = kept;
}

bool co_proxy_progress(struct co_proxy *proxy)
{
    bool has_more = false;

    calls_advance(proxy);
    controls_hear(proxy);
    for (int i = 0; i < proxy->config.proxies; i++) {
        if (peer_can_move(proxy, i)) {
            if (has_left_to_say(proxy, i)) {
                left_say(proxy, i);
            } else {
                piece_move(proxy, i);
            }
        }
    }
    calls_advance(proxy);
    for (int i = 0; i < proxy->config.proxies; i++) {
        if (i != proxy->config.self) {
            co_proxy_control_send(proxy, i);
        }
        has_more = has_more || peer_can_move(proxy, i);
    }
    return has_more || proxy->peers[proxy->config.self].control_count > 0;
}

const struct co_proxy_counts *co_proxy_counts(const struct co_proxy *proxy)
{
    return &proxy->counts;
}

bool co_proxy_is_idle(const struct co_proxy *proxy)
{
    bool is_idle = proxy->sends.count == 0 && proxy->receives.count == 0;
    for (int i = 0; is_idle && i < proxy->config.ranks; i++) {
        is_idle = proxy->ranks[i].call_count == 0;
    }
    return is_idle;
}

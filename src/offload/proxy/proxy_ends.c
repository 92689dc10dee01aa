// SPDX-License-Identifier: BSD-3-Clause
//
// Ends of messages: their numbers, and what each end's proxy says of it to the other's. From its call on an end is in a
// table under its number; what the other side says before that is left there as a mark. What is said to a rank of this
// same proxy takes the same way, through the control messages of a turn, so nothing here calls itself. Called by the
// executor, by transfers and by proxy_core.c; hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "offload/proxy/proxy_turns.h"

static struct co_proxy_table *table_of(struct co_proxy *proxy, bool is_send)
{
    return is_send ? &proxy->sends : &proxy->receives;
}

static struct co_proxy_table *sequences_of(struct co_proxy *proxy, bool is_send)
{
    return is_send ? &proxy->send_sequences : &proxy->receive_sequences;
}

// There is room: two for each end that is not over.
static void say(struct co_proxy *proxy, const struct co_proxy_end *end, enum co_offload_record_kind kind)
{
    co_proxy_control_queue(co_proxy_peer_of(proxy, co_proxy_end_other(end)), kind, &end->node.key);
}

// The other end hears that nothing will come, or be taken. Where it has not been heard of yet its rank may never call
// it, and what is said then is kept there for ever: a rank may do so only so many times (co_proxy_call_begin).
static void failure_say(struct co_proxy *proxy, const struct co_proxy_end *end)
{
    static const enum co_offload_record_kind kinds[2][2] = {
        {CO_OFFLOAD_RECORD_RECEIVE_FAILED, CO_OFFLOAD_RECORD_SEND_FAILED},
        {CO_OFFLOAD_RECORD_TEAM_RECEIVE_FAILED, CO_OFFLOAD_RECORD_TEAM_SEND_FAILED}};
    say(proxy, end, kinds[end->node.key.space == CO_OFFLOAD_TEAM][end->is_send]);
    proxy->ranks[end->call->rank].failed_count += !(end->is_send ? end->is_ready : end->has_begun);
}

// The one of this message, made if need be.
static int sequence_find(struct co_proxy *proxy, const struct co_proxy_end *end, struct co_proxy_sequence **out)
{
    struct co_proxy_table *table = sequences_of(proxy, end->is_send);
    struct co_proxy_rank *rank = &proxy->ranks[end->call->rank];
    struct co_offload_key key = end->node.key;
    key.number = 0;
    struct co_proxy_node *node = co_proxy_table_get(table, &key);

    if (node == NULL) {
        if (rank->sequence_count >= proxy->config.ends_max) {
            return -ENOSPC;
        }
        struct co_proxy_sequence *sequence = calloc(1, sizeof *sequence);
        if (sequence == NULL || co_proxy_table_reserve(table, 1) != 0) {
            free(sequence);
            return -ENOMEM;
        }
        sequence->node.key = key;
        sequence->next = proxy->config.first_number;
        co_proxy_table_put(table, &sequence->node);
        rank->sequence_count++;
        node = &sequence->node;
    }
    *out = (struct co_proxy_sequence *)node;
    return 0;
}

void co_proxy_mark_remove(struct co_proxy *proxy, struct co_proxy_table *table, struct co_proxy_node *node)
{
    proxy->ranks[table == &proxy->sends ? node->key.to : node->key.from].mark_count--;
    co_proxy_table_remove(table, node);
    free(node);
}

int co_proxy_end_reserve(struct co_proxy *proxy, const struct co_proxy_end *end)
{
    int error = co_proxy_control_reserve(co_proxy_peer_of(proxy, co_proxy_end_other(end)));
    return error == 0 ? co_proxy_table_reserve(table_of(proxy, end->is_send), 1) : error;
}

void co_proxy_end_enter(struct co_proxy *proxy, struct co_proxy_end *end)
{
    struct co_proxy_table *table = table_of(proxy, end->is_send);
    struct co_proxy_node *node = co_proxy_table_get(table, &end->node.key);

    if (node != NULL) {
        end->is_ready = ((struct co_proxy_mark *)node)->is_ready;
        end->is_failed = ((struct co_proxy_mark *)node)->is_failed;
        co_proxy_mark_remove(proxy, table, node);
    }
    end->is_failed = end->is_failed || proxy->ranks[co_proxy_end_other(end)].is_gone;
    co_proxy_table_put(table, &end->node);
    co_proxy_peer_of(proxy, co_proxy_end_other(end))->end_count++;
}

int co_proxy_end_call(struct co_proxy *proxy, struct co_proxy_end *end, const struct co_offload_operation *operation)
{
    uint32_t own = (uint32_t)end->call->rank, space = end->call->group != NULL ? CO_OFFLOAD_GROUP : CO_OFFLOAD_BASIC;
    struct co_proxy_sequence *sequence;

    end->node.key = end->is_send ? (struct co_offload_key){own, operation->to, operation->to_tag, space, 0}
                                 : (struct co_offload_key){operation->from, own, operation->from_tag, space, 0};
    int error = co_proxy_end_reserve(proxy, end);
    if (error == 0) {
        error = sequence_find(proxy, end, &sequence);
    }
    if (error != 0) {
        return error;
    }
    end->node.key.number = sequence->next++;
    end->address = operation->address;
    end->bytes = operation->bytes;
    end->is_length_known = end->is_send && operation->kind != CO_OFFLOAD_OPERATION_FORWARD;
    co_proxy_end_enter(proxy, end);
    return 0;
}

// It is over. The first one that wants a turn has it, in the order of the pattern.
static void turn_give(struct co_proxy *proxy, struct co_proxy_end *end)
{
    struct co_proxy_call *call = end->call;

    co_proxy_turn_set(end, CO_PROXY_TURN_ALWAYS);
    for (uint32_t i = 0; i < call->end_count && call->turns_wanted > 0 && call->turns_taken < proxy->config.sources;
         i++) {
        if (call->ends[i].turn == CO_PROXY_TURN_WANTED) {
            co_proxy_end_queue(proxy, &call->ends[i]);
        }
    }
}

void co_proxy_end_queue(struct co_proxy *proxy, struct co_proxy_end *end)
{
    bool has_bytes = end->twin == NULL || end->twin->moved > end->moved || end->bytes == 0;

    if (end->state == CO_PROXY_END_OPEN && end->is_ready && end->is_length_known && has_bytes &&
        co_proxy_link_is_alone(&end->outgoing) && co_proxy_turn_take(end, proxy->config.sources)) {
        co_proxy_link_join_last(&co_proxy_peer_of(proxy, end->node.key.to)->outgoing, &end->outgoing);
    }
}

void co_proxy_end_open(struct co_proxy *proxy, struct co_proxy_end *end)
{
    if (end->is_failed) {
        co_proxy_end_finish(proxy, end, -ECONNRESET, false);
    } else if (end->is_send) {
        co_proxy_end_queue(proxy, end);
    } else {
        struct co_rank_window *window = proxy->ranks[end->call->rank].window;
        int error = window->ops->open(window, end->address, end->bytes, false, &end->loan);
        end->has_loan = error == 0;
        if (error != 0) {
            co_proxy_end_finish(proxy, end, error, true);
        } else if (end->node.key.space != CO_OFFLOAD_TEAM) { // there the call says so
            say(proxy, end, CO_OFFLOAD_RECORD_READY);
        }
    }
}

// A FORWARD's range is its receive's, and all have to be done with it.
static void loan_close(struct co_proxy *proxy, struct co_proxy_end *end)
{
    struct co_proxy_end *owner = end->is_send && end->twin != NULL ? end->twin : end;
    bool is_over = owner->state == CO_PROXY_END_OVER;

    for (struct co_proxy_end *send = owner->is_send ? NULL : owner->twin; send != NULL; send = send->sibling) {
        is_over = is_over && send->state == CO_PROXY_END_OVER;
    }
    if (is_over && owner->has_loan) {
        owner->loan.window->ops->close(&owner->loan);
        owner->has_loan = false;
    }
    if (is_over && owner->beyond != NULL) {
        proxy->beyond_bytes -= owner->whole - owner->bytes;
        free(owner->beyond);
        owner->beyond = NULL;
    }
}

// Out of all tables and lists.
static void end_remove(struct co_proxy *proxy, struct co_proxy_end *end)
{
    co_proxy_link_leave(&end->outgoing);
    co_proxy_table_remove(table_of(proxy, end->is_send), &end->node);
    co_proxy_peer_of(proxy, co_proxy_end_other(end))->end_count--;
    end->state = CO_PROXY_END_OVER;
    loan_close(proxy, end);
}

static void finish_one(struct co_proxy *proxy, struct co_proxy_end *end, int error, bool is_told)
{
    struct co_proxy_call *call = end->call;

    assert(end->state == CO_PROXY_END_OPEN && call->open > 0);
    if (is_told) {
        failure_say(proxy, end);
    }
    end_remove(proxy, end);
    turn_give(proxy, end);
    call->open--;
    if (call->error == 0 && error != 0) {
        call->error = error;
        call->with = co_proxy_end_other(end) + 1;
    }
    if (!end->is_send && (error == 0 || error == -EMSGSIZE)) {
        call->bytes += end->moved < end->bytes ? end->moved : end->bytes;
    }
    if (!call->is_runnable) {
        call->is_runnable = true;
        co_proxy_link_join_last(&proxy->runnable, &call->runnable);
    }
}

// What did not come cannot be passed on; what has come can, though the rank had no room for all of it.
void co_proxy_end_finish(struct co_proxy *proxy, struct co_proxy_end *end, int error, bool is_told)
{
    bool has_come = error == 0 || (error == -EMSGSIZE && end->beyond != NULL);
    struct co_proxy_end *send = end->is_send || has_come ? NULL : end->twin;

    finish_one(proxy, end, error, is_told);
    for (; send != NULL; send = send->sibling) {
        if (send->state == CO_PROXY_END_OPEN) {
            finish_one(proxy, send, error, true);
        }
    }
}

void co_proxy_end_abandon(struct co_proxy *proxy, struct co_proxy_end *end)
{
    if (!end->is_failed) {
        failure_say(proxy, end);
    }
    end_remove(proxy, end);
}

void co_proxy_end_drop(struct co_proxy *proxy, struct co_proxy_end *end)
{
    if (end->state != CO_PROXY_END_OVER) {
        end_remove(proxy, end);
    }
}

// The other side's word of a message that is called here.
static int end_hear(struct co_proxy *proxy, struct co_proxy_end *end, enum co_offload_record_kind kind)
{
    if (kind == CO_OFFLOAD_RECORD_READY) {
        if (end->is_ready) {
            return -EPROTO;
        }
        end->is_ready = true;
        co_proxy_end_queue(proxy, end);
        return 0;
    }
    end->is_failed = true;
    if (end->state == CO_PROXY_END_OPEN) {
        co_proxy_end_finish(proxy, end, -ECONNRESET, false);
    }
    return 0;
}

// Of a message that is not called here. A rank has ends_max ends under way at most, and fewer failed ones when it calls
// the last, beside one call of each team: of who has more nothing is heard any more, but of its proxy's other ranks.
static int mark_hear(struct co_proxy *proxy, struct co_proxy_table *table, struct co_proxy_node *node,
                     enum co_offload_record_kind kind, const struct co_offload_key *key)
{
    uint32_t theirs = table == &proxy->sends ? key->to : key->from;
    struct co_proxy_mark *mark = (struct co_proxy_mark *)node;

    if (mark == NULL) {
        if (proxy->ranks[theirs].mark_count >= 2 * (size_t)proxy->config.ends_max) {
            proxy->ranks[theirs].has_said_too_much = true; // one of ours has to go, others are gone (proxy_core.c)
            return 0;
        }
        mark = calloc(1, sizeof *mark);
        if (mark == NULL || co_proxy_table_reserve(table, 1) != 0) {
            free(mark);
            return -ENOMEM;
        }
        mark->node = (struct co_proxy_node){.key = *key, .is_mark = true};
        co_proxy_table_put(table, &mark->node);
        proxy->ranks[theirs].mark_count++;
    }
    if (kind == CO_OFFLOAD_RECORD_READY && mark->is_ready) {
        return -EPROTO;
    }
    mark->is_ready = mark->is_ready || kind == CO_OFFLOAD_RECORD_READY;
    mark->is_failed = mark->is_failed || kind != CO_OFFLOAD_RECORD_READY;
    return 0;
}

// Whether the rank here has called that message: then it is in the table, or over.
static bool was_called(struct co_proxy *proxy, bool is_send, const struct co_offload_key *key)
{
    if (key->space == CO_OFFLOAD_TEAM) {
        return co_proxy_team_knows(proxy, is_send ? key->from : key->to, key) == CO_PROXY_TEAM_CALLED;
    }
    struct co_offload_key of_sequence = *key;
    of_sequence.number = 0;
    const struct co_proxy_node *node = co_proxy_table_get(sequences_of(proxy, is_send), &of_sequence);
    return node != NULL && key->number < ((const struct co_proxy_sequence *)node)->next;
}

// The peer speaks of a message between a rank of its own and one of ours.
static bool key_is_good(const struct co_proxy *proxy, int peer, uint32_t theirs, uint32_t ours,
                        const struct co_offload_key *key)
{
    return theirs < (uint32_t)proxy->config.ranks && proxy->proxy_of_rank[theirs] == peer &&
           co_proxy_rank_is_ours(proxy, ours) && key->number >= proxy->config.first_number;
}

int co_proxy_ends_hear(struct co_proxy *proxy, int peer, enum co_offload_record_kind kind,
                       const struct co_offload_key *key)
{
    bool is_send = kind != CO_OFFLOAD_RECORD_SEND_FAILED && kind != CO_OFFLOAD_RECORD_TEAM_SEND_FAILED; // it is told to
    uint32_t theirs = is_send ? key->to : key->from, ours = is_send ? key->from : key->to;
    struct co_proxy_table *table = table_of(proxy, is_send);

    if (!key_is_good(proxy, peer, theirs, ours, key)) {
        return -EPROTO;
    }
    if (proxy->ranks[theirs].is_gone || proxy->ranks[ours].is_gone) {
        return 0;
    }
    struct co_proxy_node *node = co_proxy_table_get(table, key);
    if (node != NULL && !node->is_mark) {
        return end_hear(proxy, (struct co_proxy_end *)node, kind);
    }
    return node == NULL && was_called(proxy, is_send, key) ? 0 : mark_hear(proxy, table, node, kind, key);
}

int co_proxy_ends_find(struct co_proxy *proxy, int peer, const struct co_offload_key *key, struct co_proxy_end **out)
{
    *out = NULL;
    if (!key_is_good(proxy, peer, key->from, key->to, key)) {
        return -EPROTO;
    }
    struct co_proxy_node *node = co_proxy_table_get(&proxy->receives, key);
    bool is_there = node != NULL && !node->is_mark;
    struct co_proxy_end *end = is_there ? (struct co_proxy_end *)node : NULL;
    if (end == NULL || end->state != CO_PROXY_END_OPEN) {
        // Whether a team's bytes may come is said of a rank's calls, and a rank that opens one under an id that it had
        // before begins anew: they are dropped, for that must not cost the peer its connection.
        bool is_over = end == NULL && (proxy->ranks[key->to].is_gone || was_called(proxy, false, key));
        return is_over || key->space == CO_OFFLOAD_TEAM ? 0 : -EPROTO; // READY was not said
    }
    *out = end;
    return 0;
}

static void node_free(void *context, struct co_proxy_table *table, struct co_proxy_node *node)
{
    (void)context;
    (void)table;
    free(node);
}

// No end is left in them.
void co_proxy_ends_close(struct co_proxy *proxy)
{
    struct co_proxy_table *tables[] = {&proxy->sends, &proxy->receives, &proxy->send_sequences,
                                       &proxy->receive_sequences, &proxy->called};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        co_proxy_table_visit(tables[i], node_free, NULL);
        co_proxy_table_close(tables[i]);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Two lists. Nothing here is clever, on purpose, and nothing is shared with the matcher but the wildcard's value.
#include "match_oracle.h"

#include <assert.h>
#include <string.h>

#include "matching/match_key.h"

static bool fits(const struct oracle_entry *receive, const struct oracle_entry *message)
{
    if (receive->source != CO_MATCH_ANY && receive->source != message->source) {
        return false;
    }
    return receive->tag == CO_MATCH_ANY ? message->tag >= 0 : receive->tag == message->tag;
}

static void remove_at(struct oracle_entry *entries, int *count, int at)
{
    memmove(&entries[at], &entries[at + 1], (size_t)(*count - at - 1) * sizeof(*entries));
    --*count;
}

static int find_message(const struct oracle *oracle, const struct oracle_entry *receive)
{
    for (int i = 0; i < oracle->message_count; i++) {
        if (fits(receive, &oracle->messages[i])) {
            return i;
        }
    }
    return ORACLE_NONE;
}

static int take_at(struct oracle *oracle, int at)
{
    int id = at == ORACLE_NONE ? ORACLE_NONE : oracle->messages[at].id;
    if (at != ORACLE_NONE) {
        remove_at(oracle->messages, &oracle->message_count, at);
    }
    return id;
}

int oracle_post(struct oracle *oracle, int id, int32_t source, int32_t tag)
{
    struct oracle_entry receive = {id, source, tag};
    int message = take_at(oracle, find_message(oracle, &receive));
    if (message == ORACLE_NONE) {
        assert(oracle->receive_count < ORACLE_MAX);
        oracle->receives[oracle->receive_count++] = receive;
    }
    return message;
}

static int give_to_receive(struct oracle *oracle, const struct oracle_entry *message)
{
    for (int i = 0; i < oracle->receive_count; i++) {
        if (fits(&oracle->receives[i], message)) {
            int id = oracle->receives[i].id;
            remove_at(oracle->receives, &oracle->receive_count, i);
            return id;
        }
    }
    return ORACLE_NONE;
}

int oracle_arrive(struct oracle *oracle, int id, int32_t source, int32_t tag)
{
    struct oracle_entry message = {id, source, tag};
    int receive = give_to_receive(oracle, &message);
    if (receive == ORACLE_NONE) {
        assert(oracle->message_count < ORACLE_MAX);
        oracle->messages[oracle->message_count++] = message;
    }
    return receive;
}

int oracle_probe(const struct oracle *oracle, int32_t source, int32_t tag)
{
    struct oracle_entry receive = {0, source, tag};
    int at = find_message(oracle, &receive);
    return at == ORACLE_NONE ? ORACLE_NONE : oracle->messages[at].id;
}

int oracle_take(struct oracle *oracle, int32_t source, int32_t tag)
{
    struct oracle_entry receive = {0, source, tag};
    return take_at(oracle, find_message(oracle, &receive));
}

int oracle_put_back(struct oracle *oracle, int id, int32_t source, int32_t tag)
{
    struct oracle_entry message = {id, source, tag};
    int receive = give_to_receive(oracle, &message);
    if (receive != ORACLE_NONE) {
        return receive;
    }
    int at = oracle->message_count++;
    for (; at > 0 && oracle->messages[at - 1].id > id; at--) {
        oracle->messages[at] = oracle->messages[at - 1];
    }
    oracle->messages[at] = message;
    return ORACLE_NONE;
}

bool oracle_cancel(struct oracle *oracle, int id)
{
    for (int i = 0; i < oracle->receive_count; i++) {
        if (oracle->receives[i].id == id) {
            remove_at(oracle->receives, &oracle->receive_count, i);
            return true;
        }
    }
    return false;
}

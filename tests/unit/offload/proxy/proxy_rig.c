// SPDX-License-Identifier: BSD-3-Clause
//
// A few proxies and ranks; see the header.
#include "proxy_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

uint32_t proxy_rig_ends_max = 6, proxy_rig_sources;

static void completed(void *context, int rank, uint32_t ticket, const struct co_offload_completion *completion)
{
    struct proxy_rig *rig = context;
    assert_int_equal(rig->result[rank][ticket], RIG_PENDING);
    rig->result[rank][ticket] = completion->error;
    rig->with[rank][ticket] = completion->with;
    rig->bytes[rank][ticket] = completion->bytes;
}

void proxy_rig_open(struct proxy_rig *rig, int proxies, const int proxy_of_rank[RIG_RANKS])
{
    memset(rig, 0, sizeof *rig);
    memcpy(rig->proxy_of_rank, proxy_of_rank, sizeof rig->proxy_of_rank);
    loopback_open(&rig->hub, proxies, 2);
    struct co_proxy_config config = {.proxies = proxies,
                                     .ranks = RIG_RANKS,
                                     .proxy_of_rank = rig->proxy_of_rank,
                                     .piece_bytes = RIG_PIECE,
                                     .groups_max = 3,
                                     .ends_max = proxy_rig_ends_max,
                                     .sources = proxy_rig_sources};
    struct co_proxy_output output = {rig, completed};
    for (config.self = 0; config.self < proxies; config.self++) {
        assert_int_equal(
            co_proxy_open(&rig->proxies[config.self], &config, &rig->hub.ends[config.self].carrier, &output), 0);
    }
    for (int i = 0; i < RIG_RANKS; i++) {
        memset(rig->memory[i], i + 1, RIG_BYTES);
        memory_window_open(&rig->windows[i], rig->memory[i], RIG_BASE, RIG_BYTES);
        assert_int_equal(co_proxy_rank_join(rig->proxies[proxy_of_rank[i]], i, &rig->windows[i].window), 0);
    }
}

void proxy_rig_close(struct proxy_rig *rig)
{
    for (int i = 0; i < rig->hub.proxies; i++) {
        if (rig->proxies[i] != NULL) {
            co_proxy_close(rig->proxies[i]);
        }
    }
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(rig->windows[i].loans, 0);
    }
    loopback_close(&rig->hub);
}

int proxy_rig_open_pairs(void **state)
{
    proxy_rig_open(*state, 2, (const int[RIG_RANKS]){0, 0, 1, 1});
    return 0;
}

int proxy_rig_open_each(void **state)
{
    proxy_rig_open(*state, 4, (const int[RIG_RANKS]){0, 1, 2, 3});
    return 0;
}

int proxy_rig_close_state(void **state)
{
    proxy_rig_close(*state);
    return 0;
}

static int command(struct proxy_rig *rig, int rank, const struct co_offload_command *command, const uint8_t *definition,
                   size_t bytes)
{
    return co_proxy_command(rig->proxies[rig->proxy_of_rank[rank]], rank, command, definition, bytes);
}

struct co_offload_operation proxy_rig_sends(int to, uint32_t at, uint64_t bytes)
{
    return (struct co_offload_operation){
        .kind = CO_OFFLOAD_OPERATION_SEND, .to = (uint32_t)to, .address = RIG_BASE + at, .bytes = bytes};
}

struct co_offload_operation proxy_rig_receives(int from, uint32_t at, uint64_t bytes)
{
    return (struct co_offload_operation){
        .kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = (uint32_t)from, .address = RIG_BASE + at, .bytes = bytes};
}

struct co_offload_operation proxy_rig_forwards(int from, int to, uint32_t at, uint64_t bytes)
{
    struct co_offload_operation operation = proxy_rig_receives(from, at, bytes);
    operation.kind = CO_OFFLOAD_OPERATION_FORWARD;
    operation.to = (uint32_t)to;
    return operation;
}

struct co_offload_operation proxy_rig_barrier(void)
{
    return (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_BARRIER};
}

static int basic(struct proxy_rig *rig, int rank, uint32_t ticket, uint32_t kind, struct co_offload_operation operation)
{
    rig->result[rank][ticket % 8] = RIG_PENDING;
    return command(rig, rank, &(struct co_offload_command){.kind = kind, .ticket = ticket, .operation = operation},
                   NULL, 0);
}

int proxy_rig_send(struct proxy_rig *rig, int rank, uint32_t ticket, int to, uint32_t at, uint64_t bytes)
{
    return basic(rig, rank, ticket, CO_OFFLOAD_COMMAND_SEND, proxy_rig_sends(to, at, bytes));
}

int proxy_rig_receive(struct proxy_rig *rig, int rank, uint32_t ticket, int from, uint32_t at, uint64_t bytes)
{
    return basic(rig, rank, ticket, CO_OFFLOAD_COMMAND_RECEIVE, proxy_rig_receives(from, at, bytes));
}

int proxy_rig_group(struct proxy_rig *rig, int rank, uint64_t group, const struct co_offload_operation *operations,
                    uint32_t count)
{
    uint8_t definition[16 * CO_OFFLOAD_OPERATION_BYTES];
    assert_true(count <= 16);
    for (uint32_t i = 0; i < count; i++) {
        co_offload_operation_encode(definition + i * CO_OFFLOAD_OPERATION_BYTES, &operations[i]);
    }
    return command(rig, rank,
                   &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_GROUP, .group = group, .operations = count},
                   definition, count * CO_OFFLOAD_OPERATION_BYTES);
}

int proxy_rig_call(struct proxy_rig *rig, int rank, uint64_t group, uint32_t ticket)
{
    rig->result[rank][ticket] = RIG_PENDING;
    return command(rig, rank,
                   &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_CALL, .group = group, .ticket = ticket},
                   NULL, 0);
}

int proxy_rig_say(struct proxy_rig *rig, int rank, uint32_t kind, uint64_t group)
{
    return command(rig, rank, &(struct co_offload_command){.kind = kind, .group = group}, NULL, 0);
}

static void hear(void *context, int from, int to, enum co_carrier_connection connection, const uint8_t *record,
                 size_t bytes)
{
    struct proxy_rig *rig = context;
    int error = co_proxy_take(rig->proxies[to], from, connection, record, bytes);
    rig->refusal = error != 0 ? error : rig->refusal;
}

bool proxy_rig_deliver_one(struct proxy_rig *rig, int from, int to, enum co_carrier_connection connection)
{
    return loopback_deliver(&rig->hub, from, to, connection, rig, hear);
}

static bool deliver_all(struct proxy_rig *rig)
{
    bool has_any = false;
    for (int i = 0; i < LOOPBACK_PROXIES * LOOPBACK_PROXIES * 2; i++) {
        int from = i / 2 / LOOPBACK_PROXIES, to = i / 2 % LOOPBACK_PROXIES;
        enum co_carrier_connection connection = (enum co_carrier_connection)(i % 2);
        while (!rig->is_held[from][to][connection] && loopback_deliver(&rig->hub, from, to, connection, rig, hear)) {
            has_any = true;
        }
    }
    return has_any;
}

void proxy_rig_run(struct proxy_rig *rig)
{
    bool has_more = true;
    for (int turns = 0; has_more; turns++) {
        assert_true(turns < 10000);
        has_more = false;
        for (int i = 0; i < rig->hub.proxies; i++) {
            has_more = (rig->proxies[i] != NULL && co_proxy_progress(rig->proxies[i])) || has_more;
        }
        has_more = deliver_all(rig) || has_more;
    }
}

bool proxy_rig_has(const struct proxy_rig *rig, int rank, uint32_t at, uint64_t bytes, unsigned char value)
{
    for (uint64_t i = at; i < at + bytes; i++) {
        if (rig->memory[rank][i] != value) {
            return false;
        }
    }
    return true;
}

int proxy_rig_take(struct proxy_rig *rig, int from, enum co_carrier_connection connection, const void *record,
                   size_t bytes)
{
    return co_proxy_take(rig->proxies[rig->proxy_of_rank[0]], from, connection, record, bytes);
}

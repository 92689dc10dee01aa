// SPDX-License-Identifier: BSD-3-Clause
//
// Commands, operations and completions; see the header. What is decoded is encoded again and compared: so bytes that
// mean nothing are zero, and no two commands mean the same.
#include "offload/offload_command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "offload/offload_pattern.h"

enum { OPERATION_AT = 24 }; // in a command

static bool range_is_good(uint64_t address, uint64_t bytes)
{
    return bytes <= CO_OFFLOAD_BYTES_MAX && address <= UINT64_MAX - bytes;
}

void co_offload_operation_encode(uint8_t out[CO_OFFLOAD_OPERATION_BYTES], const struct co_offload_operation *operation)
{
    bool sends = operation->kind == CO_OFFLOAD_OPERATION_SEND || operation->kind == CO_OFFLOAD_OPERATION_FORWARD;
    bool receives = operation->kind == CO_OFFLOAD_OPERATION_RECEIVE || operation->kind == CO_OFFLOAD_OPERATION_FORWARD;

    memset(out, 0, CO_OFFLOAD_OPERATION_BYTES);
    co_little_endian_put(out, operation->kind, 4);
    if (sends) {
        co_little_endian_put(out + 8, operation->to, 4);
        co_little_endian_put(out + 12, operation->to_tag, 4);
    }
    if (receives) {
        co_little_endian_put(out + 16, operation->from, 4);
        co_little_endian_put(out + 20, operation->from_tag, 4);
    }
    if (sends || receives) {
        co_little_endian_put(out + 24, operation->address, 8);
        co_little_endian_put(out + 32, operation->bytes, 8);
    }
}

int co_offload_operation_decode(struct co_offload_operation *out, const uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES],
                                uint32_t ranks)
{
    uint8_t again[CO_OFFLOAD_OPERATION_BYTES];

    *out = (struct co_offload_operation){.kind = (uint32_t)co_little_endian_get(bytes, 4),
                                         .to = (uint32_t)co_little_endian_get(bytes + 8, 4),
                                         .to_tag = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                         .from = (uint32_t)co_little_endian_get(bytes + 16, 4),
                                         .from_tag = (uint32_t)co_little_endian_get(bytes + 20, 4),
                                         .address = co_little_endian_get(bytes + 24, 8),
                                         .bytes = co_little_endian_get(bytes + 32, 8)};
    co_offload_operation_encode(again, out);
    return out->kind >= CO_OFFLOAD_OPERATION_SEND && out->kind < CO_OFFLOAD_OPERATION_END &&
                   memcmp(again, bytes, CO_OFFLOAD_OPERATION_BYTES) == 0 && out->to < ranks && out->from < ranks &&
                   range_is_good(out->address, out->bytes)
               ? 0
               : -EPROTO;
}

static bool command_has_ticket(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_CALL || kind == CO_OFFLOAD_COMMAND_SEND || kind == CO_OFFLOAD_COMMAND_RECEIVE ||
           kind == CO_OFFLOAD_COMMAND_REFUSE;
}

static bool command_has_equal_blocks(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_ALLTOALL || kind == CO_OFFLOAD_COMMAND_BCAST ||
           kind == CO_OFFLOAD_COMMAND_ALLGATHER;
}

static bool command_has_blocks(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_ALLTOALLV || kind == CO_OFFLOAD_COMMAND_ALLGATHERV;
}

bool co_offload_command_is_pattern(uint32_t kind)
{
    return command_has_equal_blocks(kind) || command_has_blocks(kind);
}

// In a tree a member has one receive at most, and two sends; of one that it is the root of, a pair with itself, too.
uint32_t co_offload_command_ends(const struct co_offload_command *command, uint32_t members)
{
    uint32_t kind = command->kind == CO_OFFLOAD_COMMAND_REFUSE ? command->refused : command->kind;

    switch (kind) {
    case CO_OFFLOAD_COMMAND_BCAST:
        return 3;
    case CO_OFFLOAD_COMMAND_ALLGATHER:
    case CO_OFFLOAD_COMMAND_ALLGATHERV:
        return 3 * members + 2 * command->has_own;
    default:
        return 2 * (members - !command->has_own);
    }
}

static bool command_has_group(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_GROUP || kind == CO_OFFLOAD_COMMAND_CALL || kind == CO_OFFLOAD_COMMAND_FORGET ||
           co_offload_command_is_pattern(kind);
}

static bool command_has_team(uint32_t kind)
{
    return kind >= CO_OFFLOAD_COMMAND_TEAM_OPEN && kind < CO_OFFLOAD_COMMAND_END;
}

static size_t item_bytes(uint32_t kind)
{
    switch (kind) {
    case CO_OFFLOAD_COMMAND_GROUP:
        return CO_OFFLOAD_OPERATION_BYTES;
    case CO_OFFLOAD_COMMAND_TEAM_OPEN:
        return CO_OFFLOAD_MEMBER_BYTES;
    case CO_OFFLOAD_COMMAND_ALLTOALLV:
    case CO_OFFLOAD_COMMAND_ALLGATHERV:
        return CO_OFFLOAD_BLOCKS_BYTES;
    default:
        return 0;
    }
}

size_t co_offload_command_definition_bytes(const struct co_offload_command *command)
{
    return command->operations * item_bytes(command->kind);
}

static bool command_has_operation(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_SEND || kind == CO_OFFLOAD_COMMAND_RECEIVE;
}

static bool command_has_root(const struct co_offload_command *command)
{
    return command->kind == CO_OFFLOAD_COMMAND_BCAST ||
           (command->kind == CO_OFFLOAD_COMMAND_REFUSE && command->refused == CO_OFFLOAD_COMMAND_BCAST);
}

void co_offload_command_encode(uint8_t out[CO_OFFLOAD_COMMAND_BYTES], const struct co_offload_command *command)
{
    memset(out, 0, CO_OFFLOAD_COMMAND_BYTES);
    co_little_endian_put(out, command->kind, 4);
    if (command_has_ticket(command->kind)) {
        co_little_endian_put(out + 4, command->ticket, 4);
    }
    if (command_has_operation(command->kind)) {
        co_offload_operation_encode(out + OPERATION_AT, &command->operation);
    }
    if (command_has_group(command->kind)) {
        co_little_endian_put(out + 8, command->group, 8);
    }
    if (command->kind == CO_OFFLOAD_COMMAND_TEAM_OPEN) {
        co_little_endian_put(out + 8, command->begun, 8);
    }
    if (item_bytes(command->kind) > 0) {
        co_little_endian_put(out + 16, command->operations, 4);
        co_little_endian_put(out + 24, command->definition, 8);
    }
    if (command_has_team(command->kind)) {
        co_little_endian_put(out + 32, command->team, 8);
    }
    if (command->kind == CO_OFFLOAD_COMMAND_REFUSE) {
        co_little_endian_put(out + 20, command->refused, 4);
    } else if (co_offload_command_is_pattern(command->kind) && command->kind != CO_OFFLOAD_COMMAND_BCAST) {
        co_little_endian_put(out + 20, command->has_own, 4);
    }
    if (command_has_root(command)) {
        co_little_endian_put(out + 16, command->root, 4);
    }
    if (command_has_equal_blocks(command->kind)) {
        co_little_endian_put(out + 40, command->send, 8);
        co_little_endian_put(out + 48, command->receive, 8);
        co_little_endian_put(out + 56, command->bytes, 8);
    }
}

// What does not belong to its kind is found by encoding it again.
static bool command_is_good(const struct co_offload_command *command)
{
    switch (command->kind) {
    case CO_OFFLOAD_COMMAND_GROUP:
        return command->operations <= CO_OFFLOAD_OPERATIONS_MAX;
    case CO_OFFLOAD_COMMAND_TEAM_OPEN:
    case CO_OFFLOAD_COMMAND_ALLTOALLV:
    case CO_OFFLOAD_COMMAND_ALLGATHERV:
        return command->begun <= CO_OFFLOAD_BEGUN_MAX && command->operations > 0 &&
               command->operations <= CO_OFFLOAD_MEMBERS_MAX;
    case CO_OFFLOAD_COMMAND_ALLTOALL:
    case CO_OFFLOAD_COMMAND_BCAST:
    case CO_OFFLOAD_COMMAND_ALLGATHER:
        return command->bytes <= CO_OFFLOAD_BYTES_MAX;
    case CO_OFFLOAD_COMMAND_REFUSE:
        return command->refused == 0 || command->refused == CO_OFFLOAD_COMMAND_BCAST ||
               command->refused == CO_OFFLOAD_COMMAND_ALLGATHER;
    default:
        return command->kind >= CO_OFFLOAD_COMMAND_GROUP && command->kind < CO_OFFLOAD_COMMAND_END;
    }
}

int co_offload_command_decode(struct co_offload_command *out, const uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES],
                              uint32_t ranks)
{
    uint8_t again[CO_OFFLOAD_COMMAND_BYTES];
    uint32_t kind = (uint32_t)co_little_endian_get(bytes, 4);
    bool is_good = true;

    *out = (struct co_offload_command){
        .kind = kind,
        .ticket = (uint32_t)co_little_endian_get(bytes + 4, 4),
        .group = co_little_endian_get(bytes + 8, 8),
        .begun = kind == CO_OFFLOAD_COMMAND_TEAM_OPEN ? co_little_endian_get(bytes + 8, 8) : 0,
        .operations = (uint32_t)co_little_endian_get(bytes + 16, 4),
        .root = (uint32_t)co_little_endian_get(bytes + 16, 4),
        .refused = (uint32_t)co_little_endian_get(bytes + 20, 4),
        .has_own = co_little_endian_get(bytes + 20, 4) == 1,
        .definition = co_little_endian_get(bytes + 24, 8),
        .team = co_little_endian_get(bytes + 32, 8),
        .send = co_little_endian_get(bytes + 40, 8),
        .receive = co_little_endian_get(bytes + 48, 8),
        .bytes = co_little_endian_get(bytes + 56, 8)};
    if (command_has_operation(kind)) {
        uint32_t wanted = kind == CO_OFFLOAD_COMMAND_SEND ? CO_OFFLOAD_OPERATION_SEND : CO_OFFLOAD_OPERATION_RECEIVE;
        is_good = co_offload_operation_decode(&out->operation, bytes + OPERATION_AT, ranks) == 0 &&
                  out->operation.kind == wanted;
    }
    co_offload_command_encode(again, out);
    return is_good && command_is_good(out) && out->ticket < CO_TICKETS &&
                   memcmp(again, bytes, CO_OFFLOAD_COMMAND_BYTES) == 0
               ? 0
               : -EPROTO;
}

void co_offload_completion_encode(uint8_t out[CO_OFFLOAD_COMPLETION_BYTES],
                                  const struct co_offload_completion *completion)
{
    memset(out, 0, CO_OFFLOAD_COMPLETION_BYTES);
    co_little_endian_put(out, completion->state, 8);
    co_little_endian_put(out + 8, (uint32_t)completion->error, 4);
    co_little_endian_put(out + 12, completion->with, 4);
    co_little_endian_put(out + 16, completion->bytes, 8);
}

int co_offload_completion_decode(struct co_offload_completion *out, const uint8_t bytes[CO_OFFLOAD_COMPLETION_BYTES])
{
    uint8_t again[CO_OFFLOAD_COMPLETION_BYTES];

    *out = (struct co_offload_completion){.state = co_little_endian_get(bytes, 8),
                                          .error = (int32_t)co_little_endian_get(bytes + 8, 4),
                                          .with = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                          .bytes = co_little_endian_get(bytes + 16, 8)};
    co_offload_completion_encode(again, out);
    return out->state == CO_OFFLOAD_COMPLETION_DONE && out->error <= 0 && (out->error < 0 || out->with == 0) &&
                   memcmp(again, bytes, CO_OFFLOAD_COMPLETION_BYTES) == 0
               ? 0
               : -EPROTO;
}

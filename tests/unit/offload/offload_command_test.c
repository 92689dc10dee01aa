// SPDX-License-Identifier: BSD-3-Clause
//
// Commands, operations and completions: golden bytes, there and back, and what a hostile rank may write.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_command.h"

enum { RANKS = 9 };

static const struct co_offload_operation send = {.kind = CO_OFFLOAD_OPERATION_SEND,
                                                 .to = 8,
                                                 .to_tag = 0x01020304,
                                                 .address = UINT64_C(0x7f0012345678),
                                                 .bytes = 4096};

static void golden_bytes(void **state)
{
    (void)state;
    // As docs/wire-format.md has it: kind, ticket, group; then, from 24 on, the operation.
    static const uint8_t golden_send[CO_OFFLOAD_COMMAND_BYTES] = {
        3, 0, 0, 0, 0xff, 3,    0,    0,    0, 0,    0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 1, 0, 0,    0,    0,    0,    0, 0,    8, 0, 0, 0,    4, 3, 2, 1, 0, 0, 0, 0,
        0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0, 0x7f, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0};
    static const uint8_t golden_group[CO_OFFLOAD_COMMAND_BYTES] = {1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0,
                                                                   5, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0};
    static const uint8_t golden_completion[CO_OFFLOAD_COMPLETION_BYTES] = {1,    0,    0,    0, 0, 0, 0, 0, 0xf2,
                                                                           0xff, 0xff, 0xff, 4, 0, 0, 0, 5};
    // From 16 on: members, whether it has the own block; 24 a definition, 32 the team, both buffers, bytes of a block.
    static const uint8_t golden_alltoall[CO_OFFLOAD_COMMAND_BYTES] = {
        9, 0, 0, 0, 0, 0, 0, 0, 7, 0,    0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 1, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0,
        5, 0, 0, 0, 3, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t golden_team[CO_OFFLOAD_COMMAND_BYTES] = {
        7, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3};
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];

    co_offload_command_encode(bytes, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_ALLTOALL,
                                                                  .group = 7,
                                                                  .team = UINT64_C(0x300000005),
                                                                  .has_own = true,
                                                                  .send = 0x1000,
                                                                  .receive = 0x2000,
                                                                  .bytes = 0x40});
    assert_memory_equal(bytes, golden_alltoall, sizeof bytes);
    co_offload_command_encode(bytes, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN,
                                                                  .team = UINT64_C(0x300000005),
                                                                  .begun = 0x106,
                                                                  .operations = 4,
                                                                  .definition = 512});
    assert_memory_equal(bytes, golden_team, sizeof bytes);
    co_offload_command_encode(
        bytes, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_SEND, .ticket = 1023, .operation = send});
    assert_memory_equal(bytes, golden_send, sizeof bytes);
    co_offload_command_encode(
        bytes,
        &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_GROUP, .group = 7, .operations = 5, .definition = 512});
    assert_memory_equal(bytes, golden_group, sizeof bytes);
    co_offload_completion_encode(
        bytes,
        &(struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = -EFAULT, .with = 4, .bytes = 5});
    assert_memory_equal(bytes, golden_completion, sizeof bytes);
}

static struct co_offload_command command_of(uint32_t kind)
{
    struct co_offload_command command = {.kind = kind};
    if (kind == CO_OFFLOAD_COMMAND_SEND || kind == CO_OFFLOAD_COMMAND_RECEIVE) {
        command.ticket = 17;
        command.operation = send;
        if (kind == CO_OFFLOAD_COMMAND_RECEIVE) {
            command.operation = (struct co_offload_operation){
                .kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = 2, .from_tag = UINT32_MAX, .bytes = CO_OFFLOAD_BYTES_MAX};
        }
    } else if (kind >= CO_OFFLOAD_COMMAND_TEAM_OPEN) {
        bool is_pattern = co_offload_command_is_pattern(kind);
        bool has_lengths = kind == CO_OFFLOAD_COMMAND_ALLTOALLV || kind == CO_OFFLOAD_COMMAND_ALLGATHERV;
        bool is_equal = is_pattern && !has_lengths;
        command.team = UINT64_MAX;
        command.ticket = kind == CO_OFFLOAD_COMMAND_REFUSE ? 1023 : 0;
        command.refused = kind == CO_OFFLOAD_COMMAND_REFUSE ? CO_OFFLOAD_COMMAND_BCAST : 0;
        command.root = kind == CO_OFFLOAD_COMMAND_BCAST || command.refused != 0 ? UINT32_MAX : 0;
        command.group = is_pattern ? 6 : 0;
        command.begun = kind == CO_OFFLOAD_COMMAND_TEAM_OPEN ? CO_OFFLOAD_BEGUN_MAX : 0;
        command.has_own = is_pattern && kind != CO_OFFLOAD_COMMAND_BCAST;
        command.operations = has_lengths || kind == CO_OFFLOAD_COMMAND_TEAM_OPEN ? CO_OFFLOAD_MEMBERS_MAX : 0;
        command.definition = command.operations > 0 ? 4096 : 0;
        command.send = is_equal ? UINT64_MAX : 0;
        command.receive = is_equal ? 8 : 0;
        command.bytes = is_equal ? CO_OFFLOAD_BYTES_MAX : 0;
    } else if (kind != CO_OFFLOAD_COMMAND_BYE) {
        command.ticket = kind == CO_OFFLOAD_COMMAND_CALL ? 1023 : 0;
        command.group = UINT64_MAX;
        command.operations = kind == CO_OFFLOAD_COMMAND_GROUP ? CO_OFFLOAD_OPERATIONS_MAX : 0;
        command.definition = kind == CO_OFFLOAD_COMMAND_GROUP ? UINT64_MAX : 0;
    }
    return command;
}

// Any other bit changes what is said, or is refused: no two commands mean the same.
static void every_bit_means_something(void **state)
{
    (void)state;
    for (uint32_t kind = CO_OFFLOAD_COMMAND_GROUP; kind < CO_OFFLOAD_COMMAND_END; kind++) {
        struct co_offload_command command = command_of(kind), back;
        uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES], again[CO_OFFLOAD_COMMAND_BYTES];
        co_offload_command_encode(bytes, &command);
        assert_int_equal(co_offload_command_decode(&back, bytes, RANKS), 0);
        co_offload_command_encode(again, &back);
        assert_memory_equal(again, bytes, sizeof bytes);
        for (unsigned bit = 0; bit < 8 * CO_OFFLOAD_COMMAND_BYTES; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (co_offload_command_decode(&back, bytes, RANKS) == 0) {
                co_offload_command_encode(again, &back);
                assert_memory_equal(again, bytes, sizeof bytes);
            }
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static int decode_command(const struct co_offload_command *command)
{
    struct co_offload_command back;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    co_offload_command_encode(bytes, command);
    return co_offload_command_decode(&back, bytes, RANKS);
}

static void commands_of_a_hostile_rank(void **state)
{
    (void)state;
    struct co_offload_command command = command_of(CO_OFFLOAD_COMMAND_SEND);
    command.ticket = CO_TICKETS;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_SEND);
    command.operation.to = RANKS;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_SEND);
    command.operation.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_SEND);
    command.operation.address = UINT64_MAX - 4095; // its end is no address
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_SEND);
    command.operation.kind = CO_OFFLOAD_OPERATION_FORWARD; // no basic operation
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_RECEIVE);
    command.operation.from = RANKS;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_GROUP);
    command.operations = CO_OFFLOAD_OPERATIONS_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_TEAM_OPEN);
    command.operations = CO_OFFLOAD_MEMBERS_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    command.operations = 0;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_TEAM_OPEN);
    command.begun++;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_ALLTOALL);
    command.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_ALLTOALLV);
    command.operations = CO_OFFLOAD_MEMBERS_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_REFUSE);
    command.ticket = CO_TICKETS;
    assert_int_equal(decode_command(&command), -EPROTO);
    command.ticket = 0;
    command.refused = CO_OFFLOAD_COMMAND_ALLTOALL; // that is said by 0
    assert_int_equal(decode_command(&command), -EPROTO);
    command = command_of(CO_OFFLOAD_COMMAND_BCAST);
    command.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(decode_command(&command), -EPROTO);
    assert_int_equal(decode_command(&(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_END}), -EPROTO);
    assert_int_equal(decode_command(&(struct co_offload_command){.kind = 0}), -EPROTO);
}

static int decode_operation(const struct co_offload_operation *operation, unsigned at, uint8_t value)
{
    struct co_offload_operation back;
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES], again[CO_OFFLOAD_OPERATION_BYTES];
    co_offload_operation_encode(bytes, operation);
    bytes[at] ^= value;
    int error = co_offload_operation_decode(&back, bytes, RANKS);
    if (error == 0) { // every field is in the bytes, and none of the struct's padding
        co_offload_operation_encode(again, &back);
        assert_memory_equal(again, bytes, sizeof again);
    }
    return error;
}

static void operations(void **state)
{
    (void)state;
    struct co_offload_operation forward = send;
    forward.kind = CO_OFFLOAD_OPERATION_FORWARD;
    forward.from = 1;
    forward.from_tag = 6;
    struct co_offload_operation barrier = {.kind = CO_OFFLOAD_OPERATION_BARRIER};

    assert_int_equal(decode_operation(&send, 0, 0), 0);
    assert_int_equal(decode_operation(&forward, 0, 0), 0);
    assert_int_equal(decode_operation(&barrier, 0, 0), 0);
    assert_int_equal(decode_operation(&send, 16, 1), -EPROTO);    // a send has no source
    assert_int_equal(decode_operation(&send, 4, 1), -EPROTO);     // nothing stands there
    assert_int_equal(decode_operation(&barrier, 32, 1), -EPROTO); // a barrier has no bytes
    forward.from = RANKS;
    assert_int_equal(decode_operation(&forward, 0, 0), -EPROTO);
    assert_int_equal(decode_operation(&(struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_END}, 0, 0), -EPROTO);
    assert_int_equal(decode_operation(&(struct co_offload_operation){.kind = 0}, 0, 0), -EPROTO);
}

static void completions(void **state)
{
    (void)state;
    const struct co_offload_completion completion = {
        .state = CO_OFFLOAD_COMPLETION_DONE, .error = -EMSGSIZE, .bytes = UINT64_MAX};
    struct co_offload_completion back;
    uint8_t bytes[CO_OFFLOAD_COMPLETION_BYTES];

    co_offload_completion_encode(bytes, &completion);
    assert_int_equal(co_offload_completion_decode(&back, bytes), 0);
    assert_int_equal(back.error, -EMSGSIZE);
    assert_int_equal(back.bytes, UINT64_MAX);
    bytes[24] = 1; // nothing stands there
    assert_int_equal(co_offload_completion_decode(&back, bytes), -EPROTO);
    co_offload_completion_encode(bytes, &(struct co_offload_completion){.state = 0});
    assert_int_equal(co_offload_completion_decode(&back, bytes), -EPROTO);
    co_offload_completion_encode(bytes,
                                 &(struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = 1});
    assert_int_equal(co_offload_completion_decode(&back, bytes), -EPROTO);
    // With whom, where nothing went wrong?
    co_offload_completion_encode(bytes,
                                 &(struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .with = 1});
    assert_int_equal(co_offload_completion_decode(&back, bytes), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_bytes),
        cmocka_unit_test(every_bit_means_something),
        cmocka_unit_test(commands_of_a_hostile_rank),
        cmocka_unit_test(operations),
        cmocka_unit_test(completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
// Every datatype layout on the sending side against every one on the receiving side, for counts below and
// above the eager size; messages that end inside an element; types freed while their operation is pending; types of
// size zero; predefined types of every kind.
// ranks: 2
// environment: CASTOFF_P2P=yes
// expect: the ints arrive in order, gaps keep their bytes, Get_count and Get_elements agree
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/layout.h"
#include "oracle/verdict.h"

#include <stdio.h>
#include <string.h>

static int operations;

static bool can_hold(enum co_layout_kind kind, int instances)
{
    return kind != CO_LAYOUT_ABSOLUTE || instances == 1;
}

static void send_layout(enum co_layout_kind kind, int instances, uint64_t seed, bool receive_first)
{
    struct co_layout layout;
    MPI_Request request;
    co_layout_create(&layout, kind, instances);
    co_layout_write(&layout, 0, instances, seed);
    if (receive_first) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(layout.address, layout.count, layout.type, 1, operations, MPI_COMM_WORLD);
    } else {
        MPI_Isend(layout.address, layout.count, layout.type, 1, operations, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    co_layout_destroy(&layout);
}

static void receive_layout(enum co_layout_kind kind, int instances, uint64_t seed, bool receive_first, const char *what)
{
    struct co_layout layout;
    MPI_Request request;
    MPI_Status status;
    int count = -1, elements = -1;
    co_layout_create(&layout, kind, instances);
    if (receive_first) {
        MPI_Irecv(layout.address, layout.count, layout.type, 0, operations, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(layout.address, layout.count, layout.type, 0, operations, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, layout.type, &count);
    MPI_Get_elements(&status, layout.type, &elements);
    co_test_expect(count == layout.count && elements == instances * CO_LAYOUT_ITEMS, "%s: count %d, elements %d", what,
                   count, elements);
    co_layout_check(&layout, 0, instances, seed, what);
    co_layout_check_gaps(&layout, what);
    co_layout_destroy(&layout);
}

static void exchange(enum co_layout_kind from, enum co_layout_kind to, int instances, bool receive_first)
{
    char what[160];
    snprintf(what, sizeof what, "%s to %s, %d instances", co_layout_name(from), co_layout_name(to), instances);
    uint64_t seed = co_test_seed(0, ++operations, (size_t)instances);
    if (co_test_rank() == 0) {
        send_layout(from, instances, seed, receive_first);
    } else {
        receive_layout(to, instances, seed, receive_first, what);
    }
}

static void exchange_all(void)
{
    static const int instances[] = {1, 3, 90, 3000};
    for (size_t i = 0; i < sizeof instances / sizeof instances[0]; i++) {
        for (enum co_layout_kind from = 0; from < CO_LAYOUT_KINDS; from++) {
            for (enum co_layout_kind to = 0; to < CO_LAYOUT_KINDS; to++) {
                if (can_hold(from, instances[i]) && can_hold(to, instances[i])) {
                    exchange(from, to, instances[i], true);
                    exchange(from, to, instances[i], false);
                }
            }
        }
    }
}

// Pairs of an int and a gap and a short: a message may end after the int.
static MPI_Datatype make_pair(void)
{
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_SHORT}, pair, resized;
    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, 0, 16, &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&pair);
    return resized;
}

// `bytes` of packed pairs into pairs; the type is freed while the receive waits.
static void receive_part(int bytes, bool receive_first)
{
    unsigned char memory[400], packed[400];
    MPI_Datatype pair = make_pair();
    MPI_Request request;
    MPI_Status status;
    int tag = ++operations, count, elements;
    for (int i = 0; i < 400; i++) {
        packed[i] = (unsigned char)(i * 7 + 1);
    }
    if (co_test_rank() == 0) {
        MPI_Isend(packed, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_free(&pair);
        return;
    }
    memset(memory, 0x55, sizeof memory);
    if (!receive_first) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Irecv(memory, 20, pair, 0, tag, MPI_COMM_WORLD, &request);
    if (receive_first) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Datatype kept = make_pair();
    MPI_Type_free(&pair);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, kept, &count);
    MPI_Get_elements(&status, kept, &elements);
    co_test_say("%d bytes of pairs: count %s, elements %d\n", bytes, count == MPI_UNDEFINED ? "undefined" : "whole",
                elements);
    co_test_absorb(memory, sizeof memory);
    MPI_Type_free(&kept);
}

static void send_freed_type(void)
{
    struct co_layout layout;
    MPI_Request request;
    int tag = ++operations, instances = 2000;
    co_layout_create(&layout, CO_LAYOUT_VECTOR, instances);
    if (co_test_rank() == 0) {
        MPI_Datatype copy;
        co_layout_write(&layout, 0, instances, 99);
        MPI_Type_dup(layout.type, &copy);
        MPI_Isend(layout.address, layout.count, copy, 1, tag, MPI_COMM_WORLD, &request);
        MPI_Type_free(&copy);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(layout.address, layout.count, layout.type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_layout_check(&layout, 0, instances, 99, "a type freed by its sender");
    }
    co_layout_destroy(&layout);
}

static void exchange_nothing(void)
{
    MPI_Datatype empty;
    MPI_Status status;
    int count = -1, tag = ++operations;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    if (co_test_rank() == 0) {
        MPI_Send(&count, 5, empty, 1, tag, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 1, tag, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, empty, 1, tag, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 3; i++) {
            MPI_Recv(i == 1 ? NULL : &tag, i == 1 ? 0 : 5, i == 2 ? MPI_INT : empty, 0, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, i == 2 ? MPI_INT : empty, &count);
            co_test_say("nothing %d: count %d\n", i, count);
        }
    }
    MPI_Type_free(&empty);
}

static void exchange_predefined_type(size_t number, MPI_Datatype type)
{
    static unsigned char sent[64 * 32], received[64 * 32];
    MPI_Status status;
    for (int count = 1; count <= 60; count += 59) {
        int got = -1, elements = -1, tag = ++operations;
        co_test_pattern_fill(sent, sizeof sent, (uint64_t)number + 5);
        memset(received, 0x33, sizeof received);
        if (co_test_rank() == 0) {
            MPI_Send(sent, count, type, 1, tag, MPI_COMM_WORLD);
        } else {
            MPI_Recv(received, 60, type, 0, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, type, &got);
            MPI_Get_elements(&status, type, &elements);
            co_test_say("type %zu: %d, %d\n", number, got, elements);
            co_test_absorb(received, sizeof received);
        }
    }
}

static void exchange_predefined(void)
{
    // clang-format off
    MPI_Datatype types[] = {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_WCHAR, MPI_SHORT,
        MPI_UNSIGNED_SHORT, MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG,
        MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_INT8_T, MPI_INT16_T,
        MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
        MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET,
        MPI_COUNT, MPI_PACKED, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT,
        MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL,
        MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER, MPI_CXX_BOOL};
    // clang-format on
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        exchange_predefined_type(i, types[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    exchange_all();
    static const int parts[] = {0, 1, 3, 4, 5, 6, 7, 10, 12, 58, 59, 60, 64, 110, 119, 120};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        receive_part(parts[i], true);
        receive_part(parts[i], false);
    }
    send_freed_type();
    exchange_nothing();
    exchange_predefined();
    co_test_expect(operations > 0, "no message was sent");
    return co_test_finish();
}

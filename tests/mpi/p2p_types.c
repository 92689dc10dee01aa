// SPDX-License-Identifier: BSD-3-Clause
// Types that are used again and again, freed and made anew: native gives the handle of one to the next, and what was
// known of the first must not serve the second. Also types that are freed while messages with them are under way, more
// of them than castoff remembers, irregular ones of many blocks, and errors of native's after a type has been used.
// ranks: 2
// environment: CASTOFF_P2P=yes
// timeout: 120
// expect: each type moves its own bytes
// report: calls["MPI_Send"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 64, USES = 5, KINDS = 4, ROUNDS = 200, MANY = 700, BLOCKS = 6000, TAG = 3 };

static int rank, peer, sent[4 * ITEMS], received[4 * ITEMS];

// Items [i] of `kind`: another place for each of them.
static int place_of(int kind, int item)
{
    switch (kind) {
    case 0:
        return 2 * item;
    case 1:
        return 3 * item + 1;
    case 2:
        return 2 * (ITEMS - 1 - item);
    default:
        return item + item / 2;
    }
}

static MPI_Datatype make(int kind)
{
    int places[ITEMS];
    MPI_Datatype type;
    for (int i = 0; i < ITEMS; i++) {
        places[i] = place_of(kind, i);
    }
    if (kind == 0) {
        MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &type);
    } else {
        MPI_Type_create_indexed_block(ITEMS, 1, places, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static void fill(int seed)
{
    for (int i = 0; i < 4 * ITEMS; i++) {
        sent[i] = seed * 1000 + i;
        received[i] = -1;
    }
}

static int count_wrong(int send_kind, int receive_kind)
{
    int wrong = 0, hit = 0;
    for (int i = 0; i < ITEMS; i++) {
        wrong += received[place_of(receive_kind, i)] != sent[place_of(send_kind, i)];
    }
    for (int i = 0; i < 4 * ITEMS; i++) {
        hit += received[i] != -1;
    }
    return wrong + (hit != ITEMS);
}

// Both ranks fill alike, so what one sends the other has.
static void exchange(MPI_Datatype out, int send_kind, MPI_Datatype in, int receive_kind, int seed, const char *what)
{
    fill(seed);
    if (rank == 0) {
        MPI_Send(sent, 1, out, peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(received, 1, in, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(received, 1, in, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(sent, 1, out, peer, TAG, MPI_COMM_WORLD);
    }
    co_test_expect(count_wrong(send_kind, receive_kind) == 0, "%s, round %d: from kind %d to kind %d", what, seed,
                   send_kind, receive_kind);
}

static void remake(void)
{
    int reused = 0;
    MPI_Datatype last = MPI_DATATYPE_NULL;
    for (int round = 0; round < ROUNDS; round++) {
        int send_kind = round % KINDS, receive_kind = round / KINDS % KINDS;
        MPI_Datatype out = make(send_kind), in = make(receive_kind);
        reused += out == last;
        for (int use = 0; use < USES; use++) {
            exchange(out, send_kind, in, receive_kind, round, "made anew");
        }
        MPI_Type_free(&in);
        last = out;
        MPI_Type_free(&out);
    }
    co_test_expect(reused > 0, "no handle was used again, so nothing was tested");
}

static void free_while_under_way(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int kind = round % KINDS, other = (round + 1) % KINDS;
        MPI_Datatype in = make(kind), next;
        MPI_Request requests[2];
        for (int use = 0; use < 3; use++) {
            exchange(in, kind, in, kind, round, "before it is freed");
        }
        fill(round);
        MPI_Irecv(received, 1, in, peer, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, 1, in, peer, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Type_free(&in);
        next = make(other);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        co_test_expect(count_wrong(kind, kind) == 0, "round %d: freed while it was under way", round);
        for (int use = 0; use < 3; use++) {
            exchange(next, other, next, other, round, "the next one");
        }
        MPI_Type_free(&next);
    }
}

static void keep_many(void)
{
    static MPI_Datatype types[MANY];
    for (int i = 0; i < MANY; i++) {
        types[i] = make(i % KINDS);
    }
    for (int use = 0; use < 3; use++) {
        for (int i = 0; i < MANY; i++) {
            exchange(types[i], i % KINDS, types[(i + use) % MANY], (i + use) % MANY % KINDS, i, "one of many");
        }
    }
    for (int i = 0; i < MANY; i += 2) {
        MPI_Type_free(&types[i]);
        types[i] = make((i + 1) % KINDS);
    }
    for (int use = 0; use < 3; use++) {
        for (int i = 0; i < MANY; i += 2) {
            exchange(types[i], (i + 1) % KINDS, types[i], (i + 1) % KINDS, i, "one of many, made anew");
        }
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Type_free(&types[i]);
    }
}

// Irregular, of runs of one to three ints; counts that differ, and a receive that takes less.
static void irregular(void)
{
    static int lengths[BLOCKS], places[BLOCKS], out[8 * BLOCKS], in[8 * BLOCKS];
    int at = 0, items = 0;
    MPI_Datatype type;
    MPI_Status status;
    srand(7);
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + rand() % 3;
        places[i] = at;
        at += lengths[i] + rand() % 2;
        items += lengths[i];
    }
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int use = 0; use < 4; use++) {
        int wrong = 0, count = 0;
        for (int i = 0; i < 8 * BLOCKS; i++) {
            out[i] = use * 100000 + i;
            in[i] = -1;
        }
        if (rank == 0) {
            MPI_Send(out, 1, type, peer, TAG, MPI_COMM_WORLD);
        } else if (use % 2 == 0) {
            MPI_Recv(in, 1, type, peer, TAG, MPI_COMM_WORLD, &status);
        } else { // as it was packed
            MPI_Recv(in, items, MPI_INT, peer, TAG, MPI_COMM_WORLD, &status);
        }
        for (int block = 0, item = 0; rank == 1 && block < BLOCKS; block++) {
            for (int i = 0; i < lengths[block]; i++, item++) {
                wrong += in[use % 2 == 0 ? places[block] + i : item] != out[places[block] + i];
            }
        }
        if (rank == 1) {
            MPI_Get_count(&status, MPI_INT, &count);
            co_test_expect(wrong == 0 && count == items, "irregular, use %d: %d of %d items are wrong, %d came", use,
                           wrong, items, count);
        }
    }
    MPI_Type_free(&type);
}

static void errors_stay(void)
{
    MPI_Datatype type = make(1), bare;
    int code, class;
    for (int use = 0; use < 4; use++) {
        exchange(type, 1, type, 1, use, "before its errors");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(sent, -1, type, peer, TAG, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    co_test_expect(class == MPI_ERR_COUNT, "a negative count: class %d", class);
    MPI_Type_dup(type, &bare);
    MPI_Type_free(&type);
    MPI_Type_free(&bare);
    MPI_Type_vector(ITEMS, 1, 2, MPI_INT, &bare); // perhaps with the handle of one that was committed
    code = MPI_Send(sent, 1, bare, peer, TAG, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    co_test_expect(class == MPI_ERR_TYPE, "a type that is not committed: class %d", class);
    MPI_Type_free(&bare);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    peer = 1 - rank;
    remake();
    free_while_under_way();
    keep_many();
    irregular();
    errors_stay();
    return co_test_finish();
}

// SPDX-License-Identifier: BSD-3-Clause
// Random datatypes, made by every constructor and nested, from one random type into another and back, with messages
// from some bytes to megabytes. Natively packed and unpacked buffers say what must be where.
// ranks: 2
// environment: CASTOFF_P2P=yes
// timeout: 240
// expect: every int at its place, and nothing beside it
// report: calls["MPI_Send"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 90, ITEMS_MOST = 3000, PARTS = 4, MARK = 0xEE, MARGIN = 64, WAYS = 8 };

static uint64_t state;

static int below(int bound)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)bound);
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

static int items_of(MPI_Datatype type)
{
    int bytes;
    MPI_Type_size(type, &bytes);
    return bytes / (int)sizeof(int);
}

// Lengths and places of blocks that do not overlap, sometimes from the far end; some blocks are empty.
static void place_blocks(int lengths[PARTS], int places[PARTS])
{
    bool is_reversed = below(2);
    int at = below(3) - 1;
    for (int i = 0; i < PARTS; i++) {
        lengths[i] = below(5) ? 1 + below(3) : 0;
        places[i] = at;
        at += lengths[i] + below(3);
    }
    for (int i = 0; is_reversed && i < PARTS / 2; i++) {
        int j = PARTS - 1 - i, length = lengths[i], place = places[i];
        lengths[i] = lengths[j], places[i] = places[j];
        lengths[j] = length, places[j] = place;
    }
}

static void make_blocks(int kind, MPI_Datatype inner, MPI_Datatype *type)
{
    int lengths[PARTS], places[PARTS], block = 1 + below(2), spread[PARTS];
    MPI_Aint addresses[PARTS], far[PARTS];
    MPI_Datatype types[PARTS] = {inner, inner, inner, inner};
    place_blocks(lengths, places);
    for (int i = 0; i < PARTS; i++) {
        spread[i] = 2 * i;
        far[i] = 2 * i * extent_of(inner) + 4 * i;
        addresses[i] = places[i] * extent_of(inner) + 4;
    }
    switch (kind) {
    case 0:
        MPI_Type_indexed(PARTS, lengths, places, inner, type);
        break;
    case 1:
        MPI_Type_create_hindexed(PARTS, lengths, addresses, inner, type);
        break;
    case 2:
        MPI_Type_create_indexed_block(PARTS, block, spread, inner, type);
        break;
    case 3:
        MPI_Type_create_hindexed_block(PARTS, block, far, inner, type);
        break;
    default:
        MPI_Type_create_struct(PARTS, lengths, addresses, types, type);
    }
}

static void make_subarray(MPI_Datatype inner, MPI_Datatype *type)
{
    int dimensions = 1 + below(3), sizes[3], parts[3], starts[3];
    for (int i = 0; i < dimensions; i++) {
        sizes[i] = 2 + below(5);
        parts[i] = 1 + below(sizes[i]);
        starts[i] = below(sizes[i] - parts[i] + 1);
    }
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, type);
}

static void make_loop(int kind, MPI_Datatype inner, MPI_Datatype *type)
{
    int length = 1 + below(3), stride = length + below(4);
    MPI_Aint lower, extent;
    switch (kind) {
    case 0:
        MPI_Type_contiguous(1 + below(6), inner, type);
        break;
    case 1:
        MPI_Type_vector(1 + below(8), length, below(4) ? stride : -stride, inner, type);
        break;
    case 2:
        MPI_Type_create_hvector(1 + below(8), length, stride * extent_of(inner) + 4 * below(3), inner, type);
        break;
    case 3:
        MPI_Type_get_true_extent(inner, &lower, &extent);
        MPI_Type_create_resized(inner, lower - 4 * below(3), extent_of(inner) + 12 + 4 * below(3), type);
        break;
    default:
        MPI_Type_dup(inner, type);
    }
}

static void make_type(MPI_Datatype *type)
{
    MPI_Type_contiguous(1 + below(3), MPI_INT, type);
    for (int depth = 1 + below(4); depth > 0; depth--) {
        MPI_Datatype outer;
        int kind = below(11);
        if (kind < 5) {
            make_blocks(kind, *type, &outer);
        } else if (kind < 6) {
            make_subarray(*type, &outer);
        } else {
            make_loop(kind - 6, *type, &outer);
        }
        if (items_of(outer) == 0 || items_of(outer) > ITEMS_MOST || extent_of(outer) > 16 * ITEMS_MOST) {
            MPI_Type_free(&outer);
            continue;
        }
        MPI_Type_free(type);
        *type = outer;
    }
    MPI_Type_commit(type);
}

struct body {
    MPI_Datatype type;
    int count, bytes;
    unsigned char *storage, *address;
    size_t storage_bytes;
};

static void make_body(struct body *body, int items)
{
    MPI_Aint lower, span;
    make_type(&body->type);
    body->count = (items + items_of(body->type) - 1) / items_of(body->type);
    body->bytes = body->count * items_of(body->type) * (int)sizeof(int);
    MPI_Type_get_true_extent(body->type, &lower, &span);
    MPI_Aint whole = span + (body->count - 1) * extent_of(body->type);
    body->storage_bytes = (size_t)whole + 2 * MARGIN;
    body->storage = malloc(body->storage_bytes);
    memset(body->storage, MARK, body->storage_bytes);
    body->address = body->storage + MARGIN - lower;
}

static void free_body(struct body *body)
{
    free(body->storage);
    if (body->type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&body->type);
    }
}

// The pattern of `seed` in the first `bytes` packed bytes, marks behind them.
static void fill(struct body *body, int bytes, uint64_t seed)
{
    unsigned char *packed = malloc((size_t)body->bytes);
    int position = 0;
    memset(packed, MARK, (size_t)body->bytes);
    co_test_pattern_fill(packed, (size_t)bytes, seed);
    MPI_Unpack(packed, body->bytes, &position, body->address, body->count, body->type, MPI_COMM_SELF);
    free(packed);
}

static void check(struct body *body, int bytes, uint64_t seed, const char *what, int round)
{
    unsigned char *came = malloc(body->storage_bytes);
    memcpy(came, body->storage, body->storage_bytes);
    memset(body->storage, MARK, body->storage_bytes);
    fill(body, bytes, seed);
    size_t at = 0;
    while (at < body->storage_bytes && came[at] == body->storage[at]) {
        at++;
    }
    co_test_expect(at == body->storage_bytes, "round %d, %s: byte %zu of %zu is wrong", round, what, at,
                   body->storage_bytes);
    co_test_absorb(came, body->storage_bytes);
    free(came);
}

// The handle that an operation was given is gone.
static void exchange_handle(MPI_Datatype *type)
{
    MPI_Datatype old = *type;
    MPI_Type_dup(old, type);
    MPI_Type_free(&old);
}

static void send_and_receive(int way, struct body *out, struct body *in, int peer)
{
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Comm comm = MPI_COMM_WORLD;
    bool is_first = co_test_rank() == 0;
    switch (way) {
    case 0: // there and back
    case 1:
        for (int turn = 0; turn < 2; turn++) {
            if (is_first == (turn == 0)) {
                (way == 0 ? MPI_Send : MPI_Ssend)(out->address, out->count, out->type, peer, way, comm);
            } else {
                MPI_Recv(in->address, in->count, in->type, peer, way, comm, MPI_STATUS_IGNORE);
            }
        }
        break;
    case 2:
        MPI_Sendrecv(out->address, out->count, out->type, peer, way, in->address, in->count, in->type, peer, way, comm,
                     MPI_STATUS_IGNORE);
        break;
    case 3: // the types are gone while both are under way
        MPI_Irecv(in->address, in->count, in->type, peer, way, comm, &requests[0]);
        MPI_Isend(out->address, out->count, out->type, peer, way, comm, &requests[1]);
        exchange_handle(&in->type);
        exchange_handle(&out->type);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case 4: // unexpected
        MPI_Isend(out->address, out->count, out->type, peer, way, comm, &requests[0]);
        MPI_Barrier(comm);
        MPI_Recv(in->address, in->count, in->type, peer, way, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 5:
        MPI_Isend(out->address, out->count, out->type, peer, way, comm, &requests[0]);
        MPI_Mprobe(peer, way, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in->address, in->count, in->type, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 6: // freed while they are under way; the barrier's message comes behind them
        MPI_Irecv(in->address, in->count, in->type, peer, way, comm, &requests[0]);
        MPI_Isend(out->address, out->count, out->type, peer, way, comm, &requests[1]);
        MPI_Request_free(&requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, WAYS, NULL, 0, MPI_BYTE, peer, WAYS, comm, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Send_init(out->address, out->count, out->type, peer, way, comm, &requests[0]);
        MPI_Recv_init(in->address, in->count, in->type, peer, way, comm, &requests[1]);
        for (int turn = 0; turn < 2; turn++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {20, 300, 1030, 3000, 9000, 20000, 70000, 300000}; // ints, about
    static const char *const words[WAYS] = {"send",       "ssend",  "sendrecv", "isend",
                                            "unexpected", "mprobe", "freed",    "persistent"};
    MPI_Init(&argc, &argv);
    co_test_begin();
    int peer = 1 - co_test_rank();
    for (int round = 0; round < ROUNDS; round++) {
        struct body bodies[4]; // sent and received by rank 0, then by rank 1: all ranks make all of them
        int way = round % WAYS, items = 1 + below(2 * sizes[below(8)]);
        uint64_t seeds[2] = {co_test_seed(0, round, (size_t)items), co_test_seed(1, round, (size_t)items)};
        for (int i = 0; i < 4; i += 2) {
            make_body(&bodies[i], items);
        }
        for (int rank = 0; rank < 2; rank++) { // with room for more than comes
            make_body(&bodies[2 * rank + 1], bodies[2 - 2 * rank].bytes / (int)sizeof(int) + below(50));
        }
        struct body *out = &bodies[2 * co_test_rank()], *in = out + 1;
        int comes = bodies[2 * peer].bytes;
        fill(out, out->bytes, seeds[co_test_rank()]);
        send_and_receive(way, out, in, peer);
        check(in, comes, seeds[peer], words[way], round);
        check(out, out->bytes, seeds[co_test_rank()], "what was sent", round);
        for (int i = 0; i < 4; i++) {
            free_body(&bodies[i]);
        }
    }
    return co_test_finish();
}

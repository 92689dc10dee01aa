// SPDX-License-Identifier: BSD-3-Clause
// Unequal allgathers with derived datatypes: the send layout differs from the receive layout, and both differ from rank
// to rank (equal signatures, as MPI requires). Places leave out instances of the receive type, the order of the blocks
// is another on each rank, and some ranks have none. Blocking, nonblocking with types freed
// meanwhile, in place, and persistent.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written, inside an instance or between blocks
// taken: MPI_Allgatherv MPI_Iallgatherv MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#include "oracle/layout.h"

#include <stdio.h>
#include <string.h>

#define RANKS 8

enum variant { BLOCKING, NONBLOCKING, IN_PLACE, PERSISTENT, VARIANTS };

struct gather {
    struct co_layout send, receive;
    int instances[RANKS], first[RANKS]; // by rank, in the receive layout
    int all;
    enum variant variant;
};

static void lay_out(struct gather *gather, int scale, int operation)
{
    int size = co_test_size(), at = operation % 2;
    for (int turn = 0; turn < size; turn++) {
        int of = (turn + co_test_rank() + operation) % size;
        gather->instances[of] = (of + operation) % 3 * scale + (of == 0);
        gather->first[of] = at;
        at += gather->instances[of] + (turn + operation) % 2;
    }
    gather->all = at + 1;
}

static void call(struct gather *gather)
{
    struct co_layout *send = &gather->send, *receive = &gather->receive;
    int counts[RANKS], places[RANKS], each = receive->count / receive->instances;
    for (int of = 0; of < co_test_size(); of++) {
        counts[of] = gather->instances[of] * each;
        places[of] = gather->first[of] * each;
    }
    if (gather->variant == BLOCKING) {
        MPI_Allgatherv(send->address, send->count, send->type, receive->address, counts, places, receive->type,
                       MPI_COMM_WORLD);
        return;
    }
    MPI_Request request;
    if (gather->variant == PERSISTENT) {
        MPIX_Allgatherv_init(send->address, send->count, send->type, receive->address, counts, places, receive->type,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return;
    }
    void *source = gather->variant == IN_PLACE ? MPI_IN_PLACE : send->address;
    MPI_Iallgatherv(source, send->count, send->type, receive->address, counts, places, receive->type, MPI_COMM_WORLD,
                    &request);
    MPI_Datatype sent = send->type, received = receive->type;
    MPI_Type_dup(MPI_INT, &send->type); // for co_layout_destroy
    MPI_Type_dup(MPI_INT, &receive->type);
    MPI_Type_free(&sent);
    MPI_Type_free(&received);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static bool is_in_a_block(const struct gather *gather, int instance)
{
    for (int of = 0; of < co_test_size(); of++) {
        if (instance >= gather->first[of] && instance < gather->first[of] + gather->instances[of]) {
            return true;
        }
    }
    return false;
}

// Instances that no block has.
static int spoilt(const struct gather *gather, int mark)
{
    int wrong = 0;
    for (int instance = 0; instance < gather->all; instance++) {
        for (int item = 0; item < CO_LAYOUT_ITEMS && !is_in_a_block(gather, instance); item++) {
            int value;
            memcpy(&value, co_layout_item(&gather->receive, instance, item), sizeof value);
            wrong += value != mark;
        }
    }
    return wrong;
}

static void run(int send_kind, int receive_kind, int scale, int operation)
{
    struct gather gather = {.variant = (enum variant)(operation % VARIANTS)};
    char what[96];
    int self = co_test_rank(), mark;
    lay_out(&gather, scale, operation);
    snprintf(what, sizeof what, "operation %d, variant %d, scale %d", operation, gather.variant, scale);
    int mine = gather.instances[self];
    co_layout_create(&gather.send, (enum co_layout_kind)send_kind, mine + 1);
    co_layout_create(&gather.receive, (enum co_layout_kind)receive_kind, gather.all);
    gather.send.count = gather.send.count / (mine + 1) * mine;
    memcpy(&mark, co_layout_item(&gather.receive, 0, 0), sizeof mark);
    uint64_t seed = co_test_seed(self, operation, (size_t)mine);
    co_layout_write(&gather.send, 0, mine, seed);
    if (gather.variant == IN_PLACE) {
        co_layout_write(&gather.receive, gather.first[self], mine, seed);
    }
    call(&gather);
    for (int of = 0; of < co_test_size(); of++) {
        co_layout_check(&gather.receive, gather.first[of], gather.instances[of],
                        co_test_seed(of, operation, (size_t)gather.instances[of]), what);
    }
    co_layout_check_gaps(&gather.receive, what);
    int wrong = spoilt(&gather, mark);
    co_test_expect(wrong == 0, "%s: %d ints between the blocks are written", what, wrong);
    co_layout_check(&gather.send, 0, mine, seed, "send buffer");
    co_layout_destroy(&gather.send);
    co_layout_destroy(&gather.receive);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const int scales[] = {1, 5, 300};
    int operation = 0;
    for (int i = 0; i < 3; i++) {
        for (int shift = 0; shift < CO_LAYOUT_ABSOLUTE; shift++) {
            for (int v = 0; v < VARIANTS; v++) {
                int send_kind = (shift + co_test_rank()) % CO_LAYOUT_ABSOLUTE;
                int receive_kind = (shift * 5 + co_test_rank() * 2) % CO_LAYOUT_ABSOLUTE;
                run(send_kind, receive_kind, scales[i], operation++);
            }
        }
    }
    return co_test_finish();
}

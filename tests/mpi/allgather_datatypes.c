// SPDX-License-Identifier: BSD-3-Clause
// Allgathers with derived datatypes: the send layout differs from the receive layout, and both differ
// from rank to rank (equal signatures, as MPI requires). Blocking, non-blocking with the datatypes
// freed while the operation is pending, and in place. The components are those of stock that get
// such calls right.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written
// taken: MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include "oracle/layout.h"

#include <stdio.h>

enum variant { BLOCKING, NONBLOCKING, IN_PLACE, VARIANTS };

static void start(struct co_layout *send, struct co_layout *receive, enum variant variant, int instances)
{
    int receive_count = receive->count / co_test_size();
    if (variant == BLOCKING) {
        MPI_Allgather(send->address, send->count, send->type, receive->address, receive_count, receive->type,
                      MPI_COMM_WORLD);
        return;
    }
    MPI_Request request;
    void *source = variant == IN_PLACE ? MPI_IN_PLACE : send->address;
    MPI_Iallgather(source, send->count, send->type, receive->address, receive_count, receive->type, MPI_COMM_WORLD,
                   &request);
    if (instances % 2 == 1) {
        MPI_Type_free(&send->type);
        MPI_Type_free(&receive->type);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (instances % 2 == 1) {
        send->type = MPI_DATATYPE_NULL;
        receive->type = MPI_DATATYPE_NULL;
    }
}

static void destroy(struct co_layout *layout)
{
    if (layout->type == MPI_DATATYPE_NULL) {
        MPI_Type_dup(MPI_INT, &layout->type);
    }
    co_layout_destroy(layout);
}

static void gather(int send_kind, int receive_kind, int instances, int operation)
{
    struct co_layout send;
    struct co_layout receive;
    char what[96];
    enum variant variant = (enum variant)(operation % VARIANTS);
    size_t seed_size = (size_t)instances;
    snprintf(what, sizeof what, "operation %d, variant %d, %d instances", operation, variant, instances);
    co_layout_create(&send, (enum co_layout_kind)send_kind, instances);
    co_layout_create(&receive, (enum co_layout_kind)receive_kind, instances * co_test_size());
    uint64_t seed = co_test_seed(co_test_rank(), operation, seed_size);
    co_layout_write(&send, 0, instances, seed);
    if (variant == IN_PLACE) {
        co_layout_write(&receive, co_test_rank() * instances, instances, seed);
    }
    start(&send, &receive, variant, instances);
    for (int r = 0; r < co_test_size(); r++) {
        co_layout_check(&receive, r * instances, instances, co_test_seed(r, operation, seed_size), what);
    }
    co_layout_check_gaps(&receive, what);
    co_layout_check(&send, 0, instances, seed, "send buffer");
    co_layout_check_gaps(&send, "send buffer");
    destroy(&send);
    destroy(&receive);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const int instances[] = {1, 4, 333};
    int operation = 0;
    for (int i = 0; i < 3; i++) {
        for (int shift = 0; shift < CO_LAYOUT_KINDS; shift++) {
            for (int v = 0; v < VARIANTS; v++) {
                int kinds = instances[i] == 1 ? CO_LAYOUT_KINDS : CO_LAYOUT_ABSOLUTE;
                int send_kind = (shift + co_test_rank()) % kinds;
                int receive_kind = (shift * 5 + co_test_rank() * 2) % CO_LAYOUT_ABSOLUTE;
                gather(send_kind, receive_kind, instances[i], operation++);
            }
        }
    }
    return co_test_finish();
}

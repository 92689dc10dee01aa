// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls with derived datatypes: the send layout differs from the receive layout, and both differ from rank to
// rank (equal signatures, as MPI requires). Equal blocks and unequal ones, some of none, in place, and with types
// that are freed while the call is under way.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: the right ints in the right places, no gap written
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/layout.h"
#include "oracle/verdict.h"

#include <stdio.h>

#define RANKS 16

enum variant { EQUAL, UNEQUAL, EQUAL_IN_PLACE, UNEQUAL_IN_PLACE, VARIANTS };

struct exchange {
    struct co_layout send, receive;
    int out[RANKS], in[RANKS], out_first[RANKS], in_first[RANKS]; // instances, by rank
    enum variant variant;
    int operation;
};

static bool is_in_place(const struct exchange *exchange)
{
    return exchange->variant >= EQUAL_IN_PLACE;
}

static int instances_of(const struct exchange *exchange, int from, int to, int scale)
{
    if (exchange->variant == EQUAL || exchange->variant == EQUAL_IN_PLACE) {
        return scale;
    }
    int turn = exchange->operation + (is_in_place(exchange) ? from + to : from + 2 * to);
    if (is_in_place(exchange) && co_test_size() > 3) { // there Open MPI 4.1.4 gets wrong what has blocks of none
        return (1 + turn % 2) * scale;
    }
    return turn % 3 * scale;
}

static uint64_t seed_of(const struct exchange *exchange, int from, int to)
{
    return co_test_seed(from * RANKS + to, exchange->operation, 1);
}

// How many instances each side has.
static void lay_out(struct exchange *exchange, int scale, int *sent, int *received)
{
    *sent = *received = 0;
    for (int of = 0; of < co_test_size(); of++) {
        exchange->out[of] = instances_of(exchange, co_test_rank(), of, scale);
        exchange->in[of] = instances_of(exchange, of, co_test_rank(), scale);
        exchange->out_first[of] = *sent;
        exchange->in_first[of] = *received;
        *sent += exchange->out[of];
        *received += exchange->in[of];
    }
}

// The program's types are gone before the call is over.
static void free_types(struct exchange *exchange)
{
    MPI_Datatype sent = exchange->send.type, received = exchange->receive.type;
    MPI_Type_dup(MPI_INT, &exchange->send.type); // for co_layout_destroy
    MPI_Type_dup(MPI_INT, &exchange->receive.type);
    MPI_Type_free(&sent);
    MPI_Type_free(&received);
}

static void call(struct exchange *exchange)
{
    struct co_layout *send = &exchange->send, *receive = &exchange->receive;
    int out[RANKS], out_places[RANKS], in[RANKS], in_places[RANKS];
    int sent_each = send->count / send->instances, received_each = receive->count / receive->instances;
    const void *source = is_in_place(exchange) ? MPI_IN_PLACE : send->address;
    MPI_Request request;
    for (int of = 0; of < co_test_size(); of++) {
        out[of] = exchange->out[of] * sent_each;
        out_places[of] = exchange->out_first[of] * sent_each;
        in[of] = exchange->in[of] * received_each;
        in_places[of] = exchange->in_first[of] * received_each;
    }
    if (exchange->variant == EQUAL || exchange->variant == EQUAL_IN_PLACE) {
        MPI_Ialltoall(source, out[0], send->type, receive->address, in[0], receive->type, MPI_COMM_WORLD, &request);
    } else {
        MPI_Ialltoallv(source, out, out_places, send->type, receive->address, in, in_places, receive->type,
                       MPI_COMM_WORLD, &request);
    }
    free_types(exchange);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run(int send_kind, int receive_kind, int scale, int operation)
{
    struct exchange exchange = {.variant = (enum variant)(operation % VARIANTS), .operation = operation};
    char what[96];
    int self = co_test_rank(), sent, received;
    lay_out(&exchange, scale, &sent, &received);
    snprintf(what, sizeof what, "operation %d, variant %d, scale %d", operation, exchange.variant, scale);
    co_layout_create(&exchange.send, (enum co_layout_kind)send_kind, sent + 1);
    co_layout_create(&exchange.receive, (enum co_layout_kind)receive_kind, received + 1);
    for (int of = 0; of < co_test_size(); of++) {
        struct co_layout *source = is_in_place(&exchange) ? &exchange.receive : &exchange.send;
        const int *first = is_in_place(&exchange) ? exchange.in_first : exchange.out_first;
        co_layout_write(source, first[of], exchange.out[of], seed_of(&exchange, self, of));
    }
    call(&exchange);
    for (int of = 0; of < co_test_size(); of++) {
        co_layout_check(&exchange.receive, exchange.in_first[of], exchange.in[of], seed_of(&exchange, of, self), what);
    }
    co_layout_check_gaps(&exchange.receive, what);
    co_layout_destroy(&exchange.send);
    co_layout_destroy(&exchange.receive);
}

int main(int argc, char **argv)
{
    static const int scales[] = {1, 5, 300};
    int operation = 0;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 3; i++) {
        for (int shift = 0; shift < CO_LAYOUT_ABSOLUTE; shift++) {
            for (int variant = 0; variant < VARIANTS; variant++) {
                int send_kind = (shift + co_test_rank()) % CO_LAYOUT_ABSOLUTE;
                int receive_kind = (shift * 5 + co_test_rank() * 2) % CO_LAYOUT_ABSOLUTE;
                run(send_kind, receive_kind, scales[i], operation++);
            }
        }
    }
    return co_test_finish();
}

// SPDX-License-Identifier: BSD-3-Clause
// The info hint castoff=no: given to a duplicate, inherited by a plain duplicate of that one, taken back and given
// again by MPI_Comm_set_info, by one rank only, in other spellings, with a value that switches nothing off, beside a
// message that is pending, and while a collective is, when it must not take effect. The report says which calls stayed
// native.
// ranks: 2 3
// expect: right bytes on either side
// report: format == 1
// report: calls["MPI_Bcast"]["seen"] == 16 * ranks
// report: calls["MPI_Bcast"]["declined"] == {"switched_off_by_info": 10 * ranks}
// report: calls["MPI_Bcast"]["taken"] == 6 * ranks
// report: calls["MPI_Bcast"]["bytes_seen"] == 16 * ranks * 3001
// report: calls["MPI_Bcast"]["bytes_taken"] == 6 * ranks * 3001
// report: calls["MPI_Iallgather"]["taken"] == ranks and calls["MPI_Iallgather"]["declined"] == {}
// report: counters["communicator_high_water_bytes"] > 0
// report: (counters["communicator_shared_high_water_bytes"] > 0) == ("CASTOFF_FAULT" not in settings)
// report: (counters["bitmap_high_water_bytes"] > 0) == ("CASTOFF_FAULT" in settings)
#include "oracle/verdict.h"

#include <stdlib.h>

#define BYTES 3001

static unsigned char buffer[BYTES];
static int operations;

static void broadcast(MPI_Comm comm, const char *what)
{
    int root = operations++ % co_test_size();
    uint64_t seed = co_test_seed(root, operations, BYTES);
    if (co_test_rank() == root) {
        co_test_pattern_fill(buffer, BYTES, seed);
    }
    MPI_Bcast(buffer, BYTES, MPI_BYTE, root, comm);
    co_test_received(buffer, BYTES, seed, "broadcast %d, %s", operations, what);
}

static MPI_Info hint(const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", value);
    return info;
}

static void set(MPI_Comm comm, const char *value)
{
    MPI_Info info = hint(value);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
}

static MPI_Comm duplicate(const char *value)
{
    MPI_Comm comm;
    MPI_Info info = hint(value);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static void use_duplicates(void)
{
    static const char *const off[] = {"no", "off", "False", "0"};
    for (int i = 0; i < 4; i++) {
        MPI_Comm comm = duplicate(off[i]);
        broadcast(comm, off[i]); // native
        MPI_Comm_free(&comm);
    }
    MPI_Comm comm = duplicate("yes");
    broadcast(comm, "castoff=yes"); // taken
    MPI_Comm_free(&comm);
}

static void use_heirs(void)
{
    MPI_Comm parent = duplicate("no"), heir, other;
    MPI_Comm_dup(parent, &heir);
    broadcast(heir, "a duplicate has its parent's hints"); // native
    MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, &other);
    broadcast(other, "but not where others are given"); // taken
    set(parent, "yes");
    broadcast(parent, "taken back");                    // taken
    broadcast(heir, "taken back from the parent only"); // native
    MPI_Comm_free(&parent);
    MPI_Comm_free(&heir);
    MPI_Comm_free(&other);
}

static void change_sides(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    broadcast(comm, "without a hint"); // taken
    set(comm, "no");
    broadcast(comm, "switched off"); // native
    set(comm, "yes");
    broadcast(comm, "switched on again"); // taken
    // A hint that only one rank has counts for all of them, or they would part.
    MPI_Info info;
    MPI_Info_create(&info);
    if (co_test_rank() == 0) {
        MPI_Info_set(info, "castoff", "no");
    }
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    broadcast(comm, "switched off by one rank"); // native
    broadcast(comm, "and still off");            // native
    MPI_Comm_free(&comm);
}

static void change_while_pending(void)
{
    MPI_Comm comm;
    MPI_Request request;
    unsigned char *gathered = malloc((size_t)co_test_size() * BYTES);
    uint64_t seed = co_test_seed(co_test_rank(), 77, BYTES);
    static unsigned char mine[BYTES];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    co_test_pattern_fill(mine, BYTES, seed);
    MPI_Iallgather(mine, BYTES, MPI_BYTE, gathered, BYTES, MPI_BYTE, comm, &request); // taken
    set(comm, "no");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(gathered + (size_t)r * BYTES, BYTES, co_test_seed(r, 77, BYTES), "pending block %d", r);
    }
    broadcast(comm, "the side stays while an operation is pending"); // taken
    MPI_Comm_free(&comm);
    free(gathered);
}

// Hints are for collectives.
static void change_beside_a_message(void)
{
    MPI_Comm comm;
    MPI_Request request;
    char room[MPI_BSEND_OVERHEAD + 64];
    int next = (co_test_rank() + 1) % co_test_size(), before = (co_test_rank() + co_test_size() - 1) % co_test_size();
    int word = 1, came = 0, bytes;
    void *given_back;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Buffer_attach(room, (int)sizeof room);
    MPI_Ibsend(&word, 1, MPI_INT, next, 5, comm, &request);
    set(comm, "no");
    broadcast(comm, "switched off beside a buffered message"); // native
    MPI_Recv(&came, 1, MPI_INT, before, 5, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&given_back, &bytes);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    use_duplicates();
    use_heirs();
    change_sides();
    change_while_pending();
    change_beside_a_message();
    return co_test_finish();
}

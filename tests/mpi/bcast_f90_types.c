// SPDX-License-Identifier: BSD-3-Clause
// Types of MPI_Type_create_f90_real, _complex and _integer, which a program may use but nobody may free, alone and as
// parts of others: whoever looks into a type gets them as handles, too.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: the same bytes in every mode
// taken: MPI_Bcast MPI_Allgather MPI_Ibcast
// report: calls["MPI_Send"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 40, ROOM = 4096, WAYS = 4, USES = 4 };

static char data[ROOM], all[8 * ROOM];

// Each of the ways has two of the elements.
static MPI_Datatype make(int way, MPI_Datatype element)
{
    MPI_Datatype type;
    MPI_Aint lower, extent;
    MPI_Type_get_extent(element, &lower, &extent);
    int lengths[] = {1, 1};
    MPI_Aint places[] = {0, 2 * extent};
    MPI_Datatype types[] = {element, element};
    switch (way) {
    case 0:
        MPI_Type_contiguous(2, element, &type);
        break;
    case 1:
        MPI_Type_vector(2, 1, 2, element, &type);
        break;
    case 2:
        MPI_Type_create_struct(2, lengths, places, types, &type);
        break;
    default:
        MPI_Type_create_hindexed(2, lengths, places, element, &type);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

static void fill(int seed, int root)
{
    memset(all, 0x11, sizeof all);
    memset(data, 0x22, sizeof data);
    if (co_test_rank() == root) {
        co_test_pattern_fill(data, sizeof data, (uint64_t)seed);
    }
}

static void send_round(int count, MPI_Datatype type)
{
    int rank = co_test_rank(), size = co_test_size();
    if (rank == 0) {
        MPI_Send(data, count, type, size - 1, 0, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
        MPI_Recv(all, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void use(const char *what, int count, MPI_Datatype type)
{
    MPI_Request request;
    char expected[4];                // no element is shorter
    for (int i = 0; i < USES; i++) { // what castoff has learned of a type serves the later ones
        fill(i, 0);
        MPI_Bcast(data, count, type, 0, MPI_COMM_WORLD);
        MPI_Allgather(data, count, type, all, count, type, MPI_COMM_WORLD);
        co_test_absorb(data, sizeof data);
        co_test_absorb(all, sizeof all);
        co_test_pattern_fill(expected, sizeof expected, (uint64_t)i);
        co_test_expect(memcmp(data, expected, sizeof expected) == 0, "%s: the first element is not the root's", what);
        fill(i, 0);
        MPI_Ibcast(data, count, type, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        send_round(count, type);
        co_test_absorb(data, sizeof data);
        co_test_absorb(all, sizeof all);
    }
    co_test_say("%s\n", what);
}

static void use_all(const char *name, MPI_Datatype element)
{
    char what[64];
    use(name, 2 * ELEMENTS, element);
    for (int way = 0; way < WAYS; way++) {
        MPI_Datatype type = make(way, element);
        snprintf(what, sizeof what, "%s, way %d", name, way);
        use(what, ELEMENTS / 2, type);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype element;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Type_create_f90_real(15, 300, &element);
    use_all("real", element);
    MPI_Type_create_f90_complex(6, 30, &element);
    use_all("complex", element);
    MPI_Type_create_f90_integer(9, &element);
    use_all("integer", element);
    return co_test_finish();
}

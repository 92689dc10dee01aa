// SPDX-License-Identifier: BSD-3-Clause
// A broadcast whose root gives another length than the others: a mistake of the program, which conformance suites make
// on purpose. Who has room for more gets what the root gave, without an error and without a byte beyond; who has room
// for less gets MPI_ERR_TRUNCATE. The root hears nothing of it, and the communicator goes on.
// ranks: 2
// expect: same errors and bytes in every mode
// arguments: in-a-row
// arguments: strided
// arguments: far-behind
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNTOUCHED 0x5a

static const int lengths[] = {1, 40, 120, 300, 700, 5000, 40000, 300000, 2000000};

#define LENGTHS ((int)(sizeof lengths / sizeof *lengths))

static int rank, size, number;
static int spread = 1; // elements of the strided type stand so far apart
static MPI_Datatype element;
static unsigned char *buffer;

static unsigned char byte_of(int operation, int place)
{
    return (unsigned char)(operation * 31 + place * 7 + place / 251);
}

static void fill(int count, int given)
{
    memset(buffer, UNTOUCHED, (size_t)count * (size_t)spread);
    for (int i = 0; i < given; i++) {
        buffer[(size_t)i * (size_t)spread] = byte_of(number, i);
    }
}

static void check(int count, int came)
{
    int wrong = 0;
    for (int i = 0; i < count * spread && wrong == 0; i++) {
        bool is_element = i % spread == 0 && i / spread < came;
        wrong += buffer[i] != (is_element ? byte_of(number, i / spread) : UNTOUCHED);
    }
    co_test_expect(wrong == 0, "operation %d, %d elements, of which %d came", number, count, came);
}

// As many of the others as `others` has bits have another length, the rest the root's.
static void broadcast(int root, int given, int room, unsigned others)
{
    int count = rank == root || (others >> rank & 1) == 0 ? given : room, class = MPI_SUCCESS;
    number++;
    fill(count, rank == root ? given : 0);
    int error = MPI_Bcast(buffer, count, element, root, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    co_test_expect(class == (count < given ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
                   "%d elements where %d were given: class %d", count, given, class);
    if (class == MPI_SUCCESS) {
        check(count, given < count ? given : count);
    }
}

// Many in a row, which the root has begun before the others look at the first: what it gave is there for all of them.
static void fall_behind(int root, int given, int room)
{
    if (rank != root) {
        usleep(50000);
    }
    for (int i = 0; i < 40; i++) {
        broadcast(root, given, room, ~0u);
    }
    broadcast(root, 3000, 3000, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    if (argc > 1 && strcmp(argv[1], "strided") == 0) {
        spread = 3;
    }
    MPI_Type_create_resized(MPI_BYTE, 0, spread, &element);
    MPI_Type_commit(&element);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    buffer = malloc((size_t)lengths[LENGTHS - 1] * (size_t)spread);
    co_test_expect(buffer != NULL, "memory");
    bool falls_behind = argc > 1 && strcmp(argv[1], "far-behind") == 0;
    for (int given = 0; given < LENGTHS && falls_behind; given++) {
        for (int room = given + 1; room < LENGTHS && lengths[room] < 100000; room++) {
            fall_behind((given + room) % size, lengths[given], lengths[room]);
        }
    }
    for (int given = 0; given < LENGTHS && !falls_behind; given++) {
        for (int room = 0; room < LENGTHS; room++) {
            int root = (given + room) % size;
            broadcast(root, lengths[given], lengths[room], given % 2 == 0 ? ~0u : 1u << (root + 1) % size);
            broadcast(root, lengths[room], lengths[room], 0); // whoever came late to the one before
        }
    }
    MPI_Type_free(&element);
    free(buffer);
    return co_test_finish();
}

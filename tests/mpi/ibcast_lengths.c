// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking broadcasts whose root gives another length than the others, several outstanding, with right ones between
// them. Who has room for more gets what the root gave, without an error and without a byte beyond; who has room for
// less gets MPI_ERR_TRUNCATE, at the completion of that request. The root hears nothing of it, and the communicator
// goes on.
// ranks: 2
// expect: same errors and bytes in every mode
// arguments: in-a-row
// arguments: strided
// taken: MPI_Ibcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 0x5a

enum { MOST = 2000000 };

static const int lengths[] = {1, 40, 120, 300, 700, 5000, 40000, 300000, MOST};

#define LENGTHS ((int)(sizeof lengths / sizeof *lengths))

#define ROW 3

static int rank, size, number;
static int spread = 1; // elements of the strided type stand so far apart
static MPI_Datatype element;

struct broadcast {
    unsigned char *buffer;
    int number, count, given;
    MPI_Request request;
};

static struct broadcast row[ROW];

static unsigned char byte_of(int operation, int place)
{
    return (unsigned char)(operation * 31 + place * 7 + place / 251);
}

// As many of the others as `others` has bits have another length, the rest the root's.
static void start(struct broadcast *broadcast, int root, int given, int room, unsigned others)
{
    broadcast->number = ++number;
    broadcast->given = given;
    broadcast->count = rank == root || (others >> rank & 1) == 0 ? given : room;
    memset(broadcast->buffer, UNTOUCHED, (size_t)broadcast->count * (size_t)spread);
    for (int i = 0; i < given && rank == root; i++) {
        broadcast->buffer[(size_t)i * (size_t)spread] = byte_of(number, i);
    }
    MPI_Ibcast(broadcast->buffer, broadcast->count, element, root, MPI_COMM_WORLD, &broadcast->request);
}

static void check(const struct broadcast *broadcast)
{
    int wrong = 0, came = broadcast->given < broadcast->count ? broadcast->given : broadcast->count;
    for (int i = 0; i < broadcast->count * spread && wrong == 0; i++) {
        bool is_element = i % spread == 0 && i / spread < came;
        wrong += broadcast->buffer[i] != (is_element ? byte_of(broadcast->number, i / spread) : UNTOUCHED);
    }
    co_test_expect(wrong == 0, "operation %d, %d elements, of which %d came", broadcast->number, broadcast->count,
                   came);
}

static void finish(struct broadcast *broadcast)
{
    int class = MPI_SUCCESS, is_cut = broadcast->count < broadcast->given;
    int error = MPI_Wait(&broadcast->request, MPI_STATUS_IGNORE);
    MPI_Error_class(error, &class);
    co_test_expect(class == (is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%d elements where %d were given: class %d",
                   broadcast->count, broadcast->given, class);
    co_test_expect(broadcast->request == MPI_REQUEST_NULL, "the handle is null");
    check(broadcast);
}

static void broadcast_row(int given, int room)
{
    int root = (given + room) % size;
    unsigned others = given % 2 == 0 ? ~0u : 1u << (root + 1) % size;
    start(&row[0], root, lengths[room], lengths[room], 0);
    start(&row[1], root, lengths[given], lengths[room], others);
    start(&row[2], (root + 1) % size, lengths[given], lengths[given], 0);
    for (int i = 0; i < ROW; i++) {
        finish(&row[(i + given) % ROW]);
    }
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
    for (int i = 0; i < ROW; i++) {
        row[i].buffer = malloc((size_t)MOST * (size_t)spread);
        co_test_expect(row[i].buffer != NULL, "memory");
    }
    for (int given = 0; given < LENGTHS; given++) {
        for (int room = 0; room < LENGTHS; room++) {
            broadcast_row(given, room);
        }
    }
    MPI_Type_free(&element);
    for (int i = 0; i < ROW; i++) {
        free(row[i].buffer);
    }
    return co_test_finish();
}

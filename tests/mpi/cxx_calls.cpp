// SPDX-License-Identifier: BSD-3-Clause
// The three calls from a C++ program (C API, as C++ programs use MPI today), with std::vector buffers, a
// request array that mixes native and collective requests, and an exception that is thrown and caught
// while an operation is pending.
// ranks: 2 3
// expect: right values
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace
{

int rank;
int ranks;
int failures;

void expect(bool holds, const char *what)
{
    if (!holds) {
        failures++;
        std::fprintf(stderr, "rank %d: FAILED: %s\n", rank, what);
    }
}

void broadcast()
{
    for (int root = 0; root < ranks; root++) {
        std::vector<double> values(12345, rank == root ? root + 0.5 : 0.0);
        MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, root, MPI_COMM_WORLD);
        expect(values == std::vector<double>(12345, root + 0.5), "broadcast");
    }
}

void gather_mixed()
{
    std::vector<std::vector<int>> gathered(8, std::vector<int>(static_cast<size_t>(ranks)));
    std::vector<MPI_Request> requests(10);
    std::vector<int> mine(8);
    int token = -1;
    for (size_t i = 0; i < 8; i++) {
        mine[i] = rank + 10 * static_cast<int>(i);
        MPI_Iallgather(&mine[i], 1, MPI_INT, gathered[i].data(), 1, MPI_INT, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Irecv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[8]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[9]);
    MPI_Waitall(10, requests.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < 8; i++) {
        for (int r = 0; r < ranks; r++) {
            expect(gathered[i][static_cast<size_t>(r)] == r + 10 * static_cast<int>(i), "mixed allgather");
        }
    }
    expect(token == (rank + ranks - 1) % ranks, "message");
}

void unwind_while_pending()
{
    std::vector<char> mine(200000, static_cast<char>(rank));
    std::vector<char> all(mine.size() * static_cast<size_t>(ranks));
    int count = static_cast<int>(mine.size());
    MPI_Request request;
    MPI_Iallgather(mine.data(), count, MPI_CHAR, all.data(), count, MPI_CHAR, MPI_COMM_WORLD, &request);
    try {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Bcast(mine.data(), 1, MPI_CHAR, ranks, MPI_COMM_WORLD) != MPI_SUCCESS) {
            throw std::runtime_error("root");
        }
        expect(false, "a wrong root was accepted");
    } catch (const std::runtime_error &) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < ranks; r++) {
        expect(all[mine.size() * static_cast<size_t>(r)] == r, "first byte of a block");
        expect(all[mine.size() * static_cast<size_t>(r + 1) - 1] == r, "last byte of a block");
    }
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_CHAR, MPI_COMM_WORLD);
    expect(all.back() == ranks - 1, "in place");
}

} // namespace

int main(int argc, char **argv)
{
    int total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    broadcast();
    gather_mixed();
    unwind_while_pending();
    MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("C++ on %d ranks: %d failures\n", ranks, total);
    }
    MPI_Finalize();
    return total > 0 ? 1 : 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Two ranks that make every kind of call that a trace tells of, always with the same outcome. "killed" as an argument:
// rank 1 kills itself after the blocking ones; "stuck FILE": it waits for ever in a receive.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, peer, in[300], out[300];
static const MPI_Comm *world;
#define WORLD (*world)

static void blocking(void)
{
    char room[1000 + MPI_BSEND_OVERHEAD];
    void *address;
    int bytes;
    MPI_Status status;
    MPI_Request request;
    MPI_Sendrecv(out, 2, MPI_INT, peer, 1, in, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    MPI_Sendrecv_replace(in, 1, MPI_DOUBLE, peer, 2, peer, 2, WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(out, 4, MPI_CHAR, peer, 3, WORLD);
    MPI_Recv(in, 4, MPI_CHAR, peer, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&address, &bytes);
    if (rank == 0) {
        MPI_Send(out, 0, MPI_INT, peer, 4, WORLD);
        MPI_Ssend(out, 1, MPI_INT, peer, 5, WORLD);
    } else {
        MPI_Recv(in, 1, MPI_INT, 0, 4, WORLD, &status);
        MPI_Recv(in, 5, MPI_INT, MPI_ANY_SOURCE, 5, WORLD, &status);
    }
    MPI_Irecv(in, 1, MPI_INT, peer, 6, WORLD, &request);
    MPI_Barrier(WORLD);
    MPI_Rsend(out, 1, MPI_INT, peer, 6, WORLD);
    MPI_Wait(&request, &status);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Send(out, 1, MPI_INT, 77, 7, WORLD);
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
}

static void test_until(MPI_Request requests[2])
{
    int flag = 0, index, done = 0, indices[2];
    while (!flag) {
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 12, WORLD, &requests[0]);
    MPI_Send(out, 1, MPI_INT, peer, 12, WORLD);
    while (done == 0) {
        MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
    }
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 13, WORLD, &requests[0]);
    MPI_Send(out, 1, MPI_INT, peer, 13, WORLD);
    for (flag = 0; !flag;) {
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    }
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 14, WORLD, &requests[0]);
    MPI_Send(out, 1, MPI_INT, peer, 14, WORLD);
    for (flag = 0; !flag;) {
        MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    }
    for (flag = 0; !flag;) {
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    }
}

static void started(void)
{
    MPI_Request requests[300] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index, done, indices[2];
    MPI_Irecv(in, 1, MPI_INT, peer, 8, WORLD, &requests[0]);
    MPI_Isend(out, 1, MPI_INT, peer, 8, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, peer, 9, WORLD, &requests[1]);
    MPI_Issend(out, 1, MPI_INT, peer, 9, WORLD, &requests[2]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, peer, 10, WORLD, &requests[0]);
    MPI_Barrier(WORLD);
    MPI_Irsend(out, 1, MPI_INT, peer, 10, WORLD, &requests[2]);
    MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, peer, 11, WORLD, &requests[0]);
    MPI_Send(out, 1, MPI_INT, peer, 11, WORLD);
    test_until(requests);
    for (int i = 0; i < 300; i++) { // more than a record holds
        MPI_Irecv(&in[i], 1, MPI_INT, peer, 18, WORLD, &requests[i]);
    }
    for (int i = 0; i < 300; i++) {
        MPI_Send(&out[i], 1, MPI_INT, peer, 18, WORLD);
    }
    MPI_Waitall(300, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 1, MPI_INT, peer, 15, WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Isend(out, 1, MPI_INT, peer, 16, WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(in, 1, MPI_INT, peer, 16, WORLD, MPI_STATUS_IGNORE);
}

static void probed(void)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    MPI_Send(out, 3, MPI_INT, peer, 20, WORLD);
    MPI_Probe(MPI_ANY_SOURCE, 20, WORLD, MPI_STATUS_IGNORE);
    while (!flag) {
        MPI_Iprobe(peer, MPI_ANY_TAG, WORLD, &flag, &status);
    }
    MPI_Mprobe(peer, 20, WORLD, &message, &status);
    MPI_Mrecv(in, 3, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Send(out, 3, MPI_INT, peer, 21, WORLD);
    for (flag = 0; !flag;) {
        MPI_Improbe(peer, 21, WORLD, &flag, &message, MPI_STATUS_IGNORE);
    }
    MPI_Imrecv(in, 3, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Recv_init(in, 1, type, peer, 30, WORLD, &requests[0]);
    MPI_Send_init(out, 1, type, peer, 30, WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&type);
}

static void collectives(MPI_Comm comm)
{
    static const int ones[2] = {1, 1}, places[2] = {0, 1};
    MPI_Request request;
    MPI_Bcast(out, 3, MPI_INT, 1, comm);
    MPI_Reduce(out, in, 3, MPI_INT, MPI_SUM, 0, comm);
    MPI_Allreduce(out, in, 3, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
    MPI_Gatherv(out, 1, MPI_INT, in, ones, places, MPI_INT, 1, comm);
    MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, 0, comm);
    MPI_Scatterv(out, ones, places, MPI_INT, in, 1, MPI_INT, 1, comm);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm);
    MPI_Allgatherv(out, 1, MPI_INT, in, ones, places, MPI_INT, comm);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    MPI_Alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, comm);
    MPI_Reduce_scatter(out, in, ones, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, comm);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, comm);
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibcast(out, 3, MPI_INT, 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallgather(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void communicators(void)
{
    MPI_Comm dup, idup, split, created, cart, part, between, merged;
    MPI_Group group;
    MPI_Request request;
    int two = 2, one = 1;
    MPI_Comm_dup(WORLD, &dup);
    MPI_Comm_idup(WORLD, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(WORLD, 0, -rank, &split);
    MPI_Comm_group(split, &group);
    MPI_Comm_create(WORLD, group, &created);
    MPI_Group_free(&group);
    MPI_Cart_create(dup, 1, &two, &one, 0, &cart);
    MPI_Comm_split_type(cart, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, WORLD, peer, 40, &between);
    MPI_Sendrecv(out, 1, MPI_INT, 0, 41, in, 1, MPI_INT, 0, 41, between, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(between, rank, &merged);
    MPI_Bcast(in, 1, MPI_INT, 0, split);
    MPI_Barrier(idup);
    MPI_Barrier(part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&cart);
    MPI_Comm_free(&created);
    MPI_Comm_free(&split);
    MPI_Comm_free(&idup);
    MPI_Comm_disconnect(&dup);
}

static void one_sided(void)
{
    MPI_Win window;
    MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 2, MPI_INT, peer, 0, 2, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Get(out, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

// Each rank has the other one on both sides.
static void neighbours(void)
{
    static const int ones[2] = {1, 1}, places[2] = {0, 1};
    static const MPI_Aint far[2] = {0, 4};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    int two = 2, yes = 1;
    MPI_Comm ring;
    MPI_Request request;
    MPI_Cart_create(WORLD, 1, &two, &yes, 0, &ring);
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
    MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, ones, places, MPI_INT, ring);
    MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, ring);
    MPI_Neighbor_alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring);
    MPI_Neighbor_alltoallw(out, ones, far, types, in, ones, far, types, ring);
    MPI_Ineighbor_alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
    MPI_Dist_graph_create_adjacent(WORLD, rank == 0, &peer, &yes, rank == 1, &peer, &yes, MPI_INFO_NULL, 0, &ring);
    MPI_Neighbor_alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring); // from rank 1 to rank 0
    MPI_Comm_free(&ring);
}

// What RECORD_CALLS_FILE names is made and removed.
static void files(void)
{
    const char *path = getenv("RECORD_CALLS_FILE") != NULL ? getenv("RECORD_CALLS_FILE") : "record_calls.file";
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 80);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at(file, 10 * rank, out, 5, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, 10 * rank + 5, out, 5, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(WORLD);
    MPI_File_seek(file, 10 * peer, MPI_SEEK_SET);
    MPI_File_read(file, in, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread(file, in, 2, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 18, in, 5, MPI_INT, &status); // two are there
    MPI_File_read_all_begin(file, in, 3, MPI_INT);
    MPI_File_read_all_end(file, in, &status);
    MPI_File_iwrite_at(file, 10 * rank, out, 1, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

// Until somebody kills it, whose number is in a file.
static void get_stuck(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    MPI_Recv(in, 1, MPI_INT, 0, 99, WORLD, MPI_STATUS_IGNORE);
}

static void talk_to_itself(void)
{
    for (int i = 0; i < 20000; i++) {
        MPI_Sendrecv(out, 1, MPI_INT, 0, 1, in, 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    const char *end = argc > 1 ? argv[1] : "";
    MPI_Comm everybody = MPI_COMM_WORLD;
    world = &everybody;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    peer = 1 - rank;
    if (strcmp(end, "alone") == 0) {
        talk_to_itself();
        return MPI_Finalize();
    }
    blocking();
    if (strcmp(end, "killed") == 0 && rank == 1) {
        kill(getpid(), SIGKILL);
    }
    if (argc > 2 && rank == 1) {
        get_stuck(argv[2]);
    }
    started();
    probed();
    persistent();
    collectives(WORLD);
    communicators();
    one_sided();
    neighbours();
    files();
    MPI_Finalize();
    return 0;
}

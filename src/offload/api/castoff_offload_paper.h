// SPDX-License-Identifier: BSD-3-Clause
//
// The primitives of castoff_offload.h under the names that the paper (S3) gives them, on MPI_COMM_WORLD, so that its
// listings compile and run: a program includes mpi.h, defines CASTOFF_OFFLOAD_PAPER_NAMES and includes
// castoff_offload.h. They return 0 or -errno. Requests of both kinds begin as NULL or as anything; Group_Offload_start
// makes a new group, and Group_Offload_free, which the paper lacks, ends it. Wait and Group_Wait call MPI meanwhile, so
// that its messages go on: from any thread with MPI_THREAD_MULTIPLE, else from the main one only.
#ifndef CASTOFF_OFFLOAD_PAPER_H
#define CASTOFF_OFFLOAD_PAPER_H

#include "castoff_offload.h"

#ifdef MPI_VERSION

typedef struct castoff_offload_request *OffloadRequest;
typedef struct castoff_offload_group *OffloadGroupRequest;

#ifdef __cplusplus
extern "C" {
#endif

static inline int castoff_offload_paper_gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

// Another rank may wait for a message of MPI's while this one waits for its proxy. Not after MPI_Finalize, and from
// other threads than the main one only where MPI allows it.
static inline void castoff_offload_paper_progress(void *arg)
{
    int is_over = 0, level = MPI_THREAD_SINGLE, may = 0, is_there;
    (void)arg;
    if (MPI_Finalized(&is_over) != MPI_SUCCESS || is_over) {
        return;
    }
    if (MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE) {
        may = 1;
    } else if (MPI_Is_thread_main(&may) != MPI_SUCCESS) {
        may = 0;
    }
    if (may) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
    }
}

static inline int Init_Offload(void)
{
    struct castoff_offload_job job = {
        sizeof(struct castoff_offload_job), 0, 0, castoff_offload_paper_gather, NULL, NULL, 0, NULL,
        castoff_offload_paper_progress};
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    return castoff_offload_open(castoff_offload_paper_world(), &job);
}

static inline int Finalize_Offload(void)
{
    return castoff_offload_close(*castoff_offload_paper_world());
}

static inline int Send_Offload(void *addr, size_t size, OffloadRequest *req, int dst, int tag)
{
    return castoff_offload_send(*castoff_offload_paper_world(), addr, size, dst, (uint32_t)tag, req);
}

static inline int Recv_Offload(void *addr, size_t size, OffloadRequest *req, int src, int tag)
{
    return castoff_offload_receive(*castoff_offload_paper_world(), addr, size, src, (uint32_t)tag, req);
}

static inline int Wait(OffloadRequest *req)
{
    return castoff_offload_wait(*req, NULL);
}

static inline int Group_Offload_start(OffloadGroupRequest *req)
{
    return castoff_offload_group_start(*castoff_offload_paper_world(), req);
}

static inline int Send_Goffload(void *addr, size_t size, OffloadGroupRequest *req, int dst_rank, int tag)
{
    return castoff_offload_group_send(*req, addr, size, dst_rank, (uint32_t)tag);
}

static inline int Recv_Goffload(void *addr, size_t size, OffloadGroupRequest *req, int src_rank, int tag)
{
    return castoff_offload_group_receive(*req, addr, size, src_rank, (uint32_t)tag);
}

static inline int Local_barrier_Goffload(OffloadGroupRequest *req)
{
    return castoff_offload_group_barrier(*req);
}

static inline int Group_Offload_end(OffloadGroupRequest *req)
{
    return castoff_offload_group_end(*req);
}

static inline int Group_Offload_call(OffloadGroupRequest *req)
{
    return castoff_offload_group_call(*req);
}

static inline int Group_Wait(OffloadGroupRequest *req)
{
    return castoff_offload_group_wait(*req, NULL);
}

static inline int Group_Offload_free(OffloadGroupRequest *req)
{
    return castoff_offload_group_free(*req);
}

#ifdef __cplusplus
}
#endif

#elif defined(CASTOFF_OFFLOAD_PAPER_NAMES)
#error "CASTOFF_OFFLOAD_PAPER_NAMES: include mpi.h before castoff_offload.h"
#endif

#endif

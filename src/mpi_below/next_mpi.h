// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI library underneath: the PMPI_* functions behind ours, its predefined handles and its progress loop, all
// found by name at run time, because the preload must not link libmpi (it also reaches sh and mpirun). Filled once,
// constant afterwards. Every file of src/pmpi reaches MPI through here; hot.
#ifndef CASTOFF_MPI_BELOW_NEXT_MPI_H
#define CASTOFF_MPI_BELOW_NEXT_MPI_H

#include <stdbool.h>

#include "base/atomics.h"
#include "mpi_below/family.h"
#include "mpi_below/abi.h"

// Functions that castoff wraps.
#define CO_NEXT_WRAPPED(X)                                                                                             \
    X(Init)                                                                                                            \
    X(Init_thread)                                                                                                     \
    X(Finalize)                                                                                                        \
    X(Send)                                                                                                            \
    X(Rsend)                                                                                                           \
    X(Ssend)                                                                                                           \
    X(Isend)                                                                                                           \
    X(Irsend)                                                                                                          \
    X(Issend)                                                                                                          \
    X(Bsend)                                                                                                           \
    X(Ibsend)                                                                                                          \
    X(Buffer_attach)                                                                                                   \
    X(Buffer_detach)                                                                                                   \
    X(Recv)                                                                                                            \
    X(Irecv)                                                                                                           \
    X(Send_init)                                                                                                       \
    X(Bsend_init)                                                                                                      \
    X(Ssend_init)                                                                                                      \
    X(Rsend_init)                                                                                                      \
    X(Recv_init)                                                                                                       \
    X(Start)                                                                                                           \
    X(Startall)                                                                                                        \
    X(Sendrecv)                                                                                                        \
    X(Sendrecv_replace)                                                                                                \
    X(Probe)                                                                                                           \
    X(Iprobe)                                                                                                          \
    X(Mprobe)                                                                                                          \
    X(Improbe)                                                                                                         \
    X(Mrecv)                                                                                                           \
    X(Imrecv)                                                                                                          \
    X(Barrier)                                                                                                         \
    X(Allreduce)                                                                                                       \
    X(Bcast)                                                                                                           \
    X(Ibcast)                                                                                                          \
    X(Allgather)                                                                                                       \
    X(Iallgather)                                                                                                      \
    X(Allgatherv)                                                                                                      \
    X(Iallgatherv)                                                                                                     \
    X(Ialltoall)                                                                                                       \
    X(Ialltoallv)                                                                                                      \
    X(Wait)                                                                                                            \
    X(Waitany)                                                                                                         \
    X(Waitall)                                                                                                         \
    X(Waitsome)                                                                                                        \
    X(Test)                                                                                                            \
    X(Testany)                                                                                                         \
    X(Testall)                                                                                                         \
    X(Testsome)                                                                                                        \
    X(Request_free)                                                                                                    \
    X(Request_get_status)                                                                                              \
    X(Cancel)                                                                                                          \
    X(Grequest_start)                                                                                                  \
    X(Grequest_complete)                                                                                               \
    X(Comm_dup)                                                                                                        \
    X(Comm_dup_with_info)                                                                                              \
    X(Comm_idup)                                                                                                       \
    X(Comm_create)                                                                                                     \
    X(Comm_create_group)                                                                                               \
    X(Comm_split)                                                                                                      \
    X(Comm_split_type)                                                                                                 \
    X(Cart_create)                                                                                                     \
    X(Cart_sub)                                                                                                        \
    X(Graph_create)                                                                                                    \
    X(Dist_graph_create)                                                                                               \
    X(Dist_graph_create_adjacent)                                                                                      \
    X(Intercomm_create)                                                                                                \
    X(Intercomm_merge)                                                                                                 \
    X(Comm_free)                                                                                                       \
    X(Comm_disconnect)                                                                                                 \
    X(Comm_set_info)

// Likewise, functions of MPI 4, which not every library has: Open MPI 4.1 has some of them by names that begin with
// MPIX_. Programs made for a library without one do not call it.
#define CO_NEXT_MPI_4(X)                                                                                               \
    X(Bcast_init)                                                                                                      \
    X(Allgather_init)                                                                                                  \
    X(Allgatherv_init)                                                                                                 \
    X(Alltoall_init)                                                                                                   \
    X(Alltoallv_init)                                                                                                  \
    X(Isendrecv)                                                                                                       \
    X(Isendrecv_replace)

// As an mpi.h of MPI 4 declares them.
#pragma GCC visibility push(default)
int PMPI_Bcast_init(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request *handle);
int PMPI_Allgather_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                        MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *handle);
int PMPI_Allgatherv_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                         const int places[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info,
                         MPI_Request *handle);
int PMPI_Alltoall_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                       MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *handle);
int PMPI_Alltoallv_init(const void *send, const int send_counts[], const int send_places[], MPI_Datatype send_type,
                        void *receive, const int counts[], const int places[], MPI_Datatype receive_type, MPI_Comm comm,
                        MPI_Info info, MPI_Request *handle);
int PMPI_Isendrecv(const void *send_address, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                   void *address, int count, MPI_Datatype type, int source, int receive_tag, MPI_Comm comm,
                   MPI_Request *handle);
int PMPI_Isendrecv_replace(void *address, int count, MPI_Datatype type, int destination, int send_tag, int source,
                           int receive_tag, MPI_Comm comm, MPI_Request *handle);
#pragma GCC visibility pop

// Likewise, the forms for counts that are no int. Members of one call may use either form, so both are served alike.
#ifdef CO_HAS_LARGE_COUNTS
#define CO_NEXT_LARGE_COUNTS_WRAPPED(X)                                                                                \
    X(Allreduce_c)                                                                                                     \
    X(Bcast_c)                                                                                                         \
    X(Ibcast_c)                                                                                                        \
    X(Bcast_init_c)                                                                                                    \
    X(Allgather_c)                                                                                                     \
    X(Iallgather_c)                                                                                                    \
    X(Allgather_init_c)                                                                                                \
    X(Allgatherv_c)                                                                                                    \
    X(Iallgatherv_c)                                                                                                   \
    X(Allgatherv_init_c)
#define CO_NEXT_LARGE_COUNTS(X)                                                                                        \
    CO_NEXT_LARGE_COUNTS_WRAPPED(X)                                                                                    \
    X(Type_get_envelope_c)
#else
#define CO_NEXT_LARGE_COUNTS_WRAPPED(X)
#define CO_NEXT_LARGE_COUNTS(X)
#endif

// Functions that castoff only calls.
#define CO_NEXT_CALLED(X)                                                                                              \
    X(Add_error_class)                                                                                                 \
    X(Add_error_code)                                                                                                  \
    X(Add_error_string)                                                                                                \
    X(Comm_call_errhandler)                                                                                            \
    X(Comm_create_keyval)                                                                                              \
    X(Comm_free_keyval)                                                                                                \
    X(Comm_get_errhandler)                                                                                             \
    X(Comm_group)                                                                                                      \
    X(Comm_rank)                                                                                                       \
    X(Comm_set_attr)                                                                                                   \
    X(Comm_set_errhandler)                                                                                             \
    X(Comm_size)                                                                                                       \
    X(Comm_test_inter)                                                                                                 \
    X(Errhandler_free)                                                                                                 \
    X(Error_class)                                                                                                     \
    X(Gather)                                                                                                          \
    X(Get_library_version)                                                                                             \
    X(Group_free)                                                                                                      \
    X(Group_incl)                                                                                                      \
    X(Group_translate_ranks)                                                                                           \
    X(Info_get)                                                                                                        \
    X(Pack)                                                                                                            \
    X(Query_thread)                                                                                                    \
    X(Reduce)                                                                                                          \
    X(Type_commit)                                                                                                     \
    X(Type_contiguous)                                                                                                 \
    X(Type_create_hindexed)                                                                                            \
    X(Type_create_keyval)                                                                                              \
    X(Type_free)                                                                                                       \
    X(Type_free_keyval)                                                                                                \
    X(Type_get_contents)                                                                                               \
    X(Type_get_envelope)                                                                                               \
    X(Type_get_extent_x)                                                                                               \
    X(Type_get_true_extent_x)                                                                                          \
    X(Type_set_attr)                                                                                                   \
    X(Type_size_x)                                                                                                     \
    X(Unpack)

#define CO_NEXT_POINTER(name) __typeof__(PMPI_##name) *name;

struct co_next_mpi {
    CO_NEXT_WRAPPED(CO_NEXT_POINTER)
    CO_NEXT_CALLED(CO_NEXT_POINTER)
    CO_NEXT_MPI_4(CO_NEXT_POINTER)
    CO_NEXT_LARGE_COUNTS(CO_NEXT_POINTER)
    // By which castoff itself exchanges: the above, or what stands for them and does not match them.
    __typeof__(PMPI_Allreduce) *exchange_allreduce;
    __typeof__(PMPI_Barrier) *exchange_barrier;
    const struct co_mpi_family *family; // NULL: none that castoff serves
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Comm quiet; // of castoff's own, where nobody sends; CO_NO_HANDLE: there is none. Start and end alone change it
    MPI_Request request_null;
    MPI_Message message_null;
    MPI_Datatype datatype_null, byte, integer, uint64;
    MPI_Op sum, minimum, maximum;
    MPI_Info info_null;
    MPI_Errhandler errors_return;
    void *(*find_data)(const char *symbol); // any other variable of the library below, NULL: it has none
    // By which its own calls raise errors, in their names: handler, object, kind of the object (1: communicator), code
    // and name of the call. NULL: it has none.
    int (*errhandler_invoke)(MPI_Errhandler, MPI_Comm, int, int, const char *);
    // Moves it; NULL: that cannot be found. And joins its progress loop, where it has one for others.
    void (*progress)(void);
    int (*progress_register)(int (*callback)(void));
    int (*progress_unregister)(int (*callback)(void));
    // From the one on to the other each turn of it looks for events such as connections that come in, which it does
    // every 10 ms alone as long as it has none. They nest; NULL: it has no such pair.
    void (*progress_watch_events)(void);
    void (*progress_unwatch_events)(void);
};

extern struct co_next_mpi co_next;
extern _Atomic bool co_next_is_resolved;

// Fills co_next; ends the process with a clear line when there is no MPI underneath. Idempotent; any thread.
void co_next_mpi_resolve(void);

// For calls that may be the first of the process; the hot ones ask co_process_is_off, which resolves too.
static inline const struct co_next_mpi *co_next_mpi_get(void)
{
    if (!co_load_acquire(&co_next_is_resolved)) { // acquire N1
        co_next_mpi_resolve();
    }
    return &co_next;
}

// The function of the library below by the name PMPI_...; where there is none, one that ends the process. After
// co_next_mpi_resolve.
void *co_next_mpi_find(const char *symbol);

// NULL when castoff serves the library underneath, else what is wrong with it. Callable before MPI_Init.
const char *co_next_mpi_mismatch(void);

// Of a library that castoff serves: what the job is to do, by its launcher's word, that goes without castoff alone; a
// sentence, or NULL.
const char *co_next_mpi_obstacle(void);

// Once its MPI_Init is over: whether it tolerates faults, whoever has asked for that; and why the job is not served
// then.
bool co_next_mpi_tolerates_faults(void);
extern const char co_next_mpi_faults[];

// Gives a function one more name, by which others call it.
#define CO_EXPORT_AS(name, strong) extern __typeof__(strong) name __attribute__((visibility("default"), alias(#strong)))

// PMPI_X of MPI 4 by the name that it had before. MPI_X itself: src/pmpi/life/entries.c, or CO_EXPORT of the recorder.
#define CO_EXPORT_EARLIER(name) CO_EXPORT_AS(PMPIX_##name, PMPI_##name)

#endif

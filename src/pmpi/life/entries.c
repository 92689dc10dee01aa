// SPDX-License-Identifier: BSD-3-Clause
//
// Each MPI_X of ours goes on to PMPI_X, or to the tool's MPI_X behind us: one jump more than a second name of PMPI_X
// would cost. Programs that are linked with a profiler, or preload it behind castoff, have no other way to it:
// castoff's names hide its own, of which it would miss MPI_Init to begin with. Written once, by the start. Hot.
#include "pmpi/life/entries.h"

#include "mpi_below/next_mpi.h"
#include "pmpi/life/tool_behind.h"

#define FIRST(name) .name = PMPI_##name,
static struct {
    CO_NEXT_WRAPPED(CO_NEXT_POINTER)
    CO_NEXT_MPI_4(CO_NEXT_POINTER)
    CO_NEXT_LARGE_COUNTS_WRAPPED(CO_NEXT_POINTER)
} first = {CO_NEXT_WRAPPED(FIRST) CO_NEXT_MPI_4(FIRST) CO_NEXT_LARGE_COUNTS_WRAPPED(FIRST)};

void co_entries_find_tool(void)
{
    static bool has_looked;
    if (has_looked) {
        return;
    }
    has_looked = true;
    void *function;
#define FIND(name)                                                                                                     \
    function = co_tool_behind_find(#name, (void *)co_next.name);                                                       \
    if (function != NULL) {                                                                                            \
        *(void **)&first.name = function;                                                                              \
    }
    CO_NEXT_WRAPPED(FIND)
    CO_NEXT_MPI_4(FIND)
    CO_NEXT_LARGE_COUNTS_WRAPPED(FIND)
}

#pragma GCC visibility push(default)

int MPI_Init(int *argc, char ***argv)
{
    co_next_mpi_get();
    co_entries_find_tool();
    return first.Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    co_next_mpi_get();
    co_entries_find_tool();
    return first.Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    return first.Finalize();
}

#define ENTRY(name, parameters, arguments)                                                                             \
    extern __typeof__(PMPI_##name) MPI_##name;                                                                         \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        return first.name arguments;                                                                                   \
    }
#define ENTRY_1(name, A) ENTRY(name, (A a), (a))
#define ENTRY_2(name, A, B) ENTRY(name, (A a, B b), (a, b))
#define ENTRY_3(name, A, B, C) ENTRY(name, (A a, B b, C c), (a, b, c))
#define ENTRY_4(name, A, B, C, D) ENTRY(name, (A a, B b, C c, D d), (a, b, c, d))
#define ENTRY_5(name, A, B, C, D, E) ENTRY(name, (A a, B b, C c, D d, E e), (a, b, c, d, e))
#define ENTRY_6(name, A, B, C, D, E, F) ENTRY(name, (A a, B b, C c, D d, E e, F f), (a, b, c, d, e, f))
#define ENTRY_7(name, A, B, C, D, E, F, G) ENTRY(name, (A a, B b, C c, D d, E e, F f, G g), (a, b, c, d, e, f, g))
#define ENTRY_8(name, A, B, C, D, E, F, G, H)                                                                          \
    ENTRY(name, (A a, B b, C c, D d, E e, F f, G g, H h), (a, b, c, d, e, f, g, h))
#define ENTRY_9(name, A, B, C, D, E, F, G, H, I)                                                                       \
    ENTRY(name, (A a, B b, C c, D d, E e, F f, G g, H h, I i), (a, b, c, d, e, f, g, h, i))
#define ENTRY_10(name, A, B, C, D, E, F, G, H, I, J)                                                                   \
    ENTRY(name, (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j), (a, b, c, d, e, f, g, h, i, j))
#define ENTRY_11(name, A, B, C, D, E, F, G, H, I, J, K)                                                                \
    ENTRY(name, (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k), (a, b, c, d, e, f, g, h, i, j, k))
#define ENTRY_12(name, A, B, C, D, E, F, G, H, I, J, K, L)                                                             \
    ENTRY(name, (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l), (a, b, c, d, e, f, g, h, i, j, k, l))

ENTRY_6(Send, const void *, int, MPI_Datatype, int, int, MPI_Comm)
ENTRY_6(Rsend, const void *, int, MPI_Datatype, int, int, MPI_Comm)
ENTRY_6(Ssend, const void *, int, MPI_Datatype, int, int, MPI_Comm)
ENTRY_7(Isend, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Irsend, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Issend, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_6(Bsend, const void *, int, MPI_Datatype, int, int, MPI_Comm)
ENTRY_7(Ibsend, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_2(Buffer_attach, void *, int)
ENTRY_2(Buffer_detach, void *, int *)
ENTRY_7(Recv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *)
ENTRY_7(Irecv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Send_init, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Bsend_init, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Ssend_init, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Rsend_init, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_7(Recv_init, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
ENTRY_1(Start, MPI_Request *)
ENTRY_2(Startall, int, MPI_Request *)
ENTRY_12(Sendrecv, const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
         MPI_Status *)
ENTRY_9(Sendrecv_replace, void *, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status *)
ENTRY_4(Probe, int, int, MPI_Comm, MPI_Status *)
ENTRY_5(Iprobe, int, int, MPI_Comm, int *, MPI_Status *)
ENTRY_5(Mprobe, int, int, MPI_Comm, MPI_Message *, MPI_Status *)
ENTRY_6(Improbe, int, int, MPI_Comm, int *, MPI_Message *, MPI_Status *)
ENTRY_5(Mrecv, void *, int, MPI_Datatype, MPI_Message *, MPI_Status *)
ENTRY_5(Imrecv, void *, int, MPI_Datatype, MPI_Message *, MPI_Request *)
ENTRY_1(Barrier, MPI_Comm)
ENTRY_6(Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm)
ENTRY_5(Bcast, void *, int, MPI_Datatype, int, MPI_Comm)
ENTRY_6(Ibcast, void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *)
ENTRY_7(Allgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm)
ENTRY_8(Iallgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *)
ENTRY_8(Allgatherv, const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm)
ENTRY_9(Iallgatherv, const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm,
        MPI_Request *)
ENTRY_8(Ialltoall, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *)
ENTRY_10(Ialltoallv, const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *,
         MPI_Datatype, MPI_Comm, MPI_Request *)
ENTRY_2(Wait, MPI_Request *, MPI_Status *)
ENTRY_4(Waitany, int, MPI_Request *, int *, MPI_Status *)
ENTRY_3(Waitall, int, MPI_Request *, MPI_Status *)
ENTRY_5(Waitsome, int, MPI_Request *, int *, int *, MPI_Status *)
ENTRY_3(Test, MPI_Request *, int *, MPI_Status *)
ENTRY_5(Testany, int, MPI_Request *, int *, int *, MPI_Status *)
ENTRY_4(Testall, int, MPI_Request *, int *, MPI_Status *)
ENTRY_5(Testsome, int, MPI_Request *, int *, int *, MPI_Status *)
ENTRY_1(Request_free, MPI_Request *)
ENTRY_3(Request_get_status, MPI_Request, int *, MPI_Status *)
ENTRY_1(Cancel, MPI_Request *)
ENTRY_5(Grequest_start, MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *,
        void *, MPI_Request *)
ENTRY_1(Grequest_complete, MPI_Request)
ENTRY_2(Comm_dup, MPI_Comm, MPI_Comm *)
ENTRY_3(Comm_dup_with_info, MPI_Comm, MPI_Info, MPI_Comm *)
ENTRY_3(Comm_idup, MPI_Comm, MPI_Comm *, MPI_Request *)
ENTRY_3(Comm_create, MPI_Comm, MPI_Group, MPI_Comm *)
ENTRY_4(Comm_create_group, MPI_Comm, MPI_Group, int, MPI_Comm *)
ENTRY_4(Comm_split, MPI_Comm, int, int, MPI_Comm *)
ENTRY_5(Comm_split_type, MPI_Comm, int, int, MPI_Info, MPI_Comm *)
ENTRY_6(Cart_create, MPI_Comm, int, const int *, const int *, int, MPI_Comm *)
ENTRY_3(Cart_sub, MPI_Comm, const int *, MPI_Comm *)
ENTRY_6(Graph_create, MPI_Comm, int, const int *, const int *, int, MPI_Comm *)
ENTRY_9(Dist_graph_create, MPI_Comm, int, const int *, const int *, const int *, const int *, MPI_Info, int, MPI_Comm *)
ENTRY_10(Dist_graph_create_adjacent, MPI_Comm, int, const int *, const int *, int, const int *, const int *, MPI_Info,
         int, MPI_Comm *)
ENTRY_6(Intercomm_create, MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *)
ENTRY_3(Intercomm_merge, MPI_Comm, int, MPI_Comm *)
ENTRY_1(Comm_free, MPI_Comm *)
ENTRY_1(Comm_disconnect, MPI_Comm *)
ENTRY_2(Comm_set_info, MPI_Comm, MPI_Info)

ENTRY_7(Bcast_init, void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *)
ENTRY_9(Allgather_init, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *)
ENTRY_10(Allgatherv_init, const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm,
         MPI_Info, MPI_Request *)
ENTRY_9(Alltoall_init, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *)
ENTRY_11(Alltoallv_init, const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *,
         MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *)
ENTRY_12(Isendrecv, const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
         MPI_Request *)
ENTRY_9(Isendrecv_replace, void *, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request *)

#define EARLIER(name) CO_EXPORT_AS(MPIX_##name, MPI_##name);
EARLIER(Bcast_init)
EARLIER(Allgather_init)
EARLIER(Allgatherv_init)
EARLIER(Alltoall_init)
EARLIER(Alltoallv_init)

#ifdef CO_HAS_LARGE_COUNTS
ENTRY_6(Allreduce_c, const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
ENTRY_5(Bcast_c, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
ENTRY_6(Ibcast_c, void *, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request *)
ENTRY_7(Bcast_init_c, void *, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *)
ENTRY_7(Allgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm)
ENTRY_8(Iallgather_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm, MPI_Request *)
ENTRY_9(Allgather_init_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm, MPI_Info,
        MPI_Request *)
ENTRY_8(Allgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
        MPI_Comm)
ENTRY_9(Iallgatherv_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
        MPI_Comm, MPI_Request *)
ENTRY_10(Allgatherv_init_c, const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *, const MPI_Aint *,
         MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *)
#endif

#pragma GCC visibility pop

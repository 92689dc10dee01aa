// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff bench` can measure: the names behind --calls, and how the tables call them. Pure. Cold.
#include "bench.h"

#include <errno.h>
#include <string.h>

static const struct co_bench_call calls[] = {
    {"bcast", "MPI_Bcast", false, false},
    {"ibcast", "MPI_Ibcast, start and wait", false, false},
    {"allgather", "MPI_Allgather (size: one rank's block)", false, false},
    {"iallgather", "MPI_Iallgather, start and wait (size: one rank's block)", false, false},
    {"allgatherv", "MPI_Allgatherv (size: the mean of the blocks)", false, false},
    {"iallgatherv", "MPI_Iallgatherv, start and wait (size: the mean of the blocks)", false, false},
    {"istart", "MPI_Iallgather, the start alone while the last rank is late", false, false},
    {"overlap", "MPI_Iallgather, overlap with computation", false, false},
    {"overlap-ibcast", "MPI_Ibcast, overlap with computation", false, false},
    {"overlap-iallgatherv", "MPI_Iallgatherv, overlap with computation", false, false},
    {"latency", "MPI_Send and MPI_Recv there and back, half of it", true, false},
    {"bandwidth", "MPI_Isend and MPI_Irecv in a window, time of a message", true, false},
    {"sendrecv", "MPI_Sendrecv in both directions at once", true, false},
    {"persistent", "MPI_Start and MPI_Wait of persistent requests there and back, half of it", true, false},
    {"probe", "MPI_Send, MPI_Probe and MPI_Recv there and back, half of it", true, false},
    {"test", "MPI_Send, MPI_Irecv and MPI_Test until done there and back, half of it", true, false},
    {"ssend", "MPI_Ssend and MPI_Recv there and back, half of it", true, false},
    {"vector", "MPI_Send and MPI_Recv of every other 8 bytes there and back, half of it", true, false},
    {"rate", "flood of 8 bytes into posted receives of one tag, time of a message", true, true},
    {"posting", "MPI_Irecv while others wait, time of a call", true, true},
    {"posted", "8 bytes into a posted receive, first of all that wait", true, true},
    {"posted-reverse", "8 bytes into a posted receive, behind all that wait", true, true},
    {"posted-any", "8 bytes into a posted receive from MPI_ANY_SOURCE, first of all that wait", true, true},
    {"posted-any-reverse", "8 bytes into a posted receive from MPI_ANY_SOURCE, behind all that wait", true, true},
    {"unexpected", "MPI_Recv of 8 bytes that are here, first of all that wait", true, true},
    {"unexpected-reverse", "MPI_Recv of 8 bytes that are here, behind all that wait", true, true},
    {"unexpected-any", "MPI_Recv from MPI_ANY_SOURCE of 8 bytes that are here, first of all that wait", true, true},
    {"unexpected-any-reverse", "MPI_Recv from MPI_ANY_SOURCE of 8 bytes that are here, behind all that wait", true,
     true},
};

enum { CALLS = sizeof calls / sizeof *calls };

static const struct co_bench_call *find(const char *name, size_t length)
{
    for (int i = 0; i < CALLS; i++) {
        if (strlen(calls[i].name) == length && strncmp(calls[i].name, name, length) == 0) {
            return &calls[i];
        }
    }
    return NULL;
}

const struct co_bench_call *co_bench_call_find(const char *name)
{
    static const struct co_bench_call unknown = {"", "", false, false};
    const struct co_bench_call *call = find(name, strlen(name));
    return call ? call : &unknown;
}

const struct co_bench_call *co_bench_call_at(int i)
{
    return i < CALLS ? &calls[i] : NULL;
}

int co_bench_calls_check(const char *list, bool is_message, char *why, size_t why_room)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        const struct co_bench_call *call = find(at, length);
        if (!call || call->is_message != is_message) {
            snprintf(why, why_room, "'%.*s' is none of the calls", (int)length, at);
            const char *joint = " ";
            for (int i = 0; i < CALLS; i++) {
                size_t used = strlen(why);
                if (calls[i].is_message == is_message) {
                    snprintf(why + used, why_room - used, "%s%s", joint, calls[i].name);
                    joint = ", ";
                }
            }
            return -EINVAL;
        }
        at += length + (at[length] == ',');
    }
    return *list ? 0 : -EINVAL;
}

void co_bench_calls_all(bool is_message, char *list, size_t room)
{
    *list = '\0';
    for (int i = 0; i < CALLS; i++) {
        size_t used = strlen(list);
        if (calls[i].is_message == is_message) {
            snprintf(list + used, room - used, "%s%s", used ? "," : "", calls[i].name);
        }
    }
}

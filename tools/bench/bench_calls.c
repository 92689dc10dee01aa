// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff bench` can measure: the names behind --calls, and how the tables call them. Pure. Cold.
#include "bench.h"

#include <errno.h>
#include <string.h>

static const struct co_bench_call calls[] = {
    {"bcast", "MPI_Bcast", false, false, true},
    {"ibcast", "MPI_Ibcast, start and wait", false, false, true},
    {"allgather", "MPI_Allgather (size: one rank's block)", false, false, true},
    {"iallgather", "MPI_Iallgather, start and wait (size: one rank's block)", false, false, true},
    {"allgatherv", "MPI_Allgatherv (size: the mean of the blocks)", false, false, true},
    {"iallgatherv", "MPI_Iallgatherv, start and wait (size: the mean of the blocks)", false, false, true},
    {"ialltoall", "MPI_Ialltoall, start and wait (size: a rank's block for each)", false, false, true},
    {"ialltoallv", "MPI_Ialltoallv, start and wait (size: the mean of the blocks)", false, false, true},
    {"persistent-bcast", "MPI_Start and MPI_Wait of MPIX_Bcast_init", false, false, true},
    {"persistent-allgather", "MPI_Start and MPI_Wait of MPIX_Allgather_init (size: one rank's block)", false, false,
     true},
    {"persistent-allgatherv", "MPI_Start and MPI_Wait of MPIX_Allgatherv_init (size: the mean of the blocks)", false,
     false, true},
    {"istart", "MPI_Iallgather, the start alone while the last rank is late", false, false, false},
    {"overlap", "MPI_Iallgather, overlap with computation", false, false, false},
    {"overlap-ibcast", "MPI_Ibcast, overlap with computation", false, false, false},
    {"overlap-iallgatherv", "MPI_Iallgatherv, overlap with computation", false, false, false},
    {"overlap-ialltoall", "MPI_Ialltoall, overlap with computation", false, false, false},
    {"overlap-ialltoallv", "MPI_Ialltoallv, overlap with computation", false, false, false},
    {"latency", "MPI_Send and MPI_Recv there and back, half of it", true, false, false},
    {"bandwidth", "MPI_Isend and MPI_Irecv in a window, time of a message", true, false, false},
    {"one-way", "MPI_Send here and MPI_Recv there in a row, time of a message", true, false, false},
    {"exchange", "two MPI_Isend and two MPI_Recv on both at once", true, false, false},
    {"sendrecv", "MPI_Sendrecv in both directions at once", true, false, false},
    {"persistent", "MPI_Start and MPI_Wait of persistent requests there and back, half of it", true, false, false},
    {"probe", "MPI_Send, MPI_Probe and MPI_Recv there and back, half of it", true, false, false},
    {"test", "MPI_Send, MPI_Irecv and MPI_Test until done there and back, half of it", true, false, false},
    {"ssend", "MPI_Ssend and MPI_Recv there and back, half of it", true, false, false},
    {"vector", "MPI_Send and MPI_Recv of every other 8 bytes there and back, half of it", true, false, false},
    {"rate", "flood of 8 bytes into posted receives of one tag, time of a message", true, true, false},
    {"posting", "MPI_Irecv while others wait, time of a call", true, true, false},
    {"posted", "8 bytes into a posted receive, first of all that wait", true, true, false},
    {"posted-reverse", "8 bytes into a posted receive, behind all that wait", true, true, false},
    {"posted-any", "8 bytes into a posted receive from MPI_ANY_SOURCE, first of all that wait", true, true, false},
    {"posted-any-reverse", "8 bytes into a posted receive from MPI_ANY_SOURCE, behind all that wait", true, true,
     false},
    {"unexpected", "MPI_Recv of 8 bytes that are here, first of all that wait", true, true, false},
    {"unexpected-reverse", "MPI_Recv of 8 bytes that are here, behind all that wait", true, true, false},
    {"unexpected-any", "MPI_Recv from MPI_ANY_SOURCE of 8 bytes that are here, first of all that wait", true, true,
     false},
    {"unexpected-any-reverse", "MPI_Recv from MPI_ANY_SOURCE of 8 bytes that are here, behind all that wait", true,
     true, false},
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
    static const struct co_bench_call unknown = {"", "", false, false, false};
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

bool co_bench_calls_have(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += *at == ',') {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
        at += strcspn(at, ",");
    }
    return false;
}

int co_bench_calls_check_turns(const char *list, char *why, size_t why_room)
{
    int count = 0;
    for (const char *at = list; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        const struct co_bench_call *call = find(at, length);
        if (!call || !call->has_rounds) {
            snprintf(why, why_room, "--in-turn is not for '%.*s'", (int)length, at);
            return -EINVAL;
        }
        count++;
        at += length;
    }
    if (count < 2) {
        snprintf(why, why_room, "--in-turn wants two --calls or more, and '%s' is one", list);
        return -EINVAL;
    }
    return 0;
}

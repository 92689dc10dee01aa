// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls of MPI that the proxies carry out: the side of the rank, as src/engine and src/pmpi see it. No MPI
// types: bytes, ranks of the world, pointers. A call is one command to the proxy of this node, which does the rest
// alone; nothing here waits for another rank, but open. Whether a call is over is one load.
//
// What makes a call the same one on all members: the team's id and how many calls of that team a member has begun, so
// members begin the calls of one team in one order (MPI's rule for communicators); the order between teams is free. No
// byte enters a receive buffer before its owner has begun that call. A call that cannot begin here after it was decided
// to be taken has to be refused (co_proxied_refuse): else the others wait for it.
//
// Any thread: a lock is taken for a moment, by all but is_done and world_is_lost. One thread at a time for a team's
// begin, as MPI has it. Begin and end are hot.
//
// Linked: libcastoff.so (and that of MPICH) is linked with PROXIED_OBJ of the Makefile, which is the rank's side alone,
// needs the C library and what libcastoff.so has already (src/base, libsodium within), and exports nothing
// (src/mpi_below/exports.map). libcastoff-offload.so has a copy of its own; the two know nothing of each other. The
// proxy is `castoff proxy --job`, found beside the library.
#ifndef CASTOFF_OFFLOAD_COLLECTIVE_PROXIED_COLLECTIVE_H
#define CASTOFF_OFFLOAD_COLLECTIVE_PROXIED_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_proxied_world; // proxies of the job: one a process
struct co_proxied_team;  // a communicator
struct co_proxied_call;  // begun, and not ended

enum { CO_PROXIED_WHY_BYTES = 256 };

struct co_proxied_config {
    int rank, size; // in MPI_COMM_WORLD
    // Gathers `bytes` of each rank in the order of ranks: 0 or -errno. Called by co_proxied_open alone, the same number
    // of times on all ranks, with less than 1 KiB each.
    int (*allgather)(void *arg, const void *mine, void *all, size_t bytes);
    void *arg;
    const char *command; // path of the castoff command; NULL: the one beside this library
};

// Collective over the world, once, when settings are loaded and agreed and the log is open. Starts a proxy on each
// node; whether a job is to have any is the caller's to decide. 0: on all ranks. Negative: on none (but for -ENOMEM
// behind a world that all have opened, which is this rank's alone: what others have with it ends with an error), and
// `why` has one sentence with the reason and the cure; -ENOTSUP: CASTOFF_PROXY=no.
int co_proxied_open(struct co_proxied_world **out, const struct co_proxied_config *config,
                    char why[CO_PROXIED_WHY_BYTES]);
// Local. Calls have ended and plans are freed; teams that are open are closed. The proxy goes on until the other nodes
// have what this rank has sent, so it may be called while others are still in their calls.
void co_proxied_close(struct co_proxied_world *world);
// fork needs nothing: a handler of this module's own closes in the child what is the parent's, and the child may call
// nothing of this, close neither. Calls under way are the parent's.

// Why MPI calls have none by this choice (CASTOFF_PROXY), and the cure; NULL: they are to have some.
const char *co_proxied_why_none(int64_t choice);
// For people: "attached; on 1 core that no rank has". Stays where it is until close.
const char *co_proxied_state(const struct co_proxied_world *world);

// While something is waited for, about every 100 ms, and in tests now and then (each 64th that finds nothing): whether
// the proxy is there and moves. False: it has gone, or stood still for CASTOFF_DEADLINE_S and was killed; then every
// call is done, with -ECONNRESET, and none can begin. `now_ns`: of co_clock_now_ns.
bool co_proxied_look(struct co_proxied_world *world, uint64_t now_ns);
bool co_proxied_world_is_lost(const struct co_proxied_world *world); // one load: what the last look has found
// Grows while bytes of this rank's calls come or leave; for comparing alone. One load.
uint64_t co_proxied_moved(const struct co_proxied_world *world);

// Calls wait for room: somebody has to come now and then, for others may wait for these. That is move; begin, end and
// look do so as well. One load; cheap.
bool co_proxied_is_crowded(const struct co_proxied_world *world);
void co_proxied_move(struct co_proxied_world *world);

// To sleep until a call is over: say so, look once more at all that is waited for (is_done), poll the descriptor for
// reading, with 100 ms at most, and say that you are awake. Several threads may. Who forgets to sleep and uses a timer
// loses time alone. -1: the world is lost.
int co_proxied_descriptor(const struct co_proxied_world *world);
void co_proxied_sleeps(struct co_proxied_world *world);
void co_proxied_wakes(struct co_proxied_world *world);

// Local, and tells nobody else; cheap, 16 bytes a member here and in the proxy. The id is the same on all members and
// never used twice in the job (that of co_team_seed). `world_ranks` in the order of the communicator, each once, `rank`
// the own place in it; the array is read at once. -ENOSPC: the communicator has more than CO_PROXIED_MEMBERS_MAX
// members (ask before: that is equal on all members). -ENOMEM, -ECONNRESET. The proxy is told at the first call, and
// has at most 65,536 teams of 4,194,304 members together: where there are more, those that are idle make room.
#define CO_PROXIED_MEMBERS_MAX 16384
int co_proxied_team_open(struct co_proxied_team **out, struct co_proxied_world *world, uint64_t id,
                         const int *world_ranks, int size, int rank);
// Waits for nothing: calls under way and plans keep what they need until they end.
void co_proxied_team_close(struct co_proxied_team *team);

// What a member has for, and has room for from, the one at that place of the communicator. All in bytes, `at` from the
// beginning of the buffer, to either side.
struct co_proxied_block {
    int64_t send_at, receive_at;
    uint64_t send_bytes, receive_bytes;
};

// One Ialltoall: `bytes` for each member, block i of `send` for member i, block i of `receive` from member i; none of
// them overlap. IN_PLACE: the caller gives a copy as `send`. The buffers stay the call's until it is done. The same
// arguments again are known to the proxy, whatever memory lies there now; a call with other ones costs a command more.
//
// It waits for nobody. The proxy takes one call of each team and beside these 1,024, of 21,845 members together; one
// beyond waits here, behind those of its team (co_proxied_is_crowded). 0; -ECONNRESET: the proxy has gone. -ENOMEM,
// -EFAULT (where the rank copies: there is no such memory): the call does not count, so it has to be refused.
int co_proxied_alltoall(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                        size_t bytes);
// `blocks` has one for each member, and is read at once. What two members say of their block should be the same: the
// message is as long as its sender says, -EMSGSIZE where that is more than the receiver has room for.
int co_proxied_alltoallv(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                         const struct co_proxied_block blocks[]);
// One Ibcast of what `buffer` has at the member at place `root`, below the team's size: `bytes` there, and room for so
// many elsewhere. The message is as long as the root says: who has room for more is told so by the result, and who has
// less, -EMSGSIZE, keeps it from nobody. Other members' proxies pass it on, each from its rank's buffer, once that rank
// has begun its call.
int co_proxied_bcast(struct co_proxied_call **out, struct co_proxied_team *team, int root, void *buffer, size_t bytes);
// One Iallgather: `bytes` of each member, those of member i as block i of `receive`. NULL: the own block is there.
int co_proxied_allgather(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                         size_t bytes);
// `blocks` has one for each member, and is read at once: what is received, and of the own one what is sent (at the same
// place) says where each stands in `buffer`; of the others nothing is sent.
int co_proxied_allgatherv(struct co_proxied_call **out, struct co_proxied_team *team, void *buffer,
                          const struct co_proxied_block blocks[]);
// The next call of this team, an all-to-all, cannot be made here: it counts, and all other members hear so: their call
// ends with -ECONNRESET and this rank's name, when all its other blocks are there. Of one that others pass on: with the
// name of the first on that way who has not got it. 0; -ENOMEM; -ECONNRESET.
int co_proxied_refuse(struct co_proxied_team *team);
int co_proxied_refuse_bcast(struct co_proxied_team *team, int root);
int co_proxied_refuse_allgather(struct co_proxied_team *team);

// This rank can open no team, or cannot refuse, for a call that it was to take part in: its connection ends, and for
// all others it is gone, so that their calls with it end with -ECONNRESET. Here nothing begins any more, and every call
// is done, as if the proxy had gone, once a look has found that the proxy knows: it may write into their buffers until
// then.
void co_proxied_break(struct co_proxied_world *world);

struct co_proxied_result {
    int error;      // 0 or -errno, the first one: -ECONNRESET, -EMSGSIZE (bytes beyond were dropped), -EFAULT, ...
    int with;       // of an error, the rank of the world with whom that was, or -1
    uint64_t bytes; // received, other members' and the own ones
};

// Whether it is over: all that it receives is in the buffer, and all that it sends is out of it.
bool co_proxied_is_done(const struct co_proxied_call *call);
// Of a call that is done: what became of it; the call is gone. (Where the rank copies: what came is copied out here.)
void co_proxied_end(struct co_proxied_call *call, struct co_proxied_result *result);
// The sentence for an error, with the host's name.
void co_proxied_describe(const struct co_proxied_world *world, const struct co_proxied_result *result,
                         char why[CO_PROXIED_WHY_BYTES]);

// For the report.
struct co_proxied_counts {
    uint64_t calls, cached, failed;        // begun; of arguments that the proxy knew; ended with an error
    uint64_t bytes_received, bytes_copied; // of these, by the rank itself
};
void co_proxied_count(struct co_proxied_world *world, struct co_proxied_counts *counts);

#endif

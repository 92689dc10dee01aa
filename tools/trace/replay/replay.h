// SPDX-License-Identifier: BSD-3-Clause
//
// The true replay: sends and receives of all ranks in an order that could have been. A rank goes on when what it waited
// for is there: the message, or the others in a collective call; otherwise ranks go on by the time that they took
// themselves. Each queue (a rank's, for one communicator) is matched by two plain lists and, beside them, by castoff's
// own matcher with every number of bins and lanes that was asked for; all must pair alike. One thread.
//
// A message that nobody in the trace has sent (a rank without a trace, the part that was not recorded, a communicator
// that could not be followed) arrives when the rank is known to have it. Where the trace tells which message a receive
// from anybody got, messages come so that it gets that one.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_H
#define CASTOFF_TOOLS_TRACE_REPLAY_H

#include "tools/trace/events/application.h"

enum { CO_REPLAY_TIMES = 100, CO_REPLAY_TALK_MAX = 512, CO_REPLAY_CLASSES = 4 };
enum { CO_REPLAY_BINS_MAX = 4096, CO_REPLAY_LANES_MAX = 64 };

// A matcher with so many bins, that gets so many messages at once.
struct co_replay_matcher {
    uint32_t bins, lanes;
    uint32_t bins_used; // a power of two
    uint64_t matches;
    uint64_t walked;      // entries looked at by all searches
    uint64_t walked_most; // by one search, or by those of a block
    uint64_t searches;
    uint64_t collisions;        // receives that met another one in their bin
    double empty_bins;          // share of the bins of receives without wildcard, over all searches; -1: none
    uint64_t blocks, in_blocks; // blocks of more than one message, and messages in them
    uint64_t free_path, fast_path, slow_path;
    uint64_t differences; // from the lists
};

struct co_replay_moment {
    uint32_t posted, unexpected; // most at a rank in this part of the time
};

// Why a communicator is in doubt.
enum co_replay_why {
    CO_WHY_NOT_TOLD, // the trace does not tell its members, or they are of another job
    CO_WHY_MISSING,  // somebody's share in making it is not in the trace
    CO_WHY_DIFFERS,  // what its members say does not fit together
    CO_WHY_NOT_MADE, // it is used, and no call made it
    CO_WHY_MISFIT,   // MPI told another rank or size
    CO_WHY_ORDER,    // MPI was allowed to put its ranks in another order; nobody asked for it, and messages do not tell
    CO_WHYS
};

struct co_replay_result {
    uint64_t sends, receives;             // in the trace
    uint64_t matches, unexpected;         // of these messages that came before their receive
    uint64_t by_class[CO_REPLAY_CLASSES]; // receives: exact, any source, any tag, both
    uint64_t probes;
    uint64_t sent_outside;          // to ranks without a trace
    uint64_t from_outside;          // messages that nobody in the trace has sent
    uint64_t unreceived, unmatched; // messages and receives that were left over
    uint64_t otherwise;             // receives that got another message than the trace tells
    uint64_t forced;                // times that nobody could go on
    uint64_t damaged;               // ranks whose events changed, or could not be read, while they were replayed
    // Communicators of ranks whose members are not known, or not those that were thought; of the first one why, whose,
    // and which call.
    uint64_t doubted;
    enum co_replay_why doubt;
    int32_t doubt_rank;
    uint16_t doubt_call;
    uint64_t believed; // communicators that MPI may have reordered, and whose messages all fit the order from before
    uint64_t source_tags, tags;            // different (rank, source, tag) of receives, different tags of messages
    uint32_t posted_most, unexpected_most; // at one rank
    double posted_mean, unexpected_mean;   // in the queue when a message or receive comes
    struct co_replay_moment moments[CO_REPLAY_TIMES];
    uint64_t span_ns;
    uint32_t talk_ranks; // of `talk`, 0: too many
    uint64_t *talk;      // messages from row to column
    struct co_replay_matcher *matchers;
    size_t matcher_count;
};

// `matchers` with bins and lanes set become the result's, the rest is filled. 0 or -ENOMEM. `progress` is told how many
// of how many events are done; NULL: nobody is.
int co_replay_run(const struct co_application *application, struct co_replay_matcher *matchers, size_t matcher_count,
                  void (*progress)(void *arg, uint64_t done, uint64_t all), void *arg, struct co_replay_result *result);
void co_replay_close(struct co_replay_result *result);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI below as somebody who moves bytes between processes: lent by the layer above, which alone may call it, to
// the channel between hosts. Operations are named by slots, small numbers, from their start until they are done. One
// caller at a time, from inside an MPI call of the program, or where it takes all threads (MPI_THREAD_MULTIPLE) from a
// thread of castoff's own; no lock that others wait for is held meanwhile.
#ifndef CASTOFF_P2P_CHANNEL_NATIVE_H
#define CASTOFF_P2P_CHANNEL_NATIVE_H

#include <stdbool.h>
#include <stddef.h>

#define CO_NATIVE_ANYBODY (-1)

struct co_native_done {
    unsigned slot;
    int result;   // 0 or -errno
    int peer;     // of a receive: from whom,
    size_t bytes; // and how much
};

struct co_native {
    int (*reserve)(void *arg, unsigned slots); // once, before anything else: 0 or -ENOMEM
    // Start: 0 or -errno. Between two processes, what has the same tag arrives in the order in which it was sent.
    int (*send)(void *arg, unsigned slot, const void *data, size_t bytes, int peer, int tag);
    int (*receive)(void *arg, unsigned slot, void *buffer, size_t bytes, int peer, int tag); // or CO_NATIVE_ANYBODY
    // Those of so many slots that are done and have not been told; how many.
    unsigned (*collect)(void *arg, unsigned first, unsigned count, struct co_native_done *done);
    // A receive. True: it writes nothing any more, and the slot is free. False: a message has it, whose rest may come,
    // or never if the sender is dead; `collect` tells its end. Waits for nothing.
    bool (*cancel)(void *arg, unsigned slot);
    void (*abandon)(void *arg, unsigned slot); // it may still read or write
    void (*progress)(void);
    size_t bytes_most;      // of one operation
    bool takes_all_threads; // else those of the program alone
    void *arg;
};

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// A window that reaches into the rank's process (process_vm_readv, process_vm_writev). Nothing is registered or mapped:
// addresses are looked up at each access, so memory that was freed and mapped again, moved or shrunk between two calls
// is right by itself, and what is not there is -EFAULT. The process is held by a descriptor and looked at before each
// access, so that a number which another process has been given since is neither read nor written to. What remains: one
// that ends, is waited for, and has its number given anew between that look and the access, which is microseconds; of
// what was read so nothing is handed on, for it is looked at once more behind each read. And a process that executes
// another program is the same one to the kernel: its connection closes then (close on exec), and whoever owns the
// window must not use it any more. The proxy's one thread; hot.
#ifndef CASTOFF_OFFLOAD_ATTACH_WINDOW_H
#define CASTOFF_OFFLOAD_ATTACH_WINDOW_H

#include <sys/types.h>

#include "offload/rank_window.h"

struct co_attach_window {
    struct co_rank_window window; // the first
    pid_t pid;
    int process; // its descriptor, readable when it has ended
    uint64_t bytes_read, bytes_written;
};

// Of a process of our user that lets us (PR_SET_PTRACER where Yama asks for it). -ESRCH, -EMFILE, ...
int co_attach_window_open(struct co_attach_window *attach, pid_t pid);
// Whether the kernel lets us: `word`, which the rank says it has at that address, is read, and its complement is
// written there, which the rank looks at. -EPERM, -EFAULT, -ESRCH, -EPROTO (another word).
int co_attach_window_probe(struct co_attach_window *attach, uint64_t address, uint64_t word);
void co_attach_window_close(struct co_attach_window *attach);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// Another process's memory; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/attach_window.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool process_is_there(const struct co_attach_window *attach)
{
    struct pollfd process = {.fd = attach->process, .events = POLLIN};
    int ended = poll(&process, 1, 0);
    while (ended < 0 && errno == EINTR) { // a signal of ours
        ended = poll(&process, 1, 0);
    }
    return ended == 0;
}

// The kernel stops at the first page that is not there, with what it has moved so far.
static int process_copy(const struct co_attach_window *attach, void *local, uint64_t remote, uint64_t bytes,
                        bool is_read)
{
    for (uint64_t done = 0; done < bytes;) {
        struct iovec here = {(char *)local + done, bytes - done};
        struct iovec there = {(void *)(uintptr_t)(remote + done), bytes - done};
        if (!process_is_there(attach)) {
            return -ESRCH;
        }
        ssize_t moved = is_read ? process_vm_readv(attach->pid, &here, 1, &there, 1, 0)
                                : process_vm_writev(attach->pid, &here, 1, &there, 1, 0);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (is_read && moved > 0 && !process_is_there(attach)) { // whose bytes are these?
            return -ESRCH;
        }
        if (moved <= 0) {
            return moved < 0 ? -errno : -EFAULT;
        }
        done += (uint64_t)moved;
    }
    return 0;
}

static int attach_open(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                       struct co_rank_window_loan *loan)
{
    *loan =
        (struct co_rank_window_loan){.window = window, .address = address, .bytes = bytes, .is_for_read = is_for_read};
    return 0;
}

static int attach_read(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes)
{
    struct co_attach_window *attach = (struct co_attach_window *)loan->window;
    attach->bytes_read += bytes;
    return process_copy(attach, into, loan->address + offset, bytes, true);
}

static int attach_write(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes)
{
    struct co_attach_window *attach = (struct co_attach_window *)loan->window;
    attach->bytes_written += bytes;
    return process_copy(attach, (void *)(uintptr_t)from, loan->address + offset, bytes, false);
}

// What was written is there.
static int attach_flush(struct co_rank_window_loan *loan, uint64_t bytes)
{
    (void)loan;
    (void)bytes;
    return 0;
}

static void attach_close(struct co_rank_window_loan *loan)
{
    (void)loan;
}

static const struct co_rank_window_ops attach_ops = {.name = "attach",
                                                     .open = attach_open,
                                                     .read = attach_read,
                                                     .write = attach_write,
                                                     .flush = attach_flush,
                                                     .close = attach_close};

int co_attach_window_open(struct co_attach_window *attach, pid_t pid)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0) {
        return -errno;
    }
    *attach = (struct co_attach_window){.window.ops = &attach_ops, .pid = pid, .process = process};
    return 0;
}

int co_attach_window_probe(struct co_attach_window *attach, uint64_t address, uint64_t word)
{
    uint64_t found = 0;
    int error = process_copy(attach, &found, address, sizeof found, true);

    if (error == 0 && found != word) {
        error = -EPROTO;
    }
    found = ~word;
    return error != 0 ? error : process_copy(attach, &found, address, sizeof found, false);
}

void co_attach_window_close(struct co_attach_window *attach)
{
    close(attach->process);
    attach->process = -1;
}

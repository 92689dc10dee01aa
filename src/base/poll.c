// SPDX-License-Identifier: BSD-3-Clause
//
// ppoll, and poll where a sandbox of the container forbids it: who cannot sleep would spin. Any thread.
#define _GNU_SOURCE // ppoll
#include "base/poll.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

#include "base/clock.h"

// Rounded up: a sleep that ends too early turns into spinning.
static int milliseconds(uint64_t ns)
{
    if (ns == UINT64_MAX) {
        return -1;
    }
    uint64_t whole = ns / CO_NS_PER_MS + (ns % CO_NS_PER_MS != 0);
    return whole > INT_MAX ? INT_MAX : (int)whole;
}

int co_poll(struct pollfd *descriptors, nfds_t count, uint64_t most_ns)
{
    struct timespec timer = {(time_t)(most_ns / CO_NS_PER_S), (long)(most_ns % CO_NS_PER_S)};
    int ready = ppoll(descriptors, count, most_ns == UINT64_MAX ? NULL : &timer, NULL);
    if (ready < 0 && (errno == EPERM || errno == ENOSYS)) {
        ready = poll(descriptors, count, milliseconds(most_ns));
    }
    return ready;
}

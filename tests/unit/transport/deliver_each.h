// SPDX-License-Identifier: BSD-3-Clause
//
// For tests that look at one datagram at a time: a co_deliver_fn, and what it is given as its argument.
#ifndef CASTOFF_TESTS_DELIVER_EACH_H
#define CASTOFF_TESTS_DELIVER_EACH_H

#include "transport/transport.h"

struct deliver_each {
    void (*deliver)(void *arg, const uint8_t *data, size_t bytes, uint32_t immediate);
    void *arg;
};

static inline void deliver_each(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    const struct deliver_each *each = arg;
    for (unsigned i = 0; i < count; i++) {
        each->deliver(each->arg, arrivals[i].data, arrivals[i].bytes, arrivals[i].immediate);
    }
}

// poll, or lane_receive: what it takes for `function` with `arg` to be called.
#define DELIVER_EACH(function, arg)                                                                                    \
    deliver_each, &(struct deliver_each)                                                                               \
    {                                                                                                                  \
        (function), (arg)                                                                                              \
    }

#endif

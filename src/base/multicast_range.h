// SPDX-License-Identifier: BSD-3-Clause
//
// A range of IPv4 multicast addresses (RFC 1112) as users write it: "239.192.0.0/16", or one address. Pure.
#ifndef CASTOFF_BASE_MULTICAST_RANGE_H
#define CASTOFF_BASE_MULTICAST_RANGE_H

#include <stdint.h>

struct co_multicast_range {
    uint32_t first_ip; // host byte order; its bits behind the prefix are 0
    unsigned prefix;   // bits, 4 to 32
};

// 0 or -EINVAL.
int co_multicast_range_parse(const char *text, struct co_multicast_range *range);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a range of multicast addresses, for the settings and for the transport that takes its groups out of it.
// Any thread; not hot.
#include "base/multicast_range.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LEAST = 4, PREFIX_MOST = 32 }; // multicast is 224.0.0.0/4

static int parse_prefix(const char *digits, unsigned *prefix)
{
    char *rest;
    if (!isdigit((unsigned char)*digits)) {
        return -EINVAL;
    }
    unsigned long number = strtoul(digits, &rest, 10);
    if (*rest != '\0' || number < PREFIX_LEAST || number > PREFIX_MOST) {
        return -EINVAL;
    }
    *prefix = (unsigned)number;
    return 0;
}

int co_multicast_range_parse(const char *text, struct co_multicast_range *range)
{
    char address[INET_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    struct in_addr parsed;
    unsigned prefix = PREFIX_MOST;
    if (length >= sizeof address || (text[length] == '/' && parse_prefix(text + length + 1, &prefix) != 0)) {
        return -EINVAL;
    }
    memcpy(address, text, length);
    address[length] = '\0';
    if (inet_pton(AF_INET, address, &parsed) != 1 || !IN_MULTICAST(ntohl(parsed.s_addr))) {
        return -EINVAL;
    }
    range->first_ip = ntohl(parsed.s_addr) & ~(uint32_t)((UINT64_C(1) << (PREFIX_MOST - prefix)) - 1);
    range->prefix = prefix;
    return 0;
}

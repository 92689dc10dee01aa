// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of cores; see the header.
#include "offload/core_list.h"

#include <errno.h>
#include <string.h>

enum { CORES = 8 * CO_OFFLOAD_CORE_BYTES };

// A number below CORES. NULL: there is none.
static const char *number_read(const char *text, int *number)
{
    const char *at = text;

    for (*number = 0; *at >= '0' && *at <= '9' && *number < CORES; at++) {
        *number = 10 * *number + (*at - '0');
    }
    return at > text && *number < CORES ? at : NULL;
}

int co_offload_cores_parse(uint8_t cores[CO_OFFLOAD_CORE_BYTES], const char *text)
{
    uint8_t found[CO_OFFLOAD_CORE_BYTES] = {0};
    int first, last;

    for (const char *at = text;; at++) {
        at = number_read(at, &first);
        if (at == NULL) {
            return -EINVAL;
        }
        last = first;
        if (*at == '-') {
            at = number_read(at + 1, &last);
        }
        if (at == NULL || last < first || (*at != ',' && *at != '\0')) {
            return -EINVAL;
        }
        for (int core = first; core <= last; core++) {
            found[core / 8] |= (uint8_t)(1U << core % 8);
        }
        if (*at == '\0') {
            memcpy(cores, found, sizeof found);
            return 0;
        }
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors against the limit of the process. Asks the kernel about one number after the other, for /proc may not be
// there and would need a descriptor to be read. Start-up only.
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

int co_descriptors_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) {
        return INT_MAX;
    }
    return (int)limit.rlim_cur;
}

int co_descriptors_left(int wanted)
{
    int limit = co_descriptors_limit(), left = 0;
    for (int fd = 0; fd < limit && left < wanted; fd++) {
        left += fcntl(fd, F_GETFD) < 0 && errno == EBADF;
    }
    return left;
}

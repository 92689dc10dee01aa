// SPDX-License-Identifier: BSD-3-Clause
//
// Doorbells; see the header.
#include "offload/proxy/proxy_bell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int co_proxy_bell_open(int epoll, uint64_t name)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = name};
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (bell >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event) != 0) {
        close(bell);
        bell = -1;
    }
    return bell;
}

// The rank has it, too, so closing alone would leave it in the epoll.
void co_proxy_bell_close(int bell, int epoll)
{
    if (bell >= 0) {
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, bell, NULL);
        close(bell);
    }
}

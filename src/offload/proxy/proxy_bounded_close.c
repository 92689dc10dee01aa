// SPDX-License-Identifier: BSD-3-Clause
//
// A signal ends a wait for a socket that lingers. It comes again, for the first one may be too early, and there may be
// several such sockets.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/proxy/proxy_bounded_close.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

enum { WAIT_MOST_US = 1000 };

static void alarm_heard(int signal)
{
    (void)signal;
}

void co_proxy_bounded_open(void)
{
    struct sigaction action = {.sa_handler = alarm_heard}; // nothing begins anew after it
    sigaction(SIGALRM, &action, NULL);
}

static void alarm_set(bool is_on)
{
    struct itimerval often = {{0, WAIT_MOST_US}, {0, WAIT_MOST_US}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, is_on ? &often : &never, NULL);
}

void co_proxy_bounded_close(int descriptor)
{
    alarm_set(true);
    close(descriptor); // done, though it may say EINTR
    alarm_set(false);
}

ssize_t co_proxy_bounded_receive(int socket, void *bytes, size_t room, int *fd)
{
    alarm_set(true);
    ssize_t came = co_local_receive(socket, bytes, room, fd);
    alarm_set(false);
    return came;
}

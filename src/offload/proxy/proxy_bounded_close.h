// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors that others have sent a proxy, or may have: whatever they are, closing them does not hold it. Of those a
// socket may linger, that is, hold who closes it last, for as long as its sender likes; and what was sent along with
// bytes is closed by the kernel in the middle of a call that hears them, or closes the socket on which they wait
// unread. The proxy's one thread, which has SIGALRM and its timer for that; cold.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_BOUNDED_CLOSE_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_BOUNDED_CLOSE_H

#include "offload/local_socket.h"

// Takes the signal. Before all others, once or more.
void co_proxy_bounded_open(void);

void co_proxy_bounded_close(int descriptor);
// As co_local_receive.
ssize_t co_proxy_bounded_receive(int socket, void *bytes, size_t room, int *fd);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// Sockets that hold who closes them last: for an hour, so who waits for one does not end.
#ifndef CASTOFF_TESTS_OFFLOAD_PROXY_LINGERING_SOCKET_H
#define CASTOFF_TESTS_OFFLOAD_PROXY_LINGERING_SOCKET_H

// With bytes that *peer does not take.
int lingering_socket(int *peer);
// A byte, and that descriptor so many times.
void lingering_send(int connected, int descriptor, int times);

#endif

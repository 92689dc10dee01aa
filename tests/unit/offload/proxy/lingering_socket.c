// SPDX-License-Identifier: BSD-3-Clause
//
// Lingering sockets; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lingering_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOUR_S = 3600, TIMES_MOST = 16 };

int lingering_socket(int *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger hour = {1, HOUR_S};
    socklen_t bytes = sizeof address;
    static const char text[65536];
    int listener = socket(AF_INET, SOCK_STREAM, 0), made = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, bytes), 0);
    *peer = accept(listener, NULL, NULL);
    assert_true(*peer >= 0);
    close(listener);
    while (send(made, text, sizeof text, MSG_DONTWAIT) > 0) {
    }
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_LINGER, &hour, sizeof hour), 0);
    return made;
}

void lingering_send(int connected, int descriptor, int times)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(TIMES_MOST * sizeof(int))];
    } with = {0};
    struct iovec piece = {"x", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &with};

    assert_in_range(times, 1, TIMES_MOST);
    message.msg_controllen = CMSG_SPACE((size_t)times * sizeof(int));
    with.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN((size_t)times * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    for (int i = 0; i < times; i++) {
        memcpy(CMSG_DATA(&with.head) + (size_t)i * sizeof(int), &descriptor, sizeof descriptor);
    }
    assert_int_equal(sendmsg(connected, &message, MSG_NOSIGNAL), 1);
}

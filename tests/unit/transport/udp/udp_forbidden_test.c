// SPDX-License-Identifier: BSD-3-Clause
//
// Sending without segmentation offload where a sandbox forbids the call that takes many datagrams at once: one by one.
#define _GNU_SOURCE // sendmmsg
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "udp_on_loopback.h"

#define WAIT_MS 10000

static int refusal; // its errno, as filters of sandboxes have it

// Stands in for the C library's.
int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags)
{
    (void)socket;
    (void)messages;
    (void)count;
    (void)flags;
    errno = refusal;
    return -1;
}

static void count_bytes(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    (void)immediate;
    (void)data;
    *(size_t *)arg += size;
}

static void datagrams_leave_one_by_one(void **state)
{
    enum { DATAGRAMS = 10, BYTES = 5 };
    static const int refusals[] = {ENOSYS, EPERM};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
        struct co_udp_address addresses[2];
        struct co_tx_datagram batch[DATAGRAMS];
        size_t received = 0;
        refusal = refusals[i];
        config.plain = true;
        struct co_transport *from = udp_opened(&config, &addresses[0]), *to = udp_opened(&config, &addresses[1]);
        for (int d = 0; d < DATAGRAMS; d++) {
            batch[d] = (struct co_tx_datagram){.head = "12345", .head_bytes = BYTES};
        }
        assert_int_equal(to->ops->join(to, 2), 0);
        assert_int_equal(from->ops->send(from, (struct co_destination){CO_TO_GROUP, 2}, batch, DATAGRAMS), DATAGRAMS);
        while (received < (size_t)DATAGRAMS * BYTES) {
            struct pollfd fds[32];
            assert_true(poll(fds, (nfds_t)to->ops->descriptors(to, fds, 32, 0), WAIT_MS) > 0);
            assert_true(to->ops->poll(to, 64, DELIVER_EACH(count_bytes, &received)) >= 0);
        }
        from->ops->close(from);
        to->ops->close(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(datagrams_leave_one_by_one)};
    return cmocka_run_group_tests_name("udp_forbidden", tests, NULL, NULL);
}

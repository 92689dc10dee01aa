// SPDX-License-Identifier: BSD-3-Clause
//
// What only the UDP transport has at work: offload in system calls, processes of one host, and jobs that must not hear
// each other. What it shares with the other transports is in transport_contract.c.
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "base/counters.h"
#include "udp_on_loopback.h"

#define WAIT_MS 10000

static int segments_refused; // of the next sends with segmentation so many

// As a kernel does where an interface cannot, and also when somebody has written "fragmentation needed".
ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    if (message->msg_controllen > 0 && segments_refused > 0) {
        segments_refused--;
        errno = EMSGSIZE;
        return -1;
    }
    return syscall(SYS_sendmsg, socket, message, flags);
}

static void count_bytes(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    (void)immediate;
    (void)data;
    *(size_t *)arg += size;
}

static bool sleep_on(struct co_transport *udp)
{
    struct pollfd fds[32];
    int count = udp->ops->descriptors(udp, fds, 32, 0);

    return poll(fds, (nfds_t)count, WAIT_MS) > 0;
}

static void connecting_is_checked(void **state)
{
    (void)state;
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);
    struct co_tx_datagram datagram = {.head = "x", .head_bytes = 1};

    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), -EINVAL);
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 3}, &datagram, 1), 1);
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 4}, &datagram, 1), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 0, 0), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 1, 1), -EINVAL);
    assert_int_equal(co_udp_connect(udp, &address, 1, 0), 0);
    assert_int_equal(co_udp_connect(udp, &address, 1, 0), -EINVAL);
    udp->ops->close(udp);
}

static void open_pair(struct co_transport *pair[2], bool plain)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address addresses[2];
    config.plain = plain;
    for (int i = 0; i < 2; i++) {
        pair[i] = udp_opened(&config, &addresses[i]);
    }
    assert_int_equal(pair[1]->ops->join(pair[1], 2), 0);
}

static void send_one(struct co_transport *from, size_t bytes)
{
    static const uint8_t zeros[200];
    struct co_tx_datagram datagram = {.head = zeros, .head_bytes = (uint32_t)bytes};
    assert_int_equal(from->ops->send(from, (struct co_destination){CO_TO_GROUP, 2}, &datagram, 1), 1);
}

// Who has slept on the descriptors: whether poll has asked no more.
static bool sleeper_knows(struct co_transport *pair[2], size_t *bytes)
{
    const struct co_transport_ops *ops = pair[1]->ops;
    struct pollfd fds[8];
    send_one(pair[0], 100);
    int count = ops->descriptors(pair[1], fds, 8, 0);
    int ready = poll(fds, (nfds_t)count, WAIT_MS); // more than one if a stranger's datagram has come, too
    assert_true(ready > 0);
    ops->woken(pair[1], fds, count);
    uint64_t calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    assert_int_equal(ops->poll(pair[1], 10, DELIVER_EACH(count_bytes, bytes)), 1);
    return co_counter_read(CO_COUNT_RECEIVE_CALLS) - calls == (uint64_t)ready;
}

// Somebody has slept and found nothing, before it came: whether poll has believed that, once.
static bool sleeper_is_believed(struct co_transport *pair[2], size_t *bytes)
{
    const struct co_transport_ops *ops = pair[1]->ops;
    struct pollfd fds[8];
    send_one(pair[0], 100);
    assert_true(sleep_on(pair[1]));
    int count = ops->descriptors(pair[1], fds, 8, 0);
    for (int i = 0; i < count; i++) {
        fds[i].revents = 0;
    }
    ops->woken(pair[1], fds, count);
    uint64_t calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    int taken = ops->poll(pair[1], 10, DELIVER_EACH(count_bytes, bytes));
    bool is_believed = co_counter_read(CO_COUNT_RECEIVE_CALLS) == calls;
    assert_int_equal(taken, !is_believed);
    assert_true(taken == 1 || ops->poll(pair[1], 10, DELIVER_EACH(count_bytes, bytes)) == 1);
    return is_believed;
}

// For a moment, which is over where the machine is busy: then once more.
static void what_a_sleeper_found(void **state)
{
    enum { TRIES = 1000 };
    (void)state;
    struct co_transport *pair[2];
    size_t bytes = 0, tries = 2;
    open_pair(pair, true);
    for (; !sleeper_knows(pair, &bytes); tries++) {
        assert_true(tries < TRIES);
    }
    for (; !sleeper_is_believed(pair, &bytes); tries++) {
        assert_true(tries < TRIES);
    }
    assert_int_equal(bytes, tries * 100);
    pair[0]->ops->close(pair[0]);
    pair[1]->ops->close(pair[1]);
}

static void a_lane_tells_of_more(void **state)
{
    (void)state;
    enum { SENT = 20, ROOM = 16 };
    struct co_transport *pair[2];
    bool has_more = false;
    size_t bytes = 0;
    open_pair(pair, true);
    const struct co_transport_ops *ops = pair[1]->ops;
    assert_int_equal(ops->lane_open(pair[1], 2), 0);
    assert_int_equal(ops->poll(pair[1], 10, DELIVER_EACH(count_bytes, &bytes)), 0);
    assert_true(ops->lane_is_quiet(pair[1], 2));
    for (int i = 0; i < SENT; i++) {
        send_one(pair[0], 100 + (size_t)i % 2); // not one message for the kernel
    }
    assert_true(sleep_on(pair[1]));
    assert_int_equal(ops->poll(pair[1], 10, DELIVER_EACH(count_bytes, &bytes)), 0); // not poll's
    assert_false(ops->lane_is_quiet(pair[1], 2));
    int taken = 0;
    while (taken < SENT) { // two turns, or more where the kernel is late with some
        int got = ops->lane_receive(pair[1], 2, DELIVER_EACH(count_bytes, &bytes), &has_more);
        assert_in_range(got, 0, ROOM);
        assert_int_equal(has_more, got == ROOM);
        taken += got;
        assert_true(got > 0 || sleep_on(pair[1]));
    }
    assert_int_equal(bytes, SENT * 100 + SENT / 2);
    pair[0]->ops->close(pair[0]);
    ops->close(pair[1]);
}

// One MiB of full datagrams in batches as large as the transport likes; counts the system calls of both sides.
static void transfer_mib(bool plain, uint64_t *send_calls, uint64_t *receive_calls)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address addresses[2];
    struct co_tx_datagram batch[64];
    static uint8_t bytes[1472];
    size_t sent = 0, received = 0;

    config.plain = plain;
    struct co_transport *from = udp_opened(&config, &addresses[0]), *to = udp_opened(&config, &addresses[1]);
    for (int i = 0; i < 64; i++) {
        batch[i] = (struct co_tx_datagram){.head = bytes,
                                           .head_bytes = 40,
                                           .payload = bytes + 40,
                                           .payload_bytes = 1416,
                                           .tail = bytes,
                                           .tail_bytes = 16};
    }
    assert_int_equal(to->ops->join(to, 2), 0);
    *send_calls = co_counter_read(CO_COUNT_SEND_CALLS);
    *receive_calls = co_counter_read(CO_COUNT_RECEIVE_CALLS);
    while (received < 1 << 20) {
        int result = from->ops->send(from, (struct co_destination){CO_TO_GROUP, 2}, batch, from->max_batch);
        assert_true(result >= 0);
        sent += (size_t)result * 1472;
        while (received < sent) {
            assert_true(to->ops->poll(to, 256, DELIVER_EACH(count_bytes, &received)) >= 0);
            if (received < sent) {
                assert_true(sleep_on(to));
            }
        }
    }
    *send_calls = co_counter_read(CO_COUNT_SEND_CALLS) - *send_calls;
    *receive_calls = co_counter_read(CO_COUNT_RECEIVE_CALLS) - *receive_calls;
    from->ops->close(from);
    to->ops->close(to);
}

static void a_mebibyte_takes_few_system_calls(void **state)
{
    (void)state;
    uint64_t send_calls, receive_calls;

    transfer_mib(false, &send_calls, &receive_calls);
    print_message("offload: %u sending, %u receiving calls\n", (unsigned)send_calls, (unsigned)receive_calls);
    assert_true(send_calls <= 17);
    transfer_mib(true, &send_calls, &receive_calls);
    print_message("plain: %u sending, %u receiving calls\n", (unsigned)send_calls, (unsigned)receive_calls);
    assert_true(send_calls <= 20);
}

static void other_jobs_are_not_heard(void **state)
{
    (void)state;
    struct co_udp_config mine = udp_on_loopback(udp_fresh_tag()), theirs = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address addresses[2];
    struct co_tx_datagram datagram = {.head = "12345", .head_bytes = 5};
    struct co_transport *here = udp_opened(&mine, &addresses[0]), *there = udp_opened(&theirs, &addresses[1]);
    size_t received = 0;

    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(here->ops->join(here, i), 0);
        assert_int_equal(there->ops->send(there, (struct co_destination){CO_TO_GROUP, i}, &datagram, 1), 1);
    }
    assert_int_equal(co_udp_connect(there, addresses, 2, 1), 0);
    assert_int_equal(there->ops->send(there, (struct co_destination){CO_TO_PEER, 0}, &datagram, 1), 1);
    assert_true(sleep_on(here));
    while (here->ops->poll(here, 64, DELIVER_EACH(count_bytes, &received)) > 0) {
    }
    assert_int_equal(received, 5); // the unicast one
    here->ops->close(here);
    there->ops->close(there);
}

static bool has_offload(struct co_transport *udp)
{
    char text[256];
    co_udp_describe(udp, text, sizeof text);
    return strstr(text, "gso yes") != NULL;
}

// A flood of errors that somebody writes may hit all tries of a send: no more than that one goes without offload.
static void one_send_without_offload_is_no_interface_without(void **state)
{
    (void)state;
    enum { CALLS = 100, TRIES = 9 };
    const struct co_tx_datagram batch[] = {{.head = "12345", .head_bytes = 5}, {.head = "67890", .head_bytes = 5}};
    const struct co_destination group = {CO_TO_GROUP, 0};
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);
    bool had_offload = has_offload(udp);
    for (int i = 0; i < CALLS; i++) {
        segments_refused = i % 4 == 3 ? 0 : TRIES;
        assert_int_equal(udp->ops->send(udp, group, batch, 2), 2);
    }
    assert_int_equal(has_offload(udp), had_offload);
    segments_refused = CALLS * TRIES;
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(udp->ops->send(udp, group, batch, 2), 2);
    }
    assert_false(has_offload(udp));
    segments_refused = 0;
    udp->ops->close(udp);
}

struct flood {
    size_t of_group; // datagrams
};

static void note_group(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    (void)immediate;
    (void)data;
    ((struct flood *)arg)->of_group += size == 100;
}

// Who knows no key but a rank's port may send there faster than the rank can read: the groups are read all the same.
static void a_flooded_socket_leaves_turns_to_the_others(void **state)
{
    (void)state;
    enum { BUDGET = 8, AHEAD = 40, TURNS = 1000 };
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address addresses[2];
    struct co_tx_datagram junk[BUDGET];
    struct flood flood = {0};
    config.plain = true;
    struct co_transport *from = udp_opened(&config, &addresses[0]), *to = udp_opened(&config, &addresses[1]);
    for (int i = 0; i < BUDGET; i++) {
        junk[i] = (struct co_tx_datagram){.head = "12345", .head_bytes = 5};
    }
    assert_int_equal(to->ops->join(to, 2), 0);
    assert_int_equal(co_udp_connect(from, addresses, 2, 0), 0);
    for (int turn = 0; turn < TURNS && flood.of_group == 0; turn++) {
        for (int i = turn == 0 ? 0 : AHEAD - 1; i < AHEAD; i++) {
            assert_true(from->ops->send(from, (struct co_destination){CO_TO_PEER, 1}, junk, BUDGET) >= 0);
        }
        if (turn == 0) {
            send_one(from, 100);
        }
        assert_in_range(to->ops->poll(to, BUDGET, DELIVER_EACH(note_group, &flood)), 0, BUDGET);
    }
    assert_int_equal(flood.of_group, 1);
    from->ops->close(from);
    to->ops->close(to);
}

// Hears three datagrams in a process of its own; its status says whether they came.
static pid_t start_listener(const struct co_udp_config *config, int ready)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct co_udp_address address;
        struct co_transport *udp = NULL;
        char why[256];
        size_t received = 0;
        bool is_up = co_udp_open(&udp, config, &address, why, sizeof why) == 0 && udp->ops->join(udp, 0) == 0;
        if (write(ready, is_up ? "y" : "n", 1) != 1 || !is_up) {
            _exit(2);
        }
        while (received < 3 * 5 && sleep_on(udp)) {
            udp->ops->poll(udp, 64, DELIVER_EACH(count_bytes, &received));
        }
        _exit(received == 3 * 5 ? 0 : 1);
    }
    return pid;
}

static void processes_of_a_host_each_get_a_copy(void **state)
{
    (void)state;
    enum { LISTENERS = 3 };
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    struct co_transport *udp = udp_opened(&config, &address);
    struct co_tx_datagram datagrams[3];
    pid_t listeners[LISTENERS];
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < LISTENERS; i++) {
        char answer = 'n';
        listeners[i] = start_listener(&config, ready[1]);
        assert_true(listeners[i] > 0);
        assert_int_equal(read(ready[0], &answer, 1), 1);
        assert_int_equal(answer, 'y');
        datagrams[i] = (struct co_tx_datagram){.head = "12345", .head_bytes = 5};
    }
    assert_int_equal(udp->ops->send(udp, (struct co_destination){CO_TO_GROUP, 0}, datagrams, 3), 3);
    for (int i = 0; i < LISTENERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(listeners[i], &status, 0), listeners[i]);
        assert_int_equal(status, 0);
    }
    close(ready[0]);
    close(ready[1]);
    udp->ops->close(udp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sleeper_found),
        cmocka_unit_test(a_lane_tells_of_more),
        cmocka_unit_test(connecting_is_checked),
        cmocka_unit_test(a_mebibyte_takes_few_system_calls),
        cmocka_unit_test(other_jobs_are_not_heard),
        cmocka_unit_test(processes_of_a_host_each_get_a_copy),
        cmocka_unit_test(a_flooded_socket_leaves_turns_to_the_others),
        cmocka_unit_test(one_send_without_offload_is_no_interface_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy that closes its connections while words of it still wait here, since the other one does not read: those
// leave first. The other one is a child that reads only once this process sleeps: in the close, or, were it to close
// too early, in waiting for the child.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/poll.h"
#include "offload/proxy/proxy_peers.h"

enum { RECORD_BYTES = 1024, WAITING_BYTES = 8 << 20 };

static const uint8_t key[CO_AUTH_KEY_BYTES] = "key of a job of two proxies....";

static uint64_t came; // bytes of records, in the child
static int lost_error = 1;

static int record_take(void *context, int peer, enum co_carrier_connection connection, const uint8_t *record,
                       size_t bytes)
{
    (void)context, (void)peer, (void)connection, (void)record;
    came += bytes;
    return 0;
}

static void peer_lost(void *context, int peer, int error, const char *why)
{
    (void)context, (void)peer, (void)why;
    lost_error = error;
}

static bool is_asleep(pid_t process)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        _exit(3);
    }
    fclose(file);
    const char *behind_name = strrchr(line, ')');
    return behind_name != NULL && behind_name[2] == 'S';
}

static void carrier_turn(struct co_carrier_tcp *tcp)
{
    if (!co_carrier_tcp_turn(tcp, co_clock_now_ns(), false)) {
        struct pollfd asked = {.fd = co_carrier_tcp_descriptor(tcp), .events = POLLIN};
        (void)co_poll(&asked, 1, CO_NS_PER_MS);
    }
}

// Proxy 1. Hears, from `told`, how many bytes have been said to it.
static void child_run(const char *place, int told, pid_t parent)
{
    const struct co_carrier_tcp_peer peers[] = {{.host = "other", .place = place}, {.host = "self", .place = "-"}};
    struct co_carrier_tcp_config config = {.self = 1,
                                           .proxies = 2,
                                           .peers = peers,
                                           .key = key,
                                           .bulk_form = CO_AUTH_CHECK,
                                           .connect_ns = 600 * CO_NS_PER_S,
                                           .silent_ns = 600 * CO_NS_PER_S,
                                           .control_bytes_max = 1 << 20};
    struct co_carrier_tcp_output output = {.take = record_take, .lost = peer_lost};
    struct co_carrier_tcp *tcp;
    char why[CO_CARRIER_WHY_MAX];
    uint64_t said;

    if (co_carrier_tcp_open(&tcp, &config, &output, -1, co_clock_now_ns(), why) != 0) {
        _exit(1);
    }
    while (!co_carrier_tcp_is_connected(tcp)) {
        carrier_turn(tcp);
    }
    if (read(told, &said, sizeof said) != sizeof said) {
        _exit(2);
    }
    while (!is_asleep(parent)) {
        (void)usleep(1000);
    }
    while (lost_error == 1) {
        carrier_turn(tcp);
    }
    _exit(lost_error == 0 && came == said ? 0 : 4);
}

static void test_closes_behind_its_last_bytes(void **state)
{
    static const uint8_t record[RECORD_BYTES];
    struct co_offload_job job = {.self = 0, .proxies = 2, .ranks = 2, .auth = CO_AUTH_CHECK, .place = "127.0.0.1:0"};
    struct co_offload_peer list[2] = {{.host = "self"}, {.host = "other", .place = "127.0.0.1:1"}};
    struct co_proxy_peers peers;
    char why[CO_CARRIER_WHY_MAX];
    uint16_t port;
    uint64_t said = 0;
    int pipe_ends[2], status;

    (void)state;
    int listener = co_carrier_tcp_listen(job.place, &port, why);
    assert_true(listener >= 0);
    memcpy(job.key, key, sizeof job.key);
    job.deadline_ns = 600 * CO_NS_PER_S;
    snprintf(list[0].place, sizeof list[0].place, "127.0.0.1:%u", port);
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(listener);
        close(pipe_ends[1]);
        child_run(list[0].place, pipe_ends[0], parent);
    }
    assert_true(child > 0);
    assert_int_equal(co_proxy_peers_open(&peers, &job, list, listener, 600 * CO_NS_PER_S), 0);

    struct co_carrier *carrier = co_proxy_peers_carrier(&peers);
    while (said < co_carrier_tcp_counts(peers.tcp)->bytes_sent + WAITING_BYTES) {
        carrier->ops->control(carrier, 1, record, sizeof record);
        said += sizeof record;
    }
    assert_int_equal(write(pipe_ends[1], &said, sizeof said), sizeof said);
    co_proxy_peers_close(&peers);

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closes_behind_its_last_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

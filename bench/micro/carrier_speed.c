// SPDX-License-Identifier: BSD-3-Clause
//
// What bulk costs between two proxies over TCP, on one machine: a process sends records of 64 KiB to another one, by
// the carrier with each form of tags, and by plain send and recv of as many bytes at a time. Time of the wall, and
// processor time of each of the two, of a KiB. Best of several turns, in turn.
//
//   carrier_speed [MiB of each turn]
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tcp_socket.h"
#include "offload/carrier/tcp_carrier.h"
#include "offload/offload_record.h"

enum { TURNS = 5, PLAIN = 3, WAYS = 4, RECEIVED = 0, SENT = 1, RECORD = CO_OFFLOAD_RECORD_BYTES_MAX };

static const char *const names[WAYS] = {"keyed", "check", "no", "plain"};
static uint64_t came;
static bool has_left; // the other end
static uint8_t record[RECORD];

struct cost {
    double wall_ns, cpu_ns[2];
};

static void give_up(const char *what)
{
    fprintf(stderr, "carrier_speed: %s\n", what);
    exit(1);
}

static double cpu_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int take(void *context, int peer, enum co_carrier_connection connection, const uint8_t *data, size_t bytes)
{
    (void)context;
    (void)peer;
    (void)connection;
    (void)data;
    came += bytes;
    return 0;
}

static void lost(void *context, int peer, int error, const char *why)
{
    (void)context;
    (void)peer;
    if (error != 0) {
        give_up(why);
    }
    has_left = true;
}

static void turn_or_sleep(struct co_carrier_tcp *tcp)
{
    struct pollfd entry = {.fd = co_carrier_tcp_descriptor(tcp), .events = POLLIN};
    if (!co_carrier_tcp_turn(tcp, co_clock_now_ns(), true)) {
        poll(&entry, 1, 100);
    }
}

static struct co_carrier_tcp *carrier_open(const struct co_carrier_tcp_config *config, int listener)
{
    static const struct co_carrier_tcp_output output = {NULL, take, lost};
    char why[CO_CARRIER_WHY_MAX];
    struct co_carrier_tcp *tcp;
    if (co_carrier_tcp_open(&tcp, config, &output, listener, co_clock_now_ns(), why) != 0) {
        give_up(why);
    }
    while (!co_carrier_tcp_is_connected(tcp)) {
        turn_or_sleep(tcp);
    }
    return tcp;
}

static void carrier_send(struct co_carrier_tcp *tcp, uint64_t bytes)
{
    struct co_carrier *carrier = co_carrier_tcp_base(tcp);
    for (uint64_t sent = 0; sent < bytes;) {
        for (; sent < bytes && carrier->ops->has_room(carrier, 0); sent += RECORD) {
            carrier->ops->bulk(carrier, 0, record, RECORD);
        }
        turn_or_sleep(tcp);
    }
    co_carrier_tcp_leave(tcp, co_clock_now_ns());
    while (!co_carrier_tcp_has_left(tcp)) {
        turn_or_sleep(tcp);
    }
}

// One end of one turn. Returns its processor time.
static double end_run(int way, int self, uint64_t bytes, struct co_carrier_tcp_config *config, const int listeners[2],
                      const int pair[2])
{
    struct co_carrier_tcp *tcp = NULL;
    config->self = self;
    if (way != PLAIN) {
        config->bulk_form = (enum co_auth_form)way;
        tcp = carrier_open(config, listeners[self]);
    }
    double from = cpu_ns();
    if (way != PLAIN && self == SENT) {
        carrier_send(tcp, bytes);
    } else if (way != PLAIN) {
        while (!has_left) {
            turn_or_sleep(tcp);
        }
    } else if (self == SENT) {
        for (uint64_t sent = 0; sent < bytes; sent += RECORD) {
            if (send(pair[1], record, RECORD, 0) != RECORD) {
                give_up("send");
            }
        }
    } else {
        for (ssize_t count; came < bytes && (count = recv(pair[0], record, RECORD, 0)) > 0; came += (uint64_t)count) {
        }
    }
    from = cpu_ns() - from;
    co_carrier_tcp_close(tcp);
    return from;
}

// A connection over TCP whose ends wait.
static void pair_open(int pair[2])
{
    char why[CO_CARRIER_WHY_MAX];
    int listener = co_socket_listen("127.0.0.1:0", "0", why, sizeof why);
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    if (listener < 0 || getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
        give_up("listen");
    }
    pair[SENT] = co_socket_connect((struct sockaddr *)&address, bytes);
    struct pollfd entry = {.fd = listener, .events = POLLIN};
    poll(&entry, 1, -1);
    pair[RECEIVED] = accept(listener, NULL, NULL);
    close(listener);
    if (pair[SENT] < 0 || pair[RECEIVED] < 0 || fcntl(pair[SENT], F_SETFL, 0) != 0) {
        give_up("connect");
    }
}

static void turn_run(int way, uint64_t bytes, struct cost *best)
{
    static const uint8_t key[CO_AUTH_KEY_BYTES] = {1};
    struct co_carrier_tcp_peer peers[2];
    char places[2][32], why[CO_CARRIER_WHY_MAX];
    int listeners[2] = {-1, -1}, pair[2] = {-1, -1}, result[2];
    double cpu[2] = {0};
    for (int i = 0; i < 2; i++) {
        uint16_t port;
        listeners[i] = co_carrier_tcp_listen("127.0.0.1:0", &port, why);
        snprintf(places[i], sizeof places[i], "127.0.0.1:%u", port);
        peers[i] = (struct co_carrier_tcp_peer){"here", places[i]};
    }
    pair_open(pair);
    struct co_carrier_tcp_config config = {.proxies = 2,
                                           .peers = peers,
                                           .key = key,
                                           .connect_ns = 10 * CO_NS_PER_S,
                                           .silent_ns = 60 * CO_NS_PER_S,
                                           .control_bytes_max = 1 << 20};
    if (pipe(result) != 0) {
        give_up("pipe");
    }
    uint64_t from_ns = co_clock_now_ns();
    pid_t child = fork();
    if (child == 0) {
        cpu[SENT] = end_run(way, SENT, bytes, &config, listeners, pair);
        _exit(write(result[1], &cpu[SENT], sizeof(double)) == sizeof(double) ? 0 : 1);
    }
    came = 0;
    has_left = false;
    close(result[1]); // so that a sender that fails is noticed
    cpu[RECEIVED] = end_run(way, RECEIVED, bytes, &config, listeners, pair);
    double wall_ns = (double)(co_clock_now_ns() - from_ns);
    if (read(result[0], &cpu[SENT], sizeof(double)) != sizeof(double) || waitpid(child, NULL, 0) != child) {
        give_up("the sender has failed");
    }
    close(result[0]);
    for (int i = 0; i < 2; i++) {
        close(pair[i]);
        if (way == PLAIN || i == SENT) { // the carrier has the other one
            close(listeners[i]);
        }
        best->cpu_ns[i] = best->cpu_ns[i] == 0 || cpu[i] < best->cpu_ns[i] ? cpu[i] : best->cpu_ns[i];
    }
    best->wall_ns = best->wall_ns == 0 || wall_ns < best->wall_ns ? wall_ns : best->wall_ns;
}

int main(int argc, char **argv)
{
    int mib = argc > 1 ? atoi(argv[1]) : 1024;
    struct cost best[WAYS] = {0};
    if (mib < 1 || mib > 1 << 20) {
        give_up("MiB of each turn");
    }
    memset(record, 'x', sizeof record);
    uint64_t bytes = ((uint64_t)mib << 20) / RECORD * RECORD + RECORD;
    for (int i = 0; i < TURNS * WAYS; i++) {
        turn_run(i % WAYS, bytes, &best[i % WAYS]);
    }
    printf("tags     GiB/s   ns/KiB: wall   sender   receiver\n");
    for (int way = 0; way < WAYS; way++) {
        double kib = (double)bytes / 1024;
        printf("%-8s %5.2f          %6.1f   %6.1f     %6.1f\n", names[way],
               kib / 1024 / 1024 / (best[way].wall_ns / 1e9), best[way].wall_ns / kib, best[way].cpu_ns[SENT] / kib,
               best[way].cpu_ns[RECEIVED] / kib);
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The protocol alone over UDP, without MPI: one process for each member, on one host or many. Members find each other
// through files in a directory that all of them see. Every byte is checked, outside the timed part; members 0 and 1
// print bytes, median and worst microseconds of their operations, the processor time that one takes of theirs, and,
// with MCAST_SPEED_COUNTERS set, what the counters say.
//
//   mcast_speed INDEX COUNT DIRECTORY INTERFACE bcast|allgather BYTES REPEATS
//
// Authentication, window and the rest come from the CASTOFF_* settings.
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "mcast/mcast.h"
#include "transport/udp/udp.h"
#include "mcast/wire/wire.h"

#define MEMBERS_MAX 256
#define PATTERN_STARTS 256

struct bench {
    int index, count;
    const char *directory;
    struct co_transport *udp;
    struct co_auth *auth;
    struct co_mcast *mcast;
    struct co_mcast_group *group;
    unsigned char *pattern;
    uint64_t cpu_ns; // used by this member in timed operations
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "mcast_speed: %s: %s\n", what, why);
    exit(1);
}

static void publish(const struct bench *bench, const struct co_udp_address *mine)
{
    char path[512], temporary[520];
    snprintf(path, sizeof(path), "%s/member.%d", bench->directory, bench->index);
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *file = fopen(temporary, "wb");
    if (file == NULL || fwrite(mine, sizeof(*mine), 1, file) != 1 || fclose(file) != 0 ||
        rename(temporary, path) != 0) {
        fail("publish", path);
    }
}

static void collect(const struct bench *bench, struct co_udp_address *all)
{
    for (int i = 0; i < bench->count; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/member.%d", bench->directory, i);
        FILE *file;
        while ((file = fopen(path, "rb")) == NULL) {
            poll(NULL, 0, 5);
        }
        if (fread(&all[i], sizeof(all[i]), 1, file) != 1) {
            fail("read", path);
        }
        fclose(file);
    }
}

static void open_transport(struct bench *bench, const char *interface)
{
    struct co_udp_config config = {.interface = interface,
                                   .group_range = co_setting_text(CO_SET_UDP_GROUP),
                                   .job_tag = 7,
                                   .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                   .ttl = 1,
                                   .mtu_bytes = (size_t)co_setting_number(CO_SET_UDP_MTU),
                                   .receive_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_RCVBUF),
                                   .send_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_SNDBUF)};
    struct co_udp_address mine, all[MEMBERS_MAX];
    char why[200];
    if (co_udp_open(&bench->udp, &config, &mine, why, sizeof(why)) < 0) {
        fail("udp", why);
    }
    publish(bench, &mine);
    collect(bench, all);
    co_udp_connect(bench->udp, all, bench->count, bench->index);
}

static void open_protocol(struct bench *bench)
{
    uint8_t key[CO_AUTH_KEY_BYTES] = {1};
    co_auth_open(&bench->auth, key, bench->count, (enum co_auth_form)co_setting_number(CO_SET_AUTH));
    struct co_mcast_config config = {.transport = bench->udp,
                                     .auth = bench->auth,
                                     .world_rank = bench->index,
                                     .world_size = bench->count,
                                     .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                     .chunk_bytes = bench->udp->max_datagram_bytes - CO_WIRE_HEAD_BYTES -
                                                    co_auth_tag_bytes(bench->auth),
                                     .window_bytes = (size_t)co_setting_number(CO_SET_MCAST_WINDOW),
                                     .shared_window_bytes = (size_t)co_setting_number(CO_SET_MCAST_SHARED_WINDOW),
                                     .staging_bytes = (size_t)co_setting_number(CO_SET_MCAST_STAGING),
                                     .eager_bytes = (size_t)co_setting_number(CO_SET_MCAST_EAGER),
                                     .collect_bytes = (size_t)co_setting_number(CO_SET_MCAST_COLLECT),
                                     .chains = (unsigned)co_setting_number(CO_SET_MCAST_CHAINS),
                                     .ack_radix = (unsigned)co_setting_number(CO_SET_MCAST_ACK_RADIX),
                                     .cutoff_ns = (uint64_t)co_setting_number(CO_SET_MCAST_CUTOFF)};
    int members[MEMBERS_MAX];
    for (int i = 0; i < bench->count; i++) {
        members[i] = i;
    }
    struct co_mcast_seed *seed;
    if (co_mcast_open(&bench->mcast, &config) < 0 ||
        co_mcast_seed_open(&seed, bench->mcast, 99, members, bench->count, bench->index) < 0 ||
        co_mcast_group_open(&bench->group, bench->mcast, seed, NULL) < 0) {
        fail("protocol", "cannot open");
    }
}

static void sleep_for_event(struct bench *bench)
{
    bool wants_write;
    uint64_t timer = co_mcast_next_timer_ns(bench->mcast, &wants_write), now = co_clock_now_ns();
    uint64_t wait = timer <= now ? 0 : timer - now < 1000000 ? timer - now : 1000000;
    struct pollfd fds[32];
    int count = bench->udp->ops->descriptors(bench->udp, fds, 32, wants_write);
    struct timespec pause = {0, (long)wait};
    ppoll(fds, (nfds_t)count, &pause, NULL);
}

static void wait_for(struct bench *bench, struct co_mcast_op *op)
{
    int idle = 0;
    while (co_mcast_op_state(op) == 0) {
        idle = co_mcast_progress(bench->mcast, co_clock_now_ns()) > 0 ? 0 : idle + 1;
        if (idle > 3) {
            sleep_for_event(bench);
        }
    }
    if (co_mcast_op_state(op) < 0) {
        fail("operation", strerror(-co_mcast_op_state(op)));
    }
}

// Bytes of block `seed`: a stretch of one pattern, so that filling and checking cost no more than a copy.
static const unsigned char *expected(const struct bench *bench, int seed)
{
    return bench->pattern + seed % PATTERN_STARTS;
}

static void make_pattern(struct bench *bench, size_t bytes)
{
    bench->pattern = malloc(bytes + PATTERN_STARTS);
    for (size_t i = 0; i < bytes + PATTERN_STARTS; i++) {
        bench->pattern[i] = (unsigned char)(i * 7 + (i >> 8));
    }
}

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * CO_NS_PER_S + (uint64_t)used.tv_nsec;
}

static void run_operation(struct bench *bench, bool is_bcast, unsigned char *buffer, size_t bytes)
{
    struct co_mcast_op *op;
    uint64_t now_ns = co_clock_now_ns();
    int status = is_bcast ? co_mcast_bcast_start(&op, bench->group, 0, buffer, bytes, now_ns)
                          : co_mcast_allgather_start(&op, bench->group, buffer, bytes, now_ns);
    if (status < 0) {
        fail("start", strerror(-status));
    }
    wait_for(bench, op);
    co_mcast_op_release(op);
}

// A small allgather first: nobody is still checking the last one when the clock starts.
static uint64_t one_operation(struct bench *bench, bool is_bcast, unsigned char *buffer, size_t bytes, int seed)
{
    unsigned char here[MEMBERS_MAX];
    size_t own = is_bcast ? 0 : (size_t)bench->index * bytes;
    if (!is_bcast || bench->index == 0) {
        memcpy(buffer + own, expected(bench, seed + (is_bcast ? 0 : bench->index)), bytes);
    }
    run_operation(bench, false, here, 1);
    uint64_t start = co_clock_now_ns(), cpu = cpu_ns();
    run_operation(bench, is_bcast, buffer, bytes);
    uint64_t took = co_clock_now_ns() - start;
    bench->cpu_ns += cpu_ns() - cpu;
    for (int i = 0; i < (is_bcast ? 1 : bench->count); i++) {
        if (memcmp(buffer + (size_t)i * bytes, expected(bench, seed + i), bytes) != 0) {
            fail("check", "wrong byte");
        }
    }
    return took;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void drain(struct bench *bench)
{
    uint64_t end = co_clock_now_ns() + 2 * CO_NS_PER_S;
    while (!co_mcast_is_idle(bench->mcast) && co_clock_now_ns() < end) {
        if (co_mcast_progress(bench->mcast, co_clock_now_ns()) == 0) {
            sleep_for_event(bench);
        }
    }
}

static void print_counters(void)
{
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        if (co_counter_read((enum co_counter_id)i) > 0) {
            printf("#   %-28s %lu\n", co_counter_row((enum co_counter_id)i)->name,
                   (unsigned long)co_counter_read((enum co_counter_id)i));
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fail("usage", "mcast_speed INDEX COUNT DIRECTORY INTERFACE bcast|allgather BYTES REPEATS");
    }
    struct bench bench = {.index = atoi(argv[1]), .count = atoi(argv[2]), .directory = argv[3]};
    if (bench.count < 1 || bench.count > MEMBERS_MAX) {
        fail("usage", "COUNT is out of range");
    }
    bool is_bcast = strcmp(argv[5], "bcast") == 0;
    size_t bytes = strtoul(argv[6], NULL, 0);
    int repeats = atoi(argv[7]);
    co_settings_load();
    open_transport(&bench, argv[4]);
    open_protocol(&bench);
    unsigned char *buffer = malloc(bytes * (size_t)(is_bcast ? 1 : bench.count));
    uint64_t *took = calloc((size_t)repeats, sizeof(*took));
    make_pattern(&bench, bytes > 64 ? bytes : 64);
    one_operation(&bench, false, calloc(64, (size_t)bench.count), 64, 0); // all are there
    bench.cpu_ns = 0;
    for (int i = 0; i < repeats; i++) {
        took[i] = one_operation(&bench, is_bcast, buffer, bytes, i);
    }
    qsort(took, (size_t)repeats, sizeof(*took), ascending);
    drain(&bench);
    if (bench.index <= 1) {
        printf("%d %s %zu median %.1f us worst %.1f us processor %.1f us\n", bench.index, argv[5], bytes,
               (double)took[repeats / 2] / 1e3, (double)took[repeats - 1] / 1e3, (double)bench.cpu_ns / 1e3 / repeats);
        if (getenv("MCAST_SPEED_COUNTERS") != NULL) {
            print_counters();
        }
    }
    return 0;
}

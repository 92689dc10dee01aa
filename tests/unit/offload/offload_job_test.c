// SPDX-License-Identifier: BSD-3-Clause
//
// What a starter and its proxy say to each other, there and back, and what is no job.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_job.h"

static struct co_offload_job a_job(void)
{
    struct co_offload_job job = {.self = 1,
                                 .proxies = 2,
                                 .ranks = 5,
                                 .lend = CO_OFFLOAD_LEND_STAGE,
                                 .groups_max = 3,
                                 .ends_max = 4,
                                 .sources = (uint32_t)15 << 24,
                                 .staging_bytes = (uint64_t)1 << 40,
                                 .auth = 2,
                                 .deadline_ns = 13,
                                 .first_number = (uint64_t)14 << 56,
                                 .place = "10.0.0.2:0",
                                 .has_cores = true};
    memset(job.key, 11, sizeof job.key);
    memset(job.cores, 12, sizeof job.cores);
    memset(job.rank_cores, 13, sizeof job.rank_cores);
    return job;
}

static void a_job_comes_as_it_went(void **state)
{
    (void)state;
    struct co_offload_job job = a_job(), back;
    uint8_t bytes[CO_OFFLOAD_JOB_BYTES], again[CO_OFFLOAD_JOB_BYTES];

    co_offload_job_encode(bytes, &job);
    assert_int_equal(bytes[CO_OFFLOAD_JOB_BYTES - 1], 15); // nothing is left out
    assert_int_equal(co_offload_job_decode(&back, bytes), 0);
    co_offload_job_encode(again, &back);
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_int_equal(back.self, 1);
    assert_int_equal(back.ranks, 5);
    assert_int_equal(back.staging_bytes, (uint64_t)1 << 40);
}

static void what_is_no_job_is_refused(void **state)
{
    (void)state;
    struct co_offload_job back;
    uint8_t bytes[CO_OFFLOAD_JOB_BYTES];

    for (int wrong = 0; wrong < 12; wrong++) {
        struct co_offload_job job = a_job();
        job.self = wrong == 0 ? 2 : job.self;
        job.proxies = wrong == 1 ? 6 : wrong == 2 ? 0 : job.proxies;
        job.ranks = wrong == 3 ? 0 : wrong == 4 ? CO_OFFLOAD_JOB_RANKS_MAX + 1 : job.ranks;
        job.lend = wrong == 5 ? CO_OFFLOAD_LENDS : job.lend;
        job.groups_max = wrong == 6 ? 0 : job.groups_max;
        job.ends_max = wrong == 7 ? 0 : job.ends_max;
        job.auth = wrong == 8 ? 3 : job.auth;
        job.deadline_ns = wrong == 9 ? 0 : job.deadline_ns;
        job.place[0] = wrong == 10 ? '\0' : job.place[0]; // others could not find it
        job.proxies = wrong == 11 ? 1 : job.proxies;      // nobody looks for it
        job.self = wrong == 11 ? 0 : job.self;
        co_offload_job_encode(bytes, &job);
        assert_int_equal(co_offload_job_decode(&back, bytes), -EPROTO);
    }
    struct co_offload_job job = a_job();
    co_offload_job_encode(bytes, &job);
    bytes[7] ^= 1;
    assert_int_equal(co_offload_job_decode(&back, bytes), -EPROTO);
    bytes[7] ^= 1;
    assert_int_equal(co_offload_job_decode(&back, bytes), 0);
    bytes[336 + CO_OFFLOAD_PLACE_BYTES - 1] = 'x'; // behind the end of a text
    assert_int_equal(co_offload_job_decode(&back, bytes), -EPROTO);
}

static void ranks_of_a_proxy_have_processes(void **state)
{
    (void)state;
    struct co_offload_job job = a_job();
    struct co_offload_job_rank back, rank = {.proxy = 1, .process = 77};
    uint8_t bytes[CO_OFFLOAD_JOB_RANK_BYTES];

    co_offload_job_rank_encode(bytes, &rank);
    assert_int_equal(co_offload_job_rank_decode(&back, bytes, &job), 0);
    assert_int_equal(back.proxy, 1);
    assert_int_equal(back.process, 77);
    const struct co_offload_job_rank wrong[] = {{.proxy = 0, .process = 77}, // another proxy's
                                                {.proxy = 1, .process = 0},
                                                {.proxy = 2, .process = 77},
                                                {.proxy = 1, .process = UINT32_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        co_offload_job_rank_encode(bytes, &wrong[i]);
        assert_int_equal(co_offload_job_rank_decode(&back, bytes, &job), -EPROTO);
    }
}

static void who_has_started_has_a_name(void **state)
{
    (void)state;
    struct co_offload_started started = {.process = 5, .port = 4000, .cores = 2, .name = "castoff-proxy-1"}, back;
    uint8_t bytes[CO_OFFLOAD_STARTED_BYTES];

    co_offload_started_encode(bytes, &started);
    assert_int_equal(co_offload_started_decode(&back, bytes), 0);
    assert_string_equal(back.name, started.name);
    assert_int_equal(back.port, 4000);
    assert_int_equal(back.process, 5);
    assert_int_equal(back.cores, 2);
    started.error = ENOMEM; // and a name
    co_offload_started_encode(bytes, &started);
    assert_int_equal(co_offload_started_decode(&back, bytes), -EPROTO);
    started.name[0] = '\0';
    co_offload_started_encode(bytes, &started);
    assert_int_equal(co_offload_started_decode(&back, bytes), 0);
    memset(bytes + 24, 'x', CO_LOCAL_NAME_MAX); // without an end
    bytes[8] = 0;
    assert_int_equal(co_offload_started_decode(&back, bytes), -EPROTO);
}

static void peers_have_places(void **state)
{
    (void)state;
    struct co_offload_peer peer = {.host = "node1", .place = "10.0.0.2:4000"}, back;
    uint8_t bytes[CO_OFFLOAD_PEER_BYTES];

    co_offload_peer_encode(bytes, &peer);
    assert_int_equal(co_offload_peer_decode(&back, bytes), 0);
    assert_string_equal(back.host, "node1");
    assert_string_equal(back.place, "10.0.0.2:4000");
    memset(bytes + CO_OFFLOAD_PLACE_BYTES, 'x', CO_OFFLOAD_PLACE_BYTES);
    assert_int_equal(co_offload_peer_decode(&back, bytes), -EPROTO);
    memset(bytes + CO_OFFLOAD_PLACE_BYTES, 0, CO_OFFLOAD_PLACE_BYTES);
    assert_int_equal(co_offload_peer_decode(&back, bytes), -EPROTO);
}

static void who_is_connected_says_so_or_why_not(void **state)
{
    (void)state;
    struct co_offload_connected connected = {.error = EHOSTUNREACH, .why = "no route"}, back;
    uint8_t bytes[CO_OFFLOAD_CONNECTED_BYTES];

    co_offload_connected_encode(bytes, &connected);
    assert_int_equal(co_offload_connected_decode(&back, bytes), 0);
    assert_int_equal(back.error, EHOSTUNREACH);
    assert_string_equal(back.why, "no route");
    bytes[12] = 1;
    assert_int_equal(co_offload_connected_decode(&back, bytes), -EPROTO);
    bytes[12] = 0;
    bytes[0] = 'x';
    assert_int_equal(co_offload_connected_decode(&back, bytes), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_comes_as_it_went),
        cmocka_unit_test(what_is_no_job_is_refused),
        cmocka_unit_test(ranks_of_a_proxy_have_processes),
        cmocka_unit_test(who_has_started_has_a_name),
        cmocka_unit_test(peers_have_places),
        cmocka_unit_test(who_is_connected_says_so_or_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What datagrams do to a seed: authentic ones open the group of the team that they belong to, forged and foreign ones
// open nothing, those that find no memory are dropped, and closed seeds are forgotten.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/state/seed.h"
#include "mcast_inside.h"
#include "mcast_seeds.h"

#define ALIKE UINT64_C(0x300000009) // on the wire

// A chunk that member `source` of the team would send, sealed with the keys of a job.
static size_t make_chunk(unsigned char *to, struct co_auth *auth, uint64_t team, int source, uint32_t psn,
                         size_t chunk_bytes)
{
    struct co_chunk chunk = {.source = (uint16_t)source,
                             .chunk_bytes = (uint16_t)chunk_bytes,
                             .team = (uint32_t)team,
                             .psn = psn,
                             .block_bytes = 1000 * chunk_bytes};
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_encode(to, &chunk);
    memset(to + CO_WIRE_HEAD_BYTES, 7, chunk_bytes);
    co_wire_chunk_nonce(nonce, &chunk);
    size_t bytes = CO_WIRE_HEAD_BYTES + chunk_bytes;
    co_auth_seal(auth, CO_AUTH_CHUNK, source, team, nonce, to, bytes, NULL, 0, to + bytes);
    return bytes + co_auth_tag_bytes(auth);
}

static void deliver(struct job *job, struct co_auth *auth, uint64_t team, int source, uint32_t psn)
{
    unsigned char datagram[9000];
    size_t bytes = make_chunk(datagram, auth, team, source, psn, job->world.options.chunk_bytes);
    inside_deliver(job->world.mcast[0], &(struct co_arrival){.data = datagram, .bytes = (uint32_t)bytes}, 1);
}

static void forged_ones_open_nothing(void **state)
{
    (void)state;
    struct job *job = open_job(NULL);
    uint8_t key[CO_AUTH_KEY_BYTES] = {43}; // not the job's
    struct co_auth *others;
    assert_int_equal(co_auth_open(&others, key, MEMBERS, job->world.options.form), 0);
    counted(CO_COUNT_DROP_FORGED);
    counted(CO_COUNT_DROP_FOREIGN);
    counted(CO_COUNT_DROP_OWN);
    counted(CO_COUNT_OPENED_BY_OTHERS);
    for (unsigned i = 0; i < 3000; i++) {
        deliver(job, others, TEAM, 1 + (int)(i % (MEMBERS - 1)), i % 1000);
        deliver(job, job->world.auth[1], TEAM + 1, 1, i % 1000); // authentic, of a team of others
        deliver(job, job->world.auth[1], TEAM, 0, i % 1000);     // our own
        deliver(job, job->world.auth[1], ALIKE + ALIKE, 1, i % 1000);
    }
    assert_null(job->seed[0]->group);
    assert_int_equal(counted(CO_COUNT_DROP_FORGED), 3000);
    assert_int_equal(counted(CO_COUNT_DROP_FOREIGN), 6000);
    assert_int_equal(counted(CO_COUNT_DROP_OWN), 3000);
    assert_int_equal(counted(CO_COUNT_OPENED_BY_OTHERS), 0);
    deliver(job, job->world.auth[1], TEAM, 1, 0);
    assert_non_null(job->seed[0]->group);
    co_auth_close(others);
    close_job(job);
}

// Of two teams that look alike on the wire the one that is meant is opened, whichever stands first in the map.
static void the_right_one_is_opened(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct job *job = open_job(NULL);
        struct co_mcast_seed *alike = seed_of(job, 0, ALIKE);
        struct co_mcast_seed *meant = i == 0 ? alike : job->seed[0], *other = i == 0 ? job->seed[0] : alike;
        counted(CO_COUNT_DROP_FORGED);
        deliver(job, job->world.auth[2], meant->team_id, 2, 5);
        assert_non_null(meant->group);
        assert_null(other->group);
        assert_int_equal(counted(CO_COUNT_DROP_FORGED), 0);
        co_mcast_seed_close(job->world.mcast[0], job->seed[0]);
        deliver(job, job->world.auth[2], ALIKE, 1, 5); // found without the other one before it
        assert_non_null(alike->group);
        job->seed[0] = alike;
        close_job(job);
    }
}

static void no_memory_is_a_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) { // two allocations
        struct job *job = open_job(NULL);
        counted(CO_COUNT_DROP_NO_MEMORY);
        until_failure = i;
        failures = 0;
        deliver(job, job->world.auth[1], TEAM, 1, 0);
        assert_int_equal(failures, 1);
        assert_null(job->seed[0]->group);
        assert_int_equal(counted(CO_COUNT_DROP_NO_MEMORY), 1);
        deliver(job, job->world.auth[1], TEAM, 1, 0);
        assert_non_null(job->seed[0]->group);
        assert_int_equal(counted(CO_COUNT_DROP_NO_MEMORY), 0);
        close_job(job);
    }
}

static void a_closed_seed_is_forgotten(void **state)
{
    (void)state;
    struct job *job = open_job(NULL);
    size_t places = inside_seeds(job->world.mcast[0]);
    co_mcast_seed_close(job->world.mcast[0], job->seed[0]);
    job->seed[0] = NULL;
    assert_int_equal(inside_seeds(job->world.mcast[0]), places - 1);
    counted(CO_COUNT_DROP_FOREIGN);
    counted(CO_COUNT_OPENED_BY_OTHERS);
    deliver(job, job->world.auth[1], TEAM, 1, 0);
    assert_int_equal(counted(CO_COUNT_DROP_FOREIGN), 1);
    assert_int_equal(counted(CO_COUNT_OPENED_BY_OTHERS), 0);
    close_job(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_ones_open_nothing),
        cmocka_unit_test(the_right_one_is_opened),
        cmocka_unit_test(no_memory_is_a_loss),
        cmocka_unit_test(a_closed_seed_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

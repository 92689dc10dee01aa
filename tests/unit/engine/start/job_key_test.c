// SPDX-License-Identifier: BSD-3-Clause
//
// The key of a job: all ranks have the same one; who listens to the exchanges of the start does not hear it; what is
// changed on its way is found out by everybody; core files do not have it, and nothing of it stays in memory. The key
// is what co_auth_open is given (wrapped, mk/tests.mk).
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_inside.h"
#include "engine_job.h"
#include "key_hunt.h"
#include "base/auth/auth.h"

enum { RANKS = 7, NODES = 3, TAPE = 1 << 20, SEALED = 48 };

// Nodes of 4, 2 and 1 ranks: the sizes of the exchanges tell them apart.
static const int nodes[RANKS] = {0, 1, 0, 1, 2, 0, 0};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct key_hunt hunt; // under the lock while ranks start
static unsigned opened, differing;
static uint8_t tape[TAPE];
static size_t taped;
static size_t changed_bytes, changed_at; // the exchange of this size is changed there
static const char *blamed;

int __real_co_auth_open(struct co_auth **out, const uint8_t key[CO_AUTH_KEY_BYTES], int ranks, enum co_auth_form form);
int __wrap_co_auth_open(struct co_auth **out, const uint8_t key[CO_AUTH_KEY_BYTES], int ranks, enum co_auth_form form);

int __wrap_co_auth_open(struct co_auth **out, const uint8_t key[CO_AUTH_KEY_BYTES], int ranks, enum co_auth_form form)
{
    pthread_mutex_lock(&lock);
    if (opened++ == 0) {
        key_hunt_learn(&hunt, key);
    }
    differing += !key_hunt_is_in(&hunt, key, CO_AUTH_KEY_BYTES);
    pthread_mutex_unlock(&lock);
    return __real_co_auth_open(out, key, ranks, form);
}

static void listen_in(unsigned char *data, size_t bytes)
{
    pthread_mutex_lock(&lock);
    if (bytes == changed_bytes) {
        data[changed_at] ^= 1;
    }
    job_require(bytes <= TAPE - taped, "the tape is full");
    memcpy(tape + taped, data, bytes);
    taped += bytes;
    pthread_mutex_unlock(&lock);
}

static void run(void (*body)(struct job_rank *rank))
{
    opened = differing = 0;
    taped = 0;
    engine_job_listener = listen_in;
    engine_job_run(RANKS, nodes, body);
    engine_job_listener = NULL;
}

static void works(struct job_rank *rank)
{
    char data[] = "from the root";
    job_require(rank->open_status == 0 && inside_has_multicast(rank->engine), rank->why);
    struct co_team *team = engine_job_world(rank, 31);
    job_require(co_team_bcast(team, 4, data, sizeof data, NULL) == 0, "bcast");
    co_team_close(team);
}

static void all_have_it_and_nobody_hears_it(void **state)
{
    (void)state;
    run(works);
    assert_int_equal(opened, RANKS);
    assert_int_equal(differing, 0);
    assert_true(taped > (size_t)RANKS * CO_AUTH_KEY_BYTES);
    assert_false(key_hunt_is_in(&hunt, tape, taped));
}

static void another_one_each_time(void **state)
{
    (void)state;
    run(works);
    struct key_hunt first = hunt;
    run(works);
    assert_memory_not_equal(first.masked, hunt.masked, sizeof hunt.masked);
}

static void goes_without_multicast(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why); // nodes have shared memory
    job_require(!inside_has_multicast(rank->engine), "a rank uses the network without the key");
    job_require(strstr(inside_network_text(rank->engine), "no keys for datagrams (Bad message)") != NULL ||
                    strstr(inside_network_text(rank->engine), blamed) != NULL,
                inside_network_text(rank->engine));
}

static void what_is_changed_is_found_out(void **state)
{
    (void)state;
    changed_bytes = NODES * SEALED; // for the first rank of a node, so for all ranks there
    changed_at = 1 * SEALED + 5;
    blamed = "rank 1 could not open UDP multicast (Bad message)";
    run(goes_without_multicast);
    changed_at = 2 * SEALED + 47;
    blamed = "rank 4 could not open UDP multicast (Bad message)";
    run(goes_without_multicast);
    changed_bytes = 4 * SEALED; // for one rank of node 0
    changed_at = 2 * SEALED;
    blamed = "rank 5 could not open UDP multicast (Bad message)";
    run(goes_without_multicast);
    changed_bytes = 0;
}

static void look_while_it_is_used(struct job_rank *rank)
{
    works(rank);
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 0) {
        job_require(key_hunt_go(&hunt) == 0, "memory can be read");
        job_require(hunt.found >= RANKS, "every rank has it");
        job_require(hunt.dumped == 0, "a core file would have the key of the job");
    }
    pthread_barrier_wait(&rank->job->all);
}

static void in_no_core_file_and_gone_at_the_end(void **state)
{
    (void)state;
    run(look_while_it_is_used);
    assert_int_equal(key_hunt_go(&hunt), 0);
    assert_int_equal(hunt.found, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_it_and_nobody_hears_it),
        cmocka_unit_test(another_one_each_time),
        cmocka_unit_test(what_is_changed_is_found_out),
        cmocka_unit_test(in_no_core_file_and_gone_at_the_end),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}

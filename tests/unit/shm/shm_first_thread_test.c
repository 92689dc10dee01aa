// SPDX-License-Identifier: BSD-3-Clause
//
// A peer whose first thread has ended (pthread_exit in main) while another one goes on looks to /proc like a process
// that has ended. It is not taken for dead, neither by a descriptor nor by its number.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_node.h"
#include "shm_job.h"

static bool first_thread_has_ended(void)
{
    char line[256] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    if (file == NULL) {
        return false;
    }
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *end = strrchr(line, ')');
    return is_read && end != NULL && strncmp(end, ") Z", 3) == 0;
}

static void *second_thread(void *arg)
{
    struct shm_rank *self = arg;
    while (!first_thread_has_ended()) {
        sched_yield();
    }
    shm_job_barrier(self);
    shm_job_barrier(self);
    raise(SIGKILL);
    return NULL;
}

static int first_thread_ends(struct shm_rank *self)
{
    if (self->rank == 1) {
        pthread_t thread;
        SHM_CHECK(pthread_create(&thread, NULL, second_thread, self) == 0);
        pthread_exit(NULL);
    }
    shm_job_barrier(self);
    SHM_CHECK(co_shm_node_dead_peer(self->node) == -1 && !co_shm_node_is_gone(self->node, 1));
    shm_job_barrier(self);
    while (co_shm_node_dead_peer(self->node) != 1) {
        sched_yield();
    }
    return 0;
}

static void who_goes_on_without_its_first_thread_lives(void **state)
{
    struct shm_job_options options = {.size = 2};

    (void)state;
    assert_int_equal(shm_job_run_with_victim(&options, first_thread_ends, 1), 0);
    options.by_number = true;
    assert_int_equal(shm_job_run_with_victim(&options, first_thread_ends, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_goes_on_without_its_first_thread_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

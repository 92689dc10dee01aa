// SPDX-License-Identifier: BSD-3-Clause
//
// Large operations that fail on one member: afterwards nobody writes to its memory, and nobody takes what it finds
// there for the operation's, not even who is in the middle of a copy. One thread moves all members, and
// process_vm_writev is ours.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_team.h"
#include "shm_job.h"

enum { BYTES = 4500001, MEMBERS = 3, TURNS = 50, YIELDS = 2000 };

#define OURS_AGAIN 0x5a // what a program writes after the failure

static struct co_shm_team *teams[MEMBERS];

// Who gives up during the next copy outwards.
static struct co_shm_op *gives_up;
static atomic_bool has_given_up, gave_up_during_copy;

static void *give_up(void *arg)
{
    co_shm_op_abandon(arg);
    atomic_store(&has_given_up, true);
    return NULL;
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count, const struct iovec *remote,
                          unsigned long remote_count, unsigned long flags)
{
    static pthread_t thread;
    struct co_shm_op *op = gives_up;

    if (op) {
        gives_up = NULL;
        pthread_create(&thread, NULL, give_up, op);
        pthread_detach(thread);
        for (int i = 0; i < YIELDS; i++) {
            sched_yield();
        }
        gave_up_during_copy = atomic_load(&has_given_up);
    }
    return syscall(SYS_process_vm_writev, pid, local, local_count, remote, remote_count, flags);
}

struct trio {
    struct co_shm_op op[MEMBERS];
    char *memory[MEMBERS]; // whole blocks of all, or one
    int call;
    bool is_over[MEMBERS];
};

static void start(struct trio *trio, int member)
{
    struct co_shm_op *op = &trio->op[member];
    char *memory = trio->memory[member], *mine = memory + (size_t)member * BYTES;

    if (trio->call == CO_SHM_BCAST) {
        co_shm_bcast_start(op, teams[member], 0, memory, BYTES);
    } else if (trio->call == CO_SHM_GATHER) {
        co_shm_gather_start(op, teams[member], 0, mine, memory, BYTES);
    } else {
        co_shm_allgather_start(op, teams[member], mine, memory, BYTES);
    }
}

static int begin(struct shm_rank *self, struct trio *trio, int call)
{
    SHM_CHECK(shm_job_open_team(self, &teams[self->rank], 1) == 0);
    self->node->direct_bcast_min = self->node->direct_gather_min = self->node->direct_allgather_min = 8192;
    if (self->rank == 0) { // the others only lend their teams
        *trio = (struct trio){.call = call};
        has_given_up = gave_up_during_copy = false;
        for (int i = 0; i < MEMBERS; i++) {
            trio->memory[i] = calloc(MEMBERS, BYTES);
        }
    }
    shm_job_barrier(self);
    return 0;
}

static void end(struct shm_rank *self, struct trio *trio)
{
    shm_job_barrier(self);
    for (int i = 0; i < MEMBERS && self->rank == 0; i++) {
        free(trio->memory[i]);
    }
    co_shm_team_close(teams[self->rank]);
    shm_job_barrier(self);
}

static bool is_untouched(const struct trio *trio, int member)
{
    for (size_t i = 0; i < (size_t)MEMBERS * BYTES; i++) {
        if (trio->memory[member][i] != OURS_AGAIN) {
            return false;
        }
    }
    return true;
}

static void fail_and_go_on(struct trio *trio, int member)
{
    co_shm_op_abandon(&trio->op[member]);
    memset(trio->memory[member], OURS_AGAIN, (size_t)MEMBERS * BYTES);
}

// Moves everybody but this one. Only a leaf whose centre has not failed may come to its end.
static int move_the_others(struct shm_rank *self, struct trio *trio, int member)
{
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < MEMBERS; i++) {
            trio->is_over[i] = trio->is_over[i] || (i != member && co_shm_op_progress(&trio->op[i]) == 1);
            SHM_CHECK(!trio->is_over[i] || (i == 2 && member == 1));
        }
    }
    SHM_CHECK(is_untouched(trio, member));
    return 0;
}

// The leaf has come, and so has the centre or not, when it fails; or it fails while the centre copies.
static int leaf_fails(struct shm_rank *self, struct trio *trio, bool is_met, bool is_copied)
{
    start(trio, 1);
    SHM_CHECK(co_shm_op_progress(&trio->op[1]) == 0);
    start(trio, 0);
    gives_up = is_copied ? &trio->op[1] : NULL;
    SHM_CHECK(!is_met || co_shm_op_progress(&trio->op[0]) == 0); // and helps it
    SHM_CHECK(!is_met || trio->call != CO_SHM_BCAST || trio->op[0].written > 0);
    while (is_copied && !atomic_load(&has_given_up)) {
        sched_yield();
    }
    SHM_CHECK(!gave_up_during_copy);
    fail_and_go_on(trio, 1);
    start(trio, 2);
    return move_the_others(self, trio, 1);
}

// The centre fails before the leaf comes, after it has begun to copy, or in the middle of a copy.
static int centre_fails(struct shm_rank *self, struct trio *trio, bool is_met, bool is_copied)
{
    start(trio, 0);
    SHM_CHECK(co_shm_op_progress(&trio->op[0]) == 0);
    start(trio, 1);
    gives_up = is_copied ? &trio->op[0] : NULL;
    SHM_CHECK(!is_met || co_shm_op_progress(&trio->op[1]) == 0);
    SHM_CHECK(!is_met || trio->op[1].read > 0);
    while (is_copied && !atomic_load(&has_given_up)) {
        sched_yield();
    }
    SHM_CHECK(!gave_up_during_copy);
    fail_and_go_on(trio, 0);
    start(trio, 2);
    SHM_CHECK(move_the_others(self, trio, 0) == 0);
    SHM_CHECK(trio->op[2].read == 0 && co_shm_op_progress(&trio->op[2]) == -ECONNRESET);
    for (size_t i = 0; trio->call == CO_SHM_BCAST && i < 2 * (size_t)BYTES; i++) {
        SHM_CHECK(trio->memory[1 + i / BYTES][i % BYTES] != OURS_AGAIN);
    }
    return 0;
}

static int star_fails(struct shm_rank *self)
{
    static struct trio trio;
    int line = 0;

    for (int way = 0; way < 10 && *shm_job_word(self, 0) == 0; way++) {
        int call = way & 1 ? CO_SHM_GATHER : CO_SHM_BCAST;
        bool is_met = way / 2 % 2, is_copied = way >= 8; // outwards copies the centre of a bcast, the leaf of a gather
        SHM_CHECK(begin(self, &trio, call) == 0);
        if (self->rank == 0 && ((way / 4) % 2 == 0 && !(is_copied && call == CO_SHM_GATHER))) {
            line = leaf_fails(self, &trio, is_met || is_copied, is_copied);
        } else if (self->rank == 0) {
            line = centre_fails(self, &trio, is_met || is_copied, is_copied);
        }
        *shm_job_word(self, 0) += line; // the others wait at the end
        end(self, &trio);
    }
    return line;
}

// Whose block is being read fails: what was read may be the program's next words already.
static int reader_is_told(struct shm_rank *self, struct trio *trio)
{
    for (int i = 0; i < MEMBERS; i++) {
        start(trio, i);
    }
    SHM_CHECK(co_shm_op_progress(&trio->op[1]) == 0);                             // introduces itself
    SHM_CHECK(co_shm_op_progress(&trio->op[0]) == 0 && trio->op[0].position > 0); // has read a part of it
    fail_and_go_on(trio, 1);
    SHM_CHECK(co_shm_op_progress(&trio->op[0]) == -ECONNRESET);
    SHM_CHECK(co_shm_op_progress(&trio->op[2]) == 0 && trio->op[2].position > 0); // reads who has not failed
    return 0;
}

static int allgather_fails(struct shm_rank *self)
{
    static struct trio trio;

    SHM_CHECK(begin(self, &trio, CO_SHM_ALLGATHER) == 0);
    int line = self->rank == 0 ? reader_is_told(self, &trio) : 0;
    end(self, &trio);
    return line;
}

static bool can_copy(void)
{
    char word = 'a', copy = 0;

    return co_shm_cma_read(getpid(), &copy, (uint64_t)(uintptr_t)&word, 1) == 0;
}

static void nobody_writes_to_who_has_failed(void **state)
{
    struct shm_job_options options = {.size = MEMBERS, .threads = true, .single_copy = CO_YES};

    (void)state;
    if (!can_copy()) {
        skip(); // a kernel without the call, or a filter
    }
    assert_int_equal(shm_job_run(&options, star_fails), 0);
}

static void nobody_believes_who_has_failed(void **state)
{
    struct shm_job_options options = {.size = MEMBERS, .threads = true, .single_copy = CO_YES};

    (void)state;
    if (!can_copy()) {
        skip();
    }
    assert_int_equal(shm_job_run(&options, allgather_fails), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_writes_to_who_has_failed),
        cmocka_unit_test(nobody_believes_who_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

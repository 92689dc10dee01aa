// SPDX-License-Identifier: BSD-3-Clause
//
// The probe for single copy and the copies themselves: what is allowed is used, what is switched off is not, an address
// that is not there is an error and no crash; and Yama, played by the functions below, is asked to let others in only
// where that is needed and helps.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "shm/shm_measure.h"
#include "shm/shm_team.h"
#include "shm_job.h"

// Yama of ptrace_scope 0, 1 or 3 (for which no word helps) as the processes of a job see it, while `job` is set.
static struct shm_rank *job;
static int scope;
static size_t most_allowed = SIZE_MAX; // bytes of one copy, under any Yama

enum { WORD_LETS = 4, WORD_ASKED = 8 }; // and the rank: what each has told last, and how often

static bool is_let_in(pid_t pid)
{
    for (int rank = 0; rank < job->size; rank++) {
        if (shm_job_pid(job, rank) == pid) {
            return scope == 0 || (scope == 1 && *shm_job_word(job, WORD_LETS + rank) != 0);
        }
    }
    return false;
}

static ssize_t copy_under_yama(long call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    if (local->iov_len > most_allowed || (job && pid != getpid() && !is_let_in(pid))) {
        errno = EPERM;
        return -1;
    }
    return syscall(call, pid, local, 1ul, remote, 1ul, 0ul);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count, const struct iovec *remote,
                         unsigned long remote_count, unsigned long flags)
{
    (void)local_count, (void)remote_count, (void)flags;
    return copy_under_yama(SYS_process_vm_readv, pid, local, remote);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count, const struct iovec *remote,
                          unsigned long remote_count, unsigned long flags)
{
    (void)local_count, (void)remote_count, (void)flags;
    return copy_under_yama(SYS_process_vm_writev, pid, local, remote);
}

int prctl(int option, ...)
{
    va_list list;
    unsigned long arguments[4];

    va_start(list, option);
    for (int i = 0; i < 4; i++) {
        arguments[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (job && option == PR_SET_PTRACER) {
        *shm_job_word(job, WORD_LETS + job->rank) = (long)arguments[0];
        *shm_job_word(job, WORD_ASKED + job->rank) += 1;
        return 0;
    }
    return (int)syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

// `expected`: is single copy allowed, and is Yama told to let others in, and how often so far.
static int open_under_yama(struct shm_rank *self, int yama, bool is_allowed, bool lets, int asked)
{
    struct co_shm_node *node;

    job = self;
    scope = yama;
    shm_job_barrier(self);
    SHM_CHECK(co_shm_node_open(&node, &self->config) == 0);
    SHM_CHECK(co_shm_node_single_copy(node) == is_allowed);
    SHM_CHECK((*shm_job_word(self, WORD_LETS + self->rank) != 0) == lets);
    SHM_CHECK(*shm_job_word(self, WORD_ASKED + self->rank) == asked);
    shm_job_barrier(self);
    co_shm_node_close(node);
    SHM_CHECK(*shm_job_word(self, WORD_LETS + self->rank) == 0);
    job = NULL;
    return 0;
}

static int where_it_helps(struct shm_rank *self)
{
    return open_under_yama(self, 1, true, true, 1);
}

static int where_nothing_helps(struct shm_rank *self)
{
    return open_under_yama(self, 3, false, false, 2);
}

static int where_nobody_asked(struct shm_rank *self)
{
    return open_under_yama(self, 1, false, false, 0);
}

static int where_nothing_forbids(struct shm_rank *self)
{
    return open_under_yama(self, 0, true, false, 0);
}

static int may_copy(struct shm_rank *self)
{
    const struct co_shm_node *node = self->node;

    SHM_CHECK(co_shm_node_single_copy(node) == (strcmp(co_shm_node_single_copy_reason(node), "allowed") == 0));
    SHM_CHECK(co_shm_node_single_copy(node) == (node->direct_bcast_min < SIZE_MAX));
    SHM_CHECK(co_shm_node_single_copy(node) == (node->direct_gather_min < SIZE_MAX));
    if (co_shm_node_single_copy(node)) {
        SHM_CHECK(node->direct_bcast_min >= self->config.single_copy_min);
        SHM_CHECK(self->config.single_copy != CO_YES || node->direct_gather_min == self->config.single_copy_min);
    }
    return 0;
}

// With staging to lend the rings are faster, unless single copy is asked for.
static int rings_first(struct shm_rank *self)
{
    const struct co_shm_node *node = self->node;
    bool asked = self->config.single_copy == CO_YES && co_shm_node_single_copy(node);

    SHM_CHECK(node->direct_bcast_min == (asked ? self->config.single_copy_min : SIZE_MAX));
    SHM_CHECK(node->direct_allgather_min == (asked ? self->config.single_copy_min : SIZE_MAX));
    SHM_CHECK((node->direct_gather_min < SIZE_MAX) == co_shm_node_single_copy(node));
    return 0;
}

static int may_not_copy(struct shm_rank *self)
{
    SHM_CHECK(!co_shm_node_single_copy(self->node));
    SHM_CHECK(self->node->direct_bcast_min == SIZE_MAX && self->node->direct_gather_min == SIZE_MAX);
    SHM_CHECK(strstr(co_shm_node_single_copy_reason(self->node), self->size == 1 ? "one rank" : "switched off"));
    return 0;
}

// The verdict is the same on all ranks: the least and the largest agree.
static int agrees(struct shm_rank *self)
{
    int mine = co_shm_node_single_copy(self->node);
    int least = shm_job_least(self, mine);

    SHM_CHECK(least == mine);
    return 0;
}

static void run_with_staging(int size, bool threads, int single_copy, size_t staging, shm_rank_function *function)
{
    struct shm_job_options options = {.size = size,
                                      .threads = threads,
                                      .single_copy = single_copy,
                                      .single_copy_min = 100000,
                                      .staging_bytes = staging};

    assert_int_equal(shm_job_run(&options, function), 0);
}

static void run(int size, bool threads, int single_copy, shm_rank_function *function)
{
    run_with_staging(size, threads, single_copy, 0, function);
}

static void rings_that_can_borrow_come_first(void **state)
{
    (void)state;
    run_with_staging(2, true, CO_AUTO, (size_t)8 << 20, rings_first);
    run_with_staging(2, true, CO_YES, (size_t)8 << 20, rings_first);
}

static void what_is_allowed_is_used(void **state)
{
    (void)state;
    run(3, false, CO_AUTO, may_copy);
    run(2, false, CO_YES, may_copy);
    run(2, true, CO_AUTO, may_copy);
    run(3, false, CO_AUTO, agrees);
}

static void what_is_switched_off_is_not(void **state)
{
    (void)state;
    run(2, false, CO_NO, may_not_copy);
    run(1, false, CO_AUTO, may_not_copy);
}

static int memcheck_is_named(struct shm_rank *self)
{
    SHM_CHECK(!co_shm_node_single_copy(self->node));
    SHM_CHECK(strstr(co_shm_node_single_copy_reason(self->node), "valgrind"));
    return 0;
}

static void nobody_writes_into_who_runs_under_memcheck(void **state)
{
    (void)state;
    setenv("LD_PRELOAD", "/v/vgpreload_core-amd64-linux.so:/v/vgpreload_memcheck-amd64-linux.so", 1);
    run(2, false, CO_YES, memcheck_is_named);
    setenv("LD_PRELOAD", "/v/vgpreload_core-amd64-linux.so:/v/vgpreload_helgrind-amd64-linux.so", 1);
    run(2, false, CO_YES, may_copy);
    unsetenv("LD_PRELOAD");
}

static void others_are_let_in_only_where_it_helps(void **state)
{
    struct shm_job_options options = {.size = 3, .single_copy = CO_YES, .leave_closed = true};
    char word = 'a', copy = 0;

    (void)state;
    if (co_shm_cma_read(getpid(), &copy, (uint64_t)(uintptr_t)&word, 1) != 0) {
        skip(); // a kernel without the call, or a filter
    }
    assert_int_equal(shm_job_run(&options, where_it_helps), 0);
    assert_int_equal(shm_job_run(&options, where_nothing_helps), 0);
    assert_int_equal(shm_job_run(&options, where_nothing_forbids), 0);
    options.single_copy = CO_AUTO;
    assert_int_equal(shm_job_run(&options, where_nobody_asked), 0);
}

static int is_not_measured(struct shm_rank *self)
{
    char *memory = NULL;
    SHM_CHECK(co_shm_node_single_copy(self->node));
    SHM_CHECK(shm_job_least(self, co_shm_measure_prepare(self->node, &memory)) == 0);
    SHM_CHECK(shm_job_least(self, co_shm_measure_run(self->node, memory)) == -EPERM);
    free(memory);
    return 0;
}

static void what_fails_while_it_is_measured_changes_nothing(void **state)
{
    (void)state;
    most_allowed = 8; // the probe passes, and nothing else
    run_with_staging(2, false, CO_AUTO, 2 << 20, is_not_measured);
    most_allowed = SIZE_MAX;
}

static void copies_are_whole_or_an_error(void **state)
{
    size_t page = 4096;
    char *there = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char here[8192];

    (void)state;
    assert_true(there != MAP_FAILED);
    memset(there, 'a', 2 * page);
    if (co_shm_cma_read(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page) == -ENOSYS) {
        munmap(there, 2 * page);
        skip(); // a kernel without the call
    }
    assert_int_equal(co_shm_cma_read(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), 0);
    assert_memory_equal(here, there, 2 * page);
    memset(here, 'b', 2 * page);
    assert_int_equal(co_shm_cma_write(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), 0);
    assert_memory_equal(here, there, 2 * page);
    munmap(there + page, page);
    assert_int_equal(co_shm_cma_read(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), -EFAULT);
    assert_int_equal(co_shm_cma_write(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), -EFAULT);
    munmap(there, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allowed_is_used),
        cmocka_unit_test(rings_that_can_borrow_come_first),
        cmocka_unit_test(what_is_switched_off_is_not),
        cmocka_unit_test(nobody_writes_into_who_runs_under_memcheck),
        cmocka_unit_test(others_are_let_in_only_where_it_helps),
        cmocka_unit_test(copies_are_whole_or_an_error),
        cmocka_unit_test(what_fails_while_it_is_measured_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

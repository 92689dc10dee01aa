// SPDX-License-Identifier: BSD-3-Clause
//
// The probe for single copy and the copies themselves: what is allowed is used, what is switched off is not, an address
// that is not there is an error and no crash.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/settings.h"
#include "mcast/shm/shm_team.h"
#include "shm_job.h"

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
    int least = self->config.all_agree(self->config.arg, mine);

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

static void copies_are_whole_or_an_error(void **state)
{
    size_t page = 4096;
    char *there = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char here[8192];

    (void)state;
    assert_true(there != MAP_FAILED);
    memset(there, 'a', 2 * page);
    if (co_shm_copy_from(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page) == -ENOSYS) {
        munmap(there, 2 * page);
        skip(); // a kernel without the call
    }
    assert_int_equal(co_shm_copy_from(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), 0);
    assert_memory_equal(here, there, 2 * page);
    memset(here, 'b', 2 * page);
    assert_int_equal(co_shm_copy_to(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), 0);
    assert_memory_equal(here, there, 2 * page);
    munmap(there + page, page);
    assert_int_equal(co_shm_copy_from(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), -EFAULT);
    assert_int_equal(co_shm_copy_to(getpid(), here, (uint64_t)(uintptr_t)there, 2 * page), -EFAULT);
    munmap(there, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allowed_is_used),
        cmocka_unit_test(rings_that_can_borrow_come_first),
        cmocka_unit_test(what_is_switched_off_is_not),
        cmocka_unit_test(copies_are_whole_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

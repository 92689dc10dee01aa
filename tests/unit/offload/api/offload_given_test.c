// SPDX-License-Identifier: BSD-3-Clause
//
// The job of castoff_offload_open from programs of this version, of older and of newer ones: what each knows of it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/api/offload_world.h"

// What a version to come may have.
struct later_job {
    struct castoff_offload_job job;
    int (*later)(void);
    uint64_t more[8];
};

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    memcpy(all, mine, bytes);
    return 0;
}

static void progress(void *arg)
{
    (void)arg;
}

static struct castoff_offload_job job_of(size_t struct_bytes)
{
    return (struct castoff_offload_job){
        .struct_bytes = struct_bytes, .rank = 2, .size = 5, .allgather = gather, .command = "x", .progress = progress};
}

static void of_this_version(void **state)
{
    (void)state;
    struct castoff_offload_job read, given = job_of(sizeof given);
    assert_int_equal(co_offload_given_read(&read, &given), 0);
    assert_memory_equal(&read, &given, sizeof given);
}

static void of_a_later_version(void **state)
{
    (void)state;
    struct castoff_offload_job read;
    struct later_job given = {.job = job_of(sizeof given)};
    assert_int_equal(co_offload_given_read(&read, &given.job), 0);
    assert_int_equal(read.struct_bytes, sizeof read);
    assert_int_equal(read.rank, 2);
    assert_int_equal(read.size, 5);
    assert_true(read.progress == progress);
    given.more[7] = UINT64_C(1) << 63; // what it says and this version does not know
    assert_int_equal(co_offload_given_read(&read, &given.job), -E2BIG);
    assert_non_null(strstr(castoff_offload_why(), "later version"));
}

static void of_another_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,
                                   1,
                                   offsetof(struct castoff_offload_job, progress),
                                   offsetof(struct castoff_offload_job, progress) + sizeof(void *) - 1,
                                   4097,
                                   SIZE_MAX};
    struct castoff_offload_world *world = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct castoff_offload_job read, given = job_of(sizes[i]);
        assert_int_equal(co_offload_given_read(&read, &given), -EINVAL);
        assert_int_equal(castoff_offload_open(&world, &given), -EINVAL);
        assert_non_null(strstr(castoff_offload_why(), "struct_bytes"));
        assert_null(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_this_version),
        cmocka_unit_test(of_a_later_version),
        cmocka_unit_test(of_another_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

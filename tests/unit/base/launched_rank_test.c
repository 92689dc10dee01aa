// SPDX-License-Identifier: BSD-3-Clause
//
// Which launcher is believed where several have left their words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/launched_rank.h"

static int forget(void **state)
{
    (void)state;
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("PMI_RANK");
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_PROCID");
    return 0;
}

static void nobody_tells(void **state)
{
    (void)state;
    assert_int_equal(co_launched_rank(), -1);
    setenv("PMIX_RANK", "", 1);
    setenv("SLURM_PROCID", "none", 1);
    assert_int_equal(co_launched_rank(), -1);
}

// srun --mpi=pmix tells in two ways, srun alone in one.
static void srun_tells(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "3", 1);
    assert_int_equal(co_launched_rank(), 3);
    setenv("PMIX_RANK", "3", 1);
    assert_int_equal(co_launched_rank(), 3);
}

// Their daemons are tasks of srun, one on each node.
static void mpirun_and_mpiexec_are_nearer_than_srun(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "0", 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("PMI_RANK", "5", 1);
    assert_int_equal(co_launched_rank(), 5);
    setenv("OMPI_COMM_WORLD_RANK", "7", 1);
    assert_int_equal(co_launched_rank(), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nobody_tells, forget),
        cmocka_unit_test_setup(srun_tells, forget),
        cmocka_unit_test_setup(mpirun_and_mpiexec_are_nearer_than_srun, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Limits of processor time, by files as kernels, containers and batch systems show them, in a folder that stands for /.
#define _GNU_SOURCE // nftw
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "engine/start/cpu_quota.h"

#define OF_BOTH                                                                                                        \
    "30 20 0:25 / /cg/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"                                       \
    "31 20 0:26 / /cg/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"

static char root[64];

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0700); // it may be there
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void see(const char *groups, const char *mounts)
{
    put("/proc/self/cgroup", groups);
    put("/proc/self/mountinfo", mounts);
}

static struct co_cores_quota look(void)
{
    struct co_cores_quota quota = {77, 77, 77, 77};
    co_cores_quota_read(&quota, root);
    return quota;
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/castoff-quota.XXXXXX");
    return mkdtemp(root) == NULL;
}

static int drop(const char *path, const struct stat *facts, int kind, struct FTW *at)
{
    (void)facts, (void)kind, (void)at;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void nothing_there_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(look().hundredths, 0); // no /proc
    see("", "");
    assert_int_equal(look().hundredths, 0);
    see("0::/a\n2:cpu:/a\n", OF_BOTH); // whose files are not there
    assert_int_equal(look().hundredths, 0);
    assert_int_equal(look().group, 0);
}

static void of_a_container(void **state)
{
    (void)state; // its own group is all that it sees
    see("0::/\n", "41 30 0:27 / /cg ro,nosuid - cgroup2 cgroup rw\n");
    put("/cg/cpu.max", "150000 100000\n");
    assert_int_equal(look().hundredths, 150);
    put("/cg/cpu.max", "max 100000\n");
    assert_int_equal(look().hundredths, 0);
    put("/cg/cpu.max", "1000 1000000\n"); // less than a hundredth
    assert_int_equal(look().hundredths, 1);
    put("/cg/cpu.max", "6400000 100000");
    assert_int_equal(look().hundredths, 6400);
}

static void of_groups_above(void **state)
{
    (void)state; // the tightest of them is in force
    see("0::/slurm/job/step\n", "41 30 0:27 / /cg rw - cgroup2 cgroup rw\n");
    put("/cg/slurm/job/step/cpu.max", "400000 100000\n");
    put("/cg/slurm/job/cpu.max", "50000 25000\n");
    put("/cg/slurm/cpu.max", "max 100000\n");
    assert_int_equal(look().hundredths, 200);
    assert_int_equal(look().above_hundredths, 0); // that of the step is inside
    uint64_t job = look().group;
    put("/cg/cpu.max", "800000 100000\n"); // for all jobs together
    put("/cg/slurm/cpu.max", "600000 100000\n");
    assert_int_equal(look().hundredths, 200);
    assert_int_equal(look().above_hundredths, 600);
    assert_int_equal(look().group, job);
    assert_int_not_equal(look().above_group, job);
    put("/cg/cpu.max", "100000 100000\n");
    assert_int_equal(look().hundredths, 100);
    assert_int_equal(look().above_hundredths, 0);
}

static void of_the_first_kind(void **state)
{
    (void)state;
    see("7:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n", OF_BOTH);
    put("/cg/cpu/docker/abc/cpu.cfs_quota_us", "250000\n");
    put("/cg/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
    put("/cg/cpu/x/cpu.cfs_quota_us", "1000\n"); // where another kind of limits is
    put("/cg/cpu/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(look().hundredths, 250);
    put("/cg/cpu/docker/abc/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(look().hundredths, 0);
}

static void where_the_host_shows_through(void **state)
{
    (void)state; // the path is the host's; the folder of it is mounted, and nothing above
    put("/cg/cpu/cpu.cfs_quota_us", "300000\n");
    put("/cg/cpu/cpu.cfs_period_us", "100000\n");
    put("/cg/cpu/sub/cpu.cfs_quota_us", "100000\n");
    put("/cg/cpu/sub/cpu.cfs_period_us", "100000\n");
    const char *mounts = "30 20 0:25 /docker/abc /cg/cpu ro - cgroup cgroup rw,cpuacct,cpu\n";
    see("4:cpu,cpuacct:/docker/abc\n", mounts);
    assert_int_equal(look().hundredths, 300);
    see("4:cpu,cpuacct:/docker/abc/sub\n", mounts);
    assert_int_equal(look().hundredths, 100);
    see("4:cpu,cpuacct:/docker/abcd/sub\n", mounts); // of another one, moved there
    assert_int_equal(look().hundredths, 300);
    see("4:cpu,cpuacct:/../sub\n", mounts);
    assert_int_equal(look().hundredths, 300);
}

static void of_both_kinds(void **state)
{
    (void)state;
    see("4:cpu,cpuacct:/a\n0::/b\n", OF_BOTH);
    put("/cg/cpu/a/cpu.cfs_quota_us", "250000\n");
    put("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
    put("/cg/unified/b/cpu.max", "200000 100000\n");
    assert_int_equal(look().hundredths, 200);
}

static void whose_limit_it_is(void **state)
{
    (void)state;
    const char *mounts = "41 30 0:27 / /cg rw - cgroup2 cgroup rw\n";
    put("/cg/a/cpu.max", "400000 100000\n");
    put("/cg/b/cpu.max", "400000 100000\n");
    see("0::/a\n", mounts);
    uint64_t first = look().group;
    see("0::/a/without\n", mounts);
    assert_true(look().group == first);
    see("0::/b\n", mounts);
    assert_true(look().group != first);
    assert_true(look().group != 0);
}

static void files_that_are_odd(void **state)
{
    char layers[6001] = "", mounts[8192]; // as long as those of images with many layers
    (void)state;
    memset(layers, 'l', sizeof layers - 1);
    snprintf(mounts, sizeof mounts, "29 20 0:24 / / rw - overlay overlay rw,lowerdir=%s\n%s", layers,
             "41 30 0:27 / /cg rw - cgroup2 cgroup rw\n");
    see("\n::\n0\n0:/a\n0::/\n", mounts);
    put("/cg/cpu.max", "200000 100000\n");
    assert_int_equal(look().hundredths, 200);
    static const char *const limits[] = {"",
                                         "\n",
                                         "200000",
                                         "200000 0",
                                         "200000 -5",
                                         "-1 100000",
                                         "x y",
                                         "9223372036854775807 9223372036854775807",
                                         "9223372036854775807 1"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        put("/cg/cpu.max", limits[i]);
        assert_int_equal(look().hundredths, 0);
    }
    see("0::/\n", "41 30\n - cgroup2 cgroup rw\n41 30 0:27 / /cg rw - cgroup2\n");
    assert_int_equal(look().hundredths, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_there_is_no_limit, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_groups_above, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_the_first_kind, make_root, remove_root),
        cmocka_unit_test_setup_teardown(where_the_host_shows_through, make_root, remove_root),
        cmocka_unit_test_setup_teardown(of_both_kinds, make_root, remove_root),
        cmocka_unit_test_setup_teardown(whose_limit_it_is, make_root, remove_root),
        cmocka_unit_test_setup_teardown(files_that_are_odd, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

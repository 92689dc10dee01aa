// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of processes that run, seen from outside: by rank and job, of one that is stopped, of none that was killed
// or of another user; what strangers make to look like them; and that looking, or breaking, does the counting no harm.
#define _GNU_SOURCE // memfd_create
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/info/live_ranks.h"

#define MOST 4

static char job_a[CO_LIVE_JOB_BYTES], job_b[CO_LIVE_JOB_BYTES];
static struct {
    pid_t pid;
    int to, from; // a byte each way
} children[MOST];
static int child_count;

// Serves the test until its pipe is closed: 'c' counts, 'f' forks a child that counts for itself, 'F' one that knows of
// nothing; both serve on.
static void serve(int from, int to)
{
    char order;
    while (read(from, &order, 1) == 1) {
        if (order == 'c') {
            co_counter_add(CO_COUNT_DATA_SENT, 5);
        } else if (order == 'f' && fork() == 0) {
            co_live_counters_leave();
            co_counter_add(CO_COUNT_DATA_SENT, 1000);
        } else if (order == 'F') {
            (void)!fork(); // and the child keeps what it has got
        }
        if (write(to, &order, 1) != 1) {
            break;
        }
    }
    _exit(0);
}

static void order(int child, char what)
{
    char answer = 0;
    assert_int_equal(write(children[child].to, &what, 1), 1);
    assert_int_equal(read(children[child].from, &answer, 1), 1);
    assert_int_equal(answer, what);
}

static int begin(const char *job, int rank, uid_t user)
{
    int there[2], back[2], child = child_count++;
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    children[child].pid = fork();
    if (children[child].pid == 0) {
        close(there[1]);
        close(back[0]);
        for (int i = 0; i < child; i++) { // or the end of the others would not be seen
            close(children[i].to);
        }
        if ((user != 0 && setuid(user) != 0) || co_live_counters_open(job, rank, 2, 7) != 0) {
            _exit(1);
        }
        serve(there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    children[child].to = there[1];
    children[child].from = back[0];
    order(child, 'c');
    return child;
}

static int end_all(void **state)
{
    (void)state;
    for (int i = 0; i < child_count; i++) {
        close(children[i].to);
        close(children[i].from);
        kill(children[i].pid, SIGKILL);
        waitpid(children[i].pid, NULL, 0);
    }
    child_count = 0;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(job_a, sizeof job_a, "test-%d-a", (int)getpid());
    snprintf(job_b, sizeof job_b, "test-%d-b", (int)getpid());
    return 0;
}

// Of the two jobs of this test: others may run here.
static size_t find(struct co_live_rank ranks[MOST])
{
    struct co_live_ranks found;
    size_t mine = 0;
    assert_int_equal(co_live_ranks_find(&found, 0), 0);
    for (size_t i = 0; i < found.count && mine < MOST; i++) {
        const char *job = found.ranks[i].counters.job;
        if (strcmp(job, job_a) == 0 || strcmp(job, job_b) == 0) {
            ranks[mine++] = found.ranks[i];
        }
    }
    co_live_ranks_free(&found);
    return mine;
}

static void two_jobs_while_they_run(void **state)
{
    struct co_live_rank ranks[MOST];
    (void)state;
    begin(job_b, 0, 0);
    begin(job_a, 1, 0);
    begin(job_a, 0, 0);
    assert_int_equal(find(ranks), 3);
    assert_string_equal(ranks[0].counters.job, job_a);
    assert_int_equal(ranks[0].counters.rank, 0);
    assert_int_equal(ranks[0].pid, children[2].pid);
    assert_int_equal(ranks[1].counters.rank, 1);
    assert_string_equal(ranks[2].counters.job, job_b);
    assert_int_equal(ranks[2].counters.ranks, 2);
    assert_int_equal(ranks[2].counters.values[CO_COUNT_DATA_SENT], 5);
    order(0, 'c');
    assert_int_equal(find(ranks), 3);
    assert_int_equal(ranks[2].counters.values[CO_COUNT_DATA_SENT], 10);
    assert_int_equal(ranks[0].counters.values[CO_COUNT_DATA_SENT], 5);
}

static void a_stopped_rank_is_shown(void **state)
{
    struct co_live_rank ranks[MOST];
    int status;
    (void)state;
    int child = begin(job_a, 0, 0);
    kill(children[child].pid, SIGSTOP);
    assert_int_equal(waitpid(children[child].pid, &status, WUNTRACED), children[child].pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(find(ranks), 1);
    assert_int_equal(ranks[0].state, 'T');
    assert_int_equal(ranks[0].counters.values[CO_COUNT_DATA_SENT], 5);
}

// Nothing stays behind: neither before its parent has heard of it, nor afterwards.
static void a_killed_rank_is_gone(void **state)
{
    struct co_live_rank ranks[MOST];
    siginfo_t info;
    (void)state;
    int child = begin(job_a, 0, 0);
    begin(job_a, 1, 0);
    kill(children[child].pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)children[child].pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(find(ranks), 1);
    assert_int_equal(ranks[0].counters.rank, 1);
}

static void forked_child(const char *how)
{
    struct co_live_rank ranks[MOST];
    int child = begin(job_a, 0, 0);
    assert_int_equal(write(children[child].to, how, 1), 1);
    char answers[2]; // of both
    assert_int_equal(read(children[child].from, &answers[0], 1), 1);
    assert_int_equal(read(children[child].from, &answers[1], 1), 1);
    assert_int_equal(find(ranks), 1);
    assert_int_equal(ranks[0].pid, children[child].pid);
    assert_int_equal(ranks[0].counters.values[CO_COUNT_DATA_SENT], 5);
}

static void a_forked_child_counts_for_itself(void **state)
{
    (void)state;
    forked_child("f");
}

// One that has only inherited the descriptor is no rank.
static void a_child_is_not_its_parent(void **state)
{
    (void)state;
    forked_child("F");
}

static void another_user_sees_nothing(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    begin(job_a, 0, 0);
    begin(job_b, 0, 65534);
    struct co_live_rank ranks[MOST];
    assert_int_equal(find(ranks), 1); // nobody's is not ours
    pid_t child = fork();
    if (child == 0) {
        struct co_live_ranks found;
        char path[64];
        int wrong = setuid(65534) != 0 || co_live_ranks_find(&found, 0) != 0;
        for (size_t i = 0; !wrong && i < found.count; i++) {
            wrong = strcmp(found.ranks[i].counters.job, job_a) == 0;
        }
        snprintf(path, sizeof path, "/proc/%d/fd", (int)children[0].pid);
        _exit(wrong || access(path, R_OK) == 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

// Whoever may open it cannot end the process by making the file shorter.
static void the_file_cannot_be_broken(void **state)
{
    struct co_live_counters counters;
    char path[64];
    int file = -1;
    (void)state;
    assert_int_equal(co_live_counters_open(job_a, 0, 1, 7), 0);
    assert_int_equal(co_live_counters_open(job_a, 0, 1, 7), -EALREADY);
    for (int i = 3; i < 100 && file < 0; i++) {
        char link[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        ssize_t length = readlink(path, link, sizeof link - 1);
        file = length > 0 && strncmp(link, "/memfd:" CO_LIVE_NAME, strlen("/memfd:" CO_LIVE_NAME)) == 0
                   ? open(path, O_RDWR | O_CLOEXEC)
                   : -1;
    }
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(file, 1 << 20), -1);
    uint64_t before = co_counter_read(CO_COUNT_DATA_SENT);
    co_counter_add(CO_COUNT_DATA_SENT, 3);
    assert_int_equal(co_live_counters_read(file, &counters), 0);
    assert_int_equal(counters.values[CO_COUNT_DATA_SENT], before + 3);
    close(file);
    co_live_counters_close();
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT), before + 3); // what was counted stays
    co_counter_add(CO_COUNT_DATA_SENT, 1);
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT), before + 4);
}

// The program has closed all descriptors and opened another file, which has the number now: it is not ours to close.
static void a_descriptor_that_was_taken_away(void **state)
{
    (void)state;
    assert_int_equal(co_live_counters_open(job_a, 0, 1, 7), 0);
    int other = -1;
    for (int i = 3; i < 100 && other < 0; i++) {
        char path[64], link[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length > 0 && strncmp(link, "/memfd:" CO_LIVE_NAME, strlen("/memfd:" CO_LIVE_NAME)) == 0) {
            int another = memfd_create("another", MFD_CLOEXEC); // of the same file system
            other = dup2(another, i);
            close(another);
        }
    }
    assert_true(other >= 0);
    co_live_counters_close();
    assert_int_equal(fcntl(other, F_GETFD) >= 0, 1);
    close(other);
}

// A file of the right name with this in it, at every length.
static void strangers_files_are_refused(void **state)
{
    struct co_live_counters counters;
    unsigned char good[200], bad[CO_COUNTER_PAGE + sizeof co_counter_values];
    (void)state;
    assert_int_equal(co_live_counters_open(job_a, 0, 1, 7), 0);
    struct co_live_ranks found;
    assert_int_equal(co_live_ranks_find(&found, getpid()), 0);
    assert_int_equal(found.count, 1);
    co_live_ranks_free(&found);
    co_live_counters_close();
    int file = memfd_create(CO_LIVE_NAME, MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(co_live_counters_read(file, &counters), -EPROTO); // empty
    memset(bad, 0xff, sizeof bad);
    for (size_t bytes = 1; bytes <= sizeof bad; bytes = bytes * 2 + 1) {
        assert_int_equal(pwrite(file, bad, bytes, 0), (ssize_t)bytes);
        assert_int_equal(co_live_counters_read(file, &counters), -EPROTO);
    }
    // The magic number and nothing right behind it; then no end of the job's name, and too short for the values.
    uint64_t magic = UINT64_C(0x736574616f66666f);
    memset(good, 0xff, sizeof good);
    memcpy(good, &magic, sizeof magic);
    assert_int_equal(pwrite(file, good, sizeof good, 0), (ssize_t)sizeof good);
    assert_int_equal(co_live_counters_read(file, &counters), -ESTALE);
    // All of it, but for the digest of the counters' names.
    uint32_t words[] = {1, 12345, CO_COUNTER_COUNT};
    memcpy(bad, &magic, sizeof magic);
    memcpy(bad + sizeof magic, words, sizeof words);
    assert_int_equal(pwrite(file, bad, sizeof bad, 0), (ssize_t)sizeof bad);
    assert_int_equal(co_live_counters_read(file, &counters), -ESTALE);
    assert_int_equal(co_live_ranks_find(&found, getpid()), 0);
    assert_int_equal(found.count, 0);
    assert_int_equal(found.others, 1);
    co_live_ranks_free(&found);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(two_jobs_while_they_run, end_all),
        cmocka_unit_test_teardown(a_stopped_rank_is_shown, end_all),
        cmocka_unit_test_teardown(a_killed_rank_is_gone, end_all),
        cmocka_unit_test_teardown(a_forked_child_counts_for_itself, end_all),
        cmocka_unit_test_teardown(a_child_is_not_its_parent, end_all),
        cmocka_unit_test_teardown(another_user_sees_nothing, end_all),
        cmocka_unit_test(the_file_cannot_be_broken),
        cmocka_unit_test(a_descriptor_that_was_taken_away),
        cmocka_unit_test(strangers_files_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, end_all);
}

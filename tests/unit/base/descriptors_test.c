// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors are counted as they are, with and without a limit that is near, and known again; writes that fail without
// a signal: a pipe that nobody reads, a file at its limit.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/descriptors.h"

static void set_limit(rlim_t limit)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    now.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
}

static void what_is_left_can_be_opened(void **state)
{
    (void)state;
    enum { LIMIT = 40 };
    int opened[LIMIT], count = 0;
    set_limit(LIMIT);
    assert_int_equal(co_descriptors_limit(), LIMIT);
    int left = co_descriptors_left(LIMIT);
    assert_true(left > 0 && left <= LIMIT - 3);
    while (count < LIMIT && (opened[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
        assert_int_equal(co_descriptors_left(LIMIT), left - count);
    }
    assert_int_equal(count, left);
    close(opened[0]); // a hole below
    assert_int_equal(co_descriptors_left(LIMIT), 1);
    for (int i = 1; i < count; i++) {
        close(opened[i]);
    }
}

// As many files as are asked about in more than one way: beyond the first, and beyond the first block of those.
static void holes_are_found_among_many_files(void **state)
{
    (void)state;
    enum { LIMIT = 300 };
    int opened[LIMIT], count = 0;
    set_limit(LIMIT);
    assert_int_equal(co_descriptors_left(2 * LIMIT), co_descriptors_left(LIMIT));
    while (count < LIMIT && (opened[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    assert_int_equal(co_descriptors_left(LIMIT), 0);
    for (int i = 0, closed = 0; i < count; i++) {
        close(opened[i]);
        closed++;
        assert_int_equal(co_descriptors_left(LIMIT), closed);
    }
}

static void no_more_are_counted_than_wanted(void **state)
{
    (void)state;
    assert_int_equal(co_descriptors_left(0), 0);
    assert_int_equal(co_descriptors_left(7), 7);
}

static void numbers_of_closed_streams_are_kept_and_given_back(void **state)
{
    (void)state;
    int above = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    close(STDIN_FILENO);
    co_descriptors_keep_streams();
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(other > STDERR_FILENO);
    co_descriptors_give_streams();
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    co_descriptors_keep_streams();
    co_descriptors_give_streams();
    assert_int_equal(dup2(above, STDIN_FILENO), STDIN_FILENO);
    co_descriptors_keep_streams(); // none to keep
    co_descriptors_give_streams();
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0);
    close(other);
    close(above);
}

static volatile sig_atomic_t told;

static void note_signal(int number)
{
    (void)number;
    told++;
}

static void a_pipe_without_reader_is_an_error(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(co_descriptor_write(ends[1], "abc", 3), 0);
    close(ends[0]);
    assert_int_equal(co_descriptor_write(ends[1], "abc", 3), -EPIPE);
    assert_int_equal(told, 0);
    assert_true(write(ends[1], "abc", 3) < 0); // the program's own does as ever
    assert_int_equal(told, 1);
    close(ends[1]);
}

static void a_file_at_its_limit_is_an_error(void **state)
{
    struct rlimit before, few;
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    told = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few = (struct rlimit){4, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    int error = co_descriptor_write(fileno(file), "abcdef", 6);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(error, -EFBIG);
    assert_int_equal(told, 0);
    assert_int_equal(lseek(fileno(file), 0, SEEK_CUR), 4);
    fclose(file);
}

static void a_signal_that_waited_before_still_waits(void **state)
{
    int ends[2];
    sigset_t one, waiting;
    (void)state;
    told = 0;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    raise(SIGPIPE);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(co_descriptor_write(ends[1], "abc", 3), -EPIPE);
    close(ends[1]);
    assert_int_equal(sigpending(&waiting), 0);
    assert_true(sigismember(&waiting, SIGPIPE));
    assert_int_equal(told, 0);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    assert_int_equal(told, 1);
}

static void a_number_of_another_file_is_not_taken_for_the_first(void **state)
{
    struct co_descriptor_file file;
    FILE *first = tmpfile(), *second = tmpfile();
    (void)state;
    assert_non_null(first);
    assert_non_null(second);
    int fd = fileno(first);
    assert_int_equal(co_descriptor_note(fd, &file), 0);
    assert_true(co_descriptor_is_of(fd, &file));
    assert_int_equal(dup2(fileno(second), fd), fd);
    assert_false(co_descriptor_is_of(fd, &file));
    fclose(first);
    assert_false(co_descriptor_is_of(fd, &file));
    assert_int_equal(co_descriptor_note(fd, &file), -EBADF);
    fclose(second);
}

static void what_is_kept_is_forgotten_when_its_number_is_anothers(void **state)
{
    (void)state;
    struct co_descriptor_kept kept;
    int ends[2], fd;
    assert_int_equal(pipe(ends), 0);
    co_descriptor_keep(&kept, -1);
    assert_false(co_descriptor_is_kept(&kept));
    co_descriptor_drop(&kept);

    fd = dup(ends[0]);
    co_descriptor_keep(&kept, fd);
    assert_true(co_descriptor_is_kept(&kept));
    co_descriptor_drop(&kept);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_false(co_descriptor_is_kept(&kept));

    co_descriptor_keep(&kept, dup(ends[0]));
    fd = kept.fd;
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(other, fd), fd);
    co_descriptor_drop(&kept);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(kept.fd, -1);
    close(fd);
    close(other);
    close(ends[0]);
    close(ends[1]);
}

// They have one inode, and are told apart all the same.
static void eventfds_and_sockets_are_known_again(void **state)
{
    (void)state;
    struct co_descriptor_file first, second, of_socket;
    int one = eventfd(0, EFD_CLOEXEC), two = eventfd(0, EFD_CLOEXEC), ends[2];
    uint64_t count = 7;
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    assert_int_equal(co_descriptor_note(one, &first), 0);
    assert_int_equal(co_descriptor_note(two, &second), 0);
    assert_int_equal(co_descriptor_note(ends[0], &of_socket), 0);
    assert_true(co_descriptor_is_of(one, &first));
    assert_false(co_descriptor_is_of(one, &second));
    assert_true(co_descriptor_is_of(ends[0], &of_socket));
    assert_false(co_descriptor_is_of(ends[1], &of_socket));
    assert_int_equal(write(one, &count, sizeof count), sizeof count); // a mark changes nothing
    assert_int_equal(read(one, &count, sizeof count), sizeof count);
    int kept = dup(one); // the file is what is marked
    assert_true(co_descriptor_is_of(kept, &first));
    close(kept);
    close(one);
    assert_false(co_descriptor_is_of(one, &first));
    int others = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(others, one);
    assert_false(co_descriptor_is_of(one, &first));
    co_descriptor_close(&one, &first);
    assert_int_equal(one, -1);
    assert_true(fcntl(others, F_GETFD) >= 0);
    co_descriptor_close(&two, &second);
    close(others);
    close(ends[0]);
    close(ends[1]);
}

static void a_raised_one_is_not_among_the_first(void **state)
{
    (void)state;
    set_limit(100);
    int low = open("/dev/null", O_RDONLY | O_CLOEXEC), raised = co_descriptor_raise(low);
    assert_true(raised >= 32 && raised < 64);
    assert_int_equal(fcntl(low, F_GETFD), -1);
    assert_int_equal(fcntl(raised, F_GETFD), FD_CLOEXEC);
    assert_int_equal(co_descriptor_raise(raised), raised);
    set_limit(20); // there are no such numbers
    low = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(co_descriptor_raise(low), low);
    close(low);
    close(raised);
    set_limit(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_can_be_opened),
        cmocka_unit_test(holes_are_found_among_many_files),
        cmocka_unit_test(no_more_are_counted_than_wanted),
        cmocka_unit_test(numbers_of_closed_streams_are_kept_and_given_back),
        cmocka_unit_test(a_number_of_another_file_is_not_taken_for_the_first),
        cmocka_unit_test(eventfds_and_sockets_are_known_again),
        cmocka_unit_test(a_raised_one_is_not_among_the_first),
        cmocka_unit_test(what_is_kept_is_forgotten_when_its_number_is_anothers),
        cmocka_unit_test(a_pipe_without_reader_is_an_error),
        cmocka_unit_test(a_file_at_its_limit_is_an_error),
        cmocka_unit_test(a_signal_that_waited_before_still_waits),
    };
    signal(SIGPIPE, note_signal);
    signal(SIGXFSZ, note_signal);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

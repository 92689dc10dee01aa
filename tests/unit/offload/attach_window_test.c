// SPDX-License-Identifier: BSD-3-Clause
//
// Windows into another process, which is a child of the test's that does nothing. Skipped where the kernel lets nobody
// look into one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/attach_window.h"
#include "offload/stage_window.h"
#include "window_contract.h"

static unsigned char *memory; // shared with the child, at the same address; nothing is mapped behind it
static size_t page;
static pid_t child;
static struct co_attach_window attach;

static int interruptions; // so many calls of poll find a signal that is pending

static int looks = -1; // after so many the process has ended; -1: it has when it has

// In place of the C library's.
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};

    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    if (looks >= 0 && looks-- == 0) {
        return 1;
    }
    return (int)syscall(SYS_ppoll, fds, count, timeout < 0 ? NULL : &limit, NULL, 0);
}

// What _FORTIFY_SOURCE makes of it with some compilers: clang 19 with glibc 2.41.
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
    (void)room;
    return poll(fds, count, timeout);
}

static int start_child(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || munmap(memory + page, page) != 0) {
        return -1;
    }
    child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    return child > 0 ? co_attach_window_open(&attach, child) : -1;
}

static int end_child(void **state)
{
    (void)state;
    co_attach_window_close(&attach);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return munmap(memory, page);
}

static bool is_allowed(void)
{
    uint64_t word = 5;
    memcpy(memory, &word, sizeof word);
    return co_attach_window_probe(&attach, (uint64_t)(uintptr_t)memory, word) != -EPERM;
}

static void contract(void **state)
{
    (void)state;
    if (!is_allowed()) {
        skip();
    }
    window_contract_check(
        &(struct window_rig){&attach.window, memory, (uint64_t)(uintptr_t)memory, (uint64_t)page, false});
    assert_true(attach.bytes_read > 0 && attach.bytes_written > 0);
}

static void contract_staged(void **state)
{
    (void)state;
    struct co_stage_window stage;
    if (!is_allowed()) {
        skip();
    }
    co_stage_window_open(&stage, &attach.window, 1000);
    window_contract_check(
        &(struct window_rig){&stage.window, memory, (uint64_t)(uintptr_t)memory, (uint64_t)page, true});
    assert_int_equal(stage.used_bytes, 0);
}

static void probe(void **state)
{
    (void)state;
    uint64_t word = UINT64_C(0x1122334455667788), found, at = (uint64_t)(uintptr_t)memory;
    if (!is_allowed()) {
        skip();
    }
    memcpy(memory, &word, sizeof word);
    assert_int_equal(co_attach_window_probe(&attach, at, word + 1), -EPROTO);
    memcpy(&found, memory, sizeof found);
    assert_true(found == word); // nothing is written where another word stands
    assert_int_equal(co_attach_window_probe(&attach, at, word), 0);
    memcpy(&found, memory, sizeof found);
    assert_true(found == ~word);
    assert_int_equal(co_attach_window_probe(&attach, at + page, word), -EFAULT);
}

// Half of a range is there: that is an error too, and what stands before it may have moved.
static void half_of_it_is_there(void **state)
{
    (void)state;
    struct co_rank_window_loan loan;
    unsigned char bytes[64] = {0};
    if (!is_allowed()) {
        skip();
    }
    uint64_t at = (uint64_t)(uintptr_t)memory + page - 32;
    assert_int_equal(attach.window.ops->open(&attach.window, at, sizeof bytes, false, &loan), 0);
    assert_int_equal(attach.window.ops->read(&loan, 0, bytes, sizeof bytes), -EFAULT);
    assert_int_equal(attach.window.ops->write(&loan, 0, bytes, sizeof bytes), -EFAULT);
    assert_int_equal(attach.window.ops->write(&loan, 0, bytes, 32), 0);
    attach.window.ops->close(&loan);
}

// A signal that comes while the process is looked at is not its end.
static void a_signal_comes(void **state)
{
    (void)state;
    struct co_rank_window_loan loan;
    unsigned char byte = 7;
    if (!is_allowed()) {
        skip();
    }
    assert_int_equal(attach.window.ops->open(&attach.window, (uint64_t)(uintptr_t)memory, 1, false, &loan), 0);
    interruptions = 3;
    assert_int_equal(attach.window.ops->write(&loan, 0, &byte, 1), 0);
    assert_int_equal(interruptions, 0);
    assert_int_equal(memory[0], 7);
    attach.window.ops->close(&loan);
}

// Between the look and the read: its number may have been given to another process, whose bytes these would be.
static void it_ends_while_it_is_read(void **state)
{
    (void)state;
    struct co_rank_window_loan loan;
    unsigned char byte;
    if (!is_allowed()) {
        skip();
    }
    assert_int_equal(attach.window.ops->open(&attach.window, (uint64_t)(uintptr_t)memory, 1, true, &loan), 0);
    looks = 1;
    assert_int_equal(attach.window.ops->read(&loan, 0, &byte, 1), -ESRCH);
    assert_int_equal(looks, -1);
    assert_int_equal(attach.window.ops->read(&loan, 0, &byte, 1), 0);
    attach.window.ops->close(&loan);
}

// Dead, and then not even a zombie any more: its number may be somebody else's.
static void a_process_that_has_ended(void **state)
{
    (void)state;
    struct co_rank_window_loan loan;
    unsigned char byte = 7;
    siginfo_t how;

    assert_int_equal(attach.window.ops->open(&attach.window, (uint64_t)(uintptr_t)memory, 1, false, &loan), 0);
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
    memory[0] = 3;
    assert_int_equal(attach.window.ops->write(&loan, 0, &byte, 1), -ESRCH);
    waitpid(child, NULL, 0);
    attach.pid = getpid(); // as if it had been given to another process
    child = 0;
    assert_int_equal(attach.window.ops->write(&loan, 0, &byte, 1), -ESRCH);
    assert_int_equal(attach.window.ops->read(&loan, 0, &byte, 1), -ESRCH);
    assert_int_equal(memory[0], 3);
    attach.window.ops->close(&loan);
}

#define WITH_CHILD(test) cmocka_unit_test_setup_teardown(test, start_child, end_child)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CHILD(contract),
        WITH_CHILD(contract_staged),
        WITH_CHILD(probe),
        WITH_CHILD(half_of_it_is_there),
        WITH_CHILD(a_signal_comes),
        WITH_CHILD(it_ends_while_it_is_read),
        WITH_CHILD(a_process_that_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

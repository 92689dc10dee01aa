// SPDX-License-Identifier: BSD-3-Clause
//
// Copies between processes, this one being both: where the processor is slow for a destination close behind its source,
// the kernel is given none, and all bytes arrive all the same.
#include <errno.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory/memory_copy.h"
#include "shm/shm_node.h"

enum { PAGE = 4096, LARGEST = (130 << 10) + 1, ROOM = LARGEST + PAGE };

bool __wrap_co_memory_copy_is_slow_close_behind(void);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count, unsigned long flags);
ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
                                 const struct iovec *remote, unsigned long remote_count, unsigned long flags);

static bool is_slow;
static unsigned calls, close_behind; // copies of the kernel, and those that it takes long for
static size_t memory_there;          // so much of the other's; 0: all of it
alignas(PAGE) static char here[ROOM + PAGE], there[ROOM + PAGE];

bool __wrap_co_memory_copy_is_slow_close_behind(void)
{
    return is_slow;
}

static ssize_t copy(const struct iovec *to, const struct iovec *from, const struct iovec *remote)
{
    calls++;
    assert_true(to->iov_len == from->iov_len);
    close_behind += to->iov_len > CO_MEMORY_COPY_SHORT && co_memory_copy_is_close_behind(to->iov_base, from->iov_base);
    if (memory_there != 0 && (char *)remote->iov_base + remote->iov_len > there + memory_there) {
        return 0;
    }
    memcpy(to->iov_base, from->iov_base, to->iov_len);
    return (ssize_t)to->iov_len;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
    assert_true(pid == getpid() && local_count == 1 && remote_count == 1 && flags == 0);
    return copy(local, remote, remote);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
                                 const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
    assert_true(pid == getpid() && local_count == 1 && remote_count == 1 && flags == 0);
    return copy(remote, local, remote);
}

static void check(bool reads, size_t own, size_t other, size_t bytes)
{
    char *to = reads ? here + own : there + other, *from = reads ? there + other : here + own;
    memset(reads ? here : there, 'x', ROOM + PAGE);
    for (size_t i = 0; i < bytes; i++) {
        from[i] = (char)(i * 13 + i / 256);
    }
    int error = reads ? co_shm_cma_read(getpid(), to, (uint64_t)(uintptr_t)from, bytes)
                      : co_shm_cma_write(getpid(), from, (uint64_t)(uintptr_t)to, bytes);
    assert_int_equal(error, 0);
    assert_memory_equal(to, from, bytes);
    assert_true(to[-1] == 'x' && to[bytes] == 'x');
}

static void run(void)
{
    static const size_t lengths[] = {1, 2048, 2049, 60 << 10, (60 << 10) + 1, LARGEST};
    calls = close_behind = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t own = 1; own < PAGE; own += own < 70 ? 3 : 997) {
            for (int reads = 0; reads < 2; reads++) {
                check(reads, own, 1, lengths[i]);
                check(reads, own, 40, lengths[i]);
            }
        }
    }
}

static void none_close_behind_where_that_is_slow(void **state)
{
    (void)state;
    is_slow = true;
    run();
    assert_int_equal(close_behind, 0);
}

static void as_they_are_elsewhere(void **state)
{
    (void)state;
    is_slow = false;
    run();
    assert_true(close_behind > 0);
    calls = 0;
    check(true, 17, 1, LARGEST);
    assert_int_equal(calls, 1); // in one
}

static void an_end_is_an_error_on_the_way_round_too(void **state)
{
    (void)state;
    is_slow = true;
    memory_there = 65536; // the first piece is there, the second is not
    uint64_t other = (uint64_t)(uintptr_t)there;
    char *behind = here + 16, *before = here + PAGE - 16; // where the other begins in its page
    assert_int_equal(co_shm_cma_read(getpid(), behind, other, LARGEST), -EFAULT);
    assert_int_equal(co_shm_cma_write(getpid(), before, other, LARGEST), -EFAULT);
    memory_there = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_close_behind_where_that_is_slow),
        cmocka_unit_test(as_they_are_elsewhere),
        cmocka_unit_test(an_end_is_an_error_on_the_way_round_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

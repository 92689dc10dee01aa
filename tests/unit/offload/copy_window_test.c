// SPDX-License-Identifier: BSD-3-Clause
//
// A window into copies keeps the contract of windows, at the end of the file, behind which nothing is.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/copy_window.h"
#include "offload/segment_memory.h"
#include "window_contract.h"

static void contract(void **state)
{
    (void)state;
    struct co_segment_memory *segment;
    struct co_copy_window copy;
    struct co_rank_window_loan loan;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t address = CO_SEGMENT_COPIES_BYTES - page;
    int fd;

    assert_int_equal(co_segment_memory_create(&segment, true, &fd), 0);
    unsigned char *memory =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(CO_SEGMENT_COPIES_AT + address));
    assert_true(memory != MAP_FAILED);
    co_copy_window_open(&copy, fd);
    window_contract_check(&(struct window_rig){&copy.window, memory, address, page, false});
    // What would be anywhere in the file by a number that runs over.
    assert_int_equal(copy.window.ops->open(&copy.window, UINT64_MAX - 7, 16, false, &loan), -EFAULT);
    assert_int_equal(copy.window.ops->open(&copy.window, address, page + 1, false, &loan), -EFAULT);
    munmap(memory, page);
    co_segment_memory_unmap(segment);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's copies: what a call needs is in the file before it, and what came is back behind it, once; ranges overlap
// there as they do here; what is not there is an error; and memory is given back when nothing is under way.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload/rank/rank_copies.h"
#include "offload/segment_memory.h"

enum { BYTES = 200000 };

static struct co_rank_copies copies;
static struct co_rank_ranges ranges;
static unsigned char memory[BYTES];

static int begin(void **state)
{
    (void)state;
    struct co_segment_memory *segment;
    int file = -1;
    copies = (struct co_rank_copies){.kept = 0};
    ranges = (struct co_rank_ranges){.at = NULL};
    memset(memory, 7, sizeof memory);
    int error = co_segment_memory_create(&segment, true, &file);
    co_descriptor_keep(&copies.file, file);
    if (error == 0) {
        co_segment_memory_unmap(segment);
    }
    return error;
}

static int end(void **state)
{
    (void)state;
    free(ranges.at);
    co_descriptor_drop(&copies.file);
    return 0;
}

static void add(uint32_t kind, const void *address, uint64_t bytes)
{
    struct co_offload_operation operation = {.kind = kind, .address = (uint64_t)(uintptr_t)address, .bytes = bytes};
    assert_int_equal(co_rank_ranges_add(&ranges, &operation), 0);
}

static off_t place_of(const void *address)
{
    return (off_t)(CO_SEGMENT_COPIES_AT + (uint64_t)(uintptr_t)address);
}

// As the proxy reads and writes it.
static unsigned char proxy_read(const void *address)
{
    unsigned char byte = 0;
    assert_int_equal(pread(copies.file.fd, &byte, 1, place_of(address)), 1);
    return byte;
}

static void proxy_write(const void *address, unsigned char byte)
{
    assert_int_equal(pwrite(copies.file.fd, &byte, 1, place_of(address)), 1);
}

static blkcnt_t blocks(void)
{
    struct stat is;
    assert_int_equal(fstat(copies.file.fd, &is), 0);
    return is.st_blocks;
}

static void there_and_back(void **state)
{
    (void)state;
    add(CO_OFFLOAD_OPERATION_RECEIVE, memory, 1000);
    add(CO_OFFLOAD_OPERATION_BARRIER, NULL, 0);
    add(CO_OFFLOAD_OPERATION_SEND, memory + 500, 1000); // what has come of it goes on
    add(CO_OFFLOAD_OPERATION_FORWARD, memory + 5000, 1000);
    assert_int_equal(ranges.count, 3);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    assert_int_equal(proxy_read(memory + 999), 7);
    assert_int_equal(proxy_read(memory + 1499), 7);
    memory[1200] = 8; // a send's, that may not be changed: and nothing of it comes back
    proxy_write(memory, 1);
    proxy_write(memory + 999, 2);
    proxy_write(memory + 1300, 3);
    proxy_write(memory + 5999, 4);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), 0);
    assert_true(memory[0] == 1 && memory[1] == 7 && memory[999] == 2); // the rest did not come
    assert_true(memory[1200] == 8 && memory[1300] == 7 && memory[5999] == 4 && memory[6000] == 7);
    memory[0] = 5;
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), 0); // it has been
    assert_int_equal(memory[0], 5);
}

static void a_call_that_has_not_begun(void **state)
{
    (void)state;
    add(CO_OFFLOAD_OPERATION_RECEIVE, memory, BYTES);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    proxy_write(memory, 1);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, false), 0);
    assert_int_equal(memory[0], 7);
    assert_int_equal(copies.under_way, 0);
}

// Pages may have bytes of two calls: they stay until both are over.
static void memory_is_given_back(void **state)
{
    (void)state;
    struct co_rank_range other_range = {(uint64_t)(uintptr_t)(memory + 100), 1, true};
    struct co_rank_ranges other = {.at = &other_range, .count = 1, .room = 1};

    add(CO_OFFLOAD_OPERATION_SEND, memory, BYTES);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    assert_int_equal(co_rank_copies_in(&copies, &other), 0);
    assert_true(blocks() * 512 >= BYTES);
    proxy_write(memory + 100, 9);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), 0);
    assert_int_equal(co_rank_copies_out(&copies, &other, true), 0);
    assert_int_equal(memory[100], 9);
    assert_int_equal(blocks(), 0);
    copies.kept = 4 * BYTES;
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), 0);
    assert_true(blocks() * 512 >= BYTES); // for the next one
}

static void memory_that_is_not_there(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *gone = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(gone != MAP_FAILED);
    gone[0] = 1;
    add(CO_OFFLOAD_OPERATION_RECEIVE, gone, page);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    munmap(gone, page);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), -EFAULT);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), -EFAULT); // who waits hears it, too
    assert_int_equal(co_rank_copies_in(&copies, &ranges), -EFAULT);
    assert_int_equal(copies.under_way, 0);
    ranges.at[0] = (struct co_rank_range){CO_SEGMENT_COPIES_BYTES - 1, 2, false};
    assert_int_equal(co_rank_copies_in(&copies, &ranges), -EFAULT);
    ranges.at[0] = (struct co_rank_range){UINT64_MAX, 2, false};
    assert_int_equal(co_rank_copies_in(&copies, &ranges), -EFAULT);
    assert_int_equal(blocks(), 0);
}

// Who closes all that he finds, and opens a file of his own.
static void a_programs_file_stays(void **state)
{
    (void)state;
    struct stat is;
    int fd = copies.file.fd, own = memfd_create("program's", 0);
    add(CO_OFFLOAD_OPERATION_RECEIVE, memory, 1000);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), 0);
    assert_int_equal(dup2(own, fd), fd);
    assert_int_equal(co_rank_copies_out(&copies, &ranges, true), -EBADF);
    assert_int_equal(co_rank_copies_in(&copies, &ranges), -EBADF);
    co_descriptor_drop(&copies.file);
    assert_int_equal(fstat(fd, &is), 0);
    assert_int_equal(is.st_size, 0);
    close(own);
    close(fd);
}

// Only read: nothing is changed or kept, and memory that is gone is no error, for the proxy has said what there was.
static void what_memcheck_has_to_see(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct co_rank_copies seen = {.is_without_file = true, .is_checked = true};
    unsigned char *gone = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(gone != MAP_FAILED);
    add(CO_OFFLOAD_OPERATION_RECEIVE, gone, page);
    add(CO_OFFLOAD_OPERATION_RECEIVE, memory, BYTES);
    add(CO_OFFLOAD_OPERATION_SEND, memory, BYTES);
    assert_int_equal(co_rank_copies_in(&seen, &ranges), 0);
    memory[BYTES - 1] = 8;
    munmap(gone, page);
    assert_int_equal(co_rank_copies_out(&seen, &ranges, true), 0);
    assert_true(memory[0] == 7 && memory[BYTES - 2] == 7 && memory[BYTES - 1] == 8);
    assert_int_equal(seen.under_way, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(there_and_back, begin, end),
        cmocka_unit_test_setup_teardown(a_call_that_has_not_begun, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_given_back, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_is_not_there, begin, end),
        cmocka_unit_test_setup_teardown(a_programs_file_stays, begin, end),
        cmocka_unit_test_setup_teardown(what_memcheck_has_to_see, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for large messages: what is given back comes again, what is kept is bounded, and threads never share a piece.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer_cache.h"

#define LARGE ((size_t)300000)

static void what_is_given_back_comes_again(void **state)
{
    (void)state;
    void *first = co_buffer_cache_take(LARGE);
    assert_non_null(first);
    memset(first, 1, LARGE);
    co_buffer_cache_give(first);
    void *second = co_buffer_cache_take(LARGE - 1000); // another one of about that size
    assert_ptr_equal(second, first);
    void *third = co_buffer_cache_take(LARGE);
    assert_ptr_not_equal(third, second);
    co_buffer_cache_give(second);
    co_buffer_cache_give(third);
    co_buffer_cache_give(NULL);
    co_buffer_cache_close();
}

// More at once than is kept, of sizes around all limits; under the address sanitizer nothing is lost or used twice.
static void any_number_of_any_size(void **state)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1 << 20, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9 << 20};
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), EACH = 6 };
    unsigned char *pieces[SIZES * EACH];
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SIZES * EACH; i++) {
            pieces[i] = co_buffer_cache_take(sizes[i % SIZES]);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
            memset(pieces[i], i, sizes[i % SIZES]);
        }
        for (int i = 0; i < SIZES * EACH; i++) {
            size_t bytes = sizes[i % SIZES];
            assert_true(bytes == 0 || (pieces[i][0] == (unsigned char)i && pieces[i][bytes - 1] == (unsigned char)i));
            co_buffer_cache_give(pieces[i]);
        }
    }
    co_buffer_cache_close();
    assert_null(co_buffer_cache_take(SIZE_MAX - 8));
}

// What a receive of the largest count has room for: only what is touched counts.
static void more_than_the_machine_has(void **state)
{
    size_t bytes = (size_t)1 << 38;
    (void)state;
    unsigned char *piece = co_buffer_cache_take_sparse(bytes);
    if (piece == NULL) {
        skip(); // addresses are limited, or the kernel counts strictly
    }
    piece[0] = piece[bytes - 1] = 1;
    co_buffer_cache_give(piece);
}

// Who packs touches all of it, and would be ended by the kernel. Allocators of sanitizers end whoever asks for so much.
static void what_is_filled_has_to_be_there(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
    int mode = -1;
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
    if (file == NULL || fscanf(file, "%d", &mode) != 1 || mode == 1) {
        skip(); // this kernel promises whatever it is asked for
    }
    fclose(file);
    assert_null(co_buffer_cache_take((size_t)1 << 46));
}

static void *take_and_give(void *arg)
{
    unsigned char mark = (unsigned char)(uintptr_t)arg;
    uintptr_t wrong = 0;
    for (int i = 0; i < 3000; i++) {
        size_t bytes = (size_t)66000 << (i % 3);
        unsigned char *piece = co_buffer_cache_take(bytes);
        piece[0] = piece[bytes - 1] = mark;
        sched_yield();
        wrong += piece[0] != mark || piece[bytes - 1] != mark;
        co_buffer_cache_give(piece);
    }
    return (void *)wrong;
}

static void threads_never_share_a_piece(void **state)
{
    pthread_t threads[3];
    (void)state;
    for (uintptr_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    co_buffer_cache_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_comes_again), cmocka_unit_test(any_number_of_any_size),
        cmocka_unit_test(more_than_the_machine_has), cmocka_unit_test(what_is_filled_has_to_be_there),
        cmocka_unit_test(threads_never_share_a_piece)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

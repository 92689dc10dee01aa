// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for sends and receives behind requests, without an MPI: each piece is at the begin of a line and
// nobody else's, also where threads take and give at the same time; what was given is taken again; all goes at the end.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "pmpi/p2p/message_pool.h"

#define MANY 100 // more than a slab has
#define THREADS 4
#define ROUNDS 200

// A piece is not shorter than a line, and this is all that is looked at.
static void pieces_are_aligned_and_apart(void **state)
{
    struct co_message_operation *taken[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        taken[i] = co_message_pool_take();
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % CO_CACHE_LINE, 0);
        memset((void *)taken[i], i, CO_CACHE_LINE);
    }
    for (int i = 0; i < MANY; i++) {
        const unsigned char *bytes = (const unsigned char *)taken[i];
        for (size_t byte = 0; byte < CO_CACHE_LINE; byte++) {
            assert_int_equal(bytes[byte], i);
        }
    }
    co_message_pool_close();
}

static void given_is_taken_again(void **state)
{
    (void)state;
    struct co_message_operation *first = co_message_pool_take(), *second = co_message_pool_take();
    co_message_pool_give(first);
    co_message_pool_give(second);
    assert_ptr_equal(co_message_pool_take(), second);
    assert_ptr_equal(co_message_pool_take(), first);
    co_message_pool_close();
    assert_non_null(co_message_pool_take()); // anew, and of no memory that has gone
    co_message_pool_close();
}

// Nobody else writes to what a thread has. The number of those who did.
static void *take_and_give(void *own)
{
    struct co_message_operation *taken[MANY];
    uintptr_t wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++) {
            taken[i] = co_message_pool_take();
            *(void **)taken[i] = own;
        }
        for (int i = 0; i < MANY; i++) {
            wrong += *(void **)taken[i] != own;
            co_message_pool_give(taken[i]);
        }
    }
    return (void *)wrong;
}

static void threads_share_it(void **state)
{
    pthread_t threads[THREADS];
    char names[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &names[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    co_message_pool_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(given_is_taken_again),
        cmocka_unit_test(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

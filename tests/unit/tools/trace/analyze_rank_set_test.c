// SPDX-License-Identifier: BSD-3-Clause
//
// Sets of ranks against plain lists: chains of random operations, for a communicator of a size that the sets do not
// know.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "tools/trace/events/rank_set.h"

enum { SIZE = 9, SETS = 6, STEPS = 20000 };

struct plain {
    int32_t ranks[SIZE];
    uint32_t count;
};

static bool holds(const struct plain *plain, int32_t rank)
{
    for (uint32_t i = 0; i < plain->count; i++) {
        if (plain->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

static void add_where(struct plain *to, const struct plain *from, const struct plain *other, bool is_in)
{
    for (uint32_t i = 0; i < from->count; i++) {
        if (holds(other, from->ranks[i]) == is_in) {
            to->ranks[to->count++] = from->ranks[i];
        }
    }
}

static struct plain expand(const struct co_rank_set *set)
{
    struct plain plain = {.count = 0};
    for (uint32_t i = 0; i < set->head; i++) {
        plain.ranks[plain.count++] = set->first[i];
    }
    for (int32_t rank = 0; set->has_rest && rank < SIZE; rank++) {
        bool is_out = false;
        for (uint32_t i = 0; i < set->outs; i++) {
            is_out = is_out || set->out[i] == rank;
        }
        if (!is_out) {
            plain.ranks[plain.count++] = rank;
        }
    }
    for (uint32_t i = 0; i < set->tail; i++) {
        plain.ranks[plain.count++] = set->last[i];
    }
    return plain;
}

static void assert_same(const struct co_rank_set *set, const struct plain *plain)
{
    assert_non_null(set);
    struct plain expanded = expand(set);
    assert_int_equal(expanded.count, plain->count);
    for (uint32_t i = 0; i < plain->count; i++) {
        assert_int_equal(expanded.ranks[i], plain->ranks[i]);
    }
}

// Places that the set knows without the size of the communicator.
static uint32_t choose_places(const struct co_rank_set *set, const struct plain *plain, int32_t *places)
{
    uint32_t count = 0, known = plain->count - set->tail;
    for (uint32_t i = 0; i < known; i++) {
        if (rand() % 3 == 0) {
            places[count++] = (int32_t)i;
        }
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)rand() % i;
        int32_t place = places[i - 1];
        places[i - 1] = places[j];
        places[j] = place;
    }
    return count;
}

static struct plain at_places(const struct plain *plain, const int32_t *places, uint32_t count)
{
    struct plain result = {.count = count};
    for (uint32_t i = 0; i < count; i++) {
        result.ranks[i] = plain->ranks[places[i]];
    }
    return result;
}

static void chains_of_operations(void **state)
{
    (void)state;
    struct co_rank_set *sets[SETS];
    struct plain plains[SETS] = {{.count = 0}}, all = {.count = SIZE}, none = {.count = 0};
    for (int32_t rank = 0; rank < SIZE; rank++) {
        all.ranks[rank] = rank;
    }
    for (int i = 0; i < SETS; i++) {
        sets[i] = i % 2 == 0 ? co_rank_set_whole() : co_rank_set_empty();
        plains[i] = i % 2 == 0 ? all : none;
        assert_same(sets[i], &plains[i]);
    }
    srand(1);
    for (int step = 0; step < STEPS; step++) {
        int a = rand() % SETS, b = rand() % SETS, to = rand() % SETS;
        int32_t places[SIZE];
        uint32_t count = choose_places(sets[a], &plains[a], places);
        struct plain chosen = at_places(&plains[a], places, count), result = {.count = 0};
        struct co_rank_set *set;
        switch (rand() % 6) {
        case 0:
            set = co_rank_set_include(sets[a], places, count);
            result = chosen;
            break;
        case 1:
            set = co_rank_set_exclude(sets[a], places, count);
            add_where(&result, &plains[a], &chosen, false);
            break;
        case 2:
            set = co_rank_set_unite(sets[a], sets[b]);
            result = plains[a];
            add_where(&result, &plains[b], &plains[a], false);
            break;
        case 3:
            set = co_rank_set_intersect(sets[a], sets[b]);
            add_where(&result, &plains[a], &plains[b], true);
            break;
        case 4:
            set = co_rank_set_subtract(sets[a], sets[b]);
            add_where(&result, &plains[a], &plains[b], false);
            break;
        default:
            set = co_rank_set_whole();
            result = all;
            break;
        }
        assert_same(set, &result);
        free(sets[to]);
        sets[to] = set;
        plains[to] = result;
    }
    for (int i = 0; i < SETS; i++) {
        free(sets[i]);
    }
}

static void what_cannot_be_told_is_none(void **state)
{
    (void)state;
    struct co_rank_set *whole = co_rank_set_whole(), *empty = co_rank_set_empty();
    struct co_rank_set *without = co_rank_set_exclude(whole, (int32_t[]){1}, 1);
    struct co_rank_set *last = co_rank_set_include(whole, (int32_t[]){1}, 1);
    struct co_rank_set *turned = co_rank_set_unite(without, last); // 0, 2, 3, ..., 1
    assert_int_equal(turned->tail, 1);
    assert_null(co_rank_set_include(whole, (int32_t[]){-1}, 1));
    assert_null(co_rank_set_include(whole, (int32_t[]){3, 3}, 2));
    assert_null(co_rank_set_include(empty, (int32_t[]){0}, 1));
    struct co_rank_set *far = co_rank_set_include(whole, (int32_t[]){INT32_MAX}, 1);
    assert_int_equal(far->first[0], INT32_MAX);
    assert_null(co_rank_set_include(without, (int32_t[]){INT32_MAX}, 1));
    free(far);
    free(turned);
    free(last);
    free(without);
    free(empty);
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_operations),
        cmocka_unit_test(what_cannot_be_told_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

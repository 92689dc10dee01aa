// SPDX-License-Identifier: BSD-3-Clause
//
// Cost model against closed forms and plain sums over all pairs, and against the published figures once the
// published mistakes are put in here on purpose.
#include "tools/bench/model_fat_tree.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// The partition behind the published figures: radix 32, 16 hosts a leaf, 32 a pod.
static const struct co_model_tree published = {.hosts = 1024, .leaf_hosts = 16, .pod_hosts = 32};

static uint64_t distance_as_published(const struct co_model_tree *tree, uint64_t from, uint64_t to)
{
    return to < from ? 2 : co_model_distance(tree, from, to);
}

static uint64_t all_pairs(const struct co_model_tree *tree,
                          uint64_t (*distance)(const struct co_model_tree *, uint64_t, uint64_t))
{
    uint64_t sum = 0;
    for (uint64_t from = 0; from < tree->hosts; from++) {
        for (uint64_t to = 0; to < tree->hosts; to++) {
            sum += from == to ? 0 : distance(tree, from, to);
        }
    }
    return sum;
}

static uint64_t ring_steps(const struct co_model_tree *tree,
                           uint64_t (*distance)(const struct co_model_tree *, uint64_t, uint64_t))
{
    uint64_t sum = 0;
    for (uint64_t host = 0; host < tree->hosts; host++) {
        sum += distance(tree, host, (host + 1) % tree->hosts);
    }
    return sum * (tree->hosts - 1);
}

static void published_figures_come_from_published_mistakes(void **state)
{
    (void)state;
    assert_int_equal(all_pairs(&published, distance_as_published), 4143104);
    assert_int_equal(ring_steps(&published, distance_as_published), 2287428);
    // One link too many for each of the 1,024 multicasts.
    assert_int_equal(co_model_links(&published, CO_MODEL_ALLGATHER, CO_MODEL_MULTICAST) + 1024, 1147904);
}

static void right_figures_for_the_published_tree(void **state)
{
    (void)state;
    assert_int_equal(co_model_links(&published, CO_MODEL_ALLGATHER, CO_MODEL_LINEAR), 6191104);
    assert_int_equal(co_model_links(&published, CO_MODEL_ALLGATHER, CO_MODEL_RING), 2291520);
    assert_int_equal(co_model_links(&published, CO_MODEL_ALLGATHER, CO_MODEL_RECURSIVE_DOUBLING), 6191104);
    assert_int_equal(co_model_links(&published, CO_MODEL_ALLGATHER, CO_MODEL_MULTICAST), 1146880);
}

static void distance_is_symmetric_and_bounded(void **state)
{
    (void)state;
    struct co_model_tree tree;
    assert_int_equal(co_model_tree_make(&tree, 100, 8), 0);
    for (uint64_t a = 0; a < 100; a++) {
        for (uint64_t b = 0; b < 100; b++) {
            uint64_t links = co_model_distance(&tree, a, b);
            assert_int_equal(links, co_model_distance(&tree, b, a));
            assert_true(a == b ? links == 0 : links == 2 || links == 4 || links == 6);
        }
    }
    assert_int_equal(co_model_distance(&tree, 99, 0), 6);
    assert_int_equal(co_model_distance(&tree, 3, 0), 2);
    assert_int_equal(co_model_distance(&tree, 4, 3), 4);
}

static void counts_agree_with_plain_sums(void **state)
{
    (void)state;
    for (uint64_t hosts = 2; hosts <= 128; hosts++) {
        struct co_model_tree tree;
        assert_int_equal(co_model_tree_make(&tree, hosts, 8), 0);
        assert_int_equal(co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_LINEAR),
                         all_pairs(&tree, co_model_distance));
        assert_int_equal(co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_RING),
                         ring_steps(&tree, co_model_distance));
    }
}

// Every leaf-to-leaf and pod-to-pod path of a multicast from host 0, link by link.
static uint64_t tree_link_by_link(const struct co_model_tree *tree)
{
    uint64_t links = 1; // the source's own
    uint64_t leaf_ups = 0, pod_ups = 0;
    for (uint64_t host = 1; host < tree->hosts; host++) {
        links += 1;
        leaf_ups += host % tree->leaf_hosts == 0;
        pod_ups += host % tree->pod_hosts == 0;
    }
    return links + leaf_ups + (leaf_ups > 0) + pod_ups + (pod_ups > 0);
}

static void multicast_crosses_each_link_once(void **state)
{
    (void)state;
    for (uint64_t hosts = 2; hosts <= 128; hosts++) {
        struct co_model_tree tree;
        assert_int_equal(co_model_tree_make(&tree, hosts, 8), 0);
        assert_int_equal(co_model_links(&tree, CO_MODEL_BCAST, CO_MODEL_MULTICAST), tree_link_by_link(&tree));
    }
}

static void saving_on_one_switch_is_two_minus_two_over_p(void **state)
{
    (void)state;
    for (uint64_t hosts = 2; hosts <= 64; hosts++) {
        struct co_model_tree tree;
        assert_int_equal(co_model_tree_make(&tree, hosts, 64), 0);
        double ring = (double)co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_RING);
        double multicast = (double)co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_MULTICAST);
        assert_true(fabs(ring / multicast - co_model_ring_over_multicast(hosts)) < 1e-12);
        double chain = (double)co_model_links(&tree, CO_MODEL_BCAST, CO_MODEL_RING);
        assert_true(fabs(chain / (double)hosts - co_model_ring_over_multicast(hosts)) < 1e-12);
    }
}

static void recursive_doubling(void **state)
{
    (void)state;
    struct co_model_tree tree;
    assert_int_equal(co_model_tree_make(&tree, 8, 8), 0);
    assert_int_equal(co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_RECURSIVE_DOUBLING), 2 * 8 * 7);
    assert_int_equal(co_model_links(&tree, CO_MODEL_BCAST, CO_MODEL_RECURSIVE_DOUBLING), 2 * 7);
    tree.hosts = 7;
    assert_int_equal(co_model_links(&tree, CO_MODEL_ALLGATHER, CO_MODEL_RECURSIVE_DOUBLING), 0);
    assert_int_equal(co_model_links(&tree, CO_MODEL_BCAST, CO_MODEL_RECURSIVE_DOUBLING), 2 * 6);
}

static void levels_follow_size_and_radix(void **state)
{
    (void)state;
    struct co_model_tree tree;
    assert_int_equal(co_model_tree_make(&tree, 32, 32), 0);
    assert_int_equal(co_model_distance(&tree, 0, 31), 2);
    assert_int_equal(co_model_tree_make(&tree, 512, 32), 0);
    assert_int_equal(co_model_distance(&tree, 0, 511), 4);
    assert_int_equal(co_model_tree_make(&tree, 8192, 32), 0);
    assert_int_equal(co_model_distance(&tree, 0, 255), 4);
    assert_int_equal(co_model_distance(&tree, 0, 256), 6);
    assert_int_equal(co_model_tree_make(&tree, 8193, 32), -ERANGE);
    assert_int_equal(co_model_tree_make(&tree, 8, 7), -EINVAL);
    assert_int_equal(co_model_tree_make(&tree, 8, 0), -EINVAL);
    assert_int_equal(co_model_tree_make(&tree, 0, 8), -EINVAL);
    assert_int_equal(co_model_tree_make(&tree, 1, 8), 0);
    for (int algorithm = 0; algorithm < CO_MODEL_ALGORITHMS; algorithm++) {
        assert_int_equal(co_model_links(&tree, CO_MODEL_ALLGATHER, (enum co_model_algorithm)algorithm), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_figures_come_from_published_mistakes),
        cmocka_unit_test(right_figures_for_the_published_tree),
        cmocka_unit_test(distance_is_symmetric_and_bounded),
        cmocka_unit_test(counts_agree_with_plain_sums),
        cmocka_unit_test(multicast_crosses_each_link_once),
        cmocka_unit_test(saving_on_one_switch_is_two_minus_two_over_p),
        cmocka_unit_test(recursive_doubling),
        cmocka_unit_test(levels_follow_size_and_radix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Who merges whose credit on the way to a source: a tree of the group's members with the source as root, by position
// relative to the source. A position is written in digits of a base; its parent is the position without the lowest
// digit that is not zero. So a member reports to another at a distance of one digit: to few others whatever the source,
// and a report tells one of them of many sources, while each tree is as deep as positions have digits. Pure.
#ifndef CASTOFF_MCAST_ACK_CREDIT_TREE_H
#define CASTOFF_MCAST_ACK_CREDIT_TREE_H

#include <stdbool.h>

struct co_credit_tree {
    int members, base;
    int children_most; // of one member
};

static inline int co_credit_digits(int members, int base)
{
    int digits = 0;
    for (long reach = 1; reach < members; reach *= base) {
        digits++;
    }
    return digits;
}

// The shallowest in which nobody has more than `radix` children, and of these with the fewest; where there is none,
// with one child for each binary digit. Up to radix + 1 members it is flat.
static inline struct co_credit_tree co_credit_tree_of(int members, int radix)
{
    int base = members < 2 ? 2 : members <= radix + 1 ? members : radix + 1;
    while (base > 2 && co_credit_digits(members, base) * (base - 1) > radix) {
        base--;
    }
    while (base > 2 && co_credit_digits(members, base - 1) == co_credit_digits(members, base)) {
        base--;
    }
    int most = co_credit_digits(members, base) * (base - 1);
    return (struct co_credit_tree){members, base, most < members ? most : members - 1};
}

static inline int co_credit_position(const struct co_credit_tree *tree, int member, int source)
{
    int position = member - source;
    return position < 0 ? position + tree->members : position;
}

static inline int co_credit_member(const struct co_credit_tree *tree, int position, int source)
{
    int member = position + source;
    return member < tree->members ? member : member - tree->members;
}

// What the lowest digit of a position counts that is not zero. The position is not 0.
static inline int co_credit_scale(const struct co_credit_tree *tree, int position)
{
    int scale = 1;
    while (position % tree->base == 0) {
        position /= tree->base;
        scale *= tree->base;
    }
    return scale;
}

// Member to which `member` reports its credit for `source`; -1 for the source itself.
static inline int co_credit_parent(const struct co_credit_tree *tree, int member, int source)
{
    int position = co_credit_position(tree, member, source);
    if (position == 0) {
        return -1;
    }
    int scale = co_credit_scale(tree, position);
    return co_credit_member(tree, position - position / scale % tree->base * scale, source);
}

// The children of a position, in turn: for (at = co_credit_children(position); co_credit_next(tree, &at);) at.child is
// one, a position too.
struct co_credit_children {
    int position, child;
    long scale;
};

static inline struct co_credit_children co_credit_children(int position)
{
    return (struct co_credit_children){position, position, 1};
}

static inline bool co_credit_next(const struct co_credit_tree *tree, struct co_credit_children *at)
{
    if (at->child - at->position == at->scale * (tree->base - 1)) {
        at->scale *= tree->base;
        at->child = at->position;
    }
    if (at->scale >= tree->members || at->position / at->scale % tree->base != 0) {
        return false;
    }
    at->child += (int)at->scale;
    return at->child < tree->members;
}

// The sources for which `member` reports to `parent`, in turn: for (at = co_credit_sources(tree, member, parent);
// at.position < tree->members; at.position += at.step) the source is at.position before `member`.
struct co_credit_sources {
    int position;
    int step;
};

static inline struct co_credit_sources co_credit_sources(const struct co_credit_tree *tree, int member, int parent)
{
    int distance = co_credit_position(tree, member, parent);
    if (distance == 0) {
        return (struct co_credit_sources){tree->members, 1};
    }
    int scale = co_credit_scale(tree, distance);
    bool is_one_digit = distance / scale < tree->base;
    long step = (long)scale * tree->base;
    return (struct co_credit_sources){is_one_digit ? distance : tree->members,
                                      step < tree->members ? (int)step : tree->members};
}

#endif

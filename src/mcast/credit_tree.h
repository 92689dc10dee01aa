// SPDX-License-Identifier: BSD-3-Clause
//
// Who merges whose credit on the way to a source: a tree of the group's members with the source as root and `radix`
// children a node, by position relative to the source. Up to radix + 1 members it is flat. Pure.
#ifndef CASTOFF_MCAST_CREDIT_TREE_H
#define CASTOFF_MCAST_CREDIT_TREE_H

static inline int co_credit_position(int member, int source, int members)
{
    int position = member - source;
    return position < 0 ? position + members : position;
}

// Member to which `member` reports its credit for `source`; -1 for the source itself.
static inline int co_credit_parent(int member, int source, int members, int radix)
{
    int position = co_credit_position(member, source, members);
    return position == 0 ? -1 : ((position - 1) / radix + source) % members;
}

// Index of `child` among the children of its parent: 0 ... radix-1.
static inline int co_credit_child_slot(int child, int source, int members, int radix)
{
    return (co_credit_position(child, source, members) - 1) % radix;
}

// How many children `member` has in the tree of `source`.
static inline int co_credit_children(int member, int source, int members, int radix)
{
    long first = (long)co_credit_position(member, source, members) * radix + 1;
    long left = members - first;
    return left <= 0 ? 0 : left < radix ? (int)left : radix;
}

#endif

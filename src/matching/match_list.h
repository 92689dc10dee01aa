// SPDX-License-Identifier: BSD-3-Clause
//
// What exceeds a table: nodes in the order of their labels, searched one after the other as any MPI does. Freestanding;
// cold in a program whose tables are large enough.
#ifndef CASTOFF_MATCHING_MATCH_LIST_H
#define CASTOFF_MATCHING_MATCH_LIST_H

#include "matching/matcher.h"

struct co_match_list {
    struct co_match_node *first, *last;
    uint32_t count;
};

// Behind all with a smaller label; nearly always the last place.
static inline void co_match_list_add(struct co_match_list *list, struct co_match_node *node)
{
    struct co_match_node *before = list->last;
    while (before != NULL && before->label > node->label) {
        before = before->previous;
    }
    node->previous = before;
    node->next = before == NULL ? list->first : before->next;
    *(node->next == NULL ? &list->last : &node->next->previous) = node;
    *(before == NULL ? &list->first : &before->next) = node;
    list->count++;
}

static inline void co_match_list_remove(struct co_match_list *list, struct co_match_node *node)
{
    *(node->next == NULL ? &list->last : &node->next->previous) = node->previous;
    *(node->previous == NULL ? &list->first : &node->previous->next) = node->next;
    list->count--;
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// Trees of a team; see the header. Nodes have the order of their first members.
#include "offload/proxy/proxy_trees.h"

#include <errno.h>
#include <stdlib.h>

struct co_proxy_layout {
    uint32_t nodes;
    uint32_t *node;   // of each member
    uint32_t *sorted; // members by node, those of one in their order
    uint32_t *at;     // of each member, where it stands there
    uint32_t *begin;  // of each node, where its members begin there, and behind the last
};

// The node of each member, and how many nodes there are. -ENOMEM.
static int nodes_number(struct co_proxy_layout *layout, const uint32_t *proxy_of_member, uint32_t members,
                        uint32_t proxies)
{
    uint32_t *node_of_proxy = malloc(proxies * sizeof *node_of_proxy);
    if (node_of_proxy == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < proxies; i++) {
        node_of_proxy[i] = CO_PROXY_NOBODY;
    }
    for (uint32_t i = 0; i < members; i++) {
        uint32_t *node = &node_of_proxy[proxy_of_member[i]];
        if (*node == CO_PROXY_NOBODY) {
            *node = layout->nodes++;
        }
        layout->node[i] = *node;
    }
    free(node_of_proxy);
    return 0;
}

static void members_sort(struct co_proxy_layout *layout, uint32_t members)
{
    for (uint32_t i = 0; i < members; i++) {
        layout->begin[layout->node[i] + 1]++;
    }
    for (uint32_t i = 0; i < layout->nodes; i++) {
        layout->begin[i + 1] += layout->begin[i];
    }
    for (uint32_t i = 0; i < members; i++) { // begin[n] moves to where that node ends
        layout->at[i] = layout->begin[layout->node[i]]++;
        layout->sorted[layout->at[i]] = i;
    }
    for (uint32_t i = layout->nodes; i > 0; i--) {
        layout->begin[i] = layout->begin[i - 1];
    }
    layout->begin[0] = 0;
}

int co_proxy_layout_make(struct co_proxy_layout **out, const uint32_t *proxy_of_member, uint32_t members,
                         uint32_t proxies)
{
    struct co_proxy_layout *layout = calloc(1, sizeof *layout + (4 * (size_t)members + 1) * sizeof(uint32_t));
    if (layout == NULL) {
        return -ENOMEM;
    }
    layout->node = (uint32_t *)(layout + 1);
    layout->sorted = layout->node + members;
    layout->at = layout->sorted + members;
    layout->begin = layout->at + members; // no more nodes than members
    int error = nodes_number(layout, proxy_of_member, members, proxies);
    if (error != 0) {
        free(layout);
        return error;
    }
    members_sort(layout, members);
    *out = layout;
    return 0;
}

void co_proxy_layout_free(struct co_proxy_layout *layout)
{
    free(layout);
}

// Who has the message first in that node.
static uint32_t head_of(const struct co_proxy_layout *layout, uint32_t root, uint32_t node)
{
    return layout->node[root] == node ? root : layout->sorted[layout->begin[node]];
}

// The member behind that one in its node, or in front of it; the head stands in front of all.
static uint32_t member_behind(const struct co_proxy_layout *layout, uint32_t head, uint32_t me)
{
    uint32_t node = layout->node[me], end = layout->begin[node + 1];
    uint32_t next = me == head ? layout->begin[node] : layout->at[me] + 1;

    next += next < end && layout->sorted[next] == head;
    return next < end ? layout->sorted[next] : CO_PROXY_NOBODY;
}

static uint32_t member_before(const struct co_proxy_layout *layout, uint32_t head, uint32_t me)
{
    uint32_t begin = layout->begin[layout->node[me]], at = layout->at[me];

    at -= at > begin && layout->sorted[at - 1] == head;
    return at > begin ? layout->sorted[at - 1] : head;
}

struct co_proxy_tree co_proxy_tree_of(const struct co_proxy_layout *layout, uint32_t root, uint32_t me)
{
    uint32_t node = layout->node[me], first = layout->node[root], nodes = layout->nodes;
    uint32_t head = head_of(layout, root, node), next = node + 1 < nodes ? node + 1 : 0;
    uint32_t previous = node > 0 ? node - 1 : nodes - 1;
    struct co_proxy_tree tree = {.from = CO_PROXY_NOBODY, .to = {CO_PROXY_NOBODY, member_behind(layout, head, me)}};

    if (me != head) {
        tree.from = member_before(layout, head, me);
        return tree;
    }
    if (node != first) {
        tree.from = head_of(layout, root, previous);
    }
    if (next != first) {
        tree.to[0] = head_of(layout, root, next);
    }
    return tree;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Life of what reads neighbours' memory: its slots, its queue of completions, its connections; and the end of all that
// is lent. Cold.
#define _GNU_SOURCE // MADV_DONTFORK
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/zeroed_pages.h"
#include "transport/verbs/verbs_state.h"

#define LINE 64
#define WORDS_BYTES (2 * (size_t)CO_VERBS_WORDS * CO_VERBS_WORD_BYTES) // of a link, both ways
#define COMPLETIONS (2 * (CO_VERBS_READS + CO_VERBS_LINKS * 2 * CO_VERBS_WORDS))

// Without it nothing is read; that is no reason to go without verbs.
static int open_memory(struct co_verbs_reads *all)
{
    struct co_verbs *verbs = all->verbs;
    all->slot_bytes = (verbs->mtu + LINE - 1) / LINE * LINE;
    all->memory_bytes = CO_VERBS_READS * all->slot_bytes + CO_VERBS_LINKS * WORDS_BYTES;
    all->memory = co_zeroed_pages_take(all->memory_bytes);
    if (all->memory == NULL) {
        return -ENOMEM;
    }
    madvise(all->memory, all->memory_bytes, MADV_DONTFORK); // a child would take the pages away from the device
    all->region = ibv_reg_mr(verbs->domain, all->memory, all->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    all->done = all->region == NULL ? NULL : ibv_create_cq(verbs->context, COMPLETIONS, NULL, verbs->bell, 0);
    return all->done != NULL ? 0 : errno != 0 ? -errno : -ENOMEM;
}

void co_verbs_reads_open(struct co_verbs *verbs, struct co_verbs_address *mine)
{
    struct co_verbs_reads *all = &verbs->reads;
    *all = (struct co_verbs_reads){.reads = {&co_verbs_reads_ops}, .verbs = verbs};
    for (unsigned i = 0; i < CO_VERBS_READS; i++) {
        all->free_slots[all->free_count++] = (uint16_t)i;
    }
    int error = open_memory(all);
    for (unsigned i = 0; error == 0 && i < CO_VERBS_LINKS; i++) {
        uint8_t *words = all->memory + CO_VERBS_READS * all->slot_bytes + i * WORDS_BYTES;
        error = co_verbs_link_open(verbs, &all->links[i]);
        error = error != 0 ? error : co_verbs_words_open(verbs, &all->links[i], words);
    }
    if (error != 0) {
        char text[160];
        snprintf(text, sizeof text, "verbs on %s: neighbours' memory cannot be read (%s): repairs are sent",
                 verbs->device, strerror(-error));
        verbs->config.warn(text);
        co_verbs_reads_close(verbs);
        return;
    }
    co_verbs_links_tell(verbs, mine);
    verbs->transport.reads = &all->reads;
}

// Then the device uses none of the memory any more, neither ours nor what is lent.
void co_verbs_reads_close(struct co_verbs *verbs)
{
    struct co_verbs_reads *all = &verbs->reads;
    for (unsigned i = 0; i < CO_VERBS_LINKS; i++) {
        if (all->links[i].queue_pair != NULL) {
            ibv_destroy_qp(all->links[i].queue_pair);
        }
        all->links[i] = (struct co_verbs_link){.peer = -1};
    }
    for (unsigned i = 0; i < CO_VERBS_LOANS; i++) {
        if (all->loans[i].region != NULL) {
            ibv_dereg_mr(all->loans[i].region);
            all->loans[i].region = NULL;
        }
    }
    if (all->done != NULL) {
        ibv_destroy_cq(all->done);
        all->done = NULL;
    }
    if (all->region != NULL) {
        ibv_dereg_mr(all->region);
        all->region = NULL;
    }
    co_zeroed_pages_give(all->memory, all->memory_bytes);
    all->memory = NULL;
    all->memory_bytes = 0;
}

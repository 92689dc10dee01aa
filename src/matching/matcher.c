// SPDX-License-Identifier: BSD-3-Clause
//
// The matcher as one caller at a time sees it: what waits on the other side is looked for first, and only who finds
// nothing waits; both under the communicator's lock, so nothing is lost in between. Hot.
#include "matching/matcher_state.h"

static size_t round_up(size_t bytes)
{
    return (bytes + CO_CACHE_LINE - 1) / CO_CACHE_LINE * CO_CACHE_LINE;
}

size_t co_matcher_bytes(const struct co_matcher_config *config)
{
    return round_up(sizeof(struct co_matcher)) + round_up(co_posted_bytes(config->receives, config->bins)) +
           co_unexpected_bytes(config->messages, config->bins);
}

struct co_matcher *co_matcher_open(void *memory, const struct co_matcher_config *config)
{
    struct co_matcher *matcher = memory;
    unsigned char *rest = (unsigned char *)memory + round_up(sizeof(*matcher));
    co_posted_open(&matcher->posted, rest, config->receives, config->bins);
    rest += round_up(co_posted_bytes(config->receives, config->bins));
    co_unexpected_open(&matcher->unexpected, rest, config->messages, config->bins);
    return matcher;
}

struct co_matcher *co_matcher_move(const struct co_matcher *matcher, void *memory,
                                   const struct co_matcher_config *config)
{
    struct co_matcher *moved = memory;
    unsigned char *rest = (unsigned char *)memory + round_up(sizeof(*moved));
    *moved = *matcher;
    co_posted_move(&moved->posted, rest, config->receives, config->bins);
    rest += round_up(co_posted_bytes(config->receives, config->bins));
    co_unexpected_move(&moved->unexpected, rest, config->messages, config->bins);
    return moved;
}

static uint32_t waiting_receives(const struct co_posted *posted)
{
    uint32_t sum = posted->rest.count;
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        sum += posted->count[class];
    }
    return sum;
}

static uint32_t waiting_messages(const struct co_unexpected *store)
{
    return store->count + store->rest.count;
}

// Bins are empty by themselves, and places that were used are in the list of free ones.
bool co_matcher_renew(struct co_matcher *matcher, uint32_t places)
{
    struct co_posted *posted = &matcher->posted;
    struct co_unexpected *store = &matcher->unexpected;
    if (waiting_receives(posted) + waiting_messages(store) > 0 || posted->fresh > places || store->fresh > places) {
        return false;
    }
    *matcher = (struct co_matcher){.posted = {.table = posted->table,
                                              .bins = posted->bins,
                                              .places = posted->places,
                                              .fresh = posted->fresh,
                                              .freed = posted->freed,
                                              .bin_mask = posted->bin_mask,
                                              .next_label = 1},
                                   .unexpected = {.table = store->table,
                                                  .bins = store->bins,
                                                  .places = store->places,
                                                  .fresh = store->fresh,
                                                  .freed = store->freed,
                                                  .bin_mask = store->bin_mask,
                                                  .next_label = 1}};
    return true;
}

static void high_raise(uint32_t *high, uint32_t now)
{
    *high = now > *high ? now : *high;
}

void co_matcher_count_match(struct co_matcher *matcher, const struct co_match_node *receive)
{
    matcher->matches[co_match_class_of(receive->source, receive->tag)]++;
}

struct co_match_node *co_matcher_post(struct co_matcher *matcher, struct co_match_node *receive)
{
    struct co_match_node *message = waiting_messages(&matcher->unexpected) == 0
                                        ? NULL
                                        : co_unexpected_find(&matcher->unexpected, receive->source, receive->tag);
    if (message != NULL) {
        co_unexpected_remove(&matcher->unexpected, message);
        co_matcher_count_match(matcher, receive);
        return message;
    }
    co_posted_append(&matcher->posted, receive);
    high_raise(&matcher->receives_high, waiting_receives(&matcher->posted));
    return NULL;
}

void co_matcher_store(struct co_matcher *matcher, struct co_match_node *message, const struct co_match_hashes *hashes)
{
    co_unexpected_append(&matcher->unexpected, message, hashes);
    matcher->came_early++;
    high_raise(&matcher->messages_high, waiting_messages(&matcher->unexpected));
}

// The receive that waits for such a message, which waits no more; NULL: none.
static struct co_match_node *posted_take(struct co_matcher *matcher, int32_t source, int32_t tag,
                                         const struct co_match_hashes *hashes)
{
    struct co_match_node *receive = co_posted_take(&matcher->posted, source, tag, hashes);
    if (receive != NULL) {
        co_matcher_count_match(matcher, receive);
    }
    return receive;
}

struct co_match_node *co_matcher_claim(struct co_matcher *matcher, int32_t source, int32_t tag)
{
    return posted_take(matcher, source, tag, NULL);
}

struct co_match_node *co_matcher_arrive(struct co_matcher *matcher, struct co_match_node *message,
                                        const struct co_match_hashes *hashes)
{
    struct co_match_node *receive = posted_take(matcher, message->source, message->tag, hashes);
    if (receive != NULL) {
        return receive;
    }
    struct co_match_hashes own;
    if (hashes == NULL) {
        own = co_match_hashes_of(message->source, message->tag);
        hashes = &own;
    }
    co_matcher_store(matcher, message, hashes);
    return NULL;
}

struct co_match_node *co_matcher_probe(const struct co_matcher *matcher, int32_t source, int32_t tag)
{
    return co_unexpected_find(&matcher->unexpected, source, tag);
}

struct co_match_node *co_matcher_take(struct co_matcher *matcher, int32_t source, int32_t tag)
{
    struct co_match_node *message = co_unexpected_find(&matcher->unexpected, source, tag);
    if (message != NULL) {
        co_unexpected_remove(&matcher->unexpected, message);
    }
    return message;
}

struct co_match_node *co_matcher_put_back(struct co_matcher *matcher, struct co_match_node *message)
{
    struct co_match_node *receive = posted_take(matcher, message->source, message->tag, NULL);
    if (receive != NULL) {
        return receive;
    }
    co_unexpected_put_back(&matcher->unexpected, message);
    high_raise(&matcher->messages_high, waiting_messages(&matcher->unexpected));
    return NULL;
}

bool co_matcher_cancel(struct co_matcher *matcher, struct co_match_node *receive)
{
    if (!receive->waits) {
        return false;
    }
    co_posted_remove(&matcher->posted, receive);
    matcher->posted.open_sequence = 0; // what is posted from now on belongs to no run with a hole in it
    return true;
}

void co_matcher_visit_receives(const struct co_matcher *matcher,
                               void (*visit)(struct co_match_node *receive, void *arg), void *arg)
{
    co_posted_visit(&matcher->posted, visit, arg);
}

void co_matcher_state(const struct co_matcher *matcher, struct co_matcher_state *state)
{
    *state = (struct co_matcher_state){
        .receives = waiting_receives(&matcher->posted),
        .messages = waiting_messages(&matcher->unexpected),
        .receives_high = matcher->receives_high,
        .messages_high = matcher->messages_high,
        .listed_receives = matcher->posted.rest.count,
        .listed_messages = matcher->unexpected.rest.count,
        .unexpected = matcher->came_early,
        .free_path = matcher->paths[CO_PATH_FREE],
        .fast_path = matcher->paths[CO_PATH_FAST],
        .slow_path = matcher->paths[CO_PATH_SLOW],
    };
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        state->matches[class] = matcher->matches[class];
    }
}

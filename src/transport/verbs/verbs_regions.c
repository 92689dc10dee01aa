// SPDX-License-Identifier: BSD-3-Clause
//
// The program's memory, from which payload leaves without a copy: registered with the device by way of the cache, and
// busy until the work requests that read it are done. Opening and closing are warm, once for an operation.
#include <errno.h>
#include <stdlib.h>

#include "transport/verbs/verbs_state.h"

struct co_region {
    struct co_verbs *verbs;
    struct co_registration *registration;
    uintptr_t start;
    size_t bytes;
    uint64_t last; // number of the last datagram that was sent from here
};

// The device only reads.
static int make(void *arg, void *start, size_t bytes, void **handle)
{
    struct co_verbs *verbs = arg;
    *handle = ibv_reg_mr(verbs->domain, start, bytes, 0);
    return *handle != NULL ? 0 : errno != 0 ? -errno : -ENOMEM;
}

static void unmake(void *arg, void *handle)
{
    (void)arg;
    ibv_dereg_mr(handle);
}

static void count(void *arg, enum co_registration_count what)
{
    static const enum co_verbs_count counts[] = {[CO_REGISTRATION_MADE] = CO_VERBS_REGISTERED,
                                                 [CO_REGISTRATION_REUSED] = CO_VERBS_REUSED,
                                                 [CO_REGISTRATION_CHANGED] = CO_VERBS_CHANGED,
                                                 [CO_REGISTRATION_REFUSED] = CO_VERBS_UNREGISTERED};
    const struct co_verbs *verbs = arg;
    verbs->config.count(counts[what], 1);
}

int co_verbs_regions_open(struct co_verbs *verbs)
{
    struct co_registration_config config = {.make = make,
                                            .unmake = unmake,
                                            .count = count,
                                            .arg = verbs,
                                            .least_bytes = verbs->config.register_bytes,
                                            .kept_bytes = verbs->config.kept_bytes};
    return co_registration_cache_open(&verbs->registrations, &config);
}

int co_verbs_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                         bool may_write)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    struct co_registration *registration;
    (void)may_write; // nothing is put there yet
    if (verbs->broken != 0) {
        return verbs->broken;
    }
    int error = co_registration_take(verbs->registrations, &registration, start, bytes);
    if (error != 0) {
        return error;
    }
    struct co_region *region = malloc(sizeof *region);
    if (region == NULL) {
        co_registration_give(verbs->registrations, registration);
        return -ENOMEM;
    }
    *region = (struct co_region){verbs, registration, (uintptr_t)start, bytes, 0};
    *out = region;
    return 0;
}

bool co_verbs_region_is_busy(const struct co_transport *transport, const struct co_region *region)
{
    const struct co_verbs *verbs = (const struct co_verbs *)transport;
    bool is_busy = verbs->broken == 0 && region->last > verbs->left_slots;
    if (is_busy && region->last > verbs->awaited_slots) {
        region->verbs->awaited_slots = region->last;
    }
    return is_busy;
}

void co_verbs_region_close(struct co_transport *transport, struct co_region *region)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    co_registration_give(verbs->registrations, region->registration);
    free(region);
}

bool co_verbs_region_holds(const struct co_region *region, const void *payload, size_t bytes)
{
    size_t at = (uintptr_t)payload - region->start;
    return at <= region->bytes && bytes <= region->bytes - at;
}

uint32_t co_verbs_region_use(const struct co_region *region, uint64_t last)
{
    struct co_region *used = (struct co_region *)region; // the caller's is const since its bytes are
    used->last = last;
    return ((const struct ibv_mr *)region->registration->handle)->lkey;
}

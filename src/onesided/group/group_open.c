// SPDX-License-Identifier: BSD-3-Clause
//
// The front of libcastoff-group.so: opening and closing.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "onesided/group/group_state.h"

enum { PATIENCE_MS = 30000 };

static int take_names(struct castoff_group *group, const struct castoff_group_options *options)
{
    if (options->coordinator == NULL || options->secret == NULL || options->group == NULL) {
        return co_onesided_fail(-EINVAL, "coordinator, secret and the group's name are needed");
    }
    if (options->name != NULL) {
        snprintf(group->own_name, sizeof group->own_name, "%s", options->name);
    } else if (gethostname(group->own_name, sizeof group->own_name - 1) != 0) {
        return co_onesided_fail(-errno, "this host has no name");
    }
    snprintf(group->name, sizeof group->name, "%s", options->group);
    if (!co_coordination_name_is_good(options->group) || !co_coordination_name_is_good(group->own_name) ||
        (options->name != NULL && strcmp(options->name, group->own_name) != 0)) {
        return co_onesided_fail(-EINVAL, "names have 1 to 63 letters, digits, '.', '_' and '-'");
    }
    return 0;
}

int castoff_group_check(const struct castoff_group_options *options)
{
    char reason[256];
    uint8_t *secret;
    if (options->secret == NULL) {
        return co_onesided_fail(-EINVAL, "no secret is named");
    }
    int error = co_secret_open(&secret, options->secret, reason, sizeof reason);
    co_secret_close(secret);
    if (error != 0) {
        return co_onesided_fail(error, "%s", reason);
    }
    struct castoff_group *group = calloc(1, sizeof *group);
    if (group == NULL) {
        return co_onesided_fail(-ENOMEM, "no memory");
    }
    error = co_onesided_device_open(group, options);
    int kept = co_onesided_device_close(group);
    free(group);
    return error != 0 ? error : kept;
}

static int open_all(struct castoff_group *group, const struct castoff_group_options *options)
{
    int error = take_names(group, options);
    if (error == 0 && group->is_sender) {
        group->peers = calloc(group->members > 0 ? group->members : 1, sizeof *group->peers);
        error = group->peers != NULL ? 0 : co_onesided_fail(-ENOMEM, "no memory for %u members", group->members);
    }
    error = error != 0 ? error : co_onesided_device_open(group, options);
    error = error != 0 ? error : co_onesided_pair_make(group);
    return error != 0 ? error : co_onesided_join(group, options);
}

static int open_end(struct castoff_group **out, const struct castoff_group_options *options, bool is_sender,
                    void *buffer, size_t bytes)
{
    struct castoff_group *group = calloc(1, sizeof *group);
    if (group == NULL) {
        return co_onesided_fail(-ENOMEM, "no memory");
    }
    group->link.socket = -1;
    group->is_sender = is_sender;
    group->buffer = buffer;
    group->buffer_bytes = bytes;
    group->members = options->members;
    group->patience_ns = (options->patience_ms != 0 ? options->patience_ms : PATIENCE_MS) * CO_NS_PER_MS;
    int error = -EINVAL;
    if (bytes == 0 || bytes > CO_TRANSFER_BYTES_MAX || buffer == NULL) {
        co_onesided_fail(error, "a buffer has 1 byte to 2 TiB");
    } else {
        error = open_all(group, options);
    }
    if (error != 0) {
        char kept[CO_ONESIDED_WHY_MAX];
        snprintf(kept, sizeof kept, "%s", castoff_group_why());
        castoff_group_close(group);
        co_onesided_fail(error, "%s", kept);
        return error;
    }
    if (options->rate > 0) {
        group->pause_ns = co_transfer_chunk_bytes(group->bytes) * CO_NS_PER_S / options->rate;
    }
    *out = group;
    return 0;
}

int castoff_group_open_sender(struct castoff_group **out, const struct castoff_group_options *options,
                              const void *buffer, size_t bytes)
{
    return open_end(out, options, true, (void *)(uintptr_t)buffer, bytes); // registered without the right to write
}

int castoff_group_open_member(struct castoff_group **out, const struct castoff_group_options *options, void *buffer,
                              size_t bytes)
{
    return open_end(out, options, false, buffer, bytes);
}

size_t castoff_group_chunk_bytes(const struct castoff_group *group)
{
    return co_transfer_chunk_bytes(group->bytes);
}

int castoff_group_complete(struct castoff_group *group)
{
    return group->is_sender ? co_onesided_sender_complete(group) : co_onesided_member_complete(group);
}

int castoff_group_close(struct castoff_group *group)
{
    if (group == NULL) {
        return 0;
    }
    int error = group->link.session != NULL ? co_onesided_leave(group) : 0;
    int kept = co_onesided_device_close(group); // whatever the coordinator said: from here on nothing can be written
    co_tcp_close(&group->link);
    free(group->peers);
    free(group);
    return error != 0 ? error : kept;
}

void castoff_group_counts(const struct castoff_group *group, struct castoff_group_counts *out)
{
    *out = group->counts;
}

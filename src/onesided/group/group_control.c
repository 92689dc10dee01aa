// SPDX-License-Identifier: BSD-3-Clause
//
// The conversation of a group's end with the coordinator.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "onesided/coordinator.h"
#include "onesided/group/group_state.h"

enum { WHY = 256 };

static int error_of(uint8_t reason)
{
    static const int errors[CO_REASON_END] = {
        [CO_REASON_NONE] = ECONNRESET,    [CO_REASON_EXISTS] = EEXIST, [CO_REASON_FULL] = ENOSPC,
        [CO_REASON_DEADLINE] = ETIMEDOUT, [CO_REASON_WRONG] = EINVAL,  [CO_REASON_NO_HOP] = EHOSTUNREACH,
        [CO_REASON_LOST] = ECONNRESET};
    return -errors[reason];
}

static int fail_as_told(struct castoff_group *group)
{
    const struct co_coordination_answer *answer = &group->message.answer;
    // Refused before it was let in, or told the end: there is nothing to leave.
    group->is_over = group->message.kind == CO_SAY_ENDED || group->bytes == 0;
    if (answer->reason == CO_REASON_NONE) {
        return co_onesided_fail(-ECONNRESET, "group %s: the sender has closed it", group->name);
    }
    return co_onesided_fail(error_of(answer->reason), "group %s: %s", group->name, answer->text);
}

int co_onesided_await(struct castoff_group *group, uint64_t until_ns)
{
    char why[WHY];
    int result = co_tcp_await(&group->link, &group->message, until_ns, why, sizeof why);
    if (result < 0) {
        return co_onesided_fail(result, "%s", why);
    }
    uint16_t kind = group->message.kind;
    return kind == CO_SAY_REFUSED || kind == CO_SAY_ENDED ? fail_as_told(group) : 0;
}

int co_onesided_send(struct castoff_group *group, uint16_t kind)
{
    group->message.kind = kind;
    int error = co_tcp_message_send(&group->link, &group->message);
    return error == 0 ? 0 : co_onesided_fail(error, "coordinator %s: %s", group->link.place, strerror(-error));
}

static int await_kind(struct castoff_group *group, uint16_t kind, uint64_t until_ns)
{
    int error = co_onesided_await(group, until_ns);
    if (error == 0 && group->message.kind != kind) {
        error = co_onesided_fail(-EPROTO, "coordinator %s: says %u where %u is expected", group->link.place,
                                 group->message.kind, kind);
    }
    return error;
}

static int log_in(struct castoff_group *group, const struct castoff_group_options *options, uint64_t until_ns)
{
    char why[WHY];
    uint8_t *secret;
    int error = co_secret_open(&secret, options->secret, why, sizeof why);
    if (error == 0) {
        error = co_tcp_connect(&group->link, options->coordinator, CO_COORDINATOR_PORT,
                               (int)(group->patience_ns / CO_NS_PER_MS), secret, why, sizeof why);
    }
    co_secret_close(secret);
    if (error != 0) {
        return co_onesided_fail(error, "%s", why);
    }
    error = await_kind(group, CO_SAY_WELCOME, until_ns);
    if (error == 0) {
        group->lease_ns = group->message.lease_ms * CO_NS_PER_MS;
        group->message.login = (struct co_coordination_login){.role = CO_ROLE_CLIENT};
        memcpy(group->message.login.name, group->own_name, sizeof group->own_name);
        error = co_onesided_send(group, CO_SAY_LOGIN);
    }
    return error == 0 ? await_kind(group, CO_SAY_DONE, until_ns) : error;
}

static int open_group(struct castoff_group *group, const struct castoff_group_options *options)
{
    struct co_coordination_open *open = &group->message.open;
    *open = (struct co_coordination_open){.bytes = group->buffer_bytes,
                                          .members = options->members,
                                          .patience_ms = (uint32_t)(group->patience_ns / CO_NS_PER_MS),
                                          .end = group->end};
    memcpy(open->group, group->name, sizeof open->group);
    memcpy(open->name, group->own_name, sizeof open->name);
    group->is_joined = true;
    return co_onesided_send(group, group->is_sender ? CO_SAY_OPEN_SENDER : CO_SAY_OPEN_MEMBER);
}

int co_onesided_join(struct castoff_group *group, const struct castoff_group_options *options)
{
    uint64_t until_ns = co_clock_now_ns() + group->patience_ns;
    int error = log_in(group, options, until_ns);
    error = error != 0 ? error : open_group(group, options);
    // The coordinator ends a group that does not come together in time, and says who is missing: that takes a little
    // more.
    until_ns += group->is_sender ? 4 * group->lease_ns : 0;
    error = error != 0 ? error : await_kind(group, group->is_sender ? CO_SAY_GO : CO_SAY_SETUP, until_ns);
    if (error != 0) {
        return error == -ETIMEDOUT && !group->is_sender && !group->is_over
                   ? co_onesided_fail(error, "group %s: no sender has come", group->name)
                   : error;
    }
    if (!co_transfer_setup_fits(&group->message.setup, group->is_sender, group->buffer_bytes, group->members)) {
        return co_onesided_fail(
            -EPROTO, "coordinator %s: sets up %llu bytes and %u members, which is not what was asked for",
            group->link.place, (unsigned long long)group->message.setup.bytes, group->message.setup.members);
    }
    group->setup = group->message.setup;
    group->bytes = group->setup.bytes;
    group->chunks = co_transfer_chunks(group->bytes);
    error = co_onesided_pair_connect(group);
    return error == 0 && !group->is_sender ? co_onesided_send(group, CO_SAY_READY) : error;
}

// Answered when no rule leads here any more.
int co_onesided_leave(struct castoff_group *group)
{
    uint64_t until_ns = co_clock_now_ns() + 2 * group->lease_ns + 5 * CO_NS_PER_S;
    if (!group->is_joined || group->is_over) {
        return 0; // ENDED has said as much
    }
    int error = co_onesided_send(group, CO_SAY_CLOSE);
    while (error == 0) {
        error = co_onesided_await(group, until_ns);
        if (error == 0 && group->message.kind == CO_SAY_DONE) {
            return 0;
        }
    }
    return group->is_over ? 0 : error;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// One lock and one condition for all groups.
#include "fake_group.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GROUPS_MOST = 256, ENDS_MOST = 16 };

struct group {
    char name[80];
    unsigned members, joined;
    bool has_sender, is_whole, is_over;
    const unsigned char *source;
    size_t bytes;
    unsigned char *buffers[ENDS_MOST];
};

struct castoff_group {
    struct group *group;
    unsigned char **place; // a member's, until it leaves: nothing is written there any more then
    bool is_sender;
    int rank;
    unsigned patience_ms;
    uint64_t written;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[GROUPS_MOST];
static int group_count, opened, now_open;
static struct fake_group_plan plan;
static _Thread_local int own_rank;

void fake_group_begin(const struct fake_group_plan *wanted)
{
    memset(groups, 0, sizeof groups);
    group_count = opened = now_open = 0;
    plan = *wanted;
}

void fake_group_heal(void)
{
    pthread_mutex_lock(&lock);
    plan = (struct fake_group_plan){.fails_at = FAKE_NOWHERE};
    pthread_mutex_unlock(&lock);
}

void fake_group_be_rank(int rank)
{
    own_rank = rank;
}

static bool fails(enum fake_step step, int rank)
{
    return plan.fails_at == step && plan.rank == rank;
}

// Lock held.
static int fail_here(struct group *group, int error)
{
    group->is_over = !plan.is_silent;
    pthread_cond_broadcast(&changed);
    return error;
}

static struct group *find(const char *name)
{
    for (int i = 0; i < group_count; i++) {
        if (strcmp(groups[i].name, name) == 0) {
            return &groups[i];
        }
    }
    if (group_count == GROUPS_MOST) {
        abort();
    }
    snprintf(groups[group_count].name, sizeof groups[group_count].name, "%s", name);
    return &groups[group_count++];
}

// Lock held. Waits until `holds`, or the group is over.
static int await(const struct castoff_group *end, bool (*holds)(const struct group *))
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += end->patience_ms / 1000;
    until.tv_nsec += (long)(end->patience_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!holds(end->group)) {
        if (end->group->is_over) {
            return -ECONNRESET;
        }
        if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT && !holds(end->group)) {
            return -ETIMEDOUT;
        }
    }
    return 0;
}

static bool is_set_up(const struct group *group)
{
    return group->has_sender && group->joined == group->members;
}

static bool is_whole(const struct group *group)
{
    return group->is_whole;
}

static int join(struct castoff_group *end, const struct castoff_group_options *options, void *buffer, size_t bytes)
{
    struct group *group = end->group;
    if (fails(FAKE_OPEN, end->rank)) {
        return fail_here(group, -ENOMEM);
    }
    if (end->is_sender) {
        group->has_sender = true;
        group->members = options->members;
        group->source = buffer;
        group->bytes = bytes;
    } else {
        end->place = &group->buffers[group->joined++];
        *end->place = buffer;
    }
    pthread_cond_broadcast(&changed);
    return await(end, is_set_up);
}

// Lock held.
static void leave(struct castoff_group *end)
{
    if (end->place != NULL) {
        *end->place = NULL;
    }
}

static int open_end(struct castoff_group **out, const struct castoff_group_options *options, bool is_sender,
                    void *buffer, size_t bytes)
{
    struct castoff_group *end = calloc(1, sizeof *end);
    pthread_mutex_lock(&lock);
    end->is_sender = is_sender;
    end->patience_ms = options->patience_ms;
    end->group = find(options->group);
    sscanf(options->name, "rank%d", &end->rank);
    opened++;
    int error = join(end, options, buffer, bytes);
    now_open += error == 0;
    if (error != 0) {
        leave(end);
    }
    pthread_mutex_unlock(&lock);
    if (error != 0) {
        free(end);
        return error;
    }
    *out = end;
    return 0;
}

static int open_sender(struct castoff_group **out, const struct castoff_group_options *options, const void *buffer,
                       size_t bytes)
{
    return open_end(out, options, true, (void *)(uintptr_t)buffer, bytes);
}

static int open_member(struct castoff_group **out, const struct castoff_group_options *options, void *buffer,
                       size_t bytes)
{
    return open_end(out, options, false, buffer, bytes);
}

static int write_all(struct castoff_group *end, size_t offset, size_t bytes)
{
    struct group *group = end->group;
    int error = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < group->joined; i++) {
        if (group->buffers[i] == NULL) {
            continue;
        }
        memcpy(group->buffers[i] + offset, group->source + offset, bytes);
        if (plan.writes_bad) {
            memset(group->buffers[i] + offset, 0x5a, bytes);
        }
    }
    end->written += bytes;
    if (fails(FAKE_WRITE, end->rank)) {
        error = fail_here(group, -EIO);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static int complete(struct castoff_group *end)
{
    int error = 0;
    pthread_mutex_lock(&lock);
    if (fails(FAKE_COMPLETE, end->rank)) {
        error = fail_here(end->group, -ETIMEDOUT);
    } else if (end->is_sender) {
        end->group->is_whole = true;
        pthread_cond_broadcast(&changed);
    } else {
        error = await(end, is_whole);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static int close_end(struct castoff_group *end)
{
    if (end == NULL) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    now_open--;
    leave(end);
    int error = fails(FAKE_CLOSE, end->rank) ? -ETIMEDOUT : 0;
    pthread_mutex_unlock(&lock);
    free(end);
    return error;
}

static void counts_of(const struct castoff_group *end, struct castoff_group_counts *out)
{
    *out = (struct castoff_group_counts){.bytes_written = end->written};
}

static const char *why(void)
{
    return "the plan says so";
}

static int check(const struct castoff_group_options *options)
{
    return options->secret == NULL || fails(FAKE_CHECK, own_rank) ? -ENODEV : 0;
}

int fake_group_load(struct co_onesided_library *library, char *reason, size_t room)
{
    if (fails(FAKE_LOAD, own_rank)) {
        snprintf(reason, room, "no such library");
        return -ENOENT;
    }
    *library =
        (struct co_onesided_library){check, open_sender, open_member, write_all, complete, close_end, counts_of, why};
    return 0;
}

int fake_group_opened(void)
{
    return opened;
}

int fake_group_now(void)
{
    return now_open;
}

int fake_group_name_count(void)
{
    return group_count;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// A group from opening to closing, beside the thread that has called MPI. Nothing of the engine is touched in here.
// Cold: what it takes to set up a group is worth it for large buffers only.
#define _GNU_SOURCE
#include "engine/collective/onesided_thread.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/own_thread.h"
#include "engine/collective/onesided_collective.h"
#include "engine/engine.h"

static void enter(struct co_onesided_thread *transfer, const char *stage)
{
    co_store_relaxed(&transfer->stage, stage); // relaxed: text of the program, for people
}

static void keep_why(struct co_onesided_thread *transfer)
{
    snprintf(transfer->why, sizeof(transfer->why), "%s", transfer->onesided->library.why());
}

static int use(struct co_onesided_thread *transfer, struct castoff_group *group)
{
    const struct co_onesided_library *library = &transfer->onesided->library;
    int error = 0;
    if (transfer->is_sender) {
        enter(transfer, "writing");
        error = library->write(group, 0, transfer->bytes);
    }
    enter(transfer, "waiting until all is there");
    return error != 0 ? error : library->complete(group);
}

// Closed in any case before the buffer may be used for anything else.
static int carry(struct co_onesided_thread *transfer)
{
    const struct co_onesided_library *library = &transfer->onesided->library;
    struct castoff_group_options options = transfer->onesided->options;
    struct castoff_group *group = NULL;
    options.group = transfer->group;
    options.name = transfer->name;
    options.members = transfer->members;
    enter(transfer, "waiting for the group to be set up");
    int error = transfer->is_sender ? library->open_sender(&group, &options, transfer->buffer, transfer->bytes)
                                    : library->open_member(&group, &options, transfer->buffer, transfer->bytes);
    if (error != 0) {
        keep_why(transfer);
        return error;
    }
    error = use(transfer, group);
    if (error != 0) {
        keep_why(transfer);
    }
    library->counts(group, &transfer->counts);
    enter(transfer, "leaving the group");
    if (library->close(group) != 0) { // the buffer is safe all the same
        co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "leaving group %s: %s", transfer->group, library->why());
    }
    return error;
}

static void *work(void *arg)
{
    struct co_onesided_thread *transfer = arg;
    for (;;) {
        while (sem_wait(&transfer->ordered) != 0) { // interrupted
        }
        if (transfer->must_end) {
            return NULL;
        }
        transfer->result = carry(transfer);
        co_store_release(&transfer->is_done, true); // release P1, read by P1 below: result, reason, bytes
    }
}

int co_onesided_thread_open(struct co_onesided_thread *transfer, const struct co_onesided_collective *onesided)
{
    transfer->onesided = onesided;
    transfer->must_end = false;
    enter(transfer, "beginning");
    if (sem_init(&transfer->ordered, 0, 0) != 0) {
        return -errno;
    }
    int error = co_own_thread_start(&transfer->thread, work, transfer);
    if (error != 0) {
        sem_destroy(&transfer->ordered);
    }
    return -error;
}

static void describe(const void *waited_for, char *text, size_t room)
{
    const struct co_onesided_thread *transfer = waited_for;
    snprintf(text, room, "%s of group %s by RDMA writes, %zu bytes: %s",
             transfer->is_sender ? "the sender" : "a member", transfer->group, transfer->bytes,
             co_load_relaxed(&((struct co_onesided_thread *)waited_for)->stage)); // relaxed: for people
}

int co_onesided_thread_carry(struct co_onesided_thread *transfer, struct co_engine *engine, const char *call)
{
    struct co_wait wait = {.call = call, .describe = describe, .waited_for = transfer};
    co_store_relaxed(&transfer->is_done, false); // relaxed: the thread has its order behind this
    sem_post(&transfer->ordered);
    while (!co_load_acquire(&transfer->is_done)) { // acquire P1
        co_engine_wait_turn(engine, &wait);
    }
    return transfer->result;
}

void co_onesided_thread_close(struct co_onesided_thread *transfer)
{
    transfer->must_end = true;
    sem_post(&transfer->ordered);
    pthread_join(transfer->thread, NULL);
    sem_destroy(&transfer->ordered);
}

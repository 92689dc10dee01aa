// SPDX-License-Identifier: BSD-3-Clause
//
// Segments of ranks, and the core; see the header.
#include "offload/proxy/proxy_service.h"

#include <errno.h>
#include <stdlib.h>

// Of one rank: the others have their turn, too. Who begins a command with operations left finishes it.
enum { COMMANDS_A_TURN = 16, OPERATIONS_A_TURN = 4096 };

struct served_rank {
    bool is_here;
    struct co_segment_proxy segment;
};

struct co_proxy_service {
    struct co_proxy *proxy;
    struct co_proxy_service_output output;
    uint32_t rank_count;
    struct served_rank ranks[];
};

static void rank_complete(void *context, int rank, uint32_t ticket, const struct co_offload_completion *completion)
{
    struct co_proxy_service *service = context;
    if (co_segment_complete(&service->ranks[rank].segment, ticket, completion)) {
        service->output.ring(service->output.context, rank);
    }
}

int co_proxy_service_open(struct co_proxy_service **out, const struct co_proxy_config *config,
                          struct co_carrier *carrier, const struct co_proxy_service_output *output)
{
    size_t count = config->ranks > 0 ? (size_t)config->ranks : 0;
    struct co_proxy_service *service = calloc(1, sizeof *service + count * sizeof(struct served_rank));
    if (service == NULL) {
        return -ENOMEM;
    }
    service->output = *output;
    service->rank_count = (uint32_t)count;
    int error = co_proxy_open(&service->proxy, config, carrier,
                              &(struct co_proxy_output){.context = service, .complete = rank_complete});
    if (error != 0) {
        free(service);
        return error;
    }
    *out = service;
    return 0;
}

void co_proxy_service_close(struct co_proxy_service *service)
{
    co_proxy_close(service->proxy);
    free(service);
}

struct co_proxy *co_proxy_service_core(struct co_proxy_service *service)
{
    return service->proxy;
}

int co_proxy_service_join(struct co_proxy_service *service, int rank, struct co_segment_memory *memory,
                          struct co_rank_window *window)
{
    struct co_segment_proxy segment;
    int error = co_segment_proxy_open(&segment, memory);

    if (error == 0) {
        error = co_proxy_rank_join(service->proxy, rank, window);
    }
    if (error == 0) {
        service->ranks[rank] = (struct served_rank){true, segment};
    }
    return error;
}

// Of what nothing follows once its rank has gone: groups and teams, told and forgotten.
static bool is_of_memory(uint32_t kind)
{
    return kind == CO_OFFLOAD_COMMAND_GROUP || kind == CO_OFFLOAD_COMMAND_FORGET ||
           kind == CO_OFFLOAD_COMMAND_TEAM_OPEN || kind == CO_OFFLOAD_COMMAND_TEAM_CLOSE ||
           co_offload_command_is_pattern(kind);
}

// What a rank that has ended said last: BYE may still stand in its ring, behind groups and teams that it told or
// forgot. A call there has nobody who waited for it: then the rank has died.
static void bye_look_for(struct co_proxy_service *service, int rank)
{
    struct served_rank *served = &service->ranks[rank];
    struct co_offload_command command;
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];

    for (int i = 0; i < CO_SEGMENT_COMMANDS && co_segment_take(&served->segment, bytes) == 1; i++) {
        if (co_offload_command_decode(&command, bytes, service->rank_count) != 0) {
            return;
        }
        if (!is_of_memory(command.kind)) {
            if (command.kind == CO_OFFLOAD_COMMAND_BYE) {
                co_proxy_command(service->proxy, rank, &command, NULL, 0);
            }
            return;
        }
        co_segment_taken(&served->segment);
    }
}

static void rank_end(struct co_proxy_service *service, int rank)
{
    service->ranks[rank].is_here = false;
    co_proxy_rank_lost(service->proxy, rank);
}

void co_proxy_service_lost(struct co_proxy_service *service, int rank)
{
    if (service->ranks[rank].is_here) {
        bye_look_for(service, rank);
        rank_end(service, rank);
    }
}

// The rank may write into its segment at any moment: everything is copied before it is looked at.
static int command_run(struct co_proxy_service *service, int rank, const uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES])
{
    struct co_offload_command command;
    uint8_t *definition = NULL;
    size_t length = 0;
    int error = co_offload_command_decode(&command, bytes, service->rank_count);

    if (error == 0 && co_offload_command_definition_bytes(&command) > 0) {
        length = co_offload_command_definition_bytes(&command);
        definition = malloc(length);
        error = definition == NULL
                    ? -ENOMEM
                    : co_segment_read(&service->ranks[rank].segment, command.definition, definition, length);
    }
    if (error == 0) {
        error = co_proxy_command(service->proxy, rank, &command, definition, length);
    }
    free(definition);
    return error;
}

// True: there may be more.
static bool commands_take(struct co_proxy_service *service, int rank)
{
    struct served_rank *served = &service->ranks[rank];
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    const uint64_t *operations = &co_proxy_counts(service->proxy)->operations;
    uint64_t before = *operations;
    int result = co_proxy_rank_is_condemned(service->proxy, rank) ? -ENOSPC : 1;

    for (int i = 0; i < COMMANDS_A_TURN && *operations - before < OPERATIONS_A_TURN && result > 0; i++) {
        result = co_segment_take(&served->segment, bytes);
        if (result > 0) {
            int error = command_run(service, rank, bytes);
            result = error != 0 ? error : result;
            co_segment_taken(&served->segment);
        }
    }
    if (result < 0) {
        rank_end(service, rank);
        service->output.hang_up(service->output.context, rank, result);
    }
    return result > 0;
}

bool co_proxy_service_progress(struct co_proxy_service *service)
{
    bool has_more = false;

    for (uint32_t i = 0; i < service->rank_count; i++) {
        if (service->ranks[i].is_here) {
            struct co_segment_memory *memory = service->ranks[i].segment.memory;
            // relaxed: a rank looks only whether they change
            co_add_relaxed(&memory->heartbeat, 1);
            co_store_relaxed(&memory->moved, co_proxy_rank_moved(service->proxy, (int)i));
            has_more = commands_take(service, (int)i) || has_more;
        }
    }
    return co_proxy_progress(service->proxy) || has_more;
}

void co_proxy_service_wakes(struct co_proxy_service *service)
{
    for (uint32_t i = 0; i < service->rank_count; i++) {
        if (service->ranks[i].is_here) {
            co_segment_proxy_wakes(&service->ranks[i].segment);
        }
    }
}

bool co_proxy_service_sleeps(struct co_proxy_service *service)
{
    for (uint32_t i = 0; i < service->rank_count; i++) {
        if (service->ranks[i].is_here && !co_segment_proxy_sleeps(&service->ranks[i].segment)) {
            co_proxy_service_wakes(service);
            return false;
        }
    }
    return true;
}

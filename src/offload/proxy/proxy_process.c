// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor of a proxy's process; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/proxy/proxy_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/poll.h"
#include "offload/offload_record.h"
#include "offload/proxy/proxy_bell.h"
#include "offload/proxy/proxy_connected.h"
#include "offload/proxy/proxy_peers.h"
#include "offload/proxy/proxy_bounded_close.h"
#include "offload/proxy/proxy_status.h"

// Turns with something to do between two looks at the descriptors.
enum { TURNS_A_LOOK = 16, EVENTS = 64, STATUS_BYTES = 2048 };

// What a descriptor is, beside the rank that it is of.
enum watched { WATCHED_LISTENER, WATCHED_STARTER, WATCHED_PEERS, WATCHED_CONNECTION, WATCHED_PROCESS, WATCHED_BELL };

struct co_proxy_process {
    struct co_offload_job job;
    pid_t *processes; // by rank; 0: not ours
    int *proxy_of_rank;
    uint32_t ours, here;
    uint64_t open_ns, patience_ns;
    int epoll;
    int starter; // -1: there is none
    bool has_starter_left;
    uint32_t turns_to_look;
    struct co_proxy_listener *listener;
    struct co_proxy_service *service;
    struct co_proxy_peers peers;
    struct co_proxy_process_counts counts;
    struct co_proxy_connected ranks[];
};

static uint64_t watched_name(enum watched what, uint32_t rank)
{
    return (uint64_t)what << 32 | rank;
}

static int watch(const struct co_proxy_process *process, int descriptor, enum watched what, uint32_t rank)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = watched_name(what, rank)};
    return epoll_ctl(process->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0 ? -errno : 0;
}

// Its other descriptors leave the epoll by being closed: nobody else has them.
static void rank_release(struct co_proxy_process *process, int rank)
{
    co_proxy_bell_close(process->ranks[rank].bell, process->epoll);
    co_proxy_connected_close(&process->ranks[rank]);
    process->here--;
}

static void rank_lost(struct co_proxy_process *process, int rank)
{
    co_proxy_service_lost(process->service, rank);
    rank_release(process, rank);
}

static void rank_ring(void *context, int rank)
{
    struct co_proxy_process *process = context;

    process->counts.rings++;
    // Where it has no room there are rings that the rank has not heard yet.
    (void)co_local_send(process->ranks[rank].socket, "!", 1, -1);
}

static void rank_hang_up(void *context, int rank, int error)
{
    struct co_proxy_process *process = context;

    (void)error;
    process->counts.hung_up++;
    rank_release(process, rank);
}

static int ranks_copy(struct co_proxy_process *process, const struct co_proxy_process_config *config)
{
    const struct co_offload_job *job = config->job;

    process->proxy_of_rank = calloc(job->ranks, sizeof *process->proxy_of_rank);
    process->processes = calloc(job->ranks, sizeof *process->processes);
    if (process->proxy_of_rank == NULL || process->processes == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        process->proxy_of_rank[i] = (int)config->ranks[i].proxy;
        process->processes[i] = (pid_t)config->ranks[i].process;
        process->ours += config->ranks[i].process != 0;
    }
    process->job = *job;
    return 0;
}

static int service_open(struct co_proxy_process *process)
{
    const struct co_offload_job *job = &process->job;
    struct co_proxy_config core = {.self = (int)job->self,
                                   .proxies = (int)job->proxies,
                                   .ranks = (int)job->ranks,
                                   .proxy_of_rank = process->proxy_of_rank,
                                   .piece_bytes = CO_OFFLOAD_RECORD_PAYLOAD_MAX,
                                   .groups_max = job->groups_max,
                                   .ends_max = job->ends_max,
                                   .sources = job->sources,
                                   .first_number = job->first_number};
    struct co_proxy_service_output output = {.context = process, .ring = rank_ring, .hang_up = rank_hang_up};

    return getrandom(&core.hash_secret, sizeof core.hash_secret, 0) == sizeof core.hash_secret
               ? co_proxy_service_open(&process->service, &core, co_proxy_peers_carrier(&process->peers), &output)
               : -EIO;
}

static int listener_open(struct co_proxy_process *process, char name[CO_LOCAL_NAME_MAX])
{
    process->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (process->epoll < 0) {
        return -errno;
    }
    int error = co_proxy_listener_open(&process->listener,
                                       &(struct co_proxy_listener_config){.key = process->job.key,
                                                                          .ranks = process->job.ranks,
                                                                          .processes = process->processes,
                                                                          .patience_ns = process->patience_ns},
                                       name);
    if (error == 0) {
        error = watch(process, co_proxy_listener_descriptor(process->listener), WATCHED_LISTENER, 0);
    }
    return error == 0 && process->starter >= 0 ? watch(process, process->starter, WATCHED_STARTER, 0) : error;
}

int co_proxy_process_open(struct co_proxy_process **out, const struct co_proxy_process_config *config, uint64_t now_ns,
                          char name[CO_LOCAL_NAME_MAX])
{
    struct co_proxy_process *process =
        calloc(1, sizeof *process + config->job->ranks * sizeof(struct co_proxy_connected));
    if (process == NULL) {
        return -ENOMEM;
    }
    process->epoll = -1;
    process->starter = config->starter;
    process->open_ns = now_ns;
    process->patience_ns = config->patience_ns;
    int error = ranks_copy(process, config);
    if (error == 0) {
        error = listener_open(process, name);
    }
    if (error != 0) {
        process->starter = -1; // it is the caller's still
        co_proxy_process_close(process);
        return error;
    }
    *out = process;
    return 0;
}

int co_proxy_process_begin(struct co_proxy_process *process, const struct co_offload_peer *peers, int listener,
                           char why[CO_OFFLOAD_CONNECTED_WHY])
{
    uint64_t most_ns =
        process->job.deadline_ns < process->patience_ns ? process->job.deadline_ns : process->patience_ns;
    int error = co_proxy_peers_open(&process->peers, &process->job, peers, listener, most_ns);
    int descriptor = co_proxy_peers_descriptor(&process->peers);

    if (error == 0 && descriptor >= 0) {
        error = watch(process, descriptor, WATCHED_PEERS, 0);
    }
    if (error == 0) {
        error = service_open(process);
    }
    if (error != 0) {
        snprintf(why, CO_OFFLOAD_CONNECTED_WHY, "%s",
                 process->peers.why[0] != '\0' ? process->peers.why : strerror(-error));
        return error;
    }
    process->peers.service = process->service;
    process->open_ns = co_clock_now_ns();
    return 0;
}

void co_proxy_process_close(struct co_proxy_process *process)
{
    for (uint32_t i = 0; i < process->job.ranks; i++) {
        if (process->ranks[i].is_here) {
            rank_lost(process, (int)i);
        }
    }
    co_proxy_peers_close(&process->peers); // with what is to be said of ranks that have gone
    if (process->service != NULL) {
        co_proxy_service_close(process->service);
    }
    if (process->listener != NULL) {
        co_proxy_listener_close(process->listener);
    }
    if (process->epoll >= 0) {
        close(process->epoll);
    }
    if (process->starter >= 0) {
        co_proxy_bounded_close(process->starter);
    }
    free(process->processes);
    free(process->proxy_of_rank);
    explicit_bzero(&process->job, sizeof process->job); // the key
    free(process);
}

// All that a rank that is connected needs to be served.
static int rank_serve(struct co_proxy_process *process, struct co_proxy_connected *rank, uint32_t number)
{
    int error = watch(process, rank->socket, WATCHED_CONNECTION, number);
    if (error == 0) {
        error = watch(process, rank->attach.process, WATCHED_PROCESS, number);
    }
    if (error == 0) {
        error = co_proxy_service_join(process->service, (int)number, rank->memory, rank->window);
    }
    rank->bell = error == 0 ? co_proxy_bell_open(process->epoll, watched_name(WATCHED_BELL, number)) : -1;
    return error;
}

static int rank_join(struct co_proxy_process *process, const struct co_proxy_arrival *arrival)
{
    struct co_proxy_connected *rank = &process->ranks[arrival->hello.rank];

    if (rank->is_here) {
        return -EEXIST;
    }
    int error = co_proxy_connected_open(rank, arrival, process->job.lend, process->job.staging_bytes / process->ours);
    if (error == 0) {
        error = rank_serve(process, rank, arrival->hello.rank);
        if (error != 0) {
            rank->socket = -1; // it has to hear so
            co_proxy_connected_close(rank);
        }
    }
    if (error == 0) {
        process->here++;
        process->counts.joined++;
    }
    return error;
}

static void rank_welcome(struct co_proxy_process *process, const struct co_proxy_arrival *arrival)
{
    uint8_t bytes[CO_OFFLOAD_WELCOME_BYTES];
    int error = rank_join(process, arrival);
    bool is_copying = error == 0 && process->ranks[arrival->hello.rank].copy.file >= 0;
    struct co_offload_welcome welcome = {.error = (uint32_t)-error,
                                         .lend = is_copying ? CO_OFFLOAD_LEND_COPY : process->job.lend,
                                         .groups_max = process->job.groups_max,
                                         .ends_max = process->job.ends_max};

    process->counts.copying += is_copying;
    co_proxy_bounded_close(arrival->segment); // it is mapped, or none
    co_offload_welcome_encode(bytes, &welcome);
    // A rank that cannot be told is gone, and so will be seen.
    (void)co_local_send(arrival->socket, bytes, sizeof bytes,
                        error == 0 ? process->ranks[arrival->hello.rank].bell : -1);
    if (error != 0) {
        co_proxy_bounded_close(arrival->socket);
    }
}

static void status_tell(struct co_proxy_process *process, const struct co_proxy_arrival *arrival)
{
    char text[STATUS_BYTES];
    int length = co_proxy_status_print(
        text, sizeof text,
        &(struct co_proxy_status){.job = &process->job,
                                  .ours = process->ours,
                                  .here = process->here,
                                  .counts = &process->counts,
                                  .core = co_proxy_counts(co_proxy_service_core(process->service)),
                                  .strangers = co_proxy_listener_counts(process->listener)});

    (void)co_local_send(arrival->socket, text, (size_t)length, -1); // a socket that is new has room for it
    co_proxy_bounded_close(arrival->socket);
}

static void arrivals_take(struct co_proxy_process *process, uint64_t now_ns)
{
    struct co_proxy_arrival arrival;

    while (co_proxy_listener_next(process->listener, now_ns, &arrival) > 0) {
        if (arrival.hello.kind == CO_OFFLOAD_HELLO_JOIN) {
            rank_welcome(process, &arrival);
        } else {
            status_tell(process, &arrival);
        }
        explicit_bzero(&arrival, sizeof arrival); // the key
    }
}

// Rings of a rank, whose bytes say nothing, or the end of its connection.
static void connection_hear(struct co_proxy_process *process, int rank)
{
    ssize_t came = co_local_rings(process->ranks[rank].socket);
    if (came > 0) {
        process->counts.rung += (uint64_t)came;
    } else if (came != -EAGAIN) {
        rank_lost(process, rank);
    }
}

static void event_take(struct co_proxy_process *process, enum watched what, int rank)
{
    bool is_here = process->ranks[rank].is_here; // else it went by another event of this turn
    if (what == WATCHED_STARTER) {               // it has nothing more to say: what it had is known
        co_proxy_bounded_close(process->starter);
        process->starter = -1;
        process->has_starter_left = true;
    } else if (what == WATCHED_PROCESS && is_here) {
        rank_lost(process, rank);
    } else if (what == WATCHED_CONNECTION && is_here) {
        connection_hear(process, rank);
    } else if (what == WATCHED_BELL && is_here) {
        process->counts.rung++;
    }
}

// Whether strangers have something.
static bool events_take(struct co_proxy_process *process)
{
    struct epoll_event events[EVENTS];
    bool has_strangers = false;
    int count = epoll_wait(process->epoll, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        enum watched what = (enum watched)(events[i].data.u64 >> 32);
        has_strangers = has_strangers || what == WATCHED_LISTENER;
        event_take(process, what, (int)(uint32_t)events[i].data.u64);
    }
    return has_strangers;
}

static uint64_t time_to_sleep(const struct co_proxy_process *process, uint64_t now_ns)
{
    uint64_t due_ns = co_proxy_listener_due_ns(process->listener);
    uint64_t alone_ns = process->open_ns + process->patience_ns;
    uint64_t peers_ns = co_proxy_peers_due_ns(&process->peers);

    due_ns = peers_ns < due_ns ? peers_ns : due_ns;
    if (process->counts.joined == 0 && alone_ns < due_ns) {
        due_ns = alone_ns;
    }
    return due_ns == UINT64_MAX ? UINT64_MAX : due_ns > now_ns ? due_ns - now_ns : 0;
}

uint64_t co_proxy_process_turn(struct co_proxy_process *process, uint64_t now_ns)
{
    process->counts.turns++;
    if (process->turns_to_look == 0) {
        process->turns_to_look = TURNS_A_LOOK;
        if (events_take(process) || now_ns >= co_proxy_listener_due_ns(process->listener)) {
            arrivals_take(process, now_ns);
        }
    }
    process->turns_to_look--;
    bool has_news = co_proxy_peers_turn(&process->peers, now_ns);
    if (co_proxy_service_progress(process->service) || has_news) {
        return 0;
    }
    process->turns_to_look = 0;
    if (!co_proxy_service_sleeps(process->service)) {
        return 0;
    }
    process->counts.sleeps++;
    return time_to_sleep(process, now_ns);
}

void co_proxy_process_sleep(struct co_proxy_process *process, uint64_t most_ns)
{
    struct pollfd look = {.fd = process->epoll, .events = POLLIN};

    (void)co_poll(&look, 1, most_ns); // whatever ends it, the next turn looks
    co_proxy_service_wakes(process->service);
}

bool co_proxy_process_is_over(const struct co_proxy_process *process, uint64_t now_ns)
{
    return process->here == 0 && (process->counts.joined > 0 || process->has_starter_left ||
                                  now_ns - process->open_ns >= process->patience_ns);
}

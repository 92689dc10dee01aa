// SPDX-License-Identifier: BSD-3-Clause
//
// Connections with proxies; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/rank/rank_connection.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/poll.h"
#include "base/preload.h"
#include "base/settings.h"
#include "offload/rank/rank_proxy_heartbeat.h"
#include "offload/segment_memory.h"

enum { LOOKS_BEFORE_SLEEP = 200 };
#define LOOK_NS (100 * CO_NS_PER_MS) // a sleeping rank looks whether its proxy is there
#define PROGRESS_NS CO_NS_PER_MS     // of one that has something else to move
#define END_NS CO_NS_PER_S           // for a proxy that has been killed
#define CROWD_NS (2 * CO_NS_PER_MS)  // before a queue that was full is tried again
enum { BYE_TRIES = 500 };            // of a ring that is full; then the proxy is stopped

struct co_rank_connection {
    struct co_rank_client *client;
    struct co_segment_memory *memory;
    // A program may close all that it finds and open files of its own: what has the number then is left alone.
    struct co_descriptor_kept socket;
    struct co_descriptor_kept proxy; // a pidfd
    struct co_descriptor_kept bell;  // an eventfd of the proxy's, by which it is rung; without it by the socket
    bool is_lost, is_broken, has_copies;
    struct co_rank_proxy_heartbeat heartbeat;
    struct co_rank_copies copies;
    void (*progress)(void *context); // NULL: nothing
    void *context;
    _Atomic uint64_t probed; // the proxy reads it and writes its complement
};

// Bells have the file of all eventfds, and before Linux 6.9 pidfds that of all such. But who closes what he finds
// closes the socket, too, whose file is its own.
static bool is_kept(struct co_rank_connection *connection, struct co_descriptor_kept *kept)
{
    if (!co_descriptor_is_kept(&connection->socket)) {
        kept->fd = -1;
    }
    return co_descriptor_is_kept(kept);
}

static void rank_ring(void *context)
{
    struct co_rank_connection *connection = context;
    const uint64_t one = 1;

    if (is_kept(connection, &connection->bell) && write(connection->bell.fd, &one, sizeof one) == sizeof one) {
        return;
    }
    // Without room there are rings that the proxy has not heard yet; without a proxy, who looks will see it.
    if (co_descriptor_is_kept(&connection->socket)) {
        (void)co_local_send(connection->socket.fd, "!", 1, -1);
    }
}

// Many ranks may come at once.
static int proxy_connect(const struct co_rank_connection_config *config)
{
    struct co_local_peer peer;
    int made = co_local_connect(config->started->name, &peer);

    while (made == -EAGAIN && co_clock_now_ns() < config->until_ns) {
        (void)co_poll(NULL, 0, CROWD_NS);
        made = co_local_connect(config->started->name, &peer);
    }
    if (made >= 0 && (peer.user != getuid() || (uint32_t)peer.process != config->started->process)) {
        close(made);
        return -EACCES;
    }
    return made;
}

static void descriptors_drop(struct co_rank_connection *connection)
{
    struct co_descriptor_kept *others[] = {&connection->proxy, &connection->bell};

    for (int i = 0; i < 2; i++) {
        if (is_kept(connection, others[i])) {
            co_descriptor_drop(others[i]);
        }
    }
    co_descriptor_drop(&connection->socket);
}

static int hello_say(struct co_rank_connection *connection, const struct co_rank_connection_config *config, int fd)
{
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];
    struct co_offload_hello hello = {.kind = CO_OFFLOAD_HELLO_JOIN,
                                     .rank = config->rank,
                                     .probe_address = (uint64_t)(uintptr_t)&connection->probed,
                                     .probe_word = co_load_relaxed(&connection->probed)}; // relaxed: our own

    memcpy(hello.key, config->key, sizeof hello.key);
    co_offload_hello_encode(bytes, &hello);
    ssize_t sent = co_local_send(connection->socket.fd, bytes, sizeof bytes, fd);
    explicit_bzero(bytes, sizeof bytes); // the key
    explicit_bzero(&hello, sizeof hello);
    return sent == (ssize_t)sizeof bytes ? 0 : sent < 0 ? (int)sent : -EPROTO;
}

// One try: a connection that is welcome, or none.
static int proxy_join(struct co_rank_connection *connection, const struct co_rank_connection_config *config, int fd,
                      struct co_offload_welcome *welcome)
{
    uint8_t bytes[CO_OFFLOAD_WELCOME_BYTES];
    uint64_t word;

    if (getrandom(&word, sizeof word, 0) != sizeof word) {
        return -EIO;
    }
    int made = proxy_connect(config), bell = -1;
    if (made < 0) {
        return made;
    }
    co_descriptor_keep(&connection->socket, made);
    co_descriptor_keep(&connection->proxy, (int)syscall(SYS_pidfd_open, (pid_t)config->started->process, 0));
    co_store_relaxed(&connection->probed, word); // relaxed: the proxy reads it after a message
    int error = hello_say(connection, config, fd);
    if (error == 0) {
        error = co_local_receive_all_with(made, bytes, sizeof bytes, config->until_ns, &bell);
    }
    co_descriptor_keep(&connection->bell, bell);
    if (error == 0) {
        error = co_offload_welcome_decode(welcome, bytes);
    }
    error = error == 0 ? -(int)welcome->error : error == -EPIPE ? -ECONNRESET : error; // it has ended
    // relaxed: it was written before the message
    if (error == 0 && welcome->lend != CO_OFFLOAD_LEND_COPY && co_load_relaxed(&connection->probed) != ~word) {
        error = -EPERM;
    }
    if (error != 0) {
        // One that comes late finds another word, and writes nothing: this memory may be the program's again by then.
        co_store_relaxed(&connection->probed, ~word);
        descriptors_drop(connection);
    }
    return error;
}

// Where the proxy may not look into this process, it is allowed to, and tries once more.
static int proxy_join_allowed(struct co_rank_connection *connection, const struct co_rank_connection_config *config,
                              int fd, struct co_offload_welcome *welcome)
{
    int error = proxy_join(connection, config, fd, welcome);
#ifdef PR_SET_PTRACER
    if (error == -EPERM && prctl(PR_SET_PTRACER, (unsigned long)config->started->process, 0, 0, 0) == 0) {
        error = proxy_join(connection, config, fd, welcome);
    }
#endif
    return error;
}

static void memory_release(struct co_rank_connection *connection)
{
    if (connection->memory != NULL) {
        co_segment_memory_unmap(connection->memory);
    }
    connection->memory = NULL;
    co_descriptor_drop(&connection->copies.file);
    connection->has_copies = false;
}

// With a segment that the proxy has taken, or with none.
static int segment_join(struct co_rank_connection *connection, const struct co_rank_connection_config *config,
                        bool has_copies, struct co_offload_welcome *welcome)
{
    struct co_segment_rank unused;
    int fd;
    int error = co_segment_memory_create(&connection->memory, has_copies, &fd);
    if (error != 0) {
        return error;
    }
    co_segment_rank_open(&unused, connection->memory); // the proxy wants to see its version
    error =
        has_copies ? proxy_join(connection, config, fd, welcome) : proxy_join_allowed(connection, config, fd, welcome);
    connection->copies.kept = config->copies_kept;
    co_descriptor_keep(&connection->copies.file, fd);
    connection->copies.is_without_file = !has_copies;
    connection->copies.is_checked = co_preload_has_valgrind(co_environment("LD_PRELOAD"), "memcheck");
    connection->has_copies = has_copies;
    if (error != 0) {
        memory_release(connection);
    } else if (!has_copies) {
        co_descriptor_drop(&connection->copies.file);
    }
    return error;
}

static int segment_open(struct co_rank_connection *connection, const struct co_rank_connection_config *config)
{
    struct co_offload_welcome welcome;
    bool always = config->copying == CO_RANK_COPIES_ALWAYS;
    int error = segment_join(connection, config, always, &welcome);

    if (error == -EPERM && config->copying == CO_RANK_COPIES_IF_NEEDED &&
        segment_join(connection, config, true, &welcome) == 0) { // else the first error says more
        error = 0;
    }
    if (error == 0) {
        error = co_rank_client_open(&connection->client, connection->memory,
                                    &(struct co_rank_client_config){.ranks = config->ranks,
                                                                    .groups_max = welcome.groups_max,
                                                                    .ends_max = welcome.ends_max,
                                                                    .context = connection,
                                                                    .ring = rank_ring});
    }
    return error;
}

static void connection_release(struct co_rank_connection *connection)
{
    if (connection->client != NULL) {
        co_rank_client_close(connection->client);
    }
    descriptors_drop(connection);
    memory_release(connection);
    free(connection);
}

int co_rank_connection_open(struct co_rank_connection **out, const struct co_rank_connection_config *config)
{
    struct co_rank_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return -ENOMEM;
    }
    connection->socket.fd = connection->proxy.fd = connection->bell.fd = connection->copies.file.fd = -1;
    connection->heartbeat.deadline_ns = config->deadline_ns;
    connection->progress = config->progress;
    connection->context = config->context;
    int error = segment_open(connection, config);
    if (error != 0) {
        connection_release(connection);
        return error;
    }
    *out = connection;
    return 0;
}

// One that somebody has stopped would stay until he lets it go on, if he ever does, though its ranks have gone.
static void proxy_continue(struct co_rank_connection *connection)
{
    if (is_kept(connection, &connection->proxy)) {
        (void)syscall(SYS_pidfd_send_signal, connection->proxy.fd, SIGCONT, NULL, 0);
    }
}

void co_rank_connection_close(struct co_rank_connection *connection)
{
    for (int i = 0; i < BYE_TRIES && !connection->is_broken && co_rank_connection_look(connection); i++) {
        if (co_rank_client_bye(connection->client) == 0) {
            break;
        }
        (void)co_poll(NULL, 0, CROWD_NS);
    }
    proxy_continue(connection);
    connection_release(connection);
}

void co_rank_connection_forked(struct co_rank_connection *connection)
{
    descriptors_drop(connection);
    memory_release(connection);
    connection->is_lost = true;
}

struct co_rank_client *co_rank_connection_client(struct co_rank_connection *connection)
{
    return connection->client;
}

struct co_rank_copies *co_rank_connection_copies(struct co_rank_connection *connection)
{
    return connection->has_copies || connection->copies.is_checked ? &connection->copies : NULL;
}

static void connection_lose(struct co_rank_connection *connection)
{
    connection->is_lost = true;
    co_rank_client_lost(connection->client);
}

bool co_rank_connection_look(struct co_rank_connection *connection)
{
    if (!connection->is_lost) {
        ssize_t came = co_descriptor_is_kept(&connection->socket) ? co_local_rings(connection->socket.fd) : -EBADF;
        if (came == 0 || (came < 0 && came != -EAGAIN)) {
            connection_lose(connection);
        }
    }
    return !connection->is_lost;
}

// It is stopped, and may go on one day: then it must not find memory that the program has for something else by now. So
// who takes it for dead sees to it that it is.
static void proxy_end(struct co_rank_connection *connection)
{
    if (is_kept(connection, &connection->proxy) &&
        syscall(SYS_pidfd_send_signal, connection->proxy.fd, SIGKILL, NULL, 0) == 0) {
        (void)co_local_await_until(connection->proxy.fd, co_clock_now_ns() + END_NS);
    }
    connection_lose(connection);
}

static void heartbeat_look(struct co_rank_connection *connection, uint64_t now_ns)
{
    uint64_t count = co_load_relaxed(&connection->memory->heartbeat); // relaxed: whether it moves
    enum co_heartbeat is = co_rank_proxy_heartbeat_look(&connection->heartbeat, count, now_ns);

    if (is == CO_HEARTBEAT_STOPPED) {
        proxy_end(connection);
    } else if (is == CO_HEARTBEAT_TO_RING) {
        rank_ring(connection);
    }
}

bool co_rank_connection_tend(struct co_rank_connection *connection, uint64_t now_ns)
{
    if (!connection->is_lost &&
        (!co_descriptor_is_kept(&connection->socket) || co_local_has_ended(connection->socket.fd))) {
        connection_lose(connection);
    }
    if (!connection->is_lost) {
        heartbeat_look(connection, now_ns);
    }
    return !connection->is_lost;
}

void co_rank_connection_break(struct co_rank_connection *connection)
{
    if (!connection->is_lost && !connection->is_broken) {
        connection->is_broken = true;
        if (co_descriptor_is_kept(&connection->socket)) {
            // The proxy closes its end when it has let go of this rank's memory.
            (void)co_local_end(connection->socket.fd);
        }
    }
}

int co_rank_connection_descriptor(const struct co_rank_connection *connection)
{
    return connection->is_lost ? -1 : connection->socket.fd;
}

// Asleep until it is rung. What has to go on meanwhile does; the proxy is looked at as seldom as without that.
static void connection_sleep(struct co_rank_connection *connection, uint64_t *looked_ns)
{
    uint64_t most_ns = connection->progress != NULL ? PROGRESS_NS : LOOK_NS;

    if (co_local_await(connection->socket.fd, most_ns) == 0) {
        uint64_t now_ns = co_clock_now_ns();
        if (now_ns - *looked_ns >= LOOK_NS) {
            *looked_ns = now_ns;
            heartbeat_look(connection, now_ns);
        }
    }
}

bool co_rank_connection_wait(struct co_rank_connection *connection, uint32_t ticket)
{
    struct co_rank_client *client = connection->client;
    uint64_t looked_ns = 0;

    for (int i = 0; i < LOOKS_BEFORE_SLEEP && !co_rank_client_is_done(client, ticket); i++) {
        co_cpu_relax();
    }
    co_rank_proxy_heartbeat_begin(&connection->heartbeat);
    while (!co_rank_client_is_done(client, ticket)) {
        if (!co_rank_connection_look(connection)) {
            return co_rank_client_is_done(client, ticket);
        }
        if (connection->progress != NULL) {
            connection->progress(connection->context);
        }
        struct co_segment_rank *segment = co_rank_client_segment(client);
        if (co_segment_rank_sleeps(segment, ticket)) {
            connection_sleep(connection, &looked_ns);
            co_segment_rank_wakes(segment);
        }
    }
    return true;
}

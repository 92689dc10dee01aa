// SPDX-License-Identifier: BSD-3-Clause
//
// Carriers over sockets; see the header.
#define _GNU_SOURCE
#include "tcp_carrier_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

enum { PATIENCE_S = 60 };

struct tcp_rig tcp_rig;
const uint8_t tcp_rig_key[CO_AUTH_KEY_BYTES] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
size_t tcp_rig_send_bytes, tcp_rig_receive_bytes;
unsigned tcp_rig_refusal_interval;
bool tcp_rig_has_no_memory;

ssize_t __real_send(int socket, const void *data, size_t bytes, int flags);
ssize_t __real_recv(int socket, void *data, size_t bytes, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
ssize_t __wrap_send(int socket, const void *data, size_t bytes, int flags);
ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return tcp_rig_has_no_memory ? NULL : __real_malloc(bytes);
}

static bool is_refused(void)
{
    static unsigned calls;
    bool is = tcp_rig_refusal_interval > 0 && ++calls % tcp_rig_refusal_interval == 0;
    errno = is ? EAGAIN : errno;
    return is;
}

static size_t few(size_t bytes, size_t most)
{
    return most == 0 || bytes < most ? bytes : most;
}

ssize_t __wrap_send(int socket, const void *data, size_t bytes, int flags)
{
    return __real_send(socket, data, few(bytes, tcp_rig_send_bytes), flags);
}

ssize_t __wrap_recv(int socket, void *data, size_t bytes, int flags)
{
    return is_refused() ? -1 : __real_recv(socket, data, few(bytes, tcp_rig_receive_bytes), flags);
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
    struct iovec parts[8];
    struct msghdr part = {.msg_iov = parts};
    size_t left = few(SIZE_MAX, tcp_rig_send_bytes);

    if (is_refused()) {
        return -1;
    }
    assert_true(message->msg_iovlen <= sizeof parts / sizeof *parts);
    for (size_t i = 0; i < message->msg_iovlen && left > 0; i++) {
        parts[i] = message->msg_iov[i];
        parts[i].iov_len = parts[i].iov_len < left ? parts[i].iov_len : left;
        left -= parts[i].iov_len;
        part.msg_iovlen = i + 1;
    }
    return __real_sendmsg(socket, &part, flags);
}

uint64_t tcp_rig_now_ns(void)
{
    return (tcp_rig.stopped_ns != 0 ? tcp_rig.stopped_ns : co_clock_now_ns()) + tcp_rig.ahead_ns;
}

static int take(void *context, int peer, enum co_carrier_connection connection, const uint8_t *record, size_t bytes)
{
    struct tcp_rig_end *end = context;
    if (tcp_rig.take != NULL) {
        return tcp_rig.take((int)(end - tcp_rig.ends), peer, connection, record, bytes);
    }
    struct tcp_rig_record *copy = malloc(sizeof *copy + bytes);
    assert_non_null(copy);
    copy->next = NULL;
    copy->bytes = bytes;
    memcpy(copy->data, record, bytes);
    *end->newest[peer][connection] = copy;
    end->newest[peer][connection] = &copy->next;
    return end->take_error;
}

static void lost(void *context, int peer, int error, const char *why)
{
    struct tcp_rig_end *end = context;
    assert_false(end->is_lost[peer]); // once
    assert_int_equal(error == 0, why == NULL);
    end->is_lost[peer] = true;
    end->error[peer] = error;
    snprintf(end->why[peer], sizeof end->why[peer], "%s", why != NULL ? why : "");
    if (tcp_rig.lost != NULL) {
        tcp_rig.lost((int)(end - tcp_rig.ends), peer);
    }
}

void tcp_rig_begin(int proxies)
{
    char why[CO_CARRIER_WHY_MAX];
    memset(&tcp_rig, 0, sizeof tcp_rig);
    tcp_rig_send_bytes = tcp_rig_receive_bytes = 0;
    tcp_rig_refusal_interval = 0;
    tcp_rig.proxies = proxies;
    for (int i = 0; i < proxies; i++) {
        struct tcp_rig_end *end = &tcp_rig.ends[i];
        tcp_rig.listeners[i] = co_carrier_tcp_listen("127.0.0.1:0", &tcp_rig.ports[i], why);
        assert_true(tcp_rig.listeners[i] >= 0);
        snprintf(tcp_rig.hosts[i], sizeof tcp_rig.hosts[i], "node%d", i);
        snprintf(tcp_rig.places[i], sizeof tcp_rig.places[i], "127.0.0.1:%u", tcp_rig.ports[i]);
        tcp_rig.peers[i] = (struct co_carrier_tcp_peer){tcp_rig.hosts[i], tcp_rig.places[i]};
        for (int j = 0; j < proxies * CO_CARRIER_CONNECTIONS; j++) {
            end->newest[j / CO_CARRIER_CONNECTIONS][j % CO_CARRIER_CONNECTIONS] =
                &end->oldest[j / CO_CARRIER_CONNECTIONS][j % CO_CARRIER_CONNECTIONS];
        }
    }
    tcp_rig.config = (struct co_carrier_tcp_config){.proxies = proxies,
                                                    .peers = tcp_rig.peers,
                                                    .key = tcp_rig_key,
                                                    .bulk_form = CO_AUTH_KEYED,
                                                    .connect_ns = 600 * CO_NS_PER_S,
                                                    .silent_ns = 600 * CO_NS_PER_S,
                                                    .control_bytes_max = 16 << 20};
}

void tcp_rig_open(int proxy)
{
    char why[CO_CARRIER_WHY_MAX] = "";
    struct tcp_rig_end *end = &tcp_rig.ends[proxy];
    tcp_rig.config.self = proxy;
    assert_int_equal(co_carrier_tcp_open(&end->tcp, &tcp_rig.config, &(struct co_carrier_tcp_output){end, take, lost},
                                         tcp_rig.listeners[proxy], tcp_rig_now_ns(), why),
                     0);
    tcp_rig.listeners[proxy] = -1;
}

static bool are_connected(void)
{
    for (int i = 0; i < tcp_rig.proxies; i++) {
        if (tcp_rig.ends[i].tcp != NULL && !co_carrier_tcp_is_connected(tcp_rig.ends[i].tcp)) {
            return false;
        }
    }
    return true;
}

void tcp_rig_open_all(void)
{
    for (int i = 0; i < tcp_rig.proxies; i++) {
        tcp_rig_open(i);
    }
    tcp_rig_until(are_connected);
}

void tcp_rig_kill(int proxy)
{
    co_carrier_tcp_close(tcp_rig.ends[proxy].tcp);
    tcp_rig.ends[proxy].tcp = NULL;
}

void tcp_rig_end(void)
{
    uint8_t record[70000];
    for (int i = 0; i < tcp_rig.proxies; i++) {
        tcp_rig_kill(i);
        if (tcp_rig.listeners[i] >= 0) {
            close(tcp_rig.listeners[i]);
        }
        for (int j = 0; j < tcp_rig.proxies; j++) {
            for (int which = 0; which < CO_CARRIER_CONNECTIONS; which++) {
                while (tcp_rig_take(i, j, (enum co_carrier_connection)which, record) > 0) {
                }
            }
        }
    }
}

void tcp_rig_turn(int proxy)
{
    bool has_more = true;
    while (has_more && tcp_rig.ends[proxy].tcp != NULL) {
        has_more = co_carrier_tcp_turn(tcp_rig.ends[proxy].tcp, tcp_rig_now_ns(), tcp_rig.is_waiting);
        has_more = (tcp_rig.progress != NULL && tcp_rig.progress(proxy)) || has_more;
    }
}

// Sleeps until one of them has something to do. A while at most: more may have become due.
static void sleep_of(int first, int last)
{
    struct pollfd entries[TCP_RIG_PROXIES];
    nfds_t count = 0;
    int most_ms = 1000;
    for (int i = first; i <= last; i++) {
        struct co_carrier_tcp *tcp = tcp_rig.ends[i].tcp;
        if (tcp != NULL) {
            uint64_t due_ns = co_carrier_tcp_deadline(tcp), now_ns = tcp_rig_now_ns();
            uint64_t left_ms = due_ns > now_ns ? (due_ns - now_ns) / CO_NS_PER_MS + 1 : 0;
            most_ms = left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
            entries[count++] = (struct pollfd){.fd = co_carrier_tcp_descriptor(tcp), .events = POLLIN};
        }
    }
    poll(entries, count, most_ms);
}

static void until(int first, int last, bool (*holds)(void))
{
    uint64_t until_ns = co_clock_now_ns() + PATIENCE_S * CO_NS_PER_S;
    for (;;) {
        for (int i = first; i <= last; i++) {
            tcp_rig_turn(i);
        }
        if (holds()) {
            return;
        }
        assert_true(co_clock_now_ns() < until_ns);
        sleep_of(first, last);
    }
}

void tcp_rig_until(bool (*holds)(void))
{
    until(0, tcp_rig.proxies - 1, holds);
}

void tcp_rig_until_of(int proxy, bool (*holds)(void))
{
    until(proxy, proxy, holds);
}

static struct co_carrier *carrier_of(int proxy)
{
    return co_carrier_tcp_base(tcp_rig.ends[proxy].tcp);
}

void tcp_rig_control(int from, int to, const void *record, size_t bytes)
{
    carrier_of(from)->ops->control(carrier_of(from), to, record, bytes);
}

bool tcp_rig_has_room(int from, int to)
{
    return carrier_of(from)->ops->has_room(carrier_of(from), to);
}

void tcp_rig_bulk(int from, int to, const void *record, size_t bytes)
{
    carrier_of(from)->ops->bulk(carrier_of(from), to, record, bytes);
}

size_t tcp_rig_take(int at, int from, enum co_carrier_connection connection, uint8_t *record)
{
    struct tcp_rig_end *end = &tcp_rig.ends[at];
    struct tcp_rig_record *oldest = end->oldest[from][connection];
    if (oldest == NULL) {
        return 0;
    }
    size_t bytes = oldest->bytes;
    memcpy(record, oldest->data, bytes);
    end->oldest[from][connection] = oldest->next;
    if (oldest->next == NULL) {
        end->newest[from][connection] = &end->oldest[from][connection];
    }
    free(oldest);
    return bytes;
}

int tcp_rig_raw_connect(int proxy)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(tcp_rig.ports[proxy]), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int raw = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(raw, (struct sockaddr *)&address, sizeof address) != 0) {
        close(raw);
        return -1;
    }
    return raw;
}

static void turn_all(void)
{
    for (int i = 0; i < tcp_rig.proxies; i++) {
        tcp_rig_turn(i);
    }
}

// Carriers have their turns until the socket is ready.
static void raw_await(int socket, short events)
{
    struct pollfd entry = {.fd = socket, .events = events};
    uint64_t until_ns = co_clock_now_ns() + PATIENCE_S * CO_NS_PER_S;
    turn_all();
    while (poll(&entry, 1, 1) == 0) {
        assert_true(co_clock_now_ns() < until_ns);
        turn_all();
    }
}

void tcp_rig_raw_send(int socket, const void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        raw_await(socket, POLLOUT);
        ssize_t count = __real_send(socket, (const uint8_t *)data + at, bytes - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno != EAGAIN) {
            return; // the other end has hung up
        }
        at += count > 0 ? (size_t)count : 0;
    }
}

size_t tcp_rig_raw_receive(int socket, uint8_t *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        raw_await(socket, POLLIN);
        ssize_t count = __real_recv(socket, data + at, bytes - at, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN)) {
            return at;
        }
        at += count > 0 ? (size_t)count : 0;
    }
    return at;
}

void tcp_rig_fake_open(struct tcp_rig_fake *fake, int self, int to, enum co_carrier_connection connection)
{
    uint8_t word[CO_CARRIER_GREETING_MAX], answer[CO_CARRIER_GREETING_MAX];
    size_t answer_bytes;
    const char *why;
    int result = 0;

    *fake = (struct tcp_rig_fake){
        .identity = {.self = self, .proxies = tcp_rig.proxies, .bulk_form = tcp_rig.config.bulk_form}};
    memcpy(fake->identity.key, tcp_rig_key, CO_AUTH_KEY_BYTES);
    co_carrier_handshake_begin_client(&fake->handshake, &fake->identity, to, connection);
    fake->socket = tcp_rig_raw_connect(to);
    assert_true(fake->socket >= 0);
    tcp_rig_raw_send(fake->socket, fake->handshake.own_hello, CO_CARRIER_HELLO_BYTES);
    while (result == 0) {
        size_t wanted = co_carrier_handshake_wants(&fake->handshake);
        assert_int_equal(tcp_rig_raw_receive(fake->socket, word, wanted), wanted);
        result = co_carrier_handshake_take(&fake->handshake, &fake->identity, word, answer, &answer_bytes, &why);
        tcp_rig_raw_send(fake->socket, answer, answer_bytes);
    }
    assert_int_equal(result, 1);
    assert_int_equal(co_carrier_stream_open(&fake->stream, fake->handshake.key, true, connection,
                                            tcp_rig.config.bulk_form, fake->handshake.has_aes),
                     0);
}

void tcp_rig_fake_close(struct tcp_rig_fake *fake)
{
    co_carrier_stream_close(&fake->stream);
    close(fake->socket);
}

size_t tcp_rig_fake_frame(struct tcp_rig_fake *fake, enum co_carrier_frame_kind kind, const void *body, size_t bytes,
                          uint8_t *out)
{
    uint8_t tag[CO_AUTH_TAG_MAX];
    size_t tag_bytes = co_carrier_frame_seal(&fake->stream, kind, body, bytes, out, tag);
    memcpy(out + CO_CARRIER_HEAD_BYTES, body, bytes);
    memcpy(out + CO_CARRIER_HEAD_BYTES + bytes, tag, tag_bytes);
    return CO_CARRIER_HEAD_BYTES + bytes + tag_bytes;
}

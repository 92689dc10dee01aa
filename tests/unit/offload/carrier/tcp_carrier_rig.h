// SPDX-License-Identifier: BSD-3-Clause
//
// TCP carriers of several proxies in one process, over sockets on 127.0.0.1, and a peer that is the test itself. The
// sockets are real and are waited for; the time that carriers hear is the clock's and what the test adds. The kernel's
// send and recv may be made to take few bytes at a time. Programs that use this are linked with --wrap
// (mk/offload.mk).
#ifndef CASTOFF_TESTS_OFFLOAD_TCP_CARRIER_RIG_H
#define CASTOFF_TESTS_OFFLOAD_TCP_CARRIER_RIG_H

#include "offload/carrier/carrier_frame.h"
#include "offload/carrier/carrier_handshake.h"
#include "offload/carrier/tcp_carrier.h"

enum { TCP_RIG_PROXIES = 6 };

struct tcp_rig_record {
    struct tcp_rig_record *next;
    size_t bytes;
    uint8_t data[];
};

struct tcp_rig_end {
    struct co_carrier_tcp *tcp; // NULL: not there
    struct tcp_rig_record *oldest[TCP_RIG_PROXIES][CO_CARRIER_CONNECTIONS],
        **newest[TCP_RIG_PROXIES][CO_CARRIER_CONNECTIONS]; // that have come, by peer
    int take_error;                                        // of the next records
    bool is_lost[TCP_RIG_PROXIES];
    int error[TCP_RIG_PROXIES];
    char why[TCP_RIG_PROXIES][CO_CARRIER_WHY_MAX];
};

struct tcp_rig {
    int proxies;
    struct tcp_rig_end ends[TCP_RIG_PROXIES];
    struct co_carrier_tcp_config config; // of the next one that is opened
    struct co_carrier_tcp_peer peers[TCP_RIG_PROXIES];
    char hosts[TCP_RIG_PROXIES][32], places[TCP_RIG_PROXIES][32];
    uint16_t ports[TCP_RIG_PROXIES];
    int listeners[TCP_RIG_PROXIES];
    uint64_t ahead_ns;   // of the clock
    uint64_t stopped_ns; // the time that it is, and remains; 0: the clock goes
    // If they are there: who takes records, in place of the queues; who hears of lost peers; what an owner does after a
    // turn, true if there is more to do.
    int (*take)(int at, int peer, enum co_carrier_connection connection, const uint8_t *record, size_t bytes);
    void (*lost)(int at, int peer);
    bool (*progress)(int at);
    bool is_waiting; // as owners say in their turns
};

extern struct tcp_rig tcp_rig;
extern const uint8_t tcp_rig_key[CO_AUTH_KEY_BYTES];

// At most so many bytes a call; 0: no limit. Words of the handshake, which are sent into empty sockets, do not bear
// that.
extern size_t tcp_rig_send_bytes, tcp_rig_receive_bytes;
// One call in so many says EAGAIN; 0: none.
extern unsigned tcp_rig_refusal_interval;
// The carriers' next allocations fail.
extern bool tcp_rig_has_no_memory;

// Listeners of so many proxies; none is opened yet. Then the config may be changed.
void tcp_rig_begin(int proxies);
void tcp_rig_open(int proxy);
void tcp_rig_open_all(void); // and waits until they are connected
// Ends as a killed process does.
void tcp_rig_kill(int proxy);
void tcp_rig_end(void);

uint64_t tcp_rig_now_ns(void);
void tcp_rig_turn(int proxy); // until it has nothing more to do at once
// Turns of all who are there, or of one, until it holds. Fails after a minute.
void tcp_rig_until(bool (*holds)(void));
void tcp_rig_until_of(int proxy, bool (*holds)(void));

void tcp_rig_control(int from, int to, const void *record, size_t bytes);
void tcp_rig_bulk(int from, int to, const void *record, size_t bytes); // where it has room
bool tcp_rig_has_room(int from, int to);
// The oldest record that has come; 0: none.
size_t tcp_rig_take(int at, int from, enum co_carrier_connection connection, uint8_t *record);

// A peer that is the test: a blocking socket, and what it has agreed on.
struct tcp_rig_fake {
    int socket;
    struct co_carrier_identity identity;
    struct co_carrier_handshake handshake;
    struct co_carrier_stream stream;
};

int tcp_rig_raw_connect(int proxy); // a blocking socket
// Connects as proxy `self` and shows the key; carriers have their turns meanwhile.
void tcp_rig_fake_open(struct tcp_rig_fake *fake, int self, int to, enum co_carrier_connection connection);
void tcp_rig_fake_close(struct tcp_rig_fake *fake);
// A frame in `out`; returns its bytes.
size_t tcp_rig_fake_frame(struct tcp_rig_fake *fake, enum co_carrier_frame_kind kind, const void *body, size_t bytes,
                          uint8_t *out);
// Everything of it. Carriers have turns while the kernel has no room.
void tcp_rig_raw_send(int socket, const void *data, size_t bytes);
// So many bytes, with turns of the carriers; fewer where the other end hangs up.
size_t tcp_rig_raw_receive(int socket, uint8_t *data, size_t bytes);

#endif

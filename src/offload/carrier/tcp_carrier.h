// SPDX-License-Identifier: BSD-3-Clause
//
// The carrier between proxies of a job over TCP (offload/carrier.h). Of each pair the one with the higher number
// connects to the other, twice: control and bulk, all of them at the start. Both prove that they have the job's key
// before anything else is heard, and every record has a tag by its number in its direction: what was forged, changed,
// repeated or left out ends that connection, and a stranger ends only his own. Nothing here waits: the owner sleeps on
// one descriptor until it is readable or the deadline has come, and then calls for a turn. One thread; hot.
//
//     co_carrier_tcp_listen      before the addresses are exchanged
//     co_carrier_tcp_open        once they are known
//     loop: co_carrier_tcp_turn, co_proxy_progress; while neither says true: sleep on co_carrier_tcp_descriptor until
//           co_carrier_tcp_deadline, beside the owner's own descriptors
//     co_carrier_tcp_leave       when all ranks here are gone; turns until co_carrier_tcp_has_left, or for a second
//     co_carrier_tcp_close
#ifndef CASTOFF_OFFLOAD_CARRIER_TCP_CARRIER_H
#define CASTOFF_OFFLOAD_CARRIER_TCP_CARRIER_H

#include <stdint.h>

#include "base/auth/auth.h"
#include "offload/carrier.h"

#define CO_CARRIER_WHY_MAX 256

struct co_carrier_tcp;

struct co_carrier_tcp_peer {
    const char *host;  // its name, for messages
    const char *place; // where it listens, "10.0.0.3:4000" or "[fd00::3]:4000": an address, no name
};

struct co_carrier_tcp_config {
    int self, proxies;                       // this one, of so many
    const struct co_carrier_tcp_peer *peers; // of all proxies, its own is not looked at; copied
    const uint8_t *key;                      // the job's, CO_AUTH_KEY_BYTES; copied
    enum co_auth_form bulk_form; // by CASTOFF_AUTH: tags of bulk; control is always keyed. All have the same
    uint64_t connect_ns;         // so long all connections may take to stand; who lacks one then is lost
    uint64_t silent_ns;          // a peer that says nothing for so long, while the owner waits, is lost
    size_t control_bytes_max;    // waiting for one peer; one that lets more collect does not read, and is lost
};

struct co_carrier_tcp_output {
    void *context;
    // A record of a peer's. Other than 0: it made no sense, and the peer is lost with that error. May call the
    // carrier's own operations, but not co_carrier_tcp_*.
    int (*take)(void *context, int peer, enum co_carrier_connection connection, const uint8_t *record, size_t bytes);
    // Nothing comes from it any more, or goes to it. `error` is 0 where it has left as it should, behind its last
    // records; else -errno, and `why` is a sentence that names its host. Once for a peer, and only in a turn.
    void (*lost)(void *context, int peer, int error, const char *why);
};

struct co_carrier_tcp_counts {
    uint64_t control_records, bulk_records; // sent
    uint64_t bytes_sent, bytes_received;    // with all that is around records
    uint64_t pings;                         // sent
    uint64_t connects;                      // tries to connect, repeated ones too
    uint64_t strangers_silent;              // were let in and said too little, for too long or while others came
    uint64_t strangers_refused;             // said what nobody says who has the key
    uint64_t doubled;                       // had the key, and were there already
    uint64_t records_refused;               // of peers: changed, repeated, left out, senseless; each has ended its peer
    uint64_t peers_lost;
};

// A nonblocking socket at that address ("10.0.0.2:0": any port), and the port. -errno, and `why` is a sentence.
int co_carrier_tcp_listen(const char *place, uint16_t *port, char why[CO_CARRIER_WHY_MAX]);
// Descriptors that a carrier takes at most, the listener's among them.
int co_carrier_tcp_descriptors(int self, int proxies);

// `listener` is the carrier's from now on, closed here if this fails, and closed as soon as all who connect to it have
// done so: nobody else has a reason to come. The last proxy needs none: -1. -EINVAL, -ENOMEM, -EMFILE.
int co_carrier_tcp_open(struct co_carrier_tcp **out, const struct co_carrier_tcp_config *config,
                        const struct co_carrier_tcp_output *output, int listener, uint64_t now_ns,
                        char why[CO_CARRIER_WHY_MAX]);
// At once, whatever is under way. NULL is allowed.
void co_carrier_tcp_close(struct co_carrier_tcp *tcp);

struct co_carrier *co_carrier_tcp_base(struct co_carrier_tcp *tcp); // for co_proxy_open
// All connections stand that there will be: no peer is still to come. Lost ones are not counted.
bool co_carrier_tcp_is_connected(const struct co_carrier_tcp *tcp);

// Readable when a turn has something to do. It is an epoll descriptor and may be put into poll or another epoll.
int co_carrier_tcp_descriptor(const struct co_carrier_tcp *tcp);
// When there has to be a turn though nothing was readable; UINT64_MAX: never.
uint64_t co_carrier_tcp_deadline(const struct co_carrier_tcp *tcp);

// Takes what has come, sends what waits. `is_waiting`: calls are under way (not co_proxy_is_idle), so that silence
// counts. True: something has come, a peer is lost or has room again, so co_proxy_progress has something to do, or
// there is more to be read.
bool co_carrier_tcp_turn(struct co_carrier_tcp *tcp, uint64_t now_ns, bool is_waiting);

// Bulk of that peer is left in the network while it is held, and the peer is out of room in the end: for who has no
// place for what comes. Control is not held. What has been received before may still come in this turn.
void co_carrier_tcp_hold(struct co_carrier_tcp *tcp, int peer, bool is_held);

// Nothing is sent any more but what waits; who has heard all of it hangs up.
void co_carrier_tcp_leave(struct co_carrier_tcp *tcp, uint64_t now_ns);
bool co_carrier_tcp_has_left(const struct co_carrier_tcp *tcp);

const struct co_carrier_tcp_counts *co_carrier_tcp_counts(struct co_carrier_tcp *tcp);

#endif

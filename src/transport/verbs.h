// SPDX-License-Identifier: BSD-3-Clause
//
// Multicast over InfiniBand verbs (InfiniBand Architecture Specification 1.4, unreliable datagrams; RoCE v2): what the
// module libcastoff-verbs.so offers, and its loading. It is a library of its own, so that the preloaded one needs
// neither libibverbs nor librdmacm. Groups are joined by librdmacm under IPv4 addresses; datagrams leave from, and
// come to, queue pairs of the module's own. Set-up is cold, send and poll are hot; calls by the holder of the engine.
#ifndef CASTOFF_TRANSPORT_VERBS_H
#define CASTOFF_TRANSPORT_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define CO_VERBS_MODULE_VERSION 5
#define CO_VERBS_GROUPS_MAX 16
#define CO_VERBS_NEIGHBOURS 2 // to the left and the right neighbour

// What peers must know to send to this process; exchanged by the bootstrap. Host byte order.
struct co_verbs_address {
    uint8_t gid[16];
    uint32_t queue_pair;
    uint16_t lid;  // 0 on RoCE
    uint8_t mtu;   // enum ibv_mtu, of the connections to neighbours
    uint8_t reads; // that one of them does at a time; 0: there are none
    struct {
        uint32_t queue_pair, first_number;
    } rc[CO_VERBS_NEIGHBOURS];
};

// Where it is, for others who want to use the same.
struct co_verbs_port {
    char device[64];
    uint8_t port, gid_index;
};

// What is counted where it happens; the module has no counters of its own.
enum co_verbs_count {
    CO_VERBS_SENT,           // datagrams
    CO_VERBS_SENT_BYTES,     // with head and tail
    CO_VERBS_RECEIVED,       // likewise
    CO_VERBS_RECEIVED_BYTES, //
    CO_VERBS_FAILED,         // completions with an error
    CO_VERBS_FLUSHED,        // of what was under way when a queue pair had failed
    CO_VERBS_REVIVED,        // queue pairs set up anew
    CO_VERBS_EVENTS,         // words of the device and the connection manager
    CO_VERBS_REFUSED,        // sends for which there was no way: lost
    CO_VERBS_UNCOPIED_BYTES, // payload that left from where it stood
    CO_VERBS_REGISTERED,     // pieces of the program's memory
    CO_VERBS_REUSED,         // uses of one that was registered before
    CO_VERBS_CHANGED,        // registrations given up since the memory was another
    CO_VERBS_UNREGISTERED,   // refused: what stands there is copied
    CO_VERBS_READS_DONE,     // pieces of neighbours' memory that were read
    CO_VERBS_READ_BYTES,     //
    CO_VERBS_WORDS_SENT      // datagrams, of those sent, that went by a connection to a neighbour
};

struct co_verbs_config {
    const char *device;      // name, such as mlx5_0; "" = the one of the interface
    uint32_t own_ip;         // of the interface, network byte order: it leads to a device and a port
    uint32_t first_group_ip; // host byte order; group i has the address plus i
    unsigned subgroups;      // at most CO_VERBS_GROUPS_MAX
    uint32_t key;            // of unicast datagrams between the job's ranks (Q_Key)
    size_t receive_bytes;    // of all that may wait to be polled
    size_t register_bytes;   // the smallest block that leaves from where it stands
    size_t kept_bytes;       // of the program's memory that may stay registered without use
    uint64_t join_ns;        // that joining may take
    uint64_t give_up_ns;     // after which a port that is down breaks the transport
    void (*count)(enum co_verbs_count what, uint64_t number);
    void (*warn)(const char *text); // one line, of a failure in mid-operation
};

struct co_verbs_module {
    int version;
    // Finds the device, makes queue pairs, posts what they receive into, and joins all groups. 0, or -ENODEV, -EACCES,
    // -ENOMEM (more memory than may be locked), -ETIMEDOUT (a group is not joined) and others; the reason, one
    // sentence, is written to why[why_room].
    int (*open)(struct co_transport **out, const struct co_verbs_config *config, struct co_verbs_address *mine,
                char *why, size_t why_room);
    // The addresses of all ranks, indexed by world rank (copied). Once. With the neighbours it connects, -1: none; of
    // two ranks each is left of the other or neither, so that their connections meet.
    int (*connect)(struct co_transport *verbs, const struct co_verbs_address *peers, int count, int self,
                   const int neighbours[CO_VERBS_NEIGHBOURS]);
    // "rxe0 port 1, 10.77.0.1, group 239.192.7.4, mtu 4096, 512 slots" for info and the report.
    void (*describe)(const struct co_transport *verbs, char *text, size_t room);
    void (*port)(const struct co_transport *verbs, struct co_verbs_port *port);
    // Every device: one line with its name and why it is, or is not, usable. Returns how many there are.
    int (*list)(char *text, size_t room);
};

// The symbol of the module; it has another one (p2p/channel/rc.h).
const struct co_verbs_module *co_verbs_module(void) __attribute__((visibility("default")));

// verbs_load.c: NULL with the reason where there is no device, or no module.
const struct co_verbs_module *co_verbs_load(char *why, size_t why_room);
#define CO_VERBS_MODULE_FILE "libcastoff-verbs.so"

#endif

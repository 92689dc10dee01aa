// SPDX-License-Identifier: BSD-3-Clause
//
// What the udp_*.c files share: the transport's sockets, addresses and preallocated message arrays. Nobody else
// includes it. Whoever holds the engine may be joined by one thread that sends and one on each lane.
#ifndef CASTOFF_TRANSPORT_UDP_STATE_H
#define CASTOFF_TRANSPORT_UDP_STATE_H

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/atomics.h"
#include "base/descriptors.h"
#include "transport/transport.h"
#include "transport/udp/udp.h"

// Older C libraries lack them; the kernel refuses what it does not know.
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define CO_UDP_GROUPS_MAX 16
#define CO_UDP_HEADERS_BYTES 28  // IP and UDP
#define CO_UDP_PAYLOAD_MAX 65507 // 65535 less the headers
#define CO_UDP_SEGMENTS_MAX 64   // of one offloaded send, in every kernel that has it
#define CO_UDP_PIECES 3          // of a datagram
#define CO_UDP_RECEIVE_SLOTS 64  // messages of one recvmmsg
#define CO_UDP_LANE_SLOTS 16     // and of one of a lane
#define CO_UDP_BUSY_POLLS 3      // of a busy socket before the others are asked, too
#define CO_UDP_UNICAST (-1)      // sockets by number: this one or the index of a group
#define CO_UDP_NOBODY (-2)
#define CO_UDP_UNICAST_BIT (UINT32_C(1) << CO_UDP_GROUPS_MAX) // of sockets that have something; a group's: its index
#define CO_UDP_WOKEN_NS (20 * CO_NS_PER_US)                   // then a sleeper's word is old
#define CO_UDP_WOKEN_BIT (CO_UDP_UNICAST_BIT << 1)            // somebody has asked
#define CO_UDP_WOKEN_BITS (CO_UDP_GROUPS_MAX + 2)             // of a sleeper's word; above them the time, which wraps
// One message of up to 64 KiB; the odd rest keeps the slots' first lines out of the same cache sets.
#define CO_UDP_SLOT_BYTES (65536 + 1984)

struct co_udp_interface {
    char name[IF_NAMESIZE];
    int index;
    uint32_t ip; // network byte order
    size_t mtu_bytes;
};

// The job's part of the group range and its port.
struct co_udp_groups {
    uint32_t first_ip; // host byte order
    unsigned count;
    uint16_t port; // host byte order
};

// Room for what comes beside a message.
union co_udp_control {
    struct cmsghdr header; // for its alignment
    char room[CMSG_SPACE(sizeof(int))];
};

// The first messages of a receive whose payload goes straight to its place. The rest of each, and what was not
// expected, stands in the message's slot as ever.
#define CO_UDP_LANDINGS 8
#define CO_UDP_LANDING_PIECES (2 * CO_UDP_SEGMENTS_MAX + 1)
struct co_udp_landings {
    const struct co_lander *lander; // NULL: nobody expects anything
    struct co_landing landing;      // of the receive under way
    unsigned most;                  // so many messages came as expected, of late: this many are aimed
    unsigned pause;                 // receives to go without, since nothing came as expected
    unsigned count;                 // aimed now
    struct co_udp_aim {
        uint32_t place;     // of its first datagram
        unsigned datagrams; // with a place of their own
        unsigned pieces;
    } aims[CO_UDP_LANDINGS];
    struct iovec pieces[CO_UDP_LANDINGS][CO_UDP_LANDING_PIECES];
};

struct co_udp_receiver {
    struct mmsghdr messages[CO_UDP_RECEIVE_SLOTS];
    struct iovec pieces[CO_UDP_RECEIVE_SLOTS];
    union co_udp_control controls[CO_UDP_RECEIVE_SLOTS];
    uint8_t *slots;
    struct co_udp_landings landings;
    unsigned datagrams_per_message; // of late, at least 1: how many messages make up a budget
    unsigned first_group;           // where the next poll starts, so that no group starves another
    int busy;                       // socket that had something last time, or CO_UDP_NOBODY
    unsigned busy_polls;            // in a row that looked at no other socket
};

// Of one group, for the thread that receives it.
struct co_udp_lane {
    struct mmsghdr messages[CO_UDP_LANE_SLOTS];
    struct iovec pieces[CO_UDP_LANE_SLOTS];
    union co_udp_control controls[CO_UDP_LANE_SLOTS];
    uint8_t slots[CO_UDP_LANE_SLOTS * CO_UDP_SLOT_BYTES];
};

// Since when nothing could be sent to a destination; both 0: it could.
struct co_udp_refusals {
    _Atomic uint64_t since_ns, last_ns;
};

// To the kernel of a peer's host; rank CO_UDP_NOBODY: none.
struct co_udp_liveness_probe {
    int fd, rank;
    struct co_descriptor_file file; // behind it
    uint64_t asked_ns;
    bool has_answer; // it came at once
};

// Peers that there is something to tell of, each once; any thread notes.
struct co_udp_told {
    _Atomic bool *by_rank;
    _Atomic unsigned count;
};

struct co_udp {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_udp_interface interface;
    struct co_udp_groups groups;
    int unicast_fd;
    int group_fds[CO_UDP_GROUPS_MAX];                                       // -1: not joined
    struct co_descriptor_file unicast_file, group_files[CO_UDP_GROUPS_MAX]; // behind them
    _Atomic bool is_closed; // some of them by the program: none is used any more
    struct co_udp *next_opened;
    struct co_udp_lane *lanes[CO_UDP_GROUPS_MAX]; // NULL: the group is received by poll
    _Atomic bool has_gso;                         // a sender may find out that an interface has none
    _Atomic unsigned gso_refused;                 // batches in a row that left only without
    bool has_gro;
    size_t receive_buffer_asked;
    struct sockaddr_in *peers; // by world rank, after co_udp_connect
    int peer_count, self;
    struct co_udp_told unreachable;   // refused_peer's
    _Atomic uint64_t *quotes;         // by world rank: of what was refused last, 0: nothing
    struct co_udp_told given_up;      // dead_peer's
    uint64_t give_up_ns;              // of refusals in a row
    struct co_udp_refusals *refusals; // by world rank
    struct co_udp_refusals group_refusals[CO_UDP_GROUPS_MAX];
    struct co_udp_refusals full; // the socket's queue, whatever the destination
    // The interface's queue, or the kernel's memory, was full a moment ago: the socket, which can be written to, does
    // not tell when there is room again, so nobody tries before then. 0: it was not.
    _Atomic uint64_t pause_until_ns;
    _Atomic bool has_told_refusal;
    struct co_udp_liveness_probe probes[CO_TRANSPORT_HOSTS_ASKED];
    struct co_udp_receiver receiver;
    _Atomic uint64_t woken; // a sleeper's word: bits for the next poll, and when they were found; 0: it has to ask
    uint32_t quiet_lanes;   // by group, as of the last poll
};

// udp_interface.c: 0, or -ENODEV with the reason.
int co_udp_interface_choose(struct co_udp_interface *interface, const char *name, uint32_t near_ip, char *why,
                            size_t why_room);

// udp_groups.c: 0, or -EINVAL with the reason. Depends on its arguments alone, so that all hosts agree.
int co_udp_groups_derive(struct co_udp_groups *groups, const char *range, uint64_t job_tag, unsigned count, char *why,
                         size_t why_room);

// udp_socket.c: descriptors or -errno.
int co_udp_socket_unicast(const struct co_udp *udp, const struct co_udp_config *config);
int co_udp_socket_group(const struct co_udp *udp, unsigned index);                 // bound, not yet a member
int co_udp_socket_become_member(const struct co_udp *udp, int fd, unsigned index); // 0 or -errno
int co_udp_socket_loop(int fd, bool is_wanted);                                    // own multicast on this host
size_t co_udp_socket_receive_buffer(int fd); // bytes of payload that the kernel granted

// udp_own.c. A program may close all that it does not know, and open files of its own, which get the numbers of our
// sockets. True: it has not; asked before sleeps, after them and after errors, not at each datagram. Any thread.
bool co_udp_is_own(struct co_udp *udp, int socket);

// udp_forked.c: while it is entered, its descriptors are closed in children of fork.
void co_udp_forked_enter(struct co_udp *udp);
void co_udp_forked_leave(struct co_udp *udp);

// udp_send.c
int co_udp_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                unsigned count);

// Of one poll.
struct co_udp_taken {
    unsigned datagrams;
    size_t bytes;
};

// udp_receive.c
int co_udp_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg);
void co_udp_woken(struct co_transport *transport, const struct pollfd *fds, int count);

// udp_landing.c. aim: of the first messages of a receive from this socket, if something is expected of it; settle: all
// that was received otherwise goes to the slots (`received`: messages, or -errno); deliver: message `index`, false: it
// was not aimed, or came otherwise.
int co_udp_land(struct co_transport *transport, const struct co_lander *lander);
void co_udp_landings_aim(struct co_udp_receiver *receiver, int socket, unsigned messages, void *arg);
void co_udp_landings_settle(struct co_udp_receiver *receiver, int received, void *arg);
bool co_udp_landings_deliver(struct co_udp_receiver *receiver, unsigned index, struct co_udp_taken *taken,
                             co_deliver_fn deliver, void *arg);

// udp_lane.c
int co_udp_lane_open(struct co_transport *transport, unsigned index);
int co_udp_lane_receive(struct co_transport *transport, unsigned index, co_deliver_fn deliver, void *arg,
                        bool *has_more);
int co_udp_lane_descriptor(struct co_transport *transport, unsigned index);
bool co_udp_lane_is_quiet(const struct co_transport *transport, unsigned index);
void co_udp_lane_close(struct co_udp *udp, unsigned index);

// udp_segments.c: delivers the datagrams that the kernel has joined into one message, counts them, and says what an
// errno of a receive means: 0, or -errno when the descriptor is broken for good.
size_t co_udp_segment_bytes(struct mmsghdr *message); // of the datagrams inside; the message's own when it is one
void co_udp_segments_deliver(const uint8_t *data, size_t bytes, size_t segment, struct co_udp_taken *taken,
                             co_deliver_fn deliver, void *arg);
void co_udp_message_deliver(struct mmsghdr *message, struct co_udp_taken *taken, co_deliver_fn deliver, void *arg);
void co_udp_count_received(const struct co_udp_taken *taken);
int co_udp_receive_error(int error);

// udp_refused.c: a send has failed by the errno `error`. True: it has for so long that the destination is given up.
struct co_udp_refusals *co_udp_refusals_of(struct co_udp *udp, struct co_destination to);
bool co_udp_refused(struct co_udp *udp, struct co_destination to, const struct sockaddr_in *address, int error);
void co_udp_peer_text(const struct co_transport *transport, int rank, char *text, size_t room);
void co_udp_pause(struct co_udp *udp);             // pause_until_ns
uint64_t co_udp_pause_ends_ns(struct co_udp *udp); // 0: there is none

// udp_unreachable.c. note: reads the error queue of the unicast socket. told_open: 0 or -ENOMEM; told_close: of zeros,
// too.
int co_udp_told_open(struct co_udp_told *told, int peers);
void co_udp_told_close(struct co_udp_told *told);
void co_udp_told_note(struct co_udp_told *told, int rank);
void co_udp_unreachable_note(struct co_udp *udp);
int co_udp_unreachable_tell(struct co_transport *transport);
int co_udp_given_up_tell(struct co_transport *transport);

// udp_liveness.c
void co_udp_liveness_open(struct co_udp *udp);
void co_udp_liveness_close(struct co_udp *udp);
int co_udp_liveness_query(struct co_transport *transport, int rank);
int co_udp_liveness_poll(struct co_transport *transport);

#endif

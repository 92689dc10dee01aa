// SPDX-License-Identifier: BSD-3-Clause
//
// Whose "port unreachable" is told as a hint: the host's that was sent to, for another datagram each time; no other
// address's, no repetition's, no other message's, and none of those keeps datagrams from leaving. In a network
// namespace of its own, with ICMP written by hand.
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/counters.h"
#include "udp_namespace.h"
#include "udp_on_loopback.h"

enum { PEERS = 3, QUOTED = 40 };

static const char *const links[] = {"ip link set lo up", "ip link set lo multicast on", NULL};

static struct co_udp_address addresses[PEERS];
static int raw;

struct message {
    struct iphdr ip;
    struct icmphdr icmp;
    struct iphdr quoted_ip;
    struct udphdr quoted_udp;
    uint8_t quoted[QUOTED];
};

static uint16_t checksum(const void *bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i += 2) {
        uint16_t word;
        memcpy(&word, (const uint8_t *)bytes + i, sizeof word);
        sum += word;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

// As if a datagram from here to a peer, with this contents, had been refused by `from`.
static void tell(const char *from, uint8_t code, int peer, uint8_t contents)
{
    struct message message = {
        .ip = {.version = 4, .ihl = 5, .ttl = 1, .protocol = IPPROTO_ICMP, .saddr = inet_addr(from)},
        .icmp = {.type = ICMP_DEST_UNREACH, .code = code, .un.frag.mtu = htons(code == ICMP_FRAG_NEEDED ? 576 : 0)},
        .quoted_ip = {.version = 4, .ihl = 5, .ttl = 1, .protocol = IPPROTO_UDP},
    };
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = addresses[0].ip};
    message.ip.daddr = message.quoted_ip.saddr = addresses[0].ip;
    message.quoted_ip.daddr = addresses[peer].ip;
    message.quoted_ip.tot_len = htons(sizeof message.quoted_ip + sizeof message.quoted_udp + QUOTED);
    message.quoted_udp.source = addresses[0].port;
    message.quoted_udp.dest = addresses[peer].port;
    message.quoted_udp.len = htons(sizeof message.quoted_udp + QUOTED);
    memset(message.quoted, contents, QUOTED);
    message.icmp.checksum = checksum(&message.icmp, sizeof message - sizeof message.ip);
    namespace_require(sendto(raw, &message, sizeof message, 0, (struct sockaddr *)&to, sizeof to) ==
                          (ssize_t)sizeof message,
                      "a message of ICMP");
}

static struct co_transport *opened(void)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_transport *udp = NULL;
    char why[256] = "";
    namespace_require(co_udp_open(&udp, &config, &addresses[0], why, sizeof why) == 0, why);
    for (int i = 1; i < PEERS; i++) {
        addresses[i] = addresses[0];
        addresses[i].ip = htonl(INADDR_LOOPBACK + (uint32_t)i); // 127.0.0.2 and 127.0.0.3
    }
    namespace_require(co_udp_connect(udp, addresses, PEERS, 0) == 0, "connect");
    raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    namespace_require(raw >= 0, "a raw socket");
    return udp;
}

static void take(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    (void)arg, (void)arrivals, (void)count;
}

// Peer 2 is told of last, so whatever else there is to tell has been noted by then: the first one told.
static int first_told(struct co_transport *udp, uint8_t contents)
{
    int told, first = -1;
    tell("127.0.0.3", ICMP_PORT_UNREACH, 2, contents);
    do { // the harness ends a test that hangs
        udp->ops->poll(udp, 8, take, NULL);
        told = udp->ops->refused_peer(udp);
        first = first < 0 ? told : first;
    } while (told != 2);
    namespace_require(udp->ops->refused_peer(udp) == -1, "each once");
    namespace_require(udp->ops->dead_peer(udp) == -1, "hints alone");
    return first;
}

static int hosts_are_heard(void)
{
    struct co_transport *udp = opened();
    tell("127.0.0.2", ICMP_PORT_UNREACH, 1, 1);
    namespace_require(first_told(udp, 1) == 1, "the host itself");
    tell("127.0.0.9", ICMP_PORT_UNREACH, 1, 2);
    namespace_require(first_told(udp, 2) == 2, "a stranger");
    tell("127.0.0.2", ICMP_HOST_UNREACH, 1, 3);
    namespace_require(first_told(udp, 3) == 2, "another message");
    tell("127.0.0.2", ICMP_PORT_UNREACH, 1, 1);
    namespace_require(first_told(udp, 4) == 2, "the same datagram again");
    tell("127.0.0.2", ICMP_PORT_UNREACH, 1, 5);
    namespace_require(first_told(udp, 5) == 1, "another one");
    udp->ops->close(udp);
    return 0;
}

// Twice the same batch, before the first of which something is told: both leave, with offload if there is any.
static void send_after(struct co_transport *udp, uint8_t code, uint8_t contents)
{
    const struct co_tx_datagram batch[] = {{.head = "12345", .head_bytes = 5}, {.head = "67890", .head_bytes = 5}};
    const struct co_destination group = {CO_TO_GROUP, 0};
    uint64_t sent = co_counter_read(CO_COUNT_DATAGRAMS_SENT);
    tell("127.0.0.9", code, 1, contents);
    namespace_require(udp->ops->send(udp, group, batch, 2) == 2, "taken");
    namespace_require(udp->ops->send(udp, group, batch, 2) == 2, "and again");
    namespace_require(co_counter_read(CO_COUNT_DATAGRAMS_SENT) == sent + 4, "all sent");
    namespace_require(co_counter_read(CO_COUNT_SEND_REFUSED) == 0, "nothing was refused");
}

// With every code, from each of which the transport emerges as it was: with offload, if it had it.
static void send_after_all(struct co_transport *udp)
{
    static const uint8_t codes[] = {ICMP_NET_UNREACH, ICMP_HOST_UNREACH, ICMP_PORT_UNREACH, ICMP_SR_FAILED,
                                    ICMP_PKT_FILTERED};
    char before[256], after[256];
    co_udp_describe(udp, before, sizeof before);
    for (uint8_t i = 0; i < sizeof codes; i++) {
        send_after(udp, codes[i], i);
    }
    co_udp_describe(udp, after, sizeof after);
    namespace_require(strcmp(before, after) == 0, after);
}

static int sends_are_repeated(void)
{
    struct co_transport *udp = opened();
    send_after_all(udp);
    udp->ops->close(udp);
    return 0;
}

// "Fragmentation needed" of anybody makes the kernel believe in a path of some hundred bytes, on which it refuses
// offload: the transport is not to ask what the path is, and stays as it was.
static int paths_are_not_believed(void)
{
    static const uint8_t bytes[1000];
    const struct co_tx_datagram batch[] = {{.head = bytes, .head_bytes = sizeof bytes},
                                           {.head = bytes, .head_bytes = sizeof bytes}};
    struct co_transport *udp = opened(); // where somebody listens: nobody refuses anything in earnest
    char before[256], after[256];
    co_udp_describe(udp, before, sizeof before);
    for (uint8_t i = 0; i < 4; i++) {
        uint64_t calls = co_counter_read(CO_COUNT_SEND_CALLS), tries = 0;
        tell("127.0.0.9", ICMP_FRAG_NEEDED, 0, i);
        for (int again = 0; again < 3; again++) {
            tries = co_counter_read(CO_COUNT_SEND_CALLS);
            namespace_require(udp->ops->send(udp, (struct co_destination){CO_TO_PEER, 0}, batch, 2) == 2, "taken");
        }
        namespace_require(co_counter_read(CO_COUNT_SEND_CALLS) == tries + 1, "at last at the first try");
        namespace_require(co_counter_read(CO_COUNT_SEND_CALLS) <= calls + 4, "one was repeated at most");
    }
    namespace_require(co_counter_read(CO_COUNT_SEND_REFUSED) == 0, "nothing was refused");
    co_udp_describe(udp, after, sizeof after);
    namespace_require(strcmp(before, after) == 0, after);
    udp->ops->close(udp);
    return 0;
}

// Full receive buffers leave no room in the queue of errors: the next send fails, and nothing tells why.
static int untold_errors_are_survived(void)
{
    static const uint8_t stray[8192];
    struct co_transport *udp = opened();
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = addresses[0].port, .sin_addr.s_addr = addresses[0].ip};
    int stranger = socket(AF_INET, SOCK_DGRAM, 0);
    for (size_t bytes = 0; bytes < 2 * udp->receive_buffer_bytes; bytes += sizeof stray) {
        (void)!sendto(stranger, stray, sizeof stray, 0, (struct sockaddr *)&to, sizeof to);
    }
    send_after_all(udp);
    close(stranger);
    udp->ops->close(udp);
    return 0;
}

// How many messages wait; they are gone then.
static unsigned take_waiting(int socket)
{
    unsigned count = 0;
    struct msghdr message = {0};
    while (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
        count++;
    }
    return count;
}

// Who writes them faster than they are read is not read for ever.
static int a_flood_is_read_in_parts(void)
{
    enum { MESSAGES = 300, FEW = 10 };
    struct co_transport *udp = opened();
    struct pollfd socket;
    namespace_require(udp->ops->descriptors(udp, &socket, 1, 0) == 1, "a descriptor");
    for (int i = 0; i < MESSAGES; i++) {
        tell("127.0.0.9", ICMP_HOST_UNREACH, 1, (uint8_t)i);
    }
    udp->ops->poll(udp, 8, take, NULL);
    namespace_require(take_waiting(socket.fd) >= FEW, "the others have their turn before all is read");
    namespace_require(first_told(udp, 1) == 2, "and what comes then is heard");
    udp->ops->close(udp);
    return 0;
}

static void a_flood_keeps_nobody(void **state)
{
    (void)state;
    namespace_enter_and(links, a_flood_is_read_in_parts);
}

static void who_was_sent_to_is_heard(void **state)
{
    (void)state;
    namespace_enter_and(links, hosts_are_heard);
}

static void others_keep_nothing_from_leaving(void **state)
{
    (void)state;
    namespace_enter_and(links, sends_are_repeated);
}

static void nor_does_a_path_that_somebody_makes_up(void **state)
{
    (void)state;
    namespace_enter_and(links, paths_are_not_believed);
}

static void nor_do_those_that_nothing_tells_of(void **state)
{
    (void)state;
    namespace_enter_and(links, untold_errors_are_survived);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_sent_to_is_heard),
        cmocka_unit_test(others_keep_nothing_from_leaving),
        cmocka_unit_test(nor_does_a_path_that_somebody_makes_up),
        cmocka_unit_test(nor_do_those_that_nothing_tells_of),
        cmocka_unit_test(a_flood_keeps_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

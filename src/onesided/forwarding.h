// SPDX-License-Identifier: BSD-3-Clause
//
// What a learning switch knows: behind which port an Ethernet address is, by VLAN. Bounded; addresses that have been
// silent for five minutes are forgotten. Pure, time is an argument. One thread; hot.
#ifndef CASTOFF_ONESIDED_FORWARDING_H
#define CASTOFF_ONESIDED_FORWARDING_H

#include <stdint.h>

#define CO_FORWARDING_MAX 8192 // addresses
#define CO_FORWARDING_AGE_NS (UINT64_C(300) * 1000000000)
#define CO_FORWARDING_UNKNOWN (-1)

struct co_forwarding;

int co_forwarding_open(struct co_forwarding **out); // -ENOMEM
void co_forwarding_close(struct co_forwarding *table);

// A frame with this source has come in at the port. Group addresses are not learned, nor what finds the table full,
// which is counted.
void co_forwarding_learn(struct co_forwarding *table, const uint8_t mac[6], uint16_t vlan, int port, uint64_t now_ns);
// The port, or CO_FORWARDING_UNKNOWN.
int co_forwarding_find(const struct co_forwarding *table, const uint8_t mac[6], uint16_t vlan, uint64_t now_ns);
// Forgets the silent ones. Call it now and then.
void co_forwarding_age(struct co_forwarding *table, uint64_t now_ns);

unsigned co_forwarding_count(const struct co_forwarding *table);
uint64_t co_forwarding_overflows(const struct co_forwarding *table);

#endif

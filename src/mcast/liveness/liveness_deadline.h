// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Whose silence ends an operation (liveness_deadline.c).
#ifndef CASTOFF_MCAST_LIVENESS_LIVENESS_DEADLINE_H
#define CASTOFF_MCAST_LIVENESS_LIVENESS_DEADLINE_H

#include "mcast/mcast.h"

// Asks whom it may concern. True: one of them has been silent for too long, and what is under way cannot end.
bool co_liveness_deadline_is_over(struct co_mcast_group *group);
uint64_t co_liveness_deadline_due_ns(const struct co_mcast_group *group); // when to look; CO_NEVER

#endif

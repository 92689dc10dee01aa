// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. What follows from a control message (control_receive.c).
#ifndef CASTOFF_MCAST_CONTROL_RECEIVE_H
#define CASTOFF_MCAST_CONTROL_RECEIVE_H

#include "mcast/mcast.h"

// Of that kind, without its tag, from whomever: verified first.
void co_control_receive(struct co_mcast *mcast, const uint8_t *data, size_t bytes);

#endif

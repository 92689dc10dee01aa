// SPDX-License-Identifier: BSD-3-Clause
//
// Which cores a proxy runs on: those that were asked for, or those that none of its ranks has; where ranks have all,
// all. The mask that it was started with is its starter's, which may be a single core. Once, at its start.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_CORES_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_CORES_H

#include "offload/offload_job.h"

// Of the `allowed` ones, which this process might have. Returns how many there are; 0: it is not bound, for no core is
// its own.
int co_proxy_cores_choose(uint8_t chosen[CO_OFFLOAD_CORE_BYTES], const uint8_t allowed[CO_OFFLOAD_CORE_BYTES],
                          const struct co_offload_job *job);
// Binds this process. Returns as above; a kernel that refuses leaves it where it is.
int co_proxy_cores_bind(const struct co_offload_job *job);

#endif

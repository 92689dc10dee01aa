// SPDX-License-Identifier: BSD-3-Clause
//
// The key of the job. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_JOB_KEY_H
#define CASTOFF_ENGINE_START_JOB_KEY_H

#include <stdint.h>

#include "base/auth/auth.h"

struct co_engine;

// Local: makes this rank's key pair, of which others get the public half in the first exchange. Zeros: it has none.
void co_job_key_begin(struct co_engine *engine, uint8_t public[CO_AUTH_KEY_BYTES]);
// Wipes its other half. Idempotent.
void co_job_key_forget(struct co_engine *engine);

// Collective, after the first exchange, whose words lie in engine->exchange: rank 0 draws the key of the job, and every
// rank gets it sealed for a key pair that it made for this only, so that who listens to the MPI below learns nothing.
// 0, or -errno on ranks that did not get it. The key is the caller's to wipe.
int co_job_key_share(struct co_engine *engine, uint8_t key[CO_AUTH_KEY_BYTES]);

#endif

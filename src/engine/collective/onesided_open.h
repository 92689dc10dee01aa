// SPDX-License-Identifier: BSD-3-Clause
//
// Opens what one-sided collectives need, at the start of the job. Private to src/engine.
#ifndef CASTOFF_ENGINE_COLLECTIVE_ONESIDED_OPEN_H
#define CASTOFF_ENGINE_COLLECTIVE_ONESIDED_OPEN_H

#include <stdint.h>

struct co_engine;

// Collective, where the setting is set, which is agreed: finds out on all ranks whether this one could
// take part; else engine->onesided_text says why not.
void co_onesided_collective_open(struct co_engine *engine, uint64_t job_tag);
void co_onesided_collective_close(struct co_engine *engine);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// What a team knows of its one-sided collectives (onesided_collective.h). Private to src/engine.
#ifndef CASTOFF_ENGINE_COLLECTIVE_ONESIDED_TEAM_H
#define CASTOFF_ENGINE_COLLECTIVE_ONESIDED_TEAM_H

#include <stdint.h>

// Of a team; the same on all of its members, which have seen the same calls and verdicts.
struct co_onesided_team {
    uint32_t transfers;     // tried so far
    unsigned to_skip, skip; // calls that go the ordinary way before the next try; so many after the last failure
};

#endif

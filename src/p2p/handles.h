// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers for operations that a peer has to name in an answer. A number that is used again differs by its generation,
// so an answer that comes twice or too late finds nothing.
#ifndef CASTOFF_P2P_HANDLES_H
#define CASTOFF_P2P_HANDLES_H

#include <stdint.h>

struct co_handle_cell {
    void *object;
    uint32_t generation, next_free;
};

struct co_handles {
    struct co_handle_cell *cells;
    uint32_t room, used, free; // `free`: place plus one
};

// 0: out of memory.
uint64_t co_handles_add(struct co_handles *handles, void *object);
void *co_handles_find(const struct co_handles *handles, uint64_t handle); // NULL: no such, or not any more
void co_handles_remove(struct co_handles *handles, uint64_t handle);
// The next one from `*position` on, which it moves, 0 at first; NULL: there are no more. Removing is allowed meanwhile.
void *co_handles_next(const struct co_handles *handles, uint32_t *position);
void co_handles_close(struct co_handles *handles);

#endif

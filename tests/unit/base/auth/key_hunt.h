// SPDX-License-Identifier: BSD-3-Clause
//
// Looks for a key in all memory of this process. The hunter keeps it masked, so as not to find itself.
#ifndef CASTOFF_TESTS_KEY_HUNT_H
#define CASTOFF_TESTS_KEY_HUNT_H

#include <stddef.h>
#include <stdint.h>

#define KEY_HUNT_BYTES 32

struct key_hunt {
    uint8_t masked[KEY_HUNT_BYTES];
    unsigned found;  // places in memory
    unsigned dumped; // of these in memory that a core file would have
};

void key_hunt_learn(struct key_hunt *hunt, const uint8_t key[KEY_HUNT_BYTES]);
// 0, or -errno: memory cannot be read. Other threads should be at rest.
int key_hunt_go(struct key_hunt *hunt);
// Is a run of 8 of its bytes in there? Less may be by chance.
int key_hunt_is_in(const struct key_hunt *hunt, const uint8_t *data, size_t bytes);

#endif

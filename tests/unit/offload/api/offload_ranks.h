// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are processes and open a world, with a proxy that is `castoff proxy --job`: each runs a program, and ends
// well if all it must see is so. They gather by memory that they share.
#ifndef CASTOFF_TESTS_OFFLOAD_RANKS_H
#define CASTOFF_TESTS_OFFLOAD_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "offload/api/offload_world.h"

enum { RANKS_RANKS_MAX = 4, RANKS_SLOT_BYTES = 1024, RANKS_SHARED_BYTES = 1 << 21 };

// What all of them and the test see.
struct ranks_shared {
    unsigned char memory[RANKS_SHARED_BYTES]; // zero at the beginning
    _Atomic int words[8];                     // likewise
    _Atomic int proxy;                        // its process
    _Atomic int is_denied;                    // the kernel lets nobody look into another process
};

extern struct ranks_shared *ranks_shared;
extern pid_t ranks_processes[RANKS_RANKS_MAX];

// In a rank. One that fails ends the whole test, and all ranks end with that.
extern int ranks_own, ranks_count;
void ranks_must(bool holds, const char *what, int line);
#define MUST(condition) ranks_must((condition), #condition, __LINE__)
struct castoff_offload_job ranks_job(void); // of the calling rank, as ranks_world opens it
struct castoff_offload_world *ranks_world(void);
int ranks_gather(void *arg, const void *mine, void *all, size_t bytes);
const char *ranks_command(void); // path of castoff

// In the test. Starts them; `program` opens and closes the world itself.
void ranks_start(int ranks, void (*program)(void));
// All that are left have ended well, but for those that were to be killed, and the proxy has ended. Skips where it was
// not allowed.
void ranks_end(void);
void ranks_run(int ranks, void (*program)(void));
// Until it holds.
#define RANKS_UNTIL(condition)                                                                                         \
    while (!(condition)) {                                                                                             \
        ranks_pause();                                                                                                 \
    }
void ranks_pause(void);
bool ranks_has_ended(pid_t process);
char ranks_state_of(pid_t process); // as in /proc/PID/stat: T: stopped, Z: ended; 0: there is none

#endif

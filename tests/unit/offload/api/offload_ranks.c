// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of a world; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload_ranks.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/poll.h"

static struct shared_by_all {
    struct ranks_shared shared;
    pthread_barrier_t barrier;
    unsigned char slots[RANKS_RANKS_MAX][RANKS_SLOT_BYTES];
} * all_share;

struct ranks_shared *ranks_shared;
pid_t ranks_processes[RANKS_RANKS_MAX];
int ranks_own, ranks_count;
static pid_t test_process;

// The others may wait for this one for ever: they end with the test, and that ends here. So does a proxy that the test
// has stopped, which would stay.
void ranks_must(bool holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "rank %d: line %d: %s (%s)\n", ranks_own, line, what, castoff_offload_why());
        if (ranks_shared->proxy > 0 && ranks_state_of(ranks_shared->proxy) == 'T') {
            kill(ranks_shared->proxy, SIGCONT);
        }
        if (getppid() == test_process) {
            kill(test_process, SIGKILL);
        }
        _exit(1);
    }
}

void ranks_pause(void)
{
    (void)co_poll(NULL, 0, CO_NS_PER_MS);
}

int ranks_gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    MUST(bytes <= RANKS_SLOT_BYTES);
    memcpy(all_share->slots[ranks_own], mine, bytes);
    pthread_barrier_wait(&all_share->barrier);
    for (int i = 0; i < ranks_count; i++) {
        memcpy((char *)all + (size_t)i * bytes, all_share->slots[i], bytes);
    }
    pthread_barrier_wait(&all_share->barrier);
    return 0;
}

const char *ranks_command(void)
{
    static char path[2 * PATH_MAX];
    char own[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    MUST(bytes > 0);
    own[bytes] = '\0';
    snprintf(path, sizeof path, "%.*s/../../castoff", (int)(strrchr(own, '/') - own), own);
    return path;
}

struct castoff_offload_job ranks_job(void)
{
    return (struct castoff_offload_job){.struct_bytes = sizeof(struct castoff_offload_job),
                                        .rank = ranks_own,
                                        .size = ranks_count,
                                        .allgather = ranks_gather,
                                        .command = ranks_command()};
}

struct castoff_offload_world *ranks_world(void)
{
    struct castoff_offload_world *world;
    struct castoff_offload_job job = ranks_job();
    int error = castoff_offload_open(&world, &job);

    if (error == -EPERM) {
        ranks_shared->is_denied = 1;
        _exit(0);
    }
    MUST(error == 0);
    ranks_shared->proxy = world->proxy;
    return world;
}

void ranks_start(int ranks, void (*program)(void))
{
    pthread_barrierattr_t among;

    all_share = mmap(NULL, sizeof *all_share, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(all_share != MAP_FAILED);
    ranks_shared = &all_share->shared;
    ranks_count = ranks;
    pthread_barrierattr_init(&among);
    pthread_barrierattr_setpshared(&among, PTHREAD_PROCESS_SHARED);
    assert_int_equal(pthread_barrier_init(&all_share->barrier, &among, (unsigned)ranks), 0);
    pthread_barrierattr_destroy(&among);
    test_process = getpid();
    fflush(NULL);
    for (int i = 0; i < ranks; i++) {
        ranks_processes[i] = fork();
        assert_true(ranks_processes[i] >= 0);
        if (ranks_processes[i] == 0) {
            ranks_own = i;
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            if (getppid() != test_process) { // it has ended before that
                _exit(1);
            }
            program();
            _exit(0);
        }
    }
}

void ranks_end(void)
{
    bool is_good = true;
    for (int left = ranks_count; left > 0; left--) {
        int status;
        pid_t ended = waitpid(-1, &status, 0); // in the order in which they end
        assert_true(ended > 0);
        is_good = is_good && (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        for (int i = 0; i < ranks_count; i++) {
            ranks_processes[i] = ranks_processes[i] == ended ? 0 : ranks_processes[i];
            if (!is_good && ranks_processes[i] != 0) {
                kill(ranks_processes[i], SIGKILL); // none waits for one that has crashed
            }
        }
    }
    bool is_denied = ranks_shared->is_denied != 0;
    int proxy = ranks_shared->proxy;
    // With its last rank. Who becomes its parent may be slow to ask for it.
    RANKS_UNTIL(proxy == 0 || ranks_has_ended(proxy));
    munmap(all_share, sizeof *all_share);
    assert_true(is_good);
    if (is_denied) {
        skip();
    }
}

// 0: there is none.
char ranks_state_of(pid_t process)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 0;
        }
        fclose(file);
    }
    return state;
}

bool ranks_has_ended(pid_t process)
{
    char state = ranks_state_of(process);
    return state == 0 || state == 'Z';
}

void ranks_run(int ranks, void (*program)(void))
{
    ranks_start(ranks, program);
    ranks_end();
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What proxies cost, between ranks that are processes of this host and nodes of their own (M35, M42, M43):
//
//     proxy_speed lend CASTOFF [BYTES...]   there and back, attached, staged and copied by the ranks, in turn: us a
//                                           message, the proxies' ns a KiB, memory that a proxy had at most
//     proxy_speed idle CASTOFF [SECONDS]    what a proxy with nothing to do takes; ms to open a world, of 20
//     proxy_speed killed CASTOFF [TIMES]    from a proxy's end to the last rank's error; processes that are left
//
// CASTOFF is the command. Lines are "what: name value name value ...".
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offload/api/offload_world.h"

enum { RANKS = 2, WAYS = 3, SLOT_BYTES = 1024, TIMES_MAX = 64, MOST_BYTES = 16 << 20 };

static const char *const ways[WAYS] = {"attach", "stage", "copy"};

static struct shared {
    pthread_barrier_t gathers[WAYS], turns;
    unsigned char slots[WAYS][RANKS][SLOT_BYTES];
    double us[WAYS][TIMES_MAX]; // of one message
    double values[TIMES_MAX];
    _Atomic int proxies[RANKS];
    double killed_at;
} * shared;

static const char *command;
static int way, rank;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "proxy_speed: rank %d, %s: %s: %s\n", rank, ways[way], what, castoff_offload_why());
        kill(0, SIGKILL);
    }
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    must(bytes <= SLOT_BYTES, "slots");
    memcpy(shared->slots[way][rank], mine, bytes);
    pthread_barrier_wait(&shared->gathers[way]);
    for (int i = 0; i < RANKS; i++) {
        memcpy((char *)all + (size_t)i * bytes, shared->slots[way][i], bytes);
    }
    pthread_barrier_wait(&shared->gathers[way]);
    return 0;
}

static struct castoff_offload_world *world_open(void)
{
    struct castoff_offload_world *world = NULL;
    struct castoff_offload_job job = {
        .struct_bytes = sizeof job, .rank = rank, .size = RANKS, .allgather = gather, .command = command};
    must(castoff_offload_open(&world, &job) == 0, "open");
    return world;
}

// Of /proc/PID/NAME, the number behind `key`, or the first one.
static double process_number(int process, const char *name, const char *key)
{
    char path[64], line[256];
    double value = -1;
    snprintf(path, sizeof path, "/proc/%d/%s", process, name);
    FILE *file = fopen(path, "r");
    while (file != NULL && value < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = strtod(line + strlen(key), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    must(value >= 0, "a number of the proxy in /proc"); // else nothing would pass for little
    return value;
}

static double processor_ns(int process)
{
    return process_number(process, "schedstat", "");
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void message(struct castoff_offload_world *world, bool sends, unsigned char *memory, size_t bytes)
{
    struct castoff_offload_request *request;
    int error = sends ? castoff_offload_send(world, memory, bytes, 1 - rank, 0, &request)
                      : castoff_offload_receive(world, memory, bytes, 1 - rank, 0, &request);
    must(error == 0 && castoff_offload_wait(request, NULL) == 0, sends ? "send" : "receive");
}

static double there_and_back(struct castoff_offload_world *world, unsigned char *memory, size_t bytes, int turn)
{
    memset(memory, rank == 0 ? turn : 0, bytes);
    double begin = now_us();
    message(world, rank == 0, memory, bytes);
    message(world, rank != 0, memory, bytes);
    double us = (now_us() - begin) / 2;
    must(memory[0] == (unsigned char)turn && memory[bytes - 1] == (unsigned char)turn, "bytes");
    return us;
}

static void lend_print(struct castoff_offload_world *world, size_t bytes, int turns, double spent_ns)
{
    double kib = 2.0 * turns * (double)bytes / 1024;
    printf("lend: bytes %zu way %s us %.1f ns_per_kib %.1f most_kb %.0f\n", bytes, ways[way],
           median(shared->us[way], turns), spent_ns / kib, process_number(world->proxy, "status", "VmHWM:"));
    fflush(stdout);
}

// All ways at once: of each turn every way has a part, alone.
static void lend_run(size_t bytes)
{
    struct castoff_offload_world *world = world_open();
    unsigned char *memory = malloc(bytes);
    int turns = bytes >= (4 << 20) ? 20 : 60;
    double before = 0;

    must(memory != NULL, "memory");
    there_and_back(world, memory, bytes, 255);
    for (int turn = 0; turn < turns; turn++) {
        for (int part = 0; part < WAYS; part++) {
            pthread_barrier_wait(&shared->turns);
            if (part != way) {
                continue;
            }
            before = turn == 0 ? processor_ns(world->proxy) : before;
            double us = there_and_back(world, memory, bytes, turn);
            if (rank == 0) {
                shared->us[way][turn] = us;
            }
        }
    }
    for (int part = 0; part < WAYS; part++) {
        pthread_barrier_wait(&shared->turns);
        if (part == way && rank == 0) {
            lend_print(world, bytes, turns, processor_ns(world->proxy) - before);
        }
    }
    must(castoff_offload_close(world) == 0, "close");
    free(memory);
}

static void idle_run(size_t seconds)
{
    enum { OPENED = 20 };
    for (int i = 0; i < OPENED; i++) {
        double begin = now_us();
        struct castoff_offload_world *opened = world_open();
        shared->values[i] = (now_us() - begin) / 1000;
        must(castoff_offload_close(opened) == 0, "close");
    }
    struct castoff_offload_world *world = world_open();
    unsigned char memory[64];
    there_and_back(world, memory, sizeof memory, 1);
    sleep(1);
    double before = processor_ns(world->proxy);
    sleep((unsigned)seconds);
    double after = processor_ns(world->proxy);
    if (rank == 0) {
        printf("idle: open_ms %.2f us_per_s %.1f rss_kb %.0f anonymous_kb %.0f\n", median(shared->values, OPENED),
               (after - before) / 1000 / (double)seconds, process_number(world->proxy, "status", "VmRSS:"),
               process_number(world->proxy, "status", "RssAnon:"));
    }
    must(castoff_offload_close(world) == 0, "close");
}

static bool is_left(int process)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 'Z';
        }
        fclose(file);
    }
    return state != 'Z';
}

static void killed_run(size_t times)
{
    for (size_t i = 0; i < times && i < TIMES_MAX; i++) {
        struct castoff_offload_world *world = world_open();
        struct castoff_offload_request *request;
        char byte;

        shared->proxies[rank] = world->proxy;
        must(castoff_offload_receive(world, &byte, 1, 1 - rank, 0, &request) == 0, "receive");
        pthread_barrier_wait(&shared->gathers[way]);
        if (rank == 0) {
            shared->killed_at = now_us();
            kill(shared->proxies[1], SIGKILL);
        }
        must(castoff_offload_wait(request, NULL) == -ECONNRESET, "an error");
        double ms = (now_us() - shared->killed_at) / 1000;
        must(castoff_offload_close(world) == 0, "close");
        shared->us[rank][i] = ms;
        pthread_barrier_wait(&shared->gathers[way]);
        int waits = 0;
        for (int proxy = 0; proxy < RANKS; proxy++) {
            for (; is_left(shared->proxies[proxy]) && waits < 1000; waits++) {
                usleep(1000);
            }
        }
        if (rank == 0) {
            bool own = shared->us[0][i] > shared->us[1][i];
            printf("killed: last_ms %.2f whose %s left %d gone_ms %d\n", shared->us[own ? 0 : 1][i],
                   own ? "other" : "own", is_left(shared->proxies[0]) + is_left(shared->proxies[1]), waits);
            fflush(stdout);
        }
        pthread_barrier_wait(&shared->gathers[way]);
    }
}

static void run(const char *what, size_t number)
{
    if (strcmp(what, "lend") == 0) {
        lend_run(number);
    } else if (strcmp(what, "idle") == 0) {
        idle_run(number);
    } else {
        killed_run(number);
    }
}

static void barrier_open(pthread_barrier_t *barrier, unsigned count)
{
    pthread_barrierattr_t among;
    pthread_barrierattr_init(&among);
    pthread_barrierattr_setpshared(&among, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier, &among, count);
}

// Each rank of each way is a process: settings are a process's.
static int run_all(const char *what, size_t number)
{
    int parts = strcmp(what, "lend") == 0 ? WAYS : 1, status, failed = 0;
    barrier_open(&shared->turns, (unsigned)(parts * RANKS));
    for (way = 0; way < parts; way++) {
        barrier_open(&shared->gathers[way], RANKS);
        for (rank = 0; rank < RANKS; rank++) {
            fflush(NULL);
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                setenv("CASTOFF_PROXY_LEND", ways[way], 1);
                run(what, number);
                exit(0);
            }
        }
    }
    while (wait(&status) > 0) {
        failed |= status != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    int failed = 0;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED ||
        (strcmp(what, "lend") != 0 && strcmp(what, "idle") != 0 && strcmp(what, "killed") != 0)) {
        fprintf(stderr, "proxy_speed lend|idle|killed CASTOFF [NUMBER...]\n");
        return 2;
    }
    setpgid(0, 0); // who fails ends all
    command = argv[2];
    setenv("CASTOFF_NODE_RANKS", "1", 1);
    for (int i = 3; i < argc; i++) {
        failed |= run_all(what, strtoull(argv[i], NULL, 0));
    }
    if (argc == 3) {
        for (size_t bytes = 256 << 10; strcmp(what, "lend") == 0 && bytes <= MOST_BYTES; bytes *= 4) {
            failed |= run_all(what, bytes);
        }
        failed |= strcmp(what, "lend") != 0 && run_all(what, 10);
    }
    return failed;
}

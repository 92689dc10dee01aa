// SPDX-License-Identifier: BSD-3-Clause
//
// A rank of a world of castoff_offload.h that no launcher looks after, for tests/lab/proxies_test.sh, which ends hosts
// under it: what each rank says for an allgather lies in a folder that all hosts see. It meets the test there at the
// moment that it is asked to, start (proxies have started), middle (somebody is waited for) or end (all is received),
// and goes on when the test has done what it wants to (a file `done`). With ring all ranks but the first and the last
// stop once they have called a ring broadcast, which the first one begins when the test says so, and the last one says
// that it has it (a file `received`). Exits 0 if all it must see is so, and prints why.
//
//     proxy_rank FOLDER RANK SIZE HOST-THAT-ENDS RANK-THERE start|middle|end|ring
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "castoff_offload.h"

enum { BYTES = 300000, RING_BYTES = 3000000, PATH_BYTES = 512, START_GATHER = 3 };

static const char *folder, *host, *moment;
static int rank, size, ended, gathers;

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static bool exists(const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

// Whole, or not at all.
static void put(const char *name, const void *bytes, size_t count)
{
    char path[PATH_BYTES], whole[PATH_BYTES];
    snprintf(path, sizeof path, "%s/.%s.%d", folder, name, rank);
    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0 || rename(path, whole) != 0) {
        perror(path);
        exit(2);
    }
}

static void say_ready(void)
{
    char name[64];
    snprintf(name, sizeof name, "ready.%d", rank);
    put(name, "", 0);
}

static void meet(const char *at)
{
    if (strcmp(moment, at) == 0) {
        say_ready();
        while (!exists("done")) {
            pause_shortly();
        }
    }
}

// Without those who have gone it fails, as it does where a launcher ends it.
static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    char name[64], path[PATH_BYTES];
    (void)arg;
    gathers++;
    snprintf(name, sizeof name, "gather.%d.%d", gathers, rank);
    put(name, mine, bytes);
    for (int i = 0; i < size; i++) {
        snprintf(name, sizeof name, "gather.%d.%d", gathers, i);
        while (!exists(name)) {
            if (i >= ended && exists("done")) {
                return -EIO;
            }
            pause_shortly();
        }
        snprintf(path, sizeof path, "%s/%s", folder, name);
        int file = open(path, O_RDONLY);
        ssize_t came = read(file, (char *)all + (size_t)i * bytes, bytes);
        close(file);
        if (came != (ssize_t)bytes) {
            return -EIO;
        }
    }
    if (gathers == START_GATHER) {
        meet("start");
    }
    return 0;
}

static void must(bool holds, const char *what)
{
    if (!holds) {
        printf("rank %d: %s: %s\n", rank, what, castoff_offload_why());
        exit(1);
    }
}

static bool why_names_a_host(void)
{
    char expected[64];
    snprintf(expected, sizeof expected, "host %s", host);
    // Whoever is on the host that was cut off sees that of the others go.
    return strstr(castoff_offload_why(), expected) != NULL ||
           (rank >= ended && strstr(castoff_offload_why(), "host h") != NULL);
}

static void waits_for_the_ended(struct castoff_offload_world *world)
{
    struct castoff_offload_request *request;
    char byte;
    must(castoff_offload_receive(world, &byte, 1, rank < ended ? ended : 0, 9, &request) == 0, "receive");
    meet("middle");
    must(castoff_offload_wait(request, NULL) == -ECONNRESET, "an error");
    must(why_names_a_host(), "the error names the host");
    printf("rank %d: %s\n", rank, castoff_offload_why());
}

static void exchange(struct castoff_offload_world *world)
{
    static unsigned char out[BYTES], in[BYTES];
    struct castoff_offload_request *send, *receive;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    memset(out, 1 + rank, sizeof out);
    must(castoff_offload_receive(world, in, sizeof in, left, 1, &receive) == 0, "receive");
    must(castoff_offload_send(world, out, sizeof out, right, 1, &send) == 0, "send");
    must(castoff_offload_wait(receive, NULL) == 0 && castoff_offload_wait(send, NULL) == 0, "wait");
    for (size_t i = 0; i < sizeof in; i++) {
        must(in[i] == (unsigned char)(1 + left), "bytes");
    }
}

static struct castoff_offload_group *ring_record(struct castoff_offload_world *world, unsigned char *memory)
{
    struct castoff_offload_group *ring;

    must(castoff_offload_group_start(world, &ring) == 0, "group start");
    if (rank > 0) {
        must(castoff_offload_group_receive(ring, memory, RING_BYTES, rank - 1, 2) == 0, "group receive");
        must(castoff_offload_group_barrier(ring) == 0, "group barrier");
    }
    if (rank < size - 1) {
        must(castoff_offload_group_send(ring, memory, RING_BYTES, rank + 1, 2) == 0, "group send");
    }
    must(castoff_offload_group_end(ring) == 0, "group end");
    return ring;
}

static void must_be_there(const unsigned char *memory)
{
    for (size_t i = 0; i < RING_BYTES; i++) {
        must(memory[i] == 42, "bytes of the ring");
    }
}

// Those in between have the bytes before they wait: they were stopped while these came and went.
static void ring(struct castoff_offload_world *world)
{
    static unsigned char memory[RING_BYTES];
    struct castoff_offload_group *group = ring_record(world, memory);

    memset(memory, rank == 0 ? 42 : 0, sizeof memory);
    if (rank == 0) {
        meet("ring");
    }
    must(castoff_offload_group_call(group) == 0, "group call");
    if (rank > 0) {
        say_ready();
    }
    if (rank > 0 && rank < size - 1) {
        raise(SIGSTOP);
        must_be_there(memory);
    }
    must(castoff_offload_group_wait(group, NULL) == 0, "group wait");
    must_be_there(memory);
    if (rank == size - 1) {
        put("received", "", 0);
    }
    must(castoff_offload_group_free(group) == 0, "group free");
}

int main(int argc, char **argv)
{
    struct castoff_offload_world *world;
    if (argc != 7) {
        return 2;
    }
    folder = argv[1];
    rank = atoi(argv[2]);
    size = atoi(argv[3]);
    host = argv[4];
    ended = atoi(argv[5]);
    moment = argv[6];
    int error = castoff_offload_open(
        &world,
        &(struct castoff_offload_job){
            .struct_bytes = sizeof(struct castoff_offload_job), .rank = rank, .size = size, .allgather = gather});
    if (strcmp(moment, "start") == 0) {
        must(error < 0 && why_names_a_host(), "the error names the host");
        printf("rank %d: %s\n", rank, castoff_offload_why());
        return 0;
    }
    must(error == 0, "open");
    exchange(world);
    if (strcmp(moment, "ring") == 0) {
        ring(world);
    }
    if (strcmp(moment, "middle") == 0) {
        waits_for_the_ended(world);
    }
    meet("end");
    must(castoff_offload_close(world) == 0, "close");
    printf("rank %d: closed\n", rank);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The doorbell of a rank, an eventfd that it shares with its proxy: it is what rings; a file that a program has put in
// its place is neither written to nor closed; a copy of it that outlives its rank wakes nobody.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "offload_ranks.h"

enum { CALLS = 50, BYTES = 100 };

// Of that process: the first, or -1. *count: how many there are.
static int bell_of(pid_t process, int *count)
{
    char path[320], where[64];
    int first = -1;

    *count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(path);
    MUST(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)process, entry->d_name);
        ssize_t length = readlink(path, where, sizeof where - 1);
        where[length > 0 ? length : 0] = '\0';
        if (strcmp(where, "anon_inode:[eventfd]") == 0) {
            first = first < 0 ? atoi(entry->d_name) : first;
            ++*count;
        }
    }
    closedir(folder);
    return first;
}

// Descriptors that an epoll of that process still looks at and it has closed itself.
static int stale_of(pid_t process)
{
    char path[320], line[256];
    int stale = 0, number;

    snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)process);
    DIR *folder = opendir(path);
    MUST(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)process, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            if (sscanf(line, "tfd: %d", &number) == 1) {
                snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, number);
                stale += access(path, F_OK) != 0 && readlink(path, line, sizeof line) < 0;
            }
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(folder);
    return stale;
}

// A message to itself, begun while the proxy sleeps.
static void call(struct castoff_offload_world *world)
{
    unsigned char from[BYTES], to[BYTES] = {0};
    struct castoff_offload_request *send, *receive;
    uint64_t bytes;

    memset(from, 7, sizeof from);
    RANKS_UNTIL(ranks_state_of(ranks_shared->proxy) == 'S');
    MUST(castoff_offload_receive(world, to, sizeof to, 0, 1, &receive) == 0);
    MUST(castoff_offload_send(world, from, sizeof from, 0, 1, &send) == 0);
    MUST(castoff_offload_wait(send, &bytes) == 0);
    MUST(castoff_offload_wait(receive, &bytes) == 0);
    MUST(memcmp(from, to, sizeof to) == 0);
}

static void ringing(void)
{
    struct castoff_offload_world *world = ranks_world();
    int count, bell = bell_of(getpid(), &count);
    uint64_t rings = 0;

    MUST(count == 1);
    MUST((fcntl(bell, F_GETFD) & FD_CLOEXEC) != 0);
    for (int i = 0; i < CALLS; i++) {
        call(world);
    }
    MUST(read(bell, &rings, sizeof rings) == sizeof rings && rings > 0); // the proxy reads none
    MUST(castoff_offload_close(world) == 0);
    MUST(bell_of(getpid(), &count) == -1);
}

static void it_is_what_rings(void **state)
{
    (void)state;
    ranks_run(1, ringing);
}

static void replaced(void)
{
    struct castoff_offload_world *world = ranks_world();
    struct stat file;
    int count, bell = bell_of(getpid(), &count), own = memfd_create("program's", 0);

    MUST(count == 1 && own >= 0);
    MUST(dup2(own, bell) == bell);
    for (int i = 0; i < CALLS; i++) {
        call(world);
    }
    MUST(castoff_offload_close(world) == 0);
    MUST(fstat(bell, &file) == 0);
    MUST(file.st_size == 0);
}

static void a_programs_file_in_its_place_stays(void **state)
{
    (void)state;
    ranks_run(1, replaced);
}

static void outlived(void)
{
    struct castoff_offload_world *world = ranks_world();
    int count;

    if (ranks_own == 1) {
        MUST(dup(bell_of(getpid(), &count)) >= 0);
        MUST(castoff_offload_close(world) == 0);
        ranks_shared->words[0] = 1;
        RANKS_UNTIL(ranks_shared->words[1] == 1);
        return;
    }
    RANKS_UNTIL(ranks_shared->words[0] == 1);
    RANKS_UNTIL((bell_of(ranks_shared->proxy, &count), count == 1));
    MUST(stale_of(ranks_shared->proxy) == 0);
    ranks_shared->words[1] = 1;
    MUST(castoff_offload_close(world) == 0);
}

static void a_copy_of_it_is_nobodys(void **state)
{
    (void)state;
    ranks_run(2, outlived);
}

// As a program that becomes a daemon: it closes all that it has not opened itself, and opens files.
static void closed(void)
{
    enum { OWN = 16 };
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request;
    int own[OWN][2];
    char bytes[8];

    call(world);
    closefrom(3);
    for (int i = 0; i < OWN; i++) {
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, own[i]) == 0);
        MUST(write(own[i][0], "own", 3) == 3 && write(own[i][1], "own", 3) == 3);
    }
    MUST(castoff_offload_send(world, bytes, sizeof bytes, 0, 1, &request) == -ECONNRESET);
    MUST(castoff_offload_close(world) == 0);
    for (int i = 0; i < 2 * OWN; i++) {
        MUST(recv(own[i / 2][i % 2], bytes, sizeof bytes, MSG_DONTWAIT) == 3);
        MUST(recv(own[i / 2][i % 2], bytes, sizeof bytes, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    }
}

static void a_programs_files_stay_where_it_has_closed_all(void **state)
{
    (void)state;
    ranks_run(1, closed);
}

// Likewise, but its files are of the bell's kind, which have one inode.
static void closed_for_bells(void)
{
    enum { OWN = 64 };
    struct castoff_offload_world *world = ranks_world();
    struct castoff_offload_request *request;
    uint64_t rings;
    int own[OWN];
    char bytes[8];

    call(world);
    closefrom(3);
    for (int i = 0; i < OWN; i++) {
        own[i] = eventfd(0, EFD_NONBLOCK);
        MUST(own[i] == 3 + i);
    }
    MUST(castoff_offload_send(world, bytes, sizeof bytes, 0, 1, &request) == -ECONNRESET);
    MUST(castoff_offload_close(world) == 0);
    for (int i = 0; i < OWN; i++) {
        MUST(read(own[i], &rings, sizeof rings) < 0 && errno == EAGAIN);
    }
}

static void a_programs_bells_stay_where_it_has_closed_all(void **state)
{
    (void)state;
    ranks_run(1, closed_for_bells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_rings), cmocka_unit_test(a_programs_file_in_its_place_stays),
        cmocka_unit_test(a_copy_of_it_is_nobodys), cmocka_unit_test(a_programs_files_stay_where_it_has_closed_all),
        cmocka_unit_test(a_programs_bells_stay_where_it_has_closed_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

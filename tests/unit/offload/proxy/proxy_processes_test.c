// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are processes: the listings of the paper, memory that goes and comes, junk. What is shown here without a
// clock: bytes arrive while all ranks are stopped. Skipped where the kernel lets nobody look into another process.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proxy_processes.h"

enum { BYTES = 200000, BLOCK = 5000, CALLS = 5 };

static struct co_rank_group *ring_record(struct co_rank_client *client, unsigned char *memory)
{
    struct co_rank_group *group;
    MUST(co_rank_group_start(client, &group) == 0);
    if (process_rank > 0) {
        process_record(group, CO_OFFLOAD_OPERATION_RECEIVE, -1, process_rank - 1, memory, BYTES);
        process_record(group, CO_OFFLOAD_OPERATION_BARRIER, -1, -1, NULL, 0);
    }
    if (process_rank < PROCESSES_RANKS - 1) {
        process_record(group, CO_OFFLOAD_OPERATION_SEND, process_rank + 1, -1, memory, BYTES);
    }
    return group;
}

// The listing of the paper, as often as one likes, and a personalized all-to-all beside it.
static void ring_and_all_to_all(struct co_rank_client *client)
{
    static unsigned char memory[BYTES], out[PROCESSES_RANKS][BLOCK], in[PROCESSES_RANKS][BLOCK];
    struct co_rank_group *ring = ring_record(client, memory), *all;
    uint32_t ring_ticket, all_ticket;

    MUST(co_rank_group_start(client, &all) == 0);
    for (int i = 0; i < PROCESSES_RANKS; i++) {
        process_record(all, CO_OFFLOAD_OPERATION_SEND, i, -1, out[i], BLOCK);
        process_record(all, CO_OFFLOAD_OPERATION_RECEIVE, -1, i, in[i], BLOCK);
    }
    for (int call = 0; call < CALLS; call++) {
        memset(memory, process_rank == 0 ? 10 + call : 0, BYTES);
        memset(in, 0, sizeof in);
        for (int i = 0; i < PROCESSES_RANKS; i++) {
            memset(out[i], 50 * call + 4 * process_rank + i, BLOCK);
        }
        MUST(co_rank_group_call(ring, &ring_ticket) == 0);
        MUST(co_rank_group_call(all, &all_ticket) == 0);
        MUST(co_rank_group_call(all, &all_ticket) == -EBUSY);
        MUST(process_finish(client, all_ticket) == 0);
        for (int i = 0; i < PROCESSES_RANKS; i++) {
            MUST(process_is_all(in[i], BLOCK, 50 * call + 4 * i + process_rank));
        }
        MUST(process_finish(client, ring_ticket) == 0);
        MUST(process_is_all(memory, BYTES, 10 + call));
    }
    MUST(co_rank_client_counts(client)->definitions == 2 &&
         co_rank_client_counts(client)->cached_calls == 2 * CALLS - 2);
    MUST(co_rank_group_free(ring) == 0 && co_rank_group_free(all) == 0);
}

// Calls, says so, and computes; when it is continued all is there already.
static void stopped(struct co_rank_client *client)
{
    static unsigned char memory[BYTES];
    struct co_rank_group *ring = ring_record(client, memory);
    uint32_t ticket;

    memset(memory, process_rank == 0 ? 99 : 0, BYTES);
    MUST(co_rank_group_call(ring, &ticket) == 0);
    raise(SIGSTOP);
    MUST(process_is_all(memory, BYTES, 99)); // before anything is asked
    MUST(co_rank_client_is_done(client, ticket));
    MUST(process_finish(client, ticket) == 0);
    MUST(co_rank_group_free(ring) == 0);
}

// A buffer that has been given back is an error of that call; mapped again, at the same address, it is right.
static void memory_given_back(struct co_rank_client *client)
{
    const size_t bytes = 8 * (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct co_rank_group *group;
    uint32_t ticket;

    MUST(memory != MAP_FAILED && co_rank_group_start(client, &group) == 0);
    if (process_rank == 0) {
        process_record(group, CO_OFFLOAD_OPERATION_SEND, 2, -1, memory, bytes);
    } else if (process_rank == 2) {
        process_record(group, CO_OFFLOAD_OPERATION_RECEIVE, -1, 0, memory, bytes);
    }
    for (int call = 0; call < 4; call++) {
        bool is_given_back = call == 1 ? process_rank == 2 : call == 2 && process_rank == 0;
        if (is_given_back) {
            MUST(munmap(memory, bytes) == 0);
        } else {
            memset(memory, process_rank == 0 ? 30 + call : 1, bytes);
        }
        MUST(co_rank_group_call(group, &ticket) == 0);
        int error = process_finish(client, ticket);
        // One piece: its send is over when it has left.
        MUST(error == (is_given_back ? -EFAULT : call == 2 && process_rank == 2 ? -ECONNRESET : 0));
        MUST(error != 0 || process_rank != 2 || process_is_all(memory, bytes, 30 + call));
        if (is_given_back) {
            MUST(mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
        }
    }
    MUST(co_rank_group_free(group) == 0);
}

// The proxy keeps two groups of a rank; three are called in turn, so each is told again and again.
static void more_groups_than_are_kept(struct co_rank_client *client)
{
    static unsigned char out[3][64], in[3][64];
    struct co_rank_group *groups[3];
    uint32_t tickets[3];

    for (int i = 0; i < 3; i++) {
        MUST(co_rank_group_start(client, &groups[i]) == 0);
        process_record(groups[i], CO_OFFLOAD_OPERATION_SEND, (process_rank + 1) % PROCESSES_RANKS, -1, out[i], 64);
        process_record(groups[i], CO_OFFLOAD_OPERATION_RECEIVE, -1,
                       (process_rank + PROCESSES_RANKS - 1) % PROCESSES_RANKS, in[i], 64);
    }
    for (int call = 0; call < 20; call++) {
        for (int i = 0; i < 3; i++) {
            memset(out[i], 10 * call + i, 64);
            MUST(co_rank_group_call(groups[i], &tickets[i]) == 0);
        }
        for (int i = 0; i < 3; i++) {
            MUST(process_finish(client, tickets[i]) == 0);
            MUST(process_is_all(in[i], 64, 10 * call + i));
        }
    }
    MUST(co_rank_client_counts(client)->definitions == 60);
    for (int i = 0; i < 3; i++) {
        MUST(co_rank_group_free(groups[i]) == 0);
    }
}

static void one_writes_junk(struct co_rank_client *client)
{
    static unsigned char memory[64];
    uint32_t ticket;

    if (process_rank == 1) {
        memset(processes.segments[1]->commands[0], 0xee, CO_OFFLOAD_COMMAND_BYTES);
        co_store_release(&processes.segments[1]->given, 1); // as S1 of segment.c
        process_ring(NULL);
        _exit(0); // without BYE
    }
    struct co_offload_operation operation = {
        .kind = CO_OFFLOAD_OPERATION_RECEIVE, .from = 1, .address = (uint64_t)(uintptr_t)memory, .bytes = 64};
    MUST(co_rank_client_start(client, &operation, &ticket) == 0);
    MUST(process_finish(client, ticket) == -ECONNRESET);
    operation = (struct co_offload_operation){.kind = process_rank == 0 ? CO_OFFLOAD_OPERATION_SEND
                                                                        : CO_OFFLOAD_OPERATION_RECEIVE,
                                              .to = process_rank == 0 ? 2 : 0,
                                              .address = (uint64_t)(uintptr_t)memory,
                                              .bytes = 64};
    if (process_rank != 3) { // the others go on
        MUST(co_rank_client_start(client, &operation, &ticket) == 0);
        MUST(process_finish(client, ticket) == 0);
    }
}

static void rings_and_all_to_alls(void **state)
{
    (void)state;
    processes_run(ring_and_all_to_all);
}

static void bytes_arrive_while_all_ranks_are_stopped(void **state)
{
    (void)state;
    processes_start(stopped);
    bool is_allowed = processes_join();
    for (int i = 0; i < PROCESSES_RANKS && is_allowed; i++) {
        int status;
        assert_int_equal(waitpid(processes.children[i], &status, WUNTRACED), processes.children[i]);
        assert_true(WIFSTOPPED(status));
    }
    if (is_allowed) {
        processes_serve(); // nothing was moved before, and nobody runs but this process
        for (int i = 0; i < PROCESSES_RANKS; i++) {
            kill(processes.children[i], SIGCONT);
        }
        processes_serve_all();
    }
    processes_end(is_allowed);
}

static void memory_that_is_given_back_and_mapped_again(void **state)
{
    (void)state;
    processes_run(memory_given_back);
}

static void groups_are_told_again(void **state)
{
    (void)state;
    processes_run(more_groups_than_are_kept);
}

static void junk_in_a_ring_ends_that_rank_alone(void **state)
{
    (void)state;
    processes_run(one_writes_junk);
    assert_int_equal(processes.hung_up, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_and_all_to_alls),
        cmocka_unit_test(bytes_arrive_while_all_ranks_are_stopped),
        cmocka_unit_test(memory_that_is_given_back_and_mapped_again),
        cmocka_unit_test(groups_are_told_again),
        cmocka_unit_test(junk_in_a_ring_ends_that_rank_alone),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

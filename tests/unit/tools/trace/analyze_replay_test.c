// SPDX-License-Identifier: BSD-3-Clause
//
// Applications of a few calls, analyzed whole: what a wait completes, which message a receive gets, what is said of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "analyze_traces.h"

#define ONE(n) "Irecv count=1 source=0 tag=7 comm=2 request=[" #n "]\n"

static void waits_retire_only_what_completed(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(
        directory, 1,
        ONE(2) ONE(3) "Waitsome count=2 requests[2]=[2, 3] outcount=1 indices[1]=[1] statuses[1]=[{bytes=4, "
                      "cancelled=0, source=0, tag=7, error=0}]\n" ONE(4)
                          ONE(5) "Waitany count=3 requests[3]=[2, 4, 5] index=1 status=<IGNORED>\n" ONE(
                              6) "Testall count=3 requests[3]=[2, 5, 6] flag=0 statuses[3]=<IGNORED>\n"
                                 "Test request=[2] flag=1 status=<IGNORED>\n"
                                 "Waitall count=2 requests[2]=[5, 6] statuses[2]=<IGNORED>\nFinalize\n");
    analyze_rank_write(directory, 0,
                       "Send count=1 dest=1 tag=7 comm=2\nSend count=1 dest=1 tag=7 comm=2\nRsend count=1 dest=1 tag=7 "
                       "comm=2\nSsend count=1 dest=1 tag=7 comm=2\nBsend count=1 dest=1 tag=7 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    // Outstanding at the points of rank 1: two, three, three, two. A wait that retired all it names would leave two.
    assert_int_equal(analyzed.analysis.published[0].largest, 2);
    assert_true(analyzed.analysis.published[0].average == 2.0);
    assert_int_equal(analyzed.analysis.replay.matches, 5);
    assert_int_equal(analyzed.analysis.replay.unreceived + analyzed.analysis.replay.unmatched, 0);
    assert_int_equal(analyzed.analysis.replay.forced + analyzed.analysis.replay.from_outside, 0);
    assert_int_equal(analyzed.complaints, 0);
    analyze_finish(&analyzed, directory);
}

// The message of rank 2 is sent last, and got first.
static void receives_from_anybody_get_what_the_trace_tells(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       "Irecv count=1 source=-1 (MPI_ANY_SOURCE) tag=-1 (MPI_ANY_TAG) comm=2 request=[2]\n"
                       "Wait request=[2] status=[{bytes=4, cancelled=0, source=2, tag=5, error=0}]\n"
                       "Recv count=1 source=-1 tag=4 comm=2 status=[{bytes=4, cancelled=0, source=1, tag=4, error=0}]\n"
                       "Recv count=1 source=1 tag=-1 comm=2 status=<IGNORED>\nFinalize\n");
    analyze_rank_write(directory, 1, "Send count=1 dest=0 tag=4 comm=2\nSend count=1 dest=0 tag=6 comm=2\nFinalize\n");
    analyze_rank_write(directory, 2,
                       "Wtime\nWtime\nWtime\nWtime\nWtime\nWtime\nSend count=1 dest=0 tag=5 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->matches, 3);
    assert_int_equal(replay->otherwise + replay->forced + replay->from_outside, 0);
    assert_int_equal(replay->by_class[1], 1);
    assert_int_equal(replay->by_class[2], 1);
    assert_int_equal(replay->by_class[3], 1);
    analyze_finish(&analyzed, directory);
}

static void persistent_requests_sendrecv_and_probes(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       "Recv_init count=1 source=1 tag=1 comm=2 request=[2]\nStart request=[2]\nWait request=[2] "
                       "status=<IGNORED>\nStartall count=1 requests[1]=[2]\nWait request=[2] status=<IGNORED>\n"
                       "Sendrecv sendcount=1 dest=1 sendtag=3 recvcount=1 source=1 recvtag=4 comm=2 status=<IGNORED>\n"
                       "Probe source=1 tag=9 comm=2 status=<IGNORED>\nIprobe source=1 tag=8 comm=2 flag=0 "
                       "status=<IGNORED>\nRecv count=1 source=1 tag=9 comm=2 status=<IGNORED>\n"
                       "Mprobe source=-1 tag=10 comm=2 status=[{bytes=4, cancelled=0, source=1, tag=10, error=0}]\n"
                       "Mrecv count=1\nFinalize\n");
    analyze_rank_write(directory, 1,
                       "Send_init count=1 dest=0 tag=1 comm=2 request=[2]\nStart request=[2]\nWait request=[2] "
                       "status=<IGNORED>\nStart request=[2]\nWait request=[2] status=<IGNORED>\n"
                       "Sendrecv_replace count=1 dest=0 sendtag=4 source=0 recvtag=3 comm=2 status=<IGNORED>\n"
                       "Send count=1 dest=0 tag=9 comm=2\nSend count=1 dest=0 tag=10 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->sends, 6);
    assert_int_equal(replay->matches, 6);
    assert_int_equal(replay->probes, 2);
    assert_int_equal(replay->receives, 6);
    assert_int_equal(replay->by_class[1], 1); // of MPI_Mprobe
    assert_int_equal(replay->forced + replay->from_outside + replay->unreceived + replay->unmatched, 0);
    analyze_finish(&analyzed, directory);
}

// Ranks 0 and 2 are ranks 1 and 0 of theirs: keys turn them around.
static void communicators_have_their_own_ranks(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    static const char *const sent = "Send count=1 dest=0 tag=1 comm=4\nFinalize\n";
    static const char *const received = "Recv count=1 source=1 tag=1 comm=5 status=<IGNORED>\nFinalize\n";
    char calls[256];
    for (int rank = 0; rank < 4; rank++) {
        bool sends = rank < 2;
        snprintf(calls, sizeof calls, "Comm_split oldcomm=2 color=%d key=%d newcomm=%d\n%s", rank % 2, -rank,
                 sends ? 4 : 5, sends ? sent : received);
        analyze_rank_write(directory, rank, calls);
    }
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->matches, 2);
    assert_int_equal(replay->forced + replay->from_outside + replay->sent_outside, 0);
    assert_int_equal(replay->talk[0 * 4 + 2], 1);
    assert_int_equal(replay->talk[1 * 4 + 3], 1);
    analyze_finish(&analyzed, directory);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       "Comm_size comm=2 size=3\nIrecv count=1 source=1 tag=1 comm=2 request=[2]\n"
                       "Irecv count=1 source=2 tag=1 comm=2 request=[3]\n"
                       "Waitall count=2 requests[2]=[2, 3] statuses[2]=<IGNORED>\nSend count=1 dest=2 tag=1 comm=2\n");
    analyze_rank_write(directory, 1, "Finalize\n");
    analyze_run(&analyzed, directory);
    assert_int_equal(analyzed.application.missing, 1);
    assert_int_equal(analyzed.application.partial, 1); // it has no MPI_Finalize
    assert_int_equal(analyzed.complaints, 1);
    assert_int_equal(analyzed.analysis.replay.from_outside, 2);
    assert_int_equal(analyzed.analysis.replay.sent_outside, 1);
    assert_int_equal(analyzed.analysis.replay.matches, 2);
    analyze_finish(&analyzed, directory);
}

static void a_cycle_of_waits_ends(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0, "Recv count=1 source=1 tag=1 comm=2 status=<IGNORED>\nBarrier comm=2\nFinalize\n");
    analyze_rank_write(directory, 1, "Barrier comm=2\nSend count=1 dest=0 tag=1 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    assert_true(analyzed.analysis.replay.forced > 0);
    analyze_finish(&analyzed, directory);
}

static void cancelled_receives_get_nothing(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       ONE(2) "Cancel request=[2]\nWait request=[2] status=[{bytes=0, cancelled=1, source=-1, tag=-1, "
                              "error=0}]\n"
                              "Isend count=1 dest=0 tag=7 comm=2 request=[2]\n" ONE(
                                  3) "Waitall count=2 requests[2]=[2, 3] statuses[2]=<IGNORED>\nFinalize\n");
    analyze_run(&analyzed, directory);
    assert_int_equal(analyzed.analysis.replay.matches, 1);
    assert_int_equal(analyzed.analysis.replay.unexpected, 1);
    analyze_finish(&analyzed, directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_retire_only_what_completed),
        cmocka_unit_test(receives_from_anybody_get_what_the_trace_tells),
        cmocka_unit_test(persistent_requests_sendrecv_and_probes),
        cmocka_unit_test(communicators_have_their_own_ranks),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(a_cycle_of_waits_ends),
        cmocka_unit_test(cancelled_receives_get_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// What calls do to requests, each kind of them: tests that found something retire only what they found, all sends send,
// what is freed or from nobody. And the published depth of an application of which it was worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analyze_traces.h"

#define ONE(n) "Irecv count=1 source=0 tag=7 comm=2 request=[" #n "]\n"
#define SEND(how, n) how " count=1 dest=1 tag=7 comm=2 request=[" #n "]\n"
#define IGNORED " status=<IGNORED>\n"

static void tests_retire_only_what_completed(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 1,
                       ONE(2) ONE(3)
                           ONE(4) "Testany count=2 requests[2]=[2, 3] index=0 flag=0" IGNORED
                                  "Testany count=3 requests[3]=[2, 3, 4] index=2 flag=1" IGNORED ONE(
                                      5) "Testsome count=3 requests[3]=[2, 3, 5] outcount=0 indices[0]=[] "
                                         "statuses[0]=[]\n"
                                         "Testsome count=3 requests[3]=[2, 3, 5] outcount=2 indices[2]=[2, 0] "
                                         "statuses[2]=<IGNORED>\n" ONE(6) ONE(7)
                                             ONE(8) "Testall count=4 requests[4]=[3, 6, 7, 8] flag=1 "
                                                    "statuses[4]=<IGNORED>\nFinalize\n");
    analyze_rank_write(directory, 0,
                       SEND("Isend", 2) SEND("Ibsend", 3) SEND("Issend", 4) SEND("Irsend", 5) SEND("Bsend_init", 6)
                           SEND("Ssend_init", 7) SEND("Rsend_init", 8) "Startall count=2 requests[2]=[6, 7]\n"
                                                                       "Start request=[8]\nWaitall count=7 "
                                                                       "requests[7]=[2, 3, 4, 5, 6, 7, 8] "
                                                                       "statuses[7]=<IGNORED>\nFinalize\n");
    analyze_run(&analyzed, directory);
    // At the last point of rank 1 the third and the last three are outstanding: had any test taken more, it were fewer.
    assert_int_equal(analyzed.analysis.published[0].largest, 3);
    assert_int_equal(analyzed.analysis.replay.sends, 7);
    assert_int_equal(analyzed.analysis.replay.matches, 7);
    assert_int_equal(analyzed.analysis.replay.unreceived + analyzed.analysis.replay.unmatched, 0);
    assert_int_equal(analyzed.analysis.replay.forced + analyzed.analysis.replay.from_outside, 0);
    assert_int_equal(analyzed.complaints, 0);
    analyze_finish(&analyzed, directory);
}

static void matched_probes_take_their_message(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(
        directory, 1,
        "Improbe source=0 tag=9 comm=2 flag=0" IGNORED
        "Improbe source=-1 tag=-1 comm=2 flag=1 status=[{bytes=4, cancelled=0, source=0, tag=9, error=0}]\n"
        "Imrecv count=1 request=[9]\nRecv count=1 source=0 tag=9 comm=2" IGNORED "Wait request=[9]" IGNORED
        "Finalize\n");
    analyze_rank_write(directory, 0, "Send count=1 dest=1 tag=9 comm=2\nSend count=1 dest=1 tag=9 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->probes, 1);
    assert_int_equal(replay->matches, 2);
    assert_int_equal(replay->by_class[3], 1);
    assert_int_equal(replay->by_class[0], 1);
    assert_int_equal(replay->unreceived + replay->unmatched + replay->forced + replay->from_outside, 0);
    analyze_finish(&analyzed, directory);
}

// MPI_PROC_NULL is -2 for some, and -1 for others, where only the status tells it from MPI_ANY_SOURCE.
static void what_is_freed_or_from_nobody(void **state)
{
    (void)state;
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(
        directory, 1,
        ONE(2) "Request_free request=[2]\n"
               "Sendrecv sendcount=1 dest=-2 sendtag=3 recvcount=1 source=-2 recvtag=3 comm=2" IGNORED
               "Recv count=1 source=-1 tag=3 comm=2 status=[{bytes=0, cancelled=0, source=-1, tag=-1, "
               "error=0}]\nProbe source=-1 tag=3 comm=2 status=[{bytes=0, cancelled=0, source=-1, tag=-1, "
               "error=0}]\nFinalize\n");
    analyze_rank_write(directory, 0, "Send count=1 dest=1 tag=7 comm=2\nFinalize\n");
    analyze_run(&analyzed, directory);
    const struct co_replay_result *replay = &analyzed.analysis.replay;
    assert_int_equal(replay->sends, 1);
    assert_int_equal(replay->receives, 1);
    assert_int_equal(replay->probes, 0);
    assert_int_equal(replay->matches, 1);
    assert_int_equal(replay->unreceived + replay->unmatched + replay->forced + replay->from_outside, 0);
    analyze_finish(&analyzed, directory);
}

#define FROM(source, request) "Irecv count=1 source=" #source " tag=0 comm=2 request=[" #request "]\n"

// By RFC 3074's table, {source, 0, 2} of source 0 to 7 has the hash 117, 79, 44, 85, 220, 209, 181, 163: modulo 3 that
// is 0, 1, 2, 1, 1, 2, 1, 1, modulo 16 5, 15, 12, 5, 12, 1, 5, 3. At the first points rank 0 holds all eight, rank 1
// four, 3, 3, any and 0, and rank 2 one. At the second ones rank 0 holds 0, 1, 2, 4, 5, 7 and 1, rank 1 one, and rank 2
// is over.
//   bins    rank 0    rank 1    means            average  largest
//      1    7, 6      3, 0      10/3, 6/2          10/3        7
//      3    4, 3      1, 0       5/3, 3/2           5/3        4
//     16    2, 1      3, 0       5/3, 1/2           5/3        3
//   4096    0, 1      1, 0       1/3, 1/2           1/2        1
static void the_published_depth_by_hand(void **state)
{
    (void)state;
    static const double averages[] = {10.0 / 3, 5.0 / 3, 5.0 / 3, 0.5};
    static const unsigned largest[] = {7, 4, 3, 1};
    char *directory = analyze_directory_make();
    struct analyze_result analyzed;
    analyze_rank_write(directory, 0,
                       FROM(0, 2) FROM(1, 3) FROM(2, 4) FROM(3, 5) FROM(4, 6) FROM(5, 7) FROM(6, 8) FROM(
                           7, 9) "Waitsome count=8 requests[8]=[2, 3, 4, 5, 6, 7, 8, 9] outcount=2 indices[2]=[3, 6] "
                                 "statuses[2]=<IGNORED>\n" FROM(1, 5) "Wait request=[2]" IGNORED "Finalize\n");
    analyze_rank_write(directory, 1,
                       FROM(3, 2) FROM(3, 3) "Irecv count=1 source=-1 tag=0 comm=2 request=[4]\n"
                                             "Irecv count=1 source=0 tag=-1 comm=2 request=[5]\n"
                                             "Waitall count=4 requests[4]=[2, 3, 4, 5] statuses[4]=<IGNORED>\n" FROM(
                                                 6, 2) "Wait request=[2]" IGNORED "Finalize\n");
    analyze_rank_write(directory, 2, FROM(0, 2) "Wait request=[2]" IGNORED "Finalize\n");
    analyze_run(&analyzed, directory);
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(analyzed.analysis.published[i].average - averages[i]) < 1e-9);
        assert_int_equal(analyzed.analysis.published[i].largest, largest[i]);
    }
    analyze_finish(&analyzed, directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_retire_only_what_completed),
        cmocka_unit_test(matched_probes_take_their_message),
        cmocka_unit_test(what_is_freed_or_from_nobody),
        cmocka_unit_test(the_published_depth_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

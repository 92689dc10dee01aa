// SPDX-License-Identifier: BSD-3-Clause
// Arrays that are tested in vain, again and again, before something becomes of them: by every call that looks at
// arrays, in short ones and in long ones, from the same place and from copies. What is done then is seen by the next
// call: a message, a broadcast, a message of the library below, a persistent request that was started anew, another
// request under the handle of one that was freed under way, and one that stands in the place of another. An error
// shows, too.
// ranks: 2
// environment: CASTOFF_P2P=yes
// expect: what is done is seen by the next call, and nothing else
// taken: MPI_Irecv MPI_Ibcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 5000, TESTS = 15, SPARE_TAG = LONG, TWO_INTS_TAG, ASK_TAG, TOLD_TAG, NATIVE_TAG, LARGE_TAG };
enum { LARGE = 100000 }; // ints: leave when they are received
enum {
    A_BCAST = -1,
    A_NATIVE_MESSAGE = -2,
    THE_END = -3,
    A_RECEIVE = -4
}; // what may be asked for; a tag: a message with it

static MPI_Request requests[LONG], copies[LONG];
static int large[LARGE], values[LONG], indices[LONG], count, spare;
static MPI_Comm native; // left to the library below

// The other rank has done it when this returns.
static void ask(int what)
{
    int told;
    MPI_Send(&what, 1, MPI_INT, 1, ASK_TAG, MPI_COMM_WORLD);
    MPI_Recv(&told, 1, MPI_INT, 1, TOLD_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void serve(void)
{
    int what = 0;
    while (what != THE_END) {
        MPI_Recv(&what, 1, MPI_INT, 0, ASK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int words[2] = {what >= 0 ? what : 7, 7};
        if (what >= 0) {
            MPI_Send(words, what == TWO_INTS_TAG ? 2 : 1, MPI_INT, 0, what, MPI_COMM_WORLD);
        } else if (what == A_NATIVE_MESSAGE) {
            MPI_Send(words, 1, MPI_INT, 0, NATIVE_TAG, native);
        } else if (what == A_BCAST) {
            MPI_Request broadcast;
            MPI_Ibcast(words, 1, MPI_INT, 1, MPI_COMM_WORLD, &broadcast);
            MPI_Wait(&broadcast, MPI_STATUS_IGNORE);
        }
        if (what == A_RECEIVE) {
            MPI_Recv(large, LARGE, MPI_INT, 0, LARGE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        co_test_expect(what >= A_RECEIVE && what < ASK_TAG, "asked for %d", what);
        MPI_Send(&what, 1, MPI_INT, 0, TOLD_TAG, MPI_COMM_WORLD);
    }
}

static MPI_Request receive(int at, int tag)
{
    MPI_Request request;
    values[at] = -1;
    MPI_Irecv(&values[at], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
    return request;
}

static MPI_Request receive_native(int at)
{
    MPI_Request request;
    values[at] = -1;
    MPI_Irecv(&values[at], 1, MPI_INT, 1, NATIVE_TAG, native, &request);
    return request;
}

static MPI_Request broadcast(int at)
{
    MPI_Request request;
    MPI_Ibcast(&values[at], 1, MPI_INT, 1, MPI_COMM_WORLD, &request);
    return request;
}

static void cancel(int at)
{
    if (requests[at] != MPI_REQUEST_NULL) {
        MPI_Cancel(&requests[at]);
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
}

static void test_in_vain(void)
{
    for (int i = 0; i < TESTS; i++) {
        int flag = 0, index, out = 0;
        MPI_Request *array = i % 5 == 4 ? memcpy(copies, requests, (size_t)count * sizeof *copies) : requests;
        if (i % 3 == 0) {
            MPI_Testsome(count, array, &out, indices, MPI_STATUSES_IGNORE);
        } else if (i % 3 == 1) {
            MPI_Testany(count, array, &index, &flag, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(count, array, &flag, MPI_STATUSES_IGNORE);
        }
        co_test_expect(out == 0 && flag == 0, "%d of an array of %d are done, flag %d", out, count, flag);
    }
}

// A call that tests is made as often as the library needs to move what has been sent.
static void expect_done(int at, int how)
{
    int flag = 0, index = -1, out = 0;
    while (flag == 0 && out == 0) {
        if (how == 0) {
            MPI_Testsome(count, requests, &out, indices, MPI_STATUSES_IGNORE);
        } else if (how == 1) {
            MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        } else if (how == 2) {
            MPI_Waitsome(count, requests, &out, indices, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
            flag = 1;
        }
    }
    index = out > 0 ? indices[0] : index;
    co_test_expect(index == at && out <= 1, "%d is done in place of %d, call %d, %d in all", index, at, how, out);
}

static void expect_value(int at, int value, const char *what)
{
    co_test_expect(values[at] == value, "%s: %d in place of %d", what, values[at], value);
}

// `at` holds a receive of the message with its number before and after.
static void check_kinds(int at, int how)
{
    test_in_vain();
    ask(at);
    expect_done(at, how);
    expect_value(at, at, "a message");
    requests[at] = receive(at, at);
    test_in_vain();
    cancel(at);
    requests[at] = broadcast(at);
    test_in_vain();
    ask(A_BCAST);
    expect_done(at, how);
    expect_value(at, 7, "a broadcast");
    requests[at] = receive_native(at);
    test_in_vain();
    ask(A_NATIVE_MESSAGE);
    expect_done(at, how);
    expect_value(at, 7, "a message of the library below");
    requests[at] = receive(at, at);
}

// The next request may have the handle of the one that is freed, and is over as soon as it has started.
static void check_freed(int at, int how)
{
    MPI_Request kept = requests[at];
    MPI_Irecv(&spare, 1, MPI_INT, 1, SPARE_TAG, MPI_COMM_WORLD, &requests[at]);
    test_in_vain();
    MPI_Request_free(&requests[at]);
    MPI_Ibsend(large, LARGE, MPI_INT, 1, LARGE_TAG, MPI_COMM_WORLD, &requests[at]);
    expect_done(at, how);
    ask(A_RECEIVE);
    requests[at] = kept;
    ask(SPARE_TAG); // for the one that was freed
}

static void check_persistent(int at, int how)
{
    MPI_Request kept = requests[at];
    MPI_Recv_init(&values[at], 1, MPI_INT, 1, SPARE_TAG, MPI_COMM_WORLD, &requests[at]);
    for (int start = 0; start < 3; start++) {
        test_in_vain();
        if (start == 1) { // it is there before
            ask(SPARE_TAG);
        }
        MPI_Start(&requests[at]);
        if (start != 1) {
            test_in_vain();
            ask(SPARE_TAG);
        }
        expect_done(at, how);
    }
    MPI_Request_free(&requests[at]);
    MPI_Bsend_init(large, LARGE, MPI_INT, 1, LARGE_TAG, MPI_COMM_WORLD, &requests[at]);
    test_in_vain();
    MPI_Start(&requests[at]); // and is done
    expect_done(at, how);
    ask(A_RECEIVE);
    MPI_Request_free(&requests[at]);
    requests[at] = kept;
}

// The library below has all of an array, while one of ours is under way elsewhere, which then comes among them.
static void check_natives(int at, int how)
{
    for (int i = 0; i < count; i++) {
        cancel(i);
        requests[i] = receive_native(i);
    }
    MPI_Request kept = requests[at], ours = receive(at, SPARE_TAG);
    test_in_vain();
    requests[at] = ours;
    test_in_vain();
    ask(SPARE_TAG);
    expect_done(at, how);
    requests[at] = kept;
    test_in_vain();
    ask(A_NATIVE_MESSAGE);
    expect_done(0, how);
    for (int i = 0; i < count; i++) {
        cancel(i);
        requests[i] = receive(i, i);
    }
}

// All are done but one, and that one fails.
static void check_all(int at)
{
    int flag = 0, error;
    for (int i = 0; i < count; i++) {
        cancel(i);
        requests[i] = receive(i, i == at ? TWO_INTS_TAG : i);
        if (i != at) {
            ask(i);
        }
    }
    for (int i = 0; i < TESTS; i++) {
        MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
        co_test_expect(flag == 0, "all of %d are done", count);
    }
    ask(TWO_INTS_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    do {
        error = MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
    } while (error == MPI_SUCCESS && flag == 0);
    co_test_expect(error == MPI_ERR_IN_STATUS, "error %d, flag %d", error, flag);
    for (int i = 0; i < count; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        requests[i] = receive(i, i);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void check(int length)
{
    count = length;
    for (int i = 0; i < count; i++) {
        requests[i] = receive(i, i);
    }
    for (int i = 0; i < 4; i++) {
        int at = i == 0 ? 0 : i == 1 ? count / 2 : count - 1;
        check_kinds(at, i);
        check_freed(at, i);
        check_persistent(at, i);
        check_natives(at, i);
        if (count < 1000) {
            check_all(at);
        }
    }
    for (int i = 0; i < count; i++) {
        cancel(i);
    }
}

int main(int argc, char **argv)
{
    static char room[2 * (MPI_BSEND_OVERHEAD + LARGE * sizeof(int))];
    MPI_Info info;
    void *detached;
    int bytes;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &native);
    MPI_Info_free(&info);
    MPI_Buffer_attach(room, sizeof room);
    if (co_test_rank() == 0) {
        check(3);
        check(40);
        check(900);
        check(LONG);
        ask(THE_END);
    } else {
        serve();
    }
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Comm_free(&native);
    return co_test_finish();
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Calls and readiness (proxy_ends.c, proxy_executor.c): two recorded groups, called in turn by three ranks, of which 0 and 1
// have one proxy and 2 another. Both groups may be out at once, and each is called again when its last call is over; ranks
// are as late as they like, and control and bulk come in any order to each other.
//     rank 0   A: send to 2                               B: send to 2
//     rank 1   A: send to 2                               B: receive from 2
//     rank 2   A: receive from 1, barrier, receive from 0     B: receive from 0, send to 1
// All with one tag: what 0 sends to 2 is counted through both groups, and 2 is ready for B's before it is for A's. Checked:
//   nothing is written but into a receive that has begun, in a call that its rank has made;
//   each call has received what its senders sent in the same call, when it is said to be over;
//   all calls end.
//   -DCALLS       of each rank, A and B in turn
//   -DMUTANT=1..5 known-wrong variants
//     1  a group that was called before is sent when its sender has called it
//     2  numbers start again when a call is over
//     3  a READY is for the first send that waits, whatever its number
//     4  READY is said when a call begins, for what is behind a barrier too
//     5  a call is said to be over before its last bytes are written
#ifndef CALLS
#define CALLS 4
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

#define A 0
#define B 1
#define CALL(rank, group) (2 * (rank) + (group))
#define IS_OURS(proxy, rank) ((proxy) == (rank) / 2)

// Streams: 0 from 0 to 2, 1 from 1 to 2, 2 from 2 to 1.
#define STREAMS 3
// Sends, by call: 0 A of rank 0, 1 B of rank 0, 2 A of rank 1, 3 B of rank 2.
// Receives: 0 A of rank 2 from 1, 1 A of rank 2 from 0, 2 B of rank 2, 3 B of rank 1.
#define SEND_STREAM(e) (e <= 1 -> 0 : e - 1)
#define SEND_PROXY(e) (e == 3)
#define RECEIVE_STREAM(e) (e == 0 -> 1 : (e == 3 -> 2 : 0))
#define RECEIVE_PROXY(e) (e != 3)

#define IDLE 0
#define CALLED 1
#define OPEN 2
#define OVER 3

chan commands[2] = [2] of { byte, byte, byte };         // to a proxy: rank, group, which call
chan control[2] = [2 * CALLS] of { byte, byte };        // to a proxy: READY of stream, number
chan bulk[2] = [2] of { byte, byte, byte };             // to a proxy: stream, number, bytes

byte send_state[4], send_number[4], send_bytes[4];
bool send_is_ready[4];
byte receive_state[4], receive_number[4];
byte got[4];                                            // in the receives' buffers
byte sent_before[STREAMS], received_before[STREAMS];    // the next numbers
byte marks[STREAMS];                                    // READY of numbers that are not called yet: bits
bool is_called[6];                                      // by CALL: the memory is castoff's
byte made[6];                                           // how many times
byte finished;

inline send_call(e, which)
{
    send_number[e] = sent_before[SEND_STREAM(e)];
    sent_before[SEND_STREAM(e)]++;
    send_bytes[e] = which;
    send_state[e] = OPEN;
    send_is_ready[e] = (marks[SEND_STREAM(e)] >> send_number[e]) & 1;
    marks[SEND_STREAM(e)] = marks[SEND_STREAM(e)] & ~(1 << send_number[e]);
#if MUTANT == 1
    send_is_ready[e] = send_is_ready[e] || which >= 2
#endif
}

inline receive_call(e)
{
    receive_number[e] = received_before[RECEIVE_STREAM(e)];
    received_before[RECEIVE_STREAM(e)]++;
    receive_state[e] = CALLED;
#if MUTANT == 4
    control[1 - RECEIVE_PROXY(e)]!RECEIVE_STREAM(e), receive_number[e]
#endif
}

inline receive_open(e)
{
    receive_state[e] = OPEN;
#if MUTANT != 4
    control[1 - RECEIVE_PROXY(e)]!RECEIVE_STREAM(e), receive_number[e]
#endif
}

inline call_begin(rank, group, which)
{
    if
    :: rank == 0 -> send_call(group, which)
    :: rank == 1 && group == A -> send_call(2, which)
    :: rank == 1 && group == B -> receive_call(3); receive_open(3)
    :: rank == 2 && group == A -> receive_call(0); receive_call(1); receive_open(0)
    :: rank == 2 && group == B -> receive_call(2); send_call(3, which); receive_open(2)
    fi
}

// Numbers of a mutant; the call's memory is the program's again.
inline call_end(rank, group)
{
#if MUTANT == 2
    if
    :: rank == 0 -> sent_before[0] = 0
    :: rank == 1 && group == A -> sent_before[1] = 0
    :: rank == 1 && group == B -> received_before[2] = 0
    :: rank == 2 && group == A -> received_before[1] = 0; received_before[0] = 0
    :: rank == 2 && group == B -> received_before[0] = 0; sent_before[2] = 0
    fi;
#endif
    is_called[CALL(rank, group)] = false
}

inline send_end(e)
{
    send_state[e] = OVER;
    if
    :: e <= 1 -> call_end(0, e); send_state[e] = IDLE
    :: e == 2 -> call_end(1, A); send_state[e] = IDLE
    :: e == 3 && receive_state[2] == OVER -> call_end(2, B); send_state[3] = IDLE; receive_state[2] = IDLE
    :: else
    fi
}

inline receive_end(e)
{
    receive_state[e] = OVER;
    if
    :: e == 0 -> receive_open(1) // the barrier
    :: e == 1 -> call_end(2, A); receive_state[0] = IDLE; receive_state[1] = IDLE
    :: e == 2 && send_state[3] == OVER -> call_end(2, B); send_state[3] = IDLE; receive_state[2] = IDLE
    :: e == 3 -> call_end(1, B); receive_state[3] = IDLE
    :: else
    fi
}

#if MUTANT == 3
#define READY_IS_FOR(e) (send_state[e] == OPEN && SEND_STREAM(e) == stream && !send_is_ready[e])
#else
#define READY_IS_FOR(e) (send_state[e] == OPEN && SEND_STREAM(e) == stream && send_number[e] == number)
#endif

inline ready_take()
{
    if
    :: READY_IS_FOR(0) -> send_is_ready[0] = true
    :: !READY_IS_FOR(0) && READY_IS_FOR(1) -> send_is_ready[1] = true
    :: READY_IS_FOR(2) -> send_is_ready[2] = true
    :: READY_IS_FOR(3) -> send_is_ready[3] = true
    :: else -> marks[stream] = marks[stream] | (1 << number)
    fi
}

#define DATA_IS_FOR(e) (receive_state[e] != IDLE && RECEIVE_STREAM(e) == stream && receive_number[e] == number)

inline data_write(e)
{
    assert(receive_state[e] == OPEN);
    assert(is_called[(e <= 1 -> CALL(2, A) : (e == 2 -> CALL(2, B) : CALL(1, B)))]);
    got[e] = bytes
}

inline data_take()
{
    if
    :: DATA_IS_FOR(0) -> e = 0
    :: DATA_IS_FOR(1) -> e = 1
    :: DATA_IS_FOR(2) -> e = 2
    :: DATA_IS_FOR(3) -> e = 3
    :: else -> assert(false) // written without its receive
    fi;
#if MUTANT == 5
    receive_end(e)
#else
    data_write(e);
    receive_end(e)
#endif
}

#define CAN_SEND(e) (SEND_PROXY(e) == self && send_state[e] == OPEN && send_is_ready[e] && nfull(bulk[1 - self]))

inline data_send(e)
{
    bulk[1 - self]!SEND_STREAM(e), send_number[e], send_bytes[e];
    send_end(e)
}

proctype proxy(byte self)
{
    byte rank, group, which, stream, number, bytes, e;

end_idle:
    do
    :: atomic { commands[self]?rank, group, which -> call_begin(rank, group, which) }
    :: atomic { control[self]?stream, number -> ready_take() }
    :: atomic { bulk[self]?stream, number, bytes -> data_take() }
#if MUTANT == 5
       ;
       atomic { got[e] = bytes }
#endif
    :: atomic { CAN_SEND(0) -> data_send(0) }
    :: atomic { CAN_SEND(1) -> data_send(1) }
    :: atomic { CAN_SEND(2) -> data_send(2) }
    :: atomic { CAN_SEND(3) -> data_send(3) }
    od
}

// What the call has received, once it is over: the number of the same call at its senders.
inline check(rank, group, which)
{
    if
    :: rank == 2 && group == A -> assert(got[0] == which && got[1] == which)
    :: rank == 2 && group == B -> assert(got[2] == which)
    :: rank == 1 && group == B -> assert(got[3] == which)
    :: else
    fi
}

proctype program(byte rank)
{
    byte i, group;

    do
    :: i < CALLS ->
        group = i % 2;
        atomic {
            !is_called[CALL(rank, group)];
            if
            :: i >= 2 -> check(rank, group, i - 2)
            :: else
            fi;
            is_called[CALL(rank, group)] = true
        }
        commands[rank / 2]!rank, group, i;
        i++
    :: else -> break
    od;
    atomic {
        !is_called[CALL(rank, A)] && !is_called[CALL(rank, B)];
        check(rank, A, CALLS - 2);
        check(rank, B, CALLS - 1);
        finished++
    }
}

init
{
    atomic {
        run proxy(0);
        run proxy(1);
        run program(0);
        run program(1);
        run program(2)
    }
    finished == 3;
    assert(marks[0] == 0 && marks[1] == 0 && marks[2] == 0)
}

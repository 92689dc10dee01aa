// SPDX-License-Identifier: BSD-3-Clause
//
// The executor with barriers (proxy_executor.c): a broadcast along a chain of four ranks, 0 and 1 of one proxy, 2 and 3 of
// another. Rank 0 sends; 1 and 2 receive, wait at a barrier, and send; 3 receives. The group is called several times, and
// ranks are as late as they like. Words to a rank of the own proxy wait for their turn as all others do. Checked:
//   each call of a rank receives what rank 0 sent in the same call;
//   all calls end, though a proxy's two ranks wait for each other.
//   -DCALLS       of each rank
//   -DMUTANT=1..3 known-wrong variants
//     1  the executor waits inside of a step for what a barrier waits for, taking only what comes from the other proxy
//     2  a barrier is not waited for
//     3  the end of what stands before a barrier does not look at the call again
#ifndef CALLS
#define CALLS 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

#define RANKS 4
#define PROXY(rank) ((rank) / 2)

#define IDLE 0
#define CALLED 1
#define OPEN 2

chan commands[2] = [2] of { byte, byte };           // to a proxy: rank, the bytes that it has
chan control[4] = [2 * CALLS] of { byte, byte };    // from proxy, to proxy: READY for the receive of that rank, number
chan bulk[4] = [2] of { byte, byte, byte };         // data for the receive of that rank, number, bytes
#define WAY(from, to) (2 * (from) + (to))

byte buffer[RANKS];
byte send_state[RANKS], send_number[RANKS], receive_state[RANKS], receive_number[RANKS];
bool send_is_ready[RANKS], is_called[RANKS];
byte sent_before[RANKS], received_before[RANKS], marks[RANKS]; // marks: at the sender
byte finished;
byte waits_for[2]; // of a mutant: 1 + the rank whose receive a proxy waits for inside of a step

inline receive_open(rank)
{
    receive_state[rank] = OPEN;
    control[WAY(PROXY(rank), PROXY(rank - 1))]!rank, receive_number[rank]
}

// All numbers of a call, then as far as it goes.
inline call_begin(rank)
{
    if
    :: rank < RANKS - 1 ->
        send_number[rank] = sent_before[rank];
        sent_before[rank]++;
        send_is_ready[rank] = (marks[rank] >> send_number[rank]) & 1;
        marks[rank] = marks[rank] & ~(1 << send_number[rank]);
        send_state[rank] = (rank == 0 || MUTANT == 2 -> OPEN : CALLED)
    :: else
    fi;
    if
    :: rank > 0 ->
        receive_number[rank] = received_before[rank];
        received_before[rank]++;
        receive_open(rank);
#if MUTANT == 1
        waits_for[PROXY(rank)] = 1 + rank
#endif
    :: else
    fi
}

inline call_look(rank)
{
    if
    :: receive_state[rank] == IDLE && send_state[rank] == IDLE ->
        is_called[rank] = false
    :: else
    fi
}

inline ready_take(receiver, number)
{
    if
    :: send_state[receiver - 1] != IDLE && send_number[receiver - 1] == number -> send_is_ready[receiver - 1] = true
    :: else -> marks[receiver - 1] = marks[receiver - 1] | (1 << number)
    fi
}

inline data_take(receiver, number, bytes)
{
    assert(receive_state[receiver] == OPEN && receive_number[receiver] == number && is_called[receiver]);
    buffer[receiver] = bytes;
    receive_state[receiver] = IDLE;
    if
    :: waits_for[PROXY(receiver)] == 1 + receiver -> waits_for[PROXY(receiver)] = 0
    :: else
    fi;
#if MUTANT != 3
    if
    :: send_state[receiver] == CALLED -> send_state[receiver] = OPEN // the barrier is passed
    :: else
    fi;
#endif
    call_look(receiver)
}

#define CAN_SEND(rank) \
    (PROXY(rank) == self && waits_for[self] == 0 && send_state[rank] == OPEN && send_is_ready[rank] && \
     nfull(bulk[WAY(self, PROXY(rank + 1))]))

inline data_send(rank)
{
    bulk[WAY(self, PROXY(rank + 1))]!rank + 1, send_number[rank], buffer[rank];
    send_state[rank] = IDLE;
    call_look(rank)
}

proctype proxy(byte self)
{
    byte rank, number, bytes;

end_idle:
    do
    :: atomic { waits_for[self] == 0 && nempty(commands[self]) -> commands[self]?rank, bytes; call_begin(rank) }
    :: atomic { waits_for[self] == 0 && nempty(control[WAY(self, self)]) ->
                control[WAY(self, self)]?rank, number; ready_take(rank, number) }
    :: atomic { control[WAY(1 - self, self)]?rank, number -> ready_take(rank, number) }
    :: atomic { waits_for[self] == 0 && nempty(bulk[WAY(self, self)]) ->
                bulk[WAY(self, self)]?rank, number, bytes; data_take(rank, number, bytes) }
    :: atomic { bulk[WAY(1 - self, self)]?rank, number, bytes -> data_take(rank, number, bytes) }
    :: atomic { CAN_SEND(0) -> data_send(0) }
    :: atomic { CAN_SEND(1) -> data_send(1) }
    :: atomic { CAN_SEND(2) -> data_send(2) }
    od
}

proctype program(byte rank)
{
    byte i = 1;

    do
    :: i <= CALLS ->
        atomic {
            buffer[rank] = (rank == 0 -> i : 0);
            is_called[rank] = true
        }
        commands[PROXY(rank)]!rank, i;
        atomic {
            !is_called[rank];
            assert(buffer[rank] == i);
            i++
        }
    :: else -> break
    od;
    finished++
}

init
{
    atomic {
        run proxy(0);
        run proxy(1);
        run program(0);
        run program(1);
        run program(2);
        run program(3)
    }
    finished == RANKS;
    assert(marks[0] == 0 && marks[1] == 0 && marks[2] == 0)
}

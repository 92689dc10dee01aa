// SPDX-License-Identifier: BSD-3-Clause
//
// Two batches of two messages, one after the other, over the same receives: a lane begins its message of the second batch
// when the whole first batch has ended (co_match_batch_end before co_match_batch_begin).
//   -DRECEIVES   the size of the space
//   -DROLLING    the known-wrong variant: a lane goes on to its next message as soon as its own is matched
#ifndef RECEIVES
#define RECEIVES 4
#endif
#define LANES 2
#define MESSAGES 4
#define ANY 2
#define NONE 15

byte message[MESSAGES], receive[RECEIVES], booked[RECEIVES], found[MESSAGES], expected[MESSAGES];
bool taken[RECEIVES], has_booked[MESSAGES], has_judged[MESSAGES], is_done[MESSAGES], conflict[MESSAGES];
bool go;

inline search(m)
{
    candidate = 0;
    do
    :: candidate < RECEIVES && (taken[candidate] || (receive[candidate] != ANY && receive[candidate] != message[m])) ->
        candidate++
    :: candidate < RECEIVES && !(taken[candidate] || (receive[candidate] != ANY && receive[candidate] != message[m])) ->
        break
    :: candidate >= RECEIVES -> candidate = NONE; break
    od
}

inline wait_for_done(first, end)
{
    j = first;
    do
    :: j < end -> is_done[j]; j++
    :: else -> break
    od
}

proctype lane(byte i)
{
    byte batch = 0, candidate, m, j;
    bool bad;

    go;
    do
    :: batch < 2 ->
        m = batch * LANES + i;
#ifndef ROLLING
        wait_for_done(0, batch * LANES);
#endif
        search(m);
        if
        :: candidate != NONE -> atomic { booked[candidate] = booked[candidate] | (1 << m) }
        :: else
        fi;
        has_booked[m] = true;
        if
        :: i == 1 -> has_booked[m - 1]
        :: else
        fi;
        bad = false;
        if
        :: candidate != NONE && i == 1 -> bad = (booked[candidate] & (1 << (m - 1))) != 0
        :: else
        fi;
        if
        :: i == 1 -> has_judged[m - 1]; bad = bad || conflict[m - 1]
        :: else
        fi;
        conflict[m] = bad;
        has_judged[m] = true;
        if
        :: bad -> wait_for_done(batch * LANES, m); search(m)
        :: else
        fi;
        atomic {
            if
            :: candidate != NONE -> assert(!taken[candidate]); taken[candidate] = true
            :: else
            fi
        }
        found[m] = candidate;
        is_done[m] = true;
        batch++
    :: else -> break
    od
}

init
{
    byte i, k;
    bool used[RECEIVES];

    atomic {
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: message[i] = 0
            :: message[i] = 1
            fi;
            i++
        :: else -> break
        od;
        k = 0;
        do
        :: k < RECEIVES ->
            if
            :: receive[k] = 0
            :: receive[k] = 1
            :: receive[k] = ANY
            fi;
            k++
        :: else -> break
        od;
        i = 0;
        do
        :: i < MESSAGES ->
            expected[i] = NONE;
            k = 0;
            do
            :: k < RECEIVES && !used[k] && (receive[k] == ANY || receive[k] == message[i]) ->
                expected[i] = k;
                used[k] = true;
                break
            :: k < RECEIVES && !(!used[k] && (receive[k] == ANY || receive[k] == message[i])) -> k++
            :: k >= RECEIVES -> break
            od;
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < LANES -> run lane(i); i++
        :: else -> break
        od;
        go = true
    }
    i = 0;
    do
    :: i < MESSAGES -> is_done[i]; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < MESSAGES -> assert(found[i] == expected[i]); i++
    :: else -> break
    od
}

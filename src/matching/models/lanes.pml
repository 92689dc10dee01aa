// SPDX-License-Identifier: BSD-3-Clause
//
// One batch of messages matched by lanes (match_lane.c), step by step in every order, against the greedy match of the
// messages one after the other. Receives are numbered in the order of posting; some may have been cancelled before.
// Keys stand for sources: a receive names one or takes any; every key has a bin of its own.
//   -DLANES, -DRECEIVES   the size of the space
//   -DCANCELLED           any of the receives may have been cancelled before the batch
//   -DEARLY               look past what an earlier lane has booked
//   -DMUTANT=1..4         the known-wrong variants, numbered as CO_MATCH_MUTANT
#ifndef LANES
#define LANES 3
#endif
#ifndef RECEIVES
#define RECEIVES 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

#define ANY 2
#define NONE 15
#define ALL ((1 << LANES) - 1)

#define SEARCHES 0
#define HAS_BOOKED 1
#define HAS_JUDGED 2
#define IS_DONE 3

byte message[LANES];
byte receive[RECEIVES];
byte sequence[RECEIVES];
bool gone[RECEIVES];
byte booked[RECEIVES];
bool taken[RECEIVES];

byte stage[LANES];
bool conflict[LANES];
byte found[LANES];
byte expected[LANES];
bool go;

// The first of a bin that is neither taken nor booked by one of `mask`.
inline first_free(key, mask, into)
{
    k = 0;
    do
    :: k < RECEIVES && receive[k] == key && !gone[k] && !taken[k] && (booked[k] & (mask)) == 0 -> into = k; break
    :: k < RECEIVES && !(receive[k] == key && !gone[k] && !taken[k] && (booked[k] & (mask)) == 0) -> k++
    :: k >= RECEIVES -> into = NONE; break
    od
}

inline search(i, mask, into)
{
    first_free(message[i], mask, exact);
    first_free(ANY, mask, any);
    into = (exact < any -> exact : any)
}

// As many further in the run as there are earlier lanes; NONE: the run is not that long.
inline in_run(i, into)
{
#if MUTANT == 3
    into = candidate;
    into = into + i;
    if
    :: into >= RECEIVES -> into = NONE
    :: else ->
        if
        :: taken[into] || sequence[into] != sequence[candidate] -> into = NONE
        :: else
        fi
    fi
#else
    // One step: what it reads does not change during a batch.
    d_step {
        into = candidate;
        j = 0;
        do
        :: j < i && into != NONE ->
            k = into + 1;
            do
            :: k < RECEIVES && (receive[k] != receive[candidate] || gone[k]) -> k++
            :: else -> break
            od;
            into = (k < RECEIVES -> k : NONE);
            j++
        :: else -> break
        od;
        if
        :: into != NONE && sequence[into] != sequence[candidate] -> into = NONE
        :: else
        fi
    }
#endif
}

inline wait_for_all_earlier(i, which)
{
    j = 0;
    do
    :: j < i -> stage[j] >= which; j++
    :: else -> break
    od
}

inline take(i, which)
{
    atomic {
        if
        :: which != NONE -> assert(!taken[which] && !gone[which]); taken[which] = true
        :: else
        fi
    }
    found[i] = which;
    stage[i] = IS_DONE
}

proctype lane(byte i)
{
    byte candidate = NONE, other = NONE, exact, any, j, k;
    bool bad;

    go;
#ifdef EARLY
    search(i, (1 << i) - 1, candidate);
#else
    search(i, 0, candidate);
#endif
    if
    :: candidate != NONE -> atomic { booked[candidate] = booked[candidate] | (1 << i) }
    :: else
    fi;
    stage[i] = HAS_BOOKED;
    wait_for_all_earlier(i, HAS_BOOKED);
    bad = false;
    if
    :: candidate != NONE -> bad = (booked[candidate] & ((1 << i) - 1)) != 0
    :: else
    fi;
#if MUTANT != 2
    j = 0;
    do
    :: j < i -> stage[j] >= HAS_JUDGED; bad = bad || conflict[j]; j++
    :: else -> break
    od;
#endif
    conflict[i] = bad;
    stage[i] = HAS_JUDGED;
    if
    :: !bad -> other = candidate
    :: else ->
        other = NONE;
        if
#if MUTANT == 4
        :: candidate != NONE -> in_run(i, other)
#else
        :: candidate != NONE && booked[candidate] == ALL -> in_run(i, other)
#endif
        :: else
        fi;
        if
        :: other == NONE ->
#if MUTANT == 1
            if
            :: i > 0 -> stage[i - 1] >= IS_DONE
            :: else
            fi;
#else
            wait_for_all_earlier(i, IS_DONE);
#endif
            search(i, 0, other)
        :: else
        fi
    fi;
    take(i, other)
}

// What arriving one after the other would give.
inline expect()
{
    i = 0;
    do
    :: i < LANES ->
        expected[i] = NONE;
        k = 0;
        do
        :: k < RECEIVES && !gone[k] && !used[k] && (receive[k] == ANY || receive[k] == message[i]) ->
            expected[i] = k;
            used[k] = true;
            break
        :: k < RECEIVES && !(!gone[k] && !used[k] && (receive[k] == ANY || receive[k] == message[i])) -> k++
        :: k >= RECEIVES -> break
        od;
        i++
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
        :: i < LANES ->
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
#ifdef CANCELLED
            if
            :: gone[k] = true
            :: gone[k] = false
            fi;
#endif
            // A run of equal receives, one posted after the other.
            sequence[k] = k;
            if
            :: k > 0 ->
                if
                :: receive[k] == receive[k - 1] -> sequence[k] = sequence[k - 1]
                :: else
                fi
            :: else
            fi;
            k++
        :: else -> break
        od;
        expect();
        i = 0;
        do
        :: i < LANES -> run lane(i); i++
        :: else -> break
        od;
        go = true
    }
    i = 0;
    do
    :: i < LANES -> stage[i] == IS_DONE; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < LANES -> assert(found[i] == expected[i]); i++
    :: else -> break
    od
}

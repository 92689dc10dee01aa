// SPDX-License-Identifier: BSD-3-Clause
//
// A receive is posted while its message arrives: "look among the messages, else wait" and "look among the receives, else
// wait" must each be one step, which the communicator's lock makes them (co_matcher_post, co_matcher_arrive). Exactly one
// match comes of it.
//   -DSPLIT   the known-wrong variant: looking and waiting are two steps
//   -DCLAIM   without a lock: wait first, then look, then claim both sides at once; right, too
bool message_waits, receive_waits, message_claimed, receive_claimed;
byte matches, done;

inline claim()
{
    atomic {
        if
        :: !message_claimed && !receive_claimed -> message_claimed = true; receive_claimed = true; matches++
        :: else
        fi
    }
}

inline meet(theirs, mine)
{
#ifdef CLAIM
    mine = true;
    if
    :: theirs -> claim()
    :: else
    fi
#else
#ifdef SPLIT
    if
    :: theirs -> theirs = false; matches++
    :: else -> skip; mine = true
    fi
#else
    atomic {
        if
        :: theirs -> theirs = false; matches++
        :: else -> mine = true
        fi
    }
#endif
#endif
}

proctype post()
{
    meet(message_waits, receive_waits);
    atomic { done++ }
}

proctype arrive()
{
    meet(receive_waits, message_waits);
    atomic { done++ }
}

init
{
    atomic { run post(); run arrive() }
    done == 2;
    assert(matches == 1)
}

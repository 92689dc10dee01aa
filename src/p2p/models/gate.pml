// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that stream from one rank to another (stream_send.c, stream_receive.c): a request to send (RTS), its first
// pieces uncleared if there is room, the others when the receiver has cleared them (CTS); and a receiver that loses its
// patience at any moment and reads the rest from the sender's buffer, and then the next one's, as long as the sender has
// not heard of it. The gate keeps the two apart. Each side is one process, since it
// moves under its own lock; a piece is one step, and what a piece or a read takes out of the buffer is checked:
//   every piece arrives once, in order, and every operation ends;
//   nobody reads a buffer whose send is done;
//   the sender looks at no buffer whose message its receiver has, since the program may have been told so.
//   -DMESSAGES, -DPIECES   the size of the space; at most one piece of each message is a first one
//   -DMUTANT=1..7          known-wrong variants
//     1  the receiver reads without looking first at what is in the ring
//     2  the receiver gives the gate back when it has read
//     3  the receiver reads without taking the gate
//     4  the sender writes without taking the gate
//     5  the sender gives the gate back whatever message was read
//     6  the sender looks at the gate first and gives it back then
//     7  the receiver gives the gate back when it cannot read the next one
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef PIECES
#define PIECES 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

#define OPEN 0
#define WRITING 255
#define NAME(m) ((m) + 1) // of a message, in the gate

mtype = { RTS, FIRST, DATA, CTS, FIN };

chan ring = [2] of { mtype, byte, byte };                // what, of which message, which piece
chan answers = [3 * MESSAGES] of { mtype, byte, byte };  // what, to which message, how much is wanted
byte gate;

byte pieces[MESSAGES];      // of the message
bool sent[MESSAGES];        // the send is done: its buffer is the program's
bool received[MESSAGES];    // and so may it be from here on

// The sender's.
byte streamed[MESSAGES], wanted_there[MESSAGES];
bool is_announced[MESSAGES], is_cleared[MESSAGES];
byte first[MESSAGES];       // its first pieces
byte head;                  // of the messages that wait their turn

// The receiver's.
bool is_posted[MESSAGES], has_come[MESSAGES], is_streamed[MESSAGES];
byte got[MESSAGES], wanted[MESSAGES];
byte first_of;              // the last RTS's, since first pieces have no name
byte last;                  // NAME of the one that was read last, of which its sender may not have heard; OPEN: none

inline look_at_buffer(m)
{
    assert(!sent[m])
}

inline write_piece(m, kind)
{
    assert(!sent[m] && !received[m]);
    ring!kind, m, streamed[m];
    streamed[m]++
}

inline take_gate(has)
{
#if MUTANT == 4
    has = true
#else
    atomic {
        has = (gate == OPEN);
        if
        :: has -> gate = WRITING
        :: else
        fi
    }
#endif
}

inline leave_gate()
{
#if MUTANT != 4
    gate = OPEN
#else
    skip
#endif
}

// Pieces up to `end`, as long as there is room.
inline push(m, kind, end)
{
    take_gate(has_gate);
    if
    :: has_gate ->
        do
        :: streamed[m] < end && nfull(ring) -> write_piece(m, kind)
        :: streamed[m] >= end || full(ring) -> break
        od;
        leave_gate()
    :: else
    fi
}

#define TURN_IS_OVER(m) (sent[m] || is_announced[m])

// What the receiver has read, or could not.
inline give_back(m)
{
#if MUTANT == 5
    gate = OPEN
#elif MUTANT == 6
    if
    :: gate == NAME(m) -> gate = OPEN
    :: else
    fi
#else
    atomic {
        if
        :: gate == NAME(m) -> gate = OPEN
        :: else
        fi
    }
#endif
}

proctype sender()
{
    byte m, want;
    bool has_gate, can_push;

    do
    :: head < MESSAGES && TURN_IS_OVER(head) -> head++
    :: head < MESSAGES && !is_announced[head] && nfull(ring) ->
        has_gate = false;
        if
        :: empty(ring) -> take_gate(has_gate) // there is room for a piece behind it, and there stays
        :: true
        fi;
        first[head] = (has_gate -> 1 : 0);
        ring!RTS, head, 0;
        is_announced[head] = true;
        if
        :: has_gate ->
            write_piece(head, FIRST);
            leave_gate()
        :: else
        fi
    :: m = 0; // any of those that have been cleared
        do
        :: m < MESSAGES - 1 -> m++
        :: break
        od;
        can_push = is_cleared[m] && !sent[m] && (gate == OPEN || MUTANT == 4);
        if
        :: can_push ->
            push(m, DATA, wanted_there[m]);
            if
            :: streamed[m] >= wanted_there[m] -> sent[m] = true
            :: else
            fi
        :: else
        fi
    :: answers?CTS, m, want ->
        if
        :: is_cleared[m] -> give_back(m) // it could not be read
        :: else ->
            is_cleared[m] = true;
            wanted_there[m] = want;
            if
            :: streamed[m] >= want -> sent[m] = true
            :: else
            fi
        fi
    :: answers?FIN, m, _ -> give_back(m); sent[m] = true
    :: (head == MESSAGES && sent[0] && sent[MESSAGES - 1]) -> break
    od
}

inline finish(m)
{
    is_streamed[m] = false;
    received[m] = true
}

// A receive of any size meets its message, of which some has come.
inline accept(m)
{
    if
    :: wanted[m] = pieces[m]
    :: wanted[m] = first[m]
    fi;
    if
    :: got[m] == wanted[m] -> received[m] = true; answers!FIN, m, 0
    :: else -> is_streamed[m] = true; answers!CTS, m, wanted[m]
    fi
}

inline take(m, piece)
{
    if
    :: received[m] // dropped
    :: else ->
        assert(piece == got[m]);
        got[m]++;
        if
        :: is_streamed[m] && got[m] == wanted[m] -> finish(m)
        :: else
        fi
    fi
}

inline take_packet()
{
    ring?kind, m, piece;
    if
    :: kind == RTS ->
        has_come[m] = true;
        first_of = m;
        if
        :: is_posted[m] -> accept(m)
        :: else
        fi
    :: kind == FIRST -> assert(m == first_of); take(m, piece)
    :: kind == DATA -> assert(is_streamed[m] || received[m]); take(m, piece)
    fi
}

inline read_rest(r)
{
    do
    :: got[r] < wanted[r] -> look_at_buffer(r); got[r]++
    :: else -> break
    od;
    answers!FIN, r, 0;
    finish(r)
}

// Patience is over: r streams.
inline look(r)
{
#if MUTANT == 3
    has_gate = true;
#else
    atomic {
        is_still_stopped = (last != OPEN && gate == last);
        has_gate = (gate == OPEN || is_still_stopped);
        if
        :: has_gate -> gate = NAME(r)
        :: else
        fi
    }
#endif
    last = OPEN;
    if
    :: has_gate ->
#if MUTANT != 1
        do
        :: nempty(ring) -> take_packet()
        :: empty(ring) -> break
        od;
#endif
        if
        :: is_streamed[r] ->
            read_rest(r);
#if MUTANT == 2
            gate = OPEN
#else
            last = NAME(r)
#endif
        :: !is_still_stopped || MUTANT == 7 -> gate = OPEN // it has all, or the kernel does not read
        :: is_still_stopped && MUTANT != 7 -> assert(is_streamed[r]); answers!CTS, r, wanted[r]
        fi
    :: else
    fi
}

proctype receiver()
{
    byte m, r, piece;
    mtype kind;
    bool has_gate, is_still_stopped;

    do
    :: nempty(ring) -> take_packet()
    :: !is_posted[0] -> is_posted[0] = true; if :: has_come[0] -> accept(0) :: else fi
    :: !is_posted[MESSAGES - 1] ->
        is_posted[MESSAGES - 1] = true;
        if :: has_come[MESSAGES - 1] -> accept(MESSAGES - 1) :: else fi
    :: is_streamed[0] && (gate == OPEN || gate == last) -> r = 0; look(r)
    :: is_streamed[MESSAGES - 1] && (gate == OPEN || gate == last) -> r = MESSAGES - 1; look(r)
    :: received[0] && received[MESSAGES - 1] && empty(ring) && head == MESSAGES -> break
    od
}

init
{
    byte i;

    atomic {
        i = 0;
        do
        :: i < MESSAGES ->
            if
            :: pieces[i] = 1
            :: pieces[i] = PIECES
            fi;
            i++
        :: else -> break
        od;
        run sender();
        run receiver()
    }
    _nr_pr == 1;
    assert(gate == OPEN && empty(ring) && empty(answers))
}

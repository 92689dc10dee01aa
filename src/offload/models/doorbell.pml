// SPDX-License-Identifier: BSD-3-Clause
//
// The doorbell of a segment (segment.c): a rank gives commands and rings if the proxy says that it sleeps; the proxy, when
// there is nothing, says so, looks once more, and sleeps until it is rung. A store reaches memory when it likes, and a load
// does not wait for it, unless all four accesses have one order (sequentially consistent). Checked: all commands are taken.
// The other direction, completions and a rank that sleeps, is the same.
//   -DCOMMANDS    how many
//   -DMUTANT=1..3 known-wrong variants
//     1  the rank looks whether the proxy sleeps though its command may not be seen yet
//     2  the proxy looks once more though it may not be seen yet that it sleeps
//     3  the proxy looks first, and then says that it sleeps
#ifndef COMMANDS
#define COMMANDS 4
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

byte given, sleeps;                     // in memory
byte given_stored, sleeps_stored;       // on their way there
bool given_is_on_its_way, sleeps_is_on_its_way;
byte bell, taken;

#define STORE(what, value) atomic { !what##_is_on_its_way; what##_stored = value; what##_is_on_its_way = true }
#define ORDERED(what) !what##_is_on_its_way

active proctype memory()
{
end_idle:
    do
    :: atomic { given_is_on_its_way -> given = given_stored; given_is_on_its_way = false }
    :: atomic { sleeps_is_on_its_way -> sleeps = sleeps_stored; sleeps_is_on_its_way = false }
    od
}

active proctype rank()
{
    byte i;

    do
    :: i < COMMANDS ->
        i++;
        STORE(given, i);
#if MUTANT != 1
        ORDERED(given);
#endif
        if
        :: sleeps -> bell++
        :: else
        fi
    :: else -> break
    od
}

active proctype proxy()
{
    byte seen;

    do
    :: taken == COMMANDS -> break
    :: taken < given -> taken++
    :: taken < COMMANDS && taken >= given ->
#if MUTANT == 3
        seen = given;
#endif
        STORE(sleeps, 1);
#if MUTANT != 2
        ORDERED(sleeps);
#endif
#if MUTANT != 3
        seen = given;
#endif
        if
        :: seen == taken -> atomic { bell > 0; bell-- }
        :: else
        fi;
        STORE(sleeps, 0)
    od
}

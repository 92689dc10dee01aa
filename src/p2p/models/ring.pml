// SPDX-License-Identifier: BSD-3-Clause
//
// The ring of packets in shared memory (channel/ring.h) on a processor with weak memory order, such as ARM's: stores reach
// memory in any order, but for a release, which waits for all before it; loads are done in any order, but behind an acquire.
// Slots are used again and never cleared, for a stamp says its packet's number. Checked: the reader sees each packet whole, in
// order, and the writer overwrites none that is not read.
//   -DPACKETS     how many
//   -DMUTANT=1..4 known-wrong variants
//     1  the stamp is no release: it may be seen before the packet
//     2  the stamp's load is no acquire: the packet may be read before it
//     3  what the reader has read is told by no release: the packet may be read after it
//     4  a stamp says only that there is a packet
#ifndef PACKETS
#define PACKETS 5
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define SLOTS 2

byte packet[SLOTS], stamp[SLOTS], read_slots;                      // in memory
byte packet_stored[SLOTS], stamp_stored[SLOTS], read_slots_stored; // on their way there
bool packet_goes[SLOTS], stamp_goes[SLOTS], read_slots_goes;

#if MUTANT == 4
#define STAMP(number) 1
#else
#define STAMP(number) (number)
#endif

active proctype memory()
{
end_idle:
    do
    :: atomic { packet_goes[0] -> packet[0] = packet_stored[0]; packet_goes[0] = false }
    :: atomic { packet_goes[1] -> packet[1] = packet_stored[1]; packet_goes[1] = false }
    :: atomic { stamp_goes[0] -> stamp[0] = stamp_stored[0]; stamp_goes[0] = false }
    :: atomic { stamp_goes[1] -> stamp[1] = stamp_stored[1]; stamp_goes[1] = false }
    :: atomic { read_slots_goes -> read_slots = read_slots_stored; read_slots_goes = false }
    od
}

active proctype writer()
{
    byte number, told, at;

    do
    :: number == PACKETS -> break
    :: else ->
        do
        :: number - told < SLOTS -> break
        :: else -> told = read_slots
        od;
        at = number % SLOTS;
        number++;
        // Stores to one place keep their order.
        atomic { !packet_goes[at]; packet_stored[at] = number; packet_goes[at] = true }
#if MUTANT != 1
        !packet_goes[0] && !packet_goes[1];
#endif
        atomic { !stamp_goes[at]; stamp_stored[at] = STAMP(number); stamp_goes[at] = true }
    od
}

active proctype reader()
{
    byte number, at, seen;

    do
    :: number == PACKETS -> break
    :: else ->
        at = number % SLOTS;
        number++;
#if MUTANT == 2
        seen = packet[at];
#endif
        stamp[at] == STAMP(number);
#if MUTANT == 3
        atomic { !read_slots_goes; read_slots_stored = number; read_slots_goes = true }
#endif
#if MUTANT != 2
        seen = packet[at];
#endif
        assert(seen == number);
#if MUTANT != 3
        atomic { !read_slots_goes; read_slots_stored = number; read_slots_goes = true }
#endif
    od
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The table of congestion_sweep.c: a row is a network, a collective and the bounds of what is reached on it.
#ifndef CASTOFF_TESTS_CONGESTION_ROWS_H
#define CASTOFF_TESTS_CONGESTION_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum { ROWS_MAX = 400 };

struct row {
    // bcast, allgather, collected (an allgather by way of one member), decided (the same, when members have found out
    // whether that is the faster way); allgather:8 are eight at once
    char what[16];
    int outstanding; // at once
    int members;
    unsigned kib;      // a block
    double link_mbit;  // of each sender
    unsigned link_kib; // queue before it
    char manner[8];   // of that queue: holds, drops; tokens: holds, and an idle link or port lets BURST through at once
    double port_mbit; // of the switch, to each receiver; 0: none
    unsigned port_kib; // queue before it
    char ports[8];     // all, one: the others are as fast as the link
    unsigned delay_us, jitter_us;
    unsigned lost; // hundredths of all that arrives, at random
    // root, member, none: who does not run for a while, once in each operation; starts: all begin it at any time in
    // that; deaf: one member hears no multicast any more; hears: it was deaf, and hears again
    char stops[8];
    unsigned stop_ms;
    unsigned first, later, again; // bounds: hundredths of the limit; of what was lost
    char remark[1200];            // lines before it in the table
};

struct result {
    unsigned first, later, again, share; // share: thousandths of what was placed that were sent again, in all
};

bool row_is_allgather(const struct row *row);
bool row_is_collected(const struct row *row); // or is at first
bool row_is_decided(const struct row *row);
// Those that hold the word, NULL: all. Returns how many there are; what is no row ends the program.
size_t rows_read(struct row *rows, const char *path, const char *word);
bool row_is_reached(const struct result *result);
// Prints the row with what was reached, or with that as its bounds. False: worse than its bounds.
bool row_judge(const struct row *row, const struct result *result, bool is_measuring);

#endif

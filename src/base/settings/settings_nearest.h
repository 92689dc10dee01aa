// SPDX-License-Identifier: BSD-3-Clause
//
// "Did you mean ...?": finds the word that someone probably meant to write. Pure; used by the settings and by the
// tools for their commands and options. Any thread; not hot.
#ifndef CASTOFF_BASE_SETTINGS_NEAREST_H
#define CASTOFF_BASE_SETTINGS_NEAREST_H

#include <stddef.h>

// Longest word compared; longer ones are near to nothing.
#define CO_WORD_MAX 64

// Number of letters to insert, remove, replace or swap with their neighbour to turn one word into the other, case
// ignored; CO_WORD_MAX when a word is too long.
size_t co_word_distance(const char *one, const char *other);

// Largest distance at which a word of this length still counts as a slip of the keys.
size_t co_word_tolerance(size_t length);

// Index of the word of the list (words separated by '|') nearest to `word`, or the only one that begins with it;
// -1 if none is near.
int co_word_nearest(const char *word, const char *list);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// Edit distance with swaps of neighbours (restricted Damerau-Levenshtein), and the search for the nearest word.
// Pure; called when a setting is wrong. Any thread; not hot.
#include "base/settings/settings_nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static int fold(char letter)
{
    return tolower((unsigned char)letter);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

static size_t distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    size_t rows[3][CO_WORD_MAX + 1]; // the row before the last is needed for swaps
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    if (one_length >= CO_WORD_MAX || other_length >= CO_WORD_MAX) {
        return CO_WORD_MAX;
    }
    for (size_t j = 0; j <= other_length; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= one_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= other_length; j++) {
            size_t differs = fold(one[i - 1]) != fold(other[j - 1]);
            row[j] = smallest(last[j] + 1, row[j - 1] + 1, last[j - 1] + differs);
            if (i > 1 && j > 1 && fold(one[i - 1]) == fold(other[j - 2]) && fold(one[i - 2]) == fold(other[j - 1]) &&
                before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[other_length];
}

size_t co_word_distance(const char *one, const char *other)
{
    return distance(one, strlen(one), other, strlen(other));
}

size_t co_word_tolerance(size_t length)
{
    return length <= 3 ? 1 : length <= 7 ? 2 : 3;
}

int co_word_nearest(const char *word, const char *list)
{
    size_t length = strlen(word), best_distance = co_word_tolerance(length) + 1;
    int nearest = -1, begins = -1, index = 0;

    if (length == 0) {
        return -1;
    }
    for (const char *item = list; *item; index++) {
        size_t item_length = strcspn(item, "|");
        size_t item_distance = distance(word, length, item, item_length);
        // As far away as the word is long would mean that nothing of it is left.
        if (item_distance < best_distance && item_distance < item_length) {
            best_distance = item_distance;
            nearest = index;
        }
        if (length < item_length && strncasecmp(word, item, length) == 0) {
            begins = begins == -1 ? index : -2; // -2: more than one
        }
        item += item_length + (item[item_length] == '|');
    }
    return begins >= 0 ? begins : nearest;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The only file that reads the environment. Holds the rows of settings_table.h and, after co_settings_load, their
// values: written once at start by one thread, then constant. Reading a value is an array access, from any thread.
#include "base/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/atomics.h"
#include "base/settings/settings_complaint.h"
#include "base/settings/settings_nearest.h"

extern char **environ;

#define PREFIX "CASTOFF_"
enum { PREFIX_LENGTH = sizeof PREFIX - 1, COMPLAINTS_MAX = 16 };

#define CO_SETTING(id, name, tier, type, value, min, max, choices, agreed, help)                                       \
    {name, CO_SETTING_##tier, CO_SETTING_##type, value, min, max, choices, help, agreed},
static const struct co_setting_row rows[] = {
#include "base/settings_table.h"
};
#undef CO_SETTING

_Static_assert(sizeof rows / sizeof rows[0] == CO_SETTING_COUNT, "one row for each setting");

// Apart from the rest, so that hot readers share few cache lines.
static int64_t numbers[CO_SETTING_COUNT];
// Copies, because the program may change its environment; NULL: the default.
static char *texts[CO_SETTING_COUNT];
static char complaints[COMPLAINTS_MAX][CO_COMPLAINT_MAX];
static size_t complaint_count;
static bool loaded;
static struct co_trylock load_lock = CO_TRYLOCK_INIT;

const struct co_setting_row *co_setting_row(enum co_setting_id id)
{
    return &rows[id];
}

// NULL when there are so many that another one would not help.
static char *next_complaint(void)
{
    return complaint_count < COMPLAINTS_MAX ? complaints[complaint_count++] : NULL;
}

static void load_row(enum co_setting_id id)
{
    const struct co_setting_row *row = &rows[id];
    const char *text = getenv(row->name);

    co_setting_parse(row, row->value, &numbers[id]); // a unit test proves that every default parses
    if (!text || !*text) {
        return;
    }
    int result = co_setting_parse(row, text, &numbers[id]);
    if (result == 0) {
        texts[id] = row->type == CO_SETTING_FILE && numbers[id] == 0 ? NULL : strdup(text);
        return;
    }
    char *sentence = next_complaint();
    if (sentence) {
        co_complaint_value(sentence, CO_COMPLAINT_MAX, row, text, result);
    }
}

static bool is_known(const char *name, size_t length)
{
    for (size_t i = 0; i < CO_SETTING_COUNT; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

// Names of the laboratory and of the tests are not settings of the library.
static bool is_foreign(const char *name)
{
    return strncmp(name, PREFIX "LAB_", PREFIX_LENGTH + 4) == 0 ||
           strncmp(name, PREFIX "TEST_", PREFIX_LENGTH + 5) == 0;
}

// Of an entry of the environment, NAME=value, the setting that may have been meant.
static const char *nearest_of(const char *entry, size_t length)
{
    char name[CO_WORD_MAX + PREFIX_LENGTH];

    if (length >= sizeof name) {
        return NULL; // nothing is near
    }
    memcpy(name, entry, length);
    name[length] = '\0';
    return co_settings_nearest(name);
}

static void find_unknown_names(void)
{
    for (char **entry = environ; entry && *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, PREFIX, PREFIX_LENGTH) != 0 || is_foreign(*entry) || is_known(*entry, length) ||
            (*entry)[length] == '\0' || (*entry)[length + 1] == '\0') {
            continue;
        }
        char *sentence = next_complaint();
        if (sentence) {
            co_complaint_name(sentence, CO_COMPLAINT_MAX, *entry, length, nearest_of(*entry, length));
        }
    }
}

void co_settings_load(void)
{
    co_trylock_wait(&load_lock);
    if (!loaded) {
        for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
            load_row(id);
        }
        find_unknown_names();
        loaded = true;
    }
    co_trylock_drop(&load_lock);
}

void co_settings_forget(void)
{
    co_trylock_wait(&load_lock);
    for (size_t i = 0; i < CO_SETTING_COUNT; i++) {
        free(texts[i]);
        texts[i] = NULL;
        numbers[i] = 0;
    }
    complaint_count = 0;
    loaded = false;
    co_trylock_drop(&load_lock);
}

int64_t co_setting_number(enum co_setting_id id)
{
    return numbers[id];
}

const char *co_setting_text(enum co_setting_id id)
{
    return texts[id] ? texts[id] : rows[id].value;
}

const char *co_setting_text_or_null(enum co_setting_id id)
{
    const char *text = co_setting_text(id);
    return text[0] != '\0' ? text : NULL;
}

bool co_setting_is_default(enum co_setting_id id)
{
    int64_t number = 0;

    if (!texts[id]) {
        return true;
    }
    if (co_setting_is_text(&rows[id])) {
        return strcmp(texts[id], rows[id].value) == 0;
    }
    co_setting_parse(&rows[id], rows[id].value, &number);
    return number == numbers[id];
}

void co_setting_replace(enum co_setting_id id, const char *text)
{
    co_setting_parse(&rows[id], text, &numbers[id]);
    free(texts[id]);
    texts[id] = strdup(text);
}

const char *co_settings_complaint(size_t i)
{
    return i < complaint_count ? complaints[i] : NULL;
}

uint64_t co_settings_hash(void)
{
    uint64_t hash = CO_FNV_64;

    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        if (!rows[id].agreed) {
            continue;
        }
        // Names too, with their closing zeros: two versions of the library may have different rows.
        hash = co_fnv_64(hash, rows[id].name, strlen(rows[id].name) + 1);
        if (co_setting_is_text(&rows[id])) {
            hash = co_fnv_64(hash, co_setting_text(id), strlen(co_setting_text(id)) + 1);
        } else {
            hash = co_fnv_64(hash, &numbers[id], sizeof numbers[id]);
        }
    }
    return hash;
}

const char *co_settings_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t best_distance;

    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0 || name[PREFIX_LENGTH] == '\0') {
        return NULL;
    }
    name += PREFIX_LENGTH; // what all of them share must not make them near
    best_distance = co_word_tolerance(strlen(name)) + 1;
    for (size_t i = 0; i < CO_SETTING_COUNT; i++) {
        const char *known = rows[i].name + PREFIX_LENGTH;
        size_t distance = co_word_distance(name, known);
        if (distance < best_distance && distance < strlen(known)) {
            best_distance = distance;
            nearest = rows[i].name;
        }
    }
    return nearest;
}

const char *co_environment(const char *name)
{
    return getenv(name);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The settings: one table (settings_table.h) of CASTOFF_* variables feeds the parser, `castoff info`,
// env.example and castoff(7). settings.c is the only file that reads the environment. Values are read once
// (co_settings_load) and constant afterwards; reading them is a plain array access from any thread.
#ifndef CASTOFF_BASE_SETTINGS_H
#define CASTOFF_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum co_setting_type {
    CO_SETTING_BOOL,   // yes no on off true false 1 0
    CO_SETTING_INT,    // decimal, within [min, max]
    CO_SETTING_SIZE,   // bytes; suffix K M G = powers of 1024; "auto" allowed when the default is auto (-1)
    CO_SETTING_TIME,   // nanoseconds inside; suffix ns us ms s required unless 0
    CO_SETTING_CHOICE, // one word out of a list separated by '|'; the value is its position
    CO_SETTING_LIST,   // words out of `choices`, separated by commas, one at least; the value has a bit for each
    CO_SETTING_GROUPS, // IPv4 multicast addresses such as 239.192.0.0/16 (multicast_range.h); the value is its text
    CO_SETTING_FAULT,  // faults such as drop=0.01,seed=7 (settings/fault_plan.h); the value is its text
    CO_SETTING_FILE,   // a path; 0, no and the like: none
    CO_SETTING_TEXT    // anything
};

enum co_setting_tier { CO_SETTING_USER, CO_SETTING_EXPERT };

struct co_setting_row {
    const char *name; // CASTOFF_...
    enum co_setting_tier tier;
    enum co_setting_type type;
    const char *value;   // default, as a user would write it
    int64_t min, max;    // inclusive; both 0: no limit
    const char *choices; // CHOICE and LIST
    const char *help;    // one line
    bool agreed;         // must be equal on all ranks (part of the hash)
};

#define CO_SETTING(id, name, tier, type, value, min, max, choices, agreed, help) CO_SET_##id,
enum co_setting_id {
#include "base/settings_table.h"
    CO_SETTING_COUNT
};
#undef CO_SETTING

// Its value is its text, not a number.
static inline bool co_setting_is_text(const struct co_setting_row *row)
{
    return row->type >= CO_SETTING_GROUPS;
}

enum { CO_AUTO = 0, CO_YES = 1, CO_NO = 2, CO_BY_PROXIES = 3 }; // positions in "auto|yes|no" and "auto|yes|no|proxy"
// Positions in the choices of CASTOFF_TRANSPORT.
enum { CO_ALLOW_ANY, CO_ALLOW_SHM, CO_ALLOW_UDP, CO_ALLOW_VERBS, CO_ALLOW_NONE };

// One row of the table; id in [0, CO_SETTING_COUNT).
const struct co_setting_row *co_setting_row(enum co_setting_id id);

// Reads the environment. Empty means unset. Malformed values keep their default and, like unknown
// CASTOFF_ names, are remembered as complaints (see co_settings_complaint). Idempotent.
void co_settings_load(void);

// Parses `text` for a row. Returns 0 and sets *number (GROUPS, FAULT, TEXT: 0), or -EINVAL, -ERANGE.
int co_setting_parse(const struct co_setting_row *row, const char *text, int64_t *number);

// Values after co_settings_load. Numbers: BOOL 0/1, INT, SIZE bytes, TIME ns, CHOICE position, LIST bits; -1 = auto
// where the row allows.
int64_t co_setting_number(enum co_setting_id id);
const char *co_setting_text(enum co_setting_id id);         // as written by the user, or the default; never NULL
const char *co_setting_text_or_null(enum co_setting_id id); // NULL where it is empty
bool co_setting_is_default(enum co_setting_id id);

// For a start that finds out what cannot be: a value that parses, instead of what the environment says. Not while
// others read.
void co_setting_replace(enum co_setting_id id, const char *text);

// Complaint i, a full sentence with a suggestion ("unknown setting CASTOFF_LOGG; did you mean CASTOFF_LOG?"), or NULL
// past the last.
const char *co_settings_complaint(size_t i);

// Hash of all agreed rows: differs between ranks exactly when an agreed value differs.
uint64_t co_settings_hash(void);

// Nearest known setting name within a small edit distance, or NULL.
const char *co_settings_nearest(const char *name);

// For tests: forget the loaded values so that co_settings_load reads again.
void co_settings_forget(void);

// Environment of other programs (launcher facts such as OMPI_NUM_APP_CTX); NULL when unset.
const char *co_environment(const char *name);

#endif

// SPDX-License-Identifier: BSD-3-Clause
//
// A launcher would take a name that begins with "-" for an option, of its own or of ssh, and one with a blank for two.
// Cold.
#include "host_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:[],";

static bool is_right(const char *name, char *why, size_t room)
{
    const char *colon = strchr(name, ':');
    if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        snprintf(why, room, "'%s' looks like an IPv6 address, which launchers take apart at its colons: give a name",
                 name);
    } else if (name[0] == '-' || strspn(name, allowed) != strlen(name)) {
        snprintf(why, room, "'%s' is no name of a host", name);
    } else {
        return true;
    }
    return false;
}

static bool has(char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

// At commas, but for those of Slurm's "node[1,3]".
static size_t length_of_first(const char *list)
{
    int depth = 0;
    size_t at = 0;
    for (; list[at] != '\0' && (list[at] != ',' || depth > 0); at++) {
        depth += (list[at] == '[') - (list[at] == ']');
    }
    return at;
}

static size_t count_most(char *const *words)
{
    size_t count = 1;
    for (int i = 0; words[i] != NULL; i++) {
        count += strlen(words[i]) + 1;
    }
    return count;
}

char **co_host_names_take(char *const *words, char *why, size_t room)
{
    char **names = calloc(count_most(words), sizeof *names);
    int count = 0;
    snprintf(why, room, "out of memory");
    for (int i = 0; names != NULL && words[i] != NULL; i++) {
        for (const char *at = words[i]; *at != '\0';) {
            size_t length = length_of_first(at);
            char *name = strndup(at, length);
            at += length + (at[length] == ',');
            if (name == NULL || !is_right(name, why, room)) {
                free(name);
                co_host_names_free(names);
                return NULL;
            }
            if (length > 0 && !has(names, count, name)) {
                names[count++] = name;
            } else {
                free(name);
            }
        }
    }
    return names;
}

void co_host_names_free(char **names)
{
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        free(names[i]);
    }
    free(names);
}

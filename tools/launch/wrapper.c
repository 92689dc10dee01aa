// SPDX-License-Identifier: BSD-3-Clause
//
// Builds the words that stand before a wrapped program. Cold.
#include "wrapper.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "places.h"

static int put(struct co_wrapper *wrapper, const char *word)
{
    char *copy = strdup(word);
    if (!copy) {
        return -ENOMEM;
    }
    if (wrapper->count == CO_WRAPPER_WORDS_MAX) {
        free(copy);
        return -E2BIG;
    }
    wrapper->words[wrapper->count++] = copy;
    return 0;
}

static int put_setting(struct co_wrapper *wrapper, const char *option, const char *assignment)
{
    int failed = put(wrapper, option);
    return failed ? failed : put(wrapper, assignment);
}

int co_wrapper_make(struct co_wrapper *wrapper, char *const *settings)
{
    extern char **environ;
    char self[PATH_MAX];
    wrapper->count = 0;
    int failed = co_places_self(self);
    failed = failed ? failed : put(wrapper, self);
    failed = failed ? failed : put(wrapper, "run");
    for (int i = 0; settings && settings[i] && !failed; i++) {
        failed = put_setting(wrapper, "--set", settings[i]);
    }
    for (char **entry = environ; *entry && !failed; entry++) {
        // The laboratory's own variables are no settings.
        if (strncmp(*entry, "CASTOFF_", 8) == 0 && strncmp(*entry, "CASTOFF_LAB_", 12) != 0) {
            failed = put_setting(wrapper, "--env", *entry);
        }
    }
    return failed ? failed : put(wrapper, "--");
}

void co_wrapper_release(struct co_wrapper *wrapper)
{
    while (wrapper->count > 0) {
        free(wrapper->words[--wrapper->count]);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// The words "castoff run ... --" that stand before a program: with every CASTOFF_* setting of this environment, because
// launchers do not carry the environment to other hosts. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_WRAPPER_H
#define CASTOFF_TOOLS_LAUNCH_WRAPPER_H

#define CO_WRAPPER_WORDS_MAX 256

struct co_wrapper {
    char *words[CO_WRAPPER_WORDS_MAX];
    int count;
};

// `settings`: more NAME=VALUE words that win over the environment, NULL-terminated, or NULL. 0 or -errno.
int co_wrapper_make(struct co_wrapper *wrapper, char *const *settings);
// For those who go on afterwards; a command that ends leaves it to the system.
void co_wrapper_release(struct co_wrapper *wrapper);

#endif

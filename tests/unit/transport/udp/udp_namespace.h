// SPDX-License-Identifier: BSD-3-Clause
//
// A network namespace for one test, with links that it asks for. It lives in a child process and goes with it.
#ifndef CASTOFF_TESTS_UDP_NAMESPACE_H
#define CASTOFF_TESTS_UDP_NAMESPACE_H

#include <stdbool.h>

// Runs the commands (up to NULL), then `body`, in a child with a network of its own. The test fails unless body returns
// 0, and is skipped when that returns 77 or namespaces, or the command ip, are not to be had here.
void namespace_enter_and(const char *const commands[], int (*body)(void));

// Inside: end the child as failed when the condition does not hold, or the command fails.
void namespace_require(bool condition, const char *what);
void namespace_run(const char *command);

#endif

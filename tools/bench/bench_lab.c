// SPDX-License-Identifier: BSD-3-Clause
//
// How castoff bench gets into the laboratory: by becoming its script, which starts this command again on the first
// host. Cold.
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/launch/command.h"
#include "tools/launch/places.h"

int co_bench_lab_enter(const struct co_bench_lab *lab, int argc, char **argv)
{
    static char lab_words[][16] = {"--hosts", "--rate", "--", "bench", "-n"};
    char script[PATH_MAX], self[PATH_MAX];
    char **words = calloc((size_t)argc + 64, sizeof *words);
    char *arguments = lab->arguments ? strdup(lab->arguments) : NULL;
    int count = 0;
    if (!words || co_places_lab(script) || co_places_self(self)) {
        co_command_complain(&co_command_bench, "the laboratory (tests/lab/lab.sh) is not where it belongs");
        return TOOL_NOT_FOUND;
    }
    words[count++] = script;
    words[count++] = lab_words[0];
    words[count++] = (char *)(uintptr_t)lab->hosts;
    if (lab->rate) {
        words[count++] = lab_words[1];
        words[count++] = (char *)(uintptr_t)lab->rate;
    }
    for (char *word = arguments ? strtok(arguments, " ") : NULL; word && count < 48; word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    words[count++] = lab_words[2];
    words[count++] = self;
    words[count++] = lab_words[3];
    words[count++] = lab_words[4]; // one rank a host, unless -n follows
    words[count++] = (char *)(uintptr_t)lab->hosts;
    for (int i = 1; i < argc; i++) {
        words[count++] = argv[i];
    }
    execv(script, words);
    co_command_complain(&co_command_bench, "cannot start %s: %s", script, strerror(errno));
    return TOOL_CANNOT_EXECUTE;
}

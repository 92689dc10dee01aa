// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one case of the datapath kernel or of the matcher a number of times, so that whoever counts the instructions of
// two runs knows those of one completion or message: everything is prepared and looked at for the most that a run can
// have, whatever it is asked for. Prints a digest of what has come of it. Knows nothing of the machine it runs on.
//
//   kernel_count            lists the cases
//   kernel_count CASE COUNT
#include "kernel_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t digest = UINT64_C(0xcbf29ce484222325), dice_state = UINT64_C(88172645463325252);

void count_note(uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x100000001b3);
    digest ^= digest >> 29;
}

uint32_t count_dice(uint32_t sides)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (uint32_t)(dice_state >> 33) % sides;
}

static const struct count_case *find(const struct count_case *cases, const char *name)
{
    for (; cases->name != NULL; cases++) {
        if (strcmp(cases->name, name) == 0) {
            return cases;
        }
    }
    return NULL;
}

static void list(const struct count_case *cases)
{
    for (; cases->name != NULL; cases++) {
        printf("%s\t%s\n", cases->name, cases->what);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        list(count_datapath_cases);
        list(count_matcher_cases);
        return argc == 1 ? 0 : 2;
    }
    const struct count_case *chosen = find(count_datapath_cases, argv[1]);
    chosen = chosen == NULL ? find(count_matcher_cases, argv[1]) : chosen;
    unsigned long count = strtoul(argv[2], NULL, 10);
    if (chosen == NULL || count == 0 || count > COUNT_MOST || count % COUNT_BATCH != 0) {
        fprintf(stderr, "kernel_count: no such case, or not a multiple of %d up to %d\n", COUNT_BATCH, COUNT_MOST);
        return 2;
    }
    if (!chosen->run(chosen->variant, (unsigned)count)) {
        fprintf(stderr, "kernel_count: %s went wrong\n", chosen->name);
        return 1;
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}

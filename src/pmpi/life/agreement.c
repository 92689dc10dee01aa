// SPDX-License-Identifier: BSD-3-Clause
//
// One reduction over the hash of the settings; only when it differs a second one over each setting, to name the
// culprit. Smallest and largest come from one minimum: that of the values and of their complements.
#include "pmpi/life/agreement.h"

#include "base/fnv.h"
#include "base/settings.h"
#include "pmpi/life/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int co_agreement_any(int mine)
{
    int any = mine;
    co_next.Allreduce(&mine, &any, 1, co_next.integer, co_next.maximum, co_process.world);
    return any;
}

int co_agreement_all(int mine)
{
    int all = 0;
    return co_next.Allreduce(&mine, &all, 1, co_next.integer, co_next.minimum, co_process.world) == MPI_SUCCESS && all;
}

static uint64_t digest_setting(enum co_setting_id id)
{
    if (!co_setting_row(id)->agreed) {
        return 0;
    }
    if (!co_setting_is_text(co_setting_row(id))) {
        return (uint64_t)co_setting_number(id);
    }
    return co_fnv_64(CO_FNV_64, co_setting_text(id), strlen(co_setting_text(id)));
}

// least[i] and the complement of least[count + i] become the extremes over the ranks.
static int reduce(const uint64_t *mine, uint64_t *least, int count)
{
    int code = co_next.Allreduce(mine, least, 2 * count, co_next.uint64, co_next.minimum, co_process.world);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

static const char *first_difference(void)
{
    uint64_t mine[2 * CO_SETTING_COUNT], least[2 * CO_SETTING_COUNT];
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        mine[i] = digest_setting((enum co_setting_id)i);
        mine[CO_SETTING_COUNT + i] = ~mine[i];
    }
    if (reduce(mine, least, CO_SETTING_COUNT) == 0) {
        for (int i = 0; i < CO_SETTING_COUNT; i++) {
            if (least[i] != ~least[CO_SETTING_COUNT + i]) {
                return co_setting_row((enum co_setting_id)i)->name;
            }
        }
    }
    return "a setting";
}

int co_agreement_check(char *why, size_t room)
{
    uint64_t hash = co_settings_hash();
    uint64_t mine[2] = {hash, ~hash}, least[2] = {0, 0};
    if (reduce(mine, least, 1) != 0) {
        snprintf(why, room, "native MPI failed in a reduction at the start");
        return -EINVAL;
    }
    if (least[0] == ~least[1]) {
        return 0;
    }
    snprintf(why, room, "%s differs between the ranks; give all of them the same value (mpirun -x)",
             first_difference());
    return -EINVAL;
}

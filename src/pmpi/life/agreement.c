// SPDX-License-Identifier: BSD-3-Clause
//
// One reduction over the hash of the settings and all else that can be said by then; only when the hash differs a
// second one over each setting, to name the culprit. Smallest and largest come from one minimum: that of the values and
// of their complements.
#include "pmpi/life/agreement.h"

#include "base/fnv.h"
#include "base/settings.h"
#include "pmpi/life/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static int reduce(const uint64_t *mine, uint64_t *least, int count)
{
    int code = co_next.exchange_allreduce(mine, least, count, co_next.uint64, co_next.minimum, co_process.world);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

static const char *first_difference(void)
{
    uint64_t mine[2 * CO_SETTING_COUNT], least[2 * CO_SETTING_COUNT];
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        mine[i] = digest_setting((enum co_setting_id)i);
        mine[CO_SETTING_COUNT + i] = ~mine[i];
    }
    if (reduce(mine, least, 2 * CO_SETTING_COUNT) == 0) {
        for (int i = 0; i < CO_SETTING_COUNT; i++) {
            if (least[i] != ~least[CO_SETTING_COUNT + i]) {
                return co_setting_row((enum co_setting_id)i)->name;
            }
        }
    }
    return "a setting";
}

// Words of which the least over the ranks counts: what all must have as it is, what one rank wants as its contrary.
enum { HASH, HASH_CONTRARY, COUNTS_NOT, NAMES_NOT, HOST_MEMORY_ALONE, FAULTS_NOT, PARTS, MEMORY, PEERS, WORDS };

static void write_words(const struct co_agreement *mine, uint64_t *words)
{
    words[HASH] = co_settings_hash();
    words[HASH_CONTRARY] = ~words[HASH];
    words[COUNTS_NOT] = !mine->counts;
    words[NAMES_NOT] = !mine->names_sites;
    words[HOST_MEMORY_ALONE] = !mine->takes_device_memory;
    words[FAULTS_NOT] = !co_next_mpi_tolerates_faults();
    words[PARTS] = mine->has_parts;
    words[MEMORY] = mine->has_memory;
    words[PEERS] = mine->knows_peers;
}

int co_agreement_reach(struct co_agreement *agreement, char *why, size_t room)
{
    uint64_t mine[WORDS], least[WORDS] = {0};
    write_words(agreement, mine);
    if (reduce(mine, least, WORDS) != 0) {
        snprintf(why, room, "native MPI failed in a reduction at the start");
        return -EIO;
    }
    *agreement = (struct co_agreement){.counts = !least[COUNTS_NOT],
                                       .names_sites = !least[NAMES_NOT],
                                       .takes_device_memory = !least[HOST_MEMORY_ALONE],
                                       .has_parts = least[PARTS] != 0,
                                       .has_memory = least[MEMORY] != 0,
                                       .knows_peers = least[PEERS] != 0};
    if (least[HASH] != ~least[HASH_CONTRARY]) {
        snprintf(why, room, "%s differs between the ranks; give all of them the same value (mpirun -x)",
                 first_difference());
        return -EINVAL;
    }
    if (!least[FAULTS_NOT]) {
        snprintf(why, room, "%s", co_next_mpi_faults);
        return -ENOTSUP;
    }
    return 0;
}

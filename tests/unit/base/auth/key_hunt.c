// SPDX-License-Identifier: BSD-3-Clause
//
// By /proc/self/smaps, which says what a core file leaves out (dd), /proc/self/mem, and /proc/self/pagemap: of what a
// sanitizer has reserved, most was never touched, and reading it takes minutes.
#define _GNU_SOURCE
#include "key_hunt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MASK = 0x5a, BLOCK = 65536, REGIONS = 16384, RUN = 8 };

// Larger ones are the sanitizers' own.
#define REGION_MAX ((uint64_t)1 << 30)

static struct region {
    uint64_t start, end;
    int is_left_out;
} regions[REGIONS];

static uint8_t block[BLOCK];

void key_hunt_learn(struct key_hunt *hunt, const uint8_t key[KEY_HUNT_BYTES])
{
    *hunt = (struct key_hunt){.found = 0};
    for (int i = 0; i < KEY_HUNT_BYTES; i++) {
        hunt->masked[i] = key[i] ^ MASK;
    }
}

// The thread sanitizer's own functions leave registers of those who call them on the main thread's stack, now and then.
static int is_certain(const char *line)
{
#ifdef __SANITIZE_THREAD__
    return strstr(line, "[stack]") == NULL;
#else
    (void)line;
    return 1;
#endif
}

// The first of all, before anything is read: reading changes no mapping.
static int list_regions(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512], mode[8], flags[400];
    int count = 0;
    struct region region;
    if (maps == NULL) {
        return -errno;
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &region.start, &region.end, mode) == 3 && count < REGIONS &&
            mode[0] == 'r' && region.end - region.start < REGION_MAX && is_certain(line)) {
            region.is_left_out = 0;
            regions[count++] = region;
        } else if (count > 0 && sscanf(line, "VmFlags: %399[^\n]", flags) == 1 && strstr(flags, "dd ") != NULL) {
            regions[count - 1].is_left_out = 1;
        }
    }
    fclose(maps);
    return count;
}

static unsigned count_in_block(const struct key_hunt *hunt, size_t bytes)
{
    unsigned found = 0;
    const uint8_t *at = block, *end = block + bytes;
    while (end - at >= KEY_HUNT_BYTES &&
           (at = memchr(at, hunt->masked[0] ^ MASK, (size_t)(end - at) - KEY_HUNT_BYTES + 1)) != NULL) {
        int i = 1;
        while (i < KEY_HUNT_BYTES && (at[i] ^ MASK) == hunt->masked[i]) {
            i++;
        }
        found += i == KEY_HUNT_BYTES;
        at++;
    }
    return found;
}

// Is any page of these bytes in memory or swapped out (proc(5), bits 63 and 62)? If that cannot be told: yes.
static int is_touched(int pagemap, uint64_t at, uint64_t bytes)
{
    uint64_t entries[BLOCK / 4096 + 1];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = at / page, count = (at + bytes - 1) / page - first + 1;
    ssize_t got = pread(pagemap, entries, count * sizeof entries[0], (off_t)(first * sizeof entries[0]));
    if (got != (ssize_t)(count * sizeof entries[0])) {
        return 1;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (entries[i] >> 62 != 0) {
            return 1;
        }
    }
    return 0;
}

static unsigned count_in_region(const struct key_hunt *hunt, int memory, int pagemap, const struct region *region)
{
    unsigned found = 0;
    for (uint64_t at = region->start; at < region->end; at += BLOCK - KEY_HUNT_BYTES + 1) {
        uint64_t bytes = region->end - at < BLOCK ? region->end - at : BLOCK;
        if (!is_touched(pagemap, at, bytes)) {
            continue;
        }
        ssize_t got = pread(memory, block, bytes, (off_t)at);
        found += got > 0 ? count_in_block(hunt, (size_t)got) : 0;
        memset(block, 0, sizeof block); // or it would be found here
    }
    return found;
}

int key_hunt_go(struct key_hunt *hunt)
{
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), count = list_regions();
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    hunt->found = hunt->dumped = 0;
    if (memory < 0 || pagemap < 0 || count <= 0) {
        close(memory);
        close(pagemap);
        return -EIO;
    }
    for (int i = 0; i < count; i++) {
        unsigned found = count_in_region(hunt, memory, pagemap, &regions[i]);
        hunt->found += found;
        hunt->dumped += regions[i].is_left_out ? 0 : found;
    }
    close(memory);
    close(pagemap);
    return 0;
}

int key_hunt_is_in(const struct key_hunt *hunt, const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at + RUN <= bytes; at++) {
        for (int from = 0; from + RUN <= KEY_HUNT_BYTES; from++) {
            int i = 0;
            while (i < RUN && (data[at + (size_t)i] ^ MASK) == hunt->masked[from + i]) {
                i++;
            }
            if (i == RUN) {
                return 1;
            }
        }
    }
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// How fast tags are written and checked: each form of src/base/auth/auth.c over datagram sizes, best of several turns.
// "gathered" is a seal whose payload lies apart from its head, as when it leaves straight from a user's buffer.
//
//   auth_speed [milliseconds of each turn]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/auth/auth.h"

#define TURNS 5
#define HEAD_BYTES 24

enum what { SEAL, SEAL_GATHERED, VERIFY, WHAT_COUNT };

struct job {
    struct co_auth *auth;
    uint8_t *data, *payload; // data: head, payload, tag
    size_t payload_bytes;
};

static bool run_once(const struct job *job, enum what what, uint32_t number)
{
    uint8_t nonce[CO_AUTH_NONCE_BYTES] = {0}, tag[CO_AUTH_TAG_MAX];

    memcpy(nonce, &number, sizeof number);
    switch (what) {
    case SEAL:
        co_auth_seal(job->auth, CO_AUTH_CHUNK, 0, 1, nonce, job->data, HEAD_BYTES, job->data + HEAD_BYTES,
                     job->payload_bytes, tag);
        return true;
    case SEAL_GATHERED:
        co_auth_seal(job->auth, CO_AUTH_CHUNK, 0, 1, nonce, job->data, HEAD_BYTES, job->payload, job->payload_bytes,
                     tag);
        return true;
    default:
        memset(nonce, 0, sizeof nonce);
        return co_auth_verify(job->auth, CO_AUTH_CHUNK, 0, 1, nonce, job->data, HEAD_BYTES + job->payload_bytes);
    }
}

// Nanoseconds for one, the best turn's mean.
static double measure(const struct job *job, enum what what, uint64_t turn_ns)
{
    double best = 1e18;

    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t start_ns = co_clock_now_ns(), end_ns = start_ns;
        uint32_t count = 0;
        while (end_ns - start_ns < turn_ns) {
            for (int i = 0; i < 64; i++) {
                if (!run_once(job, what, count++)) {
                    fprintf(stderr, "a good tag was refused\n");
                    exit(1);
                }
            }
            end_ns = co_clock_now_ns();
        }
        double each = (double)(end_ns - start_ns) / count;
        best = each < best ? each : best;
    }
    return best;
}

static void measure_form(struct co_auth *auth, uint64_t turn_ns)
{
    static const size_t sizes[] = {0, 64, 512, 1432, 8932};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct job job = {.auth = auth, .payload_bytes = sizes[i]};
        uint8_t nonce[CO_AUTH_NONCE_BYTES] = {0};
        size_t bytes = HEAD_BYTES + sizes[i];
        job.data = calloc(1, bytes + CO_AUTH_TAG_MAX);
        job.payload = calloc(1, sizes[i] + 1);
        if (!job.data || !job.payload) {
            exit(1);
        }
        co_auth_seal(auth, CO_AUTH_CHUNK, 0, 1, nonce, job.data, bytes, NULL, 0, job.data + bytes);
        printf("%-18s %6zu", co_auth_name(auth), bytes);
        for (int what = 0; what < WHAT_COUNT; what++) {
            double each_ns = measure(&job, (enum what)what, turn_ns);
            printf("  %8.1f %6.2f", each_ns, (double)bytes / each_ns);
        }
        printf("\n");
        free(job.data);
        free(job.payload);
    }
}

int main(int count, char **arguments)
{
    uint64_t turn_ns = (count > 1 ? (uint64_t)atoi(arguments[1]) : 20) * CO_NS_PER_MS;
    uint8_t key[CO_AUTH_KEY_BYTES] = {1};

    printf("# ns each and GB/s\n# %-16s %6s  %15s  %15s  %15s\n", "form", "bytes", "seal", "seal gathered", "verify");
    for (int form = 0; form < 4; form++) {
        struct co_auth *auth = NULL;
        if (co_auth_open(&auth, key, 1, (enum co_auth_form)(form < 2 ? CO_AUTH_KEYED : form - 1)) != 0) {
            return 1;
        }
        if (form == 1) {
            co_auth_use_portable(auth);
        }
        measure_form(auth, turn_ns);
        co_auth_close(auth);
    }
    return 0;
}

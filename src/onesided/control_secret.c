// SPDX-License-Identifier: BSD-3-Clause
//
// The shared secret: a file, of which the key is a hash. Cold.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/zeroed_pages.h"
#include "onesided/control_session.h"

enum { FILE_MAX = 1 << 20, BLOCK = 4096, STACK = 4096 };

// Returns how many bytes the file has, up to FILE_MAX, or -errno.
static long hash_file(int file, uint8_t secret[CO_SECRET_BYTES])
{
    crypto_generichash_state state;
    uint8_t block[BLOCK];
    long total = 0;
    ssize_t count;
    crypto_generichash_init(&state, NULL, 0, CO_SECRET_BYTES);
    while (total < FILE_MAX && (count = read(file, block, sizeof block)) != 0) {
        if (count < 0) {
            return -errno;
        }
        crypto_generichash_update(&state, block, (size_t)count);
        total += count;
    }
    crypto_generichash_final(&state, secret, CO_SECRET_BYTES);
    sodium_memzero(block, sizeof block);
    sodium_stackzero(STACK); // libsodium leaves the hash there
    return total;
}

// Of somebody else, or open to others: he may know the secret, or have chosen it. 0 or -errno.
static int judge(const struct stat *facts, const char *path, char *why, size_t why_room)
{
    if (!S_ISREG(facts->st_mode) && !S_ISFIFO(facts->st_mode)) {
        snprintf(why, why_room, "secret %s is neither a file nor a pipe", path);
        return -EINVAL;
    }
    if (facts->st_uid != geteuid() && facts->st_uid != 0) {
        snprintf(why, why_room, "secret %s belongs to user %lu, neither to user %lu nor to root", path,
                 (unsigned long)facts->st_uid, (unsigned long)geteuid());
        return -EACCES;
    }
    if ((facts->st_mode & 077) != 0) {
        snprintf(why, why_room, "secret %s can be read by others (chmod 600 %s)", path, path);
        return -EACCES;
    }
    return 0;
}

int co_secret_read(uint8_t secret[CO_SECRET_BYTES], const char *path, char *why, size_t why_room)
{
    struct stat facts;
    if (sodium_init() < 0) {
        snprintf(why, why_room, "libsodium does not work here");
        return -ENOSYS;
    }
    // A pipe that nobody writes to is empty; one that somebody does is waited for.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &facts) != 0 || fcntl(file, F_SETFL, 0) != 0) {
        int error = errno;
        snprintf(why, why_room, "secret %s: %s", path, strerror(error));
        if (file >= 0) {
            close(file);
        }
        return -error;
    }
    int refused = judge(&facts, path, why, why_room);
    long total = refused != 0 ? 0 : hash_file(file, secret);
    close(file);
    if (refused != 0) {
        return refused;
    }
    if (total < 0) {
        snprintf(why, why_room, "secret %s: %s", path, strerror((int)-total));
        return (int)total;
    }
    if (total < CO_SECRET_FILE_MIN) {
        snprintf(why, why_room, "secret %s has %ld bytes; %d are needed (head -c 32 /dev/urandom >%s makes some)", path,
                 total, CO_SECRET_FILE_MIN, path);
        return -EINVAL;
    }
    return 0;
}

int co_secret_open(uint8_t **out, const char *path, char *why, size_t why_room)
{
    uint8_t *secret = co_zeroed_pages_take_secret(CO_SECRET_BYTES);
    *out = NULL;
    if (secret == NULL) {
        snprintf(why, why_room, "no memory");
        return -ENOMEM;
    }
    int error = co_secret_read(secret, path, why, why_room);
    if (error != 0) {
        co_secret_close(secret);
        return error;
    }
    *out = secret;
    return 0;
}

void co_secret_close(uint8_t *secret)
{
    if (secret != NULL) {
        sodium_memzero(secret, CO_SECRET_BYTES);
        co_zeroed_pages_give(secret, CO_SECRET_BYTES);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// castoff onesided-copy: a file to any number of hosts by one stream of RDMA writes. Two groups one after the other:
// NAME.head brings size and hash, so that receivers know how much memory to register; NAME brings the file. Every
// receiver hashes what it has got.
#define _GNU_SOURCE // mkostemp
#include "tools/launch/command.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain_text.h"
#include "onesided_library_find.h"

enum { WHY = 400, HEAD_BYTES = 64, HASH_BYTES = 32, NAME_MAX_BYTES = 58 };

static const struct option long_options[] = {
    {"coordinator", required_argument, NULL, 'c'},
    {"secret", required_argument, NULL, 's'},
    {"group", required_argument, NULL, 'g'},
    {"to", required_argument, NULL, 't'},
    {"receive", no_argument, NULL, 'r'},
    {"name", required_argument, NULL, 'n'},
    {"device", required_argument, NULL, 'd'},
    {"address", required_argument, NULL, 'a'},
    {"patience", required_argument, NULL, 'p'},
    {"rate", required_argument, NULL, 'R'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// Of the last group that was carried.
struct carried {
    struct castoff_group_counts counts;
    uint64_t open_ns, close_ns; // until all rules were in place, until all were gone
    uint64_t user_us;           // processor time of this process in between, outside the kernel
};

struct copy {
    struct castoff_group_options options;
    struct co_onesided_library library;
    bool receives;
    const char *path;
    char group[64], head_group[80];
    uint8_t *bytes; // of the file
    uint64_t size;
    uint8_t head[HEAD_BYTES];
    struct carried last;
};

static const char magic[8] = {'c', 'a', 's', 't', 'o', 'f', 'f', 'C'};

static int complain(const char *text)
{
    co_command_complain(&co_command_onesided_copy, "%s", text);
    return TOOL_FAILED;
}

static int complain_file(const struct copy *copy, const char *what)
{
    co_command_complain(&co_command_onesided_copy, "%s: %s: %s", copy->path, what, strerror(errno));
    return TOOL_FAILED;
}

// Magic, version 1, size, hash; little-endian.
static void write_head(struct copy *copy)
{
    memset(copy->head, 0, sizeof copy->head);
    memcpy(copy->head, magic, sizeof magic);
    copy->head[8] = 1;
    for (int i = 0; i < 8; i++) {
        copy->head[16 + i] = (uint8_t)(copy->size >> 8 * i);
    }
    crypto_generichash(copy->head + HASH_BYTES, HASH_BYTES, copy->bytes, copy->size, NULL, 0);
}

static bool read_head(struct copy *copy)
{
    copy->size = 0;
    for (int i = 7; i >= 0; i--) {
        copy->size = copy->size << 8 | copy->head[16 + i];
    }
    return memcmp(copy->head, magic, sizeof magic) == 0 && copy->head[8] == 1;
}

static bool hash_holds(const struct copy *copy)
{
    uint8_t hash[HASH_BYTES];
    crypto_generichash(hash, sizeof hash, copy->bytes, copy->size, NULL, 0);
    return memcmp(hash, copy->head + HASH_BYTES, sizeof hash) == 0;
}

static int allocate(struct copy *copy)
{
    size_t room = (copy->size + 4096) / 4096 * 4096;
    copy->bytes = aligned_alloc(4096, room);
    if (copy->bytes == NULL) {
        co_command_complain(&co_command_onesided_copy, "no memory for %llu bytes", (unsigned long long)copy->size);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int read_file(struct copy *copy)
{
    struct stat facts;
    int file = open(copy->path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &facts) != 0) {
        return complain_file(copy, "cannot be read");
    }
    copy->size = (uint64_t)facts.st_size;
    if (allocate(copy) != TOOL_OK) {
        return TOOL_FAILED;
    }
    for (uint64_t at = 0; at < copy->size;) {
        ssize_t count = read(file, copy->bytes + at, copy->size - at);
        if (count <= 0) {
            errno = count == 0 ? EIO : errno;
            return complain_file(copy, "cannot be read");
        }
        at += (uint64_t)count;
    }
    close(file);
    return TOOL_OK;
}

// A new file beside it, which nobody has prepared as a link to another one.
static int open_part(const struct copy *copy, char *part, size_t room)
{
    if (snprintf(part, room, "%s.XXXXXX", copy->path) >= (int)room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int file = mkostemp(part, O_CLOEXEC);
    mode_t mask = umask(0);
    umask(mask);
    if (file >= 0) {
        fchmod(file, 0666 & ~mask); // as files are made; mkostemp makes them for us alone
    }
    return file;
}

// Beside it first, so that a file of that name is always whole.
static int write_file(const struct copy *copy)
{
    char part[4096];
    int file = open_part(copy, part, sizeof part);
    bool is_good = file >= 0;
    for (uint64_t at = 0; is_good && at < copy->size;) {
        ssize_t count = write(file, copy->bytes + at, copy->size - at);
        is_good = count > 0;
        at += is_good ? (uint64_t)count : 0;
    }
    is_good = is_good && fsync(file) == 0;
    int error = errno;
    if (file >= 0 && close(file) != 0 && is_good) {
        is_good = false;
        error = errno;
    }
    if (is_good && rename(part, copy->path) == 0) {
        return TOOL_OK;
    }
    errno = is_good ? errno : error;
    int result = complain_file(copy, "cannot be written");
    if (file >= 0) {
        unlink(part);
    }
    return result;
}

static uint64_t user_time_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
}

// One group from opening to closing.
static int carry(struct copy *copy, const char *name, void *bytes, uint64_t size)
{
    struct carried *last = &copy->last;
    const struct co_onesided_library *library = &copy->library;
    struct castoff_group *group;
    uint64_t began_ns = co_clock_now_ns();
    copy->options.group = name;
    int error = copy->receives ? library->open_member(&group, &copy->options, bytes, size)
                               : library->open_sender(&group, &copy->options, bytes, size);
    if (error != 0) {
        return complain(library->why());
    }
    last->open_ns = co_clock_now_ns() - began_ns;
    last->user_us = user_time_us();
    error = copy->receives ? 0 : library->write(group, 0, size);
    error = error != 0 ? error : library->complete(group);
    if (error != 0) {
        complain(library->why());
    }
    last->user_us = user_time_us() - last->user_us;
    library->counts(group, &last->counts);
    began_ns = co_clock_now_ns();
    int left = library->close(group);
    last->close_ns = co_clock_now_ns() - began_ns;
    if (left != 0) {
        complain(library->why());
    }
    return error == 0 && left == 0 ? TOOL_OK : TOOL_FAILED;
}

static void say_done(const struct copy *copy, uint64_t began_ns)
{
    const struct castoff_group_counts *counts = &copy->last.counts;
    double seconds = (double)(co_clock_now_ns() - began_ns) / 1e9;
    co_plain_put(stdout, copy->path);
    if (copy->receives) {
        printf(": %llu bytes received in %.3f s, all verified (%u rounds)\n", (unsigned long long)copy->size, seconds,
               counts->rounds);
        printf("%.6f s of user time while it was written\n", (double)copy->last.user_us / 1e6);
    } else {
        printf(": %llu bytes to %u receivers in %.3f s (%llu chunks written, %llu of them again, %u rounds)\n",
               (unsigned long long)copy->size, copy->options.members, seconds,
               (unsigned long long)counts->chunks_written, (unsigned long long)counts->chunks_repaired, counts->rounds);
        printf("set-up %.6f s, tear-down %.6f s\n", (double)copy->last.open_ns / 1e9,
               (double)copy->last.close_ns / 1e9);
    }
}

static int send_file(struct copy *copy)
{
    if (read_file(copy) != TOOL_OK) {
        return TOOL_FAILED;
    }
    write_head(copy);
    int status = carry(copy, copy->head_group, copy->head, sizeof copy->head);
    uint64_t began_ns = co_clock_now_ns();
    if (status == TOOL_OK && copy->size > 0) {
        status = carry(copy, copy->group, copy->bytes, copy->size);
    }
    if (status == TOOL_OK) {
        say_done(copy, began_ns);
    }
    return status;
}

static int receive_file(struct copy *copy)
{
    if (carry(copy, copy->head_group, copy->head, sizeof copy->head) != TOOL_OK) {
        return TOOL_FAILED;
    }
    if (!read_head(copy)) {
        return complain("the sender is no castoff onesided-copy of this version");
    }
    uint64_t began_ns = co_clock_now_ns();
    if (allocate(copy) != TOOL_OK || (copy->size > 0 && carry(copy, copy->group, copy->bytes, copy->size) != TOOL_OK)) {
        return TOOL_FAILED;
    }
    if (!hash_holds(copy)) {
        return complain("what was received is not what was sent: the hash differs; nothing was written");
    }
    int status = write_file(copy);
    if (status == TOOL_OK) {
        say_done(copy, began_ns);
    }
    return status;
}

static bool take_number(uint64_t *number, const char *text, uint64_t most)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return end != text && *end == '\0' && *text != '-' && *number >= 1 && *number <= most;
}

// -1: taken; else the exit status.
static int take_option(struct copy *copy, int option, const char *text)
{
    uint64_t number = 0;
    bool is_good = true;
    switch (option) {
    case 'c':
        copy->options.coordinator = text;
        break;
    case 's':
        copy->options.secret = text;
        break;
    case 'g':
        is_good = strlen(text) <= NAME_MAX_BYTES;
        snprintf(copy->group, sizeof copy->group, "%s", text);
        snprintf(copy->head_group, sizeof copy->head_group, "%s.head", copy->group);
        break;
    case 't':
        is_good = take_number(&number, text, 1024);
        copy->options.members = (unsigned)number;
        break;
    case 'r':
        copy->receives = true;
        break;
    case 'n':
        copy->options.name = text;
        break;
    case 'd':
        copy->options.device = text;
        break;
    case 'a':
        copy->options.address = text;
        break;
    case 'p':
        is_good = take_number(&number, text, 86400);
        copy->options.patience_ms = (unsigned)number * 1000;
        break;
    case 'R':
        is_good = take_number(&copy->options.rate, text, UINT64_MAX / 2);
        break;
    default:
        return co_command_odd_option(&co_command_onesided_copy, option);
    }
    return is_good ? -1 : co_command_odd_value(&co_command_onesided_copy, long_options, option, text);
}

static int run(int argc, char **argv)
{
    struct copy copy = {0};
    char why[WHY];
    int option, status = -1;
    while (status < 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        status = take_option(&copy, option, optarg);
    }
    if (status >= 0) {
        return status;
    }
    if (copy.options.coordinator == NULL || copy.options.secret == NULL || copy.group[0] == '\0' ||
        optind + 1 != argc || copy.receives == (copy.options.members > 0)) {
        co_command_complain(&co_command_onesided_copy,
                            "--coordinator, --secret, --group, one of --to and --receive, and a file are needed");
        return TOOL_USAGE;
    }
    copy.path = argv[optind];
    if (sodium_init() < 0) {
        return complain("libsodium does not work here");
    }
    if (co_onesided_library_find(&copy.library, why, sizeof why) != 0) {
        return complain(why);
    }
    status = copy.receives ? receive_file(&copy) : send_file(&copy);
    free(copy.bytes);
    return status != TOOL_OK || fflush(stdout) != 0 ? TOOL_FAILED : TOOL_OK;
}

const struct co_command co_command_onesided_copy = {
    "onesided-copy",
    run,
    "--coordinator PLACE --secret FILE --group NAME --to N|--receive [OPTION...] FILE",
    "copy a file to N hosts by one stream of RDMA writes, which a hop multiplies; every host verifies it",
    "  --coordinator PLACE HOST or HOST:PORT of castoff coordinator\n"
    "  --secret FILE       the secret that it has\n"
    "  --group NAME        the same at all ends, 58 letters, digits, '.', '_', '-' at most\n"
    "  --to N              send FILE to so many receivers\n"
    "  --receive           receive it, and write it to FILE\n"
    "  --name NAME         of this end, unique in the group (this host's name)\n"
    "  --device NAME       RDMA device, such as mlx5_0 (the first with an IPv4 address)\n"
    "  --address ADDRESS   its IPv4 address\n"
    "  --patience SECONDS  longest wait for the others without progress (30)\n"
    "  --rate N            bytes a second at most\n",
};

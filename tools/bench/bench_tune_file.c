// SPDX-License-Identifier: BSD-3-Clause
//
// The file of `castoff bench --tune`: what a row means, on which machine, when and by which command the rows were
// measured, and below them what an earlier file says about other calls and places. Cold.
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "tools/launch/version.h"
#include "tools/output/output_file.h"

static const char by_whom[] = "# measured ", by_what[] = "# command: ";

struct earlier {
    char *text; // lines that say how rows were measured
    size_t used;
};

static bool is_origin(const char *line)
{
    return strncmp(line, by_whom, sizeof by_whom - 1) == 0 || strncmp(line, by_what, sizeof by_what - 1) == 0;
}

// Keeps what an earlier file tells about its origin. 0 or -errno.
static int read_origin(struct earlier *earlier, const char *path)
{
    FILE *file = fopen(path, "r"), *out = open_memstream(&earlier->text, &earlier->used);
    char *line = NULL;
    size_t room = 0;
    while (file && out && getline(&line, &room, file) > 0) {
        if (is_origin(line)) {
            line[strcspn(line, "\n")] = '\0';
            co_plain_put(out, line);
            fputc('\n', out); // a zero in the line is its end, too
        }
    }
    free(line);
    int failed = file && out ? 0 : -errno;
    if (file) {
        fclose(file);
    }
    return out && fclose(out) == 0 ? failed : -ENOMEM;
}

// "model name : Xeon" of /proc/cpuinfo, or the architecture.
static void put_processor(FILE *file, const char *machine)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256], model[200] = "";
    while (info && !*model && fgets(line, sizeof line, info)) {
        (void)!sscanf(line, "model name : %199[^\n]", model);
    }
    if (info) {
        fclose(info);
    }
    co_plain_put(file, *model ? model : machine);
}

static void put_command(FILE *file, const char *command)
{
    fputs(by_what, file);
    co_plain_put(file, command); // a comment ends with its line
    fputc('\n', file);
}

static void put_head(FILE *file, const char *command)
{
    struct utsname machine = {.nodename = "?"};
    char when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    uname(&machine);
    if (gmtime_r(&now, &utc)) {
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    }
    fputs("# Written by castoff bench --tune; use it with CASTOFF_TUNE=FILE on every rank.\n", file);
    fputs(co_tune_table_head, file);
    fprintf(file, "%s%s on ", by_whom, when);
    co_plain_put(file, machine.nodename);
    fputs(": ", file);
    put_processor(file, machine.machine);
    fprintf(file, ", %ld cores, %s %s; castoff %s, %s\n", sysconf(_SC_NPROCESSORS_ONLN), machine.sysname,
            machine.release, co_version_number(), co_version_mpi());
    put_command(file, command);
}

// Rows from `first` up to `end`.
static int put_rows(FILE *file, const struct co_tune_table *table, unsigned first, unsigned end)
{
    char text[CO_TUNE_ROW_TEXT_MAX + 1];
    struct co_tune_table *one = calloc(1, sizeof *one);
    if (!one) {
        return -ENOMEM;
    }
    one->count = 1;
    for (unsigned i = first; i < end; i++) {
        one->rows[0] = table->rows[i];
        co_tune_table_print(one, text, sizeof text);
        fputs(text, file);
    }
    free(one);
    return 0;
}

static int put_all(FILE *file, const struct co_tune_table *table, unsigned made, const struct earlier *earlier,
                   const char *command)
{
    put_head(file, command);
    int failed = put_rows(file, table, 0, made);
    if (table->count > made) {
        fprintf(file, "# of an earlier table, for other calls and places\n%s", earlier->text ? earlier->text : "");
        failed = failed ? failed : put_rows(file, table, made, table->count);
    }
    return failed;
}

static int explain(int failed, const char *path, char *why, size_t why_room)
{
    switch (failed) {
    case -E2BIG:
        snprintf(why, why_room, "%s: more than %d rows", path, CO_TUNE_ROWS_MAX);
        break;
    case -ENODATA:
        snprintf(why, why_room, "%s: the benchmark program did not say on how many nodes it ran", path);
        break;
    default:
        snprintf(why, why_room, "%s: %s", path, strerror(-failed));
    }
    return failed;
}

static int write_table(const char *path, const struct co_tune_table *table, int made, const struct earlier *earlier,
                       const char *command)
{
    FILE *file = fopen(path, "w"); // as output_file.h's: the user has written the name
    if (!file) {
        return -errno;
    }
    int failed = put_all(file, table, (unsigned)made, earlier, command);
    failed = ferror(file) ? -EIO : failed;
    return fclose(file) ? -errno : failed;
}

int co_bench_tune_check(const char *path, char *why, size_t why_room)
{
    struct co_tune_table *table = calloc(1, sizeof *table);
    int failed = table ? 0 : explain(-ENOMEM, path, why, why_room);
    if (!failed && access(path, F_OK) == 0) {
        failed = co_tune_table_load(table, path, why, why_room);
    }
    free(table);
    if (failed) {
        return failed;
    }
    failed = co_output_check(path);
    return failed ? explain(failed, path, why, why_room) : 0;
}

int co_bench_tune_write(const struct co_bench_results *results, const char *path, const char *command, char *why,
                        size_t why_room)
{
    struct co_tune_table *table = calloc(1, sizeof *table);
    struct earlier earlier = {0};
    int failed = table ? 0 : explain(-ENOMEM, path, why, why_room);
    if (!failed && access(path, F_OK) == 0) {
        failed = co_tune_table_load(table, path, why, why_room);
        if (!failed && (failed = read_origin(&earlier, path))) {
            explain(failed, path, why, why_room);
        }
    }
    if (!failed) {
        int made = co_bench_tune_make(table, results);
        failed = made < 0 ? made : write_table(path, table, made, &earlier, command);
        if (failed) {
            explain(failed, path, why, why_room);
        }
    }
    free(earlier.text);
    free(table);
    return failed;
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Writes traces for tests.
#include "analyze_traces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *analyze_directory_make(void)
{
    char pattern[] = "/tmp/castoff-analyze-XXXXXX";
    const char *made = mkdtemp(pattern);
    char *directory = made == NULL ? NULL : strdup(made);
    if (directory == NULL) {
        abort();
    }
    return directory;
}

static void empty(const char *directory)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    char path[512];
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(path) != 0) {
            empty(path);
            rmdir(path);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

void analyze_directory_remove(char *directory)
{
    empty(directory);
    rmdir(directory);
    free(directory);
}

static FILE *open_file(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        abort();
    }
    return file;
}

void analyze_file_write(const char *directory, const char *name, const void *bytes, size_t size)
{
    FILE *file = open_file(directory, name);
    fwrite(bytes, 1, size, file);
    fclose(file);
}

// Arguments end at blanks outside of brackets.
static void write_arguments(FILE *file, char *arguments)
{
    int depth = 0;
    fputs(*arguments == '\0' ? "" : "int ", file);
    for (char *at = arguments; *at != '\0'; at++) {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        fputs(*at == ' ' && depth == 0 ? "\nint " : (char[]){*at, '\0'}, file);
    }
    fputs(*arguments == '\0' ? "" : "\n", file);
}

void analyze_rank_write(const char *directory, int rank, const char *calls)
{
    char name[64], *copy = strdup(calls), *rest = copy, *line;
    snprintf(name, sizeof name, "t-%04d.txt", rank);
    FILE *file = open_file(directory, name);
    for (unsigned call = 0; (line = strsep(&rest, "\n")) != NULL; call++) {
        char *arguments = line + strcspn(line, " ");
        if (*line == '\0') {
            continue;
        }
        if (*arguments != '\0') {
            *arguments++ = '\0';
        }
        fprintf(file, "MPI_%s entering at walltime 1.%09u, cputime 0.0 seconds in thread 0.\n", line, 1000 * call);
        write_arguments(file, arguments);
        fprintf(file, "MPI_%s returning at walltime 1.%09u, cputime 0.0 seconds in thread 0.\n", line,
                1000 * call + 500);
    }
    fclose(file);
    free(copy);
}

static void complain(void *arg, const char *path, const struct co_note *note, enum co_application_fate fate)
{
    unsigned *complaints = arg;
    (void)path;
    (void)fate;
    assert_int_not_equal(note->why[0], '\0');
    ++*complaints;
}

void analyze_run(struct analyze_result *result, const char *directory)
{
    static const uint32_t bins[] = {1, 3, 16, 4096}, lanes[] = {1, 2, 64};
    const struct co_application_config config = {
        .scratch = "/tmp", .has_no_cache = true, .threads = 2, .complain = complain, .arg = &result->complaints};
    const struct co_analysis_config how = {.bins = bins, .bins_count = 4, .lanes = lanes, .lanes_count = 3};
    result->complaints = 0;
    assert_int_equal(co_application_open(&result->application, &directory, 1, &config), 0);
    assert_int_equal(co_analysis_run(&result->analysis, &result->application, &how), 0);
    assert_true(result->analysis.is_alike);
    for (size_t i = 0; i < result->analysis.replay.matcher_count; i++) {
        assert_int_equal(result->analysis.matchers[i].matches, result->analysis.replay.matches);
    }
}

void analyze_finish(struct analyze_result *result, char *directory)
{
    co_analysis_close(&result->analysis);
    co_application_close(&result->application);
    analyze_directory_remove(directory);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Reads and writes rows of the table of congestion_sweep.c.
#include "congestion_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOAL = 110 };

bool row_is_collected(const struct row *row)
{
    return row_is_decided(row) || strncmp(row->what, "collected", strlen("collected")) == 0;
}

bool row_is_decided(const struct row *row)
{
    return strncmp(row->what, "decided", strlen("decided")) == 0;
}

bool row_is_allgather(const struct row *row)
{
    return row_is_collected(row) || strncmp(row->what, "allgather", strlen("allgather")) == 0;
}

static bool read_row(struct row *row, const char *line)
{
    int fields = sscanf(line, "%15s %d %u %lf %u %7s %lf %u %7s %u %u %u %7s %u %u %u %u", row->what, &row->members,
                        &row->kib, &row->link_mbit, &row->link_kib, row->manner, &row->port_mbit, &row->port_kib,
                        row->ports, &row->delay_us, &row->jitter_us, &row->lost, row->stops, &row->stop_ms, &row->first,
                        &row->later, &row->again);
    const char *colon = strchr(row->what, ':');
    row->outstanding = fields < 1 || colon == NULL ? 1 : atoi(colon + 1);
    return fields == 17 && row->outstanding > 0;
}

static void row_print(const struct row *row, const struct result *result)
{
    printf("%s\t%d\t%u\t%g\t%u\t%s\t%g\t%u\t%s\t%u\t%u\t%u\t%s\t%u\t%u\t%u\t%u", row->what, row->members, row->kib,
           row->link_mbit, row->link_kib, row->manner, row->port_mbit, row->port_kib, row->ports, row->delay_us,
           row->jitter_us, row->lost, row->stops, row->stop_ms, result->first, result->later, result->again);
}

// What must not become worse: a little above what was measured.
static unsigned bound_of(unsigned measured)
{
    return measured == 0 ? 0 : measured + measured / 50 + 1;
}

bool row_is_reached(const struct result *result)
{
    return result->first <= GOAL && result->later <= GOAL && result->again <= GOAL;
}

bool row_judge(const struct row *row, const struct result *result, bool is_measuring)
{
    bool is_good = result->first <= row->first && result->later <= row->later && result->again <= row->again;
    if (is_measuring) {
        struct result bounds = {bound_of(result->first), bound_of(result->later), bound_of(result->again), 0};
        fputs(row->remark, stdout);
        row_print(row, &bounds);
    } else {
        row_print(row, result);
        printf("\t%u.%u %% sent again%s", result->share / 10, result->share % 10,
               row_is_reached(result) ? "" : ", goal not reached");
        if (!is_good) {
            printf(", FAILED: bounds %u %u %u", row->first, row->later, row->again);
        }
    }
    printf("\n");
    return is_good;
}

size_t rows_read(struct row *rows, const char *path, const char *word)
{
    FILE *file = fopen(path, "r");
    char line[300];
    size_t count = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#' && count < ROWS_MAX) {
            strncat(rows[count].remark, line, sizeof(rows[count].remark) - strlen(rows[count].remark) - 1);
            continue;
        }
        if (word != NULL && strstr(line, word) == NULL) {
            continue;
        }
        if (count == ROWS_MAX || !read_row(&rows[count], line)) {
            fprintf(stderr, "%s: no row: %s", path, line);
            exit(2);
        }
        count++;
    }
    if (file == NULL || count == 0) {
        fprintf(stderr, "%s: no rows\n", path);
        exit(2);
    }
    fclose(file);
    return count;
}

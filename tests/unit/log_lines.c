// SPDX-License-Identifier: BSD-3-Clause
#include "log_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/settings.h"

static char path[] = "/tmp/castoff-log.XXXXXX";

void log_lines_open(const char *level, const char *subsystem)
{
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    close(mkstemp(path));
    setenv("CASTOFF_LOG", level, 1);
    setenv("CASTOFF_LOG_SUBSYS", subsystem, 1);
    setenv("CASTOFF_LOG_FILE", path, 1);
    co_settings_forget();
    co_settings_load();
    co_log_open(0);
}

int log_lines_close(void **state)
{
    (void)state;
    co_log_close();
    unlink(path);
    return 0;
}

int log_lines_count(const char *end)
{
    char line[1100];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *found = strstr(line, end);
        count += found != NULL && strcmp(found + strlen(end), "\n") == 0;
    }
    fclose(file);
    return count;
}

int log_lines_read(char lines[][LOG_LINE_BYTES], int most)
{
    char line[1100];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (count < most && fgets(line, sizeof line, file) != NULL) {
        const char *text = strstr(line, "] ");
        assert_non_null(text);
        text += strlen("] ");
        if (strncmp(text, "debug: ", strlen("debug: ")) == 0) {
            continue;
        }
        text += strncmp(text, "trace: ", strlen("trace: ")) == 0 ? strlen("trace: ") : 0;
        snprintf(lines[count], LOG_LINE_BYTES, "%.*s", LOG_LINE_BYTES - 1, text);
        lines[count][strcspn(lines[count], "\n")] = '\0';
        count++;
    }
    fclose(file);
    return count;
}

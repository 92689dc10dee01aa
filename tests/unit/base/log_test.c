// SPDX-License-Identifier: BSD-3-Clause
//
// The log: prefix, levels and subsystems, files by pattern, and that nothing in a message can forge another line.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/settings.h"

static char directory[] = "/tmp/castoff-log-test.XXXXXX";
static char content[8192];

static const char *path_of(const char *file)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, file);
    return path;
}

static const char *content_of(const char *file)
{
    FILE *stream = fopen(path_of(file), "r");
    size_t length;

    if (!stream) {
        return NULL;
    }
    length = fread(content, 1, sizeof content - 1, stream);
    content[length] = '\0';
    fclose(stream);
    return content;
}

static void open_log(int rank, const char *level, const char *subsys, const char *pattern)
{
    setenv("CASTOFF_LOG", level, 1);
    setenv("CASTOFF_LOG_SUBSYS", subsys, 1);
    setenv("CASTOFF_LOG_FILE", path_of(pattern), 1);
    co_settings_forget();
    co_settings_load();
    co_log_open(rank);
}

static int tidy(void **state)
{
    (void)state;
    co_log_close();
    unlink(path_of("log"));
    return 0;
}

static void a_line_says_who_speaks(void **state)
{
    char prefix[128], host[64] = "";

    (void)state;
    open_log(5, "info", "", "log");
    errno = ENOENT;
    co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "the answer is %d", 42);
    assert_int_equal(errno, ENOENT);
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    snprintf(prefix, sizeof prefix, "[5@%s:%d engine] info: the answer is 42\n", host, (int)getpid());
    assert_string_equal(content_of("log"), prefix);
}

static void an_unknown_rank_is_a_dash(void **state)
{
    (void)state;
    open_log(-1, "info", "", "log");
    co_log(CO_LOG_INFO, CO_SUBSYS_UDP, "hello");
    assert_int_equal(strncmp(content_of("log"), "[-@", 3), 0);
}

static void levels_and_subsystems_choose(void **state)
{
    (void)state;
    open_log(0, "info", "udp,shm", "log");
    assert_true(co_log_is_on(CO_LOG_INFO, CO_SUBSYS_UDP));
    assert_true(co_log_is_on(CO_LOG_INFO, CO_SUBSYS_SHM));
    assert_false(co_log_is_on(CO_LOG_DEBUG, CO_SUBSYS_UDP));
    assert_false(co_log_is_on(CO_LOG_WARN, CO_SUBSYS_ENGINE));
    assert_true(co_log_is_on(CO_LOG_ERROR, CO_SUBSYS_ENGINE)); // errors are always on
    co_log(CO_LOG_DEBUG, CO_SUBSYS_UDP, "not this");
    co_log(CO_LOG_INFO, CO_SUBSYS_UDP, "but this");
    assert_null(strstr(content_of("log"), "not this"));
    assert_non_null(strstr(content, "] info: but this\n"));
    open_log(0, "warn", "", "log");
    for (int subsys = 0; subsys < CO_SUBSYS_COUNT; subsys++) {
        assert_true(co_log_is_on(CO_LOG_WARN, subsys));
        assert_false(co_log_is_on(CO_LOG_INFO, subsys));
    }
}

static void a_message_cannot_forge_a_line(void **state)
{
    (void)state;
    open_log(0, "info", "", "log");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "one\n[0@x:1 base] error: two\033[2J\x7f");
    assert_non_null(strstr(content_of("log"), "one [0@x:1 base] error: two?[2J?\n"));
    assert_ptr_equal(strchr(content, '\n'), content + strlen(content) - 1);
    // C1, as one byte and in UTF-8, does what escape sequences do; other letters are left alone.
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "%s",
           "three \x9b"
           "2J \xc2\x9b"
           "2J \xc3\xa4 \xc3");
    assert_non_null(strstr(content_of("log"), "three ?2J ??2J \xc3\xa4 ?\n"));
}

static void a_long_message_is_cut(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    open_log(0, "info", "", "log");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "%s", text);
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "after");
    assert_non_null(strstr(content_of("log"), "aaa...\n["));
    assert_non_null(strstr(content, "after\n"));
    assert_true(strlen(content) < 1200);
}

static void raw_text_has_no_prefix(void **state)
{
    (void)state;
    open_log(0, "error", "", "log");
    co_log_text("a report\nof two lines\n");
    assert_string_equal(content_of("log"), "a report\nof two lines\n");
    co_log_text("a\x1b]0;title\x07\x7f\n\tb \xc2\x9b"
                "2J \x9b"
                "2J \xc3\xa4 \xc3");
    assert_string_equal(content_of("log"), "a report\nof two lines\na?]0;title??\n\tb ??2J ?2J \xc3\xa4 ?");
}

static void the_file_name_is_filled_in(void **state)
{
    char expected[160], host[64] = "";

    (void)state;
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    snprintf(expected, sizeof expected, "a3-%s-%d%%", host, (int)getpid());
    open_log(3, "info", "", "a%r-%h-%p%");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "here");
    assert_non_null(content_of(expected));
    assert_non_null(strstr(content, "here\n"));
    unlink(path_of(expected));
}

static void an_open_log_can_be_opened_again(void **state)
{
    (void)state;
    open_log(1, "info", "", "log");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "first");
    co_log_open(2);
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "second");
    assert_int_equal(strncmp(content_of("log"), "[1@", 3), 0);
    assert_non_null(strstr(content, "first\n[2@"));
}

// Stderr of the process goes to a file while `act` runs.
static const char *stderr_of(void (*act)(void))
{
    int saved = dup(STDERR_FILENO);

    assert_non_null(freopen(path_of("stderr"), "w", stderr));
    act();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    const char *text = content_of("stderr");
    unlink(path_of("stderr"));
    return text;
}

static void open_in_missing_directory(void)
{
    open_log(0, "info", "", "missing/log");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "still logged");
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    const char *text = stderr_of(open_in_missing_directory);

    (void)state;
    assert_non_null(strstr(text, "cannot write the log file "));
    assert_non_null(strstr(text, "missing/log: No such file or directory; logging to stderr (CASTOFF_LOG_FILE)\n"));
    assert_non_null(strstr(text, "still logged\n"));
}

static void open_fifo(void)
{
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    open_log(0, "info", "", "fifo");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "still logged");
}

static void a_fifo_without_reader_holds_nobody_up(void **state)
{
    const char *text = stderr_of(open_fifo);

    (void)state;
    unlink(path_of("fifo"));
    assert_non_null(strstr(text, "fifo: No such device or address; logging to stderr (CASTOFF_LOG_FILE)\n"));
    assert_non_null(strstr(text, "still logged\n"));
}

static void log_to_full_disk(void)
{
    assert_int_equal(symlink("/dev/full", path_of("log")), 0);
    open_log(0, "info", "", "log");
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "nobody has to know");
    co_log(CO_LOG_WARN, CO_SUBSYS_BASE, "somebody has to know");
    co_log_text("a report\n");
}

static void a_full_disk_is_told_once_and_loses_no_warning(void **state)
{
    const char *text = stderr_of(log_to_full_disk), *told = "the log file takes no more: No space left on device";

    (void)state;
    assert_non_null(strstr(text, "[0@"));
    assert_non_null(strstr(text, told));
    assert_null(strstr(strstr(text, told) + 1, told));
    assert_null(strstr(text, "nobody has to know"));
    assert_non_null(strstr(text, "warn: somebody has to know\na report\n"));
}

// As a daemon does that closes all descriptors it does not know, and then opens its own files.
static void a_file_of_the_programs_gets_no_line(void **state)
{
    int own = open(path_of("log"), O_RDWR | O_CREAT | O_CLOEXEC, 0600), log, theirs;

    (void)state;
    assert_true(own >= 0);
    close(own);
    open_log(1, "info", "all", "log"); // takes the lowest number that is free, as open did
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "before");
    log = own;
    close(log);
    theirs = open(path_of("theirs"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(theirs, log);
    co_log(CO_LOG_INFO, CO_SUBSYS_BASE, "to stderr");
    co_log_close();
    assert_int_equal(fcntl(theirs, F_GETFD), FD_CLOEXEC);
    close(theirs);
    assert_string_equal(content_of("theirs"), "");
    assert_non_null(strstr(content_of("log"), "before"));
    assert_null(strstr(content_of("log"), "stderr"));
    unlink(path_of("theirs"));
}

static void every_subsystem_can_be_chosen(void **state)
{
    static const char *const names[] = {"base", "pmpi", "engine", "mcast", "udp", "shm", "verbs", "p2p"};

    (void)state;
    for (int i = 0; i < CO_SUBSYS_COUNT; i++) {
        open_log(0, "info", names[i], "log");
        for (int j = 0; j < CO_SUBSYS_COUNT; j++) {
            assert_int_equal(co_log_is_on(CO_LOG_INFO, (enum co_log_subsys)j), i == j);
        }
        co_log_close();
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    tidy(state);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_says_who_speaks, tidy),
        cmocka_unit_test_teardown(an_unknown_rank_is_a_dash, tidy),
        cmocka_unit_test_teardown(levels_and_subsystems_choose, tidy),
        cmocka_unit_test_teardown(a_message_cannot_forge_a_line, tidy),
        cmocka_unit_test_teardown(a_long_message_is_cut, tidy),
        cmocka_unit_test_teardown(raw_text_has_no_prefix, tidy),
        cmocka_unit_test_teardown(the_file_name_is_filled_in, tidy),
        cmocka_unit_test_teardown(an_open_log_can_be_opened_again, tidy),
        cmocka_unit_test_teardown(a_file_that_cannot_be_written_is_named, tidy),
        cmocka_unit_test(a_fifo_without_reader_holds_nobody_up),
        cmocka_unit_test_teardown(a_full_disk_is_told_once_and_loses_no_warning, tidy),
        cmocka_unit_test_teardown(a_file_of_the_programs_gets_no_line, tidy),
        cmocka_unit_test_teardown(every_subsystem_can_be_chosen, tidy),
    };

    return cmocka_run_group_tests_name("log", tests, make_directory, remove_directory);
}

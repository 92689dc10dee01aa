// SPDX-License-Identifier: BSD-3-Clause
//
// Bad days of a port, by a clock of the test's and a device that is none: one that comes back is noticed, one that
// stays away is given up after the deadline, and time in which nobody looked, as that of a process that was stopped or
// of a machine that slept, is not part of it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

#define DEADLINE_NS (UINT64_C(120) * CO_NS_PER_S)
#define TURN_NS (UINT64_C(10) * CO_NS_PER_MS) // from one poll to the next

static struct ibv_context context;
static struct co_verbs verbs;
static bool is_down;
static uint64_t now_ns;
static char said[400];

uint64_t co_clock_now_ns(void)
{
    return now_ns;
}

uint64_t co_clock_wall_ns(void)
{
    return now_ns;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *of, uint8_t port, struct _compat_ibv_port_attr *facts)
{
    (void)of, (void)port;
    ((struct ibv_port_attr *)facts)->state = is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    (void)channel, (void)event;
    return -1; // there is none
}

static void count(enum co_verbs_count what, uint64_t number)
{
    (void)what, (void)number;
}

static void warn(const char *text)
{
    strncat(said, text, sizeof said - strlen(said) - 1);
}

static int nothing_made(void *arg, void *start, size_t bytes, void **handle)
{
    (void)arg, (void)start, (void)bytes, (void)handle;
    return -ENOMEM;
}

static int open_port(void **state)
{
    static const struct co_registration_config nothing = {.make = nothing_made};
    (void)state;
    context = (struct ibv_context){.async_fd = eventfd(0, EFD_CLOEXEC)};
    verbs = (struct co_verbs){.config = {.count = count, .warn = warn, .give_up_ns = DEADLINE_NS},
                              .device = "rxe0",
                              .context = &context,
                              .port = 1,
                              .group_count = 1};
    now_ns = CO_NS_PER_S;
    is_down = false;
    said[0] = '\0';
    return context.async_fd < 0 ? -1 : co_registration_cache_open(&verbs.registrations, &nothing);
}

static int close_port(void **state)
{
    (void)state;
    co_registration_cache_close(verbs.registrations);
    return close(context.async_fd);
}

static void look(void)
{
    co_verbs_health_progress(&verbs, false, true);
}

// Whoever waits polls all the time.
static void poll_for(uint64_t duration_ns)
{
    for (uint64_t end_ns = now_ns + duration_ns; now_ns < end_ns; now_ns += TURN_NS) {
        look();
    }
}

// As an event of the device does.
static void lose_port(void)
{
    is_down = true;
    verbs.failed_rings = 1; // what was sent has failed
    poll_for(CO_NS_PER_S);
    assert_non_null(strstr(said, "port 1 is down"));
    verbs.failed_rings = 0;
}

static void a_port_that_comes_back_is_noticed(void **state)
{
    (void)state;
    lose_port();
    poll_for(DEADLINE_NS - 3 * CO_NS_PER_S);
    assert_int_equal(verbs.broken, 0);
    assert_null(strstr(said, "active again"));
    is_down = false;
    poll_for(CO_NS_PER_S);
    assert_non_null(strstr(said, "active again"));
    poll_for(2 * DEADLINE_NS);
    assert_int_equal(verbs.broken, 0);
}

static void a_port_that_stays_away_is_given_up(void **state)
{
    (void)state;
    lose_port();
    poll_for(DEADLINE_NS - 3 * CO_NS_PER_S);
    assert_int_equal(verbs.broken, 0);
    poll_for(4 * CO_NS_PER_S);
    assert_int_equal(verbs.broken, -ENETDOWN);
    assert_non_null(strstr(said, "stays down"));
}

static void who_was_away_has_not_waited(void **state)
{
    (void)state;
    lose_port();
    now_ns += 10 * DEADLINE_NS;
    poll_for(DEADLINE_NS / 2); // for a link that comes back as late as we do
    assert_int_equal(verbs.broken, 0);
    is_down = false;
    poll_for(CO_NS_PER_S);
    assert_non_null(strstr(said, "active again"));
    assert_int_equal(verbs.broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_port_that_comes_back_is_noticed, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_port_that_stays_away_is_given_up, open_port, close_port),
        cmocka_unit_test_setup_teardown(who_was_away_has_not_waited, open_port, close_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments as dumpi2ascii prints them: `int count=1`, `MPI_Request request=[2]`, `requests[2]=[2, 3]`, `int
// indices[1]=[0]`, `statuses[1]=[{bytes=4, cancelled=0, source=1, tag=1, error=0}]`, `<IGNORED>`. Any bytes may come.
// Hot.
#include "tools/trace/read/dumpi_text.h"

#include <stdlib.h>
#include <string.h>

struct text {
    const char *at, *end;
};

static bool take_number(struct text *text, int64_t *number)
{
    bool is_negative = text->at < text->end && *text->at == '-';
    const char *at = text->at + is_negative;
    int64_t value = 0;
    if (at == text->end || *at < '0' || *at > '9') {
        return false;
    }
    while (at < text->end && *at >= '0' && *at <= '9') {
        value = value > INT64_MAX / 10 - 10 ? value : 10 * value + (*at - '0');
        at++;
    }
    *number = is_negative ? -value : value;
    text->at = at;
    return true;
}

static int32_t fit(int64_t number)
{
    return number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

// To the next number: past brackets, commas and blanks.
static bool reach_number(struct text *text)
{
    while (text->at < text->end && strchr("[], ", *text->at) != NULL && *text->at != '\0') {
        text->at++;
    }
    return text->at < text->end && (*text->at == '-' || (*text->at >= '0' && *text->at <= '9'));
}

// Room for one more; false: no more of them.
static bool make_room(void **list, uint32_t *room, uint32_t count, size_t element)
{
    if (count < *room) {
        return true;
    }
    uint32_t more = *room == 0 ? 64 : 2 * *room;
    void *larger = more > CO_CALL_NUMBERS_MAX ? NULL : realloc(*list, more * element);
    if (larger == NULL) {
        return false;
    }
    *list = larger;
    *room = more;
    return true;
}

static uint32_t take_requests(struct text *text, struct co_text_lists *lists)
{
    uint32_t count = 0;
    int64_t number;
    void *list = lists->requests;
    while (reach_number(text) && take_number(text, &number) &&
           make_room(&list, &lists->requests_room, count, sizeof *lists->requests)) {
        lists->requests = list;
        lists->requests[count++] = (uint64_t)number;
    }
    return count;
}

// Behind `count` that are there; how many there are then.
static uint32_t take_numbers(struct text *text, int32_t **numbers, uint32_t *room, uint32_t count)
{
    int64_t number;
    void *list = *numbers;
    while (reach_number(text) && take_number(text, &number) && make_room(&list, room, count, sizeof **numbers)) {
        *numbers = list;
        (*numbers)[count++] = fit(number);
    }
    return count;
}

// Behind `name=` inside one pair of braces.
static int32_t member_of(struct text text, const char *name)
{
    size_t length = strlen(name);
    int64_t number;
    for (; (size_t)(text.end - text.at) > length; text.at++) {
        if (memcmp(text.at, name, length) == 0) {
            text.at += length;
            return take_number(&text, &number) ? fit(number) : CO_CALL_NOT_KNOWN;
        }
    }
    return CO_CALL_NOT_KNOWN;
}

static uint32_t take_statuses(struct text *text, struct co_text_lists *lists)
{
    uint32_t count = 0;
    void *list = lists->statuses;
    for (;;) {
        const char *open = memchr(text->at, '{', (size_t)(text->end - text->at));
        const char *close = open == NULL ? NULL : memchr(open, '}', (size_t)(text->end - open));
        if (close == NULL || !make_room(&list, &lists->statuses_room, count, sizeof *lists->statuses)) {
            return count;
        }
        lists->statuses = list;
        struct text inside = {open, close};
        lists->statuses[count++] = (struct co_call_status){.source = member_of(inside, "source="),
                                                           .tag = member_of(inside, "tag="),
                                                           .bytes = member_of(inside, "bytes="),
                                                           .is_cancelled = member_of(inside, "cancelled=") == 1};
        text->at = close;
    }
}

static bool is(const char *name, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(name, wanted, length) == 0;
}

// Where a number by this name goes; NULL: nowhere, or not an int32_t.
static int32_t *place_of(struct co_dumpi_text *text, struct co_traced_call *call, const char *name, size_t length)
{
    const struct {
        const char *name;
        int32_t *place;
    } places[] = {
        {"dest", &call->peer},
        {"source", call->op == CO_CALL_SENDRECV || call->op == CO_CALL_CART_SHIFT ? &call->source : &call->peer},
        {"tag", &call->tag},
        {"sendtag", &call->tag},
        {"recvtag", &call->receive_tag},
        {"index", call->op == CO_CALL_GRAPH_CREATE ? NULL : &call->index},
        {"flag", &text->flag},
        {"root", &call->root},
        {"localleader", &call->root},
        {"remoteleader", &call->peer},
        {"color", &call->color},
        {"key", &call->key},
        {"reorder", &call->reorder},
        {"high", &call->reorder},
        {"direction", &call->color},
        {"displ", &call->key},
        {"size", &call->result},
        {"rank", &call->result},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (is(name, length, places[i].name)) {
            return places[i].place;
        }
    }
    return NULL;
}

static uint32_t *handle_of(struct co_dumpi_text *text, struct co_traced_call *call, const char *name, size_t length)
{
    bool makes_group =
        call->op == CO_CALL_COMM_GROUP || call->op == CO_CALL_COMM_REMOTE_GROUP || call->op == CO_CALL_GROUP_UNKNOWN;
    const struct {
        const char *name;
        uint32_t *place;
    } places[] = {
        {"comm", &call->comm},          {"oldcomm", &call->comm},
        {"newcomm", &call->new_comm},   {"group", makes_group ? &call->new_group : &call->group},
        {"newgroup", &call->new_group}, {"datatype", &text->type},
        {"sendtype", &text->type},      {"group1", &call->group},
        {"group2", &call->other_group}, {"parent", &call->new_comm},
        {"localcomm", &call->comm},     {"remotecomm", &call->other_group},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (is(name, length, places[i].name)) {
            return places[i].place;
        }
    }
    return NULL;
}

static void keep_list(struct co_dumpi_text *text, struct co_traced_call *call, const char *name, size_t length,
                      struct text *value)
{
    struct co_text_lists *lists = &text->lists;
    if (is(name, length, "requests")) {
        call->request_count = take_requests(value, lists);
        call->requests = lists->requests;
    } else if (is(name, length, "indices")) {
        call->index_count = take_numbers(value, &lists->indices, &lists->indices_room, 0);
        call->indices = lists->indices;
    } else if (is(name, length, "status") || is(name, length, "statuses")) {
        call->status_count = take_statuses(value, lists);
        call->statuses = lists->statuses;
    } else if (is(name, length, "ranks") || is(name, length, call->op == CO_CALL_CART_GET ? "coords" : "dims") ||
               is(name, length, "remain_dims") || is(name, length, "index") || is(name, length, "ranges")) {
        call->number_count = take_numbers(value, &lists->numbers, &lists->numbers_room, 0);
        call->numbers = lists->numbers;
    }
}

static void keep(struct co_dumpi_text *text, struct co_traced_call *call, const char *name, size_t length,
                 struct text *value)
{
    int64_t number = 0;
    int32_t *place = place_of(text, call, name, length);
    uint32_t *handle = place == NULL ? handle_of(text, call, name, length) : NULL;
    bool is_count = is(name, length, "count") || is(name, length, "sendcount");
    if (place == NULL && handle == NULL && !is_count && !is(name, length, "request")) {
        keep_list(text, call, name, length, value);
        return;
    }
    if (!reach_number(value) || !take_number(value, &number)) {
        return;
    }
    if (place != NULL) {
        *place = fit(number);
        text->has_flag = text->has_flag || place == &text->flag;
    } else if (handle != NULL) {
        *handle = (uint32_t)number;
    } else if (is_count) {
        text->count = number;
    } else {
        call->request = (uint64_t)number;
    }
}

bool co_dumpi_text_argument(struct co_dumpi_text *text, struct co_traced_call *call, const char *line, size_t length)
{
    const char *end = line + length, *blank = memchr(line, ' ', length);
    const char *equals = blank == NULL ? NULL : memchr(blank, '=', (size_t)(end - blank));
    if (call->op >= CO_CALL_GROUP_RANGE_INCL && call->op <= CO_CALL_GROUP_RANGE_EXCL && call->number_count > 0 &&
        length > 0 && *line == ',') { // each range but the first one begins a line
        struct text more = {line, end};
        call->number_count = take_numbers(&more, &text->lists.numbers, &text->lists.numbers_room, call->number_count);
        call->numbers = text->lists.numbers;
        return true;
    }
    if (equals == NULL) {
        return length > 0 && (memcmp(line, "Perf", length < 4 ? length : 4) == 0 || memchr(line, ']', length) != NULL);
    }
    if (call->op == CO_CALL_NOTHING) {
        return true;
    }
    const char *name = blank + 1, *bracket = memchr(name, '[', (size_t)(equals - name));
    struct text value = {equals + 1, end};
    if (value.at < value.end && *value.at != '<') { // <IGNORED>
        keep(text, call, name, (size_t)((bracket != NULL ? bracket : equals) - name), &value);
    }
    return true;
}

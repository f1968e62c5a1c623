/* Each allocation fails in turn: the rows stay as they were, and the next call completes what failed. */
#include "cli/lines/fold.h"
#include "cli/rows/rows.h"
#include "cli/top/history.h"
#include "tests/support/libc/failing_libc.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

/* ---- the stage ---- */

enum {
    OBJECTS = 6,
    TEXT_MAX = 4096
};

static const int64_t wall_ms = INT64_C(1700000000000);

/* A table with a grouping, a query and some objects, and changes of these. */
typedef struct stage {
    ki_columns *columns;
    ki_object *before[OBJECTS], *after[OBJECTS];
    query query;
    rows *rows;
    int64_t now_ms;
} stage;

static ki_object *make_pod(int number, const char *phase, const char *owner) {
    char json[512];
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"pod-%d\",\"namespace\":\"x\",\"creationTimestamp\":\"2023-11-14T22:13:%dZ\","
        "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"%s\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n\","
        "\"containers\":[{\"name\":\"a\"}]},\"status\":{\"phase\":\"%s\"}}",
        number, 10 + number, owner, phase);
    return make_object_from_json(json);
}

static void take(stage *s, change_type type, const ki_object *obj) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(rows_change(s->rows, type, obj, false, wall_ms, &err), KI_OK);
}

static void settle(stage *s) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(rows_settle(s->rows, s->now_ms, wall_ms, &err), KI_OK);
}

static stage open_stage(void) {
    static const char *const owners[] = { "a", "b", "c" };
    ki_error err = KI_ERROR_INIT;
    char message[FILTER_MESSAGE_MAX];
    stage s = { .now_ms = 1000 };
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &s.columns, &err), KI_OK);
    assert_true(query_open(&s.query, "pod !missing metadata.name!=pod-1", s.columns, message));
    s.rows = rows_new(s.columns, false);
    for (int i = 0; i < OBJECTS; i++) {
        s.before[i] = make_pod(i, "Running", owners[i % 2]);
        s.after[i] = make_pod(i, i % 2 ? "Failed" : "Pending", owners[i % 3]);
        if (i < OBJECTS - 2)
            take(&s, CHANGE_ADDED, s.before[i]);
    }
    rows_group(s.rows, GROUP_OWNER);
    settle(&s);
    rows_toggle(s.rows, "job x/a");
    settle(&s);
    return s;
}

static void close_stage(stage *s) {
    for (int i = 0; i < OBJECTS; i++) {
        ki_object_unref(s->before[i]);
        ki_object_unref(s->after[i]);
    }
    rows_free(s->rows);
    query_close(&s->query);
    ki_columns_free(s->columns);
}

/* Writes all that is shown. */
static void write_rows(const stage *s, char text[TEXT_MAX]) {
    int size = snprintf(text, TEXT_MAX, "%zu %zu %zu\n", rows_count(s->rows), rows_count_passing(s->rows),
                        tally_count(rows_tally(s->rows), "Running"));
    for (size_t i = 0; i < rows_line_count(s->rows) && size < TEXT_MAX - OWNER_MAX; i++) {
        const rows_line l = rows_line_at(s->rows, i);
        const char *text_of = l.group ? l.group : ki_object_key(l.obj);
        size +=
            snprintf(text + size, TEXT_MAX - (size_t)size, "%s %zu %d %d %d %llx\n", text_of,
                     l.group ? l.counts->objects : 0, (int)l.worst, l.is_open, (int)l.state, (unsigned long long)l.lit);
        assert_int_equal(rows_line_of(s->rows, l.group ? NULL : text_of, l.group), i);
    }
}

/* ---- what fails ---- */

static ki_status nothing(stage *s, ki_error *err) {
    (void)s, (void)err;
    return KI_OK;
}

static ki_status add(stage *s, ki_error *err) {
    return rows_change(s->rows, CHANGE_ADDED, s->before[4], false, wall_ms, err);
}

static ki_status modify(stage *s, ki_error *err) {
    return rows_change(s->rows, CHANGE_MODIFIED, s->after[1], false, wall_ms, err);
}

static ki_status delete_one(stage *s, ki_error *err) {
    return rows_change(s->rows, CHANGE_DELETED, s->after[2], false, wall_ms, err);
}

static ki_status settle_rows(stage *s, ki_error *err) {
    return rows_settle(s->rows, s->now_ms, wall_ms, err);
}

static ki_status filter_rows(stage *s, ki_error *err) {
    return rows_filter(s->rows, &s->query, err);
}

static ki_status change_all(stage *s, ki_error *err) {
    take(s, CHANGE_ADDED, s->after[5]);
    return add(s, err) || modify(s, err) || delete_one(s, err);
}

/* A deleted row ends. */
static ki_status delete_and_wait(stage *s, ki_error *err) {
    ki_status status = delete_one(s, err);
    settle(s);
    s->now_ms += ROWS_LIT_MS;
    return status ? status : modify(s, err);
}

static ki_status want_all(stage *s, ki_error *err) {
    rows_sort(s->rows, 2, true);
    return filter_rows(s, err);
}

static ki_status group_by_node(stage *s, ki_error *err) {
    (void)err;
    rows_group(s->rows, GROUP_NODE);
    return KI_OK;
}

static ki_status do_without_failures(ki_status (*action)(stage *s, ki_error *err), stage *s) {
    ki_error err = KI_ERROR_INIT;
    libc_allocations = SIZE_MAX;
    return action(s, &err);
}

/* Writes the rows after `prepare` and `action`, if allocation number `fail_at` of the action fails. Returns false once
 * none has failed. */
static bool try_with(ki_status (*prepare)(stage *s, ki_error *err), ki_status (*action)(stage *s, ki_error *err),
                     size_t fail_at, char text[TEXT_MAX]) {
    char before[TEXT_MAX], after[TEXT_MAX];
    ki_error err = KI_ERROR_INIT;
    stage s = open_stage();
    assert_int_equal(do_without_failures(prepare, &s), KI_OK);
    write_rows(&s, before);
    libc_allocations = fail_at;
    libc_has_failed = false;
    ki_status status = action(&s, &err);
    libc_allocations = SIZE_MAX;
    if (status) {
        assert_true(libc_has_failed);
        assert_int_equal(status, KI_ERR_NO_MEMORY);
        write_rows(&s, after);
        assert_string_equal(after, before);
        assert_int_equal(do_without_failures(action, &s), KI_OK);
    }
    settle(&s);
    write_rows(&s, text);
    close_stage(&s);
    return libc_has_failed;
}

TEST(after_a_failure_the_rows_are_as_before_and_the_next_call_completes_it) {
    static const struct {
        ki_status (*prepare)(stage *s, ki_error *err);
        ki_status (*action)(stage *s, ki_error *err);
    } cases[] = {
        { nothing, add },
        { nothing, modify },
        { nothing, delete_one },
        { nothing, filter_rows },
        { change_all, settle_rows },
        { want_all, settle_rows },
        { group_by_node, settle_rows },
        { delete_and_wait, settle_rows },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[TEXT_MAX], text[TEXT_MAX];
        size_t failures = 0;
        assert_false(try_with(cases[i].prepare, cases[i].action, SIZE_MAX, expected));
        while (try_with(cases[i].prepare, cases[i].action, failures, text)) {
            assert_string_equal(text, expected);
            failures++;
        }
        assert_true(failures >= 2);
    }
}

TEST(rows_and_a_history_need_memory) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err), KI_OK);
    for (size_t i = 0; i < 2; i++) {
        libc_allocations = i;
        assert_null(rows_new(columns, false));
        libc_allocations = SIZE_MAX;
    }
    libc_allocations = 0;
    assert_null(history_new(1000));
    libc_allocations = SIZE_MAX;
    history *h = history_new(1000);
    assert_true(history_add(h, "a", "1"));
    libc_allocations = 0;
    assert_false(history_add(h, "a", "2"));
    libc_allocations = SIZE_MAX;
    assert_string_equal(history_next(h, "a", NULL)->text, "1");
    history_free(h);
    ki_columns_free(columns);
}

TEST(a_query_needs_memory) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err), KI_OK);
    for (size_t i = 0; i < 2; i++) {
        query q;
        char message[FILTER_MESSAGE_MAX];
        libc_allocations = i;
        bool is_open = query_open(&q, "shop", columns, message);
        libc_allocations = SIZE_MAX;
        assert_false(is_open);
        assert_string_equal(message, "out of memory");
        query_close(&q);
    }
    ki_columns_free(columns);
}

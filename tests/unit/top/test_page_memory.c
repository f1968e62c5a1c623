/* Each allocation of kinformer top fails in turn: the failure is reported, or what is shown is complete. */
#include "cli/screen/screen.h"
#include "cli/top/inquiry.h"
#include "cli/top/page.h"
#include "tests/support/libc/failing_libc.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    PODS = 4,
    EVENTS = 2,
    TEXT_MAX = 16 * 1024
};

static const moment now = { .now_ms = 5000, .wall_ms = INT64_C(1700000000000) };

typedef struct show {
    ki_columns *columns, *event_columns;
    tab tab;
    model model;
    canvas *canvas;
    ki_object *before[PODS], *after[PODS], *events[EVENTS];
} show;

static ki_object *make_pod(int number, const char *phase) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a-name-that-is-shortened-%d\",\"namespace\":\"shop\",\"uid\":"
             "\"%d\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"%s\"}}",
             number, number, phase);
    return make_object_from_json(json);
}

static show *new_show(void) {
    show *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &s->columns, NULL), KI_OK);
    assert_int_equal(ki_columns_new(KI_EVENTS, NULL, 0, NULL, &s->event_columns, NULL), KI_OK);
    for (int i = 0; i < PODS; i++) {
        s->before[i] = make_pod(i, "Running");
        s->after[i] = make_pod(i, "Failed");
    }
    for (int i = 0; i < EVENTS; i++)
        s->events[i] = make_object_from_json("{\"kind\":\"Event\",\"metadata\":{\"name\":\"e\"},\"type\":\"Warning\","
                                             "\"reason\":\"BackOff\",\"message\":\"failed\"}");
    return s;
}

static void free_show(show *s) {
    model_close(&s->model);
    tab_close(&s->tab);
    canvas_free(s->canvas);
    for (int i = 0; i < PODS; i++) {
        ki_object_unref(s->before[i]);
        ki_object_unref(s->after[i]);
    }
    for (int i = 0; i < EVENTS; i++)
        ki_object_unref(s->events[i]);
    ki_columns_free(s->columns);
    ki_columns_free(s->event_columns);
    free(s);
}

static ki_status take(show *s, change_type type, int index, bool is_initial) {
    ki_object *obj = type == CHANGE_MODIFIED ? s->after[index] : s->before[index];
    const tab_change change = { .type = type,
                                .old = type == CHANGE_MODIFIED ? s->before[index] : NULL,
                                .obj = obj,
                                .kept = obj,
                                .is_initial = is_initial,
                                .clock = "18:45:55" };
    return tab_take(&s->tab, &change, now, NULL);
}

static ki_status draw(show *s) {
    ki_status status = model_settle(&s->model, now, NULL);
    s->model.details = (details){ .owners = "set",
                                  .events = (const ki_object *const *)s->events,
                                  .event_count = EVENTS,
                                  .event_columns = s->event_columns };
    if (!status && !canvas_begin(s->canvas, 50, 24))
        status = KI_ERR_NO_MEMORY;
    return status ? status : page_draw(&s->model, s->canvas, now, NULL);
}

/* Presses keys, each with its picture. */
static ki_status press(show *s, const int *keys) {
    ki_status status = KI_OK;
    for (; *keys && !status; keys++) {
        status = model_key(&s->model, *keys, NULL);
        if (!status)
            status = draw(s);
    }
    return status;
}

static ki_status open_all(show *s) {
    const tab_options is = { .plural = "pods", .kind = "Pod", .columns = s->columns, .has_namespaces = true };
    s->canvas = canvas_new();
    if (!tab_open(&s->tab, &is) || !s->canvas)
        return KI_ERR_NO_MEMORY;
    const ki_health health = { .state = KI_STATE_WATCHING, .staleness_ms = 400, .retry_in_ms = -1 };
    tab_tick(&s->tab, &health);
    model_open(&s->model, &s->tab, 1, "https://example.com");
    return KI_OK;
}

/* Shows objects, changes, groups, a filter, the summary and an object. */
static ki_status show_all(show *s) {
    static const int keys[] = { '>',          'j', 'g', KEY_OF_ENTER, 'j', '/', '0', KEY_OF_ENTER, KEY_OF_ESCAPE, '0',
                                KEY_OF_ENTER, 'g', 'g', 'g',          'g', 'w', 0 };
    static const int last[] = { KEY_OF_HOME, KEY_OF_ENTER, 0 };
    ki_status status = open_all(s);
    for (int i = 0; i < PODS && !status; i++)
        status = take(s, CHANGE_ADDED, i, i > 0);
    if (!status)
        status = draw(s);
    for (int i = 0; i < PODS && !status; i++)
        status = take(s, i % 2 ? CHANGE_MODIFIED : CHANGE_DELETED, i, false);
    if (!status)
        status = press(s, keys);
    if (!status)
        status = take(s, CHANGE_ADDED, 0, false);
    return status ? status : press(s, last);
}

static void write_picture(const show *s, char text[TEXT_MAX]) {
    FILE *out = fmemopen(text, TEXT_MAX, "w");
    assert_non_null(out);
    canvas_write(s->canvas, out);
    assert_int_equal(fclose(out), 0);
}

/* Shows all, while an allocation fails. Returns false once none has failed. */
static bool try_with(size_t fail_at, char text[TEXT_MAX]) {
    show *s = new_show();
    libc_has_failed = false;
    libc_allocations = fail_at;
    ki_status status = show_all(s);
    libc_allocations = SIZE_MAX;
    *text = '\0';
    if (status) {
        assert_true(libc_has_failed);
        assert_int_equal(status, KI_ERR_NO_MEMORY);
    } else if (!s->tab.filter_message[0]) { /* "out of memory", in the bar */
        write_picture(s, text);
    }
    free_show(s);
    return libc_has_failed;
}

TEST(each_failed_allocation_is_reported_or_changes_nothing) {
    char expected[TEXT_MAX], text[TEXT_MAX];
    size_t failures = 0;
    assert_false(try_with(SIZE_MAX, expected));
    assert_non_null(strstr(expected, "phase: "));
    for (; try_with(failures, text); failures++) {
        if (*text)
            assert_string_equal(text, expected);
    }
    assert_true(failures > 100);
}

/* ---- the inquiry ---- */

static ki_status ask(const ki_config *config, ki_engine *engine, const ki_object *obj) {
    details known;
    inquiry *q = inquiry_new(config, engine);
    ki_status status = q ? inquiry_select(q, obj, 0) : KI_ERR_NO_MEMORY;
    if (!status)
        status = inquiry_select(q, obj, INQUIRY_AFTER_MS);
    if (!status)
        status = inquiry_read(q, &known, NULL);
    inquiry_free(q);
    return status;
}

TEST(an_inquiry_reports_each_failed_allocation) {
    ki_config *config = NULL;
    ki_engine *engine = NULL;
    const ki_config_options options = { .size = sizeof options, .server = "http://127.0.0.1:1" };
    assert_int_equal(ki_config_new(&options, &config, NULL), KI_OK);
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    ki_object *obj = make_object_from_json(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\",\"ownerReferences\":[{\"apiVersion\":"
        "\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\",\"controller\":true}]}}");
    size_t failures = 0;
    do {
        libc_has_failed = false;
        libc_allocations = failures;
        ki_status status = ask(config, engine, obj);
        libc_allocations = SIZE_MAX;
        if (status) {
            assert_true(libc_has_failed);
            assert_int_equal(status, KI_ERR_NO_MEMORY);
        }
        failures += libc_has_failed;
    } while (libc_has_failed);
    assert_true(failures > 20);
    ki_object_unref(obj);
    ki_engine_free(engine);
    ki_config_free(config);
}

/* The picture of kinformer top, and what keys change in it: tables, groups, filter, summary, pane, YAML. */
#include "cli/output.h"
#include "cli/screen/screen.h"
#include "cli/top/page.h"
#include "cli/top/table_view.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <kinformer/kinformer.h>

#include <stdlib.h>
#include <string.h>

enum {
    WALL_MS = 1000 * 1000, /* 1970-01-01T00:16:40Z */
    TEXT_MAX = 64 * 1024
};

/* A model of two resources, and the time. */
typedef struct show {
    ki_columns *columns[2];
    tab tabs[2];
    model model;
    canvas *canvas;
    moment now;
    char text[TEXT_MAX]; /* the last picture */
} show;

static show *new_show(void) {
    show *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &s->columns[0], NULL), KI_OK);
    assert_int_equal(ki_columns_new(KI_NODES, NULL, 0, NULL, &s->columns[1], NULL), KI_OK);
    const tab_options pods = { .plural = "pods", .kind = "Pod", .columns = s->columns[0], .has_namespaces = true };
    const tab_options nodes = { .plural = "nodes", .kind = "Node", .columns = s->columns[1] };
    assert_true(tab_open(&s->tabs[0], &pods));
    assert_true(tab_open(&s->tabs[1], &nodes));
    s->canvas = canvas_new();
    assert_non_null(s->canvas);
    s->now = (moment){ .now_ms = 5000, .wall_ms = WALL_MS };
    model_open(&s->model, s->tabs, 2, "https://example.com");
    s->model.has_pane = false;
    const ki_health health = { .state = KI_STATE_WATCHING, .staleness_ms = 400, .retry_in_ms = -1 };
    tab_tick(&s->tabs[0], &health);
    tab_tick(&s->tabs[1], &health);
    return s;
}

static void free_show(show *s) {
    model_close(&s->model);
    tab_close(&s->tabs[0]);
    tab_close(&s->tabs[1]);
    ki_columns_free(s->columns[0]);
    ki_columns_free(s->columns[1]);
    canvas_free(s->canvas);
    free(s);
}

/* Returns the picture as text. */
static const char *look(show *s, size_t width, size_t height) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(model_settle(&s->model, s->now, &err), KI_OK);
    assert_true(canvas_begin(s->canvas, width, height));
    assert_int_equal(page_draw(&s->model, s->canvas, s->now, &err), KI_OK);
    FILE *out = fmemopen(s->text, sizeof s->text, "w");
    assert_non_null(out);
    canvas_write(s->canvas, out);
    assert_int_equal(fclose(out), 0);
    return s->text;
}

static void assert_look(show *s, size_t width, size_t height, const char *expected) {
    const char *text = look(s, width, height);
    if (strcmp(text, expected) != 0)
        fail_msg("is\n%s\nnot\n%s", text, expected);
}

static void type(show *s, const char *text) {
    for (; *text; text++)
        assert_int_equal(model_key(&s->model, *text, NULL), KI_OK);
}

static void press(show *s, int pressed) {
    assert_int_equal(model_key(&s->model, pressed, NULL), KI_OK);
}

static ki_object *pod(const char *name, const char *phase, bool is_ready, const char *node) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\",\"uid\":\"u-%s\","
        "\"creationTimestamp\":\"1970-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":"
        "\"c\"}]},\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}],"
        "\"containerStatuses\":[{\"name\":\"c\",\"ready\":%s,\"restartCount\":0,\"state\":{\"running\":{}}}]}}",
        name, name, node, phase, is_ready ? "True" : "False", is_ready ? "true" : "false");
    return make_object_from_json(json);
}

static void take(show *s, size_t index, change_type type, const ki_object *old, const ki_object *obj, bool is_initial) {
    const tab_change change = {
        .type = type, .old = old, .obj = obj, .kept = obj, .is_initial = is_initial, .clock = "18:45:55"
    };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(tab_take(&s->tabs[index], &change, s->now, &err), KI_OK);
}

static void have(show *s, const char *name, const char *phase, bool is_ready, const char *node) {
    ki_object *obj = pod(name, phase, is_ready, node);
    take(s, 0, CHANGE_ADDED, NULL, obj, true);
    ki_object_unref(obj);
}

static void change(show *s, change_type type, const char *name, const char *phase, bool is_ready) {
    ki_object *old = pod(name, "Running", true, "n1"), *obj = pod(name, phase, is_ready, "n1");
    take(s, 0, type, type == CHANGE_MODIFIED ? old : NULL, obj, false);
    ki_object_unref(old);
    ki_object_unref(obj);
}

static void have_three(show *s) {
    have(s, "cart-1", "Running", true, "n1");
    have(s, "cart-2", "Running", false, "n1");
    have(s, "web-1", "Pending", false, "n2");
}

TEST(a_table_has_kubectls_columns_below_its_tabs_and_its_health) {
    show *s = new_show();
    have_three(s);
    assert_look(s, 80, 10,
                " 1 pods 3  2 nodes 0  0 summary\n"
                "at most 0.4 s old, 0 changes a second  2 Running (1 ready)  1 Pending\n"
                "  NAMESPACE↑ NAME    READY  STATUS   RESTARTS  AGE\n"
                "  shop       cart-1  1/1    Running  0         16m\n"
                "  shop       cart-2  0/1    Running  0         16m\n"
                "  shop       web-1   0/1    Pending  0         16m\n"
                "\n"
                "\n"
                "\n"
                " 3 pods                                                          ? keys  q quit\n");
    free_show(s);
}

TEST(a_change_is_marked_for_two_seconds) {
    show *s = new_show();
    have_three(s);
    (void)look(s, 80, 10);
    change(s, CHANGE_MODIFIED, "cart-1", "Running", false);
    change(s, CHANGE_DELETED, "web-1", "Pending", false);
    change(s, CHANGE_ADDED, "web-2", "Running", true);
    const char *text = look(s, 80, 10);
    assert_non_null(strstr(text, "\n~ shop       cart-1  0/1"));
    assert_non_null(strstr(text, "\n- shop       web-1 "));
    assert_non_null(strstr(text, "\n+ shop       web-2 "));
    s->now.now_ms += ROWS_LIT_MS;
    assert_true(model_is_dirty(&s->model, s->now.now_ms));
    text = look(s, 80, 10);
    assert_non_null(strstr(text, "\n  shop       cart-1  0/1"));
    assert_null(strstr(text, "web-1"));
    assert_non_null(strstr(text, "\n  shop       web-2 "));
    free_show(s);
}

TEST(a_filter_works_while_it_is_typed_and_escape_brings_the_old_one_back) {
    show *s = new_show();
    have_three(s);
    type(s, "/cart");
    assert_null(strstr(look(s, 80, 10), "web-1"));
    assert_non_null(strstr(s->text, "\n/cart_"));
    type(s, " ready!=true");
    assert_null(strstr(look(s, 80, 10), "cart-1"));
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 80, 10), " /cart ready!=true: 1 of 3 pods"));
    type(s, "/");
    press(s, KEY_OF_CLEAR_LINE);
    type(s, "web");
    assert_non_null(strstr(look(s, 80, 10), "web-1"));
    press(s, KEY_OF_ESCAPE);
    assert_null(strstr(look(s, 80, 10), "web-1"));
    assert_non_null(strstr(s->text, "cart-2"));
    press(s, KEY_OF_ESCAPE);
    assert_non_null(strstr(look(s, 80, 10), "web-1"));
    free_show(s);
}

TEST(a_filter_that_cannot_be_parsed_says_so_and_escape_removes_it) {
    show *s = new_show();
    have_three(s);
    type(s, "/cart");
    (void)look(s, 80, 10);
    type(s, " nosuch=1");
    assert_non_null(strstr(look(s, 120, 10), "nosuch"));
    assert_non_null(strstr(s->text, "there is no column"));
    assert_null(strstr(s->text, "cart-1")); /* "cart nosuch" was the last that could be parsed */
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 120, 10), " /cart nosuch=1: there is no column"));
    press(s, KEY_OF_ESCAPE);
    assert_non_null(strstr(look(s, 120, 10), "web-1"));
    free_show(s);
}

TEST(the_cursor_stays_on_its_object_where_rows_move) {
    show *s = new_show();
    have_three(s);
    (void)look(s, 80, 10);
    press(s, KEY_OF_DOWN);
    assert_string_equal(ki_object_key(model_selected(&s->model)), "shop/cart-2");
    change(s, CHANGE_ADDED, "a", "Running", true);
    change(s, CHANGE_ADDED, "b", "Running", true);
    (void)look(s, 80, 10);
    assert_string_equal(ki_object_key(model_selected(&s->model)), "shop/cart-2");
    press(s, KEY_OF_END);
    assert_string_equal(ki_object_key(model_selected(&s->model)), "shop/web-1");
    press(s, KEY_OF_HOME);
    assert_string_equal(ki_object_key(model_selected(&s->model)), "shop/a");
    free_show(s);
}

TEST(rows_sort_by_the_next_column_and_reverse) {
    show *s = new_show();
    have_three(s);
    type(s, ">>>");
    assert_non_null(strstr(look(s, 80, 10), "STATUS↑"));
    assert_true(strstr(s->text, "web-1") < strstr(s->text, "cart-1"));
    type(s, "r");
    assert_non_null(strstr(look(s, 80, 10), "STATUS↓"));
    assert_true(strstr(s->text, "web-1") > strstr(s->text, "cart-1"));
    type(s, "<<<");
    assert_non_null(strstr(look(s, 80, 10), "NAMESPACE↑"));
    free_show(s);
}

TEST(columns_scroll_until_one_is_left) {
    show *s = new_show();
    have_three(s);
    for (int i = 0; i < 9; i++)
        press(s, KEY_OF_RIGHT);
    assert_non_null(strstr(look(s, 80, 10), "\n  NAMESPACE↑ NAME    AGE\n"));
    press(s, KEY_OF_LEFT);
    assert_non_null(strstr(look(s, 80, 10), "\n  NAMESPACE↑ NAME    RESTARTS  AGE\n"));
    type(s, "w");
    for (int i = 0; i < 9; i++)
        press(s, KEY_OF_RIGHT);
    assert_non_null(strstr(look(s, 80, 10), "\n  NAMESPACE↑ NAME    READINESS GATES\n"));
    type(s, "w");
    press(s, KEY_OF_LEFT);
    assert_non_null(strstr(look(s, 80, 10), "\n  NAMESPACE↑ NAME    RESTARTS  AGE\n"));
    free_show(s);
}

TEST(a_group_says_that_none_of_its_running_pods_is_ready) {
    show *s = new_show();
    have(s, "cart-1", "Running", false, "n1");
    have(s, "cart-2", "Running", false, "n1");
    have(s, "cart-3", "Running", true, "n2");
    have(s, "cart-4", "Pending", false, "n3");
    type(s, "gg");
    assert_non_null(strstr(look(s, 80, 10), "▸ node n1  2 pods  2 Running (0 ready)\n"));
    assert_non_null(strstr(s->text, "▸ node n2  1 pod  1 Running\n"));
    assert_non_null(strstr(s->text, "▸ node n3  1 pod  1 Pending\n"));
    free_show(s);
}

TEST(the_newest_events_are_first) {
    tab events;
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(KI_EVENTS, NULL, 0, NULL, &columns, NULL), KI_OK);
    assert_true(tab_open(&events, &(tab_options){ .plural = "events", .columns = columns, .is_event = true }));
    assert_string_equal(ki_columns_at(columns, events.sorted_by)->name, "Last Seen");
    assert_false(events.is_descending); /* the youngest age first */
    tab_close(&events);
    ki_columns_free(columns);
}

TEST(all_keys_fit_in_80_columns) {
    show *s = new_show();
    type(s, "?");
    assert_null(strstr(look(s, 80, 20), "…\n"));
    assert_non_null(strstr(s->text, "quit\n"));
    free_show(s);
}

TEST(groups_have_counts_the_worst_first_and_open) {
    show *s = new_show();
    have_three(s);
    type(s, "gg");
    assert_non_null(strstr(look(s, 80, 10), "▸ node n2  1 pod  1 Pending"));
    assert_non_null(strstr(s->text, "▸ node n1  2 pods  2 Running (1 ready)"));
    assert_non_null(strstr(s->text, "3 pods, by node"));
    assert_null(strstr(s->text, "web-1"));
    while (strcmp(s->tabs[0].group, "node n2") != 0)
        press(s, KEY_OF_DOWN);
    press(s, ' ');
    assert_non_null(strstr(look(s, 80, 10), "▾ node n2"));
    assert_non_null(strstr(s->text, "web-1"));
    press(s, KEY_OF_ENTER);
    assert_null(strstr(look(s, 80, 10), "web-1"));
    free_show(s);
}

TEST(the_summary_has_the_worst_status_first_and_leads_to_its_objects) {
    show *s = new_show();
    have_three(s);
    have(s, "bad-1", "Failed", false, "n1");
    type(s, "g0"); /* groups would hide the objects of a status */
    assert_look(s, 60, 9,
                " 1 pods 4  2 nodes 0  0 summary\n"
                "pods: at most 0.4 s old, 0 changes a second\n"
                "    COUNT  RESOURCE                  STATUS\n"
                "        1  pods                      Failed\n"
                "        1  pods                      Pending\n"
                "        1  pods                      Running, not ready\n"
                "        1  pods                      Running\n"
                "\n"
                "                                             ? keys  q quit\n");
    press(s, KEY_OF_DOWN);
    press(s, KEY_OF_DOWN);
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 80, 10), " /status=Running ready!=true: 1 of 4 pods"));
    assert_non_null(strstr(s->text, "cart-2"));
    assert_null(strstr(s->text, "cart-1"));
    free_show(s);
}

/* Presses a key as top.c does. */
static void press_at_once(show *s, int pressed, bool *needs_settle) {
    if (*needs_settle && model_key_needs_lines(&s->model, pressed))
        assert_int_equal(model_settle(&s->model, s->now, NULL), KI_OK);
    press(s, pressed);
    *needs_settle = true;
}

TEST(keys_mean_the_same_with_a_picture_after_each_and_without) {
    static const int keys[] = { 'j',           'k',        'g',          '<',          '>',          'r',
                                '/',           'c',        '1',          '2',          '0',          ' ',
                                'w',           'p',        KEY_OF_ENTER, KEY_OF_ENTER, KEY_OF_ENTER, KEY_OF_TAB,
                                KEY_OF_ESCAPE, KEY_OF_END, KEY_OF_HOME };
    unsigned random = 1;
    for (int round = 0; round < 60; round++) {
        show *slow = new_show(), *fast = new_show();
        bool needs_settle = false;
        have_three(slow);
        have_three(fast);
        (void)look(slow, 80, 12);
        (void)look(fast, 80, 12);
        for (int i = 0; i < 30; i++) {
            random = random * 1103515245 + 12345;
            int pressed = keys[random / 65536 % (sizeof keys / sizeof keys[0])];
            press(slow, pressed);
            (void)look(slow, 80, 12);
            press_at_once(fast, pressed, &needs_settle);
        }
        assert_look(fast, 80, 12, slow->text);
        free_show(slow);
        free_show(fast);
    }
}

TEST(the_summary_leads_to_a_status_of_several_words) {
    show *s = new_show();
    have_three(s);
    have(s, "odd-1", "Up to date, a=b and much more than the 64 bytes that are kept of a status", true, "n1");
    have(s, "odd-2", "Up to date", true, "n1");
    type(s, "0");
    (void)look(s, 120, 12);
    while (s->model.summary.lines[s->model.summary_line].of.status[10] != ',') {
        press(s, KEY_OF_DOWN);
        (void)look(s, 120, 12);
    }
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 250, 12), " /status~Up status~to status~date, status~a=b status~and"));
    assert_non_null(strstr(s->text, ": 1 of 5 pods"));
    assert_non_null(strstr(s->text, "odd-1"));
    free_show(s);
}

TEST(objects_without_a_status_are_not_counted_by_it) {
    show *s = new_show();
    tally counts = { .rows = NULL };
    const condition none = { .status = "" };
    assert_true(tally_add(&counts, &none));
    assert_true(canvas_begin(s->canvas, 80, 1));
    assert_true(canvas_line(s->canvas));
    table_add_counts(s->canvas, s->columns[1], &counts);
    assert_int_equal(canvas_column(s->canvas), 0);
    tally_clear(&counts);
    free_show(s);
}

TEST(enter_shows_the_object_as_yaml_and_follows_its_changes) {
    show *s = new_show();
    have_three(s);
    (void)look(s, 80, 40);
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1\napiVersion: v1\nkind: Pod\nmetadata:\n"));
    assert_non_null(strstr(s->text, "  phase: Running\n"));
    change(s, CHANGE_MODIFIED, "cart-1", "Failed", false);
    assert_non_null(strstr(look(s, 80, 40), "  phase: Failed\n"));
    change(s, CHANGE_DELETED, "cart-1", "Failed", false);
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1 (deleted)\n"));
    press(s, KEY_OF_ESCAPE);
    assert_non_null(strstr(look(s, 80, 40), "NAMESPACE"));
    free_show(s);
}

TEST(the_keys_help_goes_back_to_the_yaml) {
    show *s = new_show();
    have_three(s);
    (void)look(s, 80, 40);
    press(s, KEY_OF_ENTER);
    type(s, "?");
    assert_non_null(strstr(look(s, 80, 40), "Keys (any key goes back)"));
    change(s, CHANGE_MODIFIED, "cart-1", "Failed", false);
    type(s, "x");
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1\n"));
    assert_non_null(strstr(s->text, "  phase: Failed\n"));
    press(s, KEY_OF_ESCAPE);
    type(s, "?x");
    assert_non_null(strstr(look(s, 80, 40), "NAMESPACE"));
    free_show(s);
}

TEST(the_yaml_follows_an_object_that_the_table_no_longer_shows) {
    show *s = new_show();
    have_three(s);
    type(s, "/status=Running");
    press(s, KEY_OF_ENTER);
    (void)look(s, 80, 40);
    press(s, KEY_OF_ENTER);
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1\napiVersion"));
    change(s, CHANGE_MODIFIED, "cart-1", "Failed", false);
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1\napiVersion"));
    assert_non_null(strstr(s->text, "  phase: Failed\n"));
    change(s, CHANGE_DELETED, "cart-1", "Failed", false);
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1 (deleted)\n"));
    s->now.now_ms += ROWS_LIT_MS;
    assert_non_null(strstr(look(s, 80, 40), "Pod shop/cart-1 (deleted)\n"));
    press(s, KEY_OF_ESCAPE);
    assert_null(strstr(look(s, 80, 10), "cart-1"));
    free_show(s);
}

TEST(the_pane_has_the_last_changes_of_the_selected_object) {
    show *s = new_show();
    have_three(s);
    s->model.has_pane = true;
    change(s, CHANGE_MODIFIED, "cart-1", "Running", false);
    change(s, CHANGE_MODIFIED, "cart-2", "Failed", false);
    snprintf(s->model.details.owners, sizeof s->model.details.owners, "replicaset cart ← deployment cart");
    assert_non_null(strstr(look(s, 80, 24), "\n pod shop/cart-1 ← replicaset cart ← deployment cart\n~ 18:45:55 pod"));
    assert_non_null(strstr(s->text, "READY 1/1 → 0/1"));
    assert_null(strstr(s->text, "~ 18:45:55 pod shop/cart-2"));
    press(s, KEY_OF_DOWN);
    assert_non_null(strstr(look(s, 80, 24), "~ 18:45:55 pod shop/cart-2"));
    press(s, 'p');
    assert_null(strstr(look(s, 80, 24), "18:45:55"));
    free_show(s);
}

TEST(the_health_says_why_nothing_comes) {
    show *s = new_show();
    ki_health health = { .state = KI_STATE_BLOCKED, .staleness_ms = 35000, .retry_in_ms = 4000 };
    snprintf(health.message, sizeof health.message, "forbidden: list pods");
    tab_tick(&s->tabs[0], &health);
    assert_non_null(strstr(look(s, 80, 10), "blocked, next try in 4.0 s, at most 35 s old: forbidden: list pods\n"));
    health = (ki_health){ .state = KI_STATE_LISTING, .listed = 1200, .list_total = 50000, .staleness_ms = -1 };
    tab_tick(&s->tabs[0], &health);
    assert_non_null(strstr(look(s, 80, 10), "\nlisting: 1,200 of 50,000 objects\n"));
    health = (ki_health){ .state = KI_STATE_CONNECTING, .staleness_ms = -1 };
    tab_tick(&s->tabs[0], &health);
    assert_non_null(strstr(look(s, 80, 10), "\nconnecting to https://example.com\n"));
    free_show(s);
}

TEST(each_size_of_a_screen_has_a_picture) {
    show *s = new_show();
    have_three(s);
    s->model.has_pane = true;
    for (size_t width = 1; width < 100; width += 7) {
        for (size_t height = 1; height < 40; height++) {
            static const char keys[] = "?x0\t/c";
            for (const char *at = keys; *at; at++) {
                (void)look(s, width, height);
                size_t lines = 0;
                for (const char *line = s->text; (line = strchr(line, '\n')); line++)
                    lines++;
                assert_int_equal(lines, height);
                press(s, *at == '\t' ? KEY_OF_TAB : *at);
            }
            press(s, KEY_OF_ESCAPE);
            press(s, KEY_OF_ENTER);
            (void)look(s, width, height);
            press(s, KEY_OF_ESCAPE);
        }
    }
    free_show(s);
}

TEST(a_name_cannot_drive_the_terminal) {
    show *s = new_show();
    have(s, "evil\\u001b[2J\\u202etxt", "Running\\u001b]0;x\\u0007", true, "n\\u001b1");
    s->model.has_pane = true;
    type(s, "gg");
    (void)look(s, 100, 24);
    press(s, KEY_OF_ENTER);
    (void)look(s, 100, 24);
    assert_null(strchr(s->text, '\033'));
    assert_null(strstr(s->text, "\xe2\x80\xae"));
    press(s, KEY_OF_DOWN);
    press(s, KEY_OF_ENTER);
    (void)look(s, 100, 40);
    assert_null(strchr(s->text, '\033'));
    free_show(s);
}

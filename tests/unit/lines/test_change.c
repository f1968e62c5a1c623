/* The lines of watch on a terminal: each case is an object before and after, a width and the line. */
#include "cli/lines/event_line.h"
#include "cli/output.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

typedef struct shown {
    const ki_resource *resource;
    const char *before; /* NULL: an added object */
    const char *after;
    size_t width;
    bool is_wide;
    const char *only; /* --only */
} shown;

/* ' for ", so that the cases can be read. */
static ki_object *object_of(const char *json) {
    char *text = strdup(json);
    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    ki_object *obj = make_object_from_json(text);
    free(text);
    return obj;
}

/* Returns the line; the caller frees it. */
static char *line_of(const shown *of, change_type type, const char *note) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    ki_object *before = of->before ? object_of(of->before) : NULL, *after = object_of(of->after);
    row before_row = { .text = NULL }, after_row = { .text = NULL };
    diff d;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ki_columns_new(of->resource, NULL, 0, NULL, &columns, &err), KI_OK);
    assert_int_equal(row_read(&after_row, columns, after, NOW_MS, &err), KI_OK);
    if (before) {
        assert_int_equal(row_read(&before_row, columns, before, NOW_MS, &err), KI_OK);
        assert_int_equal(diff_read(before, after, &d, &err), KI_OK);
    }
    filter f;
    char message[FILTER_MESSAGE_MAX];
    assert_true(filter_open(&f, of->only, NULL, message));
    const change_line line = { .type = type,
                               .clock = "18:45:55",
                               .kind = ki_object_kind(after),
                               .key = ki_object_key(after),
                               .note = note,
                               .columns = columns,
                               .before = before ? &before_row : NULL,
                               .after = &after_row,
                               .diff = before ? &d : NULL,
                               .filter = &f,
                               .is_wide = of->is_wide };
    if (!change_is_selected(&line))
        fputs("(nothing)", out);
    else if (is_event_resource(of->resource))
        assert_true(event_write(&line, ki_object_namespace(after), of->width, out));
    else
        assert_true(change_write(&line, of->width, out));
    assert_int_equal(fclose(out), 0);
    filter_close(&f);
    row_clear(&before_row);
    row_clear(&after_row);
    ki_columns_free(columns);
    ki_object_unref(before);
    ki_object_unref(after);
    return text;
}

static void assert_line(const shown *of, change_type type, const char *note, const char *expected) {
    char *text = line_of(of, type, note);
    if (strcmp(text, expected) != 0)
        fail_msg("width %zu:\n  '%s' is not\n  '%s'", of->width, text, expected);
    if (of->width && display_width(text) > of->width)
        fail_msg("'%s' is wider than %zu", text, of->width);
    free(text);
}

#define POD(name, node, image, status) \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "','namespace':'shop'},'spec':{'nodeName':'" node \
    "','containers':[{'name':'web','image':'" image "'},{'name':'log','image':'log:1'}]},'status':{" status "}}"
#define CONTAINER(name, ready, restarts, last) \
    "{'name':'" name "','ready':" ready ",'restartCount':" restarts ",'state':{'running':{}}" last "}"
#define ENDED ",'lastState':{'terminated':{'finishedAt':'2023-11-14T22:13:17Z'}}"
#define RUNNING(log, restarts, last) \
    "'phase':'Running','containerStatuses':[" CONTAINER("web", "true", "0", "") "," CONTAINER("log", log, restarts, \
                                                                                              last) "]"

#define CART(status) POD("cart-7d", "n1", "web:1", status)
#define LONG(status) POD("cart-7d9f8c6b5-x2x4z", "n1", "web:1", status)
#define STOPPED RUNNING("false", "0", "")
#define RESTARTED RUNNING("true", "1", ENDED)

#define IMAGE(name, image) POD(name, "n1", image, STOPPED)

#define NODE(ready) \
    "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'},'status':{'conditions':[{'type':'Ready','status':" \
    "'" ready "'}],'nodeInfo':{'kubeletVersion':'v1.37.0'}}}"
#define DEPLOYMENT(ready, paused) \
    "{'apiVersion':'apps/" \
    "v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop'},'spec':{'replicas':3" paused \
    "},'status':{'replicas':3,'readyReplicas':" ready ",'availableReplicas':" ready ",'updatedReplicas':3}}"
#define CONFIG_MAP(notes) \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','namespace':'x','annotations':{" notes \
    "}},'data':{'k':'v'}}"

#define CONDITIONS(status, reason) \
    "'phase':'Pending','conditions':[{'type':'Scheduled','status':'" status "','reason':'" reason "'}]"

TEST(an_update_shows_kubectls_columns_first) {
    static const struct {
        shown of;
        const char *line;
    } rows[] = {
        { { KI_PODS, CART(STOPPED), CART(RESTARTED), 0, false, NULL },
          "~ 18:45:55 pod shop/cart-7d  READY 1/2 → 2/2  STATUS Running  RESTARTS 0 → 1 (3s ago)" },
        /* the time that passes changes no cell */
        { { KI_PODS, CART(RUNNING("false", "1", ENDED)), CART(RESTARTED), 0, false, NULL },
          "~ 18:45:55 pod shop/cart-7d  READY 1/2 → 2/2  STATUS Running" },
        { { KI_PODS, IMAGE("cart-7d", "web:1"), POD("cart-7d", "n1", "web:2", RESTARTED), 0, false, NULL },
          "~ 18:45:55 pod shop/cart-7d  READY 1/2 → 2/2  STATUS Running  RESTARTS 0 → 1 (3s ago)  image: web:1 → "
          "web:2" },
        { { KI_PODS, POD("a", "", "web:1", "'phase':'Pending'"), POD("a", "n1", "web:1", "'phase':'Pending'"), 0, false,
            NULL },
          "~ 18:45:55 pod shop/a  STATUS Pending  NODE (none) → n1" },
        { { KI_NODES, NODE("True"), NODE("Unknown"), 0, false, NULL }, "~ 18:45:55 node n1  STATUS Ready → NotReady" },
        { { KI_DEPLOYMENTS, DEPLOYMENT("2", ""), DEPLOYMENT("3", ",'paused':true"), 0, false, NULL },
          "~ 18:45:55 deployment shop/web  READY 2/3 → 3/3  AVAILABLE 2 → 3  paused: (none) → true" },
        /* a path is as short as it can be */
        { { KI_CONFIGMAPS, CONFIG_MAP("'e.com/cost':'1'"), CONFIG_MAP("'e.com/cost':'2'"), 0, false, NULL },
          "~ 18:45:55 configmap x/a  cost: 1 → 2" },
        { { KI_CONFIGMAPS, CONFIG_MAP("'e.com/cost':'1','f.com/cost':'1'"),
            CONFIG_MAP("'e.com/cost':'2','f.com/cost':'3'"), 0, false, NULL },
          "~ 18:45:55 configmap x/a  annotations['e.com/cost']: 1 → 2 (+1 more)" },
        { { KI_PODS, CART(CONDITIONS("False", "a")), CART(CONDITIONS("True", "a")), 0, false, NULL },
          "~ 18:45:55 pod shop/cart-7d  STATUS Pending  Scheduled: False → True" },
        { { KI_PODS, CART(CONDITIONS("True", "a")), CART(CONDITIONS("True", "b")), 0, false, NULL },
          "~ 18:45:55 pod shop/cart-7d  STATUS Pending  conditions[Scheduled].reason: a → b" },
        /* -o wide: all columns, and whole paths */
        { { KI_PODS, IMAGE("cart-7d", "web:1"), IMAGE("cart-7d", "web:2"), 0, true, NULL },
          "~ 18:45:55 pod shop/cart-7d  STATUS Running  spec.containers[web].image: web:1 → web:2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_line(&rows[i].of, CHANGE_MODIFIED, "", rows[i].line);
}

TEST(an_added_object_shows_its_columns_and_a_deleted_one_none) {
    const shown pod = { KI_PODS, NULL, CART(RESTARTED), 0, false, NULL };
    const shown update = { KI_PODS, CART(STOPPED), CART(RESTARTED), 0, false, NULL };
    assert_line(&pod, CHANGE_ADDED, "",
                "+ 18:45:55 pod shop/cart-7d  READY 2/2  STATUS Running  RESTARTS 1 (3s ago)  NODE n1");
    assert_line(&pod, CHANGE_DELETED, " (deleted while not watched)",
                "- 18:45:55 pod shop/cart-7d (deleted while not watched)");
    assert_line(
        &update, CHANGE_MODIFIED, " (after 2 heartbeats)",
        "~ 18:45:55 pod shop/cart-7d  READY 1/2 → 2/2  STATUS Running  RESTARTS 0 → 1 (3s ago) (after 2 heartbeats)");
}

TEST(a_narrow_line_keeps_what_changed) {
    static const struct {
        shown of;
        const char *line;
    } rows[] = {
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 100, false, NULL },
          "~ 18:45:55 pod shop/cart-7d9f8c6b5-x2x4z  READY 1/2 → 2/2  STATUS Running  RESTARTS 0 → 1 (3s ago)" },
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 90, false, NULL },
          "~ 18:45:55 pod shop/cart-7d9f8c6b5-x2x4z  READY 1/2 → 2/2  RESTARTS 0 → 1 (3s ago)" },
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 80, false, NULL },
          "~ 18:45:55 pod shop/cart-7…8c6b5-x2x4z  READY 1/2 → 2/2  RESTARTS 0 → 1 (3s ago)" },
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 70, false, NULL },
          "~ pod shop/cart-…8c6b5-x2x4z  READY 1/2 → 2/2  RESTARTS 0 → 1 (3s ago)" },
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 40, false, NULL }, "~ shop/c…-x2x4z 1/2 → 2/2 0 → 1 (3s ago)" },
        { { KI_PODS, LONG(STOPPED), LONG(RESTARTED), 20, false, NULL }, "~ sho…x4z 1/2 → 2/2…" },
        /* no column changed: the other field stays */
        { { KI_PODS, IMAGE("cart-7d9f8c6b5-x2x4z", "web:1"), IMAGE("cart-7d9f8c6b5-x2x4z", "web:2"), 60, false, NULL },
          "~ 18:45:55 pod shop/cart-7…8c6b5-x2x4z  image: web:1 → web:2" },
        { { KI_PODS, IMAGE("cart-7d9f8c6b5-x2x4z", "web:1"), IMAGE("cart-7d9f8c6b5-x2x4z", "web:2"), 20, false, NULL },
          "~ sho…x4z  image: w…" },
        { { KI_PODS, IMAGE("cart-7d9f8c6b5-x2x4z", "web:1"), IMAGE("cart-7d9f8c6b5-x2x4z", "web:2"), 1, false, NULL },
          "…" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_line(&rows[i].of, CHANGE_MODIFIED, "", rows[i].line);
}

/* No width cuts a character, and no line is wider than the terminal. */
TEST(a_line_of_any_width_fits) {
    for (size_t width = 1; width <= 130; width++) {
        const shown of = { KI_PODS,
                           POD("\xe5\xb7\xb2\xe5\xae\x9a\xe4\xb9\x89", "n1", "web:1", STOPPED),
                           POD("\xe5\xb7\xb2\xe5\xae\x9a\xe4\xb9\x89", "n1", "\xe6\x9c\xac:2", RESTARTED),
                           width,
                           false,
                           NULL };
        char *text = line_of(&of, CHANGE_MODIFIED, " (resync)");
        if (display_width(text) > width)
            fail_msg("'%s' is wider than %zu", text, width);
        for (const char *at = text; *at; at++)
            assert_false(((unsigned char)at[0] & 0xc0) == 0xc0 && ((unsigned char)at[1] & 0xc0) != 0x80);
        free(text);
    }
}

TEST(nothing_of_an_object_reaches_the_terminal_raw) {
    const shown of = { KI_PODS,
                       POD("a\\u001b[2J", "n1", "web:1", "'phase':'\\u202eA'"),
                       POD("a\\u001b[2J", "n1", "\\u001b]0;t\\u0007", "'phase':'\\u200fB\\u009b'"),
                       0,
                       false,
                       NULL };
    assert_line(&of, CHANGE_MODIFIED, "", "~ 18:45:55 pod shop/a?[2J  STATUS ???A → ???B??  image: web:1 →  ]0;t ");
}

TEST(only_what_is_named_is_shown) {
    static const char before[] = IMAGE("a", "web:1"), after[] = POD("a", "n2", "web:2", RESTARTED);
    static const struct {
        shown of;
        const char *line;
    } rows[] = {
        { { KI_PODS, before, after, 0, false, "ready" }, "~ 18:45:55 pod shop/a  READY 1/2 → 2/2" },
        { { KI_PODS, before, after, 0, false, "Status, READY" },
          "~ 18:45:55 pod shop/a  READY 1/2 → 2/2  STATUS Running" },
        { { KI_PODS, before, after, 0, false, "image" }, "~ 18:45:55 pod shop/a  image: web:1 → web:2" },
        { { KI_PODS, before, after, 0, false, "status,image" },
          "~ 18:45:55 pod shop/a  STATUS Running  image: web:1 → web:2" },
        { { KI_PODS, before, after, 0, true, "containers" }, "~ 18:45:55 pod shop/a  image: web:1 → web:2" },
        { { KI_PODS, before, after, 0, false, ".spec.nodeName" }, "~ 18:45:55 pod shop/a  nodeName: n1 → n2" },
        { { KI_PODS, before, after, 0, false, "status" }, "(nothing)" }, /* the column, not all of .status */
        { { KI_PODS, before, after, 0, false, "imag" }, "(nothing)" },
        { { KI_PODS, NULL, after, 0, false, "ready" }, "~ 18:45:55 pod shop/a  READY 2/2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_line(&rows[i].of, CHANGE_MODIFIED, "", rows[i].line);
}

#define EVENT_OF(host, type, message, count) \
    "{'apiVersion':'v1','kind':'Event','metadata':{'name':'a.1','namespace':'shop'},'type':'" type \
    "','reason':'BackOff','involvedObject':{'kind':'Pod','name':'cart-7d'},'source':{'host':'" host \
    "'},'message':'" message "','count':" count "}"
#define EVENT(type, message, count) EVENT_OF("n1", type, message, count)
#define LONG_MESSAGE "Back-off restarting failed container"

TEST(an_event_is_a_line_of_kubectl) {
    static const struct {
        shown of;
        const char *line;
    } rows[] = {
        { { KI_EVENTS, NULL, EVENT("Normal", "Started", "1"), 0, false, NULL },
          "~ 18:45:55 shop  Normal   BackOff  pod/cart-7d  Started" },
        { { KI_EVENTS, EVENT("Warning", LONG_MESSAGE, "11"), EVENT("Warning", LONG_MESSAGE, "12"), 0, false, NULL },
          "~ 18:45:55 shop  Warning  BackOff  pod/cart-7d  Back-off restarting failed container (x12)" },
        /* the message is cut, and the count stays */
        { { KI_EVENTS, NULL, EVENT("Warning", LONG_MESSAGE, "12"), 80, false, NULL },
          "~ 18:45:55 shop  Warning  BackOff  pod/cart-7d  Back-off restarting faile… (x12)" },
        { { KI_EVENTS, NULL, EVENT("Warning", LONG_MESSAGE, "12"), 60, false, NULL },
          "~ Warning  BackOff  pod/cart-7d  Back-off restarting … (x12)" },
        { { KI_EVENTS, NULL, EVENT("Warning", LONG_MESSAGE, "12"), 40, false, NULL },
          "~ BackOff  pod/cart-7d  Back-off … (x12)" },
        { { KI_EVENTS, NULL, EVENT("Warning", LONG_MESSAGE, "12"), 20, false, NULL }, "~ BackOff  pod/cart…" },
        { { KI_EVENTS, NULL, EVENT("Warning", "\\u001b[2J\\nline", "1"), 0, false, NULL },
          "~ 18:45:55 shop  Warning  BackOff  pod/cart-7d  ?[2J..." },
        { { KI_EVENTS, NULL, EVENT("Warning", "m", "2"), 0, true, NULL },
          "~ 18:45:55 shop  Warning  BackOff  pod/cart-7d  , n1  m  <unknown>  a.1 (x2)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_line(&rows[i].of, CHANGE_MODIFIED, "", rows[i].line);
}

TEST(only_what_is_named_is_shown_of_an_event) {
    static const char before[] = EVENT("Warning", LONG_MESSAGE, "11"), after[] = EVENT("Warning", LONG_MESSAGE, "12"),
                      moved[] = EVENT_OF("n2", "Warning", LONG_MESSAGE, "12");
    static const struct {
        shown of;
        const char *line;
    } rows[] = {
        { { KI_EVENTS, NULL, after, 0, false, "reason" }, "~ 18:45:55 shop  BackOff  pod/cart-7d" },
        { { KI_EVENTS, before, after, 0, false, "COUNT,type" }, "~ 18:45:55 shop  Warning  pod/cart-7d (x12)" },
        { { KI_EVENTS, before, after, 0, false, "object,count" }, "~ 18:45:55 shop  pod/cart-7d (x12)" },
        { { KI_EVENTS, before, after, 0, false, "name,count" }, "~ 18:45:55 shop  pod/cart-7d  a.1 (x12)" },
        { { KI_EVENTS, before, after, 0, false, "last seen,count" }, "~ 18:45:55 shop  <unknown>  pod/cart-7d (x12)" },
        { { KI_EVENTS, before, after, 0, false, "last-seen,count" }, "~ 18:45:55 shop  <unknown>  pod/cart-7d (x12)" },
        { { KI_EVENTS, before, after, 0, false, "message" }, "(nothing)" },
        { { KI_EVENTS, before, moved, 0, false, "host" }, "~ 18:45:55 shop  pod/cart-7d  host: n1 → n2" },
        { { KI_EVENTS, before, after, 0, false, "host" }, "(nothing)" },
        { { KI_EVENTS, NULL, after, 40, false, "type,reason" }, "~ Warning  BackOff  pod/cart-7d" },
        { { KI_EVENTS, NULL, after, 40, false, "message,count" }, "~ pod/cart-7d  Back-off restartin… (x12)" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_line(&rows[i].of, CHANGE_MODIFIED, "", rows[i].line);
}

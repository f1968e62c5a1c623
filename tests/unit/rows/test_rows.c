/* The objects of a resource as the lines of a table: order, lights, filters, groups, widths. */
#include "cli/rows/rows.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    READY = 1, /* columns of pods */
    STATUS = 2,
    RESTARTS = 3,
    AGE = 4,
    NODE = 6
};

static const int64_t wall_ms = INT64_C(1700000000000); /* 2023-11-14T22:13:20Z */

/* A table and its time. */
typedef struct stage {
    ki_columns *columns;
    rows *rows;
    int64_t now_ms;
} stage;

static stage open_stage(const ki_resource *resource) {
    ki_error err = KI_ERROR_INIT;
    stage s = { .now_ms = 1000 };
    assert_int_equal(ki_columns_new(resource, NULL, 0, NULL, &s.columns, &err), KI_OK);
    s.rows = rows_new(s.columns, resource == KI_EVENTS);
    return s;
}

static void close_stage(stage *s) {
    rows_free(s->rows);
    ki_columns_free(s->columns);
}

/* ' stands for ". */
static ki_object *object_of(const char *json) {
    char *text = strdup(json);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    ki_object *obj = make_object_from_json(text);
    free(text);
    return obj;
}

static void change_object(stage *s, change_type type, const char *json, bool is_initial) {
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = object_of(json);
    assert_int_equal(rows_change(s->rows, type, obj, is_initial, wall_ms + s->now_ms, &err), KI_OK);
    ki_object_unref(obj);
}

/* A pod with two containers. */
typedef struct pod {
    const char *key, *phase, *node;
    int ready, restarts;
    const char *created; /* "22:13:20" */
} pod;

static void change_pod(stage *s, change_type type, const pod *p, bool is_initial) {
    char json[1024], namespace_name[KI_OBJECT_KEY_MAX];
    const char *name = ki_key_split(p->key, namespace_name, sizeof namespace_name);
    snprintf(json, sizeof json,
             "{'metadata':{'name':'%s','namespace':'%s','creationTimestamp':'2023-11-14T%sZ'},'spec':{%s%s%s"
             "'containers':[{'name':'a'},{'name':'b'}]},'status':{'phase':'%s','containerStatuses':[{'name':'a',"
             "'ready':%s,'restartCount':%d,'state':{'running':{}}},{'name':'b','ready':%s,'state':{'running':{}}}]}}",
             name, namespace_name, p->created ? p->created : "22:13:20", p->node ? "'nodeName':'" : "",
             p->node ? p->node : "", p->node ? "'," : "", p->phase ? p->phase : "Running",
             p->ready > 0 ? "true" : "false", p->restarts, p->ready > 1 ? "true" : "false");
    change_object(s, type, json, is_initial);
}

static void settle(stage *s) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(rows_settle(s->rows, s->now_ms, wall_ms + s->now_ms, &err), KI_OK);
}

static void filter_rows(stage *s, const char *text) {
    ki_error err = KI_ERROR_INIT;
    query q;
    char message[FILTER_MESSAGE_MAX];
    assert_true(query_open(&q, text, s->columns, message));
    assert_int_equal(rows_filter(s->rows, &q, &err), KI_OK);
    query_close(&q);
}

/* Compares the lines: "x/a x/b", a heading as "[node n1 2]". */
static void assert_lines(const stage *s, const char *expected) {
    char text[2048] = "";
    size_t size = 0;
    for (size_t i = 0; i < rows_line_count(s->rows); i++) {
        const rows_line line = rows_line_at(s->rows, i);
        const char *blank = i ? " " : "";
        if (line.group)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s[%s %zu]", blank, line.group,
                                     line.counts->objects);
        else
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", blank, ki_object_key(line.obj));
    }
    assert_string_equal(text, expected);
}

static rows_line line_of(const stage *s, const char *key) {
    size_t index = rows_line_of(s->rows, key, NULL);
    assert_true(index < rows_line_count(s->rows));
    return rows_line_at(s->rows, index);
}

/* ---- changes ---- */

TEST(objects_are_lines_by_namespace_and_name) {
    stage s = open_stage(KI_PODS);
    static const char *const keys[] = { "x/b", "x/a", "w/c", "x-y/a" };
    for (size_t i = 0; i < 4; i++)
        change_pod(&s, CHANGE_ADDED, &(pod){ .key = keys[i] }, true);
    assert_lines(&s, "");
    assert_true(rows_are_dirty(s.rows, s.now_ms));
    settle(&s);
    assert_false(rows_are_dirty(s.rows, s.now_ms));
    assert_lines(&s, "w/c x/a x/b x-y/a");
    assert_int_equal(rows_line_of(s.rows, "x-y/a", NULL), 3);
    assert_int_equal(rows_line_of(s.rows, "x-y/b", NULL), SIZE_MAX);
    rows_sort(s.rows, ROWS_BY_KEY, true);
    settle(&s);
    assert_lines(&s, "x-y/a x/b x/a w/c");
    close_stage(&s);
}

TEST(lines_stay_what_they_are_until_the_next_settle) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, true);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b" }, true);
    settle(&s);
    const rows_line before = line_of(&s, "x/a");
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 2 }, false);
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 1 }, false);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/b" }, false);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/c" }, false);
    rows_sort(s.rows, ROWS_BY_KEY, true);
    rows_group(s.rows, GROUP_NAMESPACE);
    filter_rows(&s, "nothing");
    assert_lines(&s, "x/a x/b");
    const rows_line after = line_of(&s, "x/a");
    assert_ptr_equal(after.obj, before.obj);
    assert_int_equal(after.lit, 0);
    assert_int_equal(line_of(&s, "x/b").state, ROW_IS_THERE);
    assert_int_equal(rows_line_of(s.rows, "x/c", NULL), SIZE_MAX);
    assert_int_equal(rows_count(s.rows), 2);
    assert_int_equal(rows_count_passing(s.rows), 2);
    close_stage(&s);
}

TEST(what_is_added_and_deleted_between_two_settles_is_not_seen) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, false);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b" }, false);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/a" }, false);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/a" }, false);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/never" }, false);
    settle(&s);
    assert_lines(&s, "x/b");
    close_stage(&s);
}

/* ---- lights ---- */

TEST(each_changed_cell_is_lit_for_two_seconds) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, true);
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").state, ROW_IS_THERE);
    assert_int_equal(line_of(&s, "x/a").lit, 0); /* an initial object */
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 1 }, false);
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").lit, 1 << READY);
    s.now_ms += 1500;
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 1, .restarts = 3 }, false);
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").lit, 1 << READY | 1 << RESTARTS);
    s.now_ms += 499;
    assert_false(rows_are_dirty(s.rows, s.now_ms));
    s.now_ms += 1;
    assert_true(rows_are_dirty(s.rows, s.now_ms));
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").lit, 1 << RESTARTS);
    s.now_ms += 1500;
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").lit, 0);
    close_stage(&s);
}

TEST(a_new_row_is_lit_as_a_whole) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, false);
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").state, ROW_IS_NEW);
    assert_int_equal(line_of(&s, "x/a").lit, UINT64_MAX);
    s.now_ms += 1000;
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 1 }, false);
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").state, ROW_IS_NEW);
    s.now_ms += 1000;
    settle(&s);
    assert_int_equal(line_of(&s, "x/a").state, ROW_IS_THERE);
    assert_int_equal(line_of(&s, "x/a").lit, 1 << READY);
    close_stage(&s);
}

TEST(a_deleted_row_stays_for_two_seconds_and_can_come_back) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, true);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b" }, true);
    settle(&s);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/a" }, false);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "x/b" }, false);
    settle(&s);
    assert_lines(&s, "x/a x/b");
    assert_int_equal(line_of(&s, "x/a").state, ROW_IS_DELETED);
    assert_int_equal(line_of(&s, "x/a").lit, UINT64_MAX);
    assert_int_equal(rows_count(s.rows), 0);
    assert_int_equal(rows_count_passing(s.rows), 0);
    assert_int_equal(rows_tally(s.rows)->objects, 0);
    s.now_ms += 1999;
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b" }, false);
    settle(&s);
    assert_int_equal(line_of(&s, "x/b").state, ROW_IS_NEW);
    assert_lines(&s, "x/a x/b");
    s.now_ms += 1;
    settle(&s);
    assert_lines(&s, "x/b");
    assert_int_equal(rows_count(s.rows), 1);
    close_stage(&s);
}

TEST(what_only_time_changes_is_not_lit) {
    static const char format[] =
        "{'metadata':{'name':'e','namespace':'x'},'type':'Normal','reason':'Pulled','lastTimestamp':'2023-11-14T%sZ'}";
    static const char pod_json[] = "{'metadata':{'name':'p','namespace':'x','creationTimestamp':'2023-11-14T22:13:20Z'}"
                                   ",'spec':{'containers':[{'name'"
                                   ":'a'}]},'status':{'phase':'Running','containerStatuses':[{'name':'a','restartCount'"
                                   ":1,'lastState':{'terminated':{"
                                   "'finishedAt':'2023-11-14T22:13:20Z'}},'state':{'running':{}}}]}}";
    char json[512];
    stage pods = open_stage(KI_PODS), events = open_stage(KI_EVENTS);
    change_object(&pods, CHANGE_ADDED, pod_json, true);
    snprintf(json, sizeof json, format, "22:13:20");
    change_object(&events, CHANGE_ADDED, json, true);
    settle(&pods);
    settle(&events);
    pods.now_ms = events.now_ms += 60000;
    change_object(&pods, CHANGE_MODIFIED, pod_json, false); /* RESTARTS is "1 (61s ago)" */
    change_object(&events, CHANGE_MODIFIED, json, false);   /* LAST SEEN is "61s" */
    settle(&pods);
    settle(&events);
    assert_int_equal(line_of(&pods, "x/p").lit, 0);
    assert_int_equal(line_of(&events, "x/e").lit, 0);
    snprintf(json, sizeof json, format, "22:14:21"); /* it was seen again */
    change_object(&events, CHANGE_MODIFIED, json, false);
    settle(&events);
    assert_int_equal(line_of(&events, "x/e").lit, 1);
    close_stage(&pods);
    close_stage(&events);
}

/* ---- order ---- */

TEST(rows_are_sorted_by_the_value_of_a_column_then_by_key) {
    static const pod pods[] = {
        { .key = "x/a", .phase = "Running", .node = "n1", .ready = 1, .restarts = 10, .created = "22:10:00" },
        { .key = "x/b", .phase = "pending", .ready = 2, .restarts = 9, .created = "22:12:00" },
        { .key = "x/c", .phase = "Failed", .node = "N0", .ready = 0, .restarts = 9, .created = "20:00:00" },
    };
    static const struct {
        size_t column;
        const char *ascending, *descending;
    } orders[] = {
        { READY, "x/c x/a x/b", "x/b x/a x/c" },    { STATUS, "x/c x/b x/a", "x/a x/b x/c" },
        { RESTARTS, "x/b x/c x/a", "x/a x/b x/c" }, { AGE, "x/b x/a x/c", "x/c x/a x/b" },
        { NODE, "x/c x/a x/b", "x/a x/c x/b" },
    };
    stage s = open_stage(KI_PODS);
    for (size_t i = 0; i < 3; i++)
        change_pod(&s, CHANGE_ADDED, &pods[i], true);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        rows_sort(s.rows, orders[i].column, false);
        settle(&s);
        assert_lines(&s, orders[i].ascending);
        rows_sort(s.rows, orders[i].column, true);
        settle(&s);
        assert_lines(&s, orders[i].descending);
    }
    close_stage(&s);
}

/* The cells were read at different times. */
TEST(ages_that_are_equal_texts_are_sorted_by_the_time_since_then) {
    static const char event[] =
        "{'metadata':{'name':'%s','namespace':'x'},'type':'Normal','lastTimestamp':'2023-11-14T%sZ'}";
    char json[256];
    stage s = open_stage(KI_EVENTS);
    rows_sort(s.rows, 0, false);
    snprintf(json, sizeof json, event, "a", "22:13:11"); /* "10s" now */
    change_object(&s, CHANGE_ADDED, json, true);
    settle(&s);
    s.now_ms += 30000;
    snprintf(json, sizeof json, event, "b", "22:13:41"); /* "10s" now */
    change_object(&s, CHANGE_ADDED, json, true);
    snprintf(json, sizeof json, event, "c", "22:13:21"); /* "30s" now */
    change_object(&s, CHANGE_ADDED, json, true);
    settle(&s);
    assert_lines(&s, "x/b x/c x/a");
    rows_sort(s.rows, 0, true);
    settle(&s);
    assert_lines(&s, "x/a x/c x/b");
    close_stage(&s);
}

TEST(a_changed_row_moves_to_its_new_place) {
    stage s = open_stage(KI_PODS);
    rows_sort(s.rows, RESTARTS, false);
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "x/%d", i);
        change_pod(&s, CHANGE_ADDED, &(pod){ .key = key, .restarts = i * 10 }, true);
    }
    settle(&s);
    assert_lines(&s, "x/0 x/1 x/2 x/3 x/4");
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/1", .restarts = 35 }, false);
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/4", .restarts = 0 }, false);
    settle(&s);
    assert_lines(&s, "x/0 x/4 x/2 x/3 x/1");
    close_stage(&s);
}

/* ---- filters ---- */

TEST(only_objects_that_pass_are_lines_also_after_changes) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a", .ready = 2 }, true);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b", .ready = 1 }, true);
    filter_rows(&s, "ready!=true");
    settle(&s);
    assert_lines(&s, "x/b");
    assert_int_equal(rows_count(s.rows), 2);
    assert_int_equal(rows_count_passing(s.rows), 1);
    assert_int_equal(rows_tally(s.rows)->ready, 1);
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .ready = 1 }, false);
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/b", .ready = 2 }, false);
    settle(&s);
    assert_lines(&s, "x/a");
    assert_int_equal(rows_line_of(s.rows, "x/b", NULL), SIZE_MAX);
    filter_rows(&s, "");
    settle(&s);
    assert_lines(&s, "x/a x/b");
    close_stage(&s);
}

TEST(a_filter_by_age_is_evaluated_again_each_second) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a", .created = "22:13:20" }, true); /* 1s old */
    filter_rows(&s, "age<3s");
    settle(&s);
    assert_lines(&s, "x/a");
    s.now_ms += 999;
    assert_false(rows_are_dirty(s.rows, s.now_ms));
    s.now_ms += 1;
    assert_true(rows_are_dirty(s.rows, s.now_ms));
    settle(&s);
    assert_lines(&s, "x/a");
    s.now_ms += 1000;
    settle(&s);
    assert_lines(&s, "");
    close_stage(&s);
}

/* ---- groups ---- */

TEST(of_groups_that_are_as_bad_those_with_most_such_objects_are_above) {
    static const pod pods[] = {
        { .key = "x/a", .ready = 2, .node = "n1" }, { .key = "x/b", .ready = 2, .node = "n1" },
        { .key = "x/c", .ready = 1, .node = "n1" }, { .key = "x/d", .ready = 1, .node = "n2" },
        { .key = "x/e", .ready = 1, .node = "n2" },
    };
    stage s = open_stage(KI_PODS);
    for (size_t i = 0; i < 5; i++)
        change_pod(&s, CHANGE_ADDED, &pods[i], true);
    rows_group(s.rows, GROUP_NODE);
    settle(&s);
    assert_lines(&s, "[node n2 2] [node n1 3]");
    close_stage(&s);
}

TEST(groups_are_closed_first_the_worst_above_then_the_largest) {
    static const pod pods[] = {
        { .key = "x/a", .ready = 2, .node = "n1" }, { .key = "x/b", .ready = 2, .node = "n2" },
        { .key = "x/c", .ready = 2, .node = "n2" }, { .key = "x/d", .ready = 1, .node = "n3" },
        { .key = "x/e", .phase = "Failed" },
    };
    stage s = open_stage(KI_PODS);
    for (size_t i = 0; i < 5; i++)
        change_pod(&s, CHANGE_ADDED, &pods[i], true);
    rows_group(s.rows, GROUP_NODE);
    settle(&s);
    assert_lines(&s, "[node <none> 1] [node n3 1] [node n2 2] [node n1 1]");
    assert_int_equal(rows_line_at(s.rows, 0).worst, SEVERITY_BAD);
    assert_int_equal(rows_line_at(s.rows, 1).worst, SEVERITY_WAITING);
    assert_int_equal(rows_line_at(s.rows, 2).worst, SEVERITY_GOOD);
    assert_int_equal(tally_count(rows_line_at(s.rows, 2).counts, "Running"), 2);
    assert_int_equal(rows_line_of(s.rows, NULL, "node n2"), 2);
    assert_int_equal(rows_line_of(s.rows, NULL, "node n9"), SIZE_MAX);
    assert_int_equal(rows_line_of(s.rows, "x/b", NULL), SIZE_MAX); /* its group is closed */
    change_pod(&s, CHANGE_MODIFIED, &(pod){ .key = "x/a", .phase = "Failed", .node = "n1" }, false);
    change_pod(&s, CHANGE_DELETED, &pods[4], false);
    settle(&s);
    assert_lines(&s, "[node n1 1] [node n3 1] [node n2 2] [node <none> 0]");
    s.now_ms += ROWS_LIT_MS;
    settle(&s);
    assert_lines(&s, "[node n1 1] [node n3 1] [node n2 2]");
    close_stage(&s);
}

TEST(a_toggled_group_opens_and_stays_open) {
    stage s = open_stage(KI_PODS);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/a" }, true);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "x/b" }, true);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "y/a" }, true);
    rows_group(s.rows, GROUP_NAMESPACE);
    settle(&s);
    rows_toggle(s.rows, "namespace x");
    rows_toggle(s.rows, "namespace z");
    assert_lines(&s, "[namespace x 2] [namespace y 1]");
    settle(&s);
    assert_lines(&s, "[namespace x 2] x/a x/b [namespace y 1]");
    assert_true(rows_line_at(s.rows, 0).is_open);
    assert_int_equal(rows_line_of(s.rows, "x/b", NULL), 2);
    rows_sort(s.rows, ROWS_BY_KEY, true);
    filter_rows(&s, "y/");
    settle(&s);
    assert_lines(&s, "[namespace y 1]");
    filter_rows(&s, "");
    settle(&s);
    assert_lines(&s, "[namespace x 2] x/b x/a [namespace y 1]");
    rows_toggle(s.rows, "namespace x");
    settle(&s);
    assert_lines(&s, "[namespace x 2] [namespace y 1]");
    rows_group(s.rows, GROUP_NONE);
    settle(&s);
    assert_lines(&s, "y/a x/b x/a");
    assert_int_equal(rows_line_of(s.rows, NULL, "namespace x"), SIZE_MAX);
    assert_int_equal(rows_line_of(s.rows, NULL, ""), SIZE_MAX);
    close_stage(&s);
}

TEST(objects_are_grouped_by_namespace_node_or_owner) {
    static const char owned[] =
        "{'metadata':{'name':'a','namespace':'x','ownerReferences':[{'kind':'Job','name':'j','controller':true}]},"
        "'spec':{'nodeName':'n1'}}";
    static const char alone[] = "{'metadata':{'name':'b'}}";
    static const struct {
        const ki_resource *resource;
        grouping by;
        const char *lines;
    } groupings[] = {
        { KI_PODS, GROUP_NAMESPACE, "[cluster 1] [namespace x 1]" },
        { KI_PODS, GROUP_NODE, "[node <none> 1] [node n1 1]" },
        { KI_CONFIGMAPS, GROUP_NODE, "[node <none> 1] [node n1 1]" }, /* without a column Node */
        { KI_PODS, GROUP_OWNER, "[cluster 1] [job x/j 1]" },
    };
    for (size_t i = 0; i < sizeof groupings / sizeof groupings[0]; i++) {
        stage s = open_stage(groupings[i].resource);
        change_object(&s, CHANGE_ADDED, owned, true);
        change_object(&s, CHANGE_ADDED, alone, true);
        rows_group(s.rows, groupings[i].by);
        settle(&s);
        assert_lines(&s, groupings[i].lines);
        close_stage(&s);
    }
}

/* ---- widths ---- */

TEST(columns_are_as_wide_as_their_widest_cell_and_do_not_shrink) {
    stage s = open_stage(KI_PODS);
    assert_int_equal(rows_width(s.rows, READY), strlen("READY"));
    assert_int_equal(rows_width(s.rows, AGE), strlen("1y364d"));
    assert_int_equal(rows_width(s.rows, 99), 0);
    assert_int_equal(rows_namespace_width(s.rows), 0);
    change_pod(&s, CHANGE_ADDED, &(pod){ .key = "shop/cart", .phase = "ImagePullBackOff" }, true);
    change_pod(&s, CHANGE_DELETED, &(pod){ .key = "shop/cart" }, false);
    assert_int_equal(rows_width(s.rows, STATUS), strlen("ImagePullBackOff"));
    assert_int_equal(rows_namespace_width(s.rows), strlen("shop"));
    change_object(&s, CHANGE_ADDED,
                  "{'metadata':{'name':'p'},'status':{'containerStatuses':[{'name':'a','restartCount':1,'lastState':{"
                  "'terminated':{'finishedAt':'2023-11-14T22:13:20Z'}}}]},'spec':{'containers':[{'name':'a'}]}}",
                  true);
    assert_int_equal(rows_width(s.rows, RESTARTS), strlen("1 (5m10s ago)")); /* now "1 (1s ago)" */
    close_stage(&s);
}

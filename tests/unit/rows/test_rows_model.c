/* The table after thousands of changes, beside a naive model that filters, groups and sorts all objects each time. */
#include "cli/lines/cell_value.h"
#include "cli/lines/fold.h"
#include "cli/output.h"
#include "cli/rows/rows.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    PODS = 60,
    COLUMNS = 9, /* of pods */
    GROUPS_MAX = 16
};

static const int64_t wall_begin_ms = INT64_C(1700000000000);

/* A pod, and what is shown of it since the last settle. */
typedef struct pod {
    ki_object *last; /* the newest version; NULL: it was never there */
    bool is_there;
    bool is_touched, is_new; /* since the last settle */
    uint64_t changed;        /* cells, since the last settle */

    ki_object *shown; /* NULL: nothing */
    row cells;        /* of `shown` */
    bool is_deleted;
    int64_t dark_ms[COLUMNS];
    int64_t old_ms, gone_ms; /* when it is no longer new, or ends as a deleted row */
    char group[OWNER_MAX];
} pod;

/* A group that is shown. */
typedef struct model_group {
    char text[OWNER_MAX];
    const pod *pods[PODS];
    size_t count;
    tally counts;
    severity worst;
    size_t worst_count;
} model_group;

typedef struct model {
    unsigned seed;
    ki_columns *columns;
    pod pods[PODS];
    int64_t now_ms;
    size_t column;
    bool is_descending;
    query query;
    grouping by;
    char open[GROUPS_MAX][OWNER_MAX];
    size_t open_count;
    model_group groups[GROUPS_MAX];
    size_t group_count;
} model;

static unsigned random_below(model *m, unsigned limit) {
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % limit;
}

static int64_t wall_ms(const model *m) {
    return wall_begin_ms + m->now_ms;
}

/* ---- changes ---- */

/* Returns a random version of a pod. Its name, owner and creation are always the same. */
static ki_object *make_pod(model *m, unsigned number) {
    static const char *const phases[] = { "Running", "Running", "Pending", "Failed", "Succeeded" };
    static const char *const namespaces[] = { "shop", "shop-a", "data" };
    static const char *const owners[] = {
        "",
        "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"controller\":true}],",
        "\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"s\",\"controller\":true}],",
    };
    char json[2048];
    char node[32] = "";
    unsigned ready = random_below(m, 3), on = random_below(m, 5);
    if (on)
        snprintf(node, sizeof node, "\"nodeName\":\"n%u\",", on);
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"%s\",%s\"creationTimestamp\":\"2023-11-14T%02u:13:%02u"
             "Z\"},\"spec\":{%s\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"status\":{"
             "\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"a\",\"ready\":%s,\"restartCount\":%u,\"state\":{"
             "\"running\":{}}},{\"name\":\"b\",\"ready\":%s,\"restartCount\":0,\"state\":{\"running\":{}}}]}}",
             number / 3, namespaces[number % 3], owners[number % 5 % 3], number % 22, number % 60, node,
             phases[random_below(m, 5)], ready > 0 ? "true" : "false", random_below(m, 12),
             ready > 1 ? "true" : "false");
    return make_object_from_json(json);
}

/* Returns a bit for each cell but the age that differs. */
static uint64_t differences(const model *m, const ki_object *before, const ki_object *after) {
    ki_error err = KI_ERROR_INIT;
    row was = { .text = NULL }, is = { .text = NULL };
    uint64_t bits = 0;
    assert_int_equal(row_read(&was, m->columns, before, 0, &err), KI_OK);
    assert_int_equal(row_read(&is, m->columns, after, 0, &err), KI_OK);
    assert_int_equal(is.count, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++)
        bits |= (uint64_t)(strcmp(row_cell(&was, i), row_cell(&is, i)) != 0) << i;
    row_clear(&was);
    row_clear(&is);
    return bits;
}

static void change_one(model *m, rows *r) {
    unsigned number = random_below(m, PODS);
    pod *p = &m->pods[number];
    ki_error err = KI_ERROR_INIT;
    bool was_there = p->is_there, is_deleted = random_below(m, 4) == 0;
    ki_object *obj = make_pod(m, number);
    change_type type = is_deleted ? CHANGE_DELETED : was_there ? CHANGE_MODIFIED : CHANGE_ADDED;
    assert_int_equal(rows_change(r, type, obj, false, wall_ms(m), &err), KI_OK);
    if (is_deleted && !was_there) { /* nothing */
        ki_object_unref(obj);
        return;
    }
    p->changed |= was_there ? differences(m, p->last, obj) : 0;
    p->is_new = !is_deleted && (p->is_new || !was_there);
    p->is_there = !is_deleted;
    p->is_touched = true;
    ki_object_unref(p->last);
    p->last = obj;
}

/* ---- settling ---- */

static void show(pod *p, int64_t now_ms) {
    bool was_shown = p->shown;
    if (p->is_touched && (p->is_there || was_shown)) {
        ki_object_unref(p->shown);
        p->shown = ki_object_ref(p->last);
        p->gone_ms = now_ms + ROWS_LIT_MS;
        p->is_deleted = !p->is_there;
        for (size_t i = 0; i < COLUMNS; i++)
            p->dark_ms[i] = p->changed >> i & 1 ? now_ms + ROWS_LIT_MS : p->dark_ms[i];
        p->old_ms = p->is_new ? now_ms + ROWS_LIT_MS : p->old_ms;
    }
    p->is_touched = p->is_new = false;
    p->changed = 0;
    if (!p->is_deleted || p->gone_ms > now_ms)
        return;
    ki_object_unref(p->shown);
    p->shown = NULL;
    p->is_deleted = false;
    memset(p->dark_ms, 0, sizeof p->dark_ms);
    p->old_ms = 0;
}

static void write_group(const model *m, pod *p) {
    ki_error err = KI_ERROR_INIT;
    p->group[0] = '\0';
    if (m->by == GROUP_NAMESPACE)
        snprintf(p->group, sizeof p->group, "namespace %s", ki_object_namespace(p->shown));
    if (m->by == GROUP_NODE)
        snprintf(p->group, sizeof p->group, "node %s", row_cell(&p->cells, column_named(m->columns, "Node")));
    if (m->by == GROUP_OWNER)
        assert_int_equal(fold_owner_of(p->shown, p->group, &err), KI_OK);
}

static model_group *group_of(model *m, const char *text) {
    for (size_t i = 0; i < m->group_count; i++) {
        if (strcmp(m->groups[i].text, text) == 0)
            return &m->groups[i];
    }
    assert_true(m->group_count < GROUPS_MAX);
    model_group *g = &m->groups[m->group_count++];
    *g = (model_group){ .count = 0 };
    snprintf(g->text, sizeof g->text, "%s", text);
    return g;
}

static void add_to_group(model *m, pod *p) {
    ki_error err = KI_ERROR_INIT;
    bool passes = false;
    row_clear(&p->cells);
    assert_int_equal(row_read(&p->cells, m->columns, p->shown, wall_ms(m), &err), KI_OK);
    const filter_subject subject = { .columns = m->columns, .cells = &p->cells, .obj = p->shown, .age_ms = -1 };
    assert_int_equal(query_passes(&m->query, &subject, &passes, &err), KI_OK);
    if (!passes)
        return;
    write_group(m, p);
    model_group *g = group_of(m, p->group);
    const condition one = condition_of(m->columns, &p->cells, false);
    g->pods[g->count++] = p;
    assert_true(p->is_deleted || tally_add(&g->counts, &one));
}

static const model *sorting;

static int by_order(const void *a, const void *b) {
    const pod *left = *(const pod *const *)a, *right = *(const pod *const *)b;
    bool is_by_key = sorting->column == ROWS_BY_KEY;
    int order = 0;
    if (!is_by_key) {
        bool is_age = strcmp(ki_columns_at(sorting->columns, sorting->column)->name, "Age") == 0;
        char times[2][32];
        const cell_value first = value_of(row_cell(&left->cells, sorting->column), is_age);
        const cell_value second = value_of(row_cell(&right->cells, sorting->column), is_age);
        order = value_compare(&first, &second);
        if (is_age)
            order = strcmp(ki_object_string(right->shown, "metadata.creationTimestamp", "", times[0], 32),
                           ki_object_string(left->shown, "metadata.creationTimestamp", "", times[1], 32));
        bool is_missing = first.kind == VALUE_MISSING || second.kind == VALUE_MISSING;
        order = sorting->is_descending && !is_missing ? -order : order;
    }
    int by_namespace = strcmp(ki_object_namespace(left->shown), ki_object_namespace(right->shown));
    int by_key = by_namespace ? by_namespace : strcmp(ki_object_name(left->shown), ki_object_name(right->shown));
    return order ? order : is_by_key && sorting->is_descending ? -by_key : by_key;
}

static int by_severity(const void *a, const void *b) {
    const model_group *left = a, *right = b;
    int order = (int)right->worst - (int)left->worst;
    if (order == 0)
        order = (left->worst_count < right->worst_count) - (left->worst_count > right->worst_count);
    if (order == 0)
        order = (left->counts.objects < right->counts.objects) - (left->counts.objects > right->counts.objects);
    return order ? order : strcmp(left->text, right->text);
}

static void forget_groups(model *m) {
    for (size_t i = 0; i < m->group_count; i++)
        tally_clear(&m->groups[i].counts);
    m->group_count = 0;
}

static void settle(model *m) {
    forget_groups(m);
    sorting = m;
    for (size_t i = 0; i < PODS; i++) {
        show(&m->pods[i], m->now_ms);
        if (m->pods[i].shown)
            add_to_group(m, &m->pods[i]);
    }
    for (size_t i = 0; i < m->group_count; i++) {
        model_group *g = &m->groups[i];
        g->worst = severity_of_all(m->columns, &g->counts, &g->worst_count);
        qsort(g->pods, g->count, sizeof g->pods[0], by_order);
    }
    qsort(m->groups, m->group_count, sizeof m->groups[0], by_severity);
}

/* ---- comparison ---- */

static size_t open_index(const model *m, const char *text) {
    size_t i = 0;
    while (i < m->open_count && strcmp(m->open[i], text) != 0)
        i++;
    return i;
}

static void assert_same_counts(const tally *t, const tally *expected) {
    assert_int_equal(t->objects, expected->objects);
    assert_int_equal(t->ready, expected->ready);
    for (size_t i = 0; i < t->count; i++)
        assert_int_equal(t->rows[i].count, tally_count(expected, t->rows[i].of.status));
}

static void assert_pod_at(const model *m, const rows *r, size_t index, const pod *p) {
    const rows_line line = rows_line_at(r, index);
    uint64_t lit = 0;
    assert_null(line.group);
    assert_string_equal(ki_object_key(line.obj), ki_object_key(p->shown));
    assert_ptr_equal(line.obj, p->shown);
    bool is_new = !p->is_deleted && p->old_ms > m->now_ms;
    assert_int_equal(line.state, p->is_deleted ? ROW_IS_DELETED : is_new ? ROW_IS_NEW : ROW_IS_THERE);
    for (size_t i = 0; i < COLUMNS; i++) {
        lit |= (uint64_t)(p->dark_ms[i] > m->now_ms) << i;
        assert_true(rows_width(r, i) >= width_of(row_cell(&p->cells, i)));
    }
    assert_int_equal(line.lit, is_new || p->is_deleted ? UINT64_MAX : lit);
    assert_int_equal(rows_line_of(r, ki_object_key(p->shown), NULL), index);
}

static void assert_heading_at(const model *m, const rows *r, size_t index, const model_group *g) {
    const rows_line line = rows_line_at(r, index);
    assert_string_equal(line.group, g->text);
    assert_null(line.obj);
    assert_int_equal(line.worst, g->worst);
    assert_int_equal(line.is_open, open_index(m, g->text) < m->open_count);
    assert_same_counts(line.counts, &g->counts);
    assert_int_equal(rows_line_of(r, NULL, g->text), index);
}

static void assert_same(const model *m, const rows *r) {
    size_t line = 0, passing = 0, there = 0;
    for (size_t i = 0; i < m->group_count; i++) {
        const model_group *g = &m->groups[i];
        passing += g->counts.objects;
        if (m->by)
            assert_heading_at(m, r, line++, g);
        for (size_t k = 0; k < g->count && (!m->by || open_index(m, g->text) < m->open_count); k++)
            assert_pod_at(m, r, line++, g->pods[k]);
    }
    assert_int_equal(rows_line_count(r), line);
    assert_int_equal(rows_count_passing(r), passing);
    for (size_t i = 0; i < PODS; i++)
        there += m->pods[i].shown && !m->pods[i].is_deleted;
    assert_int_equal(rows_count(r), there);
    assert_int_equal(rows_tally(r)->objects, there);
}

/* ---- what a person does ---- */

static void toggle_one(model *m, rows *r) {
    const char *text = m->by && m->group_count ? m->groups[random_below(m, (unsigned)m->group_count)].text : NULL;
    if (!text)
        return;
    rows_toggle(r, text);
    size_t index = open_index(m, text);
    if (index < m->open_count)
        memmove(m->open[index], m->open[--m->open_count], OWNER_MAX);
    else
        memcpy(m->open[m->open_count++], text, OWNER_MAX);
}

static void filter_by(model *m, rows *r) {
    static const char *const texts[] = { "",
                                         "",
                                         "shop",
                                         "!shop running",
                                         "ready=true",
                                         "restarts>5 ready!=true",
                                         "node~n1",
                                         "spec.nodeName=n2",
                                         "nothing-has-this" };
    char message[FILTER_MESSAGE_MAX];
    ki_error err = KI_ERROR_INIT;
    query_close(&m->query);
    assert_true(query_open(&m->query, texts[random_below(m, 9)], m->columns, message));
    assert_int_equal(rows_filter(r, &m->query, &err), KI_OK);
}

static void sort_by(model *m, rows *r) {
    unsigned column = random_below(m, COLUMNS + 1);
    m->column = column == COLUMNS ? ROWS_BY_KEY : column;
    m->is_descending = random_below(m, 2);
    rows_sort(r, m->column, m->is_descending);
}

static void group_by(model *m, rows *r) {
    grouping by = (grouping)random_below(m, GROUPINGS);
    m->open_count = by == m->by ? m->open_count : 0;
    m->by = by;
    rows_group(r, by);
}

static void do_something(model *m, rows *r) {
    static void (*const things[])(model * m, rows * r) = { toggle_one, toggle_one, filter_by, sort_by, group_by };
    unsigned which = random_below(m, 20);
    if (which < sizeof things / sizeof things[0])
        things[which](m, r);
}

static void clear(model *m) {
    forget_groups(m);
    for (size_t i = 0; i < PODS; i++) {
        ki_object_unref(m->pods[i].last);
        ki_object_unref(m->pods[i].shown);
        row_clear(&m->pods[i].cells);
    }
    query_close(&m->query);
    ki_columns_free(m->columns);
}

TEST(after_each_settle_the_lines_are_those_of_all_objects_filtered_grouped_and_sorted) {
    static model m;
    for (unsigned seed = 1; seed <= 5; seed++) {
        ki_error err = KI_ERROR_INIT;
        m = (model){ .seed = seed, .column = ROWS_BY_KEY };
        assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &m.columns, &err), KI_OK);
        rows *r = rows_new(m.columns, false);
        for (size_t i = test_case_count(300); i > 0; i--) {
            for (unsigned changes = random_below(&m, 2) * random_below(&m, 30); changes > 0; changes--)
                change_one(&m, r);
            do_something(&m, r);
            m.now_ms += random_below(&m, 900);
            assert_int_equal(rows_settle(r, m.now_ms, wall_ms(&m), &err), KI_OK);
            settle(&m);
            assert_same(&m, r);
            assert_false(rows_are_dirty(r, m.now_ms));
        }
        rows_free(r);
        clear(&m);
    }
}

/* How many objects there are of each status. */
#include "cli/lines/tally.h"
#include "cli/output.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

static condition of(const char *status, bool is_ready) {
    condition one = { .is_ready = is_ready };
    snprintf(one.status, sizeof one.status, "%s", status);
    return one;
}

static void add(tally *t, size_t count, const char *status, bool is_ready) {
    const condition one = of(status, is_ready);
    for (size_t i = 0; i < count; i++)
        assert_true(tally_add(t, &one));
}

/* The caller frees the text. */
static char *table_of(tally *t, bool has_ready, size_t width) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tally_write(t, "pods", has_ready, width, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_table(tally *t, bool has_ready, size_t width, const char *expected) {
    char *text = table_of(t, has_ready, width);
    assert_string_equal(text, expected);
    free(text);
}

TEST(a_table_has_the_most_frequent_status_first) {
    tally t = { .rows = NULL };
    add(&t, 12, "Pending", false);
    add(&t, 1800, "Running", true);
    add(&t, 12, "Running", false);
    add(&t, 12, "CrashLoopBackOff", false);
    assert_table(
        &t, true, 0,
        " PODS  READY  STATUS\n1,812  1,800  Running\n   12      0  CrashLoopBackOff\n   12      0  Pending\n");
    assert_table(&t, false, 0, " PODS  STATUS\n1,812  Running\n   12  CrashLoopBackOff\n   12  Pending\n");
    assert_table(&t, true, 20,
                 " PODS  READY  STATUS\n1,812  1,800  Runni…\n   12      0  Crash…\n   12      0  Pendi…\n");
    tally_clear(&t);
}

TEST(what_is_removed_is_not_counted) {
    tally t = { .rows = NULL };
    const condition running = of("Running", true), never = of("Failed", true);
    add(&t, 2, "Running", true);
    add(&t, 1, "", false);
    tally_remove(&t, &running);
    tally_remove(&t, &never);
    assert_int_equal(t.objects, 2);
    assert_int_equal(t.ready, 1);
    assert_table(&t, true, 0, "PODS  READY  STATUS\n   1      0  -\n   1      1  Running\n");
    tally_clear(&t);
}

/* A custom resource's status can be any text. */
TEST(many_statuses_are_counted_together) {
    tally t = { .rows = NULL };
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "s%d", i);
        add(&t, 1, name, false);
    }
    assert_in_range(t.count, 1, 100);
    assert_int_equal(t.objects, 1000);
    add(&t, 1, "s900", false); /* one of the others */
    add(&t, 5, "s3", false);
    char *text = table_of(&t, false, 0);
    assert_non_null(strstr(text, " PODS  STATUS\n    6  s3\n    1  s0\n    1  s1\n"));
    assert_non_null(strstr(text, "\n  981  (others)\n"));
    free(text);
    const condition third = of("s3", false);
    for (int i = 0; i < 5; i++)
        tally_remove(&t, &third);
    const condition other = of("s900", false);
    tally_remove(&t, &other);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "s%d", i);
        const condition one = of(name, false);
        tally_remove(&t, &one);
    }
    assert_int_equal(t.objects, 0);
    assert_table(&t, false, 0, "PODS  STATUS\n");
    tally_clear(&t);
}

TEST(a_status_is_kubectls_or_whether_the_object_is_ready) {
    static const struct {
        const ki_resource *resource;
        const char *json; /* ' for " */
        bool is_event;
        const char *status;
        bool is_ready;
    } rows[] = {
        { KI_PODS,
          "{'metadata':{'name':'a','namespace':'x'},'spec':{'containers':[{'name':'c'}]},'status':{'phase':'Pending'}}",
          false, "Pending", false },
        { KI_NODES, "{'metadata':{'name':'a'},'status':{'conditions':[{'type':'Ready','status':'True'}]}}", false,
          "Ready", true },
        { KI_DEPLOYMENTS,
          "{'metadata':{'name':'a','namespace':'x'},'spec':{'replicas':2},'status':{'readyReplicas':1}}", false,
          "NotReady", false },
        { KI_DEPLOYMENTS,
          "{'metadata':{'name':'a','namespace':'x'},'spec':{'replicas':2},'status':{'readyReplicas':2}}", false,
          "Ready", true },
        { KI_DAEMONSETS,
          "{'metadata':{'name':'a','namespace':'x'},'status':{'desiredNumberScheduled':67,'numberReady':66}}", false,
          "NotReady", false },
        { KI_DAEMONSETS,
          "{'metadata':{'name':'a','namespace':'x'},'status':{'desiredNumberScheduled':67,'numberReady':67}}", false,
          "Ready", true },
        { KI_CONFIGMAPS, "{'metadata':{'name':'a','namespace':'x'}}", false, "", false },
        { KI_EVENTS, "{'metadata':{'name':'a','namespace':'x'},'type':'Warning','reason':'BackOff'}", true,
          "Warning BackOff", false },
        { KI_PODS,
          "{'metadata':{'name':'a','namespace':'x'},'spec':{'containers':[{'name':'c'}]},'status':{'reason':'\\u001b["
          "2J\\u202e'}}",
          false, "?[2J???", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_columns *columns = NULL;
        row r = { .text = NULL };
        char *text = strdup(rows[i].json);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        ki_object *obj = make_object_from_json(text);
        assert_int_equal(ki_columns_new(rows[i].resource, NULL, 0, NULL, &columns, &err), KI_OK);
        assert_int_equal(row_read(&r, columns, obj, 0, &err), KI_OK);
        const condition one = condition_of(columns, &r, rows[i].is_event);
        assert_string_equal(one.status, rows[i].status);
        if (one.is_ready != rows[i].is_ready)
            fail_msg("%s is %sready", rows[i].json, one.is_ready ? "" : "not ");
        row_clear(&r);
        ki_columns_free(columns);
        ki_object_unref(obj);
        free(text);
    }
}

/* Returns how many objects the row of this status has. */
static size_t count_in_row(const tally *t, const char *status) {
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->rows[i].of.status, status) == 0)
            return t->rows[i].count;
    }
    return 0;
}

TEST(statuses_that_no_object_has_any_more_make_room_for_others) {
    tally t = { .rows = NULL };
    condition one[100] = { { .status = "" } };
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) { /* one after the other */
            snprintf(one[i].status, sizeof one[i].status, "%d of %d", i, round);
            assert_true(tally_add(&t, &one[i]));
            assert_int_equal(count_in_row(&t, one[i].status), 1);
            tally_remove(&t, &one[i]);
        }
        for (int i = 0; i < 100; i++) /* at once: some are among the others */
            assert_true(tally_add(&t, &one[i]));
        assert_true(count_in_row(&t, "(others)") > 30);
        for (int i = 0; i < 100; i++)
            tally_remove(&t, &one[99 - i]);
        assert_int_equal(t.objects, 0);
        for (size_t i = 0; i < t.count; i++)
            assert_int_equal(t.rows[i].count, 0);
    }
    tally_clear(&t);
}

/* Objects come, change their status and go, in any order. */
TEST(counts_of_many_statuses_are_those_of_the_objects) {
    enum {
        OBJECTS = 120,
        STATUSES = 90
    };
    tally t = { .rows = NULL };
    condition of[OBJECTS] = { { .status = "" } };
    unsigned random = 7;
    size_t there = 0;
    for (int step = 0; step < 20000; step++) {
        random = random * 1103515245 + 12345;
        condition *one = &of[random / 65536 % OBJECTS];
        if (*one->status) {
            tally_remove(&t, one);
            one->status[0] = '\0';
            there--;
        } else if (random / 65536 % 3 || step % 4000 < 1000) { /* more and fewer */
            random = random * 1103515245 + 12345;
            snprintf(one->status, sizeof one->status, "%u", random / 65536 % STATUSES);
            assert_true(tally_add(&t, one));
            there++;
        }
        size_t sum = 0;
        for (size_t i = 0; i < t.count; i++)
            sum += t.rows[i].count;
        assert_int_equal(sum, there);
        assert_int_equal(t.objects, there);
        assert_true(t.count <= 64);
    }
    tally_clear(&t);
}

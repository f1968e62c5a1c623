/* What --only and --where accept, and which objects pass. What --only leaves of a line: test_change.c. */
#include "cli/lines/filter.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <string.h>

TEST(a_filter_that_does_not_parse_says_why) {
    static const struct {
        const char *only, *where, *message;
    } rows[] = {
        { "", NULL, "--only has an empty name" },
        { "ready,,image", NULL, "--only has an empty name" },
        { "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", NULL, "--only: at most 32 names" },
        { NULL, "", "--where: \"\" has no operator" },
        { NULL, "status", "--where: \"status\" has no operator (= != ~ < > <= >=); write status!=Running" },
        { NULL, "=Running", "--where: a condition has no name" },
        { NULL, " != Running", "--where: a condition has no name" },
        { NULL, "status=Running,", "--where: \"\" has no operator" },
        { NULL, "restarts>", "--where: restarts>: a value is missing" },
        { NULL, "age<=", "--where: age<=: a value is missing" },
        { NULL, "restarts>=x", "--where: restarts>=x: \"x\" is no number, quantity or age" },
        { NULL, "restarts>=<none>", "\"<none>\" is no number, quantity or age" },
        { NULL, "~a", "--where: a condition has no name" },
        { NULL, "statu!=Running", "there is no column \"statu\", but name, ready, status, restarts, age, ip" },
        { "ready", "status=Running,node==n1,spec.x!=1", NULL },
        { NULL, "node=<none>,nominated-node~x,restarts > 3,age<=5m,ready<1/2,spec.priority>=2Gi", NULL },
    };
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns[2] = { NULL, NULL };
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &columns[1], &err), KI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        filter f;
        char message[FILTER_MESSAGE_MAX] = "";
        bool is_ok = filter_open(&f, rows[i].only, rows[i].where, message) &&
                     filter_check(&f, (const ki_columns *const *)columns, 2, message);
        if (is_ok != !rows[i].message || (rows[i].message && !strstr(message, rows[i].message)))
            fail_msg("row %zu: '%s'", i, message);
        filter_close(&f);
    }
    ki_columns_free(columns[1]);
}

TEST(objects_pass_that_fulfil_all_conditions) {
    static const char pod[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\",\"labels\":{\"app\":\"web\"},\"annotations\":{\"size\":"
        "\"1024Mi\",\"every\":\"90s\"},\"creationTimestamp\":\"2023-11-14T22:13:00Z\"},\"spec\":{\"nodeName\":\"n1\","
        "\"priority\":5,\"hostNetwork\":true,\"containers\":[{\"name\":\"c\"},{\"name\":\"d\"}]},\"status\":{"
        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"ready\":true,\"state\":{\"running\":{}},"
        "\"restartCount\":2,\"lastState\":{\"terminated\":{\"finishedAt\":\"2023-11-14T22:13:17Z\"}}}]}}";
    static const struct {
        const char *where;
        bool passes;
    } rows[] = {
        { NULL, true },
        { "status=Running", true },
        { "STATUS = running", true },
        { "status!=Running", false },
        { "status==Run", false },
        { "node=n1,status=Running", true }, /* a column of -o wide */
        { "node=n1,status=Pending", false },
        { "restarts=2", true }, /* the cell is "2 (3s ago)" */
        { "restarts=2 (3s ago)", true },
        { "restarts!=2", false },
        { "spec.nodeName=n1", true },
        { "namespace=x", true },
        { "Namespace!=x", false },
        { ".spec.priority=5", true },
        { "spec.hostNetwork=true", true },
        { "spec.missing=", true },
        { "spec.missing!=x", true },
        { "metadata.labels.app!=web", false },
        { "ready=true", false }, /* the cell is "1/2" */
        { "ready!=true", true },
        { "ready=false", true },
        { "ready=1/2", true },
        { "ready>0", true },
        { "ready>1", false },
        { "ready<=1", true },
        { "ready<2/2", true },
        { "ready>1/2", false },
        { "ready>5s", false },
        { "status~unn", true },
        { "status~x", false },
        { "node~1", true },
        { "restarts>1", true },
        { "restarts>2", false },
        { "restarts>=2", true },
        { "restarts<3", true },
        { "restarts<2", false },
        { "restarts=2.0", true },
        { "restarts!=2.0", false },
        { "restarts>1m", true }, /* a thousandth */
        { "age>19s", true },     /* the cell is "20s" */
        { "age<1m", true },
        { "age<20s", false },
        { "age>=20s", true },
        { "ip>0", false }, /* no number */
        { "ip<0", false },
        { "nominated-node>0", false },
        { "nominated-node=<none>", true },
        { "spec.priority>4", true },
        { "spec.priority<=4", false },
        { "spec.nodeName~N", true },
        { "spec.missing>0", false },
        { "metadata.annotations.size=1Gi", true },
        { "metadata.annotations.size>1000Mi", true },
        { "metadata.annotations.every>1m", true }, /* the value is "90s" */
    };
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    ki_object *obj = make_object_from_json(pod);
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err), KI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        filter f;
        char message[FILTER_MESSAGE_MAX];
        bool passes = false;
        assert_true(filter_open(&f, NULL, rows[i].where, message));
        assert_int_equal(filter_passes(&f, columns, obj, INT64_C(1700000000000), &passes, &err), KI_OK);
        if (passes != rows[i].passes)
            fail_msg("%s: %s", rows[i].where, passes ? "passes" : "does not pass");
        filter_close(&f);
    }
    ki_columns_free(columns);
    ki_object_unref(obj);
}

TEST(a_daemon_set_is_ready_if_as_many_are_ready_as_are_desired) {
    static const struct {
        int ready;
        const char *where;
        bool passes;
    } rows[] = { { 3, "ready=true", true },  { 3, "ready!=true", false }, { 2, "ready=true", false },
                 { 2, "ready=false", true }, { 2, "ready=2", true },      { 2, "ready<3", true } };
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(KI_DAEMONSETS, NULL, 0, NULL, &columns, NULL), KI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char json[256], message[FILTER_MESSAGE_MAX];
        bool passes = false;
        filter f;
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"name\":\"a\"},\"status\":{\"desiredNumberScheduled\":3,\"numberReady\":%d}}",
                 rows[i].ready);
        ki_object *obj = make_object_from_json(json);
        assert_true(filter_open(&f, NULL, rows[i].where, message));
        assert_int_equal(filter_passes(&f, columns, obj, 0, &passes, NULL), KI_OK);
        if (passes != rows[i].passes)
            fail_msg("%d: %s", rows[i].ready, rows[i].where);
        filter_close(&f);
        ki_object_unref(obj);
    }
    ki_columns_free(columns);
}

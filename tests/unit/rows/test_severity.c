/* How bad a status is. */
#include "cli/rows/severity.h"
#include "tests/support/test.h"

#include <string.h>

static severity of(const ki_resource *resource, const char *status, bool is_ready) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    condition one = { .is_ready = is_ready };
    assert_int_equal(ki_columns_new(resource, NULL, 0, NULL, &columns, &err), KI_OK);
    snprintf(one.status, sizeof one.status, "%s", status);
    severity found = severity_of(columns, &one);
    ki_columns_free(columns);
    return found;
}

static void assert_severity(const ki_resource *resource, const char *status, bool is_ready, severity expected) {
    severity found = of(resource, status, is_ready);
    if (found != expected)
        fail_msg("%s, %sready: %d", status, is_ready ? "" : "not ", (int)found);
}

TEST(a_pod_that_runs_or_has_ended_well_is_good) {
    assert_severity(KI_PODS, "Running", true, SEVERITY_GOOD);
    assert_severity(KI_PODS, "Completed", false, SEVERITY_GOOD);
    assert_severity(KI_PODS, "Succeeded", false, SEVERITY_GOOD);
}

TEST(a_pod_that_starts_or_ends_waits) {
    static const char *const words[] = { "Running",  "Pending",     "ContainerCreating", "PodInitializing",
                                         "Init:0/2", "Terminating", "SchedulingGated",   "NotReady" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_severity(KI_PODS, words[i], false, SEVERITY_WAITING);
}

TEST(any_other_status_of_a_pod_is_bad) {
    static const char *const words[] = {
        "CrashLoopBackOff", "Error",      "Evicted", "ImagePullBackOff",      "OOMKilled", "Unknown",
        "Init:Error",       "ExitCode:3", "Failed",  "Init:CrashLoopBackOff", "Init:0",    "NodeLost"
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_severity(KI_PODS, words[i], false, SEVERITY_BAD);
}

TEST(other_kinds_have_their_words) {
    assert_severity(KI_NODES, "Ready", true, SEVERITY_GOOD);
    assert_severity(KI_NODES, "Ready,SchedulingDisabled", false, SEVERITY_WAITING);
    assert_severity(KI_NODES, "NotReady", false, SEVERITY_BAD);
    assert_severity(KI_NODES, "NotReady,SchedulingDisabled", false, SEVERITY_BAD);
    assert_severity(KI_NODES, "Unknown", false, SEVERITY_BAD);
    assert_severity(KI_DEPLOYMENTS, "Ready", true, SEVERITY_GOOD);
    assert_severity(KI_DEPLOYMENTS, "NotReady", false, SEVERITY_WAITING);
    assert_severity(KI_NAMESPACES, "Active", false, SEVERITY_GOOD);
    assert_severity(KI_PERSISTENTVOLUMECLAIMS, "Bound", false, SEVERITY_GOOD);
    assert_severity(KI_PERSISTENTVOLUMECLAIMS, "Pending", false, SEVERITY_WAITING);
    assert_severity(KI_PERSISTENTVOLUMECLAIMS, "Lost", false, SEVERITY_BAD);
    assert_severity(KI_JOBS, "Failed", false, SEVERITY_BAD);
    assert_severity(KI_EVENTS, "Warning BackOff", false, SEVERITY_WAITING);
    assert_severity(KI_EVENTS, "Normal Pulled", false, SEVERITY_PLAIN);
}

TEST(nothing_is_known_of_words_of_other_kinds) {
    assert_severity(KI_CONFIGMAPS, "", false, SEVERITY_PLAIN);
    assert_severity(KI_JOBS, "Sleeping", false, SEVERITY_PLAIN);
    assert_severity(KI_NODES, "runningly", false, SEVERITY_PLAIN);
}

TEST(of_many_the_worst_counts) {
    static const struct {
        const char *status;
        size_t count, ready;
        severity worst; /* after this one */
        size_t worst_count;
    } rows[] = {
        { "Running", 2, 2, SEVERITY_GOOD, 2 },    { "CrashLoopBackOff", 0, 0, SEVERITY_GOOD, 2 }, /* there were some */
        { "Running", 5, 2, SEVERITY_WAITING, 3 }, { "Pending", 2, 0, SEVERITY_WAITING, 5 },
        { "OOMKilled", 1, 0, SEVERITY_BAD, 1 },   { "Completed", 1, 0, SEVERITY_BAD, 1 },
    };
    enum {
        COUNT = sizeof rows / sizeof rows[0]
    };
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    tally_row counts[COUNT];
    assert_int_equal(ki_columns_new(KI_PODS, NULL, 0, NULL, &columns, &err), KI_OK);
    for (size_t i = 0; i < COUNT; i++) {
        counts[i] = (tally_row){ .count = rows[i].count, .ready = rows[i].ready };
        snprintf(counts[i].of.status, sizeof counts[i].of.status, "%s", rows[i].status);
        const tally t = { .rows = counts, .count = i + 1 };
        size_t worst_count = 0;
        assert_int_equal(severity_of_all(columns, &t, &worst_count), rows[i].worst);
        assert_int_equal(worst_count, rows[i].worst_count);
    }
    ki_columns_free(columns);
}

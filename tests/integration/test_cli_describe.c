/* test_cli_describe.c: the command line of describe: which objects, which parts, and what is said about others. */
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_put(command_server, resource, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
}

#define LEASE(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"}}"

static void put_objects(void) {
    char event[512];
    put(KI_LEASES, LEASE("web-1"));
    put(KI_LEASES, LEASE("web-2"));
    put(KI_LEASES, LEASE("db"));
    COMMAND_RUN("get", "lease", "db", "-n", "x", "-o", "jsonpath={.metadata.uid}", "--server", "URL");
    snprintf(event, sizeof event,
             "{\"metadata\":{\"name\":\"e\",\"namespace\":\"x\"},\"involvedObject\":{\"kind\":\"Lease\",\"name\":"
             "\"db\",\"namespace\":\"x\",\"uid\":\"%.36s\"},\"type\":\"Normal\",\"reason\":\"Taken\",\"message\":"
             "\"by me\"}",
             command_output());
    command_ends(0);
    put(KI_EVENTS, event);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

COMMAND_TEST(one_object_is_described_with_its_events) {
    put_objects();
    COMMAND_RUN("describe", "lease", "db", "-n", "x", "--server", "URL");
    const char *printed = command_output();
    assert_ptr_equal(strstr(printed, "Name:         db\nNamespace:    x\n"), printed);
    assert_non_null(strstr(printed, "Events:\n"
                                    "  Type    Reason  Age        From  Message\n"
                                    "  ----    ------  ----       ----  -------\n"
                                    "  Normal  Taken   <unknown>        by me\n"));
    command_ends(0);
}

COMMAND_TEST(several_objects_are_described_without_events_unless_asked_for) {
    put_objects();
    COMMAND_RUN("describe", "leases/web-1", "leases/db", "-n", "x", "--server", "URL");
    const char *printed = command_output();
    assert_null(strstr(printed, "Events:"));
    assert_non_null(strstr(printed, "\n\n\nName:         db\n"));
    command_ends(0);
    COMMAND_RUN("describe", "leases", "-A", "--show-events", "--server", "URL");
    printed = command_output();
    assert_int_equal(count_of(printed, "Labels: "), count_of(printed, "Events:"));
    assert_int_equal(count_of(printed, "by me"), 1);
    command_ends(0);
}

COMMAND_TEST(a_name_that_is_missing_is_the_beginning_of_names) {
    put_objects();
    COMMAND_RUN("describe", "leases", "web", "-n", "x", "--server", "URL");
    const char *printed = command_output();
    assert_int_equal(count_of(printed, "Name: "), 2);
    assert_non_null(strstr(printed, "Name:         web-2\n"));
    assert_null(strstr(printed, "Events:"));
    command_ends(0);
    COMMAND_RUN("describe", "leases", "other", "-n", "x", "--server", "URL");
    assert_string_equal(command_output(), "");
    command_says("Error from server (NotFound): leases.coordination.k8s.io \"other\" not found");
    command_ends(1);
    COMMAND_RUN("describe", "leases/web", "-n", "x", "--server", "URL");
    assert_string_equal(command_output(), "");
    command_says("Error from server (NotFound): leases.coordination.k8s.io \"web\" not found");
    command_ends(1);
}

COMMAND_TEST(a_node_is_described_with_its_pods) {
    COMMAND_RUN("describe", "nodes", "--server", "URL");
    const char *printed = command_output();
    assert_non_null(strstr(printed, "Non-terminated Pods: "));
    assert_non_null(strstr(printed, "Allocated resources:\n"));
    command_ends(0);
}

COMMAND_TEST(what_is_not_there_is_said) {
    COMMAND_RUN("describe", "leases", "-n", "empty", "--server", "URL");
    assert_string_equal(command_output(), "");
    command_says("No resources found in empty namespace.");
    command_ends(0);
    COMMAND_RUN("describe", "--server", "URL");
    command_says("name a resource, for example: kinformer describe");
    command_ends(2);
    COMMAND_RUN("describe", "pods", "--show-events=maybe", "--server", "URL");
    command_says("--show-events=maybe: true or false expected");
    command_ends(2);
    COMMAND_RUN("describe", "pods", "-o", "yaml", "--server", "URL");
    command_says("kinformer get prints objects in a format");
    command_ends(2);
}

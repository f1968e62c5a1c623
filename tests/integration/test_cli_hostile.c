/* test_cli_hostile.c: what the commands print of hostile objects and responses. */
#include "tests/support/command.h"
#include "tests/support/raw_server.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCH_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
#define OBJECT(version) \
    "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\"," \
    "\"resourceVersion\":\"" version "\"}"
#define SYNCED \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":" \
    "\"2\"," \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_put(command_server, resource, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
}

/* kubectl prints it bare, and cannot read that back. */
COMMAND_TEST(a_name_that_yaml_takes_for_a_merge_is_quoted) {
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"data\":{\"<<\":\"<<\"}}");
    COMMAND_RUN("get", "configmap", "a", "-o", "yaml", "--server", "URL");
    assert_non_null(strstr(command_output(), "\n  \"<<\": <<\n"));
    command_ends(0);
}

/* --- a change of very many members -------------------------------------------------------------------------------- */

enum {
    MEMBERS = 100000,
    MEMBER_SIZE = 32
};

/* In one order, or in the other: what looks each up from the beginning takes minutes. */
static char *write_members(char *to, const char *before, const char *after, bool is_reversed) {
    for (int i = 0; i < MEMBERS; i++)
        to += sprintf(to, "%s%s%06d%s", i ? "," : "", before, is_reversed ? MEMBERS - 1 - i : i, after);
    return to;
}

/* Runs a watch of pods over a server that sends these bytes, until a change is printed. Returns what it printed. */
static const char *watch_one(raw_server *server, const raw_response *response) {
    char url[64];
    raw_server_start(server, response, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server->port);
    COMMAND_RUN("watch", "pods", "--count", "1", "-q", "--server", url);
    return command_output();
}

static void assert_change(const char *open, const char *before, const char *after, const char *changed,
                          const char *close, const char *prints) {
    char *text = malloc(4096 + (size_t)2 * MEMBERS * MEMBER_SIZE);
    assert_non_null(text);
    char *to = text + sprintf(text, "%s{\"type\":\"ADDED\",\"object\":{" OBJECT("1") ",%s", WATCH_HEAD, open);
    to = write_members(to, before, after, false);
    to += sprintf(to, "%s}}\n%s{\"type\":\"MODIFIED\",\"object\":{" OBJECT("3") ",%s", close, SYNCED, open);
    to = write_members(to, before, after, true);
    sprintf(to, "%s%s}}\n", changed, close);
    const raw_response response = { text, 0, RAW_SILENT };
    raw_server server;
    const char *printed = watch_one(&server, &response);
    if (!strstr(printed, prints))
        fail_msg("'%s' is not in\n%s", prints, printed);
    assert_null(strstr(printed, "more)"));
    command_ends(0);
    raw_server_stop(&server);
    free(text);
}

COMMAND_TEST(a_change_among_very_many_members_is_found_at_once) {
    assert_change("\"spec\":{", "\"n", "\":1", ",\"new\":2", "}", " Pod default/a  spec.new: (none) \342\206\222 2\n");
    assert_change("\"spec\":[", "{\"name\":\"n", "\"}", ",{\"name\":\"new\"}", "]", " Pod default/a  spec: + new\n");
}

/* Two that have one name, as the addresses of a node with two families. */
COMMAND_TEST(members_with_one_name_are_compared_one_by_one) {
    const raw_response response = { WATCH_HEAD "{\"type\":\"ADDED\",\"object\":{" OBJECT(
                                        "1") ",\"status\":{\"ips\":[{\"type\":\"in\",\"v\":\"4\"},"
                                             "{\"type\":\"in\",\"v\":\"6\"},{\"v\":1}]}}}\n" SYNCED
                                             "{\"type\":\"MODIFIED\",\"object\":{" OBJECT(
                                                 "3") ",\"status\":{\"ips\":[{\"v\":2},{\"type\":\"in\",\"v\":\"4\"},"
                                                      "{\"type\":\"in\",\"v\":\"8\"}]}}}\n",
                                    0, RAW_SILENT };
    raw_server server;
    const char *printed = watch_one(&server, &response);
    assert_non_null(strstr(printed, "a  status.ips[0].v: 1 \342\206\222 2, status.ips[in].v: 6 \342\206\222 8\n"));
    command_ends(0);
    raw_server_stop(&server);
}

#define LIST_HEAD \
    WATCH_HEAD "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"2\"},\"items\":["

/* The first request is for a streaming list, which is refused; what is asked for then is a list. */
static const raw_response error_response = {
    "HTTP/1.1 422 No\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,"
    "\"message\":\"sendInitialEvents is forbidden\"}",
    0, RAW_CLOSE
};

COMMAND_TEST(the_last_of_two_members_with_one_name_is_shown) {
    const raw_response responses[] = {
        error_response,
        { LIST_HEAD "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
                    "\"spec\":{\"b\":{\"x\":1},\"a\":3,\"b\":{\"z\":2},\"b\":4}}]}",
          0, RAW_CLOSE }
    };
    raw_server server;
    char url[64];
    raw_server_start(&server, responses, 2);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("get", "pods", "-o", "yaml", "--server", url);
    const char *printed = command_output();
    if (!strstr(printed, "\n  spec:\n    a: 3\n    b: 4\nkind: List\n"))
        fail_msg("%s", printed);
    command_ends(0);
    raw_server_stop(&server);
}

COMMAND_TEST(objects_that_cannot_be_read_are_said_to_be_left_out) {
    const raw_response responses[] = { error_response,
                                       { LIST_HEAD
                                         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"n\":1e400},"
                                         "{\"metadata\":{\"name\":\"\"}},null]}",
                                         0, RAW_CLOSE } };
    static const char *const said[] = { "pods: skipped default/a: ", "pods: skipped an object without a name: ",
                                        "an item is not a JSON object" };
    raw_server server;
    char url[64];
    raw_server_start(&server, responses, 2);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("get", "pods", "-o", "name", "--server", url);
    assert_string_equal(command_output(), "");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        command_says(said[i]);
    command_ends(0);
    raw_server_stop(&server);
}

COMMAND_TEST(a_full_disk_is_reported_by_every_command) {
    static const char *const words[] = { "--help", "help get", "get --help", "version", "completion bash" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char line[512];
        snprintf(line, sizeof line, "exec %s %s >/dev/full", KI_TEST_PROGRAM, words[i]);
        command_start("/bin/sh", (const char *const[]){ "-c", line, NULL });
        command_says("cannot write the output: No space left on device");
        command_ends(1);
    }
}

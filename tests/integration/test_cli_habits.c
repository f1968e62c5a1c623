/* test_cli_habits.c: command lines that people bring from kubectl: get prints what kubectl prints for them. */
#include "tests/support/command.h"
#include "tests/support/load_nodes.h"
#include "tests/support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_put(command_server, resource, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
}

/* A command line, its output, and what stderr says; NULL: stderr is empty. */
typedef struct habit {
    const char *words; /* separated by blanks */
    const char *prints;
    const char *says;
    int status;
} habit;

static void run_words(const char *line) {
    static char text[1024];
    const char *words[COMMAND_WORDS_MAX + 1] = { NULL };
    size_t count = 0;
    snprintf(text, sizeof text, "%s --server URL", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    command_start(KI_TEST_PROGRAM, words);
}

static void check_habits(const habit *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        run_words(rows[i].words);
        const char *printed = command_output();
        if (strcmp(printed, rows[i].prints) != 0)
            fail_msg("%s: prints\n%s", rows[i].words, printed);
        const char *said = rows[i].says ? NULL : ki_process_err_line(&command);
        if (said)
            fail_msg("%s: says %s", rows[i].words, said);
        if (rows[i].says)
            command_says(rows[i].says);
        command_ends(rows[i].status);
    }
}
#define CHECK_HABITS(rows) check_habits(rows, sizeof(rows) / sizeof(rows)[0])

/* ConfigMaps one and two in the namespace x; a column of their ages would not hold still. */
static void put_config_maps(void) {
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"one\",\"namespace\":\"x\",\"labels\":{\"app\":\"a\"}},\"data\":{}}");
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"two\",\"namespace\":\"x\"},\"data\":{}}");
}

COMMAND_TEST(short_flags_can_share_a_word) {
    static const habit rows[] = {
        { "get configmaps -oname -nx", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -Aoname -lapp=a", "configmap/one\n", NULL, 0 },
        { "get configmaps -Ao name -lapp=a", "configmap/one\n", NULL, 0 },
        { "get configmaps -qAo=name -l=app=a", "configmap/one\n", NULL, 0 },
        { "-Aoname get configmaps -l app=a", "configmap/one\n", NULL, 0 },
        { "get configmaps -A=false -n x -oname", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -AZ", "", "there is no flag -Z", 2 },
        { "get configmaps -Ao", "", "-o --server is not a format", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

COMMAND_TEST(a_level_of_verbosity_is_more_or_nothing_more) {
    static const habit rows[] = {
        { "get configmaps -n x -oname -v=0", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -n x -oname -v 0", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -n x -v6 -oname", "configmap/one\nconfigmap/two\n", "configmaps: ", 0 },
        { "get configmaps -n x -v 6 -oname", "configmap/one\nconfigmap/two\n", "configmaps: ", 0 },
        { "get configmaps -n x -oname --v=6", "configmap/one\nconfigmap/two\n", "configmaps: ", 0 },
        { "get -v configmaps -n x -oname", "configmap/one\nconfigmap/two\n", "configmaps: ", 0 },
        { "get -vn x configmaps -oname", "configmap/one\nconfigmap/two\n", "configmaps: ", 0 },
        { "get -v=much configmaps", "", "--verbose=much: a number expected", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

COMMAND_TEST(a_missing_object_can_be_nothing) {
    static const habit rows[] = {
        { "get configmap no -n x --ignore-not-found", "", NULL, 0 },
        { "get configmap no -n x --ignore-not-found -o json", "", NULL, 0 },
        { "get configmaps no never -n x --ignore-not-found -o yaml", "", NULL, 0 },
        { "get configmaps one no -n x --ignore-not-found -o name", "configmap/one\n", NULL, 0 },
        { "get configmap/one configmap/no -n x --ignore-not-found=true -o name", "configmap/one\n", NULL, 0 },
        { "get configmaps -n empty --ignore-not-found", "", NULL, 0 },
        { "get configmap no -n x --ignore-not-found=false", "", "configmaps \"no\" not found", 1 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

COMMAND_TEST(nothing_is_said_about_nothing_where_a_program_reads) {
    static const habit rows[] = {
        { "get configmaps -n empty -o name", "", NULL, 0 },
        { "get configmaps -n empty -o custom-columns=A:.metadata.name,B:.kind", "A     B\n", NULL, 0 },
        { "get configmaps -n empty -o custom-columns=A:.metadata.name --no-headers", "", NULL, 0 },
        { "get configmaps -n empty -o wide", "", "No resources found in empty namespace.", 0 },
    };
    CHECK_HABITS(rows);
}

COMMAND_TEST(names_have_their_kind_on_request) {
    static const habit rows[] = {
        { "get namespaces default --show-kind --no-headers -o custom-columns=N:.metadata.name", "default\n", NULL, 0 },
        { "get configmaps -n x --show-kind -o name", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -n empty --show-kind", "", "No resources found in empty namespace.", 0 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
    run_words("get configmaps -n x --show-kind --no-headers");
    const char *printed = command_output();
    assert_memory_equal(printed, "configmap/one   0     ", 22);
    assert_non_null(strstr(printed, "\nconfigmap/two   0     "));
    command_ends(0);
}

COMMAND_TEST(without_the_servers_columns_a_table_has_name_and_age) {
    run_words("get nodes --server-print=false -o wide");
    const char *printed = command_output();
    assert_memory_equal(printed, "NAME ", 5);
    assert_memory_equal(strchr(printed, '\n') - 6, "   AGE\n", 7);
    assert_null(strstr(printed, "STATUS"));
    command_ends(0);
}

COMMAND_TEST(a_chunk_size_is_the_size_of_a_page) {
    static const habit rows[] = {
        { "get configmaps -n x -oname --chunk-size=1", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps -n x -oname --chunk-size 0", "configmap/one\nconfigmap/two\n", NULL, 0 },
        { "get configmaps --chunk-size=x", "", "a number expected", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

static void put_words(void) {
    put(KI_CONFIGMAPS,
        "{\"metadata\":{\"name\":\"w\",\"namespace\":\"x\"},\"data\":{\"z\":\"<b>&\\u2028\\u0001\\t\\u00e9\\\"\\\\\","
        "\"a\":\"{\\\"k\\\":[1,{}]}\"},\"numbers\":[1,-2.50,1e21,[],{},true,null]}");
}

COMMAND_TEST(json_is_indented_as_kubectls) {
    static const char *const lines[] = { "{",
                                         "    \"apiVersion\": \"v1\",",
                                         "    \"data\": {",
                                         "        \"a\": \"{\\\"k\\\":[1,{}]}\",",
                                         "        \"z\": \"\\u003cb\\u003e\\u0026\\u2028\\u0001\\t\u00e9\\\"\\\\\"",
                                         "    },",
                                         "    \"kind\": \"ConfigMap\",",
                                         "    \"metadata\": {",
                                         NULL,
                                         "        \"name\": \"w\",",
                                         "        \"namespace\": \"x\",",
                                         NULL,
                                         NULL,
                                         "    },",
                                         "    \"numbers\": [",
                                         "        1,",
                                         "        -2.5,",
                                         "        1e+21,",
                                         "        [],",
                                         "        {},",
                                         "        true,",
                                         "        null",
                                         "    ]",
                                         "}" };
    put_words();
    run_words("get configmap w -n x -o json");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *line = ki_process_line(&command);
        assert_non_null(line);
        if (lines[i]) /* else the time, the version or the uid */
            assert_string_equal(line, lines[i]);
    }
    assert_null(ki_process_line(&command));
    command_ends(0);
}

COMMAND_TEST(several_objects_are_a_list_or_a_line_each) {
    static const habit rows[] = {
        { "get secrets -n x -o json",
          "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\",\n    \"metadata\": {\n"
          "        \"resourceVersion\": \"\"\n    }\n}\n",
          NULL, 0 },
        { "get secrets -n x -o jsonl", "", NULL, 0 },
        { "watch secrets -n x -o jsonl", "", "jsonl is a format of get; -o json prints a line for each change", 2 },
    };
    CHECK_HABITS(rows);
    put_words();
    put_config_maps();
    run_words("get configmaps -n x -o json");
    const char *printed = command_output();
    const char *begins =
        "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"apiVersion\": \"v1\",\n";
    assert_memory_equal(printed, begins, strlen(begins));
    assert_non_null(
        strstr(printed, "\n        },\n        {\n            \"apiVersion\": \"v1\",\n            \"data\": {},\n"));
    const char *ends = "\n        }\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        "
                       "\"resourceVersion\": \"\"\n    }\n}\n";
    assert_string_equal(printed + strlen(printed) - strlen(ends), ends);
    command_ends(0);
    run_words("get configmaps -n x -o jsonl");
    size_t count = 0;
    for (const char *line; (line = ki_process_line(&command)); count++)
        assert_non_null(strstr(line, "\"kind\":\"ConfigMap\""));
    assert_int_equal(count, 3);
    command_ends(0);
}

COMMAND_TEST(values_of_a_path_can_be_json) {
    static const habit rows[] = {
        { "get configmaps -n x -o jsonpath-as-json={.items[*].metadata.name}",
          "[\n    \"one\",\n    \"two\",\n    \"w\"\n]\n", NULL, 0 },
        { "get configmap w -n x -o jsonpath-as-json={.numbers}",
          "[\n    [\n        1,\n        -2.5,\n        1e+21,\n        [],\n        {},\n        true,\n        "
          "null\n    ]\n]\n",
          NULL, 0 },
        { "get configmap w -n x -o jsonpath-as-json={.numbers[*]}",
          "[\n    1,\n    -2.5,\n    1e+21,\n    [],\n    {},\n    true,\n    null\n]\n", NULL, 0 },
        { "get configmap w -n x -o jsonpath-as-json={.nothing}", "[]\n", NULL, 0 },
        { "get configmap w -n x -o jsonpath-as-json={.", "", "error parsing {.", 2 },
        { "watch configmap w -n x -o jsonpath-as-json={.data}", "", "is a format of get", 2 },
    };
    put_config_maps();
    put_words();
    CHECK_HABITS(rows);
}

static void put_map(const char *name, const char *labels, const char *data) {
    char json[512];
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\",\"labels\":{%s}},\"data\":{%s}}",
             name, labels, data);
    put(KI_CONFIGMAPS, json);
}

static void delete_map(const char *name) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_delete(command_server, KI_CONFIGMAPS, "x", name, &err))
        fail_msg("%s", ki_error_message(&err));
}

/* Asserts the next line; in `begins` without the age at its end. */
static void expect_line(const char *begins) {
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    if (strncmp(line, begins, strlen(begins)) != 0)
        fail_msg("expected '%s', got '%s'", begins, line);
}

static void stop_watching(void) {
    ki_process_signal(&command, SIGTERM);
    assert_null(ki_process_line(&command));
    assert_null(ki_process_err_line(&command));
    command_ends(0);
}

COMMAND_TEST(get_watch_prints_the_table_then_the_rows_that_change) {
    put_config_maps();
    run_words("get configmaps -n x -w");
    expect_line("NAME   DATA   AGE");
    expect_line("one    0      ");
    expect_line("two    0      ");
    put_map("three", "", "\"a\":\"b\"");
    expect_line("three   1      "); /* a wider column from here on */
    put_map("one", "", "\"a\":\"b\"");
    expect_line("one     1      ");
    delete_map("two");
    expect_line("two     0      ");
    stop_watching();
}

COMMAND_TEST(an_empty_table_begins_with_its_first_row) {
    run_words("get configmaps -n x --watch-only --output-watch-events -L app -v");
    assert_non_null(ki_process_expect_err(&command, "watching"));
    put_map("old", "\"app\":\"a\"", "");
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    assert_string_equal(line, "EVENT      NAME   DATA   AGE   APP");
    expect_line("ADDED      old    0      ");
    put_map("old", "\"app\":\"b\"", "");
    expect_line("MODIFIED   old    0      ");
    delete_map("old");
    expect_line("DELETED    old    0      ");
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(get_watch_prints_objects_in_every_format) {
    static const struct {
        const char *format, *first, *changed; /* the line of the object */
    } rows[] = {
        { "-o name", "configmap/one", "configmap/one" },
        { "-o jsonl", "{", "{" },
        { "-o custom-columns=N:.metadata.name,V:.data.v --no-headers", "one   1", "one   2" },
        { "-o jsonpath={.data.v}{\"\\n\"}", "1", "2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[256];
        put_map("one", "", "\"v\":\"1\"");
        put_map("other", "", "");
        snprintf(words, sizeof words, "get configmap one -n x -w %s", rows[i].format);
        run_words(words);
        expect_line(rows[i].first);
        put_map("other", "", "\"v\":\"2\"");
        put_map("one", "", "\"v\":\"2\"");
        expect_line(rows[i].changed);
        stop_watching();
    }
}

COMMAND_TEST(a_watched_object_that_is_missing_ends_the_watch) {
    static const habit rows[] = {
        { "get configmap no -n x -w", "", "Error from server (NotFound): configmaps \"no\" not found", 1 },
        { "get componentstatuses -w", "", "cannot be watched", 1 },
    };
    CHECK_HABITS(rows);
    COMMAND_RUN("get", "pods", "-w", "--server", "http://127.0.0.1:1");
    command_says("was refused");
    command_ends(3);
}

/* As a script that waits for a deletion: without it a name that comes later would never be seen. */
COMMAND_TEST(a_missing_object_can_be_awaited) {
    run_words("get configmap one -n x -w --ignore-not-found -v -o name");
    assert_non_null(ki_process_expect_err(&command, "watching"));
    put_map("one", "", "");
    expect_line("configmap/one");
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(raw_is_what_the_server_sends) {
    static const habit rows[] = {
        { "get --raw /healthz", "ok\n", NULL, 0 }, /* the last line has no newline */
        { "get --raw=/api/v1/namespaces/x/configmaps/no", "",
          "Error from server (NotFound): configmaps \"no\" not found", 1 },
        { "get --raw /nowhere", "", "Error from server (NotFound): the server could not find the requested resource",
          1 },
        { "get --raw /version pods", "", "--raw takes no resources", 2 },
        { "get --raw /version -o json", "", "--raw takes no resources, no --output", 2 },
        { "get --raw version", "", "a path is needed, such as /version", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
    run_words("get --raw /api/v1/namespaces/x/configmaps/one");
    expect_line("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"one\"");
    command_ends(0);
    COMMAND_RUN("get", "--raw", "/version", "--server", "http://127.0.0.1:1");
    command_says("was refused");
    command_ends(3);
}

COMMAND_TEST(a_raw_watch_arrives_line_by_line_until_a_signal) {
    put_config_maps();
    run_words("get --raw /api/v1/namespaces/x/configmaps?watch=1&resourceVersion=0");
    expect_line("{\"type\":\"ADDED\"");
    expect_line("{\"type\":\"ADDED\"");
    delete_map("one");
    expect_line("{\"type\":\"DELETED\"");
    stop_watching();
}

/* Runs a line of sh in which $0 is the command, with the text on its standard input. */
static void run_with_input(const char *line, const char *input) {
    char script[2048];
    snprintf(script, sizeof script, "printf '%%s' '%s' | \"$0\" %s --server %s", input, line,
             ki_testing_server_url(command_server));
    command_start("/bin/sh", (const char *const[]){ "-c", script, KI_TEST_PROGRAM, NULL });
}

COMMAND_TEST(a_file_names_the_objects) {
    static const char maps[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: x}\n---\n"
                               "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    static const struct {
        const char *words, *input, *prints, *says;
        int status;
    } rows[] = {
        { "get -f - -o name", maps, "configmap/one\nnamespace/default\n", NULL, 0 },
        { "get -f - -o name",
          "{\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":"
          "{\"name\":\"one\",\"namespace\":\"x\"}},{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
          "\"metadata\":{\"name\":\"one\",\"namespace\":\"y\"}}]}",
          "configmap/one\nconfigmap/one\n", NULL, 0 },
        { "get -f - -n x -o name", "--- {kind: ConfigMap, apiVersion: v1, metadata: {name: two}}", "configmap/two\n",
          NULL, 0 },
        { "get -f -", "--- {kind: ConfigMap, apiVersion: v1, metadata: {name: two}}", "",
          "configmaps \"two\" not found", 1 },
        { "get -f -", "--- {kind: Deployment, apiVersion: apps/v1, metadata: {name: d}}", "",
          "deployments.apps \"d\" not found", 1 },
        { "get -f - --ignore-not-found", "--- {kind: Deployment, apiVersion: apps/v1, metadata: {name: d}}", "", NULL,
          0 },
        { "get -f - -n y", maps, "", "object \"x\" does not match the namespace \"y\"", 2 },
        { "get -f - -A", maps, "", "cannot be retrieved by name across all namespaces", 2 },
        { "get -f - pods", maps, "", "write no resources beside it", 2 },
        { "get -f -", "", "", "no objects in -", 1 },
        { "get -f -", "{", "", "not YAML or JSON", 1 },
        { "get -f -", "a: [", "", "document 1: line", 1 },
        { "get -f -", "kind: ConfigMap", "", "an object has no metadata.name", 1 },
        { "get -f -", "metadata: {name: a}", "", "an object has no apiVersion and kind", 1 },
        { "get -f -", "--- {kind: Nothing, apiVersion: example.com/v1, metadata: {name: a}}", "", "Nothing", 2 },
        { "get -f /dev/null/no", "", "", "cannot read /dev/null/no", 1 },
        { "get -f https://example.com/x.yaml", "", "", "kinformer get -f -", 2 },
    };
    put_config_maps();
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"one\",\"namespace\":\"y\"}}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_with_input(rows[i].words, rows[i].input);
        const char *printed = command_output();
        if (strcmp(printed, rows[i].prints) != 0)
            fail_msg("%zu %s: prints\n%s", i, rows[i].words, printed);
        if (rows[i].says)
            command_says(rows[i].says);
        command_ends(rows[i].status);
    }
}

COMMAND_TEST(go_templates_are_printed_as_kubectl_does) {
    static const habit rows[] = {
        { "get configmaps -n x --template={{.kind}}{{range.items}},{{.metadata.name}}{{end}}", "List,one,two\n", NULL,
          0 },
        { "get configmap one -n x -o template --template={{.kind}}-{{.data.none}}", "ConfigMap-<no value>\n", NULL, 0 },
        { "get configmap one two -n x -o go-template={{len(.items)}}", "", "unexpected character", 2 },
        { "get configmap one -n x -o go-template={{.data.none}} --allow-missing-template-keys=false", "",
          "map has no entry for key \"none\"", 1 },
        { "get configmap one -n x -o go-template={{.kind.x}}", "", "can't evaluate field x in type string", 1 },
        { "get configmap one -n x -o go-template-file=/nothing", "", "error reading template /nothing", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

COMMAND_TEST(what_get_does_not_have_names_the_way) {
    static const habit rows[] = {
        { "get configmap one -n x --subresource status -o name", "configmap/one\n", NULL, 0 },
        { "get configmaps -n x --subresource=status", "", "cannot be used without a name", 2 },
        { "get deployment web -n x --subresource scale", "",
          "--raw /apis/GROUP/VERSION/namespaces/NAMESPACE/deployments/NAME/scale", 2 },
        { "get -k dir", "", "kubectl kustomize DIR | kinformer get -f -", 2 },
        { "get -R -f dir", "", "name each file with -f", 2 },
    };
    put_config_maps();
    CHECK_HABITS(rows);
}

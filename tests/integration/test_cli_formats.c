/* The formats of -o in get and watch: what kubectl prints for the same objects; and the order and columns of tables. */
#include "tests/support/command.h"
#include "tests/support/load_nodes.h"
#include "tests/support/raw_server.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_file(const char *path, size_t *ret_size) {
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *text = calloc(1, 1024 * 1024);
    assert_non_null(text);
    *ret_size = fread(text, 1, 1024 * 1024 - 1, in);
    fclose(in);
    return text;
}

static void put(const ki_resource *resource, const char *json) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_put(command_server, resource, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
}

/* ConfigMaps a to d, with values that are hard to order. */
static void put_config_maps(void) {
    static const char *const values[] = { "\"10\"", "9", "\"text\"", "\"1Gi\"", "true", "null", "\"2500m\"" };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%c\",\"namespace\":\"x\","
                 "\"labels\":{\"app\":\"%zu\"}},\"data\":{\"v\":%s}}",
                 (char)('a' + i), i, values[i]);
        put(KI_CONFIGMAPS, json);
    }
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"namespace\":\"x\"},\"data\":{}}");
}

COMMAND_TEST(yaml_is_what_kubectl_prints) {
    size_t size, json_size;
    char *json = read_file(KI_TEST_DATA_DIR "/yaml.json", &json_size);
    char *yaml = read_file(KI_TEST_DATA_DIR "/yaml.yaml", &size);
    put(KI_CONFIGMAPS, json);
    COMMAND_RUN("get", "configmap", "words", "-o", "yaml", "--server", "URL");
    const char *printed = command_output();
    for (size_t i = 0, line = 1; i < size; i++) {
        line += i > 0 && yaml[i - 1] == '\n';
        if (printed[i] != yaml[i])
            fail_msg("line %zu of yaml.yaml differs: %.60s", line, printed + i);
    }
    assert_memory_equal(printed + size, "metadata:\n", 10);
    command_ends(0);
    free(json);
    free(yaml);
}

COMMAND_TEST(a_list_is_one_document_of_yaml) {
    COMMAND_RUN("get", "nodes", "-o", "yaml", "--server", "URL");
    const char *printed = command_output();
    assert_memory_equal(printed, "apiVersion: v1\nitems:\n- apiVersion: v1\n", 37);
    assert_non_null(strstr(printed, "\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"));
    assert_null(strstr(printed, "---"));
    command_ends(0);
}

COMMAND_TEST(watched_objects_are_documents_of_yaml) {
    size_t documents = 0;
    COMMAND_RUN("watch", "nodes", "-o", "yaml", "--until-synced", "-q", "--server", "URL");
    const char *printed = command_output();
    for (const char *at = printed; (at = strstr(at, "---\napiVersion: v1\n")); at++)
        documents++;
    assert_int_equal(documents, 2); /* between three */
    command_ends(0);
}

typedef struct format_row {
    const char *format;
    const char *prints;
} format_row;

COMMAND_TEST(templates_print_what_they_say) {
    static const format_row rows[] = {
        { "name", "node/" NODE_0 "\nnode/" NODE_1 "\nnode/" NODE_2 "\n" },
        { "jsonpath={.items[*].metadata.name}", NODE_0 " " NODE_1 " " NODE_2 "\n" },
        { "jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.status.capacity.cpu}{\"\\n\"}{end}",
          NODE_0 "\t16\n" NODE_1 "\t16\n" NODE_2 "\t16\n" },
        { "jsonpath={.kind}{.nothing}", "List\n" },
        { "custom-columns=NAME:.metadata.name,CPU:{.status.capacity.cpu},A:status.addresses[0],NO:.x.y",
          "NAME         CPU   A                                      NO\n" NODE_0
          "   16    map[address:10.0.10.66 type:InternalIP]   <none>\n" NODE_1
          "   16    map[address:10.0.132.108 type:InternalIP]   <none>\n" NODE_2
          "   16    map[address:10.1.71.87 type:InternalIP]   <none>\n" },
        { "custom-columns=A:.status.addresses[*].type",
          "A\nInternalIP,InternalDNS,Hostname\nInternalIP,InternalDNS,Hostname\nInternalIP,InternalDNS,Hostname\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        COMMAND_RUN("get", "nodes", "-o", rows[i].format, "--server", "URL");
        const char *printed = command_output();
        if (i != 4)
            assert_string_equal(printed, rows[i].prints);
        else /* columns stand under each other, wherever */
            assert_non_null(
                strstr(printed, "\n" NODE_1 "   16    map[address:10.0.132.108 type:InternalIP]   <none>\n"));
        command_ends(0);
    }
}

COMMAND_TEST(templates_come_from_files_too) {
    char path[64], word[128];
    snprintf(path, sizeof path, "/tmp/ki-cli-template-%d", (int)getpid());
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{.items[0].metadata.name}", out);
    fclose(out);
    snprintf(word, sizeof word, "jsonpath-file=%s", path);
    COMMAND_RUN("get", "nodes", "-o", word, "--server", "URL");
    assert_string_equal(command_output(), NODE_0 "\n");
    command_ends(0);

    out = fopen(path, "w");
    assert_non_null(out);
    fputs("NAME   KIND\n.metadata.name .kind\n", out);
    fclose(out);
    snprintf(word, sizeof word, "custom-columns-file=%s", path);
    COMMAND_RUN("get", "nodes", NODE_1, "--no-headers", "-o", word, "--server", "URL");
    assert_string_equal(command_output(), NODE_1 "   Node\n");
    command_ends(0);
    unlink(path);
    COMMAND_RUN("get", "nodes", "-o", word, "--server", "URL");
    command_says("error reading template");
    command_ends(2);
    COMMAND_RUN("get", "nodes", "-o", "jsonpath-file=/dev/zero", "--server", "URL");
    command_says("longer than");
    command_ends(2);
}

COMMAND_TEST(what_is_wrong_with_a_format_is_said) {
    static const format_row rows[] = {
        { "go-template={{.x|html}}", "\"html\" is not supported" },
        { "go-template={{.x", "unclosed action" },
        { "go-template", "no template given" },
        { "toml", "use wide, json, jsonl, yaml" },
        { "jsonpath", "needs a template" },
        { "jsonpath={.a", "unclosed action at position 2" },
        { "custom-columns", "no custom columns given" },
        { "custom-columns=NAME", "expected <header>:<json-path-expr>" },
        { "custom-columns=NAME:{.a}{.b}", "unexpected path string" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        COMMAND_RUN("get", "nodes", "-o", rows[i].format, "--server", "http://127.0.0.1:1");
        command_says(rows[i].prints);
        command_ends(2);
    }
    COMMAND_RUN("get", "nodes", "-o", "jsonpath={.nothing}", "--allow-missing-template-keys=false", "--server", "URL");
    command_says("nothing is not found");
    command_ends(1);
}

COMMAND_TEST(sorting_is_by_kind_of_value_and_value) {
    put_config_maps();
    COMMAND_RUN("get", "configmaps", "-n", "x", "--sort-by", "{.data.v}", "-o", "name", "--server", "URL");
    /* none, null, true, 2500m, 9, "10", 1Gi, "text" */
    assert_string_equal(command_output(), "configmap/z\nconfigmap/f\nconfigmap/e\nconfigmap/g\nconfigmap/b\n"
                                          "configmap/a\nconfigmap/d\nconfigmap/c\n");
    command_ends(0);
    COMMAND_RUN("get", "configmaps", "-n", "x", "--sort-by", ".data.nothing", "--server", "URL");
    command_says("couldn't find any field");
    command_ends(1);
    COMMAND_RUN("get", "configmaps", "-n", "x", "--sort-by", ".metadata", "--server", "URL");
    command_says("no order");
    command_ends(1);
    COMMAND_RUN("get", "configmaps", "--sort-by", "{.a}{.b}", "--server", "URL");
    command_says("unexpected path string");
    command_ends(2);
}

COMMAND_TEST(tables_have_the_columns_that_were_asked_for) {
    put_config_maps();
    COMMAND_RUN("get", "configmap", "b", "-n", "x", "-L", "app,none", "--show-labels", "--server", "URL");
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    assert_non_null(strstr(line, "APP   NONE   LABELS"));
    line = ki_process_line(&command);
    assert_non_null(line);
    assert_non_null(strstr(line, "   1            app=1"));
    command_ends(0);
    COMMAND_RUN("get", "configmap", "b", "-n", "x", "--no-headers", "--server", "URL");
    line = ki_process_line(&command);
    assert_non_null(line);
    assert_memory_equal(line, "b   ", 4);
    command_ends(0);
    COMMAND_RUN("get", "configmap", "b", "-n", "x", "-L", "app", "-Lnone,other", "--server", "URL");
    line = ki_process_line(&command);
    assert_non_null(line);
    assert_non_null(strstr(line, "APP   NONE   OTHER"));
    assert_non_null(ki_process_line(&command));
    command_ends(0);
}

/* The next line but the age at its end, where there is one. */
static void expect_line(const char *expected) {
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    if (strncmp(line, expected, strlen(expected)) != 0)
        fail_msg("%s\nis not\n%s", line, expected);
}

static void expect_lines(const char *const *lines) {
    for (; *lines; lines++)
        expect_line(*lines);
    assert_null(ki_process_line(&command));
    command_ends(0);
}

COMMAND_TEST(a_category_has_its_place_among_the_resources) {
    put(KI_PODS, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
    put(KI_SERVICES, "{\"metadata\":{\"name\":\"s\",\"namespace\":\"x\"},\"spec\":{}}");
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"c\",\"namespace\":\"x\"}}");
    put(KI_SECRETS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"}}");
    COMMAND_RUN("get", "secrets,all,configmaps", "-n", "x", "-o", "name", "--server", "URL");
    assert_string_equal(command_output(), "secret/a\npod/p\nservice/s\nconfigmap/c\n");
    command_ends(0);
}

COMMAND_TEST(templates_see_managed_fields) {
    static const struct {
        const char *format, *prints;
    } rows[] = {
        { "jsonpath={.metadata.managedFields[0].manager}", "m" },
        { "jsonpath-as-json={.metadata.managedFields[0].manager}", "[\n    \"m\"\n]\n" },
        { "custom-columns=M:.metadata.managedFields[0].manager", "M\nm\n" },
        { "go-template={{range .metadata.managedFields}}{{.manager}}{{end}}", "m" },
        { "yaml", "apiVersion: v1\n" }, /* as JSON has none */
    };
    put(KI_CONFIGMAPS,
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\",\"managedFields\":[{\"manager\":\"m\","
        "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{}}]}}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        COMMAND_RUN("get", "configmap", "a", "-n", "x", "-o", rows[i].format, "--server", "URL");
        const char *printed = command_output();
        if (strncmp(printed, rows[i].prints, strlen(rows[i].prints)) != 0 || strstr(printed, "manage"))
            fail_msg("-o %s prints\n%s", rows[i].format, printed);
        command_ends(0);
    }
}

COMMAND_TEST(tables_are_kubectls) {
    put(KI_PODS,
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"x\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
        "\"c\",\"image\":\"i\"}]},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"containerStatuses\":[{"
        "\"name\":\"c\",\"ready\":true,\"restartCount\":2,\"state\":{\"running\":{}}}]}}");
    put(KI_SECRETS,
        "{\"metadata\":{\"name\":\"s\",\"namespace\":\"x\"},\"type\":\"Opaque\",\"data\":{\"a\":\"Yg==\"}}");
    COMMAND_RUN("get", "pods", "-n", "x", "--server", "URL");
    expect_lines((const char *const[]){ "NAME   READY   STATUS    RESTARTS   AGE",
                                        "web    1/1     Running   2          ", NULL });
    COMMAND_RUN("get", "pods,secrets", "-n", "x", "--server", "URL");
    expect_lines((const char *const[]){ "NAME      READY   STATUS    RESTARTS   AGE",
                                        "pod/web   1/1     Running   2          ", "", "NAME       TYPE     DATA   AGE",
                                        "secret/s   Opaque   1      ", NULL });
    COMMAND_RUN("get", "pods,secrets", "web", "-n", "x", "--server", "URL"); /* only one of them is there */
    expect_line("NAME   READY   STATUS    RESTARTS   AGE");
    expect_line("web    1/1     Running   2          ");
    assert_null(ki_process_line(&command));
    command_says("secrets \"web\" not found");
    command_ends(1);
    COMMAND_RUN("get", "pods", "-n", "x", "-o", "", "--server", "URL");
    expect_lines((const char *const[]){ "NAME   READY   STATUS    RESTARTS   AGE",
                                        "web    1/1     Running   2          ", NULL });
    COMMAND_RUN("get", "pods", "-n", "x", "-o", "custom-columns=N:.spec.nodeName", "--server", "URL");
    expect_lines((const char *const[]){ "N", "n1", NULL });
    COMMAND_RUN("get", "pods", "-n", "x", "-o", "wide", "--server", "URL");
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    assert_non_null(strstr(line, "IP         NODE   NOMINATED NODE   READINESS GATES"));
    line = ki_process_line(&command);
    assert_non_null(line);
    assert_non_null(strstr(line, "   10.0.0.1   n1     <none>           <none>"));
    command_ends(0);
}

#define FOO_DEFINITION(columns) \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":" \
    "\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":" \
    "\"foos\"," \
    "\"singular\":\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"},\"versions\":[{\"name\":\"v1\",\"served\":true," \
    "\"storage\":" \
    "true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}" \
    "}" columns "}]}}"

COMMAND_TEST(a_custom_resources_table_is_its_definitions) {
    static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
    put(KI_CUSTOMRESOURCEDEFINITIONS,
        FOO_DEFINITION(
            ",\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":\"integer\",\"jsonPath\":\".spec.size\"},{"
            "\"name\":\"More\",\"type\":\"string\",\"priority\":1,\"jsonPath\":\".spec.more\"}]"));
    put(&foos, "{\"apiVersion\":\"example.com/"
               "v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},\"spec\":{"
               "\"size\":3,\"more\":\"m\"}}");
    COMMAND_RUN("get", "foos", "-n", "x", "--server", "URL");
    expect_lines((const char *const[]){ "NAME   SIZE", "a      3", NULL });
    COMMAND_RUN("get", "foos", "-n", "x", "-o", "wide", "--no-headers", "--server", "URL");
    expect_lines((const char *const[]){ "a     3     m", NULL });
}

/* What is printed is more than a pipe holds, in large pieces and in small ones; its reader goes after the first
 * line. */
COMMAND_TEST(a_reader_that_goes_away_ends_every_format_quietly) {
    static const char *const formats[] = { "yaml", "json", "jsonpath={range .items[*]}{.data.a}{\"\\n\"}{end}",
                                           "custom-columns=A:.data" };
    enum {
        LETTERS = 900000
    };
    static char json[LETTERS + 1024];
    int size = snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"big\",\"namespace\":\"x\"},\"data\":{\"a\":\"");
    memset(json + size, 'a', LETTERS);
    snprintf(json + size + LETTERS, sizeof json - LETTERS - (size_t)size, "\"}}");
    put(KI_CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"},\"data\":{\"a\":\"b\"}}");
    put(KI_CONFIGMAPS, json);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        COMMAND_RUN("get", "configmaps", "-n", "x", "-o", formats[i], "--server", "URL");
        assert_non_null(ki_process_line(&command));
        ki_process_close_out(&command);
        command_ends(0);
        const char *line = ki_process_err_line(&command);
        if (line)
            fail_msg("-o %s: %s", formats[i], line);
    }
}

/* A socket or the loop's own descriptor would else get the number, and what is printed would go there. */
COMMAND_TEST(standard_descriptors_that_are_closed_are_given_to_nobody) {
    static const char *const closed[] = { "<&-", ">&-", "2>&-", "<&- >&- 2>&-" };
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        char line[512];
        snprintf(line, sizeof line, "exec %s get pods -A -o yaml --server %s %s", KI_TEST_PROGRAM,
                 ki_testing_server_url(command_server), closed[i]);
        command_start("/bin/sh", (const char *const[]){ "-c", line, NULL });
        const char *printed = command_output();
        if (!strstr(closed[i], ">&-") || closed[i][0] == '2')
            assert_memory_equal(printed, "apiVersion: v1\n", 15);
        command_ends(0);
        assert_null(ki_process_err_line(&command));
    }
}

/* A version is whatever text the server likes. */
COMMAND_TEST(a_full_disk_is_named_in_every_format) {
    static const char *const formats[] = {
        "wide", "json", "yaml", "name", "jsonpath={.items}", "custom-columns=A:.metadata"
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        command_start("/bin/sh", (const char *const[]){ "-c", "exec \"$0\" \"$@\" >/dev/full", KI_TEST_PROGRAM, "get",
                                                        "pods", "-A", "-o", formats[i], "--server", "URL", NULL });
        command_says("cannot write the output: No space left on device");
        command_ends(1);
    }
}

COMMAND_TEST(each_line_is_json_whatever_the_servers_version_is) {
    const raw_response response = {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":"
        "{\"resourceVersion\":\"a\\\"\\\\\\u0001b\",\"annotations\":"
        "{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
        0, RAW_CLOSE
    };
    raw_server server;
    raw_server_start(&server, &response, 1);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("watch", "nodes", "-o", "json", "--until-synced", "-q", "--server", url);
    assert_string_equal(command_output(), "{\"type\":\"SYNCED\",\"resource\":\"nodes\",\"count\":0,"
                                          "\"resourceVersion\":\"a\\\"\\\\\\u0001b\"}\n");
    command_ends(0);
    raw_server_stop(&server);
}

/* Returns metadata.resourceVersion of a printed line's object. */
static long version_of(const char *line) {
    static const char member[] = "\"resourceVersion\":\"";
    const char *object = strstr(line, ",\"object\":"); /* the last member; "old" comes before it */
    const char *version = object ? strstr(object, member) : NULL;
    assert_non_null(version);
    return strtol(version + sizeof member - 1, NULL, 10);
}

COMMAND_TEST(every_change_after_synced_is_newer_than_its_version) {
    long synced = -1, newer = 0, older = 0;
    ki_testing_server_free(command_server);
    command_server = NULL;
    assert_int_equal(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 3000, .churn = 3000, .seed = 5),
                                           &command_server, NULL),
                     KI_OK);
    COMMAND_RUN("watch", "pods", "-A", "-o", "json", "-q", "--count", "1000", "--server", "URL");
    for (const char *line; (line = ki_process_line(&command));) {
        const char *version = strstr(line, "\"SYNCED\"") ? strstr(line, "\"resourceVersion\":\"") : NULL;
        if (version)
            synced = strtol(version + strlen("\"resourceVersion\":\""), NULL, 10);
        else if (synced >= 0)
            *(version_of(line) > synced ? &newer : &older) += 1;
    }
    command_ends(0);
    assert_true(synced > 0);
    assert_true(newer > 0);
    assert_int_equal(older, 0);
}

COMMAND_TEST(an_unknown_format_suggests_what_the_help_lists) {
    COMMAND_RUN("get", "pods", "-o", "jsn", "--server", "URL");
    command_says("-o jsn is not a format; use wide, json, jsonl, yaml");
    command_ends(2);
    COMMAND_RUN("watch", "pods", "-o", "jsn", "--server", "URL");
    command_says("-o jsn is not a format; use line, wide, json, yaml");
    command_ends(2);
}

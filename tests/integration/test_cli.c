/* test_cli.c: the kinformer program as scripts use it: its output, its exit status, its messages. */
#include "tests/support/load_nodes.h"
#include "tests/support/process.h"
#include "tests/support/raw_server.h"
#include "tests/support/test.h"

#include <kinformer-testing/server.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

enum {
    ARGUMENTS_MAX = 24,
    OBJECTS_MAX = 4096
};

static ki_testing_server *server;
static ki_process program;

/* An object of the replay, or of the server's list. */
typedef struct entry {
    char *key;
    char *json;
    size_t size;
} entry;
static entry entries[OBJECTS_MAX];
static size_t entry_count;

static int set_up(void **state) {
    (void)state;
    return ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 50, .nodes = 3, .seed = 5), &server, NULL) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_process_free(&program);
    ki_testing_server_free(server);
    server = NULL;
    while (entry_count) {
        entry *e = &entries[--entry_count];
        free(e->key);
        free(e->json);
    }
    return 0;
}

#define CLI_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Words separated by single blanks; "URL" is the server's. */
static void run(const char *command_line) {
    static char text[1024];
    const char *argv[ARGUMENTS_MAX + 1] = { KI_TEST_PROGRAM };
    const char *const environment[] = { "KUBECONFIG=/dev/null", NULL };
    size_t count = 1;
    ki_process_free(&program);
    snprintf(text, sizeof text, "%s", command_line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        assert_true(count < ARGUMENTS_MAX);
        argv[count++] = server && strcmp(word, "URL") == 0 ? ki_testing_server_url(server) : word;
    }
    assert_true(ki_process_start(&program, argv, environment, true));
}

static void assert_ends(int status) {
    int got = ki_process_wait(&program);
    if (got == status)
        return;
    const char *line;
    while ((line = ki_process_err_line(&program)))
        print_error("stderr: %s\n", line);
    assert_int_equal(got, status);
}

static void assert_says(const char *text) {
    const char *line;
    char last[256] = "";
    while ((line = ki_process_err_line(&program))) {
        if (strstr(line, text))
            return;
        snprintf(last, sizeof last, "%s", line);
    }
    fail_msg("stderr has no '%s'; its last line: %s", text, last);
}

/* ---- the command line ---- */

CLI_TEST(what_is_wrong_with_the_command_line_is_said) {
    static const struct {
        const char *words, *says;
    } rows[] = {
        { "wtach pods", "did you mean watch?" },
        { "watch pods --namspace x", "did you mean --namespace?" },
        { "watch pods --quite", "did you mean --quiet?" },
        { "watch pdos", "did you mean pods?" },
        { "watch deploymnets", "did you mean deployments?" },
        { "watch", "name a resource" },
        { "watch pods, -A", "\"pods,\" has an empty name" },
        { "watch ,pods", "doesn't have a resource type \"\"" },
        { "get pods ..", "invalid resource name \"..\"" },
        { "get pods a%b", "invalid resource name \"a%b\": may not contain '%'" },
        { "get pods web/a", "write RESOURCE/NAME RESOURCE/NAME..., or RESOURCE NAME NAME..." },
        { "watch pods/web a", "write RESOURCE/NAME RESOURCE/NAME..., or RESOURCE NAME NAME..." },
        { "get pods/", "must have a single resource and name" },
        { "get pods,nodes/web", "must have a single resource and name" },
        { "get pods/a/b", "more than one slash" },
        { "get pods web -l app=x", "name cannot be provided when a selector is specified" },
        { "watch pods/web --field-selector x=y", "name cannot be provided when a selector is specified" },
        { "--nowhere get pods", "there is no flag --nowhere" },
        { "watch pods -o broad", "use line, wide, json, yaml" },
        { "watch pods -n", "needs a value" },
        { "watch pods --count many", "a number expected" },
        { "watch pods --timeout soon", "a duration" },
        { "watch pods --resync 10ms", "at least 1s" },
        { "watch pods --metrics nowhere --server http://127.0.0.1:1", "a port, or an address" },
        { "watch pods --as-user-extra x --server http://127.0.0.1:1", "NAME=VALUE expected" },
        { "watch pods --as-user-extra =x --server http://127.0.0.1:1", "NAME=VALUE expected" },
        { "version x", "unexpected argument \"x\"" },
        { "watch pods -Z", "there is no flag -Z" },
        { "get pods web -A", "cannot be retrieved by name across all namespaces" },
        { "get pods,nodes -w", "kinformer watch prints the changes of several" },
        { "get pods a b -n x --watch", "kinformer watch prints the changes of several" },
        { "get pods --output-watch-events", "needs --watch or --watch-only" },
        { "get pods --watch --output-watch-events -o json", "kinformer watch -o json prints an event a line" },
        { "apply -f x", "kubectl apply" },
        { "wait pods", "kubectl wait" },
        { "serve --listen nowhere", "an address with a port" },
        { "serve --churn 5", "no load to change" },
        { "get pods -o go-template={{define}}", "\"define\" is not supported" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run(rows[i].words);
        assert_says(rows[i].says);
        assert_ends(2);
    }
}

CLI_TEST(an_empty_word_is_no_resource_and_no_name) {
    static const struct {
        const char *words[3];
        const char *says;
    } rows[] = {
        { { "get", "" }, "the server doesn't have a resource type \"\"" },
        { { "watch", "" }, "the server doesn't have a resource type \"\"" },
        { { "get", "pods", "" }, "resource name may not be empty" },
        { { "watch", "pods", "" }, "resource name may not be empty" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const argv[] = { KI_TEST_PROGRAM, rows[i].words[0], rows[i].words[1], rows[i].words[2], NULL };
        ki_process_free(&program);
        assert_true(ki_process_start(&program, argv, NULL, true));
        assert_says(rows[i].says);
        assert_ends(2);
    }
}

/* Without a server to ask: at once, not after a time of trying. */
CLI_TEST(what_cannot_be_listed_is_said_at_once) {
    static const struct {
        const char *words, *says;
    } rows[] = {
        { "get tokenreviews --server http://127.0.0.1:1",
          "tokenreviews cannot be listed: the server does not store them" },
        { "watch SelfSubjectAccessReview --server http://127.0.0.1:1", "selfsubjectaccessreviews cannot be listed" },
        { "get pods,bindings --server http://127.0.0.1:1", "bindings cannot be listed" },
        { "watch componentstatuses --server http://127.0.0.1:1",
          "componentstatuses cannot be watched; kinformer get componentstatuses lists them" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run(rows[i].words);
        assert_says(rows[i].says);
        assert_ends(1);
    }
}

CLI_TEST(every_command_has_help_with_an_example) {
    static const char *const commands[] = { "watch", "get", "doctor", "serve", "demo", "version" };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char words[64], example[64];
        snprintf(words, sizeof words, "%s --help", commands[i]);
        snprintf(example, sizeof example, "  kinformer %s", commands[i]);
        run(words);
        assert_non_null(ki_process_expect(&program, "usage: kinformer "));
        assert_non_null(ki_process_expect(&program, example));
        assert_ends(0);
    }
    run("version --help");
    assert_string_equal(ki_process_expect(&program, "usage: kinformer version"), "usage: kinformer version");
    assert_ends(0);
    run("version");
    assert_non_null(ki_process_expect(&program, "kinformer 0."));
    assert_ends(0);
}

/* ---- watch -o json, replayed ---- */

static entry *find_entry(const char *key) {
    for (size_t i = 0; i < entry_count; i++)
        if (strcmp(entries[i].key, key) == 0)
            return &entries[i];
    return NULL;
}

static void key_of(yyjson_val *object, char key[512]) {
    const char *ns = yyjson_get_str(yyjson_ptr_get(object, "/metadata/namespace"));
    const char *name = yyjson_get_str(yyjson_ptr_get(object, "/metadata/name"));
    if (!name)
        fail_msg("an object without a name");
    else
        snprintf(key, 512, "%s%s%s", ns ? ns : "", ns ? "/" : "", name);
}

static void replay_line(const char *line, bool *ret_synced) {
    char key[512];
    yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
    if (!doc)
        fail_msg("not JSON: %.200s", line);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *object = yyjson_obj_get(root, "object");
    const char *type = yyjson_get_str(yyjson_obj_get(root, "type"));
    assert_non_null(type);
    if (strcmp(type, "SYNCED") == 0) {
        assert_false(*ret_synced);
        *ret_synced = true;
        assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "resource")), "pods");
        assert_true(yyjson_get_str(yyjson_obj_get(root, "resourceVersion"))[0] != '\0');
        yyjson_doc_free(doc);
        return;
    }
    key_of(object, key);
    entry *e = find_entry(key);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(object, "kind")), "Pod");
    assert_null(yyjson_ptr_get(object, "/metadata/managedFields"));
    if (strcmp(type, "ADDED") == 0) {
        assert_null(e);
        if (*ret_synced)
            assert_false(yyjson_get_bool(yyjson_obj_get(root, "initial")));
        assert_true(entry_count < OBJECTS_MAX);
        e = &entries[entry_count++];
        e->key = strdup(key);
        e->json = yyjson_val_write(object, 0, &e->size);
    } else if (strcmp(type, "MODIFIED") == 0) {
        size_t size = 0;
        char *old = yyjson_val_write(yyjson_obj_get(root, "old"), 0, &size);
        assert_non_null(e);
        assert_string_equal(old, e->json); /* what was said before */
        free(old);
        free(e->json);
        e->json = yyjson_val_write(object, 0, &e->size);
    } else {
        assert_string_equal(type, "DELETED");
        assert_non_null(e);
        free(e->key);
        free(e->json);
        *e = entries[--entry_count];
    }
    yyjson_doc_free(doc);
}

static bool compare_with_replay(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)key_size, key);
    const entry *e = find_entry(text);
    if (!e)
        fail_msg("the replay has no %s", text);
    yyjson_doc *own = yyjson_read(e->json, e->size, 0);
    yyjson_doc *served = yyjson_read(json, size, 0);
    if (!yyjson_equals(yyjson_doc_get_root(own), yyjson_doc_get_root(served)))
        fail_msg("%s: replayed %.300s, served %.300s", text, e->json, json);
    yyjson_doc_free(own);
    yyjson_doc_free(served);
    ++*(size_t *)user;
    return true;
}

CLI_TEST(a_replay_of_the_json_lines_is_the_servers_list) {
    static const char last[] = "{\"metadata\":{\"name\":\"last\",\"namespace\":\"default\"},\"spec\":{}}";
    static const char end[] = "{\"metadata\":{\"name\":\"end\",\"namespace\":\"default\"},\"spec\":{}}";
    bool synced = false;
    bool is_last = false;
    size_t lines = 0;
    size_t served = 0;
    assert_int_equal(ki_testing_server_set_churn(server, 500, NULL), KI_OK);
    run("watch pods -A -o json --server URL");
    while (!find_entry("default/end")) {
        const char *line = ki_process_line(&program);
        assert_non_null(line);
        replay_line(line, &synced);
        lines++;
        if (!is_last && find_entry("default/last")) { /* perhaps within a list, whose other lines follow */
            is_last = true;
            assert_int_equal(ki_testing_server_put(server, KI_PODS, end, 0, NULL), KI_OK);
        }
        if (lines == 300)
            ki_testing_server_close_watches(server); /* it resumes */
        if (lines == 600) {                          /* it relists */
            ki_testing_server_compact(server);
            ki_testing_server_close_watches(server);
        }
        if (lines == 900) {
            assert_int_equal(ki_testing_server_set_churn(server, 0, NULL), KI_OK);
            assert_int_equal(ki_testing_server_put(server, KI_PODS, last, 0, NULL), KI_OK);
        }
    }
    assert_true(synced);
    ki_testing_server_each(server, KI_PODS, compare_with_replay, &served);
    assert_int_equal(served, entry_count);
    ki_process_signal(&program, SIGINT);
    assert_ends(0);
}

CLI_TEST(several_resources_sync_each_once_with_their_counts) {
    int synced = 0;
    run("watch pods,nodes,po,deployments.apps -A -o json --until-synced --server URL");
    for (const char *line; (line = ki_process_line(&program));) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        assert_non_null(root);
        if (yyjson_equals_str(yyjson_obj_get(root, "type"), "SYNCED")) {
            const char *resource = yyjson_get_str(yyjson_obj_get(root, "resource"));
            uint64_t count = yyjson_get_uint(yyjson_obj_get(root, "count"));
            const ki_resource *of = strcmp(resource, "pods") == 0    ? KI_PODS
                                    : strcmp(resource, "nodes") == 0 ? KI_NODES
                                                                     : KI_DEPLOYMENTS;
            assert_int_equal(count, ki_testing_server_count(server, of));
            synced++;
        } else {
            assert_true(yyjson_get_bool(yyjson_obj_get(root, "initial")));
        }
        yyjson_doc_free(doc);
    }
    assert_ends(0);
    assert_int_equal(synced, 3);
}

static size_t number_at(const char *text) {
    size_t number = 0;
    for (text += strspn(text, " "); *text >= '0' && *text <= '9'; text += strcspn(text + 1, "0123456789 ") + 1)
        number = number * 10 + (size_t)(*text - '0');
    return number;
}

CLI_TEST(the_parts_of_the_memory_add_up_and_no_object_is_printed) {
    size_t parts = 0, together = 0, objects = 0, lines = 0;
    run("watch pods,nodes -A -q --memory --server URL");
    for (const char *line; (line = ki_process_line(&program)); lines++) {
        char name[40], bytes[16];
        snprintf(name, sizeof name, "%.36s", line);
        snprintf(bytes, sizeof bytes, "%.12s", strlen(line) > 49 ? line + 37 : "");
        if (lines == 1)
            objects = number_at(name);
        else if (strstr(name, "together"))
            together = number_at(bytes);
        else if (!together && lines > 1)
            parts += number_at(bytes);
    }
    assert_ends(0);
    assert_int_equal(objects, ki_testing_server_count(server, KI_PODS) + ki_testing_server_count(server, KI_NODES));
    assert_true(together > objects * 100);
    assert_int_equal(parts, together);
    assert_int_equal(lines, 13);
}

/* ---- how it ends ---- */

CLI_TEST(signals_and_a_closed_stdout_end_it_quietly) {
    static const int signals[] = { SIGINT, SIGTERM };
    for (size_t i = 0; i < 2; i++) {
        run("watch nodes -o json -q --server URL");
        assert_non_null(ki_process_expect(&program, "SYNCED"));
        ki_process_signal(&program, signals[i]);
        assert_ends(0);
        assert_null(ki_process_err_line(&program));
    }
    run("watch nodes -o json -q --server URL"); /* nothing is being written when the reader goes */
    assert_non_null(ki_process_expect(&program, "SYNCED"));
    ki_process_close_out(&program);
    assert_ends(0);
    assert_null(ki_process_err_line(&program));

    assert_int_equal(ki_testing_server_set_churn(server, 1000, NULL), KI_OK);
    run("watch pods -A -o json -q --server URL"); /* much is */
    assert_non_null(ki_process_expect(&program, "SYNCED"));
    ki_process_close_out(&program);
    assert_ends(0);
    assert_null(ki_process_err_line(&program));
}

CLI_TEST(count_ends_it_after_so_many_changes) {
    assert_int_equal(ki_testing_server_set_churn(server, 100, NULL), KI_OK);
    run("watch pods -A -o line -q --count 3 --server URL");
    assert_ends(0);
}

CLI_TEST(a_cluster_that_is_not_there_is_status_3) {
    static const struct {
        const char *words, *says;
    } rows[] = {
        { "watch pods --server http://127.0.0.1:1 --timeout 300ms", "did not sync within 0.3 s" },
        { "get pods --server http://127.0.0.1:1 --timeout 0.3s", "did not sync within 0.3 s" },
        { "get foos.v1.example.com --server URL --timeout 5s", "did not sync within 5.0 s" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run(rows[i].words);
        assert_says(rows[i].says);
        assert_ends(3);
    }
}

CLI_TEST(who_waits_for_a_list_is_reported_once_that_it_is_tried_again) {
    const char *line;
    run("get pods -v --wait --server http://127.0.0.1:1");
    assert_says("trying again until the list succeeds; --timeout sets a limit");
    assert_says("backing off"); /* the second time */
    ki_process_signal(&program, SIGINT);
    while ((line = ki_process_err_line(&program)))
        assert_null(strstr(line, "--timeout"));
    (void)ki_process_wait(&program);
}

/* ---- lines ---- */

CLI_TEST(what_the_server_cannot_read_ends_it) {
    run("get pods --server URL -l app~web");
    assert_says(
        "label selector: unable to parse requirement: <nil>: Invalid value: \"app~web\": name part must consist of");
    assert_ends(1);
    run("watch pods,nodes --server URL --field-selector spec.nowhere=x -q");
    assert_says("field label not supported");
    assert_ends(1);
    run("get pods --server URL --field-selector spec.nowhere=x");
    assert_says("Error from server (BadRequest): field label not supported");
    assert_ends(1);
}

CLI_TEST(a_line_says_what_changed) {
    static const char before[] =
        "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"default\"},\"status\":{\"phase\":\"Pending\"}}";
    static const char after[] =
        "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"default\",\"labels\":{\"a.b/c\":\"d\"}},"
        "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";
    static const char rows[][2] = { "+", "~", "-" };
    static const char *const says[] = { " Pod default/web-1", "status.phase: Pending → Running, ",
                                        " Pod default/web-1" };
    run("watch pods --server URL");
    assert_says("synced, 0 objects");
    assert_int_equal(ki_testing_server_put(server, KI_PODS, before, 0, NULL), KI_OK);
    assert_int_equal(ki_testing_server_put(server, KI_PODS, after, 0, NULL), KI_OK);
    assert_int_equal(ki_testing_server_delete(server, KI_PODS, "default", "web-1", NULL), KI_OK);
    for (size_t i = 0; i < 3; i++) {
        const char *line = ki_process_line(&program);
        assert_non_null(line);
        assert_true(line[0] == rows[i][0]);
        assert_non_null(strstr(line, says[i]));
        assert_null(strchr(line, '\033')); /* no terminal, no colour */
        assert_null(strstr(line, "resourceVersion"));
        if (i == 1) {
            assert_non_null(strstr(line, "status.conditions"));
            assert_non_null(strstr(line, "metadata.labels"));
        }
    }
    ki_process_signal(&program, SIGTERM);
    assert_ends(0);
}

/* ---- get ---- */

CLI_TEST(get_shows_what_is_there_in_order) {
    char last[1024] = "";
    size_t count = 0;
    run("get pods -A --server URL");
    const char *line = ki_process_line(&program);
    assert_non_null(line);
    assert_true(strncmp(line, "NAMESPACE", 9) == 0);
    while ((line = ki_process_line(&program))) {
        assert_true(strcmp(last, line) < 0);
        snprintf(last, sizeof last, "%s", line);
        count++;
    }
    assert_int_equal(count, 50);
    assert_ends(0);

    run("get no -o name --server URL");
    assert_string_equal(ki_process_line(&program), "node/" NODE_0);
    assert_string_equal(ki_process_line(&program), "node/" NODE_1);
    assert_string_equal(ki_process_line(&program), "node/" NODE_2);
    assert_null(ki_process_line(&program));
    assert_ends(0);

    run("get pods --server URL");
    assert_says("No resources found in default namespace.");
    assert_ends(0);
    run("get pods --namespace= --server URL");
    assert_says("No resources found in default namespace.");
    assert_ends(0);
}

/* The terminal is not the server's. */
CLI_TEST(control_characters_in_names_are_not_printed) {
    static const char body[] =
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},"
        "\"items\":[{\"metadata\":{\"name\":\"a\\u001b[31m\\u009b2J\\u007f\\nb\",\"namespace\":\"n\","
        "\"resourceVersion\":\"1\",\"uid\":\"1\"}}]}";
    char list[1024], command[128];
    snprintf(list, sizeof list, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    const raw_response responses[] = { { "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n", 0, RAW_KEEP },
                                       { list, 0, RAW_KEEP } };
    raw_server hostile;
    raw_server_start(&hostile, responses, 2);
    snprintf(command, sizeof command, "get pods -A -o name -q --server http://127.0.0.1:%d", hostile.port);
    run(command);
    assert_non_null(ki_process_expect(&program, "pod/a?[31m??2J??b"));
    assert_ends(0);
    raw_server_stop(&hostile);
}

CLI_TEST(get_of_a_name_is_that_object_or_not_found) {
    run("get node " NODE_1 " -o jsonl --server URL");
    const char *line = ki_process_line(&program);
    assert_non_null(line);
    yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/metadata/name")), NODE_1);
    yyjson_doc_free(doc);
    assert_ends(0);

    run("get deployment no-such -n shop --server URL");
    assert_says("Error from server (NotFound): deployments.apps \"no-such\" not found");
    assert_ends(1);
    run("get pods x,metadata.name!=y --server URL"); /* a name is a value, and no selector of its own */
    assert_says("Error from server (NotFound): pods \"x,metadata.name!=y\" not found");
    assert_ends(1);
}

CLI_TEST(names_can_be_written_as_kubectl_takes_them) {
    static const struct {
        const char *words;
        const char *prints[4]; /* lines */
        const char *says;
        int status;
    } rows[] = {
        { "get node/" NODE_1 " -o name", { "node/" NODE_1 }, NULL, 0 },
        { "-o name get nodes " NODE_1, { "node/" NODE_1 }, NULL, 0 },
        { "--output=name -A get nodes/" NODE_1, { "node/" NODE_1 }, NULL, 0 },
        { "get node " NODE_2 " " NODE_0 " -o name", { "node/" NODE_2, "node/" NODE_0 }, NULL, 0 },
        { "get no/" NODE_2 " nodes/" NODE_0 " namespaces/default -o name",
          { "node/" NODE_2, "node/" NODE_0, "namespace/default" },
          NULL,
          0 },
        { "get nodes,namespaces default -o name",
          { "namespace/default" },
          "Error from server (NotFound): nodes \"default\" not found",
          1 },
        { "get nodes " NODE_1 " there -o name",
          { "node/" NODE_1 },
          "Error from server (NotFound): nodes \"there\" not found",
          1 },
        { "get nodes here there -o name", { NULL }, "Error from server (NotFound): nodes \"here\" not found", 1 },
        { "watch node/" NODE_2 " nodes/" NODE_0 " -q -o name --until-synced",
          { "node/" NODE_2, "node/" NODE_0 },
          NULL,
          0 },
        { "watch nodes " NODE_2 " -q -o name --until-synced", { "node/" NODE_2 }, NULL, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[256];
        snprintf(words, sizeof words, "%s --server URL", rows[i].words);
        run(words);
        size_t seen = 0;
        for (const char *line; (line = ki_process_line(&program)); seen++) {
            bool is_expected = false;
            for (size_t j = 0; j < 4 && rows[i].prints[j]; j++)
                is_expected |= strcmp(line, rows[i].prints[j]) == 0;
            if (!is_expected)
                fail_msg("%s: %s", rows[i].words, line);
        }
        size_t expected = 0;
        while (expected < 4 && rows[i].prints[expected])
            expected++;
        assert_int_equal(seen, expected);
        if (rows[i].says)
            assert_says(rows[i].says);
        assert_ends(rows[i].status);
    }
}

CLI_TEST(several_names_of_one_resource_sync_once) {
    run("watch nodes " NODE_1 " " NODE_2 " there -q -o json --until-synced --server URL");
    size_t synced = 0;
    for (const char *line; (line = ki_process_line(&program));)
        synced += strstr(line, "\"SYNCED\",\"resource\":\"nodes\",\"count\":2") != NULL;
    assert_int_equal(synced, 1);
    assert_ends(0);
}

/* ---- serve and demo ---- */

/* Runs `serve --load` with such a file in the foreground until it has ended or serves; then it is `program`. */
static void load(const char *text) {
    char file[64], words[96];
    snprintf(file, sizeof file, "/tmp/ki-cli-%d.load", (int)getpid());
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    snprintf(words, sizeof words, "serve --load %s", file);
    run(words);
    (void)ki_process_line(&program); /* "serving", or the end */
    unlink(file);
}

CLI_TEST(a_load_without_end_is_rejected) {
    run("serve --load /dev/zero");
    assert_says("/dev/zero is larger than 268435456 bytes");
    assert_ends(1);
}

/* Each list has the one before it 100 times: 10^10 texts. */
#define TEN(text) text text text text text text text text text text
#define BOMB \
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" \
    "a: &a [" TEN(TEN("xxxxxxxxx,")) "]\nb: &b [" TEN(TEN("*a,")) "]\nc: &c [" TEN(TEN("*b,")) "]\nd: &d [" TEN( \
        TEN("*c,")) "]\ne: [" TEN(TEN("*d,")) "]\n"

CLI_TEST(what_cannot_be_loaded_is_said) {
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "{", "invalid JSON at byte" },
        { "a: [1", "line " },
        { "a: 1\n", "object 1 has no kind" },
        { "apiVersion: v1\nkind: ConfigMap\n", "object 1 has no metadata.name" },
        { "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: x/v1\nkind: Z\nmetadata: {name: a}\n",
          "object 2: x/v1 Z is not a built-in resource" },
        { "? [a]\n: b\n", "document 1: line 1, column 3: a key must be a text" },
        { "apiVersion: v1\n---\na: *x\n", "document 2: line 2, column 4: an alias without its anchor" },
        { BOMB, "document 1: line 6: the document contains excessive aliasing" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        load(rows[i].text);
        assert_says(rows[i].says);
        assert_ends(1);
    }
}

CLI_TEST(yaml_means_what_it_means_to_kubectl) {
    static const char yaml[] =
        "# all kinds of values\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
        "  labels: &labels {a: \"1\", b: 'true'}\n  annotations: *labels\n---\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: two, namespace: x}\nspec:\n  mode: 0644\n"
        "  'on': yes\n  none: ~\n  ratio: 1.5\n  negative: -7\n  version: 1.2.3\n  text: |\n    a\n    b\n";
    load(yaml);
    ki_process serving = program;
    assert_non_null(strstr(serving.line, "serving http"));
    char url[128], words[192];
    snprintf(url, sizeof url, "%s", serving.line + strlen("serving "));
    memset(&program, 0, sizeof program);
    program.pid = program.in = program.out = program.err = -1;

    snprintf(words, sizeof words, "get pod two -n x -o jsonl --server %s", url);
    run(words);
    assert_non_null(ki_process_expect(&program,
                                      "\"spec\":{\"mode\":420,\"on\":true,\"none\":null,\"ratio\":1.5,\"negative\":-7,"
                                      "\"version\":\"1.2.3\",\"text\":\"a\\nb\\n\"}"));
    assert_ends(0);
    snprintf(words, sizeof words, "get configmap one -o jsonl --server %s", url);
    run(words);
    assert_non_null(ki_process_expect(&program, "\"annotations\":{\"a\":\"1\",\"b\":\"true\"}"));
    assert_ends(0);
    ki_process_signal(&serving, SIGTERM);
    assert_int_equal(ki_process_wait(&serving), 0);
    ki_process_free(&serving);
}

CLI_TEST(serve_loads_a_file_and_writes_a_kubeconfig) {
    static const char objects[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\"}}\n"
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
        "\"metadata\":{\"name\":\"two\",\"namespace\":\"x\"},\"spec\":{}}]}";
    char file[64], kubeconfig[64], words[256];
    snprintf(file, sizeof file, "/tmp/ki-cli-%d.json", (int)getpid());
    snprintf(kubeconfig, sizeof kubeconfig, "/tmp/ki-cli-%d.kubeconfig", (int)getpid());
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(objects, out);
    assert_int_equal(fclose(out), 0);

    snprintf(words, sizeof words, "serve --load %s --write-kubeconfig %s", file, kubeconfig);
    run(words);
    assert_non_null(ki_process_expect(&program, "serving http://127.0.0.1:"));
    ki_process serving = program;
    memset(&program, 0, sizeof program);
    program.pid = program.in = program.out = program.err = -1;

    snprintf(words, sizeof words, "get configmaps,deployments -A -o name --kubeconfig %s", kubeconfig);
    run(words);
    assert_non_null(ki_process_expect(&program, "configmap/one"));
    assert_non_null(ki_process_expect(&program, "deployment.apps/two"));
    assert_ends(0);
    ki_process_signal(&serving, SIGTERM);
    assert_int_equal(ki_process_wait(&serving), 0);
    ki_process_free(&serving);
    unlink(file);
    unlink(kubeconfig);

    run("serve --load /tmp/ki-no-such-file.json");
    assert_says("cannot read");
    assert_ends(1);
}

CLI_TEST(the_demo_ends_with_a_cache_that_equals_the_server) {
    run("demo --pods 200 --churn 200 --seconds 1");
    assert_non_null(ki_process_expect(&program, "cache equals server"));
    assert_ends(0);
}

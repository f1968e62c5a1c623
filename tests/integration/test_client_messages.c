/* test_client_messages.c: the command's words that only the server knows: custom resources by each of their names,
 * categories, and what is nobody's. */
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>

#include "tests/support/process.h"
#include "tests/support/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ki_testing_server *server;
static ki_process program;

static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
    "\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"foos\","
    "\"singular\":\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\",\"shortNames\":[\"fo\"],\"categories\":[\"all\"]},"
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
    "\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";
static const char foo[] = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"mine\"}}";

static int start(void **state) {
    (void)state;
    ki_error err = KI_ERROR_INIT;
    const ki_testing_server_options options = { .size = sizeof options };
    if (ki_testing_server_new(&options, &server, &err) ||
        ki_testing_server_request(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", NULL,
                                  definition, 0, NULL, &err) ||
        ki_testing_server_request(server, "POST", "/apis/example.com/v1/namespaces/default/foos", NULL, foo, 0, NULL,
                                  &err)) {
        fprintf(stderr, "%s\n", ki_error_message(&err));
        return 1;
    }
    return 0;
}

static int stop(void **state) {
    (void)state;
    ki_process_free(&program);
    ki_testing_server_free(server);
    return 0;
}

static void run(const char *word) {
    static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
    const char *const argv[] = {
        KI_TEST_PROGRAM, "get", word, "-A", "-o", "name", "-q", "--server", ki_testing_server_url(server), NULL
    };
    ki_process_free(&program);
    assert_true(ki_process_start(&program, argv, environment, true));
}

TEST(a_custom_resource_is_known_by_each_of_its_names) {
    static const char *const words[] = { "foos",    "foo",    "Foo", "fo", "foos.example.com", "foos.v1.example.com",
                                         "foos,fo", "all,foo" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        run(words[i]);
        if (!ki_process_expect(&program, "example.com/mine"))
            fail_msg("%s: nothing", words[i]);
        assert_null(ki_process_expect(&program, "example.com/mine")); /* once */
        assert_int_equal(ki_process_wait(&program), 0);
    }
}

/* Whatever the word means: it is the way to the cluster that is wrong. */
TEST(a_wrong_way_to_the_cluster_is_not_blamed_on_the_word) {
    static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
    static const struct {
        const char *flag, *says;
    } rows[] = {
        { "--kubeconfig=/nonexistent/kubeconfig", "kubeconfig: cannot open /nonexistent/kubeconfig" },
        { "--context=typo", "there is no context \"typo\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const argv[] = { KI_TEST_PROGRAM, "get", "foos.example.com", rows[i].flag, NULL };
        ki_process_free(&program);
        assert_true(ki_process_start(&program, argv, environment, true));
        const char *line = ki_process_err_line(&program);
        if (!line || !strstr(line, rows[i].says))
            fail_msg("%s: %s", rows[i].flag, line ? line : "nothing");
        assert_int_equal(ki_process_wait(&program), 1);
    }
}

/* The end of a plugin is a signal to the command, and none that ends it. */
TEST(a_word_is_looked_up_with_a_plugins_credentials) {
    static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
    char path[64], kubeconfig[1024];
    ki_testing_server *own;
    const ki_testing_server_options options = { .size = sizeof options, .tls = true };
    assert_int_equal(ki_testing_server_new(&options, &own, NULL), KI_OK);
    assert_int_equal(ki_testing_server_request(own, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                                               NULL, definition, 0, NULL, NULL),
                     KI_OK);
    assert_int_equal(ki_testing_server_request(own, "POST", "/apis/example.com/v1/namespaces/default/foos", NULL, foo,
                                               0, NULL, NULL),
                     KI_OK);
    snprintf(path, sizeof path, "/tmp/ki-client-words-%d", (int)getpid());
    snprintf(kubeconfig, sizeof kubeconfig,
             "clusters: [{name: c, cluster: {server: '%s', insecure-skip-tls-verify: true}}]\n"
             "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "current-context: x\n"
             "users:\n"
             "- name: u\n"
             "  user:\n"
             "    exec:\n"
             "      apiVersion: client.authentication.k8s.io/v1\n"
             "      interactiveMode: Never\n"
             "      command: echo\n"
             "      args: ['{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
             "\"status\":{\"token\":\"%s\"}}']\n",
             ki_testing_server_url(own), ki_testing_server_token(own));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(kubeconfig, file);
    fclose(file);
    const char *const argv[] = { KI_TEST_PROGRAM, "get", "foos", "-o", "name", "--kubeconfig", path, NULL };
    ki_process_free(&program);
    assert_true(ki_process_start(&program, argv, environment, true));
    const char *line = ki_process_line(&program);
    if (!line)
        line = ki_process_err_line(&program);
    assert_string_equal(line ? line : "nothing", "foo.example.com/mine");
    assert_int_equal(ki_process_wait(&program), 0);
    unlink(path);
    ki_testing_server_free(own);
}

/* As with words that are built in: the server may be on its way. */
TEST(a_server_that_does_not_respond_yet_is_asked_again) {
    static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
    const char *const argv[] = {
        KI_TEST_PROGRAM, "get", "foos", "-o", "name", "--server", ki_testing_server_url(server), NULL
    };
    assert_int_equal(ki_testing_server_add_fault(server, "status,code=503,count=2", NULL, NULL),
                     KI_OK); /* both roots */
    ki_process_free(&program);
    assert_true(ki_process_start(&program, argv, environment, true));
    assert_non_null(ki_process_expect(&program, "foo.example.com/mine"));
    assert_int_equal(ki_process_wait(&program), 0);
    ki_testing_server_clear_faults(server);

    /* One that is not there is told as that, and asked again, for as long as was said: how often that is, the machine
     * decides. */
    const char *const patient[] = { KI_TEST_PROGRAM,      "get", "foos", "--wait", "--server",
                                    "http://127.0.0.1:1", "-v",  NULL };
    ki_process_free(&program);
    assert_true(ki_process_start(&program, patient, environment, true));
    for (int told = 0; told < 2;) {
        const char *line = ki_process_err_line(&program);
        assert_non_null(line);
        told += strstr(line, "refused") && strstr(line, "trying again");
    }
    ki_process_signal(&program, SIGTERM);
    assert_int_equal(ki_process_wait(&program), 0);
    const char *const impatient[] = { KI_TEST_PROGRAM,      "get",       "foos",  "--server",
                                      "http://127.0.0.1:1", "--timeout", "300ms", NULL };
    ki_process_free(&program);
    assert_true(ki_process_start(&program, impatient, environment, true));
    assert_int_equal(ki_process_wait(&program), 3);
    assert_non_null(ki_process_err_line(&program));
}

TEST(a_word_that_means_nothing_is_said_with_the_nearest) {
    static const struct {
        const char *word, *says;
    } rows[] = {
        { "fooos", "did you mean foos?" },
        { "pdos", "did you mean pods?" },
        { "zzzzzzzzzz", "is not known" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run(rows[i].word);
        const char *line = ki_process_err_line(&program);
        while (line && !strstr(line, rows[i].says))
            line = ki_process_err_line(&program);
        if (!line)
            fail_msg("%s: not said", rows[i].word);
        assert_int_equal(ki_process_wait(&program), 2);
    }
}

TEST_GROUP(client_messages, start, stop);

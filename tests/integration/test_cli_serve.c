/* test_cli_serve.c: kinformer serve as a process: it starts, and ends when it is told to, whatever it is doing. */
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ROUNDS = 8,
    WATCHERS = 10
};

static ki_process process;

static int tear_down(void **state) {
    (void)state;
    ki_process_free(&process);
    memset(&process, 0, sizeof process);
    return 0;
}

#define SERVE_TEST(name) TEST_WITH(NULL, tear_down, name)

static int connect_to(const char *line) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    to.sin_port = htons((uint16_t)atoi(strrchr(line, ':') + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

SERVE_TEST(serve_ends_again_and_again_under_load_with_clients_that_do_not_read) {
    static const char watch[] = "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      half[] = "GET /api/v1/po";
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--pods", "60", "--churn", "3000", NULL };
    for (int round = 0; round < ROUNDS; round++) {
        int fds[WATCHERS];
        assert_true(ki_process_start(&process, argv, NULL, false));
        const char *line = ki_process_expect(&process, "serving ");
        assert_non_null(line);
        for (size_t i = 0; i < WATCHERS; i++) {
            const char *text = i % 3 == 2 ? half : watch;
            fds[i] = connect_to(line);
            assert_true(send(fds[i], text, strlen(text), MSG_NOSIGNAL) > 0);
        }
        ki_process_signal(&process, round % 2 ? SIGTERM : SIGINT);
        assert_int_equal(ki_process_wait(&process), 0);
        for (size_t i = 0; i < WATCHERS; i++)
            close(fds[i]);
        tear_down(NULL);
    }
}

SERVE_TEST(serve_ends_while_it_waits_for_the_objects_it_is_filled_with) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    assert_true(ki_process_start(&process, argv, NULL, false));
    assert_true(write(process.in, "apiVersion: v1\n", 15) == 15);
    ki_process_signal(&process,
                      SIGTERM); /* before or after it began to read: it ends, by its own handler or the system's */
    int status = ki_process_wait(&process);
    assert_true(status == 0 || status == 128 + SIGTERM);
}

SERVE_TEST(serve_until_eof_ends_with_its_standard_input) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--until-eof", NULL };
    for (int i = 0; i < 2; i++) {
        assert_true(ki_process_start(&process, argv, NULL, false));
        assert_non_null(ki_process_expect(&process, "serving "));
        assert_true(write(process.in, "ignored\n", 8) == 8);
        if (i)
            ki_process_signal(&process, SIGTERM); /* which ends it as ever */
        else
            ki_process_close_in(&process);
        assert_int_equal(ki_process_wait(&process), 0);
        tear_down(NULL);
    }
}

SERVE_TEST(serve_reports_that_it_is_ready_to_a_descriptor) {
    static const char *const argv[] = { "/bin/sh", "-c", "exec " KI_TEST_PROGRAM " serve --ready-fd 3 3>&1 >/dev/null",
                                        NULL };
    assert_true(ki_process_start(&process, argv, NULL, false));
    assert_non_null(ki_process_expect(&process, "http://127.0.0.1:"));
    assert_null(ki_process_line(&process)); /* it has closed the descriptor */
    ki_process_signal(&process, SIGTERM);
    assert_int_equal(ki_process_wait(&process), 0);
    tear_down(NULL);
    static const char *const closed[] = { KI_TEST_PROGRAM, "serve", "--ready-fd", "77", NULL };
    assert_true(ki_process_start(&process, closed, NULL, true));
    assert_non_null(ki_process_expect_err(&process, "descriptor 77 is not open"));
    assert_int_equal(ki_process_wait(&process), 2);
}

SERVE_TEST(the_kubeconfig_has_a_context_for_each_token) {
    static const char *const argv[] = { KI_TEST_PROGRAM,
                                        "serve",
                                        "--tls",
                                        "--token",
                                        "token=s3cret,user=jane",
                                        "--allow",
                                        "user=jane,verb=list,resource=pods",
                                        "--write-kubeconfig",
                                        "/dev/stdout",
                                        NULL };
    assert_true(ki_process_start(&process, argv, NULL, false));
    assert_non_null(ki_process_expect(&process, "- name: \"kinformer\""));
    assert_non_null(ki_process_expect(&process, "- name: \"jane\""));
    assert_non_null(ki_process_expect(&process, "token: \"s3cret\""));
    assert_non_null(ki_process_expect(&process, "- name: \"jane\""));
    assert_non_null(ki_process_expect(&process, "    user: \"jane\""));
    assert_non_null(ki_process_expect(&process, "current-context: kinformer"));
    ki_process_signal(&process, SIGTERM);
    assert_int_equal(ki_process_wait(&process), 0);
}

SERVE_TEST(the_kubeconfig_has_each_name_once) {
    static const char *const argv[] = { KI_TEST_PROGRAM,
                                        "serve",
                                        "--tls",
                                        "--token",
                                        "token=first,user=jane",
                                        "--token",
                                        "token=second,user=jane,groups=dev",
                                        "--token",
                                        "token=mine,user=kinformer",
                                        "--write-kubeconfig",
                                        "/dev/stdout",
                                        NULL };
    size_t janes = 0, kinformers = 0;
    assert_true(ki_process_start(&process, argv, NULL, false));
    for (const char *line; (line = ki_process_line(&process)) && !strstr(line, "current-context");) {
        janes += strstr(line, "- name: \"jane\"") != NULL;
        kinformers += strstr(line, "- name: \"kinformer\"") != NULL;
        assert_null(strstr(line, "second"));
        assert_null(strstr(line, "mine"));
    }
    assert_int_equal(janes, 2); /* a user and a context */
    assert_int_equal(kinformers, 2);
    ki_process_signal(&process, SIGTERM);
    assert_int_equal(ki_process_wait(&process), 0);
}

SERVE_TEST(serve_rejects_tokens_rules_and_faults_that_are_none) {
    static const struct {
        const char *flag, *value, *words;
    } rows[] = {
        { "--token", "secret", "token=SECRET,user=NAME" },
        { "--allow", "verb=get", "user=NAME or group=NAME" },
        { "--fault", "nonsense", "there is no fault \"nonsense\"" },
        { "--fault", "cut,bytes=x", "bytes=x" },
        { "--fault", "close,verb=get+lst", "there is no verb \"lst\"" },
        { "--fault", "close,resource=deployments", "did you mean deployments.apps?" },
        { "--allow", "user=jane,verb=lst", "did you mean list?" },
        { "--fault", "close,size=1", "it has verb, resource, namespace" },
        { "--write-kubeconfig", "-", "use --write-kubeconfig FILE" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const argv[] = { KI_TEST_PROGRAM, "serve", rows[i].flag, rows[i].value, NULL };
        assert_true(ki_process_start(&process, argv, NULL, true));
        const char *line = ki_process_err_line(&process);
        assert_non_null(line);
        if (!strstr(line, rows[i].words))
            fail_msg("%s", line);
        assert_int_equal(ki_process_wait(&process), 2);
        tear_down(NULL);
    }
}

static void expect_refusal(const char *const *argv, const char *words, int status) {
    assert_true(ki_process_start(&process, argv, NULL, true));
    const char *line = ki_process_err_line(&process);
    assert_non_null(line);
    if (!strstr(line, words))
        fail_msg("%s", line);
    assert_int_equal(ki_process_wait(&process), status);
    tear_down(NULL);
}

SERVE_TEST(serve_does_not_both_load_standard_input_and_wait_for_its_end) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--until-eof", "--load", "-", NULL };
    expect_refusal(argv, "--until-eof", 2);
}

SERVE_TEST(serve_writes_no_kubeconfig_that_lets_nobody_in) {
    static const char *const roles[] = { KI_TEST_PROGRAM, "serve", "--rbac", "--write-kubeconfig", "/dev/null", NULL };
    static const char *const token[] = { KI_TEST_PROGRAM,      "serve",     "--token", "token=t,user=jane",
                                         "--write-kubeconfig", "/dev/null", NULL };
    expect_refusal(roles, "needs --tls", 2);
    expect_refusal(token, "needs --tls", 2);
}

static const char foo[] = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"}}\n";
static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/"
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos.example.com\"},"
    "\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"foos\",\"kind\":\"Foo\"},"
    "\"versions\":"
    "[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}\n";

static void feed(const char *text) {
    assert_true(write(process.in, text, strlen(text)) == (ssize_t)strlen(text));
}

SERVE_TEST(serve_loads_custom_resources_after_their_definition) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    static const char request[] =
        "GET /apis/example.com/v1/namespaces/default/foos/f HTTP/1.0\r\nHost: localhost\r\n\r\n";
    char response[4096] = "";
    assert_true(ki_process_start(&process, argv, NULL, false));
    feed(definition);
    feed(foo);
    ki_process_close_in(&process);
    const char *line = ki_process_expect(&process, "serving ");
    assert_non_null(line);
    int fd = connect_to(line);
    assert_true(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    for (size_t size = 0; size < sizeof response - 1;) {
        ssize_t got = recv(fd, response + size, sizeof response - 1 - size, 0);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    close(fd);
    assert_non_null(strstr(response, "200 OK"));
    assert_non_null(strstr(response, "\"kind\":\"Foo\""));
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

SERVE_TEST(serve_loads_all_files_in_their_order) {
    char first[64], second[64];
    snprintf(first, sizeof first, "/tmp/ki-load-%d-1.json", (int)getpid());
    snprintf(second, sizeof second, "/tmp/ki-load-%d-2.json", (int)getpid());
    write_file(first, definition);
    write_file(second, foo); /* needs the definition of the first */
    const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", first, "--load", second, NULL };
    assert_true(ki_process_start(&process, argv, NULL, true));
    bool loaded_both = ki_process_expect_err(&process, first) && ki_process_expect_err(&process, second);
    unlink(first);
    unlink(second);
    assert_true(loaded_both);
    assert_non_null(ki_process_expect(&process, "serving "));
    static const char *const twice[] = { KI_TEST_PROGRAM, "serve", "--load", "-", "--load", "-", NULL };
    tear_down(NULL);
    expect_refusal(twice, "once", 2);
}

SERVE_TEST(serve_names_the_object_that_it_cannot_load) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    assert_true(ki_process_start(&process, argv, NULL, true));
    feed(foo);
    feed(definition);
    ki_process_close_in(&process);
    const char *line = ki_process_err_line(&process);
    assert_non_null(line);
    assert_non_null(strstr(line, "object 1: example.com/v1 Foo"));
    assert_int_equal(ki_process_wait(&process), 1);
}

/* libyaml's document loader takes time that grows with the square of nesting: 100 KB took 35 s. */
SERVE_TEST(yaml_that_is_nested_without_end_is_rejected_at_once) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    assert_true(ki_process_start(&process, argv, NULL, true));
    feed("a: ");
    for (size_t i = 0; i < 50000; i++)
        feed("[");
    ki_process_close_in(&process);
    const char *line = ki_process_err_line(&process);
    assert_non_null(line);
    if (!strstr(line, "line 1: nested deeper than"))
        fail_msg("%s", line);
    assert_int_equal(ki_process_wait(&process), 1);
}

SERVE_TEST(lists_in_lists_without_end_are_rejected) {
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    assert_true(ki_process_start(&process, argv, NULL, true));
    for (size_t i = 0; i < 50000; i++)
        feed("{\"kind\":\"List\",\"items\":[");
    for (size_t i = 0; i < 50000; i++)
        feed("]}");
    ki_process_close_in(&process);
    const char *line = ki_process_err_line(&process);
    assert_non_null(line);
    if (!strstr(line, "inside each other"))
        fail_msg("%s", line);
    assert_int_equal(ki_process_wait(&process), 1);
}

SERVE_TEST(serve_without_descriptors_says_so) {
    static const char *const commands[] = {
        "ulimit -n 5; exec " KI_TEST_PROGRAM " serve",
        "ulimit -n 6; exec " KI_TEST_PROGRAM " serve",
        "ulimit -n 7; exec " KI_TEST_PROGRAM " serve",
        "ulimit -n 8; exec " KI_TEST_PROGRAM " serve",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *const argv[] = { "/bin/sh", "-c", commands[i], NULL };
        assert_true(ki_process_start(&process, argv, NULL, true));
        const char *line = ki_process_err_line(&process);
        assert_non_null(line);
        if (!strstr(line, "Too many open files"))
            fail_msg("%s", line);
        assert_int_equal(ki_process_wait(&process), 1);
        tear_down(NULL);
    }
}

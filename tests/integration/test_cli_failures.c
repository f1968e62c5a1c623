/* test_cli_failures.c: what get does about a list that will not come: it ends at once, in kubectl's words, unless it
 * was told to wait. */
#include "tests/support/command.h"
#include "tests/support/raw_server.h"
#include "tests/support/test.h"

#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TLS KI_TEST_DATA_DIR "/tls/"
#define CA "--certificate-authority=" TLS "ca.pem"

/* Jane may read pods, joe may do nothing. */
static void serve_tls(const char *certificate, const char *key) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server_free(command_server);
    command_server = NULL;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 5, .seed = 5, .tls_certificate = certificate,
                                                         .tls_key = key, .tls_ca = TLS "ca.pem"),
                              &command_server, &err) ||
        ki_testing_server_add_token(command_server, "token=janes,user=jane", &err) ||
        ki_testing_server_add_token(command_server, "token=joes,user=joe", &err) ||
        ki_testing_server_allow(command_server, "user=jane,verb=get+list+watch,resource=pods", &err))
        fail_msg("%s", ki_error_message(&err));
}

COMMAND_TEST(get_ends_at_once_on_what_does_not_pass_by_waiting) {
    static const struct {
        const char *certificate, *key;
        const char *words[3];
        const char *says;
    } rows[] = {
        { TLS "server.pem",
          TLS "server.key",
          { CA, "--token=wrong" },
          "error: You must be logged in to the server (Unauthorized)" },
        { TLS "server.pem",
          TLS "server.key",
          { CA, "--token=joes" },
          "Error from server (Forbidden): pods is forbidden: User \"joe\" cannot list resource \"pods\" in API group "
          "\"\" in the namespace \"default\"" },
        { TLS "server.pem",
          TLS "server.key",
          { "--certificate-authority=" TLS "other-ca.pem" },
          "Unable to connect to the server: the certificate of " },
        { TLS "expired.pem", TLS "expired.key", { CA }, "certificate has expired" },
        { TLS "server.pem",
          TLS "server.key",
          { "--server=http://127.0.0.1:1" },
          "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?" },
        { TLS "server.pem",
          TLS "server.key",
          { "--server=http://there.invalid" },
          "Unable to connect to the server: connect to http://there.invalid: Could not resolve host" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        serve_tls(rows[i].certificate, rows[i].key);

        COMMAND_RUN("get", "pods", "--server", "URL", rows[i].words[0], rows[i].words[1]);

        command_says(rows[i].says);
        command_says("--wait tries again");
        command_ends(3);
    }
}

COMMAND_TEST(a_missing_permission_names_the_verbs_that_suffice) {
    static const struct {
        const char *words[3];
        const char *says;
    } rows[] = {
        { { "get", "pods" }, "get needs the verb list for pods in namespace default" },
        { { "watch", "deployments", "-A" },
          "watch needs the verbs list and watch for deployments.apps in all namespaces" },
        { { "watch", "nodes" }, "watch needs the verbs list and watch for nodes" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        serve_tls(TLS "server.pem", TLS "server.key");
        COMMAND_RUN(rows[i].words[0], rows[i].words[1], "--server", "URL", CA, "--token=joes", rows[i].words[2]);
        command_says(rows[i].says);
        ki_process_signal(&command, SIGINT);
        command_ends(i == 0 ? 3 : 0);
    }
}

/* Also where the server has to be asked first what the word means. */
COMMAND_TEST(a_word_that_is_not_built_in_is_not_looked_up_for_ever) {
    COMMAND_RUN("get", "foos", "--server", "http://127.0.0.1:1");
    command_says("The connection to the server 127.0.0.1:1 was refused");
    command_ends(3);
}

COMMAND_TEST(a_resource_that_the_server_does_not_have_ends_get) {
    COMMAND_RUN("get", "foos.v1.example.com", "--server", "URL");
    command_says("error: the server doesn't have a resource type \"foos\" in version example.com/v1");
    command_ends(3);
}

COMMAND_TEST(what_may_be_read_is_shown_before_why_the_rest_may_not) {
    serve_tls(TLS "server.pem", TLS "server.key");
    COMMAND_RUN("get", "secrets,pods", "-A", "-o", "name", "--server", "URL", CA, "--token=janes");
    const char *printed = command_output();
    assert_non_null(strstr(printed, "pod/"));
    command_says("Error from server (Forbidden): secrets is forbidden");
    command_ends(3);
}

COMMAND_TEST(get_needs_no_permission_to_watch) {
    ki_error err = KI_ERROR_INIT;
    serve_tls(TLS "server.pem", TLS "server.key");
    if (ki_testing_server_add_token(command_server, "token=anns,user=ann", &err) ||
        ki_testing_server_allow(command_server, "user=ann,verb=get+list,resource=pods", &err))
        fail_msg("%s", ki_error_message(&err));
    for (int i = 0; i < 8; i++) { /* the watch fails before or after the list has left the queue */
        COMMAND_RUN("get", "pods", "-A", "-o", "name", "--server", "URL", CA, "--token=anns");
        assert_non_null(strstr(command_output(), "pod/"));
        assert_null(ki_process_err_line(&command));
        command_ends(0);
    }
}

COMMAND_TEST(what_is_no_api_server_is_called_that) {
    static const struct {
        const char *response;
        const char *word;
        const char *says;
    } rows[] = {
        { "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>nothing</html>", "pods",
          " is not a Kubernetes API server: HTTP 404: <html>nothing</html>" },
        { "HTTP/1.1 501 No\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>nothing</html>", "pods",
          " is not a Kubernetes API server: HTTP 501: <html>nothing</html>" },
        { "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>welcome</html>", "pods",
          " is not a Kubernetes API server: expected application/json" },
        { "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>welcome</html>", "foos",
          " is not a Kubernetes API server: " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const raw_response response = { rows[i].response, 0, RAW_CLOSE };
        raw_server server;
        char url[64];
        raw_server_start(&server, &response, 1);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN("get", rows[i].word, "--server", url);
        command_says(rows[i].says);
        command_ends(3);
        raw_server_stop(&server);
    }
}

COMMAND_TEST(a_broken_kubeconfig_has_its_status) {
    static const struct {
        const char *command;
        int status;
    } rows[] = { { "get", 1 }, { "watch", 1 }, { "doctor", 3 } }; /* docs/command.md */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        COMMAND_RUN(rows[i].command, "pods", "--kubeconfig", "/nonexistent/kubeconfig");
        (void)command_output();
        command_ends(rows[i].status);
    }
}

COMMAND_TEST(watch_calls_it_that_too) {
    const raw_response response = {
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>nothing</html>", 0,
        RAW_CLOSE
    };
    raw_server server;
    char url[64];
    raw_server_start(&server, &response, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("watch", "pods", "--server", url);
    command_says("pods: blocked: not a Kubernetes API server: list pods in namespace default: HTTP 404: <html>nothing");
    ki_process_signal(&command, SIGINT);
    command_ends(0);
    raw_server_stop(&server);
}

COMMAND_TEST(a_silent_server_is_reported) {
    static const char *const rows[][2] = { { "get", "pods" }, { "watch", "pods" }, { "get", "foos" } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const raw_response response = { "", 0, RAW_SILENT };
        raw_server server;
        char url[64];
        raw_server_start(&server, &response, 1);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN(rows[i][0], rows[i][1], "--server", url, "--request-timeout=9s"); /* the bound: it says so before */
        command_says("no response for 5 s from http://127.0.0.1");
        ki_process_signal(&command, SIGINT);
        (void)ki_process_wait(&command);
        raw_server_stop(&server);
    }
}

/* A list that began and was cut is no failure that was reported. */
COMMAND_TEST(a_server_that_falls_silent_is_reported) {
    static const char *const commands[] = { "get", "watch" };
    static const raw_response responses[] = {
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"type\":\"ADDED\"", 0,
          RAW_CLOSE },
        { "", 0, RAW_SILENT },
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        raw_server server;
        char url[64];
        raw_server_start(&server, responses, 2);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN(commands[i], "pods", "--server", url, "--request-timeout=20s");
        command_says("no response for 5 s from http://127.0.0.1");
        ki_process_signal(&command, SIGINT);
        (void)ki_process_wait(&command);
        raw_server_stop(&server);
    }
}

COMMAND_TEST(a_list_that_stalls_is_reported) {
    static const raw_response stalls = {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n", 0, RAW_SILENT
    };
    raw_server server;
    char url[64];
    raw_server_start(&server, &stalls, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("watch", "pods", "--server", url);
    command_says("pods: no data for 10 s from http://127.0.0.1");
    ki_process_signal(&command, SIGINT);
    (void)ki_process_wait(&command);
    raw_server_stop(&server);
}

static void run_in_shell(const char *line) {
    command_start("/bin/sh", (const char *const[]){ "-c", line, "sh", KI_TEST_PROGRAM, "URL", NULL });
}

COMMAND_TEST(a_demo_that_nobody_reads_ends) {
    run_in_shell("{ \"$1\" demo --pods 2000 --seconds 1; echo status $? >&2; } | true");
    command_says("status 0");
    (void)ki_process_wait(&command);
}

COMMAND_TEST(too_few_descriptors_end_get) {
    /* Descriptors that the tests' own program may have left open are closed first: they would count. */
#define WITH_DESCRIPTORS(count) \
    "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n " count "; exec \"$1\" get pods --server \"$2\""
    static const char *const lines[] = { WITH_DESCRIPTORS("7"), WITH_DESCRIPTORS("9") };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        run_in_shell(lines[i]);
        command_says("Too many open files");
        command_ends(3);
    }
}

COMMAND_TEST(a_token_that_the_server_sends_back_is_not_shown) {
    static const char *const commands[] = { "get", "watch", "doctor" };
    serve_tls(TLS "server.pem", TLS "server.key");
    assert_int_equal(ki_testing_server_add_token(command_server, "token=very-secret-1,user=jane", NULL), KI_OK);
    assert_int_equal(ki_testing_server_add_fault(command_server,
                                                 "status,code=403,reason=Forbidden,message=very-secret-1 is no good",
                                                 NULL, NULL),
                     KI_OK);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        COMMAND_RUN(commands[i], "pods", "--server", "URL", CA, "--token=very-secret-1", "--timeout=2s");
        const char *printed = command_output();
        bool is_said = strstr(printed, "************* is no good") != NULL;
        assert_null(strstr(printed, "very-secret-1"));
        for (const char *line; (line = ki_process_err_line(&command));) {
            assert_null(strstr(line, "very-secret-1"));
            is_said |= strstr(line, "************* is no good") != NULL;
        }
        assert_true(is_said);
        (void)ki_process_wait(&command);
    }
}

COMMAND_TEST(get_waits_with_wait_or_timeout) {
    static const char *const flags[] = { "--wait", "--timeout=1h" };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        COMMAND_RUN("get", "pods", "-v", "--server", "http://127.0.0.1:1", flags[i]);
        command_says("backing off");
        command_says("backing off"); /* the second attempt */
        ki_process_signal(&command, SIGINT);
        command_ends(0);
    }
}

COMMAND_TEST(a_server_that_is_busy_is_asked_again_by_get) {
    assert_int_equal(ki_testing_server_add_fault(command_server, "status,code=503,count=3", NULL, NULL), KI_OK);
    COMMAND_RUN("get", "nodes", "-o", "name", "--server", "URL");
    assert_non_null(strstr(command_output(), "node/"));
    command_ends(0);
}

COMMAND_TEST(a_failure_is_said_once_until_it_changes) {
    int blocked = 0;
    assert_int_equal(ki_testing_server_add_fault(command_server,
                                                 "status,code=403,reason=Forbidden,message=not for you,count=4", NULL,
                                                 NULL), /* two attempts: each is a streaming list and a list */
                     KI_OK);
    COMMAND_RUN("watch", "pods", "--server", "URL");
    for (const char *line; (line = ki_process_err_line(&command)) && !strstr(line, "synced");)
        blocked += strstr(line, "blocked") != NULL;
    assert_int_equal(blocked, 1);
    ki_process_signal(&command, SIGINT);
    command_ends(0);
}

/* The server's own message can be anything. */
COMMAND_TEST(a_failure_of_the_server_has_its_status) {
    assert_int_equal(ki_testing_server_add_fault(command_server, "status,code=503", NULL, NULL), KI_OK);
    COMMAND_RUN("watch", "pods", "--server", "URL");
    command_says("apiserver is shutting down (HTTP 503)");
    ki_process_signal(&command, SIGINT);
    command_ends(0);
}

COMMAND_TEST(watch_says_what_the_health_says) {
    COMMAND_RUN("watch", "websites.v1.web.example.com", "--server", "URL");
    command_says("websites: blocked: the CRD websites.web.example.com is not installed, or not in version v1");
    ki_process_signal(&command, SIGINT);
    command_ends(0);
}

/* Its lists succeed and are empty. */
COMMAND_TEST(watch_says_that_a_namespace_does_not_exist) {
    COMMAND_RUN("watch", "configmaps", "-n", "shpo", "--server", "URL");
    command_says("there is no namespace shpo");
    ki_process_signal(&command, SIGINT);
    command_ends(0);
}

COMMAND_TEST(watch_continues_trying) {
    COMMAND_RUN("watch", "pods", "-v", "--server", "http://127.0.0.1:1");
    command_says("backing off");
    command_says("backing off");
    ki_process_signal(&command, SIGINT);
    command_ends(0);
}

/* ---- discovery ---- */

#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

/* A server with the group example.com, whose metrics server is down: the response to both /api and /apis, as
 * kube-apiserver sends it. */
static const raw_response partial_discovery = {
    JSON
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
    "{\"metadata\":{\"name\":\"example.com\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\","
    "\"resources\":[{\"resource\":\"widgets\",\"responseKind\":{\"group\":\"\",\"version\":\"\","
    "\"kind\":\"Widget\"},\"scope\":\"Namespaced\",\"singularResource\":\"widget\","
    "\"verbs\":[\"get\",\"list\",\"watch\"]}]}]},"
    "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\",\"freshness\":\"Stale\"}]}]}",
    0, RAW_CLOSE
};

static const raw_response widgets = {
    JSON "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Widget\",\"apiVersion\":\"example.com/v1\",\"metadata\":{"
         "\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"1\",\"resourceVersion\":\"5\"}}}\n"
         "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Widget\",\"apiVersion\":\"example.com/v1\",\"metadata\":{"
         "\"resourceVersion\":\"5\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
    0, RAW_CLOSE
};

/* As kube-apiserver responds for an API service without a server. */
static const raw_response unavailable = {
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    "service unavailable\n",
    0, RAW_CLOSE
};

COMMAND_TEST(a_group_that_cannot_be_discovered_is_said_and_the_others_are_served) {
    static const char unread[] = "could not read the resources of metrics.k8s.io/v1beta1, which can have \"";
    static const char cause[] =
        "\": HTTP 503: service unavailable; kubectl get apiservice v1beta1.metrics.k8s.io shows why";
    static const struct {
        const char *command, *resource, *says;
        int status;
    } rows[] = {
        { "get", "nodes.metrics.k8s.io", unread, 1 },
        { "watch", "nodes.metrics.k8s.io", unread, 1 },
        { "gen", "nodes.metrics.k8s.io", unread, 1 },
        { "get", "nodes.v1beta1.metrics.k8s.io", unread, 1 },
        { "get", "podmetrics", unread, 1 }, /* the group that has it can be any */
        { "get", "nodes.metrics.k8s.io", cause, 1 },
        { "watch", "nodes.metrics.k8s.io", cause, 1 },
        { "gen", "nodes.metrics.k8s.io", cause, 1 },
        { "get", "wigdets", "; kubectl get apiservice v1beta1.metrics.k8s.io shows why; did you mean widgets?", 1 },
        { "gen", "wigdets", "shows why; did you mean widgets?", 1 },
        { "get", "gadgets.example.com", "\"gadgets.example.com\" is not known", 2 },
        { "get", "widgets.example.com", NULL, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const raw_response responses[] = { partial_discovery, partial_discovery, rows[i].says ? unavailable : widgets };
        raw_server server;
        char url[64];
        raw_server_start(&server, responses, 3);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN(rows[i].command, rows[i].resource, "--server", url, rows[i].says ? NULL : "-o", "name");
        if (rows[i].says)
            command_says(rows[i].says);
        else
            assert_non_null(strstr(command_output(), "widget.example.com/a\n"));
        command_ends(rows[i].status);
        raw_server_stop(&server);
    }
}

/* As of metrics-server and of componentstatuses: a list without a version. */
static const raw_response usage = {
    JSON "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{},\"items\":["
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}},"
         "{\"metadata\":{\"name\":\"b\",\"namespace\":\"default\"}}]}",
    0, RAW_CLOSE
};
static const raw_response components = {
    JSON "{\"kind\":\"ComponentStatusList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":["
         "{\"metadata\":{\"name\":\"etcd-0\"}}]}",
    0, RAW_CLOSE
};
static const raw_response metrics_discovery = {
    JSON "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
         "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\",\"freshness\":\"Current\","
         "\"resources\":[{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\",\"version\":\"\","
         "\"kind\":\"PodMetrics\"},\"scope\":\"Namespaced\",\"singularResource\":\"pod\","
         "\"verbs\":[\"get\",\"list\"]}]}]}]}",
    0, RAW_CLOSE
};
static const raw_response not_allowed = {
    "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"reason\":\"MethodNotAllowed\","
    "\"message\":\"the server does not allow this method on the requested resource\",\"code\":405}",
    0, RAW_CLOSE
};

COMMAND_TEST(get_prints_what_can_be_listed_and_not_watched) {
    const struct {
        const char *resource, *name, *printed;
        raw_response responses[5];
        size_t count;
        int status;
    } rows[] = {
        { "pods.metrics.k8s.io",
          NULL,
          "podmetrics.metrics.k8s.io/a\npodmetrics.metrics.k8s.io/b\n",
          { metrics_discovery, metrics_discovery, not_allowed, usage, not_allowed },
          5,
          0 },
        { "pods.metrics.k8s.io", /* metrics-server ignores field selectors */
          "b",
          "podmetrics.metrics.k8s.io/b\n",
          { metrics_discovery, metrics_discovery, not_allowed, usage, not_allowed },
          5,
          0 },
        { "pods.metrics.k8s.io",
          "c",
          "",
          { metrics_discovery, metrics_discovery, not_allowed, usage, not_allowed },
          5,
          1 },
        { "componentstatuses", NULL, "componentstatus/etcd-0\n", { not_allowed, components, not_allowed }, 3, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        raw_server server;
        char url[64];
        raw_server_start(&server, rows[i].responses, rows[i].count);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN("get", "--server", url, "-o", "name", rows[i].resource, rows[i].name);
        assert_string_equal(command_output(), rows[i].printed);
        command_ends(rows[i].status);
        raw_server_stop(&server);
    }
}

COMMAND_TEST(watch_says_that_get_prints_what_cannot_be_watched) {
    raw_server server;
    char url[64];
    raw_server_start(&server, &metrics_discovery, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("watch", "pods.metrics.k8s.io", "--server", url);
    command_says("pods cannot be watched; kinformer get pods.metrics.k8s.io lists them");
    command_ends(1);
    raw_server_stop(&server);
}

/* The server behind example.com is down. */
static const raw_response without_widgets = {
    JSON "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
         "{\"metadata\":{\"name\":\"example.com\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}]}]}",
    0, RAW_CLOSE
};

COMMAND_TEST(get_waits_for_a_group_that_is_down) {
    static const char says[] =
        "could not read the resources of example.com/v1, which can have \"widgets.example.com\": "
        "HTTP 503: service unavailable";
    const struct {
        const char *flag;
        raw_response then; /* instead of the group's being down */
        int status;
    } rows[] = {
        { "--wait", partial_discovery, 0 },
        { "--timeout=1h", partial_discovery, 0 },
        { "--timeout=3s", without_widgets, 3 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const raw_response responses[] = { without_widgets, without_widgets, unavailable,
                                           rows[i].then,    rows[i].then,    widgets };
        raw_server server;
        char url[64];
        raw_server_start(&server, responses, 6);
        snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
        COMMAND_RUN("get", "widgets.example.com", "--server", url, "-o", "name", rows[i].flag);
        command_says(says);
        if (!rows[i].status)
            assert_non_null(strstr(command_output(), "widget.example.com/a\n"));
        command_ends(rows[i].status);
        raw_server_stop(&server);
    }
}

/* It would say after 5 s that there is no response. */
COMMAND_TEST(the_limit_of_a_request_is_that_of_discovery_too) {
    const raw_response silent = { "", 0, RAW_SILENT };
    raw_server server;
    char url[64];
    raw_server_start(&server, &silent, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server.port);
    COMMAND_RUN("get", "widgets.example.com", "--server", url, "--request-timeout=100ms");
    const char *line = ki_process_err_line(&command);
    assert_non_null(line);
    if (!strstr(line, "timed out waiting ")) /* for a response, or to send a request again */
        fail_msg("%s", line);
    command_ends(3);
    raw_server_stop(&server);
}

COMMAND_TEST(watch_retries_a_discovery_that_is_forbidden_and_get_ends) {
    static const struct {
        const char *fault, *get_says, *watch_says;
    } rows[] = {
        { "status,code=401,path=/apis", "error: You must be logged in to the server (",
          "GET /apis: Unauthorized; trying again" },
        { "status,code=403,path=/apis", "Error from server (Forbidden): ", "GET /apis: forbidden; trying again" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_testing_server_clear_faults(command_server);
        assert_int_equal(ki_testing_server_add_fault(command_server, rows[i].fault, NULL, NULL), KI_OK);
        COMMAND_RUN("get", "foos.example.com", "--server", "URL");
        command_says(rows[i].get_says);
        command_ends(3);
        COMMAND_RUN("watch", "foos.example.com", "--server", "URL", "-v");
        command_says(rows[i].watch_says);
        command_says(rows[i].watch_says); /* the second attempt */
        ki_testing_server_clear_faults(command_server);
        command_says("the resource \"foos.example.com\" is not known"); /* now the server said so */
        command_ends(2);
    }
}

/* test_doctor.c: kinformer doctor, against a server that is well and on every kind of way that is not. */
#include "tests/support/folder.h"
#include "tests/support/load_nodes.h"
#include "tests/support/process.h"
#include "tests/support/raw_server.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include "cli/doctor/checkup.h"
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#define TLS KI_TEST_DATA_DIR "/tls/"

static ki_testing_server *server;
static ki_process program;
static char output[64 * 1024];

static int tear_down(void **state) {
    (void)state;
    ki_process_free(&program);
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

#define DOCTOR_TEST(name) TEST_WITH(NULL, tear_down, name)

static void serve(const ki_testing_server_options *options) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server_free(server);
    server = NULL;
    if (ki_testing_server_new(options, &server, &err))
        fail_msg("%s", ki_error_message(&err));
}

/* A server of the test data's certificate, with two users: jane may read pods, joe may do nothing. */
static void serve_tls(const char *certificate, const char *key) {
    ki_error err = KI_ERROR_INIT;
    serve(
        &KI_TESTING_SERVER_OPTIONS(.pods = 40, .tls_certificate = certificate, .tls_key = key, .tls_ca = TLS "ca.pem"));
    if (ki_testing_server_add_token(server, "token=janes,user=jane,groups=readers", &err) ||
        ki_testing_server_add_token(server, "token=joes,user=joe", &err) ||
        ki_testing_server_allow(server, "user=jane,verb=get+list+watch,resource=pods", &err))
        fail_msg("%s", ki_error_message(&err));
}

static void read_output(void) {
    output[0] = '\0';
    const char *line;
    for (size_t size = 0; (line = ki_process_line(&program)); size = strlen(output))
        snprintf(output + size, sizeof output - size, "%s\n", line);
}

/* The doctor with these words and the server's URL; gives its exit status, and what it printed in `output`. */
static int ask(const char *words, const char *url) {
    static char text[1024];
    const char *argv[24] = { KI_TEST_PROGRAM, "doctor", "--server", url };
    const char *const environment[] = { "KUBECONFIG=/dev/null", "NO_COLOR=1", NULL };
    size_t count = url ? 4 : 2;
    ki_process_free(&program);
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[count++] = word;
    argv[count] = NULL;
    assert_true(ki_process_start(&program, argv, environment, true));
    read_output();
    return ki_process_wait(&program);
}

static void assert_prints(const char *text) {
    if (!strstr(output, text))
        fail_msg("'%s' is not in\n%s", text, output);
}

/* "✘ TCP connection …": the line of a step, with its mark. */
static void assert_step(const char *mark, const char *title) {
    char beginning[64];
    snprintf(beginning, sizeof beginning, "%s %s ", mark, title);
    assert_prints(beginning);
}
#define WELL "\342\234\224"
#define FAILED "\342\234\230"

DOCTOR_TEST(a_good_way_has_a_tick_at_each_step) {
    static const char *const titles[] = { "configuration", "name resolution", "TCP connection", "TLS",
                                          "credentials",   "server version",  "may list",       "may watch",
                                          "list",          "streaming list",  "bookmarks" };
    serve_tls(TLS "server.pem", TLS "server.key");
    int status = ask("pods -A --token janes --certificate-authority " TLS "ca.pem", ki_testing_server_url(server));
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        assert_step(WELL, titles[i]);
    assert_prints("jane, groups [\"readers\"");
    assert_prints("allowed: list pods in all namespaces");
    assert_prints(" pods in all namespaces, ");
    assert_prints("first byte after ");
    assert_prints("issued by ");
    assert_int_equal(status, 0);
}

DOCTOR_TEST(what_an_informer_would_be_asked_for_is_looked_at) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 40, .nodes = 3));
    static const struct {
        const char *words, *prints;
    } rows[] = {
        { "nodes --field-selector metadata.name=" NODE_1, "  1 nodes, " },
        { "nodes --field-selector metadata.name!=" NODE_1, "  2 nodes, " },
        { "nodes -l kubernetes.io/hostname=" NODE_2, "  1 nodes, " },
        { "nodes -l !kubernetes.io/hostname --field-selector metadata.name=" NODE_1, "  0 nodes, " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(ask(rows[i].words, ki_testing_server_url(server)), 0);
        assert_prints(rows[i].prints);
    }
    assert_int_equal(ask("nodes --field-selector spec.nowhere=x", ki_testing_server_url(server)), 1);
    assert_prints("field label not supported: spec.nowhere");
}

DOCTOR_TEST(a_namespace_that_does_not_exist_is_a_warning) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 10));
    assert_int_equal(ask("pods -n nosuch", ki_testing_server_url(server)), 0);
    assert_step("!", "list");
    assert_prints("there is no namespace nosuch: check -n, or use -A for all namespaces");
    assert_prints("with 1 warning");
    assert_int_equal(ask("configmaps -n default", ki_testing_server_url(server)), 0);
    assert_null(strstr(output, "there is no namespace"));
}

DOCTOR_TEST(a_closed_port_is_reported_at_tcp_and_all_after_it_is_left_out) {
    int status = ask("", "http://127.0.0.1:1");
    assert_step(WELL, "configuration");
    assert_step(FAILED, "TCP connection");
    assert_prints("refused");
    assert_step("-", "credentials");
    assert_step("-", "bookmarks");
    assert_prints("failed: TCP connection; fix this step first");
    assert_int_equal(status, 3);
}

DOCTOR_TEST(a_name_that_does_not_exist_is_reported_at_name_resolution) {
    assert_int_equal(ask("--timeout 60s", "https://no-such-host.invalid"), 3);
    assert_step(FAILED, "name resolution");
    assert_step("-", "TCP connection");
}

DOCTOR_TEST(a_wrong_token_is_reported_at_credentials_and_never_printed) {
    serve_tls(TLS "server.pem", TLS "server.key");
    int status = ask("--token a-wrong-secret --certificate-authority " TLS "ca.pem", ki_testing_server_url(server));
    assert_step(WELL, "TLS");
    assert_step(FAILED, "credentials");
    assert_step("-", "may list"); /* there is no server to ask */
    assert_prints("the token is wrong or has expired");
    assert_null(strstr(output, "a-wrong-secret"));
    assert_int_equal(status, 3);
}

DOCTOR_TEST(a_missing_permission_is_reported_with_who_may_grant_it) {
    serve_tls(TLS "server.pem", TLS "server.key");
    int status = ask("pods -n shop --token joes --certificate-authority " TLS "ca.pem", ki_testing_server_url(server));
    assert_step(WELL, "credentials");
    assert_step(FAILED, "may list");
    assert_step(FAILED, "may watch");
    assert_prints("not allowed: list pods in namespace shop");
    assert_prints("kubectl create role NAME --verb=list,watch --resource=pods -n shop; "
                  "kubectl create rolebinding NAME --role=NAME --user=joe -n shop\n");
    assert_step("-", "list");
    assert_int_equal(status, 1);
}

/* The role `view` has neither secrets nor nodes nor custom resources. */
DOCTOR_TEST(the_role_to_be_granted_names_the_resource_with_its_group) {
    serve_tls(TLS "server.pem", TLS "server.key");
    const char *url = ki_testing_server_url(server);
    assert_int_equal(ask("nodes --token joes --certificate-authority " TLS "ca.pem", url), 1);
    assert_prints("kubectl create clusterrole NAME --verb=list,watch --resource=nodes; "
                  "kubectl create clusterrolebinding NAME --clusterrole=NAME --user=joe\n");
    assert_int_equal(ask("deployments -A --token joes --certificate-authority " TLS "ca.pem", url), 1);
    assert_prints(" --resource=deployments.apps; ");
}

/* It is for a shell: what somebody is called must not be able to do more than to be a name there. */
DOCTOR_TEST(a_user_whose_name_says_something_to_a_shell_is_not_part_of_the_remedy) {
    serve_tls(TLS "server.pem", TLS "server.key");
    assert_int_equal(ki_testing_server_add_token(server, "token=odds,user=$(odd)", NULL), KI_OK);
    assert_int_equal(ask("--token odds --certificate-authority " TLS "ca.pem", ki_testing_server_url(server)), 1);
    assert_prints("$(odd), groups [");
    assert_prints(" --user=USER ");
}

DOCTOR_TEST(certificates_that_are_not_accepted_are_reported_with_the_cause) {
    serve_tls(TLS "expired.pem", TLS "expired.key");
    assert_int_equal(ask("--token janes --certificate-authority " TLS "ca.pem", ki_testing_server_url(server)), 3);
    assert_step(WELL, "TCP connection");
    assert_step(FAILED, "TLS");
    assert_prints("renew the server's certificate, which expired ");

    serve_tls(TLS "server.pem", TLS "server.key");
    assert_int_equal(ask("--token janes --certificate-authority " TLS "other-ca.pem", ki_testing_server_url(server)),
                     3);
    assert_step(FAILED, "TLS");
    assert_prints("set certificate-authority to the certificate of its issuer");

    assert_int_equal(ask("--token janes --tls-server-name other.example.com --certificate-authority " TLS "ca.pem",
                         ki_testing_server_url(server)),
                     3);
    assert_step(FAILED, "TLS");
    assert_prints("use a name in the certificate");
}

/* A kubeconfig for the server, whose user has this client certificate. */
static void write_kubeconfig(const char *certificate, const char *key, const char *more) {
    char text[2048];
    snprintf(text, sizeof text,
             "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
             "clusters: [{name: c, cluster: {server: '%s', insecure-skip-tls-verify: true}}]\n"
             "users: [{name: u, user: {client-certificate: %s, client-key: %s%s}}]\n"
             "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
             ki_testing_server_url(server), certificate, key, more);
    folder_write("config", text);
}

/* A certificate from the server's CA for jane, in the files jane.pem and jane.key. */
static void issue(int64_t seconds) {
    ki_testing_text pem = KI_TESTING_TEXT_INIT, key = KI_TESTING_TEXT_INIT;
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_issue_certificate(server, "jane", NULL, seconds, &pem, &key, &err))
        fail_msg("%s", ki_error_message(&err));
    folder_write("jane.pem", pem.data);
    folder_write("jane.key", key.data);
    ki_testing_text_clear(&pem);
    ki_testing_text_clear(&key);
}

static int ask_with_kubeconfig(const char *words) {
    char text[300];
    snprintf(text, sizeof text, "--kubeconfig %s %s", folder_file("config"), words);
    return ask(text, NULL);
}

static int tear_down_with_folder(void **state) {
    (void)folder_close(state);
    return tear_down(state);
}

#define CERTIFICATE_TEST(name) TEST_WITH(folder_open, tear_down_with_folder, name)

CERTIFICATE_TEST(a_client_certificate_that_is_not_valid_is_reported_with_its_date) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 4, .tls = true));
    write_kubeconfig(TLS "expired.pem", TLS "expired.key", "");
    assert_int_equal(ask_with_kubeconfig(""), 3);
    assert_step(FAILED, "credentials");
    assert_prints("/expired.pem expired on 2001-01-02T00:00:00Z");
    assert_prints("get a new client certificate, or fix this machine's clock");
    assert_step("-", "may list");

    write_kubeconfig(TLS "later.pem", TLS "later.key", "");
    assert_int_equal(ask_with_kubeconfig(""), 3);
    assert_step(FAILED, "credentials");
    assert_prints("/later.pem is not valid before 2100-01-01T00:00:00Z");

    issue(-1); /* of this server's CA */
    write_kubeconfig(folder_file("jane.pem"), folder_file("jane.key"), "");
    assert_int_equal(ask_with_kubeconfig(""), 3);
    assert_prints("/jane.pem expired on 20");
}

CERTIFICATE_TEST(a_client_certificate_that_expires_soon_is_a_warning) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 4, .tls = true));
    issue((int64_t)6 * 24 * 3600);
    write_kubeconfig(folder_file("jane.pem"), folder_file("jane.key"), "");
    assert_int_equal(ask_with_kubeconfig(""), 0);
    assert_step("!", "credentials");
    assert_prints("/jane.pem expires on 20");
    issue((int64_t)8 * 24 * 3600);
    assert_int_equal(ask_with_kubeconfig(""), 0);
    assert_step(WELL, "credentials");
    assert_null(strstr(output, " expires on "));
}

/* The token is enough for the server. */
CERTIFICATE_TEST(a_client_certificate_that_is_not_valid_beside_a_valid_token_is_a_warning) {
    serve_tls(TLS "server.pem", TLS "server.key");
    write_kubeconfig(TLS "expired.pem", TLS "expired.key", ", token: janes");
    assert_int_equal(ask_with_kubeconfig("-A"), 0);
    assert_step("!", "credentials");
    assert_prints("fix this machine's clock");
    assert_prints("/expired.pem expired on 2001-01-02T00:00:00Z");
}

/* A server that ends the handshake without a valid client certificate looks like one that cannot be reached. */
CERTIFICATE_TEST(a_client_certificate_is_checked_without_a_connection_too) {
    folder_write("config",
                 "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                 "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
                 "users: [{name: u, user: {client-certificate: " TLS "expired.pem, client-key: " TLS "expired.key}}]\n"
                 "contexts: [{name: c, context: {cluster: c, user: u}}]\n");
    assert_int_equal(ask_with_kubeconfig(""), 3);
    assert_step(FAILED, "TCP connection");
    assert_step(FAILED, "credentials");
    assert_prints("/expired.pem expired on 2001-01-02T00:00:00Z");
    assert_prints("failed: TCP connection; fix this step first");
}

DOCTOR_TEST(a_resource_that_is_not_there_is_reported_at_the_list) {
    serve(NULL);
    assert_int_equal(ask("foos.example.com", ki_testing_server_url(server)), 1);
    assert_step("-", "may list");
    assert_step(FAILED, "list");
    assert_prints("foos.example.com");
    assert_int_equal(ask("pdos", ki_testing_server_url(server)), 1);
    assert_step(FAILED, "list");
    assert_prints("pods");
}

DOCTOR_TEST(a_discovery_that_is_forbidden_is_reported_with_the_role_that_allows_it) {
    serve(NULL);
    assert_int_equal(ki_testing_server_add_fault(server, "status,code=403,path=/apis", NULL, NULL), KI_OK);
    (void)ask("foos.example.com", ki_testing_server_url(server));
    assert_step(FAILED, "list");
    assert_prints("discovery: GET /apis: forbidden");
    assert_prints("bind the ClusterRole system:discovery to the user");
}

DOCTOR_TEST(a_list_that_is_not_there_is_reported_with_what_to_install) {
    serve(NULL);
    assert_int_equal(ki_testing_server_add_fault(server, "status,code=404,verb=list,resource=configmaps", NULL, NULL),
                     KI_OK);
    (void)ask("configmaps", ki_testing_server_url(server));
    assert_step(FAILED, "list");
    assert_prints("install its definition, or use another version");
}

DOCTOR_TEST(a_custom_resource_is_found_by_any_of_its_names) {
    static const char crd[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
        "\"names\":{\"plural\":\"foos\",\"singular\":\"foo\",\"kind\":\"Foo\",\"shortNames\":[\"fo\"]},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
    static const char *const words[] = { "foos", "fo", "Foo", "foos.example.com", "foos.v1.example.com" };
    ki_error err = KI_ERROR_INIT;
    serve(NULL);
    if (ki_testing_server_create(server, KI_CUSTOMRESOURCEDEFINITIONS, NULL, crd, sizeof crd - 1, &err))
        fail_msg("%s", ki_error_message(&err));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(ask(words[i], ki_testing_server_url(server)), 0);
        assert_step(WELL, "list");
        assert_prints("foos.example.com in namespace default");
    }
}

DOCTOR_TEST(a_server_without_streaming_lists_is_well_with_a_remark) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 10, .no_streaming_list = true));
    int status = ask("pods", ki_testing_server_url(server));
    assert_step("!", "streaming list");
    assert_prints("not supported by this server");
    assert_step(WELL, "bookmarks");
    assert_int_equal(status, 0);
}

DOCTOR_TEST(a_kubeconfig_that_is_wrong_is_reported_at_the_configuration) {
    int status = ask("--kubeconfig /nonexistent/kubeconfig", NULL);
    assert_step(FAILED, "configuration");
    assert_prints("/nonexistent/kubeconfig");
    assert_step("-", "name resolution");
    assert_int_equal(status, 3);
}

DOCTOR_TEST(what_does_not_speak_http_is_reported) {
    const raw_response response = { .text = "SSH-2.0-OpenSSH_9.2\r\n", .end = RAW_CLOSE };
    raw_server raw;
    char url[64];
    raw_server_start(&raw, &response, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", raw.port);
    int status = ask("", url);
    raw_server_stop(&raw);
    assert_step(WELL, "TCP connection");
    assert_step(FAILED, "HTTP");
    assert_prints("check that the address is a Kubernetes API server's");
    assert_int_equal(status, 3);
}

static int ask_raw_at(const char *scheme, const char *words, const raw_response *response) {
    raw_server raw;
    char url[64];
    raw_server_start(&raw, response, 1);
    snprintf(url, sizeof url, "%s://127.0.0.1:%d", scheme, raw.port);
    int status = ask(words, url);
    raw_server_stop(&raw);
    return status;
}

static int ask_raw(const char *words, const raw_response *response) {
    return ask_raw_at("http", words, response);
}

/* A server that sends 200 and an HTML page for each request. */
DOCTOR_TEST(a_login_page_is_not_taken_for_a_server_that_forbids) {
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\nConnection: close\r\n\r\n<html></html>",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnull",
        ("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 13\r\nConnection: close\r\n"
         "\r\n<html></html>"),
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int status = ask_raw("", &(raw_response){ .text = texts[i], .end = RAW_CLOSE });
        assert_step(WELL, "HTTP");
        assert_step(FAILED, "credentials");
        assert_prints("not a Kubernetes API server: ");
        assert_prints("check that the address is a Kubernetes API server's, not a proxy's or a login page's");
        assert_step("-", "may list");
        assert_null(strstr(output, "not allowed"));
        assert_int_equal(status, 3);
    }
}

#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"

DOCTOR_TEST(a_group_that_cannot_be_discovered_is_reported_with_the_cause) {
    static const raw_response discovery = {
        JSON "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
             "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\",\"freshness\":"
             "\"Stale\"}]}]}",
        0, RAW_CLOSE
    };
    const raw_response version = { JSON "{\"gitVersion\":\"v1.37.2\"}", 0, RAW_CLOSE };
    const raw_response responses[] = {
        version, /* HTTP */
        { "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 110\r\n\r\n"
          "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/"
          "v1\",\"status\":{\"userInfo\":{\"username\":\"jane\"}}}",
          0, RAW_KEEP }, /* the server reads the body with the next head */
        version,
        discovery,
        discovery,
        { "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
          "service unavailable\n",
          0, RAW_CLOSE },
    };
    raw_server raw;
    char url[64];
    raw_server_start(&raw, responses, sizeof responses / sizeof responses[0]);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", raw.port);
    int status = ask("pods.metrics.k8s.io", url);
    raw_server_stop(&raw);
    assert_step(FAILED, "list");
    assert_prints("could not read the resources of metrics.k8s.io/v1beta1, which can have \"pods.metrics.k8s.io\": ");
    assert_prints(": HTTP 503: service unavailable");
    assert_prints("kubectl get apiservice v1beta1.metrics.k8s.io");
    assert_int_equal(status, 1);
}

/* Returns the whole milliseconds that the step is said to have taken. */
static long milliseconds_of(const char *mark, const char *step) {
    char begin[64];
    snprintf(begin, sizeof begin, "%s %s ", mark, step);
    const char *line = strstr(output, begin);
    assert_non_null(line);
    return strtol(line + strlen(begin), NULL, 10);
}

DOCTOR_TEST(a_server_that_never_responds_is_reported) {
    int status = ask_raw("--timeout 1s", &(raw_response){ .text = "", .end = RAW_SILENT });
    assert_step(WELL, "TCP connection");
    assert_step(FAILED, "HTTP");
    assert_prints(": no response within 1000 ms");
    assert_true(milliseconds_of(FAILED, "HTTP") >= 990);
    assert_int_equal(status, 3);
    /* it waits for the end of a head that a handshake does not have */
    status = ask_raw_at("https", "--timeout 1s --certificate-authority " TLS "ca.pem",
                        &(raw_response){ .text = "", .end = RAW_SILENT });
    assert_step(WELL, "TCP connection");
    assert_step(FAILED, "TLS");
    assert_prints(": no TLS handshake within 1000 ms");
    assert_true(milliseconds_of(FAILED, "TLS") >= 900);
    assert_int_equal(status, 3);
}

/* With one of these limits there is one for the loop, and none for a connection. */
DOCTOR_TEST(descriptors_that_run_out_are_not_the_servers_fault) {
    const char *const environment[] = { "KUBECONFIG=/dev/null", "NO_COLOR=1", NULL };
    bool is_told = false;
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 1));
    for (int limit = 4; limit < 12; limit++) {
        char line[512];
        snprintf(line, sizeof line, "ulimit -n %d; exec %s doctor --server %s", limit, KI_TEST_PROGRAM,
                 ki_testing_server_url(server));
        const char *const argv[] = { "/bin/sh", "-c", line, NULL };
        ki_process_free(&program);
        assert_true(ki_process_start(&program, argv, environment, true));
        read_output();
        (void)ki_process_wait(&program);
        assert_null(strstr(output, "check the address"));
        is_told = is_told || (strstr(output, "Too many open files") && strstr(output, "(ulimit -n)"));
    }
    assert_true(is_told);
}

DOCTOR_TEST(a_response_without_end_is_a_response) {
    (void)ask_raw("--timeout 1s", &(raw_response){ .text = "HTTP/1.1 200 OK\r\n\r\n", .end = RAW_ENDLESS });
    assert_step(WELL, "HTTP");
    assert_step(FAILED, "credentials");
}

DOCTOR_TEST(an_http_address_of_an_https_server_is_reported_at_http) {
    serve_tls(TLS "server.pem", TLS "server.key");
    char url[64];
    snprintf(url, sizeof url, "http%s", ki_testing_server_url(server) + strlen("https"));
    assert_int_equal(ask("", url), 3);
    assert_step(FAILED, "HTTP");
    assert_prints("most use https://");
}

/* As Go's servers say it. */
DOCTOR_TEST(an_https_server_that_responds_in_http_is_reported_at_http) {
    (void)ask_raw("--timeout 1s",
                  &(raw_response){ .text = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request "
                                           "to an HTTPS server.\n",
                                   .end = RAW_CLOSE });
    assert_step("!", "HTTP");
    assert_prints("most API servers use");
}

DOCTOR_TEST(json_has_each_step_once_and_in_order) {
    serve_tls(TLS "server.pem", TLS "server.key");
    int status =
        ask("pods -A -o json --token joes --certificate-authority " TLS "ca.pem", ki_testing_server_url(server));
    yyjson_doc *doc = yyjson_read(output, strlen(output), 0);
    assert_non_null(doc);
    yyjson_val *checks = yyjson_obj_get(yyjson_doc_get_root(doc), "checks");
    assert_int_equal(yyjson_arr_size(checks), KI_CHECK_STEPS);
    for (size_t i = 0; i < KI_CHECK_STEPS; i++) {
        yyjson_val *check = yyjson_arr_get(checks, i);
        assert_string_equal(yyjson_get_str(yyjson_obj_get(check, "step")), ki_check_step_name((ki_check_step)i));
        assert_non_null(yyjson_get_str(yyjson_obj_get(check, "finding")));
    }
    assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_arr_get(checks, KI_CHECK_MAY_LIST), "result")), "failed");
    assert_false(yyjson_get_bool(yyjson_obj_get(yyjson_doc_get_root(doc), "ok")));
    assert_int_equal(status, 1);
    yyjson_doc_free(doc);
}

DOCTOR_TEST(wrong_arguments_of_doctor_are_usage_errors) {
    assert_int_equal(ask("pods,nodes", "http://127.0.0.1:1"), 2);
    assert_int_equal(ask("pods -o yaml", "http://127.0.0.1:1"), 2);
    assert_int_equal(ask("pods/web", "http://127.0.0.1:1"), 2);
}

static void count_step(const ki_check *check, void *user) {
    unsigned *steps = user;
    assert_int_equal(check->step, *steps);
    ++*steps;
}

DOCTOR_TEST(memory_that_runs_out_at_any_allocation_is_an_error_or_a_finding) {
    serve(&KI_TESTING_SERVER_OPTIONS(.pods = 5));
    bool has_failed = true;
    for (size_t allowed = 0; has_failed; allowed++) {
        scarce_memory memory;
        scarce_memory_init(&memory, allowed);
        unsigned steps = 0;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_checkup(
            &KI_CHECKUP_OPTIONS(.config = &KI_CONFIG_OPTIONS(.allocator = &memory.allocator, .kubeconfig = "/dev/null",
                                                             .server = ki_testing_server_url(server))),
            count_step, &steps, &err);
        has_failed = scarce_memory_failed(&memory);
        if (status)
            assert_int_equal(status, KI_ERR_NO_MEMORY);
        else
            assert_int_equal(steps, KI_CHECK_STEPS);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

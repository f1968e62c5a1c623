/* test_connecting.c: who the transport says we are, by which way, and what it does when that changes: over real sockets
 * and TLS. */

#include "src/auth/config.h"
#include "src/auth/credentials.h"
#include "src/base/memory.h"
#include "src/engine/thread.h"
#include "src/transport/curl.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/h2_refuser.h"
#include "tests/support/raw_server.h"
#include "tests/support/test.h"

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TLS_FILE(name) KI_TEST_DATA_DIR "/tls/" name

/* --- a server that sends scripted responses ----------------------------------------------------------------------- */

typedef struct tls_server {
    struct MHD_Daemon *daemon;
    char *certificate, *key;
    int port;
    const char *good_token; /* others get 401; NULL: all are good */
    _Atomic int requests, connections;
    bool is_endless; /* responses never end */
    char *client_ca; /* clients must show a certificate that it signed; NULL: need not */
} tls_server;

static enum MHD_Result say_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    char *text = user;
    size_t size = strlen(text);
    snprintf(text + size, 4096 - size, "%s: %s\n", name, value ? value : "");
    return MHD_YES;
}

static ssize_t nothing_yet(void *user, uint64_t at, char *data, size_t max) {
    (void)user, (void)max;
    if (at > 0)
        return 0; /* asked again later */
    *data = '\n';
    return 1;
}

static enum MHD_Result respond(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                               const char *version, const char *upload, size_t *upload_size, void **request) {
    (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
    tls_server *server = user;
    if (!*request) { /* the connection closes after this response */
        *request = server;
        return MHD_YES;
    }
    char text[4096] = "";
    server->requests++;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, say_header, text);
    const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    bool is_good = !server->good_token || (said && strcmp(said, server->good_token) == 0);
    struct MHD_Response *response =
        is_good && server->is_endless ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64, nothing_yet, NULL, NULL)
                                      : MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_queue_response(connection, is_good ? 200 : 401, response);
    MHD_destroy_response(response);
    return result;
}

/* Verifies the client's certificate. On failure the daemon closes the connection without an alert, so this sends the
 * alert, and waits until the client has closed: a connection that is closed with an unread request in it is reset, and
 * the alert lost. */
static int verify_client(gnutls_session_t session) {
    unsigned problems = 0;
    if (gnutls_certificate_verify_peers2(session, &problems) == GNUTLS_E_SUCCESS && problems == 0)
        return 0;
    gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE);
    char unread[4096];
    struct pollfd client = { .fd = gnutls_transport_get_int(session), .events = POLLIN };
    while (poll(&client, 1, -1) == 1 && recv(client.fd, unread, sizeof unread, 0) > 0) {}
    return GNUTLS_E_CERTIFICATE_ERROR;
}

static void begin_connection(void *user, struct MHD_Connection *connection, void **own,
                             enum MHD_ConnectionNotificationCode what) {
    (void)own;
    tls_server *server = user;
    if (what != MHD_CONNECTION_NOTIFY_STARTED)
        return;
    server->connections++;
    if (!server->client_ca)
        return;
    gnutls_session_t session = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_session_set_verify_function(session, verify_client);
}

static void serve(tls_server *server) {
    server->certificate = fixture_read(TLS_FILE("server.pem"), NULL);
    server->key = fixture_read(TLS_FILE("server.key"), NULL);
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL, respond, server, MHD_OPTION_HTTPS_MEM_CERT,
        server->certificate, MHD_OPTION_HTTPS_MEM_KEY, server->key, MHD_OPTION_NOTIFY_CONNECTION, begin_connection,
        server, server->client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, server->client_ca, MHD_OPTION_END);
    assert_non_null(server->daemon);
    server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

static void stop(tls_server *server) {
    MHD_stop_daemon(server->daemon);
    free(server->certificate);
    free(server->key);
    free(server->client_ca);
}

/* --- the client --------------------------------------------------------------------------------------------------- */

typedef struct client {
    ki_engine *engine;
    ki_config *config; /* the transport shares it */
    ki_transport *transport;
    int64_t skipped_ns; /* the engine's clock is ahead by this */
} client;

typedef struct outcome {
    ki_exchange *exchange;
    int status;
    char body[4096];
    size_t size;
    ki_error end;
} outcome;

static void put(ki_secret *secret, const char *text) {
    assert_int_equal(ki_secret_set(&ki_allocator_default, secret, ki_str_of(text), NULL), KI_OK);
}

static void put_file(ki_secret *secret, const char *path) {
    assert_int_equal(ki_secret_read_file(&ki_allocator_default, path, "file", secret, NULL), KI_OK);
}

static void copy_file(const char *from, const char *name) {
    char *text = fixture_read(from, NULL);
    folder_write(name, text);
    free(text);
}

/* A config of a server at `host`, to be added to before open_client. */
static void begin(client *self, const char *scheme, const char *host, int port) {
    memset(self, 0, sizeof *self);
    self->config = ki_alloc_zero(&ki_allocator_default, sizeof *self->config);
    assert_non_null(self->config);
    self->config->allocator = ki_allocator_default;
    char server[128];
    snprintf(server, sizeof server, "%s://%s:%d", scheme, host, port);
    put(&self->config->server, server);
    put(&self->config->user_agent, "the-program/1.0");
    if (strcmp(scheme, "https") == 0)
        put_file(&self->config->ca, TLS_FILE("ca.pem"));
}

static int64_t read_clock(void *user) {
    return ki_monotonic_now() + ((const client *)user)->skipped_ns;
}

static void open_client(client *self) {
    const ki_clock clock = { .now = read_clock, .user = self };
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .seed = 1), &self->engine, NULL), KI_OK);
    assert_int_equal(ki_curl_transport_new(self->engine, self->config, &self->transport, NULL), KI_OK);
    ki_config_free(self->config); /* the transport goes on with it */
}

static void close_client(client *self) {
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
}

static void on_head(const ki_response_head *head, void *user) {
    ((outcome *)user)->status = head->status;
}

static void on_data(const char *data, size_t size, void *user) {
    outcome *one = user;
    if (one->size + size < sizeof one->body) {
        memcpy(one->body + one->size, data, size);
        one->size += size;
    }
}

static void on_end(const ki_error *err, void *user) {
    outcome *one = user;
    one->exchange = NULL;
    if (err)
        one->end = *err;
}

static void send_request(client *self, outcome *one, const ki_request *request) {
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = one };
    memset(one, 0, sizeof *one);
    assert_int_equal(ki_transport_send(self->transport, request, &sink, &one->exchange, NULL), KI_OK);
}

static void step(client *self) {
    struct pollfd descriptor = { .fd = ki_engine_fd(self->engine), .events = POLLIN };
    poll(&descriptor, 1, ki_engine_timeout(self->engine));
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

static void get(client *self, outcome *one) {
    send_request(self, one, &(ki_request){ .method = "GET", .target = "/x" });
    while (one->exchange)
        step(self);
}

static void must_say(const outcome *one, const char *line) {
    if (one->status != 200 || !strstr(one->body, line))
        fail_msg("%d %s\nwithout %s: %s", one->status, one->end.message, line, one->body);
}

/* --- who we are --------------------------------------------------------------------------------------------------- */

TEST(whom_to_act_as_is_said_with_every_request) {
    tls_server server = { 0 };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    put(&self.config->username, "me");
    put(&self.config->password, "word");
    put(&self.config->impersonate_user, "somebody");
    put(&self.config->impersonate_uid, "u-1");
    self.config->impersonate_groups.items = ki_alloc_zero(&ki_allocator_default, 2 * sizeof(ki_secret));
    self.config->impersonate_groups.count = 2;
    put(&self.config->impersonate_groups.items[0], "one");
    put(&self.config->impersonate_groups.items[1], "two");
    static const struct {
        const char *name, *value, *header;
    } extra[] = {
        { "example.com/a b%", "value", "Impersonate-Extra-example.com%2Fa%20b%25: value\n" },
        { "\xc3\xa9", "", "Impersonate-Extra-%C3%A9: \n" },
        { "first", "A", "Impersonate-Extra-first: A\n" },
        { "first", "a", "Impersonate-Extra-first: a\n" },
        { "almost%zzpercent%xx", "x", "Impersonate-Extra-almost%25zzpercent%25xx: x\n" },
        { "a%20b/c%2fd", "x", "Impersonate-Extra-a%2520b%2Fc%252fd: x\n" },
        { "abc123!#$+.-_*\\^`~|'", "x", "Impersonate-Extra-abc123!#$+.-_*%5C^`~|': x\n" },
        { "@=:", "x", "Impersonate-Extra-%40%3D%3A: x\n" },
    };
    const size_t extra_count = sizeof extra / sizeof *extra;
    self.config->impersonate_extra.items = ki_alloc_zero(&ki_allocator_default, extra_count * sizeof(ki_secret_pair));
    self.config->impersonate_extra.count = extra_count;
    for (size_t i = 0; i < extra_count; i++) {
        put(&self.config->impersonate_extra.items[i].name, extra[i].name);
        put(&self.config->impersonate_extra.items[i].value, extra[i].value);
    }
    open_client(&self);
    outcome one;
    get(&self, &one);
    must_say(&one, "Authorization: Basic bWU6d29yZA==\n");
    must_say(&one, "User-Agent: the-program/1.0\n");
    must_say(&one, "Impersonate-User: somebody\n");
    must_say(&one, "Impersonate-Uid: u-1\n");
    must_say(&one, "Impersonate-Group: one\n");
    must_say(&one, "Impersonate-Group: two\n");
    for (size_t i = 0; i < extra_count; i++)
        must_say(&one, extra[i].header);
    close_client(&self);
    stop(&server);
}

TEST(a_name_that_is_no_header_value_is_rejected) {
    client self;
    begin(&self, "http", "127.0.0.1", 1);
    put(&self.config->impersonate_user, "somebody\r\nImpersonate-Group: system:masters");
    open_client(&self);
    outcome one = { 0 };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = &one };
    assert_int_equal(
        ki_transport_send(self.transport, &(ki_request){ .method = "GET", .target = "/x" }, &sink, &one.exchange, NULL),
        KI_ERR_INVALID);
    close_client(&self);
}

TEST(a_401_is_reported_and_the_next_request_has_the_new_token) {
    tls_server server = { .good_token = "Bearer new" };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    const char *path = folder_file("token");
    folder_write("token", "new\n");
    put(&self.config->token, "old");
    put(&self.config->token_file, path);
    open_client(&self);
    outcome one;
    get(&self, &one);
    assert_int_equal(one.status, 401);
    get(&self, &one);
    must_say(&one, "Authorization: Bearer new\n");
    assert_int_equal(server.requests, 2);
    assert_int_equal(server.connections, 1);
    close_client(&self);
    stop(&server);
}

TEST(requests_wait_for_the_plugin_and_share_it) {
    tls_server server = { 0 };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    char script[512];
    const char *path = folder_file("plugin");
    snprintf(script, sizeof script,
             "#!/bin/sh\necho run >>%s/runs\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":"
             "\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"given\"}}'\n",
             folder_path());
    folder_write("plugin", script);
    chmod(path, 0700);
    put(&self.config->exec.api_version, "client.authentication.k8s.io/v1beta1");
    put(&self.config->exec.command, path);
    open_client(&self);
    outcome all[5];
    for (size_t i = 0; i < 5; i++)
        send_request(&self, &all[i], &(ki_request){ .method = "GET", .target = "/x" });
    ki_transport_cancel(self.transport, all[4].exchange); /* while it waits */
    for (size_t i = 0; i < 4; i++) {
        while (all[i].exchange)
            step(&self);
        must_say(&all[i], "Authorization: Bearer given\n");
    }
    assert_int_equal(all[4].status, 0);
    close_client(&self);
    stop(&server);
    char *runs = fixture_read(folder_file("runs"), NULL);
    assert_string_equal(runs, "run\n");
    free(runs);
    unlink(path);
}

TEST(a_deadline_that_passes_while_a_plugin_runs_names_the_plugin) {
    client self;
    begin(&self, "https", "127.0.0.1", raw_server_free_port());
    put(&self.config->exec.api_version, "client.authentication.k8s.io/v1");
    put(&self.config->exec.command, "sleep");
    assert_int_equal(ki_secret_list_append(&ki_allocator_default, &self.config->exec.arguments, KI_STR("1000"), NULL),
                     KI_OK);
    open_client(&self);
    outcome one;
    send_request(&self, &one, &(ki_request){ .method = "GET", .target = "/x", .total_timeout_ns = KI_MILLISECONDS(1) });
    while (one.exchange)
        step(&self);
    assert_int_equal(one.end.code, KI_ERR_TIMEOUT);
    assert_non_null(
        strstr(one.end.message, "timed out before the request was sent: exec plugin sleep has not ended yet"));
    close_client(&self);
}

TEST(a_plugin_that_fails_is_what_the_request_ends_with) {
    client self;
    begin(&self, "https", "127.0.0.1", raw_server_free_port());
    put(&self.config->exec.api_version, "client.authentication.k8s.io/v1");
    put(&self.config->exec.command, "false");
    open_client(&self);
    outcome one;
    get(&self, &one);
    assert_string_equal(one.end.message,
                        "exec plugin false: it failed with exit status 1; check users.user.exec of the kubeconfig");
    assert_int_equal(one.end.category, KI_CATEGORY_CREDENTIALS);
    send_request(&self, &one, &(ki_request){ .method = "GET", .target = "/x" });
    close_client(&self); /* with one that waits */
}

/* --- certificates ------------------------------------------------------------------------------------------------- */

TEST(another_name_is_verified_where_it_is_asked_for) {
    tls_server server = { 0 };
    serve(&server);
    static const struct {
        const char *name;
        bool is_good;
    } cases[] = { { NULL, false }, { "localhost", true }, { "127.0.0.1", true }, { "elsewhere", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client self;
        begin(&self, "https", "127.0.0.2", server.port); /* which its certificate does not have */
        if (cases[i].name)
            put(&self.config->tls_server_name, cases[i].name);
        open_client(&self);
        outcome one;
        get(&self, &one);
        if (cases[i].is_good) {
            char host[64];
            snprintf(host, sizeof host, "Host: 127.0.0.2:%d\n", server.port);
            must_say(&one, host);
        } else {
            assert_int_equal(one.end.code, KI_ERR_TLS);
            assert_non_null(strstr(one.end.message, "tls-server-name"));
        }
        close_client(&self);
    }
    stop(&server);
}

TEST(without_names_the_chain_is_verified_all_the_same) {
    tls_server server = { 0 };
    serve(&server);
    static const char *const authorities[] = { TLS_FILE("ca.pem"), TLS_FILE("other-ca.pem") };
    for (size_t i = 0; i < 2; i++) {
        client self;
        begin(&self, "https", "127.0.0.2", server.port); /* which its certificate does not have */
        self.config->insecure_skip_tls_name_verify = true;
        put_file(&self.config->ca, authorities[i]);
        open_client(&self);
        outcome one;
        get(&self, &one);
        assert_int_equal(one.end.code, i == 0 ? KI_OK : KI_ERR_TLS);
        close_client(&self);
    }
    stop(&server);
}

TEST(a_garbled_certificate_does_not_spoil_the_authority) {
    tls_server server = { 0 };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    char *good = fixture_read(TLS_FILE("ca.pem"), NULL), *other = fixture_read(TLS_FILE("other-ca.pem"), NULL);
    char bundle[16384];
    snprintf(bundle, sizeof bundle, "%s-----BEGIN CERTIFICATE-----\nMIIBgarbage\n-----END CERTIFICATE-----\n%s", other,
             good);
    put(&self.config->ca, bundle);
    open_client(&self);
    outcome one;
    get(&self, &one);
    assert_int_equal(one.status, 200);
    close_client(&self);
    free(good);
    free(other);
    stop(&server);
}

/* libcurl would ask for a password, or fall over the missing one. */
TEST(a_key_of_no_use_is_reported_in_words_and_no_password_is_asked_for) {
    static const char *const keys[] = { TLS_FILE("encrypted.key"), TLS_FILE("encrypted-old.key"),
                                        TLS_FILE("server.key") /* of another certificate */ };
    tls_server server = { 0 };
    serve(&server);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        client self;
        begin(&self, "https", "127.0.0.1", server.port);
        put_file(&self.config->client_certificate, TLS_FILE("client.pem"));
        put_file(&self.config->client_key, keys[i]);
        open_client(&self);
        outcome one;
        get(&self, &one);
        if (one.end.code != KI_ERR_TLS || one.end.category != KI_CATEGORY_CREDENTIALS ||
            !strstr(one.end.message, "client-key is not the key of client-certificate, or has a password"))
            fail_msg("%s: %d %s", keys[i], (int)one.end.code, one.end.message);
        close_client(&self);
    }
    stop(&server);
}

/* The authority's file is another one: after a failed handshake it is looked at, and its connections, if any, are not
 * used on. */
TEST(a_new_authority_is_found_after_a_failed_handshake) {
    tls_server server = { 0 };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    const char *path = folder_file("ca");
    copy_file(TLS_FILE("other-ca.pem"), "ca");
    put_file(&self.config->ca, path);
    put(&self.config->ca_file, path);
    open_client(&self);
    outcome one;
    get(&self, &one);
    assert_int_equal(one.end.code, KI_ERR_TLS);
    copy_file(TLS_FILE("ca.pem"), "ca");
    self.skipped_ns += KI_SECONDS(KI_CERTIFICATE_RECHECK_S);
    get(&self, &one);
    assert_int_equal(one.status, 200);
    close_client(&self);
    stop(&server);
}

/* With TLS 1.3 the server refuses the certificate after the handshake is complete for the client (RFC 8446 §2, figure
 * 1). */
TEST(a_new_certificate_is_found_after_the_server_refused_the_old_one) {
    tls_server server = { .client_ca = fixture_read(TLS_FILE("ca.pem"), NULL) };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    const char *certificate = folder_file("client.pem"), *key = folder_file("client.key");
    copy_file(TLS_FILE("p384.pem"), "client.pem"); /* which nobody signed */
    copy_file(TLS_FILE("p384.key"), "client.key");
    put_file(&self.config->client_certificate, certificate);
    put(&self.config->client_certificate_file, certificate);
    put_file(&self.config->client_key, key);
    put(&self.config->client_key_file, key);
    open_client(&self);
    outcome one;
    get(&self, &one);
    assert_int_equal(one.end.code, KI_ERR_TLS);
    assert_int_equal(one.end.category, KI_CATEGORY_CREDENTIALS);
    assert_int_equal(server.requests, 0);
    copy_file(TLS_FILE("client.pem"), "client.pem");
    copy_file(TLS_FILE("client.key"), "client.key");
    self.skipped_ns += KI_SECONDS(KI_CERTIFICATE_RECHECK_S);
    get(&self, &one);
    assert_int_equal(one.status, 200);
    close_client(&self);
    stop(&server);
}

/* A watch that is open when certificates change is cut, to be resumed; what is no watch goes on to its end. */
TEST(a_watch_does_not_continue_with_old_certificates) {
    tls_server server = { .is_endless = true, .good_token = "Bearer t" };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    const char *path = folder_file("ca");
    copy_file(TLS_FILE("ca.pem"), "ca");
    put(&self.config->token, "t");
    put(&self.config->ca_file, path);
    open_client(&self);
    outcome watch, other, refused;
    send_request(&self, &watch, &(ki_request){ .method = "GET", .target = "/x", .endless = true });
    send_request(&self, &other, &(ki_request){ .method = "GET", .target = "/x" });
    while (watch.size == 0 || other.size == 0)
        step(&self);
    copy_file(TLS_FILE("other-ca.pem"), "ca");
    server.good_token = "Bearer other"; /* a 401 has everything looked at */
    do {
        if (watch.exchange)
            get(&self, &refused);
    } while (watch.exchange);
    assert_int_equal(watch.end.code, KI_ERR_UNEXPECTED_EOF);
    assert_non_null(strstr(watch.end.message, "certificates have changed"));
    assert_non_null(other.exchange);
    close_client(&self);
    stop(&server);
}

TEST(a_request_that_hangs_does_not_hold_up_the_next_one) {
    tls_server server = { .is_endless = true };
    serve(&server);
    client self;
    begin(&self, "https", "127.0.0.1", server.port);
    open_client(&self);
    outcome hung, next;
    send_request(&self, &hung, &(ki_request){ .method = "GET", .target = "/hang" });
    while (hung.size == 0)
        step(&self);
    server.is_endless = false;
    get(&self, &next);
    assert_int_equal(next.status, 200);
    get(&self, &next);
    assert_int_equal(next.status, 200);
    assert_int_equal(server.connections, 2);
    assert_non_null(hung.exchange);
    ki_transport_cancel(self.transport, hung.exchange);
    close_client(&self);
    stop(&server);
}

/* --- proxies ------------------------------------------------------------------------------------------------------ */

TEST(a_proxy_gets_its_own_credentials_and_not_the_servers) {
    const raw_response no = { "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 0, RAW_CLOSE };
    raw_server proxy;
    raw_server_start(&proxy, &no, 1);
    client self;
    begin(&self, "https", "there.example.com", 6443);
    char url[128];
    snprintf(url, sizeof url, "http://me:pass%%40word@c:d%%25@127.0.0.1:%d", proxy.port);
    put(&self.config->proxy_url, url);
    put(&self.config->token, "secret-token");
    put(&self.config->impersonate_user, "somebody");
    put(&self.config->tls_server_name, "other.example.com");
    open_client(&self);
    outcome one;
    get(&self, &one);
    close_client(&self);
    raw_server_stop(&proxy);
    assert_int_equal(strncmp(proxy.last_request, "CONNECT there.example.com:6443 HTTP/1.1\r\n", 41), 0);
    assert_non_null(strstr(proxy.last_request, "\r\nProxy-Authorization: Basic bWU6cGFzc0B3b3JkQGM6ZCU=\r\n"));
    assert_null(strstr(proxy.last_request, "\r\nAuthorization"));
    assert_null(strstr(proxy.last_request, "secret-token"));
    assert_null(strstr(proxy.last_request, "Impersonate"));
    assert_int_equal(one.end.code, KI_ERR_CONNECT);
    assert_non_null(strstr(one.end.message, "the proxy returned HTTP 403"));
    assert_null(strstr(one.end.message, "word"));
}

TEST(a_proxy_that_is_not_there_is_what_the_message_names) {
    static const char *const schemes[] = { "http", "https", "socks5" };
    int nobody = raw_server_free_port();
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        client self;
        begin(&self, "https", "there.invalid", 6443);
        char url[64], named[64];
        snprintf(url, sizeof url, "%s://me:secret@127.0.0.1:%d", schemes[i], nobody);
        snprintf(named, sizeof named, "the proxy failed: Failed to connect to 127.0.0.1 port %d", nobody);
        put(&self.config->proxy_url, url);
        open_client(&self);
        outcome one;
        get(&self, &one);
        close_client(&self);
        if (one.end.code != KI_ERR_CONNECT || !strstr(one.end.message, named) || strstr(one.end.message, "secret"))
            fail_msg("%s: %s", url, one.end.message);
    }
}

/* A proxy of another authority, or under another name. */
TEST(a_proxys_certificate_that_is_not_trusted_is_reported_as_the_proxys) {
    static const struct {
        const char *ca, *host, *says;
    } cases[] = {
        { TLS_FILE("other-ca.pem"), "127.0.0.1", "add its authority to certificate-authority" },
        { TLS_FILE("ca.pem"), "127.0.0.2", "use a name in the certificate in proxy-url" },
    };
    tls_server proxy = { 0 };
    serve(&proxy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client self;
        begin(&self, "https", "there.invalid", 6443);
        put_file(&self.config->ca, cases[i].ca);
        char url[64];
        snprintf(url, sizeof url, "https://%s:%d", cases[i].host, proxy.port);
        put(&self.config->proxy_url, url);
        open_client(&self);
        outcome one;
        get(&self, &one);
        close_client(&self);
        if (one.end.code != KI_ERR_TLS || !strstr(one.end.message, "the certificate of the proxy is not trusted") ||
            !strstr(one.end.message, cases[i].says))
            fail_msg("%s: %s", url, one.end.message);
    }
    stop(&proxy);
}

/* As in Go's crypto/x509/root_unix.go: the file replaces the system's file, the folders the system's folders, the
 * other one stays, and what is missing is skipped. */
TEST(the_environments_authorities_are_those_of_go) {
    copy_file(TLS_FILE("ca.pem"), "right/mine.crt");
    copy_file(TLS_FILE("other-ca.pem"), "wrong/other.crt");
    folder_write("empty/README", "no certificate");
    static const struct {
        const char *file, *folders;
        bool is_trusted;
    } cases[] = {
        { "", "", false },
        { "right/mine.crt", "", true },
        { "wrong/other.crt", "", false },
        { "missing.crt", "", false },
        { "empty", "", false },
        { "", "right", true }, /* no names by hash */
        { "", "missing", false },
        { "", "wrong:right", true },
        { "", "missing::wrong:right", true },
        { "", "wrong", false },
        { "missing.crt", "right", true },
        { "empty/README", "right", true },
        { "right/mine.crt", "wrong", true },
        { "right/mine.crt", "missing", true },
        { "wrong/other.crt", "empty", false },
    };
    tls_server server = { 0 };
    serve(&server);
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(folder_path()), 0);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        bool has_own = i % 2; /* the config's own authority: the environment does not matter */
        const char *file = cases[i / 2].file, *folders = cases[i / 2].folders;
        setenv("SSL_CERT_FILE", file, 1);
        setenv("SSL_CERT_DIR", folders, 1);
        client self;
        begin(&self, "https", "127.0.0.1", server.port);
        if (!has_own)
            ki_secret_clear(&ki_allocator_default, &self.config->ca);
        open_client(&self);
        outcome one;
        get(&self, &one);
        close_client(&self);
        if (one.end.code != (has_own || cases[i / 2].is_trusted ? KI_OK : KI_ERR_TLS))
            fail_msg("SSL_CERT_FILE=%s SSL_CERT_DIR=%s: %s", file, folders, one.end.message);
    }
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    stop(&server);
    assert_int_equal(chdir(before), 0);
    free(before);
}

TEST(the_environments_proxy_is_used_but_not_for_this_machine) {
    const raw_response ok = { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, RAW_KEEP };
    raw_server proxy;
    raw_server_start(&proxy, &ok, 1);
    char url[64];
    snprintf(url, sizeof url, "127.0.0.1:%d", proxy.port);
    setenv("HTTP_PROXY", url, 1);
    static const struct {
        const char *host, *no_proxy;
        ki_status code;
    } cases[] = {
        { "there.invalid", "", KI_OK },
        { "there.invalid", ".other,there.invalid", KI_ERR_CONNECT }, /* no such name */
        { "127.0.0.1", "", KI_ERR_CONNECT },                         /* nobody listens there */
    };
    int nobody = raw_server_free_port();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NO_PROXY", cases[i].no_proxy, 1);
        client self;
        begin(&self, "http", cases[i].host, nobody);
        open_client(&self);
        outcome one;
        get(&self, &one);
        if (one.end.code != cases[i].code)
            fail_msg("%s: %s", cases[i].host, one.end.message);
        close_client(&self);
    }
    unsetenv("HTTP_PROXY");
    unsetenv("NO_PROXY");
    raw_server_stop(&proxy);
    assert_int_equal(proxy.requests, 1);
    assert_int_equal(strncmp(proxy.last_request, "GET http://there.invalid:", 25), 0);
}

static int make_folder(void **state) {
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        exit(77); /* they cannot run here */
    static const char *const names[] = { "HTTP_PROXY",  "HTTPS_PROXY", "NO_PROXY",      "http_proxy",
                                         "https_proxy", "no_proxy",    "REQUEST_METHOD" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return folder_open(state);
}

/* What a refused stream carried was not looked at: it may be sent again, a write by the client. libcurl alone does
 * so five times more, each on a new connection and at once; the rest is for the caller's backoff. After another code
 * the server may have carried the request out. */
TEST(a_stream_that_was_reset_is_sent_again_only_where_it_was_rejected_and_a_write_never) {
    static const struct {
        const char *method;
        unsigned char code;
        bool reads_all;
        size_t requests;
    } rows[] = {
        { "GET", H2_REFUSED_STREAM, true, 2 },      { "POST", H2_REFUSED_STREAM, false, 1 },
        { "POST", H2_REFUSED_STREAM, true, 1 },     { "POST", H2_INTERNAL_ERROR, false, 1 },
        { "POST", H2_INTERNAL_ERROR, true, 1 },     { "PUT", H2_CANCEL, true, 1 },
        { "PATCH", H2_ENHANCE_YOUR_CALM, true, 1 }, { "DELETE", H2_INTERNAL_ERROR, true, 1 },
        { "GET", H2_INTERNAL_ERROR, true, 1 },      { "GET", H2_CANCEL, true, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool writes = strcmp(rows[i].method, "GET") != 0;
        h2_refuser server;
        client self;
        outcome one;
        h2_refuser_start(&server, rows[i].code, rows[i].reads_all, TLS_FILE("server.pem"), TLS_FILE("server.key"));
        begin(&self, "https", "127.0.0.1", server.port);
        open_client(&self);
        ki_request request = { .method = rows[i].method,
                               .target = "/x",
                               .content_type = writes ? "application/json" : NULL };
        request.body = ki_str_of(writes ? "{\"metadata\":{\"name\":\"a\"}}" : "");
        send_request(&self, &one, &request);
        while (one.exchange)
            step(&self);
        assert_int_equal(one.end.code, KI_ERR_UNEXPECTED_EOF);
        assert_int_equal(one.end.category, KI_CATEGORY_RETRY);
        assert_int_equal(one.end.retry_after_ms, writes && rows[i].code == H2_REFUSED_STREAM ? 0 : -1);
        close_client(&self);
        h2_refuser_stop(&server);
        assert_int_equal(server.requests, rows[i].requests);
    }
}

TEST_GROUP(connecting, make_folder, folder_close);

/* test_status_server.c: the status server over sockets: with an engine of each kind, and with clients of all kinds. */
#include <kinformer-status/server.h>

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "src/engine/engine.h"
#include "tests/support/http/client.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OK "HTTP/1.1 200"
#define UNAVAILABLE "HTTP/1.1 503"

static ki_testing_server *cluster;
static ki_config *config;
static ki_engine *engine; /* the program's; NULL: the factory's own */
static ki_factory *factory;
static ki_informer *pods;
static ki_status_server *server;
static int port;

/* --- a program ---------------------------------------------------------------------------------------------------- */

static ki_status start_server(const char *address, ki_error *err) {
    ki_status status =
        ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = address, .title = "test"), &server, err);
    if (!status)
        port = http_port(ki_status_server_url(server));
    return status;
}

static void open_program(ki_engine *own_engine) {
    engine = own_engine;
    assert_int_equal(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 20), &cluster, NULL), KI_OK);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(cluster)), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine), &factory, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(start_server("0", NULL), KI_OK);
}

static int set_up(void **state) {
    (void)state;
    open_program(NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_status_server_free(server);
    server = NULL;
    ki_factory_free(factory);
    ki_engine_free(engine);
    engine = NULL;
    ki_config_free(config);
    ki_testing_server_free(cluster);
    return 0;
}

#define SERVER_TEST(name) TEST_WITH(set_up, tear_down, name)

static void expect(const char *response, const char *beginning, const char *part) {
    if (strncmp(response, beginning, strlen(beginning)) != 0 || !strstr(response, part))
        fail_msg("%.2000s\nis not %s with %s", response, beginning, part);
}

/* Asserts each endpoint of a program that has synced. */
static void expect_all_endpoints(void) {
    expect(http_get(port, "/livez", ""), OK, "\r\n\r\nok\n");
    expect(http_get(port, "/readyz", ""), OK, "\r\n\r\nok\n");
    expect(http_get(port, "/readyz?verbose", ""), OK, "[+]informer pods: watching, synced");
    expect(http_get(port, "/metrics", ""), OK, "informer_synced{");
    expect(http_get(port, "/metrics", "Accept: application/openmetrics-text\r\n"), OK, "# EOF\n");
    expect(http_get(port, "/", ""), OK, "Ready: 1 informer has synced");
    expect(http_get(port, "/page.js", ""), OK, "'use strict'");
    expect(http_get(port, "/elsewhere", ""), "HTTP/1.1 404", "/readyz?verbose");
}

/* --- the three ways ----------------------------------------------------------------------------------------------- */

SERVER_TEST(it_serves_with_a_started_engine) {
    expect(http_get(port, "/livez", ""), OK, "ok");
    expect(http_get(port, "/readyz", ""), UNAVAILABLE, "[-]informer pods: not started");
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(factory, PATIENCE_S * 1000, NULL, NULL), KI_OK);
    expect_all_endpoints();
    assert_int_equal(ki_factory_shutdown(factory, NULL), KI_OK);
    expect(http_get(port, "/readyz", ""), UNAVAILABLE, "[-]informer pods: stopped");
}

static void *run(void *user) {
    ki_status *status = user;
    *status = ki_factory_run(factory, NULL);
    return NULL;
}

SERVER_TEST(it_serves_with_a_running_engine) {
    pthread_t thread;
    ki_status status;
    assert_int_equal(pthread_create(&thread, NULL, run, &status), 0);
    while (!ki_factory_has_synced(factory) || !ki_informer_has_synced(pods))
        poll(NULL, 0, 5);
    expect_all_endpoints();
    ki_factory_stop(factory);
    pthread_join(thread, NULL);
    assert_int_equal(status, KI_OK);
}

static void step_until_synced(void) {
    while (!ki_informer_has_synced(pods)) {
        struct pollfd wait = { .fd = ki_engine_fd(engine), .events = POLLIN };
        poll(&wait, 1, ki_engine_timeout(engine));
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK);
    }
}

TEST_WITH(NULL, tear_down, it_serves_with_a_stepped_engine_also_while_nobody_steps) {
    ki_engine *own;
    assert_int_equal(ki_engine_new(NULL, &own, NULL), KI_OK);
    open_program(own);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    expect(http_get(port, "/readyz", ""), UNAVAILABLE, "readyz check failed");
    step_until_synced();
    expect_all_endpoints();
}

/* --- HTTP --------------------------------------------------------------------------------------------------------- */

SERVER_TEST(responses_have_headers_that_keep_them_current_and_safe) {
    const char *page = http_get(port, "/", "");
    expect(page, OK, "\r\nCache-Control: no-store\r\n");
    expect(page, OK, "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'self'");
    expect(page, OK, "\r\nX-Content-Type-Options: nosniff\r\n");
    expect(page, OK, "\r\nContent-Type: text/html; charset=utf-8\r\n");
    expect(http_get(port, "/", "Accept-Encoding: gzip\r\n"), OK, "\r\nContent-Encoding: gzip\r\n");
}

SERVER_TEST(what_is_no_request_for_it_is_rejected) {
    static const struct {
        const char *request, *response;
    } rows[] = {
        { "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405" },
        { "DELETE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 405" },
        { "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", OK },
        { "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", OK },
        { "GET /metrics HTTP/1.0\r\n\r\n", OK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(http_ask(port, rows[i].request), rows[i].response, "");
    (void)http_ask(port, "\x16\x03\x01 garbage\r\n\r\n");
    expect(http_get(port, "/livez", ""), OK, "ok");

    int fd = http_dial(port); /* headers without end are cut off */
    char line[1024];
    memset(line, 'a', sizeof line - 3);
    memcpy(line, "X: ", 3);
    memcpy(line + sizeof line - 3, "\r\n", 3);
    http_send(fd, "GET /metrics HTTP/1.1\r\n");
    for (int i = 0; i < 64 && send(fd, line, strlen(line), MSG_NOSIGNAL) > 0; i++)
        continue;
    assert_null(strstr(http_receive(fd), OK));
    expect(http_get(port, "/livez", ""), OK, "ok");
}

SERVER_TEST(a_query_of_any_size_is_read) {
    char target[4096] = "/readyz?verbose";
    for (int i = 0; i < 1000; i++)
        strcat(target, "&a");
    expect(http_get(port, target, ""), UNAVAILABLE, "not started");
    expect(http_get(port, "/livez?&&=&a=b&verbos=e", ""), OK, "ok");
}

SERVER_TEST(a_connection_serves_several_requests) {
    static const char again[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = http_dial(port);
    char bytes[4096];
    for (int i = 0; i < 3; i++) {
        http_send(fd, again);
        assert_true(recv(fd, bytes, sizeof bytes, 0) > 0);
        assert_memory_equal(bytes, OK, strlen(OK));
    }
    close(fd);
}

/* --- clients that take their time --------------------------------------------------------------------------------- */

SERVER_TEST(silent_clients_keep_nobody_waiting) {
    int idle[20];
    for (size_t i = 0; i < 20; i++) {
        idle[i] = http_dial(port);
        if (i % 2)
            http_send(idle[i], "GET /liv");
    }
    expect(http_get(port, "/livez", ""), OK, "ok");
    http_send(idle[1], "ez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(http_receive(idle[1]), OK, "ok");
    for (size_t i = 0; i < 20; i++)
        if (i != 1)
            close(idle[i]);
}

static size_t descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void wait_for_descriptors(size_t count) {
    for (int left_ms = PATIENCE_S * 1000; descriptors() != count; left_ms -= 10) {
        assert_true(left_ms > 0);
        poll(NULL, 0, 10);
    }
}

/* As many as it takes at once, who say nothing and go: then it listens again. */
SERVER_TEST(a_crowd_that_has_gone_keeps_nobody_out) {
    enum {
        CROWD = 64
    };
    int crowd[CROWD];
    size_t before = descriptors();
    for (size_t i = 0; i < CROWD; i++)
        crowd[i] = http_dial(port);
    wait_for_descriptors(before + 2 * (size_t)CROWD);
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
    wait_for_descriptors(before);
    expect(http_get(port, "/livez", ""), OK, "ok");
}

/* --- crowds: more clients than the server takes ------------------------------------------------------------------- */

/* Asserts that the server responds to a probe, and not because the crowd has timed out: it keeps 64 connections, with
 * that of the probe. */
static void expect_probe_beside(size_t crowd_size, size_t descriptors_before) {
    expect(http_get(port, "/livez", ""), OK, "ok");
    size_t others = descriptors_before + crowd_size;
    for (int left_ms = PATIENCE_S * 1000; descriptors() > others + 64; left_ms -= 10) {
        assert_true(left_ms > 0);
        poll(NULL, 0, 10);
    }
    assert_true(descriptors() >= others + 63);
}

static void leave(const int *crowd, size_t size) {
    for (size_t i = 0; i < size; i++)
        close(crowd[i]);
}

SERVER_TEST(eighty_that_never_read_keep_no_probe_out) {
    static const char again[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    int crowd[80];
    size_t before = descriptors();
    for (size_t i = 0; i < 80; i++) {
        crowd[i] = http_dial(port);
        for (int times = 0; times < 20; times++)
            if (send(crowd[i], again, strlen(again), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0)
                break;
    }
    expect_probe_beside(80, before);
    expect_probe_beside(80, before);
    leave(crowd, 80);
}

SERVER_TEST(seventy_that_send_nothing_keep_no_probe_out) {
    int crowd[70];
    size_t before = descriptors();
    for (size_t i = 0; i < 70; i++)
        crowd[i] = http_dial(port);
    expect_probe_beside(70, before);
    expect_probe_beside(70, before);
    leave(crowd, 70);
}

SERVER_TEST(seventy_that_reconnect_keep_no_probe_out) {
    int crowd[70];
    char byte;
    size_t before = descriptors();
    for (size_t i = 0; i < 70; i++)
        crowd[i] = http_dial(port);
    for (int round = 0; round < 11; round++) {
        for (size_t i = 0; i < 70; i++) {
            if (recv(crowd[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
                continue;
            close(crowd[i]);
            crowd[i] = http_dial(port);
        }
        expect_probe_beside(70, before);
    }
    leave(crowd, 70);
}

static _Atomic int64_t own_now;

static int64_t own_clock(void *user) {
    (void)user;
    return own_now;
}

/* It asks, and reads nothing: the response stays in the server until half a minute has passed. */
TEST_WITH(NULL, tear_down, a_scraper_that_never_reads_is_cut_off_after_half_a_minute) {
    const ki_clock clock = { .now = own_clock };
    const int small = 4096;
    ki_engine *own;
    own_now = KI_SECONDS(1000);
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &own, NULL), KI_OK);
    open_program(own);
    int fd = http_dial(port);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    static const char again[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    for (int i = 0; i < 2000; i++)
        if (send(fd, again, strlen(again), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0)
            break;
    expect(http_get(port, "/livez", ""), OK, "ok");
    own_now += KI_SECONDS(31);
    expect(http_get(port, "/livez", ""), OK, "ok"); /* a new connection ends those that are late */
    char bytes[4096];
    ssize_t size;
    while ((size = recv(fd, bytes, sizeof bytes, 0)) > 0)
        continue;
    assert_true(size == 0 || size == -1); /* the end, or a reset: no timeout of PATIENCE_S */
    close(fd);
}

/* Blocks the server's thread in each response until it is released. */
static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int entered, released;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void pass_gate(ki_sample_visitor visit, void *visit_user, void *user) {
    (void)visit, (void)visit_user, (void)user;
    pthread_mutex_lock(&gate.mutex);
    int own = ++gate.entered;
    pthread_cond_broadcast(&gate.changed);
    while (gate.released < own)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

static void await_entered(int count) {
    pthread_mutex_lock(&gate.mutex);
    while (gate.entered < count)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

static void release(int count) {
    pthread_mutex_lock(&gate.mutex);
    gate.released = count;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static _Atomic long freer;

static void *free_server(void *user) {
    freer = syscall(SYS_gettid);
    ki_status_server_free(user);
    return NULL;
}

/* Waits until a thread of this process sleeps: the one that frees waits for the server's thread. */
static void await_asleep(const _Atomic long *thread) {
    for (char state = 0; state != 'S'; poll(NULL, 0, 1)) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%ld/stat", *thread);
        FILE *file = fopen(path, "r");
        if (file && fgets(text, sizeof text, file) && strrchr(text, ')'))
            state = strrchr(text, ')')[2];
        if (file)
            fclose(file);
    }
}

/* The thread reads several requests at a time: one of them waits at the gate while the server is freed. Malformed ones
 * come before and after it, since their order is libmicrohttpd's. */
SERVER_TEST(it_can_be_freed_before_a_malformed_request_is_read) {
    static const char get[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                      malformed[] = "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n";
    const char *const requests[] = { get, malformed, get, malformed };
    ki_status_server *gated = NULL;
    int fds[4];
    pthread_t thread;
    gate.entered = gate.released = 0;
    assert_int_equal(
        ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "0", .collect = pass_gate), &gated, NULL),
        KI_OK);
    for (size_t i = 0; i < 4; i++)
        fds[i] = http_dial(http_port(ki_status_server_url(gated)));
    http_send(fds[0], requests[0]);
    await_entered(1);
    for (size_t i = 1; i < 4; i++)
        http_send(fds[i], requests[i]);
    release(1);
    await_entered(2);
    freer = 0;
    assert_int_equal(pthread_create(&thread, NULL, free_server, gated), 0);
    while (!freer)
        poll(NULL, 0, 1);
    await_asleep(&freer);
    release(2);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 4; i++)
        close(fds[i]);
}

SERVER_TEST(it_ends_although_clients_do_not_read) {
    int fds[8];
    for (size_t i = 0; i < 8; i++) {
        fds[i] = http_dial(port);
        http_send(fds[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    ki_status_server_free(server);
    server = NULL;
    for (size_t i = 0; i < 8; i++)
        close(fds[i]);
}

/* --- errors, and the end ------------------------------------------------------------------------------------------ */

SERVER_TEST(a_port_in_use_is_an_error_that_names_it) {
    ki_error err = KI_ERROR_INIT;
    ki_status_server *first = server, *second = NULL;
    const char *taken = ki_status_server_url(first) + strlen("http://");
    assert_int_equal(ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = taken), &second, &err),
                     KI_ERR_SYSTEM);
    assert_non_null(strstr(err.message, taken));
    assert_non_null(strstr(err.message, "in use"));
    assert_null(second);
}

SERVER_TEST(bad_options_are_errors_at_the_call) {
    ki_error err = KI_ERROR_INIT;
    ki_status_server *none = NULL;
    assert_int_equal(ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "here"), &none, &err),
                     KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "cannot listen on \"here\": write a port"));
    const ki_status_server_options unsized = { .address = "0" };
    assert_int_equal(ki_status_server_new(factory, &unsized, &none, &err), KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "KI_STATUS_SERVER_OPTIONS()"));
    ki_engine_stop(ki_factory_engine(factory));
    assert_int_equal(ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "0"), &none, &err),
                     KI_ERR_STATE);
    assert_null(none);
}

SERVER_TEST(it_works_without_options_unless_the_port_is_taken) {
    ki_status_server *with_defaults = NULL;
    ki_status status = ki_status_server_new(factory, NULL, &with_defaults, NULL);
    assert_true(status == KI_OK || status == KI_ERR_SYSTEM);
    if (!status)
        assert_string_equal(ki_status_server_url(with_defaults), "http://127.0.0.1:8080");
    ki_status_server_free(with_defaults);
}

SERVER_TEST(lack_of_memory_is_an_error) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    while (scarce_memory_next(&memory)) {
        ki_status_server *scarce = NULL;
        ki_status status = ki_status_server_new(
            factory, &KI_STATUS_SERVER_OPTIONS(.allocator = &memory.allocator, .address = "0"), &scarce, NULL);
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        if (!status)
            expect(http_get(http_port(ki_status_server_url(scarce)), "/livez", ""), "HTTP/1.1 ", "");
        ki_status_server_free(scarce);
    }
}

static void free_on_loop(void *user) {
    ki_status_server_free(server);
    server = NULL;
    atomic_store((_Atomic bool *)user, true);
}

SERVER_TEST(it_can_be_freed_on_the_loop) {
    _Atomic bool is_freed = false;
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(factory, PATIENCE_S * 1000, NULL, NULL), KI_OK);
    assert_int_equal(ki_engine_post(ki_factory_engine(factory), 0, free_on_loop, &is_freed, NULL, NULL), KI_OK);
    while (!is_freed)
        poll(NULL, 0, 5);
}

static void free_the_factory_first(void) {
    ki_factory_free(factory);
    factory = NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), -1);
    close(fd);
    ki_status_server_free(server);
    server = NULL;
}

SERVER_TEST(a_factory_that_is_freed_first_stops_its_servers) {
    ki_status_server *second = NULL;
    assert_int_equal(ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "0"), &second, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    expect(http_get(port, "/livez", ""), OK, "ok");
    free_the_factory_first();
    ki_status_server_free(second);
}

TEST_WITH(NULL, tear_down, a_factory_on_an_engine_of_the_program_stops_it_also) {
    ki_engine *own;
    assert_int_equal(ki_engine_new(NULL, &own, NULL), KI_OK);
    open_program(own);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    step_until_synced();
    free_the_factory_first();
}

/* --- beside a program that changes -------------------------------------------------------------------------------- */

static _Atomic bool has_asked_enough;

static void *ask_again_and_again(void *user) {
    static const char *const targets[] = { "/", "/readyz?verbose", "/metrics" };
    (void)user;
    for (int i = 0; i < 60; i++)
        expect(http_get(port, targets[i % 3], ""), "HTTP/1.1 ", "");
    has_asked_enough = true;
    return NULL;
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)key, (void)user, (void)err;
    return KI_OK;
}

SERVER_TEST(informers_controllers_and_electors_may_come_and_go_meanwhile) {
    pthread_t thread;
    has_asked_enough = false;
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask_again_and_again, NULL), 0);
    while (!has_asked_enough) {
        ki_elector *elector = NULL;
        ki_controller *controller = NULL;
        ki_informer *nodes = NULL;
        assert_int_equal(
            ki_elector_new(factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock"), &elector, NULL),
            KI_OK);
        assert_int_equal(
            ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = reconcile), &controller, NULL),
            KI_OK);
        assert_int_equal(ki_controller_for(controller, KI_NODES, NULL, &nodes, NULL), KI_OK);
        assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        poll(NULL, 0, 1);
        assert_int_equal(ki_factory_remove_informer(factory, nodes, NULL), KI_OK);
        ki_controller_free(controller);
        ki_elector_free(elector);
    }
    pthread_join(thread, NULL);
}

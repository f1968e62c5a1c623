/* test_factory.c: a factory's informers and its life: stepped by a host, run, started; over a server within the
 * process, and over libcurl to where nobody listens. */

#include <kinformer/kinformer.h>

#include "src/factory/factory.h"
#include "testing/memory/transport.h"
#include "tests/support/patience.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CALLS = 8,
    ADVANCES_MAX = 200
};

/* --- the server: every list has two objects, every watch stays open ----------------------------------------------- */

typedef struct server {
    kt_memory_call *watches[CALLS];
    int requests;
    char targets[4096];
    bool is_silent;          /* sends no response */
    const char *silent_path; /* sends no response to requests with this path; NULL: responds to all */
} server;

static const ki_response_head ok = { 200, -1, "application/json" };

static const char *list_of(const char *target) {
    if (strstr(target, "/nodes"))
        return "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
               "{\"metadata\":{\"name\":\"n\",\"uid\":\"u1\",\"resourceVersion\":\"5\"}}]}";
    return "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
           "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u1\",\"resourceVersion\":\"5\"}},"
           "{\"metadata\":{\"name\":\"b\",\"namespace\":\"default\",\"uid\":\"u2\",\"resourceVersion\":\"6\"}}]}";
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    server *self = user;
    self->requests++;
    size_t used = strlen(self->targets);
    snprintf(self->targets + used, sizeof self->targets - used, "%s\n", request->target);
    bool is_silent = self->is_silent || (self->silent_path && strstr(request->target, self->silent_path));
    if (is_silent || strstr(request->target, "watch=true")) {
        size_t at = 0;
        while (self->watches[at])
            at++;
        self->watches[at] = call;
        if (!is_silent && !kt_memory_call_head(call, &ok))
            self->watches[at] = NULL;
        return;
    }
    const char *body = list_of(request->target);
    if (kt_memory_call_head(call, &ok) && kt_memory_call_data(call, body, strlen(body)))
        kt_memory_call_end(call, NULL);
}

static void abandoned(kt_memory_call *call, void *user) {
    server *self = user;
    for (int i = 0; i < CALLS; i++)
        if (self->watches[i] == call)
            self->watches[i] = NULL;
}

/* --- a host ------------------------------------------------------------------------------------------------------- */

typedef struct host {
    test_engine engine; /* stepped; or `threaded` */
    ki_engine *threaded;
    server server;
    ki_transport *transport;
    ki_factory *factory;
    sem_t called, removed;
    _Atomic int adds;      /* two handlers may be at it */
    bool stops;            /* the handler asks the factory to stop */
    _Atomic int shut_down; /* what the handler got for a shutdown */
    _Atomic int waited;
} host;

static ki_engine *engine_of(host *h) {
    return h->threaded ? h->threaded : h->engine.engine;
}

static ki_status connect_host(host *h, const char *namespace_name) {
    const kt_memory_server memory_server = { serve, abandoned, &h->server };
    ki_status status = kt_memory_transport_new(engine_of(h), &memory_server, &h->transport, NULL);
    if (status)
        return status;
    return ki_factory_new_on(
        NULL, h->transport,
        &KI_FACTORY_OPTIONS(.engine = engine_of(h), .namespace_name = namespace_name, .no_streaming_list = true),
        &h->factory, NULL);
}

static void host_init(host *h) {
    memset(h, 0, sizeof *h);
    sem_init(&h->called, 0, 0);
    sem_init(&h->removed, 0, 0);
}

static void open_stepped(host *h, const char *namespace_name) {
    host_init(h);
    assert_true(test_engine_open(&h->engine, NULL, 1));
    assert_int_equal(connect_host(h, namespace_name), KI_OK);
}

static void open_threaded(host *h) {
    host_init(h);
    assert_int_equal(ki_engine_new(NULL, &h->threaded, NULL), KI_OK);
    assert_int_equal(connect_host(h, NULL), KI_OK);
}

static void free_transport(void *user) {
    host *h = user;
    ki_transport_free(h->transport);
}

static void close_host(host *h) {
    ki_factory_free(h->factory);
    ki_engine_call(engine_of(h), free_transport, h);
    ki_engine_free(engine_of(h));
    sem_destroy(&h->called);
    sem_destroy(&h->removed);
}

static void on_add(const ki_event *e, void *user) {
    host *h = user;
    (void)e;
    h->adds++;
    h->shut_down = (int)ki_factory_shutdown(h->factory, NULL);
    h->waited = (int)ki_factory_wait_for_sync(h->factory, 0, NULL, NULL);
    if (h->stops)
        ki_factory_stop(h->factory);
    sem_post(&h->called);
}

static void on_removed(void *user) {
    host *h = user;
    sem_post(&h->removed);
}

static const ki_handler handler = { .on_add = on_add, .on_removed = on_removed };

static ki_informer *configmaps_of(host *h, bool on_loop) {
    ki_informer *informer = NULL;
    ki_registration registration = { NULL, 0 };
    assert_int_equal(ki_factory_informer(h->factory, KI_CONFIGMAPS, NULL, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(informer, &handler, h, &KI_REGISTRATION_OPTIONS(.on_loop = on_loop),
                                             &registration, NULL),
                     KI_OK);
    return informer;
}

/* --- the table of informers --------------------------------------------------------------------------------------- */

TEST(who_asks_for_the_same_gets_the_same) {
    host h;
    open_stepped(&h, NULL);
    static const char *const selectors[] = { NULL, "", "app=web", "app=webs" };
    const ki_informer_options variants[] = {
        KI_INFORMER_OPTIONS(.namespace_name = NULL),
        KI_INFORMER_OPTIONS(.namespace_name = "default"),
        KI_INFORMER_OPTIONS(.label_selector = selectors[2]),
        KI_INFORMER_OPTIONS(.label_selector = selectors[3]),
        KI_INFORMER_OPTIONS(.field_selector = selectors[2]),
        KI_INFORMER_OPTIONS(.namespace_name = "default", .label_selector = selectors[2]),
    };
    enum {
        VARIANTS = sizeof variants / sizeof *variants
    };
    ki_informer *informers[VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        assert_int_equal(ki_factory_informer(h.factory, KI_CONFIGMAPS, &variants[i], &informers[i], NULL), KI_OK);
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(informers[i], informers[k]);
    }
    ki_informer *again = NULL;
    for (size_t i = 0; i < VARIANTS; i++) {
        ki_informer_options other = variants[i];
        other.resync_ms = 5000;
        assert_int_equal(ki_factory_informer(h.factory, KI_CONFIGMAPS, &other, &again, NULL), KI_OK);
        assert_ptr_equal(again, informers[i]);
    }
    char group[] = "", version[] = "v1", plural[] = "configmaps", kind[] = "ConfigMap";
    const ki_resource own = { group, version, plural, kind, true };
    assert_int_equal(ki_factory_informer(h.factory, &own, NULL, &again, NULL), KI_OK);
    assert_ptr_equal(again, informers[0]);
    assert_string_equal(ki_informer_resource(again)->plural, "configmaps");
    close_host(&h);
}

TEST(a_factory_s_namespace_is_that_of_who_names_none) {
    host h;
    ki_informer *informer = NULL, *other = NULL;
    open_stepped(&h, "team");
    assert_int_equal(ki_factory_informer(h.factory, KI_CONFIGMAPS, NULL, &informer, NULL), KI_OK);
    assert_int_equal(
        ki_factory_informer(h.factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_name = "team"), &other, NULL),
        KI_OK);
    assert_ptr_equal(informer, other);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &other, NULL), KI_OK);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    assert_non_null(strstr(h.server.targets, "/api/v1/namespaces/team/configmaps?"));
    assert_non_null(strstr(h.server.targets, "/api/v1/nodes?"));
    close_host(&h);
}

TEST(what_cannot_be_is_rejected) {
    host h;
    ki_informer *informer = NULL;
    ki_factory *factory = NULL;
    static const ki_field bad_view[] = { { "metadata[", 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    static const ki_resource incomplete = { "", "v1", NULL, "Foo", true };
    const ki_factory_options no_size = { .size = 0 };
    const ki_informer_options no_informer_size = { .size = 0 };
    open_stepped(&h, NULL);
    assert_int_equal(ki_factory_new(NULL, NULL, &factory, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_new_on(NULL, h.transport, &no_size, &factory, NULL), KI_ERR_INVALID);
    assert_null(factory);
    assert_int_equal(ki_factory_informer(h.factory, NULL, NULL, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer(h.factory, &incomplete, NULL, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, &no_informer_size, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = bad_view), &informer, NULL),
                     KI_ERR_PARSE);
    assert_null(informer);
    ki_factory_stop(h.factory);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &informer, NULL), KI_ERR_STATE);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_ERR_STATE);
    assert_null(informer);
    close_host(&h);
    ki_factory_free(NULL);
}

typedef struct seen_end {
    ki_factory *factory;
    int calls;
} seen_end;

static void see_end(void *user) {
    seen_end *seen = user;
    seen->calls++;
    assert_int_equal(ki_factory_start(seen->factory, NULL), KI_ERR_STATE); /* stopped, and not freed */
}

TEST(what_reads_a_factory_is_called_before_it_is_freed) {
    host h;
    open_stepped(&h, NULL);
    seen_end seen[3] = { { h.factory, 0 }, { h.factory, 0 }, { h.factory, 0 } };
    ki_factory_end ends[3];
    for (size_t i = 0; i < 3; i++) {
        ends[i] = (ki_factory_end){ .call = see_end, .user = &seen[i] };
        ki_factory_add_end(h.factory, &ends[i]);
    }
    ki_factory_remove_end(h.factory, &ends[1]);
    ki_factory_remove_end(h.factory, &ends[1]);
    close_host(&h);
    assert_int_equal(seen[0].calls, 1);
    assert_int_equal(seen[1].calls, 0);
    assert_int_equal(seen[2].calls, 1);
}

TEST(options_of_an_engine_beside_another_engine_are_rejected) {
    host h;
    ki_factory *factory = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_log log = { .write = ki_log_stderr };
    open_stepped(&h, NULL);
    assert_int_equal(ki_factory_new_on(NULL, h.transport, &KI_FACTORY_OPTIONS(.engine = h.engine.engine, .log = &log),
                                       &factory, &err),
                     KI_ERR_INVALID);
    assert_string_equal(err.message, "ki_factory_options: .log beside .engine; set it in KI_ENGINE_OPTIONS");
    assert_int_equal(ki_factory_new_on(NULL, h.transport,
                                       &KI_FACTORY_OPTIONS(.engine = h.engine.engine,
                                                           .allocator = ki_engine_allocator(h.engine.engine)),
                                       &factory, &err),
                     KI_ERR_INVALID);
    assert_string_equal(err.message, "ki_factory_options: .allocator beside .engine; set it in KI_ENGINE_OPTIONS");
    assert_null(factory);
    close_host(&h);
}

TEST(nothing_at_all_is_rejected) {
    host h;
    ki_informer *informer = NULL;
    ki_config *config = NULL;
    ki_cursor cursor = KI_CURSOR_INIT;
    open_stepped(&h, NULL);
    assert_int_equal(ki_factory_new_on(NULL, h.transport, NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_new_default(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_engine_new(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_config_new(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_config_new_in_cluster(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_config_new_default(NULL, NULL, NULL), KI_ERR_INVALID);
    assert_null(config);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer(NULL, KI_PODS, NULL, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_start(NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_run(NULL, NULL), KI_ERR_INVALID);
    ki_factory_stop(NULL);
    ki_engine_stop(NULL);
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_indexers(informer, NULL, 1, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_add_indexers(NULL, NULL, 1, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_snapshot_count(NULL), 0);
    assert_null(ki_snapshot_next(NULL, &cursor));
    assert_null(ki_snapshot_get(NULL, "a"));
    assert_null(ki_snapshot_next_by_index(NULL, "a", "b", &cursor));
    assert_null(ki_snapshot_next_index_value(NULL, "a", &cursor));
    assert_int_equal(ki_snapshot_count_by_index(NULL, "a", "b"), 0);
    assert_false(ki_snapshot_has_index(NULL, "a"));
    assert_string_equal(ki_snapshot_resource_version(NULL), "");
    close_host(&h);
}

/* --- stepped ------------------------------------------------------------------------------------------------------ */

TEST(a_host_steps_everything) {
    host h;
    open_stepped(&h, NULL);
    ki_informer *informer = configmaps_of(&h, false);
    assert_true(ki_factory_has_synced(h.factory)); /* nothing is wanted yet */
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_informer_set_transform(informer, NULL, NULL, NULL), KI_ERR_STATE);
    assert_false(ki_factory_has_synced(h.factory));
    assert_int_equal(h.server.requests, 0);
    assert_true(test_engine_settle(&h.engine));
    assert_true(ki_factory_has_synced(h.factory));
    assert_int_equal(h.adds, 2);
    assert_int_equal(h.shut_down, KI_ERR_DEADLOCK);
    assert_int_equal(h.waited, KI_ERR_DEADLOCK);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, 0, NULL, NULL), KI_ERR_DEADLOCK); /* nobody else steps */
    ki_object *a = ki_informer_get(informer, "default/a");
    assert_string_equal(ki_object_resource_version(a), "5");
    ki_object_unref(a);
    assert_int_equal(ki_factory_shutdown(h.factory, NULL), KI_OK);
    assert_int_equal(ki_factory_shutdown(h.factory, NULL), KI_OK);
    assert_null(h.server.watches[0]); /* cancelled */
    assert_int_equal(sem_trywait(&h.removed), -1);
    close_host(&h);
}

TEST(start_is_repeatable) {
    host h;
    ki_informer *nodes = NULL;
    open_stepped(&h, NULL);
    configmaps_of(&h, false);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    int before = h.server.requests;
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &nodes, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    assert_int_equal(h.server.requests, before);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    assert_int_equal(h.server.requests, before + 2);
    assert_true(ki_informer_has_synced(nodes));
    close_host(&h);
}

TEST(a_handler_may_stop_a_stepped_factory) {
    host h;
    open_stepped(&h, NULL);
    ki_informer *informer = configmaps_of(&h, false);
    h.stops = true;
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    ki_health health;
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, KI_STATE_STOPPED);
    assert_int_equal(ki_informer_add_handler(informer, &handler, &h, NULL, NULL, NULL), KI_ERR_STATE);
    close_host(&h);
}

/* So a host that stops in order looks at one of them. */
TEST(all_informers_of_a_stepped_factory_stop_in_the_same_step) {
    host h;
    ki_informer *informers[3] = { NULL, NULL, NULL };
    ki_health health;
    open_stepped(&h, NULL);
    informers[0] = configmaps_of(&h, false);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &informers[1], NULL), KI_OK);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    assert_int_equal(ki_factory_informer(h.factory, KI_PODS, NULL, &informers[2], NULL), KI_OK); /* never started */
    ki_factory_stop(h.factory);
    int steps = 0, stopped;
    do {
        stopped = 0;
        assert_int_equal(ki_engine_step(h.engine.engine, 1, NULL), KI_OK);
        for (int i = 0; i < 3; i++) {
            ki_informer_health(informers[i], &health);
            stopped += health.state == KI_STATE_STOPPED;
        }
    } while (!stopped && ++steps < 100);
    assert_int_equal(stopped, 3);
    close_host(&h);
}

/* A host may stop its engine and leave out the factory's stop. */
TEST(a_stopped_engine_stops_its_factory) {
    host h;
    ki_health health;
    ki_error err = KI_ERROR_INIT;
    ki_informer *nodes = NULL;
    open_stepped(&h, NULL);
    h.server.is_silent = true;
    ki_informer *informer = configmaps_of(&h, false);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h.engine));
    ki_engine_stop(h.engine.engine);
    assert_int_equal(ki_factory_start(h.factory, &err), KI_ERR_STATE);
    assert_non_null(strstr(err.message, "engine is stopped"));
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &nodes, NULL), KI_ERR_STATE);
    assert_int_equal(ki_engine_step(h.engine.engine, 0, NULL), KI_OK); /* the last one, which ends it */
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, KI_STATE_STOPPED);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, -1, NULL, NULL), KI_ERR_CANCELLED);
    close_host(&h);
}

TEST(on_an_engine_that_was_stopped_before_nothing_starts) {
    host h;
    open_stepped(&h, NULL);
    ki_informer *informer = configmaps_of(&h, false);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK); /* nobody drives it yet */
    ki_engine_stop(h.engine.engine);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_wait_for_sync(informer, -1, NULL), KI_ERR_CANCELLED);
    close_host(&h);
}

/* --- the log --- */

typedef struct log_lines {
    char text[4096];
} log_lines;

static void note_line(ki_log_level level, const char *component, const char *message, void *user) {
    log_lines *lines = user;
    size_t used = strlen(lines->text);
    snprintf(lines->text + used, sizeof lines->text - used, "%d %s %s\n", (int)level, component, message);
}

static int64_t clock_now(void *user) {
    return ((test_engine *)user)->now;
}

static void open_logged(host *h, log_lines *lines, ki_log_level max_level) {
    host_init(h);
    memset(lines, 0, sizeof *lines);
    h->engine.now = KI_SECONDS(1000);
    const ki_clock clock = { .now = clock_now, .user = &h->engine };
    const ki_log log = { note_line, lines, max_level };
    assert_int_equal(
        ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock, .log = &log, .seed = 1), &h->engine.engine, NULL), KI_OK);
    assert_int_equal(connect_host(h, "default"), KI_OK);
    configmaps_of(h, true);
    assert_int_equal(ki_factory_start(h->factory, NULL), KI_OK);
    assert_true(test_engine_settle(&h->engine));
}

static void assert_line(const log_lines *lines, const char *line) {
    if (!strstr(lines->text, line))
        fail_msg("\"%s\" is not in\n%s", line, lines->text);
}

TEST(the_log_has_each_state) {
    host h;
    log_lines lines;
    open_logged(&h, &lines, (ki_log_level)0);
    assert_string_equal(lines.text, "3 informer configmaps in default: synced, 2 objects\n"
                                    "3 reflector configmaps in default: watching\n");
    close_host(&h);

    open_logged(&h, &lines, KI_LOG_DEBUG);
    assert_line(&lines, "4 reflector configmaps in default: list opened at \"0\", page 1\n");
    assert_line(&lines, "4 reflector configmaps in default: list ended, 2 objects: complete\n");
    assert_line(&lines, "4 reflector configmaps in default: watch opened at \"10\", for ");
    assert_null(strstr(lines.text, "watch ended"));
    h.engine.now += KI_SECONDS(2);
    ki_error gone = KI_ERROR_INIT;
    gone.code = KI_ERR_UNEXPECTED_EOF;
    snprintf(gone.message, sizeof gone.message, "the line was cut");
    kt_memory_call *watch = h.server.watches[0];
    h.server.watches[0] = NULL;
    kt_memory_call_end(watch, &gone);
    assert_true(test_engine_settle(&h.engine));
    assert_line(&lines, "4 reflector configmaps in default: watch ended after 2.0 s, 0 events: ");
    assert_line(&lines, "the line was cut; retrying within a second\n");
    assert_null(strstr(lines.text, "\n2 "));           /* a watch that is reopened at once is no warning */
    assert_true(test_engine_advance(&h.engine, 1000)); /* it is opened again within a second */
    watch = h.server.watches[0];                       /* and once more: this time it waits */
    h.server.watches[0] = NULL;
    kt_memory_call_end(watch, &gone);
    assert_true(test_engine_settle(&h.engine));
    assert_line(&lines, "the line was cut; next try in ");
    assert_line(&lines, "2 reflector configmaps in default: backing off: watch configmaps in namespace default: ");
    close_host(&h);
}

/* --- with threads ------------------------------------------------------------------------------------------------- */

TEST(a_host_s_loop_on_its_own_thread_serves_it) {
    host h;
    open_threaded(&h);
    configmaps_of(&h, false);
    configmaps_of(&h, true);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, PATIENCE_S * 1000, NULL, NULL), KI_OK);
    for (int i = 0; i < 4; i++)
        await_semaphore(&h.called);
    assert_int_equal(ki_factory_shutdown(h.factory, NULL), KI_OK);
    assert_int_equal(h.shut_down, KI_ERR_DEADLOCK);
    assert_int_equal(h.waited, KI_ERR_DEADLOCK);
    close_host(&h); /* the host's engine still runs */
}

static void *run(void *user) {
    static ki_status status;
    host *h = user;
    status = ki_factory_run(h->factory, NULL);
    return &status;
}

TEST(run_returns_when_a_handler_asks) {
    for (int on_loop = 0; on_loop < 2; on_loop++) {
        host h;
        pthread_t runner;
        void *status = NULL;
        open_threaded(&h);
        configmaps_of(&h, on_loop);
        h.stops = true;
        pthread_create(&runner, NULL, run, &h);
        pthread_join(runner, &status);
        assert_int_equal(*(ki_status *)status, KI_OK);
        assert_in_range(h.adds, 1, 2);
        assert_int_equal(ki_factory_run(h.factory, NULL), KI_OK); /* stopped already */
        close_host(&h);
    }
}

TEST(a_run_on_an_engine_that_runs_already_only_starts_the_factory) {
    host h;
    ki_error err = KI_ERROR_INIT;
    open_threaded(&h);
    configmaps_of(&h, false);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    assert_int_equal(ki_factory_run(h.factory, &err), KI_ERR_STATE);
    assert_string_equal(err.message, "ki_engine_run: the engine is driven by ki_engine_start already");
    for (int i = 0; i < 2; i++)
        await_semaphore(&h.called);
    close_host(&h);
}

static void *wait_for_sync(void *user) {
    static ki_status status;
    host *h = user;
    status = ki_factory_wait_for_sync(h->factory, -1, NULL, NULL);
    return &status;
}

TEST(who_waits_continues_when_the_engine_ends) {
    host h;
    pthread_t waiter;
    void *status = NULL;
    open_threaded(&h);
    h.server.is_silent = true;
    configmaps_of(&h, false);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    pthread_create(&waiter, NULL, wait_for_sync, &h);
    ki_engine_stop(h.threaded);
    pthread_join(waiter, &status);
    assert_int_equal(*(ki_status *)status, KI_ERR_CANCELLED);
    close_host(&h);
}

TEST(a_run_after_the_stop_returns_at_once) {
    for (int starts = 0; starts < 2; starts++) {
        host h;
        ki_error err = KI_ERROR_INIT;
        open_threaded(&h);
        configmaps_of(&h, false);
        if (starts) {
            assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
            assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
        }
        ki_factory_stop(h.factory);
        assert_int_equal(ki_factory_run(h.factory, &err), KI_OK);
        close_host(&h);
    }
}

TEST(shutdown_on_another_thread_ends_a_run) {
    host h;
    pthread_t runner;
    void *status = NULL;
    open_threaded(&h);
    configmaps_of(&h, false);
    pthread_create(&runner, NULL, run, &h);
    await_semaphore(&h.called);
    assert_int_equal(ki_factory_shutdown(h.factory, NULL), KI_OK);
    pthread_join(runner, &status);
    assert_int_equal(*(ki_status *)status, KI_OK);
    close_host(&h);
}

TEST(a_timeout_names_who_has_not_synced) {
    host h;
    ki_error err = KI_ERROR_INIT;
    ki_informer *nodes = NULL;
    open_threaded(&h);
    h.server.is_silent = true;
    configmaps_of(&h, false);
    assert_int_equal(
        ki_factory_informer(h.factory, KI_NODES, &KI_INFORMER_OPTIONS(.namespace_name = "x"), &nodes, NULL), KI_OK);
    const ki_informer_options selections[] = {
        KI_INFORMER_OPTIONS(.namespace_name = "default"),
        KI_INFORMER_OPTIONS(.label_selector = "app=web"),
        KI_INFORMER_OPTIONS(.namespace_name = "team", .label_selector = "app=web", .field_selector = "spec.nodeName=n"),
    };
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        ki_informer *pods = NULL;
        assert_int_equal(ki_factory_informer(h.factory, KI_PODS, &selections[i], &pods, NULL), KI_OK);
    }
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, 1, NULL, &err), KI_ERR_TIMEOUT);
    static const char *const names[] = { "not synced in time: configmaps (", ", nodes (", ", pods in default (",
                                         ", pods (app=web) (", ", pods in team (app=web, spec.nodeName=n) (" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(strstr(err.message, names[i]));
    ki_factory_stop(h.factory);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, -1, NULL, &err), KI_ERR_CANCELLED);
    close_host(&h);
}

TEST(a_timeout_names_only_those_that_have_not_synced) {
    host h;
    ki_error err = KI_ERROR_INIT;
    ki_informer *configmaps, *nodes = NULL;
    open_threaded(&h);
    h.server.silent_path = "/nodes";
    configmaps = configmaps_of(&h, false);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_sync(configmaps, -1, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, -1, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(h.factory, KI_NODES, NULL, &nodes, NULL), KI_OK);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    for (int timeout_ms = 0; timeout_ms < 2; timeout_ms++) { /* also where there is no time at all */
        assert_int_equal(ki_factory_wait_for_sync(h.factory, timeout_ms, NULL, &err), KI_ERR_TIMEOUT);
        assert_non_null(strstr(err.message, "not synced in time: nodes ("));
        assert_null(strstr(err.message, "configmaps"));
    }
    close_host(&h);
}

TEST(a_factory_without_informers_has_synced) {
    host h;
    open_threaded(&h);
    assert_int_equal(ki_factory_start(h.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(h.threaded, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(h.factory, -1, NULL, NULL), KI_OK);
    close_host(&h);
}

/* --- an engine of its own, libcurl, and nobody there -------------------------------------------------------------- */

static ki_factory *factory_to_nowhere(void) {
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    setenv("KUBECONFIG", "/nowhere/kubeconfig", 1); /* a file that is missing is as good as none */
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:9"), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
    ki_config_free(config);
    return factory;
}

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    (void)key;
    assert_int_equal(cause->code, KI_ERR_CONNECT);
    sem_post(user);
}

TEST(it_has_an_engine_of_its_own) {
    for (int starts = 0; starts < 3; starts++) { /* never, once, twice */
        ki_informer *pods = NULL;
        sem_t failed;
        sem_init(&failed, 0, 0);
        ki_factory *factory = factory_to_nowhere();
        assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
        assert_int_equal(ki_informer_set_watch_error_handler(pods, on_error, &failed, NULL), KI_OK);
        for (int i = 0; i < starts; i++)
            assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        if (starts) {
            await_semaphore(&failed);
            assert_int_equal(ki_factory_wait_for_sync(factory, 0, NULL, NULL), KI_ERR_TIMEOUT);
            assert_int_equal(ki_factory_run(factory, NULL), KI_ERR_STATE);
        }
        if (starts == 2) {
            ki_factory_stop(factory);
            assert_int_equal(ki_factory_run(factory, NULL), KI_OK); /* stopped already */
        }
        ki_factory_free(factory);
        sem_destroy(&failed);
    }
}

static void on_error_kill(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    (void)key;
    (void)user;
    assert_int_equal(cause->code, KI_ERR_CONNECT);
    raise(SIGTERM);
}

TEST(a_signal_ends_a_run) {
    ki_informer *pods = NULL;
    ki_factory *factory = factory_to_nowhere();
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(pods, on_error_kill, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_run(factory, NULL), KI_OK);
    ki_factory_free(factory);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void count_add(const ki_event *e, void *user) {
    int *adds = user;
    (void)e;
    ++*adds;
}

static bool memory_scenario(size_t fail_at) {
    host h;
    scarce_memory memory;
    int adds = 0;
    ki_informer *informer = NULL;
    const ki_handler counts = { .on_add = count_add };
    host_init(&h);
    scarce_memory_init(&memory, fail_at);
    ki_status status = test_engine_open(&h.engine, &memory.allocator, 1) ? KI_OK : KI_ERR_NO_MEMORY;
    if (status)
        goto out;
    assert_true(test_engine_settle(&h.engine));
    status = connect_host(&h, "default");
    if (!status)
        status = ki_factory_informer(h.factory, KI_CONFIGMAPS, NULL, &informer, NULL);
    if (!status)
        status = ki_informer_add_handler(informer, &counts, &adds, NULL, NULL, NULL);
    /* Others, for which the engine's table of timers has to grow at the start. */
    static const char *const selectors[] = { "app=a", "app=b", "app=c" };
    ki_informer *other = NULL;
    for (size_t i = 0; !status && i < sizeof selectors / sizeof *selectors; i++)
        status = ki_factory_informer(h.factory, KI_CONFIGMAPS,
                                     &KI_INFORMER_OPTIONS(.label_selector = selectors[i], .resync_ms = i ? 100 : 5000),
                                     &other, NULL);
    if (!status)
        status = ki_factory_start(h.factory, NULL);
    if (!status) {
        /* No stream of the initial list ends here: it is given up after 30 s, then all goes on. */
        for (int i = 0; i < ADVANCES_MAX && !(adds == 2 && ki_factory_has_synced(h.factory) && h.server.watches[3]);
             i++)
            assert_true(test_engine_advance(&h.engine, 1000));
        assert_int_equal(adds, 2);
        assert_true(ki_factory_has_synced(h.factory));
        ki_snapshot *snapshot = ki_informer_snapshot(informer);
        assert_int_equal(ki_snapshot_count(snapshot), 2);
        ki_snapshot_free(snapshot);
    }
    assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
    ki_factory_free(h.factory);
    ki_transport_free(h.transport);
    test_engine_close(&h.engine);
out:
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return scarce_memory_failed(&memory);
}

TEST(it_gets_there_whatever_allocation_fails) {
    for (size_t n = 0; memory_scenario(n); n++) {}
}

/* test_elector_threads.c: an elector on a loop of its own, asked and stopped by other threads meanwhile. For the thread
 * sanitizer. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer/client.h>

#include "src/factory/factory.h"
#include "testing/memory/transport.h"
#include "tests/support/rest_server.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    THREADS = 3,
    REQUESTS = 200,
    TOLERANCE_MS = 3600000
};

typedef struct scene {
    rest_server server; /* the loop's */
    ki_engine *engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_elector *elector;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    int requests, stops;
    int unanswered; /* requests for ConfigMaps, which get no response */
    _Atomic bool is_over;
    _Atomic int wrong;
} scene;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    scene *self = user;
    if (strstr(request->target, "configmaps")) {
        pthread_mutex_lock(&self->lock);
        self->unanswered++;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->lock);
        return;
    }
    const ki_response_head head = {
        .status =
            rest_send_bytes(&self->server, request->method, request->target, request->content_type, request->body),
        .retry_after_ms = -1,
        .content_type = "application/json",
    };
    pthread_mutex_lock(&self->lock);
    self->requests++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, self->server.text.data, self->server.text.size))
        kt_memory_call_end(call, NULL);
}

static void on_stopped(ki_elector *elector, void *user) {
    scene *self = user;
    (void)elector;
    pthread_mutex_lock(&self->lock);
    self->stops++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

static void *ask(void *user) {
    scene *self = user;
    while (!atomic_load(&self->is_over)) {
        char leader[8];
        ki_elector_leader(self->elector, leader, sizeof leader);
        bool is_right = (strcmp(leader, "me") == 0 || leader[0] == '\0') &&
                        ki_elector_fencing_token(self->elector) <= 0 &&
                        ki_elector_check(self->elector, TOLERANCE_MS, NULL) == KI_OK;
        if (!is_right || (ki_elector_is_leader(self->elector) && leader[0] == 'y'))
            atomic_fetch_add(&self->wrong, 1);
    }
    return NULL;
}

static void wait_until(scene *self, const int *count, int least) {
    pthread_mutex_lock(&self->lock);
    while (*count < least)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

static void open_scene(scene *self) {
    *self = (scene){ .requests = 0 };
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    rest_server_start(&self->server, &(kt_cluster_options){ .seed = 1 });
    const kt_memory_server server = { serve, NULL, self };
    assert_int_equal(ki_engine_new(NULL, &self->engine, NULL), KI_OK);
    assert_int_equal(kt_memory_transport_new(self->engine, &server, &self->transport, NULL), KI_OK);
    assert_int_equal(
        ki_factory_new_on(NULL, self->transport, &KI_FACTORY_OPTIONS(.engine = self->engine), &self->factory, NULL),
        KI_OK);
    assert_int_equal(
        ki_elector_new(self->factory,
                       &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me",
                                           .lease_duration_ms = TOLERANCE_MS, .retry_period_ms = 1,
                                           .release_on_stop = true, .callbacks = { .on_stopped_leading = on_stopped },
                                           .user = self),
                       &self->elector, NULL),
        KI_OK);
}

static void close_scene(scene *self) {
    ki_elector_free(self->elector);
    ki_factory_free(self->factory);
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
    rest_server_stop(&self->server);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

TEST(any_thread_may_ask_and_stop_an_elector) {
    scene self;
    pthread_t threads[THREADS];
    open_scene(&self);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &self), 0);
    assert_int_equal(ki_factory_start(self.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
    wait_until(&self, &self.requests, REQUESTS);
    assert_true(ki_elector_is_leader(self.elector));
    ki_elector_stop(self.elector);
    wait_until(&self, &self.stops, 1);
    assert_false(ki_elector_is_leader(self.elector));
    assert_int_equal(ki_factory_shutdown(self.factory, NULL), KI_OK);
    atomic_store(&self.is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(self.stops, 1);
    ki_engine_stop(self.engine);
    assert_int_equal(ki_engine_join(self.engine, NULL), KI_OK);
    assert_int_equal(rest_get(&self.server, "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock"), 200);
    assert_true(rest_has(&self.server, "\"holderIdentity\":\"\""));
    close_scene(&self);
}

TEST(an_elector_may_be_freed_while_its_loop_runs) {
    for (int requests = 0; requests < 20; requests++) {
        scene self;
        open_scene(&self);
        assert_int_equal(ki_factory_start(self.factory, NULL), KI_OK);
        assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
        wait_until(&self, &self.requests, requests);
        ki_elector_free(self.elector);
        self.elector = NULL;
        assert_in_range(self.stops, requests > 0 ? 1 : 0, 1);
        close_scene(&self);
    }
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    scene *self = user;
    (void)call, (void)key;
    return ki_client_get(ki_factory_client(self->factory), KI_CONFIGMAPS, "default", "x",
                         &KI_REQUEST_OPTIONS(.timeout_ms = -1), NULL, err);
}

/* Without the term's end the worker would wait for ever. */
TEST(a_worker_that_waits_for_a_response_is_released_by_the_end_of_its_term) {
    scene self;
    ki_controller *controller = NULL;
    open_scene(&self);
    assert_int_equal(ki_controller_new(self.factory,
                                       &KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = reconcile, .user = &self,
                                                              .elector = self.elector),
                                       &controller, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_start(self.factory, NULL), KI_OK);
    assert_int_equal(ki_engine_start(self.engine, NULL), KI_OK);
    assert_int_equal(ki_workqueue_add(ki_controller_queue(controller), "x"), KI_OK);
    wait_until(&self, &self.unanswered, 1);
    ki_elector_stop(self.elector);
    ki_controller_free(controller); /* waits for the reconcile */
    close_scene(&self);
}

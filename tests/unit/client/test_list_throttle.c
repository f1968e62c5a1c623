/* test_list_throttle.c: an informer's lists wait for their turn in the client's own limit, its watches do not. */
#include "testing/memory/transport.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <string.h>

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_throttle throttle;
    ki_list_watch *first, *second;
    int requests, ends, opens;
} fixture;

static const char list[] =
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    fixture *self = user;
    self->requests++;
    const ki_response_head head = { .status = 200, .retry_after_ms = -1, .content_type = "application/json" };
    if (!kt_memory_call_head(call, &head) || strstr(request->target, "watch="))
        return;
    if (kt_memory_call_data(call, list, sizeof list - 1))
        kt_memory_call_end(call, NULL);
}

static void on_object(ki_object *obj, void *user) {
    (void)obj;
    (void)user;
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    (void)bad;
    (void)user;
}

static void on_list_end(const ki_list_result *result, const ki_error *err, void *user) {
    assert_non_null(result);
    assert_null(err);
    ((fixture *)user)->ends++;
}

static void on_open(void *user) {
    ((fixture *)user)->opens++;
}

static void on_watch_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    (void)err;
    (void)opened;
    (void)in_stream;
    (void)user;
}

static void begin_list(fixture *self, ki_list_watch *list_watch) {
    const ki_list_handler handler = {
        .on_object = on_object, .on_bad_object = on_bad_object, .on_end = on_list_end, .user = self
    };
    const ki_list_options options = { .limit = 0 };
    assert_int_equal(list_watch->ops->list(list_watch, &options, &handler, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
}

static void begin_watch(fixture *self, ki_list_watch *list_watch) {
    const ki_watch_handler handler = {
        .on_bad_object = on_bad_object, .on_open = on_open, .on_end = on_watch_end, .user = self
    };
    const ki_watch_options options = { .resource_version = "1" };
    assert_int_equal(list_watch->ops->watch(list_watch, &options, &handler, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
}

/* One a second. */
static void open_fixture(fixture *self) {
    *self = (fixture){ .requests = 0 };
    assert_true(test_engine_open(&self->engine, NULL, 1));
    ki_engine *engine = self->engine.engine;
    const kt_memory_server server = { serve, NULL, self };
    const selected of = { .resource = *KI_PODS };
    ki_throttle_init(&self->throttle, engine, 1, 1);
    assert_int_equal(kt_memory_transport_new(engine, &server, &self->transport, NULL), KI_OK);
    assert_int_equal(
        ki_object_format_new(ki_engine_allocator(engine), &KI_OBJECT_FORMAT_OPTIONS(.view = NULL), &self->format, NULL),
        KI_OK);
    assert_int_equal(source_of(&of, engine, self->transport, self->format, &self->throttle, &self->first), KI_OK);
    assert_int_equal(source_of(&of, engine, self->transport, self->format, &self->throttle, &self->second), KI_OK);
}

static void close_fixture(fixture *self) {
    if (self->first)
        self->first->ops->free(self->first);
    if (self->second)
        self->second->ops->free(self->second);
    ki_object_format_unref(self->format);
    ki_throttle_close(&self->throttle);
    ki_transport_free(self->transport);
    test_engine_close(&self->engine);
}

TEST(lists_wait_for_their_turn) {
    fixture self;
    open_fixture(&self);
    begin_list(&self, self.first);
    begin_list(&self, self.second);
    assert_int_equal(self.requests, 1);
    assert_true(test_engine_advance(&self.engine, 999));
    assert_int_equal(self.ends, 1);
    assert_true(test_engine_advance(&self.engine, 1));
    assert_int_equal(self.ends, 2);
    close_fixture(&self);
}

TEST(a_watch_does_not_wait) {
    fixture self;
    open_fixture(&self);
    begin_list(&self, self.first);
    begin_watch(&self, self.second);
    assert_int_equal(self.opens, 1);
    begin_list(&self, self.first);
    assert_int_equal(self.ends, 1); /* the watch took nobody's turn, nor gave one */
    assert_true(test_engine_advance(&self.engine, 1000));
    assert_int_equal(self.ends, 2);
    close_fixture(&self);
}

TEST(a_list_that_waits_can_be_cancelled_and_freed) {
    for (int freed = 0; freed < 2; freed++) {
        fixture self;
        open_fixture(&self);
        begin_list(&self, self.first);
        begin_list(&self, self.second);
        begin_list(&self, self.first);
        if (freed) {
            self.second->ops->free(self.second);
            self.second = NULL;
        } else {
            self.second->ops->cancel(self.second);
        }
        assert_true(test_engine_advance(&self.engine, 1000));
        assert_int_equal(self.ends, 2); /* the one behind has its turn */
        assert_true(test_engine_advance(&self.engine, 9000));
        assert_int_equal(self.requests, 2);
        close_fixture(&self);
    }
}

TEST(a_list_that_waits_long_is_not_called_silent) {
    fixture self;
    open_fixture(&self);
    ki_limiter_init(&self.throttle.limiter, 1, 1, self.engine.now);
    self.throttle.limiter.cost_ns = self.throttle.limiter.full_ns = self.throttle.limiter.credit_ns = 900000000000;
    begin_list(&self, self.first);
    begin_list(&self, self.second);
    assert_true(test_engine_advance(&self.engine, 899999));
    assert_int_equal(self.ends, 1);
    assert_true(test_engine_advance(&self.engine, 1));
    assert_int_equal(self.ends, 2);
    close_fixture(&self);
}

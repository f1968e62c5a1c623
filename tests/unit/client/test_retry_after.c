/* test_retry_after.c: no request comes before the end of a Retry-After, whichever way the error response ended. The
 * server sends the head of an error and no end; the client cancels. */
#include "src/client/name_lookup.h"
#include "testing/memory/transport.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <string.h>

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_list_watch *source;
    ki_name_lookup lookup;
    ki_response_head head;
    int requests;
} fixture;

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    (void)request;
    fixture *f = user;
    f->requests++;
    (void)kt_memory_call_head(call, &f->head);
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

static void set_up(fixture *f) {
    static const selected pods = { .resource = { "", "v1", "pods", "Pod", true } };
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, NULL, 1));
    ki_engine *engine = f->engine.engine;
    const kt_memory_server server = { serve, abandoned, f };
    assert_int_equal(kt_memory_transport_new(engine, &server, &f->transport, NULL), KI_OK);
    assert_int_equal(ki_object_format_new(ki_engine_allocator(engine), NULL, &f->format, NULL), KI_OK);
    assert_int_equal(source_of(&pods, engine, f->transport, f->format, NULL, &f->source), KI_OK);
    ki_name_lookup_init(&f->lookup, engine, f->transport, "example.com", "foos");
}

static void cancel(fixture *f) {
    f->source->ops->cancel(f->source);
    ki_document_request_cancel(&f->lookup.request);
}

static void tear_down(fixture *f) {
    cancel(f);
    f->source->ops->free(f->source);
    ki_object_format_unref(f->format);
    ki_transport_free(f->transport);
    test_engine_close(&f->engine);
}

static void ignore_open(void *user) {
    (void)user;
}

static ki_status begin_list(fixture *f, ki_error *err) {
    const ki_list_options options = { .limit = 0 };
    const ki_list_handler handler = { .user = f }; /* no object, and no end */
    return f->source->ops->list(f->source, &options, &handler, err);
}

static ki_status begin_watch(fixture *f, ki_error *err) {
    const ki_watch_options options = { .resource_version = "1" };
    const ki_watch_handler handler = { .on_open = ignore_open };
    return f->source->ops->watch(f->source, &options, &handler, err);
}

static ki_status begin_lookup(fixture *f, ki_error *err) {
    return ki_name_lookup_begin(&f->lookup, NULL, NULL, err);
}

TEST(no_request_follows_a_cancelled_error_response_before_the_end_of_its_retry_after) {
    static ki_status (*const begin[])(fixture *, ki_error *) = { begin_list, begin_watch, begin_lookup };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        fixture f;
        set_up(&f);
        f.head = (ki_response_head){ 504, 3000, "application/json" };
        assert_int_equal(begin[i](&f, NULL), KI_OK);
        assert_true(test_engine_settle(&f.engine));
        cancel(&f);
        assert_true(test_engine_advance(&f.engine, 2900));
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(begin[i](&f, &err), KI_ERR_STATE);
        assert_int_equal(err.retry_after_ms, 100);
        assert_int_equal(err.category, KI_CATEGORY_RETRY);
        assert_non_null(strstr(err.message, "the server wants no request for 0.1 s (Retry-After)"));
        assert_true(test_engine_advance(&f.engine, 100));
        assert_int_equal(begin[i](&f, &err), KI_OK);
        assert_true(test_engine_settle(&f.engine));
        assert_int_equal(f.requests, 2);
        tear_down(&f);
    }
}

/* A Retry-After beside a 200 is about nothing that the client does next. */
TEST(a_request_follows_a_cancelled_response_without_an_error_at_once) {
    static ki_status (*const begin[])(fixture *, ki_error *) = { begin_list, begin_watch, begin_lookup };
    static const ki_response_head heads[] = { { 200, 3000, "application/json" }, { 504, -1, "application/json" } };
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        for (size_t j = 0; j < sizeof heads / sizeof *heads; j++) {
            fixture f;
            set_up(&f);
            f.head = heads[j];
            assert_int_equal(begin[i](&f, NULL), KI_OK);
            assert_true(test_engine_settle(&f.engine));
            cancel(&f);
            assert_int_equal(begin[i](&f, NULL), KI_OK);
            assert_true(test_engine_settle(&f.engine));
            assert_int_equal(f.requests, 2);
            tear_down(&f);
        }
    }
}

/* test_decoding_in_steps.c: one buffer may hold thousands of items. No step of the engine decodes more of them than it has work for; what is left waits,
 * and so does the end that came behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/client/http_list_watch.h"
#include "testing/memory/transport.h"
#include "tests/support/test_engine.h"

#include <stdlib.h>
#include <string.h>

enum {
    ITEMS = 2000
};

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_list_watch *list_watch;
    kt_memory_call *call; /* under way at the server */
    size_t bad, ends;
    ki_status end;
    size_t cancel_at; /* bad items */
} fixture;

static const ki_resource things = { "example.com", "v1", "things", "Thing", true };

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    (void)request;
    ((fixture *)user)->call = call;
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    ((fixture *)user)->call = NULL;
}

static void on_object(ki_object *obj, void *user) {
    (void)obj;
    (void)user;
    fail_msg("an object of nothing");
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    fixture *self = user;
    (void)bad;
    if (++self->bad == self->cancel_at)
        self->list_watch->ops->cancel(self->list_watch);
}

static void ended(fixture *self, const ki_error *err) {
    self->ends++;
    self->call = NULL;
    self->end = err ? err->code : KI_OK;
}

static void on_list_end(const ki_list_result *result, const ki_error *err, void *user) {
    (void)result;
    ended(user, err);
}

static void on_open(void *user) {
    (void)user;
}

static void on_event(ki_change kind, ki_object *obj, void *user) {
    (void)kind;
    on_object(obj, user);
}

static void on_bookmark(const char *version, bool initial_events_end, void *user) {
    (void)version;
    (void)initial_events_end;
    (void)user;
}

static void on_watch_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    (void)opened;
    (void)in_stream;
    ended(user, err);
}

static void set_up(fixture *self) {
    const ki_object_format_options format = { .namespaced = true };
    const ki_http_list_watch_options options = { .resource = things };
    const kt_memory_server server = { serve, abandoned, self };
    *self = (fixture){ .ends = 0 };
    assert_true(test_engine_open(&self->engine, NULL, 1));
    ki_engine *engine = self->engine.engine;
    assert_int_equal(kt_memory_transport_new(engine, &server, &self->transport, NULL), KI_OK);
    assert_int_equal(ki_object_format_new(ki_engine_allocator(engine), &format, &self->format, NULL), KI_OK);
    assert_int_equal(ki_http_list_watch_new(engine, self->transport, self->format, &options, &self->list_watch, NULL),
                     KI_OK);
}

static void tear_down(fixture *self) {
    self->list_watch->ops->free(self->list_watch);
    ki_object_format_unref(self->format);
    ki_transport_free(self->transport);
    test_engine_close(&self->engine);
}

static void open_call(fixture *self, bool watches) {
    const ki_list_handler list = { on_object, on_bad_object, on_list_end, self };
    const ki_watch_handler watch = { .on_open = on_open,
                                     .on_event = on_event,
                                     .on_bookmark = on_bookmark,
                                     .on_bad_object = on_bad_object,
                                     .on_end = on_watch_end,
                                     .user = self };
    ki_list_watch *from = self->list_watch;
    if (watches)
        assert_int_equal(from->ops->watch(from, &(ki_watch_options){ .timeout_s = 300 }, &watch, NULL), KI_OK);
    else
        assert_int_equal(from->ops->list(from, &(ki_list_options){ .limit = 0 }, &list, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
    assert_non_null(self->call);
    assert_true(kt_memory_call_head(self->call, &(ki_response_head){ 200, -1, "application/json" }));
}

/* ITEMS times `item` in one buffer. */
static void send_many(fixture *self, const char *before, const char *item, const char *after) {
    char *text = malloc(strlen(before) + ITEMS * strlen(item) + strlen(after) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, before);
    for (size_t i = 0; i < ITEMS; i++)
        at = stpcpy(at, item);
    at = stpcpy(at, after);
    (void)kt_memory_call_data(self->call, text, (size_t)(at - text));
    free(text);
}

static void send_items(fixture *self, bool watches) {
    if (watches)
        send_many(self, "", "{\"type\":\"X\"}\n", "");
    else
        send_many(self, "{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[null", ",null",
                  "]}");
}

static void a_step_of_one_unit_decodes_an_item_or_two(void **state) {
    (void)state;
    for (int watches = 0; watches < 2; watches++) {
        fixture self;
        set_up(&self);
        open_call(&self, watches);
        send_items(&self, watches);
        kt_memory_call_end(self.call, NULL);
        assert_int_equal(self.ends, 0); /* there is something before it */
        size_t most = 0;
        while (!self.ends) {
            size_t before = self.bad;
            assert_int_equal(ki_engine_timeout(self.engine.engine), 0);
            assert_int_equal(ki_engine_step(self.engine.engine, 1, NULL), KI_OK);
            most = self.bad - before > most ? self.bad - before : most;
        }
        assert_true(most <= 2);
        assert_int_equal(self.bad, watches ? ITEMS : ITEMS + 1);
        assert_int_equal(self.end, KI_OK);
        tear_down(&self);
    }
}

static void an_error_behind_what_waits_comes_after_it(void **state) {
    (void)state;
    fixture self;
    ki_error cut = KI_ERROR_INIT;
    cut.code = KI_ERR_UNEXPECTED_EOF;
    set_up(&self);
    open_call(&self, true);
    send_items(&self, true);
    kt_memory_call_end(self.call, &cut);
    assert_int_equal(self.ends, 0);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.bad, ITEMS);
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.end, KI_ERR_UNEXPECTED_EOF);
    tear_down(&self);
}

static void what_arrives_behind_what_waits_is_decoded_after_it(void **state) {
    (void)state;
    fixture self;
    set_up(&self);
    open_call(&self, true);
    send_items(&self, true);
    size_t before = self.bad;
    send_items(&self, true); /* a transport that cannot pause */
    assert_int_equal(self.bad, before);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.bad, 2 * ITEMS);
    tear_down(&self);
}

static void a_cancel_in_the_middle_ends_it_at_once(void **state) {
    (void)state;
    for (int watches = 0; watches < 2; watches++) {
        fixture self;
        set_up(&self);
        self.cancel_at = ITEMS / 2;
        open_call(&self, watches);
        send_items(&self, watches);
        assert_true(test_engine_settle(&self.engine));
        assert_int_equal(self.bad, ITEMS / 2);
        assert_int_equal(self.ends, 0);
        tear_down(&self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_one_unit_decodes_an_item_or_two),
        cmocka_unit_test(an_error_behind_what_waits_comes_after_it),
        cmocka_unit_test(what_arrives_behind_what_waits_is_decoded_after_it),
        cmocka_unit_test(a_cancel_in_the_middle_ends_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

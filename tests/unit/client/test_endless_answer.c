/* test_endless_answer.c: a server that keeps sending, but not what was asked for: no list and no watch lives for ever. The clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/client/http_list_watch.h"
#include "testing/memory/transport.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    test_engine engine;
    ki_transport *transport;
    ki_object_format *format;
    ki_list_watch *list_watch;
    kt_memory_call *call; /* under way at the server */
    int objects;
    int ends;
    ki_error end; /* code 0: it ended well */
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
    ((fixture *)user)->objects++;
}

static void on_bad_object(const ki_bad_object *bad, void *user) {
    fail_msg("%s: %s", bad->key, ki_error_message(bad->err));
    (void)user;
}

static void ended(fixture *self, const ki_error *err) {
    self->ends++;
    self->call = NULL;
    self->end = err ? *err : (ki_error)KI_ERROR_INIT;
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
    (void)version, (void)initial_events_end, (void)user;
}

static void on_watch_end(const ki_error *err, bool opened, bool in_stream, void *user) {
    assert_true(opened);
    assert_false(in_stream);
    ended(user, err);
}

static void open_fixture(fixture *self, const ki_resource *resource) {
    memset(self, 0, sizeof *self);
    assert_true(test_engine_open(&self->engine, NULL, 1));
    const kt_memory_server server = { serve, abandoned, self };
    assert_int_equal(kt_memory_transport_new(self->engine.engine, &server, &self->transport, NULL), KI_OK);
    assert_int_equal(ki_object_format_new(ki_engine_allocator(self->engine.engine), NULL, &self->format, NULL), KI_OK);
    const ki_http_list_watch_options options = { .resource = *resource };
    assert_int_equal(
        ki_http_list_watch_new(self->engine.engine, self->transport, self->format, &options, &self->list_watch, NULL),
        KI_OK);
}

static void close_fixture(fixture *self) {
    self->list_watch->ops->free(self->list_watch);
    ki_object_format_unref(self->format);
    ki_transport_free(self->transport);
    test_engine_close(&self->engine);
}

static const ki_response_head head = { 200, -1, "application/json" };

static void begin_list(fixture *self) {
    const ki_list_handler handler = { on_object, on_bad_object, on_list_end, self };
    const ki_list_options options = { .idle_timeout_ns = KI_SECONDS(90) };
    assert_int_equal(self->list_watch->ops->list(self->list_watch, &options, &handler, NULL), KI_OK);
    assert_true(test_engine_settle(&self->engine));
    assert_non_null(self->call);
    assert_true(kt_memory_call_head(self->call, &head));
}

/* `text` once a minute; how many times until the end, at most `limit`. */
static int send_each_minute(fixture *self, const char *text, int limit) {
    int minutes = 0;
    for (; minutes < limit && self->call; minutes++) {
        if (kt_memory_call_data(self->call, text, strlen(text)))
            assert_true(test_engine_advance(&self->engine, 60000));
    }
    return minutes;
}

static void white_space_does_not_keep_a_list_alive(void **state) {
    (void)state;
    fixture self;
    open_fixture(&self, &things);
    begin_list(&self);
    assert_int_equal(send_each_minute(&self, "  \n\t", 60), 5);
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
    assert_int_equal(self.end.category, KI_CATEGORY_RETRY);
    assert_non_null(strstr(self.end.message, "no object of the list for 300 s"));
    close_fixture(&self);
}

static void objects_keep_a_slow_list_alive_and_their_end_begins_the_time_anew(void **state) {
    (void)state;
    fixture self;
    open_fixture(&self, &things);
    begin_list(&self);
    const char *begin = "{\"items\":[{\"metadata\":{\"name\":\"a\"}}";
    assert_true(kt_memory_call_data(self.call, begin, strlen(begin)));
    assert_int_equal(send_each_minute(&self, ",{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"1\"}}", 120), 120);
    assert_int_equal(self.objects, 121);
    assert_int_equal(self.ends, 0);
    assert_int_equal(send_each_minute(&self, " ", 60), 4); /* the last object was a minute ago */
    assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
    close_fixture(&self);
}

static void a_watch_ends_a_minute_after_the_time_that_it_asked_for(void **state) {
    (void)state;
    static const char *const texts[] = { "\n", "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\","
                                               "\"resourceVersion\":\"2\"}}}" };
    for (size_t i = 0; i < 2; i++) {
        fixture self;
        open_fixture(&self, &things);
        const ki_watch_handler handler = {
            .on_open = on_open,
            .on_event = on_event,
            .on_bookmark = on_bookmark,
            .on_bad_object = on_bad_object,
            .on_end = on_watch_end,
            .user = &self,
        };
        const ki_watch_options options = { .resource_version = "1",
                                           .timeout_s = 300,
                                           .idle_timeout_ns = KI_SECONDS(90) };
        assert_int_equal(self.list_watch->ops->watch(self.list_watch, &options, &handler, NULL), KI_OK);
        assert_true(test_engine_settle(&self.engine));
        assert_true(kt_memory_call_head(self.call, &head));
        assert_int_equal(send_each_minute(&self, texts[i], 60), 6);
        assert_int_equal(self.ends, 1);
        assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
        close_fixture(&self);
    }
}

/* Answers a list of custom resources with an empty list. Returns the error that it ends with. */
static ki_error answer_things_with(const char *api_version, const char *kind) {
    fixture self;
    char text[512];
    open_fixture(&self, &things);
    begin_list(&self);
    snprintf(text, sizeof text,
             "{\"items\":[],\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"9\"}}", kind,
             api_version);
    assert_true(kt_memory_call_data(self.call, text, strlen(text)));
    kt_memory_call_end(self.call, NULL);
    assert_int_equal(self.ends, 1);
    ki_error end = self.end;
    close_fixture(&self);
    return end;
}

static void the_list_of_any_built_in_is_none_of_custom_resources(void **state) {
    (void)state;
    const ki_resource *resource;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++) {
        char kind[128], api_version[128];
        snprintf(kind, sizeof kind, "%sList", resource->kind);
        snprintf(api_version, sizeof api_version, "%s%s%s", resource->group, resource->group[0] ? "/" : "",
                 resource->version);
        assert_int_equal(answer_things_with(api_version, kind).code, KI_ERR_PROTOCOL);
    }
}

/* Its items need not say their kind: the list's must not be another built-in's. */
static void a_list_of_another_resource_is_a_protocol_error(void **state) {
    (void)state;
    static const struct {
        const char *api_version, *kind;
        const ki_resource *resource;
        const char *message; /* NULL: it is taken */
    } cases[] = {
        { "v1", "PodList", KI_PODS, NULL },
        { "v1", "List", KI_PODS, NULL },
        { "v1", "ConfigMapList", KI_PODS, "expected PodList, got ConfigMapList of v1" },
        { "apps/v1", "DeploymentList", KI_PODS, "expected PodList, got DeploymentList of apps/v1" },
        { "", "ConfigMapList", KI_PODS, "got ConfigMapList of no apiVersion" },
        { "example.com/v1", "ThingList", &things, NULL },
        { "example.com/v1", "MyOwnList", &things, NULL },
        { "example.com/v1", "PodList", &things, NULL },
        { "v1", "PodList", &things, "expected ThingList, got PodList of v1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture self;
        char text[512];
        open_fixture(&self, cases[i].resource);
        begin_list(&self);
        snprintf(text, sizeof text,
                 "{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"%s\",\"apiVersion\":\"%s\","
                 "\"metadata\":{\"resourceVersion\":\"9\"}}",
                 cases[i].kind, cases[i].api_version);
        assert_true(kt_memory_call_data(self.call, text, strlen(text)));
        kt_memory_call_end(self.call, NULL);
        assert_int_equal(self.ends, 1);
        assert_int_equal(self.end.code, cases[i].message ? KI_ERR_PROTOCOL : KI_OK);
        if (cases[i].message && !strstr(self.end.message, cases[i].message))
            fail_msg("case %zu: %s", i, self.end.message);
        close_fixture(&self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_does_not_keep_a_list_alive),
        cmocka_unit_test(objects_keep_a_slow_list_alive_and_their_end_begins_the_time_anew),
        cmocka_unit_test(a_watch_ends_a_minute_after_the_time_that_it_asked_for),
        cmocka_unit_test(a_list_of_another_resource_is_a_protocol_error),
        cmocka_unit_test(the_list_of_any_built_in_is_none_of_custom_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

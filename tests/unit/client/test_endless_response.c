/* test_endless_response.c: a server that keeps sending, but not what was asked for: no list and no watch lives for
 * ever. The clock is the test's. */

#include "tests/support/http_source_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static void close_good(http_source_stage *self) {
    assert_int_equal(self->bad, 0);
    http_source_close(self);
}

/* `text` once a minute; how many times until the end, at most `limit`. */
static int send_each_minute(http_source_stage *self, const char *text, int limit) {
    int minutes = 0;
    for (; minutes < limit && self->call; minutes++) {
        if (kt_memory_call_data(self->call, text, strlen(text)))
            assert_true(test_engine_advance(&self->engine, 60000));
    }
    return minutes;
}

TEST(white_space_does_not_keep_a_list_alive) {
    http_source_stage self;
    http_source_open(&self, &things);
    http_source_list(&self);
    assert_int_equal(send_each_minute(&self, "  \n\t", 60), 5);
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
    assert_int_equal(self.end.category, KI_CATEGORY_RETRY);
    assert_non_null(strstr(self.end.message, "no object of the list for 300 s"));
    close_good(&self);
}

TEST(objects_keep_a_slow_list_alive_and_their_end_begins_the_time_anew) {
    http_source_stage self;
    http_source_open(&self, &things);
    http_source_list(&self);
    const char *begin = "{\"items\":[{\"metadata\":{\"name\":\"a\"}}";
    assert_true(kt_memory_call_data(self.call, begin, strlen(begin)));
    assert_int_equal(send_each_minute(&self, ",{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"1\"}}", 120), 120);
    assert_int_equal(self.objects, 121);
    assert_int_equal(self.ends, 0);
    assert_int_equal(send_each_minute(&self, " ", 60), 4); /* the last object was a minute ago */
    assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
    close_good(&self);
}

TEST(a_watch_ends_a_minute_after_the_time_that_it_asked_for) {
    static const char *const texts[] = { "\n", "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\","
                                               "\"resourceVersion\":\"2\"}}}" };
    for (size_t i = 0; i < 2; i++) {
        http_source_stage self;
        http_source_open(&self, &things);
        http_source_watch(&self);
        assert_int_equal(send_each_minute(&self, texts[i], 60), 6);
        assert_int_equal(self.ends, 1);
        assert_int_equal(self.end.code, KI_ERR_TIMEOUT);
        close_good(&self);
    }
}

/* Responds to a list of custom resources with an empty list. Returns the error that it ends with. */
static ki_error respond_to_list_with(const char *api_version, const char *kind) {
    http_source_stage self;
    char text[512];
    http_source_open(&self, &things);
    http_source_list(&self);
    snprintf(text, sizeof text,
             "{\"items\":[],\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"9\"}}", kind,
             api_version);
    assert_true(kt_memory_call_data(self.call, text, strlen(text)));
    kt_memory_call_end(self.call, NULL);
    assert_int_equal(self.ends, 1);
    ki_error end = self.end;
    close_good(&self);
    return end;
}

TEST(the_list_of_any_built_in_is_none_of_custom_resources) {
    const ki_resource *resource;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++) {
        char kind[128], api_version[128];
        snprintf(kind, sizeof kind, "%sList", resource->kind);
        snprintf(api_version, sizeof api_version, "%s%s%s", resource->group, resource->group[0] ? "/" : "",
                 resource->version);
        assert_int_equal(respond_to_list_with(api_version, kind).code, KI_ERR_PROTOCOL);
    }
}

/* Its items need not say their kind: the list's must not be another built-in's. */
TEST(a_list_of_another_resource_is_a_protocol_error) {
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
        http_source_stage self;
        char text[512];
        http_source_open(&self, cases[i].resource);
        http_source_list(&self);
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
        close_good(&self);
    }
}

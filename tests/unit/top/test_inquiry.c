/* What is asked about the selected object: its owners and Events, of hostile and incomplete objects. No server: no
 * request is sent before the engine's first step. */
#include "cli/top/inquiry.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

typedef struct stage {
    ki_config *config;
    ki_engine *engine;
    inquiry *inquiry;
    details details;
} stage;

static stage open_stage(void) {
    stage s = { .config = NULL };
    const ki_config_options config = { .size = sizeof config, .server = "http://127.0.0.1:1" };
    assert_int_equal(ki_config_new(&config, &s.config, NULL), KI_OK);
    assert_int_equal(ki_engine_new(NULL, &s.engine, NULL), KI_OK);
    s.inquiry = inquiry_new(s.config, s.engine);
    assert_non_null(s.inquiry);
    return s;
}

static void close_stage(stage *s) {
    inquiry_free(s->inquiry);
    ki_engine_free(s->engine);
    ki_config_free(s->config);
}

/* Rests on a pod without a UID, and reads what is known. */
static void select_pod(stage *s, const char *namespace_name, const char *name, const char *owner) {
    char json[1024];
    snprintf(json, sizeof json,
             "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"ownerReferences\":[{"
             "\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"%s\",\"controller\":true}]}}",
             name, namespace_name, owner);
    ki_object *obj = make_object_from_json(json);
    assert_int_equal(inquiry_select(s->inquiry, obj, 1000), KI_OK);
    assert_int_equal(inquiry_select(s->inquiry, obj, 1000 + INQUIRY_AFTER_MS), KI_OK);
    assert_int_equal(inquiry_read(s->inquiry, &s->details, NULL), KI_OK);
    ki_object_unref(obj);
}

TEST(objects_without_uids_have_their_own_owners) {
    stage s = open_stage();
    select_pod(&s, "shop", "a", "set-a");
    assert_string_equal(s.details.owners, "replicaset set-a");
    select_pod(&s, "shop", "b", "set-b");
    assert_string_equal(s.details.owners, "replicaset set-b");
    select_pod(&s, "test", "b", "set-c");
    assert_string_equal(s.details.owners, "replicaset set-c");
    close_stage(&s);
}

TEST(an_owner_whose_name_no_request_can_have_is_named) {
    static const char *const names[] = { "x\\u001b[2J", "../x", "..", "", "a,b=c\\\\d" };
    stage s = open_stage();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        select_pod(&s, "shop", "a", names[i]);
        assert_non_null(strstr(s.details.owners, "replicaset "));
        assert_string_equal(s.details.message, "");
    }
    close_stage(&s);
}

TEST(a_namespace_that_no_request_can_have_is_why_there_are_no_events) {
    stage s = open_stage();
    select_pod(&s, "x\\u001b[2J", "a", "set");
    assert_string_equal(s.details.owners, "replicaset set");
    assert_non_null(strstr(s.details.message, "namespace"));
    select_pod(&s, "shop", "a", "set");
    assert_string_equal(s.details.message, "");
    close_stage(&s);
}

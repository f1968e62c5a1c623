/* test_create_or_update.c: an object is created, updated or left alone, as controller-runtime's CreateOrUpdate does; a
 * stale cache is not in the way. The server is the embedded one, in the same process. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static ki_client *client;

static int open_stage(void **state) {
    (void)state;
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    stage_start(&stage);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, 60000, NULL, NULL), KI_OK);
    return 0;
}

#define CREATE_OR_UPDATE_TEST(name) TEST_WITH(open_stage, stage_tear_down, name)

/* What the function of a test does. */
typedef struct plan {
    const char *text;   /* sets data.text */
    const char *rename; /* sets metadata.name; NULL: does not */
    bool rivals;        /* another program changes the object first, once */
    ki_status status;   /* returns this */
    int calls;          /* counted by the function */
    bool had_current;   /* at the last call */
} plan;

static ki_unstructured *map(const char *name) {
    return ki_unstructured_for(KI_CONFIGMAPS, "default", name);
}

/* Each call writes another text. */
static void change_as_rival(void) {
    static int count;
    char text[16];
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *other = map("a");
    snprintf(text, sizeof text, "r%d", ++count % 2);
    ki_unstructured_set_string(other, "data.rival", text);
    if (ki_client_apply(client, KI_CONFIGMAPS, other, &KI_REQUEST_OPTIONS(.field_manager = "rival", .force = true),
                        NULL, &err))
        fail_msg("%s", ki_error_message(&err));
}

static ki_status mutate(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    plan *self = user;
    self->calls++;
    self->had_current = current != NULL;
    if (self->rivals)
        change_as_rival();
    self->rivals = false;
    ki_unstructured_set_string(object, "data.text", self->text);
    if (self->rename)
        ki_unstructured_set_string(object, "metadata.name", self->rename);
    return self->status ? ki_error_set(err, self->status, "the function failed") : KI_OK;
}

static ki_status run(plan *self, const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return ki_client_create_or_update(client, stage.configmaps, map("a"), mutate, self, options, ret_obj, err);
}

static void await_version(const ki_object *obj) {
    assert_int_equal(
        ki_informer_wait_for_version(stage.configmaps, "default/a", ki_object_resource_version(obj), 60000, NULL),
        KI_OK);
}

static void expect_text(const ki_object *obj, const char *path, const char *expected) {
    char text[64];
    assert_string_equal(ki_object_string(obj, path, "", text, sizeof text), expected);
}

/* Runs the plan, and asserts what it did. Frees the object that is returned. */
static void expect(plan self, ki_write_result result, int calls) {
    ki_write_result actual = 0;
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    if (run(&self, &KI_REQUEST_OPTIONS(.ret_result = &actual), &obj, &err))
        fail_msg("%s", ki_error_message(&err));
    assert_int_equal(actual, result);
    assert_int_equal(self.calls, calls);
    expect_text(obj, "data.text", self.text);
    await_version(obj);
    ki_object_unref(obj);
}

CREATE_OR_UPDATE_TEST(an_object_is_created_left_alone_and_updated) {
    plan same = { .text = "x" };
    ki_error err = KI_ERROR_INIT;
    expect((plan){ .text = "x" }, KI_WRITE_CREATED, 1);
    expect((plan){ .text = "x" }, KI_WRITE_UNCHANGED, 1);
    assert_int_equal(run(&same, &KI_REQUEST_OPTIONS(.parameters = " "), NULL, &err), KI_OK); /* sends nothing */
    assert_true(same.had_current);
    expect((plan){ .text = "y" }, KI_WRITE_UPDATED, 1);
}

CREATE_OR_UPDATE_TEST(a_change_in_between_is_kept) {
    expect((plan){ .text = "x", .rivals = true }, KI_WRITE_UPDATED, 2); /* created by the other one: AlreadyExists */
    expect((plan){ .text = "y" }, KI_WRITE_UPDATED, 1);
    expect((plan){ .text = "z", .rivals = true }, KI_WRITE_UPDATED, 2); /* changed by the other one: Conflict */
    ki_object *obj = ki_informer_get(stage.configmaps, "default/a");
    expect_text(obj, "data.rival", "r0");
    expect_text(obj, "data.text", "z");
    ki_object_unref(obj);
}

CREATE_OR_UPDATE_TEST(an_object_that_was_deleted_is_created_again) {
    expect((plan){ .text = "x" }, KI_WRITE_CREATED, 1);
    ki_object *before = ki_informer_get(stage.configmaps, "default/a"), *after = NULL;
    plan self = { .text = "y" };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_client_delete(client, KI_CONFIGMAPS, "default", "a", NULL, NULL, NULL), KI_OK);
    if (run(&self, NULL, &after, &err)) /* the cache may still have the object: NotFound */
        fail_msg("%s", ki_error_message(&err));
    assert_string_not_equal(ki_object_uid(after), ki_object_uid(before));
    expect_text(after, "data.text", "y");
    ki_object_unref(before);
    ki_object_unref(after);
}

static ki_status always_rival(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    int *calls = user;
    char text[16];
    (void)current;
    (void)err;
    ki_unstructured *patch = map("a");
    snprintf(text, sizeof text, "%d", ++*calls);
    ki_unstructured_set_string(patch, "data.rival", text);
    assert_int_equal(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, patch, NULL, NULL, NULL), KI_OK);
    ki_unstructured_set_string(object, "data.text", "x");
    return KI_OK;
}

CREATE_OR_UPDATE_TEST(a_conflict_that_does_not_end_is_returned) {
    int calls = 0;
    ki_error err = KI_ERROR_INIT;
    ki_error_response *response = NULL;
    expect((plan){ .text = "w" }, KI_WRITE_CREATED, 1);
    assert_int_equal(ki_client_create_or_update(client, stage.configmaps, map("a"), always_rival, &calls,
                                                &KI_REQUEST_OPTIONS(.ret_error_response = &response), NULL, &err),
                     KI_ERR_HTTP);
    assert_true(ki_error_is_conflict(&err));
    assert_int_equal(calls, 5);
    assert_string_equal(response->reason, "Conflict");
    ki_error_response_free(response);
}

/* Reads another object, which is missing. */
static ki_status read_missing(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    int *calls = user;
    ki_object *other = NULL;
    (void)object;
    (void)current;
    ++*calls;
    return ki_client_get(client, KI_CONFIGMAPS, "default", "missing", NULL, &other, err);
}

CREATE_OR_UPDATE_TEST(a_not_found_of_the_function_is_no_stale_cache) {
    int calls = 0;
    ki_error err = KI_ERROR_INIT;
    expect((plan){ .text = "w" }, KI_WRITE_CREATED, 1);
    assert_int_equal(
        ki_client_create_or_update(client, stage.configmaps, map("a"), read_missing, &calls, NULL, NULL, &err),
        KI_ERR_HTTP);
    assert_true(ki_error_is_not_found(&err));
    assert_int_equal(calls, 1);
}

static ki_status fail_without_words(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    (void)object, (void)current, (void)user, (void)err;
    return KI_ERR_INVALID;
}

CREATE_OR_UPDATE_TEST(a_function_that_fails_without_an_error_gets_one) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(
        ki_client_create_or_update(client, stage.configmaps, map("a"), fail_without_words, NULL, NULL, NULL, &err),
        KI_ERR_INVALID);
    assert_int_equal(err.code, KI_ERR_INVALID);
    assert_string_equal(err.message, "configmaps default/a: the function returned \"invalid argument\"");
}

CREATE_OR_UPDATE_TEST(bad_input_is_an_error_and_nothing_is_written) {
    ki_error err = KI_ERROR_INIT;
    plan self = { .text = "x" };
    plan failing = { .text = "x", .status = KI_ERR_EXISTS }, renaming = { .text = "x", .rename = "b" };
    assert_int_equal(run(&failing, NULL, NULL, &err), KI_ERR_EXISTS);
    assert_string_equal(err.message, "the function failed");
    assert_int_equal(run(&renaming, NULL, NULL, &err), KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "changed the object's name or namespace"));
    assert_int_equal(ki_client_create_or_update(client, stage.configmaps, map(NULL), mutate, &self, NULL, NULL, &err),
                     KI_ERR_INVALID);
    assert_int_equal(ki_client_create_or_update(client, stage.configmaps, NULL, mutate, &self, NULL, NULL, &err),
                     KI_ERR_NO_MEMORY);
    assert_int_equal(ki_client_create_or_update(client, stage.configmaps, map("a"), NULL, &self, NULL, NULL, &err),
                     KI_ERR_INVALID);
    assert_int_equal(ki_client_create_or_update(client, NULL, map("a"), mutate, &self, NULL, NULL, &err),
                     KI_ERR_INVALID);
    assert_int_equal(
        ki_client_create_or_update(client, stage.configmaps, ki_unstructured_new("["), mutate, &self, NULL, NULL, &err),
        KI_ERR_PARSE);
    assert_int_equal(run(&self, &(ki_request_options){ .size = 0 }, NULL, &err), KI_ERR_INVALID);
    ki_informer *keys = NULL;
    assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS,
                                         &KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA, .namespace_name = "default"),
                                         &keys, NULL),
                     KI_OK);
    assert_int_equal(ki_client_create_or_update(client, keys, map("a"), mutate, &self, NULL, NULL, &err),
                     KI_ERR_UNSUPPORTED);
    assert_int_equal(self.calls, 0);
    assert_int_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "a", NULL, NULL, NULL), KI_ERR_HTTP);
}

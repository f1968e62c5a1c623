/* test_shared_views.c: users of one informer who each have a view of their own: one watch, and a struct for each in
 * every object. On the embedded API server, in the engine's time. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 16 /* views of one informer */
};

struct named {
    bool has_app; /* one byte: the next struct begins at the next multiple of 8 */
};
struct counted {
    int64_t generation;
    const char *app;
    ki_list owners;
};
struct owner {
    const char *name;
};

static const ki_field named_fields[] = { KI_FIELD_PRESENT(struct named, has_app, "metadata.labels.app"), KI_FIELD_END };
static const ki_field owner_fields[] = { KI_FIELD(struct owner, name, "name"), KI_FIELD_END };
static const ki_field counted_fields[] = {
    KI_FIELD(struct counted, generation, "metadata.generation"), KI_FIELD(struct counted, app, "metadata.labels.app"),
    KI_FIELD_LIST(struct counted, owners, owner_fields, "metadata.ownerReferences"), KI_FIELD_END
};
static const char labelled[] =
    "\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
    "\"name\":\"o1\",\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"o2\","
    "\"uid\":\"2\"}]";

static ki_status ask(controller_stage *s, const ki_field *fields, bool shares, ki_informer **ret_informer,
                     ki_error *err) {
    return ki_factory_informer(s->factory, KI_CONFIGMAPS,
                               &KI_INFORMER_OPTIONS(.namespace_name = "default", .view = fields, .shares_view = shares,
                                                    .consistency_check_ms = 10000),
                               ret_informer, err);
}

static void expect_both(const ki_object *obj) {
    const struct named *named = ki_object_view(obj);
    const struct counted *counted = ki_object_view_of(obj, counted_fields);
    assert_non_null(counted);
    assert_ptr_equal(ki_object_view_of(obj, named_fields), named);
    assert_true(named->has_app);
    assert_string_equal(counted->app, "web");
    assert_int_equal(counted->owners.count, 2);
    assert_string_equal(((const struct owner *)counted->owners.items)[1].name, "o2");
}

CONTROLLER_TEST(each_user_reads_its_own_struct) {
    ki_informer *informer = NULL, *again = NULL;
    assert_int_equal(ask(&stage, named_fields, false, &informer, NULL), KI_OK);
    assert_int_equal(ask(&stage, counted_fields, true, &again, NULL), KI_OK);
    assert_ptr_equal(again, informer);
    stage_put(&stage, KI_CONFIGMAPS, "default/a", labelled);
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    stage_start(&stage);
    ki_object *a = ki_informer_get(informer, "default/a"), *b = ki_informer_get(informer, "default/b");
    expect_both(a);
    const struct counted *none = ki_object_view_of(b, counted_fields);
    assert_null(none->app);
    assert_int_equal(none->owners.count, 0);
    assert_false(((const struct named *)ki_object_view(b))->has_app);
    /* The same fields in another array are the same view; other fields are none. */
    static const ki_field copy[] = { KI_FIELD_PRESENT(struct named, has_app, "metadata.labels.app"), KI_FIELD_END };
    static const ki_field other[] = { KI_FIELD_PRESENT(struct named, has_app, "metadata.labels.b"), KI_FIELD_END };
    static const ki_field longer[] = { KI_FIELD(struct counted, generation, "metadata.generation"), KI_FIELD_END };
    assert_ptr_equal(ki_object_view_of(a, copy), ki_object_view(a));
    assert_null(ki_object_view_of(a, other));
    assert_null(ki_object_view_of(a, longer));
    assert_null(ki_object_view_of(a, NULL));
    ki_object_unref(a);
    ki_object_unref(b);
    /* One watch, also after the start. */
    stage_put(&stage, KI_CONFIGMAPS, "default/c", labelled);
    stage_advance(&stage, 30000);
    ki_object *c = ki_informer_get(informer, "default/c");
    expect_both(c);
    ki_object_unref(c);
    assert_int_equal(
        stage_metric(
            &stage,
            "reflector_lists_total{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",namespace=\"default\""),
        1);
}

CONTROLLER_TEST(more_than_was_asked_for_before_the_start_is_an_error) {
    ki_informer *informer = NULL, *again = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ask(&stage, named_fields, false, &informer, NULL), KI_OK);
    assert_int_equal(ask(&stage, counted_fields, false, &again, &err), KI_ERR_EXISTS);
    stage_start(&stage);
    assert_int_equal(ask(&stage, counted_fields, true, &again, &err), KI_ERR_STATE);
    assert_string_equal(err.message, "the informer of configmaps in default has started without this view; request it "
                                     "before the start, or with .relists_for_view");
    assert_null(again);
    assert_int_equal(ask(&stage, named_fields, true, &again, NULL), KI_OK);
    assert_int_equal(ask(&stage, NULL, false, &again, NULL), KI_OK);
    assert_ptr_equal(again, informer);
    /* After a removal the views are asked for anew. */
    assert_int_equal(ki_factory_remove_informer(stage.factory, informer, NULL), KI_OK);
    assert_int_equal(ask(&stage, counted_fields, false, &again, NULL), KI_OK);
    assert_int_equal(ask(&stage, named_fields, true, &again, NULL), KI_OK);
}

CONTROLLER_TEST(an_object_made_before_has_the_views_of_that_time) {
    static const char json[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"resourceVersion\":\"1\"}}";
    ki_informer *informer = NULL;
    ki_object *before = NULL, *after = NULL;
    assert_int_equal(ask(&stage, NULL, false, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_object_from_json(informer, json, sizeof json - 1, &before, NULL), KI_OK);
    assert_int_equal(ask(&stage, counted_fields, true, &informer, NULL), KI_OK);
    assert_int_equal(ask(&stage, named_fields, true, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_object_from_json(informer, json, sizeof json - 1, &after, NULL), KI_OK);
    assert_null(ki_object_view(before));
    assert_null(ki_object_view_of(before, named_fields));
    assert_non_null(ki_object_view_of(after, named_fields));
    assert_ptr_equal(ki_object_view_of(after, counted_fields), ki_object_view(after));
    ki_object_unref(before);
    ki_object_unref(after);
}

CONTROLLER_TEST(the_views_of_one_informer_have_limits) {
    static ki_field fields[MANY + 1][2];
    static char paths[MANY + 1][16];
    static const ki_field big[] = { { "a", 0, KI_VIEW_MAX_SIZE, KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    ki_informer *informer = NULL;
    for (int i = 0; i <= MANY; i++) {
        snprintf(paths[i], sizeof paths[i], "f%d", i);
        fields[i][0] = (ki_field){ paths[i], 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL };
        fields[i][1] = (ki_field)KI_FIELD_END;
        ki_status status = ask(&stage, fields[i], true, &informer, NULL);
        assert_int_equal(status, i < MANY ? KI_OK : KI_ERR_LIMIT);
        assert_int_equal(ask(&stage, big, true, &informer, NULL), KI_ERR_LIMIT);
        assert_int_equal(ask(&stage, fields[0], false, &informer, NULL), KI_OK);
    }
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    ki_object *a = ki_informer_get(informer, "default/a");
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(ki_object_view_of(a, fields[i]), (const char *const *)ki_object_view(a) + i);
    ki_object_unref(a);
}

TEST(a_view_without_memory_changes_nothing) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        ki_informer *informer = NULL;
        assert_true(stage_open(&stage, &memory.allocator));
        assert_int_equal(ask(&stage, named_fields, true, &informer, NULL), KI_OK);
        scarce_memory_begin(&memory);
        ki_status status = ask(&stage, counted_fields, true, &informer, NULL);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        if (status)
            assert_int_equal(ask(&stage, counted_fields, true, &informer, NULL), KI_OK);
        stage_put(&stage, KI_CONFIGMAPS, "default/a", labelled);
        stage_start(&stage);
        stage_advance(&stage, 60000); /* for retries */
        ki_object *a = ki_informer_get(informer, "default/a");
        expect_both(a);
        ki_object_unref(a);
        stage_close(&stage);
    }
}

/* ---- views after the start ---- */

static ki_status ask_late(controller_stage *s, ki_informer_options options, const ki_field *fields,
                          ki_informer **ret_informer) {
    options.view = fields;
    options.shares_view = options.relists_for_view = true;
    return ki_factory_informer(s->factory, KI_CONFIGMAPS, &options, ret_informer, NULL);
}

/* Returns the lists of all informers. */
static size_t lists(controller_stage *s) {
    size_t sum = 0;
    char *text = NULL;
    assert_int_equal(ki_factory_metrics_text(s->factory, &text, NULL), KI_OK);
    for (const char *at = text; (at = strstr(at, "\nreflector_lists_total{")) != NULL; at++)
        sum += strtoul(strchr(at, '}') + 1, NULL, 10);
    ki_metrics_text_free(text);
    return sum;
}

/* What a handler saw of the late view. */
typedef struct seen {
    size_t adds_without, adds_with, resyncs, updates;
} seen;

static void see_add(const ki_event *event, void *user) {
    seen *s = user;
    if (ki_object_view_of(event->obj, counted_fields))
        s->adds_with++;
    else
        s->adds_without++;
}

static void see_update(const ki_event *event, void *user) {
    seen *s = user;
    assert_non_null(ki_object_view_of(event->obj, counted_fields));
    if (event->is_resync)
        s->resyncs++;
    else
        s->updates++;
}

static const ki_handler watcher = { .on_add = see_add, .on_update = see_update };

static void expect_count(ki_informer *informer, const char *key, const char *app) {
    ki_object *obj = ki_informer_get(informer, key);
    assert_non_null(obj);
    const struct counted *counted = ki_object_view_of(obj, counted_fields);
    assert_non_null(counted);
    assert_string_equal(counted->app, app);
    ki_object_unref(obj);
}

static ki_status keep_all(ki_object *obj, ki_object **ret_obj, void *user) {
    (void)user;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

CONTROLLER_TEST(a_view_that_is_asked_for_after_the_start_comes_with_a_relist) {
    static const ki_informer_options forms[] = {
        { .size = sizeof(ki_informer_options), .namespace_name = "default", .view = named_fields },
        { .size = sizeof(ki_informer_options), .label_selector = "app" },
        { .size = sizeof(ki_informer_options),
          .queue = KI_QUEUE_DELTA_FIFO,
          .view = named_fields,
          .label_selector = "app=web" },
        { .size = sizeof(ki_informer_options),
          .no_streaming_list = true,
          .page_size = 1,
          .field_selector = "metadata.name!=x" },
        { .size = sizeof(ki_informer_options), .keep = KI_KEEP_VIEW, .view = named_fields },
        { .size = sizeof(ki_informer_options), .keep = KI_KEEP_METADATA, .view = named_fields },
        { .size = sizeof(ki_informer_options), .namespace_set = "some", .view = named_fields },
        { .size = sizeof(ki_informer_options), .namespace_set = "more", .queue = KI_QUEUE_DELTA_FIFO },
    };
    enum {
        FORMS = sizeof forms / sizeof *forms
    };
    ki_informer *informers[FORMS] = { NULL }, *again;
    seen first[FORMS] = { { 0, 0, 0, 0 } }, second[FORMS] = { { 0, 0, 0, 0 } };
    stage_put(&stage, KI_CONFIGMAPS, "default/a", labelled);
    stage_put(&stage, KI_CONFIGMAPS, "default/b", labelled);
    for (size_t i = 0; i < FORMS; i++) {
        assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS, &forms[i], &informers[i], NULL), KI_OK);
        assert_int_equal(ki_informer_add_handler(informers[i], &watcher, &first[i], NULL), KI_OK);
        if (forms[i].namespace_set)
            assert_int_equal(ki_informer_set_namespaces(informers[i], (const char *[]){ "default" }, 1, NULL), KI_OK);
        if (i % 2)
            assert_int_equal(ki_informer_set_transform(informers[i], keep_all, NULL, NULL), KI_OK);
    }
    stage_start(&stage);
    size_t before = lists(&stage);
    for (size_t i = 0; i < FORMS; i++) {
        assert_int_equal(ask_late(&stage, forms[i], counted_fields, &again), KI_OK);
        assert_ptr_equal(again, informers[i]);
        ki_object *a = ki_informer_get(again, "default/a");
        assert_null(ki_object_view_of(a, counted_fields));
        ki_object_unref(a);
        assert_int_equal(ki_informer_add_handler(again, &watcher, &second[i], NULL), KI_OK);
    }
    stage_advance(&stage, 1000);
    size_t after = lists(&stage);
    assert_int_equal(after - before, FORMS);
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"labels\":{\"app\":\"web\",\"is\":\"changed\"}");
    stage_put(&stage, KI_CONFIGMAPS, "default/c", labelled);
    stage_advance(&stage, 1000);
    for (size_t i = 0; i < FORMS; i++) {
        expect_count(informers[i], "default/a", "web");
        expect_count(informers[i], "default/b", "web");
        expect_count(informers[i], "default/c", "web");
        assert_memory_equal(&first[i], &((seen){ 2, 1, 2, 1 }), sizeof(seen));
        assert_memory_equal(&second[i], &((seen){ 2, 1, 2, 1 }), sizeof(seen));
        assert_int_equal(ask_late(&stage, forms[i], counted_fields, &again), KI_OK); /* has it already */
    }
    stage_advance(&stage, 60000);
    assert_int_equal(lists(&stage), after);
}

CONTROLLER_TEST(a_late_view_comes_in_whichever_state_the_informer_is) {
    ki_informer *informer = NULL;
    ki_informer_options options = { .size = sizeof options, .namespace_name = "default", .view = named_fields };
    stage_put(&stage, KI_CONFIGMAPS, "default/a", labelled);
    assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS, &options, &informer, NULL), KI_OK);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    /* Each turn of the loop is another state: not started, connecting, listing, watching. */
    static const char *const apps[] = {
        "metadata.labels.app",     "metadata.labels['app']", ".metadata.labels.app",
        ".metadata.labels['app']", "metadata['labels'].app", "metadata['labels']['app']"
    };
    static ki_field fields[sizeof apps / sizeof *apps][2];
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
        fields[i][0] = (ki_field){ apps[i], 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL };
        fields[i][1] = (ki_field)KI_FIELD_END;
        assert_int_equal(ask_late(&stage, options, fields[i], &informer), KI_OK);
        assert_int_equal(ki_engine_step(stage.engine.engine, 0, NULL), KI_OK);
    }
    stage_advance(&stage, 1000);
    ki_object *a = ki_informer_get(informer, "default/a");
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        assert_string_equal(*(const char *const *)ki_object_view_of(a, fields[i]), "web");
    ki_object_unref(a);
}

TEST(a_late_view_without_memory_changes_nothing_or_comes) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    ki_informer_options options = { .size = sizeof options, .namespace_name = "default", .view = named_fields };
    while (scarce_memory_next(&memory)) {
        ki_informer *informer = NULL;
        assert_true(stage_open(&stage, &memory.allocator));
        stage_put(&stage, KI_CONFIGMAPS, "default/a", labelled);
        assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS, &options, &informer, NULL), KI_OK);
        stage_start(&stage);
        scarce_memory_begin(&memory);
        ki_status status = ask_late(&stage, options, counted_fields, &informer);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        if (status)
            assert_int_equal(ask_late(&stage, options, counted_fields, &informer), KI_OK);
        stage_advance(&stage, 120000); /* for retries */
        ki_object *a = ki_informer_get(informer, "default/a");
        expect_both(a);
        ki_object_unref(a);
        stage_close(&stage);
    }
}

/* --- one struct of several informers ------------------------------------------------------------------------------ */

struct any_object {
    const char *node, *type, *misspelt;
};

static const ki_field any_fields[] = { KI_FIELD(struct any_object, node, "spec.nodeName"),
                                       KI_FIELD(struct any_object, type, "type"),
                                       KI_FIELD(struct any_object, misspelt, "metadata.nam"), KI_FIELD_END };

static void request_any(const ki_resource *resource) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(stage.factory, resource,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "shop", .view = any_fields), &informer,
                                         NULL),
                     KI_OK);
}

static void start_with_any(void) {
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{}},\"spec\":{\"nodeName\":\"n\"");
    stage_put(&stage, KI_SECRETS, "shop/a", "\"labels\":{}},\"type\":\"t\",\"data\":{");
    stage_start(&stage);
}

CONTROLLER_TEST(the_line_synced_names_the_fields_that_no_informer_with_the_struct_has) {
    request_any(KI_PODS);
    request_any(KI_SECRETS);
    start_with_any();
    const char *first = strstr(stage.synced, "; none has ");
    assert_non_null(first); /* of the last one */
    assert_string_equal(first, "; none has metadata.nam\n");
    assert_non_null(strstr(stage.synced, "pods in shop: synced, 1 object"));
    assert_non_null(strstr(stage.synced, "secrets in shop: synced, 1 object"));
}

CONTROLLER_TEST(alone_with_a_struct_an_informer_names_what_its_objects_lack) {
    request_any(KI_PODS);
    start_with_any();
    assert_non_null(strstr(stage.synced, "pods in shop: synced, 1 object; none has type, metadata.nam\n"));
}

/* test_keep.c: informers that keep metadata, a view, or keys: handlers get what they are promised, the cache has no
 * more, and what reads what is not kept is an error. On the embedded API server, in the engine's time. */
#include "src/object/keep.h"
#include "src/object/pack.h"
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <kinformer/parts/list_watch.h>

#include <stdio.h>
#include <string.h>

enum {
    NEVER = 1000000000 /* ms: a resync only after a relist */
};

struct entry {
    const char *text;
};
static const ki_field fields[] = { KI_FIELD(struct entry, text, "metadata.annotations.text"), KI_FIELD_END };

struct labelled {
    ki_string_map labels;
};
static const ki_field label_fields[] = { KI_FIELD(struct labelled, labels, "metadata.labels"), KI_FIELD_END };

#define OPTIONS(...) \
    { .size = sizeof(ki_informer_options), __VA_ARGS__ } /* of a table */

static char noted[2048];

/* Adds what an object has: its content, its view, or only its key. */
static void note(const char *what, const ki_object *obj, bool has_view) {
    size_t used = strlen(noted);
    const struct entry *view = has_view ? ki_object_view(obj) : NULL;
    ki_value json = KI_VALUE_INIT;
    bool is_whole = ki_object_json(obj, &json, NULL) == KI_OK;
    snprintf(noted + used, sizeof noted - used, "%s%s%s%s", what,
             is_whole ? strstr(json.text, "text") ? "text" : "all" : "", view ? "view " : "",
             view && view->text ? view->text : "");
    ki_value_clear(&json);
}

static void on_event(const ki_event *event, void *user) {
    bool has_view = *(const bool *)user;
    const char *types[] = { "", "+", "~", "-" };
    char what[64];
    snprintf(what, sizeof what, " %s%s%s%s:", types[event->type], ki_object_name(event->obj),
             event->is_resync ? " resync" : "", event->final_state_unknown ? " unknown" : "");
    note(what, event->obj, has_view);
    if (event->old)
        note("<", event->old, has_view);
}

static void expect(const char *events) {
    assert_string_equal(noted, events);
    noted[0] = '\0';
}

static ki_informer *ask(const ki_informer_options *options) {
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_factory_informer(stage.factory, KI_PODS, options, &informer, &err))
        fail_msg("%s", ki_error_message(&err));
    return informer;
}

static void add_handler(ki_informer *informer, const bool *has_view) {
    const ki_handler handler = { .on_add = on_event, .on_update = on_event, .on_delete = on_event };
    noted[0] = '\0';
    assert_int_equal(ki_informer_add_handler(informer, &handler, (void *)(uintptr_t)has_view,
                                             &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, NULL),
                     KI_OK);
}

static void put(const char *name, const char *text) {
    char key[64], more[256];
    snprintf(key, sizeof key, "shop/%s", name);
    snprintf(more, sizeof more, "\"labels\":{\"app\":\"web\"},\"annotations\":{\"text\":\"%s\"}", text);
    stage_put(&stage, KI_PODS, key, more);
}

static void fault(const char *line) {
    ki_error err = KI_ERROR_INIT;
    if (kt_faults_add(kt_cluster_faults(stage.cluster), line, kt_memory_adapter_now_ms(stage.adapter), NULL, &err))
        fail_msg("%s: %s", line, ki_error_message(&err));
}

/* Lets the watch miss what `change` does, and ends with a relist. */
static void miss(void (*change)(void)) {
    fault("status,code=410,reason=Expired,verb=watch,resource=pods,count=1");
    kt_cluster_close_watches(stage.cluster);
    change();
    stage_advance(&stage, 60000);
}

/* Returns what the cache has of a pod, as note() says it. */
static const char *cached(ki_informer *informer, const char *key, bool has_view) {
    static char text[sizeof noted];
    char before[sizeof noted];
    ki_object *obj = ki_informer_get(informer, key);
    assert_non_null(obj);
    memcpy(before, noted, sizeof noted);
    noted[0] = '\0';
    note("", obj, has_view);
    memcpy(text, noted, sizeof noted);
    memcpy(noted, before, sizeof noted);
    ki_object_unref(obj);
    return text;
}

static void on_plain(const ki_event *event, void *user) {
    *(bool *)user = ki_object_is_packed(event->obj);
}

/* Plays a list, a change and a relist with objects that pack from `from` bytes on; 0: as they do by themselves. */
static void play_packing(bool is_plain, size_t from, bool expect_packed) {
    static const ki_indexer by_text = { .name = "text", .path = "metadata.annotations.text" };
    bool was_packed = true;
    const ki_handler handler = { .on_update = on_plain };
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.view = fields, .plain = is_plain, .resync_ms = NEVER));
    if (from)
        stage_pack_from(pods, from);
    assert_int_equal(ki_informer_add_indexers(pods, &by_text, 1, NULL), KI_OK);
    put("a", "t1");
    put("b", "a text that is long enough to be packed, a text that is long enough to be packed");
    put("c", "t1");
    stage_start(&stage);
    stage_advance(&stage, 1000);
    assert_int_equal(
        ki_informer_add_handler(pods, &handler, &was_packed, &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, NULL),
        KI_OK);
    put("c", "another text that is long enough to be packed, a text that is long enough to be packed");
    put("a", "t3");
    stage_advance(&stage, 1000);
    assert_false(was_packed); /* on the loop a handler gets the plain object */
    ki_object *obj = ki_informer_get(pods, "shop/c");
    assert_int_equal(ki_object_is_packed(obj), expect_packed);
    assert_string_equal(((const struct entry *)ki_object_view(obj))->text,
                        "another text that is long enough to be packed, a text that is long enough to be packed");
    ki_object_unref(obj);
    assert_int_equal(ki_informer_get_by_index(pods, "text", "t3", &obj, NULL), KI_OK);
    assert_string_equal(ki_object_name(obj), "a");
    ki_object_unref(obj);
    assert_int_equal(ki_informer_get_by_index(pods, "text", "t1", &obj, NULL), KI_ERR_NOT_FOUND);
}

CONTROLLER_TEST(a_cache_packs_its_objects_from_a_size_on) {
    play_packing(false, 1, true);
}

CONTROLLER_TEST(a_small_cache_does_not_pack) {
    play_packing(false, 0, false);
}

CONTROLLER_TEST(a_plain_cache_never_packs) {
    play_packing(true, 0, false);
}

static const bool without_view = false, with_view = true;

static void change_b(void) {
    put("b", "t4");
}

static void change_and_delete(void) {
    put("b", "t5");
    stage_delete(&stage, KI_PODS, "shop/a");
}

CONTROLLER_TEST(metadata_alone_is_listed_watched_and_fetched) {
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA, .resync_ms = NEVER));
    add_handler(pods, &without_view);
    put("a", "t1");
    stage_start(&stage);
    put("b", "t2");
    stage_advance(&stage, 1000);
    expect(" +a:text +b:text");
    put("a", "t3");
    stage_delete(&stage, KI_PODS, "shop/b");
    stage_advance(&stage, 1000);
    expect(" ~a:text<text -b:text");
    ki_object *obj = ki_informer_get(pods, "shop/a");
    ki_value value = KI_VALUE_INIT;
    assert_string_equal(ki_object_kind(obj), "Pod");
    assert_string_equal(ki_object_api_version(obj), "v1");
    assert_string_equal(ki_object_label(obj, "app"), "web");
    char text[16];
    assert_string_equal(ki_object_string(obj, "metadata.annotations.text", "", text, sizeof text), "t3");
    assert_int_equal(ki_object_field(obj, "metadata.creationTimestamp", &value, NULL), KI_OK);
    ki_value_clear(&value);
    assert_int_equal(ki_object_field(obj, "metadata.none", &value, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_object_field(obj, "status", &value, NULL), KI_ERR_STATE);
    ki_object_unref(obj);
    miss(change_b);
    expect(" ~a resync:text<text +b:text");
}

CONTROLLER_TEST(packed_metadata_is_metadata_alone) {
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA));
    stage_pack_from(pods, 1);
    put("a", "a text that is long enough to be packed, a text that is long enough to be packed");
    put("b", "a text that is long enough to be packed, a text that is long enough to be packed");
    stage_start(&stage);
    put("c", "another text that is long enough to be packed, a text that is long enough to be packed");
    stage_advance(&stage, 1000);
    ki_object *obj = ki_informer_get(pods, "shop/c");
    ki_value value = KI_VALUE_INIT;
    assert_true(ki_object_is_packed(obj));
    assert_int_equal(ki_object_field(obj, "status", &value, NULL), KI_ERR_STATE);
    assert_int_equal(ki_object_keep(obj), KI_KEEP_METADATA);
    ki_object_unref(obj);
}

CONTROLLER_TEST(a_view_alone_is_enough_for_every_event) {
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_VIEW, .view = fields, .keep_deleted_ms = 1000000));
    add_handler(pods, &with_view);
    put("a", "t1");
    put("b", "t2");
    stage_start(&stage);
    expect(" +a:view t1 +b:view t2");
    put("a", "t3");
    stage_advance(&stage, 1000);
    expect(" ~a:view t3<view t1");
    miss(change_and_delete);
    expect(" -a unknown:view t3 ~b:view t5<view t2");
    assert_string_equal(cached(pods, "shop/b", true), "view t5");
    bool is_deleted;
    ki_object *deleted = ki_informer_get_or_deleted(pods, "shop/a", &is_deleted);
    assert_true(is_deleted);
    assert_string_equal(((const struct entry *)ki_object_view(deleted))->text, "t3");
    ki_object_unref(deleted);
    add_handler(pods, &with_view);
    stage_advance(&stage, 1000);
    expect(" +b:view t5");
}

/* Makes the text of the view from the whole object. */
static ki_status shorten(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    char json[256], text[64];
    if (strcmp(ki_object_name(obj), "same") == 0) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    const char *whole = ki_object_string(obj, "metadata.annotations.text", NULL, text, sizeof text);
    if (!whole)
        return KI_ERR_NOT_FOUND;
    snprintf(json, sizeof json, "{\"metadata\":{\"annotations\":{\"text\":\"%s of %s\"}}}", whole, ki_object_name(obj));
    return ki_object_with_json(obj, json, strlen(json), ret_obj, NULL);
}

CONTROLLER_TEST(a_view_is_kept_of_what_a_transform_made_of_the_whole_object) {
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_VIEW, .view = fields, .resync_ms = NEVER));
    assert_int_equal(ki_informer_set_transform(pods, shorten, NULL, NULL), KI_OK);
    add_handler(pods, &with_view);
    put("a", "t1");
    put("same", "t2");
    stage_start(&stage);
    put("a", "t3");
    stage_advance(&stage, 1000);
    expect(" +a:view t1 of a +same:view t2 ~a:view t3 of a<view t1 of a");
    miss(change_b);
    expect(" ~a resync:view t3 of a<view t3 of a +b:view t4 of b ~same resync:view t2<view t2");
}

CONTROLLER_TEST(of_keys_a_change_has_the_whole_object_and_the_cache_the_key) {
    ki_informer *pods =
        ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_KEYS, .keep_deleted_ms = 1000000, .resync_ms = 120000));
    add_handler(pods, &without_view);
    put("a", "t1");
    put("b", "t2");
    stage_start(&stage);
    expect(" +a:text +b:text");
    put("a", "t3");
    put("c", "t3");
    stage_delete(&stage, KI_PODS, "shop/c");
    stage_advance(&stage, 1000);
    expect(" ~a:text< +c:text -c:text");
    assert_string_equal(cached(pods, "shop/a", false), "");
    miss(change_and_delete);
    expect(" -a unknown: ~b:text<");
    stage_advance(&stage, 120000);
    expect(" ~b resync:<");
    bool is_deleted;
    ki_object *deleted = ki_informer_get_or_deleted(pods, "shop/c", &is_deleted);
    assert_true(is_deleted);
    assert_null(ki_object_label(deleted, "app"));
    ki_object_unref(deleted);
    add_handler(pods, &without_view);
    stage_advance(&stage, 1000);
    expect(" +b:");
}

static void on_fetched(ki_informer *informer, const char *key, const ki_object *obj, const ki_error *err, void *user) {
    (void)informer;
    (void)key;
    note(err ? ki_status_name(err->code) : " fetched:", obj, *(const bool *)user);
}

CONTROLLER_TEST(what_is_fetched_is_what_the_cache_would_have) {
    static const struct {
        ki_informer_options options;
        const char *had;
    } cases[] = {
        { OPTIONS(.keep = KI_KEEP_METADATA, .label_selector = "app=web"), " fetched:text" },
        { OPTIONS(.keep = KI_KEEP_METADATA, .field_selector = "spec.nodeName!=n1"), " fetched:text" },
        { OPTIONS(.keep = KI_KEEP_VIEW, .view = fields, .label_selector = "app"), " fetched:view t1" },
        { OPTIONS(.keep = KI_KEEP_KEYS, .label_selector = "app"), " fetched:" },
    };
    noted[0] = '\0';
    put("a", "t1");
    fault("status,code=403,reason=Forbidden,verb=list+watch,resource=pods");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_informer *pods = ask(&cases[i].options);
        stage_start(&stage);
        assert_int_equal(ki_informer_get_or_fetch_async(
                             pods, "shop/a", 1000, on_fetched,
                             (void *)(uintptr_t)(cases[i].options.view ? &with_view : &without_view), NULL),
                         KI_OK);
        stage_advance(&stage, 100);
        expect(cases[i].had);
    }
}

CONTROLLER_TEST(each_form_is_an_informer_of_its_own_which_those_who_ask_for_it_share) {
    ki_informer *informers[4];
    for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
        const ki_informer_options options =
            KI_INFORMER_OPTIONS(.keep = keep, .view = keep == KI_KEEP_KEYS ? NULL : fields);
        informers[keep] = ask(&options);
        assert_ptr_equal(ask(&options), informers[keep]);
        for (ki_keep before = KI_KEEP_OBJECT; before < keep; before++)
            assert_ptr_not_equal(informers[before], informers[keep]);
    }
    put("a", "t1");
    stage_start(&stage);
    assert_string_equal(cached(informers[KI_KEEP_OBJECT], "shop/a", true), "textview t1");
    assert_string_equal(cached(informers[KI_KEEP_METADATA], "shop/a", true), "textview t1");
    assert_string_equal(cached(informers[KI_KEEP_VIEW], "shop/a", true), "view t1");
    assert_string_equal(cached(informers[KI_KEEP_KEYS], "shop/a", false), "");
    assert_int_equal(
        stage_metric(&stage,
                     "reflector_lists_total{name=\"\",group=\"\",version=\"v1\",resource=\"pods\",namespace=\"\","
                     "label_selector=\"\",field_selector=\"\",keep=\"keys\"}"),
        1);
}

struct placed {
    const char *kind, *version, *name, *node;
};
static const ki_field spec_fields[] = { KI_FIELD(struct placed, kind, "kind"),
                                        KI_FIELD(struct placed, version, ".apiVersion"),
                                        KI_FIELD(struct placed, name, "['metadata'].name"),
                                        KI_FIELD(struct placed, node, "spec.nodeName"), KI_FIELD_END };
static const ki_field bad_fields[] = { KI_FIELD(struct placed, name, "metadata.name["), KI_FIELD_END };

#define OF_SPEC "the view has spec.nodeName, but the cache is to keep only the metadata"

CONTROLLER_TEST(options_that_do_not_fit_a_form_are_errors) {
    static const struct {
        ki_informer_options options;
        const char *message;
    } cases[] = {
        { OPTIONS(.keep = (ki_keep)4), "ki_informer_options: .keep 4: no such value" },
        { OPTIONS(.keep = KI_KEEP_VIEW), "the cache is to keep only the view, but there is no view" },
        { OPTIONS(.keep = KI_KEEP_KEYS, .view = fields), "a view, but the cache is to keep only the keys" },
        { OPTIONS(.keep = KI_KEEP_METADATA, .view = spec_fields), OF_SPEC },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_informer *informer = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, &cases[i].options, &informer, &err),
                         KI_ERR_INVALID);
        assert_string_equal(ki_error_message(&err), cases[i].message);
    }
    ki_client *client = ki_factory_client(stage.factory);
    ki_informer *informer = NULL;
    ki_list_watch *source = NULL;
    ki_informer_options options = KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA, .view = spec_fields);
    assert_int_equal(ki_list_watch_new(client, KI_PODS, &options, &source, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "pods", &options, &informer, NULL), KI_ERR_INVALID);
    const ki_informer_options of_set = KI_INFORMER_OPTIONS(.namespace_set = "mine");
    assert_int_equal(ki_list_watch_new(client, KI_PODS, &of_set, &source, NULL), KI_ERR_INVALID);
    options.view = bad_fields;
    assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, &options, &informer, NULL), KI_ERR_PARSE);
}

static void ignore_event(const ki_event *event, void *user) {
    (void)event, (void)user;
}

static bool accept(const ki_object *obj, void *user) {
    (void)obj;
    (void)user;
    return true;
}

static ki_status index_nothing(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_name(obj));
}

/* Lists by a label and by a field of the spec. */
static void check_lists(ki_informer *pods, const ki_status *expected) {
    for (size_t i = 0; i < 2; i++) {
        ki_object_list list;
        ki_status status = ki_lister_list(pods, NULL, i == 0 ? "app" : NULL, i == 1 ? "spec.a=b" : NULL, &list, NULL);
        assert_int_equal(status, expected[i]);
        if (!status)
            ki_object_list_free(&list);
    }
}

CONTROLLER_TEST(what_reads_what_is_not_kept_is_an_error_at_the_call) {
    static const ki_status allowed[5][7] = {
        /* labels, spec, filter, index by a label, by a function, by an annotation, by a field of the spec */
        [KI_KEEP_OBJECT] = { KI_OK, KI_OK, KI_OK, KI_OK, KI_OK, KI_OK, KI_OK },
        [KI_KEEP_METADATA] = { KI_OK, KI_ERR_INVALID, KI_OK, KI_OK, KI_OK, KI_OK, KI_ERR_INVALID },
        [KI_KEEP_VIEW] = { KI_ERR_INVALID, KI_ERR_INVALID, KI_OK, KI_ERR_INVALID, KI_OK, KI_ERR_INVALID,
                           KI_ERR_INVALID },
        [KI_KEEP_KEYS] = { KI_ERR_INVALID, KI_ERR_INVALID, KI_ERR_INVALID, KI_ERR_INVALID, KI_OK, KI_ERR_INVALID,
                           KI_ERR_INVALID },
        [KI_KEEP_VIEW_AND_LABELS] = { KI_OK, KI_ERR_INVALID, KI_OK, KI_OK, KI_OK, KI_ERR_INVALID, KI_ERR_INVALID },
    };
    const ki_handler plain = { .on_add = ignore_event }, filtered = { .on_add = ignore_event, .filter = accept };
    put("a", "t1");
    for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_VIEW_AND_LABELS; keep++) {
        const ki_status *expected = allowed[keep];
        ki_informer_options options = KI_INFORMER_OPTIONS(.keep = keep, .view = keep == KI_KEEP_KEYS ? NULL : fields);
        if (keep == KI_KEEP_VIEW_AND_LABELS) {
            options.keep = KI_KEEP_VIEW;
            options.view = label_fields;
            options.namespace_name = "shop"; /* an informer of its own */
        }
        ki_informer *pods = ask(&options);
        ki_object_list list;
        ki_controller *controller = NULL;
        check_lists(pods, expected); /* also before the start */
        stage_start(&stage);
        assert_int_equal(
            ki_informer_add_handler(pods, &plain, NULL, &KI_REGISTRATION_OPTIONS(.label_selector = "app"), NULL, NULL),
            expected[0]);
        assert_int_equal(ki_informer_add_handler(pods, &plain, NULL,
                                                 &KI_REGISTRATION_OPTIONS(.field_selector = "spec.a=b"), NULL, NULL),
                         expected[1]);
        assert_int_equal(ki_informer_add_handler(pods, &filtered, NULL, NULL, NULL, NULL), expected[2]);
        assert_int_equal(
            ki_informer_add_indexers(pods, &(ki_indexer){ .name = "app", .path = "metadata.labels.app" }, 1, NULL),
            expected[3]);
        assert_int_equal(
            ki_informer_add_indexers(pods, &(ki_indexer){ .name = "name", .index = index_nothing }, 1, NULL),
            expected[4]);
        assert_int_equal(ki_informer_add_indexers(
                             pods, &(ki_indexer){ .name = "text", .path = "['metadata'].annotations.text" }, 1, NULL),
                         expected[5]);
        assert_int_equal(
            ki_informer_add_indexers(pods, &(ki_indexer){ .name = "node", .path = ".spec.nodeName" }, 1, NULL),
            expected[6]);
        assert_int_equal(ki_informer_add_indexers(pods, &(ki_indexer){ .name = "bad", .path = "a[" }, 1, NULL),
                         KI_ERR_PARSE);
        check_lists(pods, expected);
        assert_int_equal(ki_lister_list_by_index(pods, "name", "a", &list, NULL), KI_OK);
        assert_int_equal(list.count, 1);
        ki_object_list_free(&list);
        char name[16];
        snprintf(name, sizeof name, "c%d", (int)keep);
        assert_int_equal(
            ki_controller_new(stage.factory,
                              &KI_CONTROLLER_OPTIONS(.name = name, .reconcile = stage_reconcile, .user = &stage),
                              &controller, NULL),
            KI_OK);
        assert_int_equal(ki_controller_watch(controller, pods, &KI_CONTROLLER_WATCH(.owner = KI_DEPLOYMENTS), NULL),
                         keep >= KI_KEEP_VIEW ? KI_ERR_INVALID : KI_OK);
        ki_controller_free(controller);
    }
}

CONTROLLER_TEST(a_view_of_all_labels_is_selected_and_indexed_by_labels) {
    ki_informer *pods = ask(&KI_INFORMER_OPTIONS(.keep = KI_KEEP_VIEW, .view = label_fields));
    static const ki_indexer by_label[] = { { .name = "app", .path = "metadata.labels['app']" },
                                           { .name = "none", .path = ".metadata.labels.none" } };
    const ki_handler handler = { .on_add = on_event, .on_update = on_event, .on_delete = on_event };
    assert_int_equal(ki_informer_add_indexers(pods, by_label, 2, NULL), KI_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ki_informer_add_handler(
                             pods, &handler, (void *)(uintptr_t)&without_view,
                             &KI_REGISTRATION_OPTIONS(.on_loop = true, .label_selector = i ? "app=db" : "app=web"),
                             NULL, NULL),
                         KI_OK);
    noted[0] = '\0';
    put("a", "t1");
    stage_start(&stage);
    stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"app\":\"none\"}");
    stage_advance(&stage, 1000);
    expect(" +a:");
    stage_put(&stage, KI_PODS, "shop/a",
              "\"labels\":{\"app\":\"db\"}"); /* leaves one handler's selection for the other's */
    stage_advance(&stage, 1000);
    expect(" -a: +a:");
    ki_object_list list;
    assert_int_equal(ki_lister_list(pods, "shop", "app in (db,web)", NULL, &list, NULL), KI_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(ki_object_name(list.objects[0]), "a");
    ki_object_list_free(&list);
    ki_object *obj = NULL;
    assert_int_equal(ki_informer_get_by_index(pods, "app", "web", &obj, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_informer_get_by_index(pods, "app", "db", &obj, NULL), KI_OK);
    assert_string_equal(ki_object_name(obj), "a");
    ki_object_unref(obj);
    const ki_indexer bad = { .name = "bad", .path = "metadata.labels[*]" };
    assert_int_equal(ki_informer_add_indexers(pods, &bad, 1, NULL), KI_ERR_INVALID);
}

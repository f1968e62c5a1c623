/* An object of which less is kept has that, says what it lacks, and is still compared with others. */
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "src/object/selector.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <kinformer/condition.h>
#include <kinformer/diff.h>
#include <kinformer/unstructured.h>

#include <string.h>

struct named {
    const char *node;
};
static const ki_field fields[] = { KI_FIELD(struct named, node, "spec.nodeName"), KI_FIELD_END };

#define METADATA(version) \
    "\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"labels\":{\"app\":\"web\"}," \
    "\"annotations\":{\"x\":\"y\"},\"resourceVersion\":\"" version "\""
#define IN_A_VIEW "; keep a view with the field, or the whole object"
#define MANAGED ",\"managedFields\":[{\"manager\":\"m\"}]"
static const char listed[] = "{" METADATA("7") MANAGED "},\"spec\":{\"nodeName\":\"n1\"}}";
static const char watched[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," METADATA("7") MANAGED "},\"spec\":{\"nodeName\":\"n1\"}}";
static const char other[] = "{" METADATA("7") MANAGED "},\"spec\":{\"nodeName\":\"n2\"}}";
static const char spaced[] = "{ " METADATA("7") MANAGED "} , \"spec\":{\"nodeName\": \"n1\"}}";

static ki_object_format *make_format(ki_keep keep) {
    ki_object_format *format = NULL;
    assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = keep == KI_KEEP_KEYS ? NULL : fields),
                                          &format, NULL),
                     KI_OK);
    ki_object_format_set_keep(format, keep);
    return format;
}

static ki_object *make(ki_object_format *format, const char *json) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, &err))
        fail_msg("%s", ki_error_message(&err));
    return obj;
}

static void assert_json(const ki_object *obj, const char *json) {
    ki_value value = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(obj, &value, NULL), KI_OK);
    assert_string_equal(value.text, json);
    ki_value_clear(&value);
}

static void assert_identity(const ki_object *obj) {
    assert_string_equal(ki_object_key(obj), "n/a");
    assert_string_equal(ki_object_namespace(obj), "n");
    assert_string_equal(ki_object_name(obj), "a");
    assert_string_equal(ki_object_uid(obj), "u");
    assert_string_equal(ki_object_resource_version(obj), "7");
    assert_string_equal(ki_object_api_version(obj), "v1");
    assert_string_equal(ki_object_kind(obj), "Pod");
}

static bool fail_visit(const ki_field_difference *difference, void *user) {
    (void)difference;
    (void)user;
    fail();
    return false;
}

/* Each function that reads the content says that there is none. */
static void assert_no_content(const ki_object *obj, const char *why) {
    ki_value value = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    ki_owner_reference *references = NULL;
    size_t count;
    assert_identity(obj);
    assert_int_equal(ki_object_json(obj, &value, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), why);
    assert_int_equal(ki_object_field(obj, "metadata.name", &value, NULL), KI_ERR_STATE);
    assert_int_equal(ki_object_field(obj, "bad[", &value, NULL), KI_ERR_PARSE);
    assert_int_equal(ki_object_data(obj, "x", &value, NULL), KI_ERR_STATE);
    assert_int_equal(ki_object_owner_references(obj, &references, &count, NULL), KI_ERR_STATE);
    assert_int_equal(ki_object_diff(obj, obj, fail_visit, NULL, NULL), KI_ERR_STATE);
    char text[8];
    assert_string_equal(ki_object_string(obj, "metadata.name", "none", text, sizeof text), "none");
    assert_int_equal(ki_object_int(obj, "spec.replicas", 5), 5);
    assert_true(ki_object_bool(obj, "spec.paused", true));
    assert_null(ki_object_label(obj, "app"));
    assert_int_equal(ki_object_label_count(obj), 0);
    assert_false(ki_object_is_being_deleted(obj));
    assert_false(ki_object_has_finalizer(obj, "f"));
    ki_unstructured *copy = ki_unstructured_from_object(obj);
    assert_null(ki_unstructured_json(copy, &err));
    assert_string_equal(ki_error_message(&err), why);
    ki_unstructured_free(copy);
}

TEST(of_metadata_nothing_else_is_kept) {
    static const struct {
        const char *json, *kept;
    } cases[] = {
        { listed, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "}}" },
        { watched, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "}}" },
        { spaced, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "}}" },
        { "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\"," METADATA("7") "}}",
          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "}}" },
        { "{\"spec\":{\"metadata\":{}}," METADATA("7") "},\"x\":1}",
          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "}}" },
    };
    ki_object_format *format = make_format(KI_KEEP_METADATA);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *obj = make(format, cases[i].json);
        assert_identity(obj);
        assert_json(obj, cases[i].kept);
        assert_string_equal(ki_object_label(obj, "app"), "web");
        ki_object_unref(obj);
    }
    ki_object *obj = NULL;
    assert_int_equal(
        ki_object_from_json(format, KI_STR("{\"metad\\u0061ta\":{\"name\":\"a\"}}"), "v1", "Pod", &obj, NULL),
        KI_ERR_PARSE);
    ki_object_format_unref(format);
}

/* Asserts that a path is one of a field that was not kept. */
static void assert_not_kept(const ki_object *obj, const char *path, const char *why) {
    ki_value value = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_object_field(obj, path, &value, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), why);
}

/* Returns the status of a field. */
static ki_status status_of(const ki_object *obj, const char *path) {
    ki_value value = KI_VALUE_INIT;
    ki_status status = ki_object_field(obj, path, &value, NULL);
    ki_value_clear(&value);
    return status;
}

static void assert_metadata_alone(const ki_object *obj) {
    ki_value value = KI_VALUE_INIT;
    ki_condition condition;
    ki_error err = KI_ERROR_INIT;
    char text[8];
    assert_not_kept(obj, "spec.nodeName", "n/a has no spec.nodeName: the cache keeps only the metadata");
    assert_not_kept(obj, ".spec", "n/a has no .spec: the cache keeps only the metadata");
    assert_not_kept(obj, "['status'].x[7]", "n/a has no ['status'].x[7]: the cache keeps only the metadata");
    assert_int_equal(status_of(obj, "spec.containers[*].image"), KI_ERR_STATE);
    assert_int_equal(status_of(obj, "metadatas"), KI_ERR_STATE);
    assert_int_equal(status_of(obj, "bad["), KI_ERR_PARSE);
    assert_int_equal(status_of(obj, "metadata.none"), KI_ERR_NOT_FOUND);
    assert_int_equal(status_of(obj, "metadata.none[*]"), KI_OK);
    assert_int_equal(status_of(obj, "['metadata'].labels.app"), KI_OK);
    assert_int_equal(status_of(obj, "kind"), KI_OK);
    assert_int_equal(status_of(obj, ".apiVersion"), KI_OK);
    assert_int_equal(ki_object_data(obj, "x", &value, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), "n/a has no data[x]: the cache keeps only the metadata");
    assert_int_equal(ki_object_condition(obj, "Ready", &condition, NULL), KI_ERR_STATE);
    assert_false(ki_object_condition_is(obj, "Ready", "False"));
    assert_string_equal(ki_object_string(obj, "spec.nodeName", "none", text, sizeof text), "none");
}

TEST(of_metadata_alone_other_fields_are_unknown_and_not_absent) {
    ki_object_format *format = make_format(KI_KEEP_METADATA);
    ki_object *obj = make(format, listed), *whole = NULL;
    assert_metadata_alone(obj);
    assert_int_equal(ki_object_keep(obj), KI_KEEP_METADATA);
    assert_int_equal(ki_object_from_json_whole(format, ki_str_of(listed), "v1", "Pod", &whole, NULL), KI_OK);
    assert_int_equal(ki_object_keep(whole), KI_KEEP_OBJECT); /* such as the response of a write */
    assert_int_equal(status_of(whole, "spec.nodeName"), KI_OK);
    assert_int_equal(status_of(whole, "status"), KI_ERR_NOT_FOUND);
    ki_object_unref(whole);
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

TEST(a_transform_of_metadata_alone_adds_fields_and_not_those_that_were_not_kept) {
    static const char more[] = "{" METADATA("7") "},\"spec\":{\"nodeName\":\"n1\"}}";
    ki_object_format *format = make_format(KI_KEEP_METADATA);
    ki_object *obj = make(format, listed), *changed = NULL;
    assert_int_equal(ki_object_with_json(obj, more, strlen(more), &changed, NULL), KI_OK);
    assert_int_equal(status_of(changed, "spec.nodeName"), KI_OK);
    assert_int_equal(status_of(changed, "spec.other"), KI_ERR_NOT_FOUND);
    assert_int_equal(status_of(changed, "status.phase"), KI_ERR_STATE);
    assert_int_equal(ki_object_keep(changed), KI_KEEP_METADATA);
    ki_object_unref(changed);
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

static bool count_visit(const ki_field_difference *difference, void *user) {
    (void)difference;
    ++*(int *)user;
    return true;
}

TEST(metadata_alone_is_compared_with_metadata_alone) {
    static const char *const later = "{" METADATA("8") MANAGED "},\"spec\":{\"nodeName\":\"n2\"}}";
    ki_object_format *format = make_format(KI_KEEP_METADATA);
    ki_object *obj = make(format, listed), *next = make(format, later), *whole = NULL;
    ki_error err = KI_ERROR_INIT;
    int count = 0;
    assert_int_equal(ki_object_diff(obj, next, count_visit, &count, NULL), KI_OK);
    assert_int_equal(count, 1); /* the resource version */
    assert_int_equal(ki_object_from_json_whole(format, ki_str_of(later), "v1", "Pod", &whole, NULL), KI_OK);
    assert_int_equal(ki_object_diff(obj, whole, fail_visit, NULL, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), "n/a: one of two states has metadata alone, so they are not compared");
    assert_int_equal(ki_object_diff(whole, obj, fail_visit, NULL, NULL), KI_ERR_STATE);
    ki_object_unref(whole);
    ki_object_unref(next);
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

TEST(of_a_view_the_content_is_not_kept) {
    ki_object_format *format = make_format(KI_KEEP_VIEW), *whole = make_format(KI_KEEP_OBJECT);
    ki_object *obj = make(format, listed), *all = make(whole, listed);
    assert_no_content(obj, "n/a has no content: the cache keeps only the view" IN_A_VIEW);
    assert_string_equal(((const struct named *)ki_object_view(obj))->node, "n1");
    assert_true(ki_object_memory(obj) + strlen(listed) - strlen(MANAGED) - 8 < ki_object_memory(all));
    ki_object_unref(all);
    ki_object_unref(obj);
    ki_object_format_unref(whole);
    ki_object_format_unref(format);
}

TEST(a_view_of_all_labels_keeps_them_and_one_of_a_label_keeps_that) {
    struct labelled {
        const char *app;
        ki_string_map labels;
    };
    static const ki_field one[] = { KI_FIELD(struct labelled, app, "metadata.labels.app"), KI_FIELD_END };
    static const ki_field all[] = { KI_FIELD(struct labelled, app, "metadata.labels.app"),
                                    KI_FIELD(struct labelled, labels, "metadata.labels"), KI_FIELD_END };
    const ki_field *const views[] = { one, all };
    for (size_t i = 0; i < 2; i++) {
        ki_object_format *format = NULL;
        assert_int_equal(ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = views[i]), &format, NULL), KI_OK);
        ki_object_format_set_keep(format, KI_KEEP_VIEW);
        ki_object *obj = make(format, listed);
        const struct labelled *view = ki_object_view(obj);
        assert_int_equal(ki_object_keep(obj), KI_KEEP_VIEW);
        assert_string_equal(view->app, "web");
        assert_int_equal(view->labels.count, i);
        assert_int_equal(ki_object_label_count(obj), i);
        assert_int_equal(ki_object_has_labels(obj), i);
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

TEST(a_transform_of_a_view_reads_all_of_the_object) {
    static const char shorter[] = "{\"spec\":{\"nodeName\":\"n9\"}}";
    ki_object_format *format = make_format(KI_KEEP_VIEW);
    ki_object_format_set_transform(format);
    ki_object *obj = make(format, listed), *changed = NULL, *kept = NULL, *same = NULL;
    assert_json(obj, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," METADATA("7") "},\"spec\":{\"nodeName\":\"n1\"}}");
    assert_int_equal(ki_object_with_json(obj, shorter, strlen(shorter), &changed, NULL), KI_OK);
    assert_int_equal(ki_object_view_only(changed, &kept, NULL), KI_OK);
    assert_no_content(kept, "n/a has no content: the cache keeps only the view" IN_A_VIEW);
    assert_string_equal(((const struct named *)ki_object_view(kept))->node, "n9");
    assert_int_equal(ki_object_view_only(obj, &same, NULL), KI_OK);
    assert_string_equal(((const struct named *)ki_object_view(same))->node, "n1");
    ki_object *const all[] = { obj, changed, kept, same };
    for (size_t i = 0; i < 4; i++)
        ki_object_unref(all[i]);
    ki_object_format_unref(format);
}

TEST(of_keys_the_object_is_whole_until_it_is_stored) {
    ki_object_format *format = make_format(KI_KEEP_KEYS);
    ki_object *obj = make(format, listed), *kept = NULL, *again = NULL, *view = NULL;
    assert_string_equal(ki_object_label(obj, "app"), "web");
    assert_int_equal(ki_object_view_only(obj, &view, NULL), KI_OK);
    assert_ptr_equal(view, obj);
    assert_int_equal(ki_object_key_only(obj, &kept, NULL), KI_OK);
    assert_no_content(kept, "n/a has no content: the cache keeps only the keys" IN_A_VIEW);
    assert_null(ki_object_view(kept));
    assert_int_equal(ki_object_key_only(kept, &again, NULL), KI_OK);
    assert_ptr_equal(again, kept);
    assert_in_range(ki_object_memory(kept), 40, 64);
    ki_object *const all[] = { obj, kept, again, view };
    for (size_t i = 0; i < 4; i++)
        ki_object_unref(all[i]);
    ki_object_format_unref(format);
}

TEST(states_are_compared_by_their_whole_content_however_little_is_kept) {
    static const char *const later = "{" METADATA("8") MANAGED "},\"spec\":{\"nodeName\":\"n1\"}}";
    for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
        ki_object_format *format = make_format(keep);
        ki_object *known = make(format, listed), *kept = NULL;
        assert_int_equal(ki_object_key_only(known, &kept, NULL), KI_OK);
        const struct {
            const char *json;
            bool is_same;
        } cases[] = {
            { listed, true }, { watched, true }, { spaced, true }, { other, keep == KI_KEEP_METADATA }, { later, false }
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ki_object *obj = make(format, cases[i].json);
            assert_int_equal(ki_object_is_same_state(obj, kept), cases[i].is_same);
            assert_int_equal(ki_object_is_same_state(kept, obj), cases[i].is_same);
            ki_object_unref(obj);
        }
        ki_object_unref(kept);
        ki_object_unref(known);
        ki_object_format_unref(format);
    }
}

TEST(a_selector_of_what_is_not_kept_is_an_error) {
    static const struct {
        const char *labels, *fields;
        bool are_kept[4]; /* with each ki_keep */
        const char *what;
    } cases[] = {
        { "", "", { true, true, true, true }, NULL },
        { NULL, "metadata.name=a,metadata.namespace!=b", { true, true, true, true }, NULL },
        { "app", NULL, { true, true, false, false }, "a selector of labels, but the cache keeps only the view" },
        { NULL,
          "metadata.uid=a",
          { true, true, false, false },
          "a selector of metadata.uid, but the cache keeps only the view" },
        { NULL,
          "spec.nodeName=a",
          { true, false, false, false },
          "a selector of spec.nodeName, but the cache keeps only the view" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selector *selector = NULL;
        assert_int_equal(ki_selector_new(cases[i].labels, cases[i].fields, &selector, NULL), KI_OK);
        for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
            ki_error err = KI_ERROR_INIT;
            ki_status status = ki_selector_check_keep(selector, keep, &err);
            assert_int_equal(status, cases[i].are_kept[keep] ? KI_OK : KI_ERR_INVALID);
            if (keep == KI_KEEP_VIEW && status)
                assert_string_equal(ki_error_message(&err), cases[i].what);
        }
        ki_selector_free(selector);
    }
    assert_int_equal(ki_selector_check_keep(NULL, KI_KEEP_KEYS, NULL), KI_OK);
}

TEST(what_an_object_lacks_matches_no_selector) {
    static const struct {
        const char *labels, *fields;
        bool expected[4]; /* with each ki_keep */
    } cases[] = {
        { NULL, "metadata.name=a", { true, true, true, true } },
        { "app=web", NULL, { true, true, false, false } },
        { "!other", NULL, { true, true, false, false } }, /* unknown, and not absent */
        { NULL, "metadata.annotations.none=", { true, true, false, false } },
        { NULL, "metadata.annotations.none!=x", { true, true, false, false } },
        { NULL, "spec.nodeName=", { true, false, false, false } },
        { NULL, "spec.nodeName!=x", { true, false, false, false } },
        { NULL, "metadata.name=a,spec.nodeName!=x", { true, false, false, false } },
    };
    static const char json[] = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"web\"}}}";
    for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
        ki_object_format *format = NULL;
        ki_object *stored = NULL;
        assert_int_equal(ki_object_format_new(NULL,
                                              &KI_OBJECT_FORMAT_OPTIONS(.view = keep == KI_KEEP_KEYS ? NULL : fields),
                                              &format, NULL),
                         KI_OK);
        ki_object_format_set_keep(format, keep);
        ki_object *obj = make(format, json);
        assert_int_equal(ki_object_key_only(obj, &stored, NULL), KI_OK);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ki_selector *selector = NULL;
            assert_int_equal(ki_selector_new(cases[i].labels, cases[i].fields, &selector, NULL), KI_OK);
            assert_int_equal(ki_object_matches(stored, selector), cases[i].expected[keep]);
            ki_selector_free(selector);
        }
        ki_object_unref(stored);
        ki_object_unref(obj);
        ki_object_format_unref(format);
    }
}

static ki_status make_all(const ki_allocator *allocator, ki_keep keep, const char *json) {
    ki_object_format *format = NULL;
    ki_object *obj = NULL, *view = NULL, *key = NULL;
    ki_status status = ki_object_format_new(
        allocator, &KI_OBJECT_FORMAT_OPTIONS(.view = keep == KI_KEEP_KEYS ? NULL : fields), &format, NULL);
    if (!status) {
        ki_object_format_set_keep(format, keep);
        ki_object_format_set_transform(format);
        status = ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL);
    }
    if (!status)
        status = ki_object_view_only(obj, &view, NULL);
    if (!status)
        status = ki_object_key_only(view, &key, NULL);
    if (!status)
        assert_string_equal(ki_object_key(key), "n/a");
    ki_object_unref(key);
    ki_object_unref(view);
    ki_object_unref(obj);
    ki_object_format_unref(format);
    return status;
}

TEST(each_allocation_may_fail_in_each_form) {
    static const char *const texts[] = { listed, watched, spaced };
    for (ki_keep keep = KI_KEEP_OBJECT; keep <= KI_KEEP_KEYS; keep++) {
        for (size_t i = 0; i < 3; i++) {
            scarce_memory memory = SCARCE_MEMORY_FROM(0);
            while (scarce_memory_next(&memory)) {
                ki_status status = make_all(&memory.allocator, keep, texts[i]);
                assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            }
        }
    }
}

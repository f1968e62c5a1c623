/* test_selection.c: selections: messages, keys, ownership, what is rejected, lack of memory. */
#include "src/base/memory.h"
#include "src/object/selection.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

static const ki_resource pods = { "", "v1", "pods", "Pod", true };
static const ki_resource nodes = { "", "v1", "nodes", "Node", false };
static const ki_resource deployments = { "apps", "v1", "deployments", "Deployment", true };

static ki_selection *selection_of(const ki_resource *resource, const ki_informer_options *options) {
    ki_selection *selection = NULL;
    assert_int_equal(ki_selection_new(&ki_allocator_default, resource, options, &selection, NULL), KI_OK);
    return selection;
}

TEST(messages_name_what_is_selected) {
    static const struct {
        const ki_resource *resource;
        ki_informer_options options;
        const char *name, *target, *api_version;
    } cases[] = {
        { &pods, { .size = 0 }, "pods", "pods in all namespaces", "v1" },
        { &pods, { .namespace_name = "", .label_selector = "" }, "pods", "pods in all namespaces", "v1" },
        { &pods, { .label_selector = "a=b" }, "pods (a=b)", "pods in all namespaces", "v1" },
        { &pods, { .field_selector = "c=d" }, "pods (c=d)", "pods in all namespaces", "v1" },
        { &pods, { .keep = KI_KEEP_METADATA }, "pods (metadata)", "pods in all namespaces", "v1" },
        { &pods, { .keep = KI_KEEP_VIEW }, "pods (view)", "pods in all namespaces", "v1" },
        { &pods,
          { .namespace_name = "shop", .label_selector = "a=b", .keep = KI_KEEP_KEYS },
          "pods in shop (a=b, keys)",
          "pods in namespace shop",
          "v1" },
        { &nodes, { .namespace_name = "shop" }, "nodes", "nodes", "v1" },
        { &deployments,
          { .namespace_name = "shop", .label_selector = "a=b", .field_selector = "c=d" },
          "deployments in shop (a=b, c=d)",
          "deployments.apps in namespace shop",
          "apps/v1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selection *selection = selection_of(cases[i].resource, &cases[i].options);
        assert_string_equal(selection->name, cases[i].name);
        assert_string_equal(selection->target, cases[i].target);
        assert_string_equal(selection->api_version, cases[i].api_version);
        assert_string_equal(selection->resource.kind, cases[i].resource->kind);
        ki_selection_unref(selection);
    }
}

TEST(a_selection_owns_its_texts) {
    char texts[][8] = { "g", "v", "plural", "Kind", "ns", "l=1", "f=1" };
    const ki_resource resource = { texts[0], texts[1], texts[2], texts[3], true };
    const ki_informer_options options = { .namespace_name = texts[4],
                                          .label_selector = texts[5],
                                          .field_selector = texts[6] };
    ki_selection *selection = selection_of(&resource, &options);
    ki_selection *same = ki_selection_ref(selection);
    memset(texts, 'x', sizeof texts);
    ki_selection_unref(selection);
    assert_string_equal(same->resource.group, "g");
    assert_string_equal(same->resource.version, "v");
    assert_string_equal(same->resource.plural, "plural");
    assert_string_equal(same->resource.kind, "Kind");
    assert_true(same->resource.namespaced);
    assert_string_equal(same->namespace_name, "ns");
    assert_string_equal(same->label_selector, "l=1");
    assert_string_equal(same->field_selector, "f=1");
    ki_selection_unref(same);
    ki_selection_unref(NULL);
}

TEST(the_keys_of_different_selections_differ) {
    static const struct {
        ki_resource resource;
        ki_informer_options options;
    } cases[] = {
        { { "", "v1", "foos", "Foo", true }, { .size = 0 } },
        { { "g", "v1", "foos", "Foo", true }, { .size = 0 } },
        { { "", "gv1", "foos", "Foo", true }, { .size = 0 } },
        { { "", "v1", "foosx", "Foo", true }, { .size = 0 } },
        { { "", "v1", "foos", "Foo", true }, { .namespace_name = "x" } },
        { { "", "v1", "foos", "Foo", true }, { .label_selector = "x" } },
        { { "", "v1", "foos", "Foo", true }, { .field_selector = "x" } },
        { { "", "v1", "foos", "Foo", true }, { .namespace_name = "x", .label_selector = "x" } },
        { { "", "v1", "foos", "Foo", true }, { .namespace_name = "xx" } },
    };
    enum {
        COUNT = sizeof cases / sizeof *cases
    };
    ki_selection *made[COUNT], *again[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        made[i] = selection_of(&cases[i].resource, &cases[i].options);
        again[i] = selection_of(&cases[i].resource, &cases[i].options);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++)
            assert_int_equal(ki_str_equal(made[i]->key, again[k]->key), i == k);
    for (size_t i = 0; i < COUNT; i++) {
        ki_selection_unref(made[i]);
        ki_selection_unref(again[i]);
    }
}

TEST(what_no_informer_can_cache_is_rejected) {
    static char most[64 * 1024 + 1], too_long[64 * 1024 + 2];
    memset(most, 'a', sizeof most - 1);
    memset(too_long, 'a', sizeof too_long - 1);
    static const ki_resource no_kind = { "", "v1", "foos", "", true }, no_group = { NULL, "v1", "foos", "Foo", true };
    static const ki_resource reviews = { "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false };
    const struct {
        const ki_resource *resource;
        const char *labels, *fields;
        ki_status status;
    } cases[] = {
        { NULL, NULL, NULL, KI_ERR_INVALID },
        { &no_kind, NULL, NULL, KI_ERR_INVALID },
        { &no_group, NULL, NULL, KI_ERR_INVALID },
        { &reviews, NULL, NULL, KI_ERR_UNSUPPORTED },
        { &pods, most, NULL, KI_OK },
        { &pods, too_long, NULL, KI_ERR_LIMIT },
        { &pods, most, "a", KI_ERR_LIMIT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_informer_options options = { .label_selector = cases[i].labels, .field_selector = cases[i].fields };
        ki_selection *selection = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_selection_new(&ki_allocator_default, cases[i].resource, &options, &selection, &err);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(err.code, status);
        assert_int_equal(selection == NULL, status != KI_OK);
        ki_selection_unref(selection);
    }
}

TEST(without_memory_there_is_no_selection) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        const ki_informer_options options = { .namespace_name = "shop", .label_selector = "a=b" };
        ki_selection *selection = NULL;
        ki_status status = ki_selection_new(&memory.allocator, &deployments, &options, &selection, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        assert_int_equal(selection == NULL, status != KI_OK);
        ki_selection_unref(selection);
    }
}

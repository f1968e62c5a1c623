/* A person's word finds the resource it means, and the table is consistent. */
#include "src/object/resource_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

TEST(a_word_finds_its_resource) {
    static const struct {
        const char *name, *group, *version, *plural; /* plural NULL: none */
    } cases[] = {
        { "pods", "", "v1", "pods" },
        { "po", "", "v1", "pods" },
        { "pod", "", "v1", "pods" },
        { "Pod", "", "v1", "pods" },
        { "PODS", "", "v1", "pods" },
        { "pods.", "", "v1", "pods" },
        { "pods.v1", "", "v1", "pods" },
        { "pods.v1.", "", "v1", "pods" },
        { "deploy", "apps", "v1", "deployments" },
        { "deployments.apps", "apps", "v1", "deployments" },
        { "deployments.v1.apps", "apps", "v1", "deployments" },
        { "Deployment.v1.apps", "apps", "v1", "deployments" },
        { "events", "", "v1", "events" },
        { "events.events.k8s.io", "events.k8s.io", "v1", "events" },
        { "hpa", "autoscaling", "v2", "horizontalpodautoscalers" },
        { "hpa.v1.autoscaling", "autoscaling", "v1", "horizontalpodautoscalers" },
        { "crds", "apiextensions.k8s.io", "v1", "customresourcedefinitions" },
        { "netpol", "networking.k8s.io", "v1", "networkpolicies" },
        { "endpoints", "", "v1", "endpoints" },
        { "deployments.v2.apps", NULL, NULL, NULL },
        { "deployments.batch", NULL, NULL, NULL },
        { "pods.apps", NULL, NULL, NULL },
        { "podz", NULL, NULL, NULL },
        { "po d", NULL, NULL, NULL },
        { "", NULL, NULL, NULL },
        { ".apps", NULL, NULL, NULL },
        { NULL, NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_resource *found = ki_resource_find(cases[i].name);
        if (!cases[i].plural) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_string_equal(found->plural, cases[i].plural);
        assert_string_equal(found->group, cases[i].group);
        assert_string_equal(found->version, cases[i].version);
    }
    assert_ptr_equal(ki_resource_find("po"), KI_PODS);
    assert_ptr_equal(ki_resource_find("sc"), KI_STORAGECLASSES);
    assert_ptr_equal(ki_resource_find("leases"), KI_LEASES);
}

TEST(a_misspelt_word_finds_its_neighbour) {
    static const struct {
        const char *name, *nearest;
    } cases[] = {
        { "podz", "pods" },
        { "psods", "pods" },
        { "dopds", NULL },
        { "deploymnets", "deployments" },
        { "Deploment", "deployments" },
        { "confgmap", "configmaps" },
        { "ingreses", "ingresses" },
        { "xyzzy", NULL },
        { "", NULL },
        { "p", NULL },
        { NULL, NULL },
        { "pods", "pods" },
        { "deployment.extensions", "deployments" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = ki_resource_nearest(cases[i].name);
        if (cases[i].nearest)
            assert_string_equal(nearest, cases[i].nearest);
        else
            assert_null(nearest);
    }
}

TEST(a_built_in_that_cannot_be_listed_or_watched_is_known) {
    static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
    assert_true(ki_resource_has_verb(KI_PODS, "list"));
    assert_true(ki_resource_has_verb(KI_PODS, "watch"));
    assert_false(ki_resource_has_verb(KI_PODS, "dance"));
    assert_false(ki_resource_has_verb(KI_TOKENREVIEWS, "list"));
    assert_true(ki_resource_has_verb(KI_TOKENREVIEWS, "create"));
    assert_true(ki_resource_has_verb(KI_COMPONENTSTATUSES, "list"));
    assert_false(ki_resource_has_verb(KI_COMPONENTSTATUSES, "watch"));
    assert_true(ki_resource_has_verb(&foos, "list")); /* nothing is known of it */
}

TEST(the_table_is_consistent) {
    unsigned count = 0;
    const ki_resource_info *info;
    for (; (info = ki_resource_info_at(count)) != NULL; count++) {
        const ki_resource *resource = info->resource;
        assert_ptr_equal(ki_resource_at(count), resource);
        assert_ptr_equal(ki_resource_info_find(resource->group, resource->version, resource->plural), info);
        assert_true(info->verbs && !(info->verbs & ~(unsigned)KI_VERBS_ALL));
        assert_true(resource->version[0] == 'v' && resource->kind[0] >= 'A' && resource->kind[0] <= 'Z');
        for (size_t i = 0; info->singular[i]; i++)
            assert_int_equal(info->singular[i] | 0x20, resource->kind[i] | 0x20);
        for (const ki_subresource_info *sub = info->subresources; sub->name; sub++) {
            assert_true(sub->verbs && !(sub->verbs & ~(unsigned)KI_VERBS_ALL));
            assert_int_equal(sub->group == NULL, sub->version == NULL);
        }
    }
    assert_int_equal(count, 72);
    assert_null(ki_resource_at(count));
    assert_null(ki_resource_info_find("", "v1", "foos"));
    assert_string_equal(ki_verb_name(0), "create");
    assert_string_equal(ki_verb_name(KI_VERB_COUNT - 1), "watch");
    assert_null(ki_verb_name(KI_VERB_COUNT));
}

/* test_predicate.c: which updates the library's predicates let pass. */
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>

#include <kinformer-controllers/controller.h>

enum {
    TEXT_MAX = 1024
};

static ki_object *object_of(const char *metadata) {
    char json[TEXT_MAX];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"%s%s}}",
             metadata[0] ? "," : "", metadata);
    return make_object_from_json(json);
}

TEST(an_update_passes_where_the_field_has_changed) {
    static const struct {
        ki_predicate predicate;
        const char *before, *after;
        bool passes;
    } cases[] = {
        { ki_predicate_resource_version_changed, "\"resourceVersion\":\"1\"", "\"resourceVersion\":\"1\"", false },
        { ki_predicate_resource_version_changed, "\"resourceVersion\":\"1\"", "\"resourceVersion\":\"2\"", true },
        { ki_predicate_resource_version_changed, "", "", false },

        { ki_predicate_generation_changed, "\"generation\":1", "\"generation\":1", false },
        { ki_predicate_generation_changed, "\"generation\":1", "\"generation\":2", true },
        { ki_predicate_generation_changed, "\"generation\":2", "\"generation\":1", true },
        { ki_predicate_generation_changed, "", "", false },
        { ki_predicate_generation_changed, "", "\"generation\":1", true },
        { ki_predicate_generation_changed, "\"generation\":1", "", true },
        { ki_predicate_generation_changed, "\"generation\":1,\"resourceVersion\":\"1\"",
          "\"generation\":1,\"resourceVersion\":\"2\",\"labels\":{\"a\":\"b\"}", false },
        { ki_predicate_generation_changed, "\"generation\":\"odd\"", "\"generation\":\"odder\"", false },

        { ki_predicate_labels_changed, "", "", false },
        { ki_predicate_labels_changed, "\"labels\":{}", "", false },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\"}", "\"labels\":{\"a\":\"b\"}", false },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\",\"c\":\"d\"}", "\"labels\":{\"c\":\"d\",\"a\":\"b\"}",
          false },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\"}", "\"labels\":{\"a\":\"c\"}", true },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\"}", "\"labels\":{\"b\":\"b\"}", true },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\"}", "\"labels\":{\"a\":\"b\",\"c\":\"d\"}", true },
        { ki_predicate_labels_changed, "\"labels\":{\"a\":\"b\",\"c\":\"d\"}", "\"labels\":{\"a\":\"b\"}", true },
        { ki_predicate_labels_changed, "\"annotations\":{\"a\":\"b\"}", "", false },

        { ki_predicate_annotations_changed, "", "", false },
        { ki_predicate_annotations_changed, "\"annotations\":{}", "", false },
        { ki_predicate_annotations_changed, "\"annotations\":null", "\"annotations\":{}", false },
        { ki_predicate_annotations_changed, "\"annotations\":{\"a\":\"b\"}", "\"annotations\":{\"a\":\"b\"}", false },
        { ki_predicate_annotations_changed, "\"annotations\":{\"a\":\"b\",\"c\":\"d\"}",
          "\"annotations\":{\"c\":\"d\",\"a\":\"b\"}", false },
        { ki_predicate_annotations_changed, "\"annotations\":{\"a\":\"b\"}", "\"annotations\":{\"a\":\"c\"}", true },
        { ki_predicate_annotations_changed, "\"annotations\":{\"a\":\"b\"}",
          "\"annotations\":{\"a\":\"b\",\"c\":\"d\"}", true },
        { ki_predicate_annotations_changed, "\"annotations\":{\"a\":\"b\",\"c\":\"d\"}",
          "\"annotations\":{\"a\":\"b\"}", true },
        { ki_predicate_annotations_changed, "\"labels\":{\"a\":\"b\"}", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_object *old = object_of(cases[i].before), *obj = object_of(cases[i].after);
        const ki_event event = { .obj = obj, .old = old, .type = KI_EVENT_UPDATE };
        if (cases[i].predicate(&event, NULL) != cases[i].passes)
            fail_msg("case %zu: %s > %s", i, cases[i].before, cases[i].after);
        ki_object_unref(old);
        ki_object_unref(obj);
    }
}

static const ki_predicate predicates[] = { ki_predicate_resource_version_changed, ki_predicate_generation_changed,
                                           ki_predicate_labels_changed, ki_predicate_annotations_changed };

TEST(what_comes_and_goes_always_passes) {
    ki_object *obj = object_of("\"generation\":1");
    const ki_event events[] = { { .obj = obj, .type = KI_EVENT_ADD },
                                { .obj = obj, .type = KI_EVENT_ADD, .is_in_initial_list = true },
                                { .obj = obj, .type = KI_EVENT_DELETE, .final_state_unknown = true } };
    for (size_t i = 0; i < sizeof predicates / sizeof *predicates; i++)
        for (size_t k = 0; k < sizeof events / sizeof *events; k++)
            assert_true(predicates[i](&events[k], NULL));
    ki_object_unref(obj);
}

TEST(a_resync_never_passes) {
    ki_object *obj = object_of("\"generation\":1,\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\"}");
    const ki_event event = { .obj = obj, .old = obj, .type = KI_EVENT_UPDATE, .is_resync = true };
    for (size_t i = 0; i < sizeof predicates / sizeof *predicates; i++)
        assert_false(predicates[i](&event, NULL));
    ki_object_unref(obj);
}

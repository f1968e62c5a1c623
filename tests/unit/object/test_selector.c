/* A selector of the program selects as the API server would, by labels and by any field. */
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/selector.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <string.h>

static const char pod[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"labels\":{\"app\":\"web\",\"gpus\":\"2\"},\"uid\":null},"
    "\"spec\":{\"nodeName\":\"n1\",\"hostNetwork\":true,\"priority\":7,\"note\":\"q\\\"\\u00e9,=\",\"empty\":\"\","
    "\"containers\":[{\"image\":\"i1\"},{\"image\":\"i2\"},{}]}}";

static ki_object *make(const ki_allocator *allocator) {
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    if (ki_object_format_new(allocator, NULL, &format, NULL))
        return NULL;
    ki_status status = ki_object_from_json(format, KI_STR(pod), NULL, NULL, &obj, NULL);
    ki_object_format_unref(format);
    return status ? NULL : obj;
}

TEST(an_object_matches_by_labels_and_by_any_field) {
    static const struct {
        const char *labels, *fields;
        bool matches;
    } cases[] = {
        { NULL, NULL, true },
        { "", "", true },
        { "app=web", NULL, true },
        { "app=db", NULL, false },
        { "app in (db,web),gpus>1,!canary", NULL, true },
        { NULL, "metadata.name=a", true },
        { NULL, "metadata.name=b", false },
        { NULL, "metadata.namespace!=n", false },
        { NULL, "spec.nodeName=n1", true },
        { NULL, "spec.nodeName==n1,spec.hostNetwork=true", true },
        { NULL, "spec.nodeName!=n1", false },
        { NULL, "spec.hostNetwork=false", false },
        { NULL, "spec.priority=7", true },
        { NULL, "spec.note=q\"é\\,\\=", true },
        { NULL, "spec.empty=", true },
        { NULL, "spec.empty!=", false },
        { NULL, "spec.none=", true },
        { NULL, "spec.none!=x", true },
        { NULL, "spec.none=x", false },
        { NULL, "metadata.uid=", true },
        { NULL, "spec.containers[*].image=i2", true },
        { NULL, "spec.containers[*].image!=i2", false },
        { NULL, "spec.containers[*].image=i3", false },
        { NULL, "spec.containers[1].image=i2", true },
        { NULL, "spec.containers[-3].image=i1", true },
        { NULL, "spec.containers[-4].image=i1", false },
        { NULL, "spec.containers[3].image=", true },
        { NULL, "metadata.labels['app']=web", true },
        { "app=web", "spec.nodeName=n2", false },
    };
    ki_object *obj = make(&ki_allocator_default);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selector *selector = NULL;
        assert_int_equal(ki_selector_new(cases[i].labels, cases[i].fields, &selector, NULL), KI_OK);
        if (ki_object_matches(obj, selector) != cases[i].matches)
            fail_msg("case %zu: %s", i, cases[i].fields ? cases[i].fields : cases[i].labels);
        ki_selector_free(selector);
    }
    assert_true(ki_object_matches(obj, NULL));
    assert_false(ki_object_matches(NULL, NULL));
    ki_object_unref(obj);
}

TEST(a_selector_that_does_not_parse_is_an_error_that_names_it) {
    static const struct {
        const char *labels, *fields, *message;
    } cases[] = {
        { "app in web", NULL, "label selector: " },
        { NULL, "spec.nodeName", "field selector: " },
        { NULL, "spec[=x", "field selector: path \"spec[\"" },
        { "a=b", "spec..x=1", "field selector: path \"spec..x\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selector *selector = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_selector_new(cases[i].labels, cases[i].fields, &selector, &err), KI_ERR_PARSE);
        assert_null(selector);
        if (strncmp(ki_error_message(&err), cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s", ki_error_message(&err));
    }
}

TEST(lack_of_memory_is_an_error) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_selector *selector = NULL;
        ki_status status = ki_selector_new_of(&memory.allocator, "a=b", "c.d=e,f!=g", &selector, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_selector_free(selector);
    }
}

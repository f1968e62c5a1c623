/* test_condition.c: conditions are set and found as k8s.io/apimachinery's meta package does. */
#include <kinformer/condition.h>

#include "src/object/unstructured.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <string.h>

#define NOW INT64_C(1767323045123456789) /* 2026-01-02T03:04:05Z */
#define OBJECT(generation, conditions) \
    "{\"metadata\":{\"name\":\"a\"" generation "},\"status\":{\"conditions\":[" conditions "]}}"
#define GENERATION ",\"generation\":7"
#define READY(status, generation, time, reason, message) \
    "{\"type\":\"Ready\",\"status\":\"" status "\"" generation ",\"lastTransitionTime\":\"" time \
    "\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define OBSERVED ",\"observedGeneration\":7"
#define OLD "2020-01-01T00:00:00Z"
#define NEW "2026-01-02T03:04:05Z"
#define OTHER "{\"type\":\"Other\",\"status\":\"False\"}"

TEST(only_another_status_changes_the_transition_time) {
    static const struct {
        const char *before, *status, *reason, *message, *after;
        bool is_changed;
    } cases[] = {
        { "{\"metadata\":{\"name\":\"a\"" GENERATION "}}", "True", "Up", "all",
          OBJECT(GENERATION, READY("True", OBSERVED, NEW, "Up", "all")), true },
        { OBJECT("", OTHER), "False", "Down", NULL, OBJECT("", OTHER "," READY("False", "", NEW, "Down", "")), true },
        { OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), "True", "Up", "all",
          OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), false },
        { OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), "False", "Up", "all",
          OBJECT(GENERATION, READY("False", OBSERVED, NEW, "Up", "all")), true },
        { OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), "True", "Better", "all",
          OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Better", "all")), true },
        { OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), "True", "Up", "most",
          OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "most")), true },
        { OBJECT(GENERATION, READY("True", ",\"observedGeneration\":6", OLD, "Up", "all")), "True", "Up", "all",
          OBJECT(GENERATION, READY("True", OBSERVED, OLD, "Up", "all")), true },
        { OBJECT("", READY("True", OBSERVED, OLD, "Up", "all")), "True", "Up", "all",
          OBJECT("", READY("True", "", OLD, "Up", "all")), true },
        { OBJECT("", OTHER "," READY("True", "", OLD, "a", "b") "," READY("True", "", OLD, "c", "d")), "Unknown", "e",
          "f", OBJECT("", OTHER "," READY("Unknown", "", NEW, "e", "f") "," READY("True", "", OLD, "c", "d")), true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_unstructured *object = ki_unstructured_new(cases[i].before);
        assert_int_equal(
            ki_unstructured_set_condition(object, "Ready", cases[i].status, cases[i].reason, cases[i].message, NOW),
            cases[i].is_changed);
        const char *json = ki_unstructured_json(object, &err);
        assert_string_equal(json ? json : err.message, cases[i].after);
        assert_false(ki_unstructured_set_condition(object, "Ready", cases[i].status, cases[i].reason, cases[i].message,
                                                   NOW + NOW / 2)); /* set again: no difference */
        ki_unstructured_free(object);
    }
}

TEST(a_condition_is_removed) {
    ki_unstructured *object = ki_unstructured_new(
        OBJECT("", READY("True", "", OLD, "a", "b") "," OTHER "," READY("True", "", OLD, "c", "d")));
    assert_true(ki_unstructured_remove_condition(object, "Ready"));
    assert_false(ki_unstructured_remove_condition(object, "Ready"));
    assert_string_equal(ki_unstructured_json(object, NULL), OBJECT("", OTHER));
    ki_unstructured_free(object);
    object = ki_unstructured_new("{}");
    assert_false(ki_unstructured_remove_condition(object, "Ready"));
    assert_string_equal(ki_unstructured_json(object, NULL), "{}");
    ki_unstructured_free(object);
}

TEST(a_condition_that_is_none_is_a_failure) {
    static const struct {
        const char *json, *type, *status, *reason, *message, *why;
    } cases[] = {
        { "{}", NULL, "True", "a", "", "without a type" },
        { "{}", "", "True", "a", "", "without a type" },
        { "{}", "Ready", NULL, "a", "", "a status that is not" },
        { "{}", "Ready", "true", "a", "", "a status that is not" },
        { "{}", "Ready", "True", "\xFF", "", "not UTF-8" },
        { "{}", "Ready", "True", "a", "\xFF", "not UTF-8" },
        { "{}", "Read\xFF", "True", "a", "", "not UTF-8" },
        { "{\"status\":1}", "Ready", "True", "a", "", "status.conditions: not an array" },
        { "{\"status\":{\"conditions\":{}}}", "Ready", "True", "a", "", "status.conditions: not an array" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_unstructured *object = ki_unstructured_new(cases[i].json);
        assert_false(ki_unstructured_set_condition(object, cases[i].type, cases[i].status, cases[i].reason,
                                                   cases[i].message, NOW));
        assert_null(ki_unstructured_json(object, &err));
        assert_int_equal(err.code, KI_ERR_INVALID);
        assert_non_null(strstr(err.message, cases[i].why));
        assert_false(ki_unstructured_remove_condition(object, "Ready"));
        ki_unstructured_free(object);
    }
    ki_unstructured *object = ki_unstructured_new("{}");
    assert_false(ki_unstructured_remove_condition(object, NULL));
    assert_null(ki_unstructured_json(object, NULL));
    ki_unstructured_free(object);
    assert_false(ki_unstructured_set_condition(NULL, "Ready", "True", "a", "", NOW));
    assert_false(ki_unstructured_remove_condition(NULL, "Ready"));
}

TEST(a_condition_of_a_cached_object_is_found) {
    ki_object *obj = make_object_from_json(
        OBJECT("", "1,null,{\"type\":1},{}," OTHER
                   "," READY("True", OBSERVED, OLD, "A\\u00e9", "b\\n") "," READY("False", "", OLD, "c", "d")));
    ki_condition condition;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_object_condition(obj, "Ready", &condition, &err), KI_OK);
    assert_string_equal(condition.type, "Ready");
    assert_string_equal(condition.status, "True");
    assert_string_equal(condition.reason, "A\xC3\xA9");
    assert_string_equal(condition.message, "b\n");
    assert_string_equal(condition.last_transition_time, OLD);
    assert_int_equal(condition.observed_generation, 7);
    ki_condition_clear(&condition);
    assert_string_equal(condition.status, "");
    assert_int_equal(ki_object_condition(obj, "Other", &condition, &err), KI_OK);
    assert_string_equal(condition.status, "False");
    assert_string_equal(condition.reason, "");
    assert_int_equal(condition.observed_generation, 0);
    ki_condition_clear(&condition);
    assert_int_equal(ki_object_condition(obj, "None", &condition, &err), KI_ERR_NOT_FOUND);
    assert_string_equal(err.message, "a has no condition \"None\"");
    assert_true(ki_object_condition_is(obj, "Ready", "True"));
    assert_false(ki_object_condition_is(obj, "Ready", "False")); /* the first one counts */
    assert_false(ki_object_condition_is(obj, "None", "True"));
    assert_false(ki_object_condition_is(NULL, "Ready", "True"));
    assert_false(ki_object_condition_is(obj, NULL, "True"));
    ki_object_unref(obj);
    ki_condition_clear(NULL);
}

TEST(each_allocation_of_a_condition_may_fail) {
    bool failed = true;
    for (size_t n = 0; failed; n++) {
        scarce_memory memory;
        ki_error err = KI_ERROR_INIT;
        scarce_memory_init(&memory, n);
        ki_unstructured *object = ki_unstructured_read(&memory.allocator, "metadata: { generation: 7 }");
        ki_unstructured_set_condition(object, "Ready", "True", "Up", "all", NOW);
        const char *json = ki_unstructured_json(object, &err);
        failed = scarce_memory_failed(&memory);
        if (failed)
            assert_int_equal(err.code, KI_ERR_NO_MEMORY);
        else
            assert_non_null(strstr(json, READY("True", OBSERVED, NEW, "Up", "all")));
        ki_unstructured_free(object);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

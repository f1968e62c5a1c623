/* test_option_macros.cc: the macros of the public headers in C++17 and C++20: what C programs write compiles in C++
 * without a warning, and makes the same. tests/option_macros.awk lists the macros. */
#include "tests/support/test.h"

#include "option_macros.h" /* the headers */
#include <kinformer-controllers/workqueue.h>
#include <kinformer/kinformer.h>

#include <cstring>
#include <type_traits>

namespace {

struct pod {
    const char *node;
    int64_t started, memory, cpu;
    bool has_owner;
    ki_list containers;
};

struct container {
    const char *name;
};

const ki_field container_fields[] = { KI_FIELD(container, name, "name"), KI_FIELD_END };
const ki_field pod_fields[] = {
    KI_FIELD(pod, node, "spec.nodeName"),
    KI_FIELD_TIME(pod, started, "status.startTime"),
    KI_FIELD_QUANTITY(pod, memory, "spec.resources.limits.memory"),
    KI_FIELD_MILLI(pod, cpu, "spec.resources.limits.cpu"),
    KI_FIELD_PRESENT(pod, has_owner, "metadata.ownerReferences"),
    KI_FIELD_LIST(pod, containers, container_fields, "spec.containers"),
    KI_FIELD_END,
};

const ki_informer_options kept_options = KI_INFORMER_OPTIONS(.namespace_name = "shop", .view = pod_fields);

template <class Struct> size_t size_of(const Struct *options) {
    return options->size;
}

template <class Struct> void try_macro(const Struct *without, const Struct *with) {
    assert_non_null(without);
    assert_int_equal(with->size, sizeof(Struct));
}

} // namespace

TEST(each_option_macro_makes_a_struct_of_its_size_whose_address_can_be_taken) {
    int count = 0;
#define OPTION_MACRO(macro, type, member) \
    { \
        static_assert(std::is_same_v<decltype(&macro()), const type *>); \
        try_macro(&macro(), &macro(.member = {})); \
        const type kept = macro(.member = {}); \
        assert_int_equal(kept.size, sizeof kept); \
        count++; \
    }
#include "option_macros.h"
    assert_true(count > 20);
}

TEST(an_option_macro_sets_the_members_that_it_names_and_zeros_the_others) {
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = nullptr;
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.seed = 7), &engine, &err), KI_OK);
    ki_workqueue *queue = nullptr;
    const ki_rate_limit limits[] = { KI_RATE_LIMIT_EXPONENTIAL(5, 1000), KI_RATE_LIMIT_BUCKET(10, 100),
                                     KI_RATE_LIMIT_FAST_SLOW(1, 2, 3), KI_RATE_LIMIT_CUSTOM(nullptr, nullptr) };
    assert_int_equal(ki_workqueue_new(engine,
                                      &KI_WORKQUEUE_OPTIONS(.name = "q", .rate_limits = limits, .rate_limit_count = 3),
                                      &queue, &err),
                     KI_OK);
    assert_int_equal(ki_workqueue_add_with(queue, "a", &KI_ADD_OPTIONS(.priority = 3)), KI_OK);
    assert_int_equal(ki_workqueue_length(queue), 1);
    ki_workqueue_free(queue);
    ki_engine_free(engine);

    assert_string_equal(kept_options.namespace_name, "shop");
    assert_ptr_equal(kept_options.view, pod_fields);
    assert_null(kept_options.label_selector);
    assert_int_equal(size_of(&kept_options), sizeof(ki_informer_options));
}

TEST(the_initializers_of_values_work_in_cxx) {
    const ki_value value = KI_VALUE_INIT;
    const ki_cursor cursor = KI_CURSOR_INIT;
    const ki_testing_text text = KI_TESTING_TEXT_INIT;
    const ki_jsonpath_text printed = KI_JSONPATH_TEXT_INIT;
    const ki_config_description description = KI_CONFIG_DESCRIPTION_INIT;
    assert_int_equal(value.type, KI_VALUE_NULL);
    assert_int_equal(cursor.depth, 0);
    assert_null(text.data);
    assert_null(printed.data);
    assert_int_equal(description.size, sizeof description);
    assert_null(description.files);
}

TEST(the_fields_of_a_view_have_the_types_of_its_members) {
    static const ki_field_type types[] = { KI_FIELD_TYPE_STRING, KI_FIELD_TYPE_TIME,    KI_FIELD_TYPE_QUANTITY,
                                           KI_FIELD_TYPE_MILLI,  KI_FIELD_TYPE_PRESENT, KI_FIELD_TYPE_LIST,
                                           KI_FIELD_TYPE_END };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(pod_fields[i].type, types[i]);
    assert_int_equal(pod_fields[5].offset, offsetof(pod, containers));
    assert_ptr_equal(pod_fields[5].elements, container_fields);
}

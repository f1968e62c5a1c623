/* test_json.c: JSON is written at the end of a buffer: what stands there stays, a limit is a limit of the text alone,
 * and memory may run out. */
#include "src/base/memory.h"
#include "testing/values/json.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>

static const char *const texts[] = {
    "null",
    "-1.5",
    "\"a \\\"word\\\"\"",
    "[]",
    "{}",
    "{\"a\":{\"b\":[1,2,{\"c\":\"d\"}],\"e\":null},\"f\":true}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    "[\"a text that is far longer than what a value takes on average, so that the block has to grow while it is being "
    "written, and not only once, but again and again, as long as there is no end of it\",\"and one more of these, with "
    "\\\\, \\n and \\u0001 in it; and one more of these, with \\\\, \\n and \\u0001 in it; and one more of these\"]",
};
enum {
    TEXTS = sizeof texts / sizeof texts[0],
    BEFORE_MAX = 150
};

static yyjson_doc *read(const char *text) {
    yyjson_doc *doc = NULL;
    assert_int_equal(kt_json_read(&ki_allocator_default, ki_str_of(text), &doc, NULL), KI_OK);
    return doc;
}

static ki_status append(ki_buffer *out, yyjson_doc *doc, bool mutable) {
    if (!mutable)
        return kt_json_append(out, yyjson_doc_get_root(doc));
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    ki_status status = kt_json_append_mut(out, yyjson_mut_doc_get_root(copy));
    yyjson_mut_doc_free(copy);
    return status;
}

TEST(a_value_follows_what_stands_there) {
    for (size_t i = 0; i < TEXTS * BEFORE_MAX * 2; i++) {
        const char *text = texts[i % TEXTS];
        size_t before = i / TEXTS / 2;
        ki_buffer out;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        for (size_t n = 0; n < before; n++)
            ki_buffer_append_char(&out, 'x');
        yyjson_doc *doc = read(text);
        assert_int_equal(append(&out, doc, i / TEXTS % 2), KI_OK);
        yyjson_doc_free(doc);
        assert_int_equal(out.size, before + strlen(text));
        assert_true(before == 0 || (out.data[0] == 'x' && out.data[before - 1] == 'x'));
        assert_string_equal(out.data + before, text);
        ki_buffer_free(&out);
    }
}

TEST(a_limit_holds_for_the_text_and_not_for_the_room_to_write_it) {
    for (size_t i = 0; i < TEXTS * 2; i++) {
        const char *text = texts[i / 2];
        yyjson_doc *doc = read(text);
        ki_buffer out;
        ki_buffer_init(&out, &ki_allocator_default, strlen(text) + 1);
        ki_buffer_append_char(&out, 'x');
        assert_int_equal(append(&out, doc, i % 2), KI_OK);
        assert_string_equal(out.data + 1, text);
        assert_int_equal(append(&out, doc, i % 2), KI_ERR_LIMIT);
        assert_string_equal(out.data + 1, text);
        assert_int_equal(out.failed, KI_ERR_LIMIT);
        ki_buffer_free(&out);
        yyjson_doc_free(doc);
    }
}

TEST(without_memory_the_buffer_stays_as_it_was) {
    for (size_t i = 0; i < TEXTS * 4; i++) {
        yyjson_doc *doc = read(texts[i / 4]);
        bool is_limited = i % 4 / 2;
        scarce_memory memory = SCARCE_MEMORY_FROM(1); /* the first is for what stands there */
        while (scarce_memory_next(&memory)) {
            ki_buffer out;
            ki_buffer_init(&out, &memory.allocator, is_limited ? 10000 : 0);
            assert_int_equal(ki_buffer_append_string(&out, "before"), KI_OK);
            ki_status status = append(&out, doc, i % 2);
            bool failed = scarce_memory_failed(&memory);
            assert_int_equal(status, failed ? KI_ERR_NO_MEMORY : KI_OK);
            assert_int_equal(out.failed, status);
            assert_int_equal(out.size, strlen(out.data));
            if (failed)
                assert_string_equal(out.data, "before");
            ki_buffer_free(&out);
        }
        yyjson_doc_free(doc);
    }
}

TEST(a_frozen_tree_is_a_document_of_its_own) {
    for (size_t i = 0; i < TEXTS; i++) {
        yyjson_doc *doc = read(texts[i]);
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            yyjson_mut_doc *tree = yyjson_doc_mut_copy(doc, NULL);
            yyjson_doc *frozen = NULL;
            ki_status status = kt_json_freeze(&memory.allocator, yyjson_mut_doc_get_root(tree), &frozen);
            yyjson_mut_doc_free(tree);
            assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
            assert_int_equal(!frozen, status != KI_OK);
            if (frozen)
                assert_true(yyjson_equals(yyjson_doc_get_root(frozen), yyjson_doc_get_root(doc)));
            yyjson_doc_free(frozen);
        }
        yyjson_doc_free(doc);
    }
}

TEST(a_tree_for_which_there_was_no_memory_is_not_frozen) {
    yyjson_doc *frozen = NULL;
    assert_int_equal(kt_json_freeze(&ki_allocator_default, NULL, &frozen), KI_ERR_NO_MEMORY);
    assert_null(frozen);
}

/* test_secret.c: the texts of a Secret's stringData end up in data. */
#include "src/base/memory.h"
#include "testing/schema/secret.h"
#include "testing/values/json.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(texts_go_into_data_in_base64) {
    static const struct {
        const char *given, *kept;
    } rows[] = {
        { "{\"stringData\":{\"a\":\"1\"}}", "{\"data\":{\"a\":\"MQ==\"}}" },
        { "{\"kind\":\"Secret\",\"data\":{\"a\":\"AAAA\",\"b\":\"Mg==\"},\"stringData\":{\"a\":\"1\",\"c\":\"\"}}",
          "{\"kind\":\"Secret\",\"data\":{\"b\":\"Mg==\",\"a\":\"MQ==\",\"c\":\"\"}}" },
        { "{\"data\":{\"a\":\"AAAA\"},\"stringData\":{\"a\":null}}", "{\"data\":{\"a\":\"AAAA\"}}" },
        { "{\"data\":{\"a\":\"AAAA\"},\"stringData\":null,\"type\":\"t\"}",
          "{\"type\":\"t\",\"data\":{\"a\":\"AAAA\"}}" },
        { "{\"stringData\":{}}", "{}" },
        { "{\"data\":{\"a\":\"AAAA\"}}", "{\"data\":{\"a\":\"AAAA\"}}" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        yyjson_doc *doc;
        ki_buffer text;
        ki_buffer_init(&text, &ki_allocator_default, 0);
        assert_int_equal(kt_json_read(&ki_allocator_default, ki_str_of(rows[i].given), &doc, NULL), KI_OK);
        assert_int_equal(kt_secret_merge_string_data(&ki_allocator_default, &doc), KI_OK);
        assert_int_equal(kt_json_append(&text, yyjson_doc_get_root(doc)), KI_OK);
        assert_string_equal(text.data, rows[i].kept);
        ki_buffer_free(&text);
        yyjson_doc_free(doc);
    }
}

TEST(a_secret_without_string_data_stays_the_same_document) {
    yyjson_doc *doc;
    assert_int_equal(kt_json_read(&ki_allocator_default, KI_STR("{\"data\":{\"a\":\"AAAA\"}}"), &doc, NULL), KI_OK);
    const yyjson_doc *same = doc;
    assert_int_equal(kt_secret_merge_string_data(&ki_allocator_default, &doc), KI_OK);
    assert_ptr_equal(doc, same);
    yyjson_doc_free(doc);
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        yyjson_doc *doc = NULL;
        ki_status status =
            kt_json_read(&memory.allocator, KI_STR("{\"data\":{\"b\":\"\"},\"stringData\":{\"a\":\"1\"}}"), &doc, NULL);
        if (!status)
            status = kt_secret_merge_string_data(&memory.allocator, &doc);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        yyjson_doc_free(doc);
    }
}

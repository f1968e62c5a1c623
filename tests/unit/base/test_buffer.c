/* Buffers grow, keep to their limit, remember the first failure and never lose what they had. */
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(what_is_appended_stands_in_order_and_zero_terminated) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    assert_int_equal(ki_buffer_append(&buffer, "ab", 2), KI_OK);
    assert_int_equal(ki_buffer_append_view(&buffer, KI_STR("cd")), KI_OK);
    assert_int_equal(ki_buffer_append_string(&buffer, "ef"), KI_OK);
    assert_int_equal(ki_buffer_append_char(&buffer, 'g'), KI_OK);
    assert_int_equal(ki_buffer_printf(&buffer, "%d-%s", 12, "x"), KI_OK);
    assert_string_equal(buffer.data, "abcdefg12-x");
    assert_int_equal(buffer.size, 11);
    ki_buffer_free(&buffer);
}

TEST(a_long_text_grows_the_buffer) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(ki_buffer_printf(&buffer, "%d,", i % 10), KI_OK);
    assert_int_equal(buffer.size, 20000);
    assert_int_equal(strlen(buffer.data), 20000);
    ki_buffer_free(&buffer);
}

TEST(a_printed_text_fits_to_the_last_byte_or_the_buffer_grows) {
    for (int first = 0; first < 200; first++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_buffer buffer;
        ki_buffer_init(&buffer, &memory.allocator, 0);
        assert_int_equal(ki_buffer_printf(&buffer, "%0*d", first, 0), KI_OK);
        const size_t size = buffer.size, room = buffer.capacity - size;
        assert_int_equal(ki_buffer_printf(&buffer, "%0*d", (int)room, 7), KI_OK);
        assert_int_equal(buffer.size, size + (room ? room : 1));
        assert_int_equal(strlen(buffer.data), buffer.size);
        assert_int_equal(buffer.data[buffer.size - 1], '7');

        memory.fail_at = memory.calls;
        const size_t full = buffer.size;
        assert_int_equal(ki_buffer_printf(&buffer, "%0*d", (int)(buffer.capacity - full) + 1, 8), KI_ERR_NO_MEMORY);
        assert_int_equal(buffer.size, full);
        assert_int_equal(strlen(buffer.data), full);
        ki_buffer_free(&buffer);
    }
}

TEST(the_limit_is_kept_and_a_failed_append_changes_nothing) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 5);
    assert_int_equal(ki_buffer_append_string(&buffer, "abc"), KI_OK);
    assert_int_equal(ki_buffer_append_string(&buffer, "def"), KI_ERR_LIMIT);
    assert_int_equal(ki_buffer_printf(&buffer, "%s", "ghi"), KI_ERR_LIMIT);
    assert_int_equal(ki_buffer_append_json_string(&buffer, KI_STR("x")), KI_ERR_LIMIT);
    assert_int_equal(ki_buffer_append_url(&buffer, KI_STR("/")), KI_ERR_LIMIT);
    assert_string_equal(buffer.data, "abc");
    assert_int_equal(buffer.failed, KI_ERR_LIMIT);
    assert_int_equal(ki_buffer_append_string(&buffer, "de"), KI_OK);
    assert_string_equal(buffer.data, "abcde");
    assert_int_equal(buffer.failed, KI_ERR_LIMIT);
    assert_true(buffer.capacity <= 5);
    assert_null(ki_buffer_take(&buffer, NULL));
    assert_int_equal(buffer.failed, KI_OK);
    ki_buffer_free(&buffer);
}

TEST(a_size_that_overflows_is_rejected) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    assert_int_equal(ki_buffer_append_char(&buffer, 'x'), KI_OK);
    assert_int_equal(ki_buffer_reserve(&buffer, SIZE_MAX), KI_ERR_NO_MEMORY);
    assert_int_equal(ki_buffer_reserve(&buffer, SIZE_MAX / 2), KI_ERR_NO_MEMORY);
    assert_string_equal(buffer.data, "x");
    ki_buffer_free(&buffer);
}

TEST(reset_keeps_small_memory_and_frees_large) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    assert_int_equal(ki_buffer_append_string(&buffer, "abc"), KI_OK);
    ki_buffer_reset(&buffer, 1000);
    assert_non_null(buffer.data);
    assert_string_equal(buffer.data, "");
    ki_buffer_reset(&buffer, 10);
    assert_null(buffer.data);
    ki_buffer_free(&buffer);
}

TEST(text_becomes_a_json_string_or_a_url_part) {
    const struct {
        ki_str text;
        const char *json;
        const char *url;
    } cases[] = {
        { KI_STR(""), "\"\"", "" },
        { KI_STR("a-b.c_d~9Z"), "\"a-b.c_d~9Z\"", "a-b.c_d~9Z" },
        { KI_STR("\"two words\" \xC3\xBC plain\n"), "\"\\\"two words\\\" \xC3\xBC plain\\n\"",
          "%22two%20words%22%20%C3%BC%20plain%0A" },
        { KI_STR("a\"b\\c"), "\"a\\\"b\\\\c\"", "a%22b%5Cc" },
        { KI_STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"", "%08%0C%0A%0D%09" },
        { KI_STR("\0\x1f\x7f"), "\"\\u0000\\u001f\x7f\"", "%00%1F%7F" },
        { KI_STR("ü/ ="), "\"ü/ =\"", "%C3%BC%2F%20%3D" },
        { KI_STR("€\xF0\x9F\x98\x80"), "\"€\xF0\x9F\x98\x80\"", "%E2%82%AC%F0%9F%98%80" },
        { KI_STR("a\xFF\x80z"), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"", "a%FF%80z" },
        { KI_STR("\xC3"), "\"\xEF\xBF\xBD\"", "%C3" },
        { KI_STR("\xC3("), "\"\xEF\xBF\xBD(\"", "%C3%28" },
        { KI_STR("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"", "%C0%80" },
        { KI_STR("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "%ED%A0%80" },
        { KI_STR("\xF4\x90\x80\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "%F4%90%80%80" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_buffer buffer;
        ki_buffer_init(&buffer, &ki_allocator_default, 0);
        assert_int_equal(ki_buffer_append_json_string(&buffer, cases[i].text), KI_OK);
        assert_string_equal(buffer.data, cases[i].json);
        ki_buffer_reset(&buffer, SIZE_MAX);
        assert_int_equal(ki_buffer_append_url(&buffer, cases[i].text), KI_OK);
        assert_string_equal(buffer.data, cases[i].url);
        ki_buffer_free(&buffer);
    }
}

TEST(a_cut_text_is_zero_terminated) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    ki_buffer_truncate(&buffer, 0);
    ki_buffer_append_string(&buffer, "first, second");
    ki_buffer_truncate(&buffer, 5);
    assert_string_equal(buffer.data, "first");
    size_t size = 0;
    char *text = ki_buffer_take(&buffer, &size);
    assert_int_equal(size, 5);
    assert_string_equal(text, "first");
    ki_free(&ki_allocator_default, text);
}

TEST(take_gives_the_bytes_away) {
    ki_buffer buffer;
    ki_buffer_init(&buffer, &ki_allocator_default, 0);
    size_t size = 99;
    char *empty = ki_buffer_take(&buffer, &size);
    assert_string_equal(empty, "");
    assert_int_equal(size, 0);
    ki_free(&ki_allocator_default, empty);
    assert_int_equal(ki_buffer_append_string(&buffer, "abc"), KI_OK);
    char *taken = ki_buffer_take(&buffer, &size);
    assert_string_equal(taken, "abc");
    assert_int_equal(size, 3);
    assert_null(buffer.data);
    ki_free(&ki_allocator_default, taken);
}

TEST(each_allocation_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_buffer buffer;
        ki_buffer_init(&buffer, &memory.allocator, 0);
        size_t good = 0;
        for (int i = 0; i < 100; i++)
            good += ki_buffer_append_string(&buffer, "0123456789") == KI_OK ? 10 : 0;
        assert_int_equal(buffer.size, good);
        assert_int_equal(buffer.failed, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_buffer_free(&buffer);
    }
}

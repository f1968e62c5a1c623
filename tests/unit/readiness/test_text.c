/* test_text.c: names and numbers as people read them. */
#include "src/base/memory.h"
#include "src/readiness/text.h"
#include "tests/support/test.h"

static ki_buffer out;

static int set_up(void **state) {
    (void)state;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_buffer_free(&out);
    return 0;
}

#define TEXT_TEST(name) TEST_WITH(set_up, tear_down, name)

static void expect(const char *text) {
    assert_string_equal(out.data, text);
    ki_buffer_reset(&out, SIZE_MAX);
}

TEXT_TEST(names_are_escaped_for_html) {
    ki_text_html(&out, "<a href=\"x\">'&'</a>");
    expect("&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    ki_text_html(&out, "\xc3\xbc\n\x7f\xff\xc3");
    expect("\xc3\xbc????");
}

TEXT_TEST(a_name_in_a_line_ends_no_line) {
    ki_text_line(&out, "a\nb <\r> \x80");
    expect("a?b <?> ?");
}

TEXT_TEST(controls_and_marks_of_direction_are_not_shown) {
    static const char *const hidden[] = { "\x1b",         "\x7f",         "\xc2\x9b",     "\xd8\x9c",
                                          "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae",
                                          "\xe2\x81\xa6", "\xe2\x81\xa9" };
    static const char *const shown[] = { "\xc2\xa0",     "\xd8\x9b",     "\xe2\x80\x8d",
                                         "\xe2\x80\xaf", "\xe2\x81\xaa", "\xe4\xb8\xad" };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        ki_text_line(&out, hidden[i]);
        expect("?");
        ki_text_html(&out, hidden[i]);
        expect("?");
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        ki_text_line(&out, shown[i]);
        expect(shown[i]);
    }
}

TEXT_TEST(numbers_are_short) {
    static const struct {
        void (*write)(ki_buffer *out, double number);
        double number;
        const char *text;
    } rows[] = {
        { ki_text_count, 0, "0" },
        { ki_text_count, 999, "999" },
        { ki_text_count, 6017, "6,017" },
        { ki_text_count, 1234567, "1,234,567" },
        { ki_text_count, -1, "0" },
        { ki_text_count, 1e300, "9,000,000,000,000,000" },
        { ki_text_rate, 0, "0" },
        { ki_text_rate, 0.34, "0.3" },
        { ki_text_rate, 99.96, "100.0" },
        { ki_text_rate, 1204.4, "1,204" },
        { ki_text_bytes, 0, "0 B" },
        { ki_text_bytes, 512, "512 B" },
        { ki_text_bytes, 1434, "1.4 KiB" },
        { ki_text_bytes, 96.0 * 1024 * 1024, "96 MiB" },
        { ki_text_bytes, 1e18, "909,495 TiB" },
        { ki_text_duration, -3, "0.0 s" },
        { ki_text_duration, 0.42, "0.4 s" },
        { ki_text_duration, 12.4, "12 s" },
        { ki_text_duration, 119, "119 s" },
        { ki_text_duration, 300, "5 min" },
        { ki_text_duration, 3 * 3600, "3 h" },
        { ki_text_duration, 4 * 86400, "4 d" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].write(&out, rows[i].number);
        expect(rows[i].text);
    }
}

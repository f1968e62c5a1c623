/* test_rfc3339.c: times as text. */
#include "src/base/rfc3339.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_time_is_written_to_the_second_and_to_the_microsecond(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *seconds, *micros;
    } cases[] = {
        { 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z" },
        { 999, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z" },
        { 1767323045678901234, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901Z" },
        { 1772535845000006000, "2026-03-03T11:04:05Z", "2026-03-03T11:04:05.000006Z" },
        { 1709164799999999999, "2024-02-28T23:59:59Z", "2024-02-28T23:59:59.999999Z" },
        { 1709164800000000000, "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[KI_RFC3339_SIZE];
        ki_rfc3339_seconds(cases[i].ns, text);
        assert_string_equal(text, cases[i].seconds);
        ki_rfc3339_micros(cases[i].ns, text);
        assert_string_equal(text, cases[i].micros);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_written_to_the_second_and_to_the_microsecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

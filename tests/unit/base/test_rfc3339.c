/* test_rfc3339.c: times as text. */
#include "src/base/rfc3339.h"

#include "tests/support/test.h"

TEST(a_time_is_written_to_the_second_and_to_the_microsecond) {
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
        ki_rfc3339_seconds(cases[i].ns / 1000000000, text);
        assert_string_equal(text, cases[i].seconds);
        ki_rfc3339_micros(cases[i].ns, text);
        assert_string_equal(text, cases[i].micros);
    }
}

TEST(every_year_that_has_four_digits_can_be_written) {
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        { 951827696, "2000-02-29T12:34:56Z" },  { 1735689599, "2024-12-31T23:59:59Z" },
        { 4107542400, "2100-03-01T00:00:00Z" }, { 253402300799, "9999-12-31T23:59:59Z" },
        { -1, "1969-12-31T23:59:59Z" },         { -62135596800, "0001-01-01T00:00:00Z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[KI_RFC3339_SIZE];
        ki_rfc3339_seconds(cases[i].seconds, text);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(a_time_is_parsed_as_go_parses_it) {
    static const struct {
        const char *text;
        int64_t seconds; /* -1: none */
        int64_t nanoseconds;
    } cases[] = {
        { "1970-01-01T00:00:00Z", 0, 0 },
        { "2018-03-05T17:30:20-08:00", 1520299820, 0 },
        { "2018-03-05T17:30:20.123456789+05:30", 1520251220, 123456789 },
        { "2000-02-29T23:59:59z", -1, 0 },
        { "2000-02-29T23:59:59Z", 951868799, 0 },
        { "2000-02-29T23:59:59,5Z", 951868799, 500000000 },
        { "2100-02-28T00:00:00Z", 4107456000, 0 },
        { "2018-03-05T7:30:20Z", 1520235020, 0 },
        { "2018-03-05T:30:20Z", -1, 0 },
        { "2018-03-05T7:3:20Z", -1, 0 },
        { "2018-03-05T7:30:2", -1, 0 },
        { "2016-12-31T23:59:60Z", -1, 0 },
        { "2016-12-31t23:59:59Z", -1, 0 },
        { "2100-02-29T00:00:00Z", -1, 0 },
        { "2018-13-05T17:30:20Z", -1, 0 },
        { "2018-00-05T17:30:20Z", -1, 0 },
        { "2018-04-31T17:30:20Z", -1, 0 },
        { "2018-03-05T24:30:20Z", -1, 0 },
        { "2018-03-05 17:30:20Z", -1, 0 },
        { "2018-03-05T17:30:20", -1, 0 },
        { "2018-03-05T17:30:20.Z", -1, 0 },
        { "2018-03-05T17:30:20+0530", -1, 0 },
        { "2018-03-05T17:30:20Zx", -1, 0 },
        { "2018-03-05", -1, 0 },
        { "", -1, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t seconds = -1;
        int64_t nanoseconds = 0;
        bool is_time = ki_rfc3339_parse(ki_str_of(cases[i].text), &seconds, &nanoseconds);
        if (is_time != (cases[i].seconds >= 0) || seconds != cases[i].seconds || nanoseconds != cases[i].nanoseconds)
            fail_msg("%s: %lld", cases[i].text, (long long)seconds);
    }
}

/* What a cell is worth: by kind, and in order. */
#include "cli/lines/cell_value.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

static const ki_column plain = { .name = "Restarts", .type = "string" };

TEST(a_text_is_a_number_a_fraction_a_duration_a_text_or_missing) {
    static const struct {
        const char *text;
        bool is_duration;
        value_kind kind;
        double number;
    } rows[] = {
        { "12", false, VALUE_NUMBER, 12 },
        { "-3", false, VALUE_NUMBER, -3 },
        { "1 (3s ago)", false, VALUE_NUMBER, 1 },
        { "50%", false, VALUE_NUMBER, 50 },
        { "100m", false, VALUE_NUMBER, 0.1 },
        { "2Gi", false, VALUE_NUMBER, 2147483648.0 },
        { "1e3", false, VALUE_NUMBER, 1000 },
        { "1/2", false, VALUE_FRACTION, 0.5 },
        { "0/0", false, VALUE_FRACTION, 0 },
        { "12/", false, VALUE_TEXT, 0 },
        { "1/2/3", false, VALUE_TEXT, 0 },
        { "45s", false, VALUE_DURATION, 45 },
        { "5m10s", false, VALUE_DURATION, 310 },
        { "3d4h", false, VALUE_DURATION, 273600 },
        { "1y30d", false, VALUE_DURATION, 34128000 },
        { "100m", true, VALUE_DURATION, 6000 },
        { "5", true, VALUE_NUMBER, 5 },
        { "4h3d", false, VALUE_TEXT, 0 },
        { "3d4", false, VALUE_TEXT, 0 },
        { "10.0.0.1", false, VALUE_TEXT, 0 },
        { "%", false, VALUE_TEXT, 0 },
        { "Running", false, VALUE_TEXT, 0 },
        { "2023-11-14T22:13:20Z", true, VALUE_TEXT, 0 },
        { "1111111111111111111111111111111111111111111111111111111111111111111111", false, VALUE_TEXT, 0 },
        { "", false, VALUE_MISSING, 0 },
        { "<none>", false, VALUE_MISSING, 0 },
        { "<unknown>", true, VALUE_MISSING, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cell_value v = value_of(rows[i].text, rows[i].is_duration);
        if (v.kind != rows[i].kind || fabs(v.number - rows[i].number) > 1e-9)
            fail_msg("'%s' is %g, of kind %d", rows[i].text, v.number, (int)v.kind);
    }
}

/* kubectl's --sort-by compares these. */
TEST(a_quantity_is_a_number_with_a_unit_or_an_exponent) {
    static const struct {
        const char *text;
        double number; /* NAN: it is none */
    } rows[] = {
        { "1500m", 1.5 },
        { "0.5", 0.5 },
        { ".5", 0.5 },
        { "5.", 5 },
        { "-0.5", -0.5 },
        { "+5", 5 },
        { "007", 7 },
        { "1n", 1e-9 },
        { "3u", 3e-6 },
        { "2k", 2000 },
        { "1M", 1e6 },
        { "1G", 1e9 },
        { "1T", 1e12 },
        { "1P", 1e15 },
        { "1E", 1e18 },
        { "1Ki", 1024 },
        { "1.5Mi", 1572864 },
        { "1Ti", 1099511627776.0 },
        { "1e3", 1000 },
        { "25E-1", 2.5 },
        { "1e400", NAN },
        { "1e", NAN },
        { "1e3m", NAN },
        { "1.2.3", NAN },
        { ".", NAN },
        { "", NAN },
        { "m", NAN },
        { "1x", NAN },
        { "1 k", NAN },
        { "--1", NAN },
        { "123456789012345678901234567890", 123456789012345678901234567890.0 },
        { "0.000000000000000000000000000012", 1.2e-29 },
        { "12345678901234567890123456789012345678901", NAN },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double number = NAN, expected = rows[i].number;
        bool is_quantity = value_read_quantity(rows[i].text, &number);
        if (is_quantity != !isnan(expected) || (is_quantity && fabs(number - expected) > fabs(expected) * 1e-14))
            fail_msg("'%s': %s %g", rows[i].text, is_quantity ? "is" : "is none,", number);
    }
}

TEST(values_have_one_order) {
    static const char *const sorted[] = { "-1",    "100m", "0.5", "1 (3s ago)", "2",       "10",    "50%",  "1Ki",
                                          "0/3",   "1/2",  "2/4", "2/2",        "12/12",   "59s",   "2m1s", "3h5m",
                                          "1d12h", "2y",   "a",   "B",          "Running", "<none>" };
    for (size_t i = 0; i < sizeof sorted / sizeof sorted[0]; i++) {
        for (size_t k = 0; k < sizeof sorted / sizeof sorted[0]; k++) {
            const cell_value left = value_of(sorted[i], false), right = value_of(sorted[k], false);
            int order = value_compare(&left, &right), expected = (i > k) - (i < k);
            if ((order > 0) - (order < 0) != expected)
                fail_msg("'%s' and '%s': %d", sorted[i], sorted[k], order);
        }
    }
}

TEST(equal_values_can_be_written_in_different_ways) {
    static const char *const pairs[][2] = {
        { "1024Mi", "1Gi" },      { "1000m", "1" }, { "60s", "1m0s" },
        { "running", "RUNNING" }, { "", "<none>" }, { "2", "2 (5m ago)" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const cell_value left = value_of(pairs[i][0], false), right = value_of(pairs[i][1], false);
        assert_int_equal(value_compare(&left, &right), 0);
    }
}

TEST(columns_of_ages_and_durations_are_known_by_type_or_name) {
    static const struct {
        const char *name, *type;
        bool is_age, has_durations;
    } rows[] = {
        { "Age", "string", true, true },           { "Last Seen", "string", true, true },
        { "Last Schedule", "string", true, true }, { "Renewal", "date", true, true },
        { "Duration", "string", false, true },     { "RequestedDuration", "string", false, true },
        { "Restarts", "string", false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_column column = plain;
        column.name = rows[i].name;
        column.type = rows[i].type;
        assert_int_equal(column_is_age(&column), rows[i].is_age);
        assert_int_equal(column_has_durations(&column), rows[i].has_durations);
    }
}

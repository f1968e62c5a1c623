/* test_quantity.c: amounts as Kubernetes compares and writes them. The expected texts are those of
 * resource.Quantity. */
#include "src/base/quantity.h"

#include <string.h>

#include "tests/support/test.h"

TEST(quantities_have_one_canonical_form) {
    static const char *const rows[][2] = {
        { "0", "0" },
        { "2", "2" },
        { "2000", "2k" },
        { "1500", "1500" },
        { "0.5", "500m" },
        { "1.5", "1500m" },
        { "1000m", "1" },
        { "1500m", "1500m" },
        { "100u", "100u" },
        { "1n", "1n" },
        { "0.1n", "1n" },
        { "1024Mi", "1Gi" },
        { "1000Mi", "1000Mi" },
        { "1.5Gi", "1536Mi" },
        { "512", "512" },
        { "0.5Ki", "512" },
        { "0.0001Ki", "102400u" },
        { "1e3", "1e3" },
        { "12e6", "12e6" },
        { "1e-3", "1e-3" },
        { "1E", "1E" },
        { "-5", "-5" },
        { "-0", "0" },
        { "-1.5Gi", "-1536Mi" },
        { "9223372036854775807", "9223372036854775807" },
        { "16Ei", "9223372036854775807" },
        { "5.109270890490Gi", "5486037845264836854n" },
        { "0.9999999999Ki", "1023999999898n" },
        { "m", "0" },
        { "+", "0" },
        { ".", "0" },
        { "Ti", "0" },
        { ".e-9", "0" },
    };
    static const char *const wrong[] = { "",   "x",   "1x",    "1 Gi", "Pi",  "-.Ei", "e-10",
                                         "1e", "1ee", "1.2.3", "1gi",  "--1", "1Ki1" };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_quantity quantity;
        char text[KI_QUANTITY_SIZE];
        assert_true(ki_quantity_parse(ki_str_of(rows[i][0]), &quantity));
        ki_quantity_write(&quantity, text);
        if (strcmp(text, rows[i][1]) != 0)
            fail_msg("%s: %s, not %s", rows[i][0], text, rows[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ki_quantity quantity;
        if (ki_quantity_parse(ki_str_of(wrong[i]), &quantity))
            fail_msg("'%s' was taken", wrong[i]);
    }
}

TEST(quantities_are_compared_by_their_amount) {
    static const char *const rising[] = { "-2Gi",  "-1", "-1m", "0",  "1n",  "1m",    "0.5",  "1",
                                          "1001m", "1k", "1Ki", "1G", "1Gi", "1.1Gi", "1e12", "1Ei" };
    enum {
        COUNT = sizeof rising / sizeof rising[0]
    };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            ki_quantity a, b;
            assert_true(ki_quantity_parse(ki_str_of(rising[i]), &a) && ki_quantity_parse(ki_str_of(rising[k]), &b));
            int order = ki_quantity_compare(&a, &b);
            if ((order > 0) - (order < 0) != (i > k) - (i < k))
                fail_msg("%s and %s: %d", rising[i], rising[k], order);
        }
    }
    ki_quantity zero, negative_zero;
    assert_true(ki_quantity_parse(KI_STR("0"), &zero) && ki_quantity_parse(KI_STR("-0"), &negative_zero));
    assert_int_equal(ki_quantity_compare(&zero, &negative_zero), 0);
}

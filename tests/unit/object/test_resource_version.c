/* Resource versions are ordered where Kubernetes promises an order, and nowhere else. */
#include <kinformer/object.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

TEST(versions_are_compared_as_decimal_integers_of_any_length) {
    static const struct {
        const char *a, *b;
        ki_order order, reverse;
    } cases[] = {
        { "1", "2", KI_ORDER_OLDER, KI_ORDER_NEWER },
        { "9", "10", KI_ORDER_OLDER, KI_ORDER_NEWER },
        { "0", "1", KI_ORDER_OLDER, KI_ORDER_NEWER },
        { "18446744073709551615", "18446744073709551616", KI_ORDER_OLDER, KI_ORDER_NEWER },
        { "99999999999999999999999999999999", "100000000000000000000000000000000", KI_ORDER_OLDER, KI_ORDER_NEWER },
        { "7", "7", KI_ORDER_SAME, KI_ORDER_SAME },
        { "", "", KI_ORDER_SAME, KI_ORDER_SAME },
        { "abc", "abc", KI_ORDER_SAME, KI_ORDER_SAME },
        { "abc", "abd", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { "1", "", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { "1", "02", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { "1", "-2", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { "1", "2 ", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { "1", "1a", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { NULL, "1", KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
        { NULL, NULL, KI_ORDER_UNKNOWN, KI_ORDER_UNKNOWN },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ki_resource_version_compare(cases[i].a, cases[i].b), cases[i].order);
        assert_int_equal(ki_resource_version_compare(cases[i].b, cases[i].a), cases[i].reverse);
    }
}

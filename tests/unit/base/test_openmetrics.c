/* test_openmetrics.c: what a metric's text is, whatever names its labels have. */

#include "src/base/memory.h"
#include "src/base/openmetrics.h"
#include "tests/support/test.h"

#include <string.h>

TEST(a_label_is_utf_8_and_ends_at_its_quote) {
    static const struct {
        const char *value, *written;
    } cases[] = {
        { "app=web", "{handler=\"app=web\"}" },
        { "", "{handler=\"\"}" },
        { "a\"b\\c\nd", "{handler=\"a\\\"b\\\\c\\nd\"}" },
        { "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xb3", "{handler=\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xb3\"}" },
        { "\xff", "{handler=\"\xEF\xBF\xBD\"}" },
        { "a\xc3", "{handler=\"a\xEF\xBF\xBD\"}" },                               /* cut inside a character */
        { "\xed\xa0\x80", "{handler=\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}" }, /* half of a UTF-16 pair */
        { "\xc3\"", "{handler=\"\xEF\xBF\xBD\\\"\"}" },
    };
    static const ki_metric metric = { .name = "informer_things", .help = "Things", .type = KI_METRIC_GAUGE };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_label label = { "handler", cases[i].value };
        const ki_sample sample = { .metric = &metric, .labels = &label, .label_count = 1, .value = 1 };
        ki_openmetrics text;
        char *written = NULL;
        ki_openmetrics_init(&text, &ki_allocator_default);
        ki_openmetrics_add(&sample, &text);
        assert_int_equal(ki_openmetrics_end(&text, &written), KI_OK);
        if (!strstr(written, cases[i].written))
            fail_msg("case %zu: %s", i, written);
        ki_metrics_text_free(written);
    }
}

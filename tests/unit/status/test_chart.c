/* test_chart.c: charts as inline SVG. */
#include "src/base/memory.h"
#include "status/chart.h"
#include "tests/support/test.h"

static ki_buffer out;
static ki_history_values values;

static int set_up(void **state) {
    (void)state;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++)
        values.at[i] = -1;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ki_buffer_free(&out);
    return 0;
}

#define CHART_TEST(name) TEST_WITH(set_up, tear_down, name)

CHART_TEST(a_line_ends_at_the_right_and_reaches_the_top) {
    values.at[87] = 0, values.at[88] = 5, values.at[89] = 10;
    ki_chart_line(&out, &values, "now <10>");
    assert_string_equal(out.data,
                        "<svg class=\"chart\" viewBox=\"0 0 890 200\" preserveAspectRatio=\"none\" role=\"img\" "
                        "aria-label=\"now &lt;10&gt;\"><polygon points=\"870,200 880,103 890,6 890,200 870,200\"/>"
                        "<polyline points=\"870,200 880,103 890,6\"/></svg>");
}

CHART_TEST(gaps_cut_a_line_and_a_single_value_is_visible) {
    values.at[0] = 1, values.at[2] = 1, values.at[3] = 1;
    ki_chart_spark(&out, &values);
    assert_string_equal(
        out.data, "<svg class=\"spark\" viewBox=\"0 0 890 200\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                  "<polyline points=\"0,6 1,6\"/><polyline points=\"20,6 30,6\"/></svg>");
}

CHART_TEST(without_values_nothing_is_drawn) {
    assert_true(ki_chart_most(&values) < 0);
    ki_chart_spark(&out, &values);
    assert_null(strstr(out.data, "poly"));
}

CHART_TEST(only_zeros_are_a_line_at_the_bottom) {
    for (size_t i = 88; i < KI_HISTORY_SAMPLES; i++)
        values.at[i] = 0;
    ki_chart_spark(&out, &values);
    assert_non_null(strstr(out.data, "points=\"880,200 890,200\""));
}

CHART_TEST(a_band_is_filled_while_the_value_is_one) {
    values.at[86] = 1, values.at[87] = 1, values.at[88] = 0, values.at[89] = 1;
    ki_chart_band(&out, &values, "led");
    assert_non_null(strstr(out.data, "<rect class=\"on\" x=\"860\" y=\"0\" width=\"20\" height=\"200\"/>"
                                     "<rect class=\"off\" x=\"880\" y=\"0\" width=\"10\" height=\"200\"/>"
                                     "<rect class=\"on\" x=\"890\" y=\"0\" width=\"10\" height=\"200\"/></svg>"));
}

/* chart.c: see chart.h. Coordinates are whole numbers, so that no locale changes them. */
#include "status/chart.h"

#include "src/readiness/text.h"

enum {
    STEP = 10, /* between two samples */
    WIDTH = STEP * (KI_HISTORY_SAMPLES - 1),
    BAND_WIDTH = STEP * KI_HISTORY_SAMPLES,
    HEIGHT = 200,
    TOP = 6 /* of the largest value: the line is not cut */
};

float ki_chart_most(const ki_history_values *values) {
    float most = -1;
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++)
        most = values->at[i] > most ? values->at[i] : most;
    return most;
}

static void begin(ki_buffer *out, const char *class_name, int width, const char *description) {
    ki_buffer_printf(out, "<svg class=\"%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"", class_name, width,
                     (int)HEIGHT);
    if (description) {
        ki_buffer_append_string(out, " role=\"img\" aria-label=\"");
        ki_text_html(out, description);
        ki_buffer_append_string(out, "\">");
    } else {
        ki_buffer_append_string(out, " aria-hidden=\"true\">");
    }
}

static int y_of(float value, float most) {
    return most > 0 ? HEIGHT - (int)(value / most * (float)(HEIGHT - TOP) + 0.5f) : HEIGHT;
}

/* Appends the points of a run of values, from `from` up to `to`. */
static void append_points(ki_buffer *out, const ki_history_values *values, size_t from, size_t to, float most) {
    for (size_t i = from; i < to; i++)
        ki_buffer_printf(out, "%s%d,%d", i > from ? " " : "", (int)i * STEP, y_of(values->at[i], most));
}

static void append_area(ki_buffer *out, const ki_history_values *values, size_t from, size_t to, float most) {
    ki_buffer_append_string(out, "<polygon points=\"");
    append_points(out, values, from, to, most);
    ki_buffer_printf(out, " %d,%d %d,%d\"/>", ((int)to - 1) * STEP, (int)HEIGHT, (int)from * STEP, (int)HEIGHT);
}

static void append_run(ki_buffer *out, const ki_history_values *values, size_t from, size_t to, float most) {
    ki_buffer_append_string(out, "<polyline points=\"");
    append_points(out, values, from, to, most);
    if (to - from == 1) /* a line of one point has no length */
        ki_buffer_printf(out, " %d,%d", (int)from * STEP + 1, y_of(values->at[from], most));
    ki_buffer_append_string(out, "\"/>");
}

/* Appends each run of values. */
static void append_runs(ki_buffer *out, const ki_history_values *values, bool has_area) {
    float most = ki_chart_most(values);
    for (size_t from = 0, to; from < KI_HISTORY_SAMPLES; from = to + 1) {
        for (to = from; to < KI_HISTORY_SAMPLES && values->at[to] >= 0; to++)
            continue;
        if (to > from && has_area)
            append_area(out, values, from, to, most);
        if (to > from)
            append_run(out, values, from, to, most);
    }
    ki_buffer_append_string(out, "</svg>");
}

void ki_chart_line(ki_buffer *out, const ki_history_values *values, const char *description) {
    begin(out, "chart", WIDTH, description);
    append_runs(out, values, true);
}

void ki_chart_spark(ki_buffer *out, const ki_history_values *values) {
    begin(out, "spark", WIDTH, NULL);
    append_runs(out, values, false);
}

void ki_chart_band(ki_buffer *out, const ki_history_values *values, const char *description) {
    begin(out, "band", BAND_WIDTH, description);
    for (size_t from = 0, to; from < KI_HISTORY_SAMPLES; from = to) {
        float value = values->at[from];
        for (to = from + 1; to < KI_HISTORY_SAMPLES && !(values->at[to] < value) && !(values->at[to] > value); to++)
            continue;
        if (value >= 0)
            ki_buffer_printf(out, "<rect class=\"%s\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>",
                             value > 0 ? "on" : "off", (int)from * STEP, (int)(to - from) * STEP, (int)HEIGHT);
    }
    ki_buffer_append_string(out, "</svg>");
}

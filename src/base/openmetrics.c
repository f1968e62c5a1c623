/* openmetrics.c: see openmetrics.h. Each metric's lines are a buffer; the end puts them together. */
#include "src/base/openmetrics.h"

#include "src/base/array.h"
#include "src/base/assert.h"
#include "src/base/memory.h"

#include <inttypes.h>
#include <math.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: doubles are exact for integers below */

typedef struct ki_openmetrics_family {
    const ki_metric *metric;
    ki_buffer lines;
} family;

/* --- a metric's lines --------------------------------------------------------------------------------------------- */

/* OpenMetrics names the family, Prometheus the samples: a counter with its suffix. */
static void append_head(ki_buffer *out, const ki_metric *metric, bool is_prometheus) {
    static const char *const types[] = { "counter", "gauge", "summary", "histogram" };
    const char *suffix = is_prometheus && metric->type == KI_METRIC_COUNTER ? "_total" : "";
    ki_buffer_printf(out, "# TYPE %s%s %s\n", metric->name, suffix, types[metric->type]);
    if (metric->unit && !is_prometheus)
        ki_buffer_printf(out, "# UNIT %s %s\n", metric->name, metric->unit);
    ki_buffer_printf(out, "# HELP %s%s %s.\n", metric->name, suffix, metric->help);
}

/* Writes a number to nanoseconds without printf's fractions, which depend on the locale. */
static void append_number(ki_buffer *out, double value) {
    if (isnan(value) || isinf(value)) {
        ki_buffer_append_string(out, isnan(value) ? "NaN\n" : value > 0 ? "+Inf\n" : "-Inf\n");
        return;
    }
    if (value < 0) {
        ki_buffer_append_char(out, '-');
        value = -value;
    }
    if (value >= WHOLE_MAX) {
        ki_buffer_printf(out, "%.0f\n", value);
        return;
    }
    int64_t whole = (int64_t)value, nano = (int64_t)((value - (double)whole) * 1e9 + 0.5);
    whole += nano / 1000000000;
    nano %= 1000000000;
    ki_buffer_printf(out, "%" PRId64, whole);
    if (nano > 0)
        ki_buffer_printf(out, ".%09" PRId64, nano);
    ki_buffer_append_char(out, '\n');
}

/* Appends a label. Bytes that are not UTF-8 become U+FFFD: one of them would make the whole text invalid. */
static void append_label(ki_buffer *out, const ki_label *label) {
    ki_buffer_printf(out, "%s=\"", label->name);
    for (ki_str rest = ki_str_of(label->value); rest.size;) {
        size_t size = ki_str_utf8_size(rest);
        if (*rest.data == '\\' || *rest.data == '"')
            ki_buffer_append_char(out, '\\');
        if (*rest.data == '\n')
            ki_buffer_append_string(out, "\\n");
        else if (size)
            ki_buffer_append(out, rest.data, size);
        else
            ki_buffer_append_string(out, "\xEF\xBF\xBD");
        size += size == 0;
        rest = (ki_str){ rest.data + size, rest.size - size };
    }
    ki_buffer_append_char(out, '"');
}

/* Writes one line: the metric's name and `suffix`, the labels, `le` unless it is NULL, the value. */
static void append_line(ki_buffer *out, const ki_sample *sample, const char *suffix, const char *le, double value) {
    ki_buffer_printf(out, "%s%s{", sample->metric->name, suffix);
    for (size_t i = 0; i < sample->label_count; i++) {
        if (i > 0)
            ki_buffer_append_char(out, ',');
        append_label(out, &sample->labels[i]);
    }
    if (le)
        ki_buffer_printf(out, ",le=\"%s\"", le);
    ki_buffer_append_string(out, "} ");
    append_number(out, value);
}

static void append_sample(ki_buffer *out, const ki_sample *sample) {
    const ki_metric *metric = sample->metric;
    if (metric->type == KI_METRIC_COUNTER || metric->type == KI_METRIC_GAUGE) {
        append_line(out, sample, metric->type == KI_METRIC_COUNTER ? "_total" : "", NULL, sample->value);
        return;
    }
    for (size_t i = 0; i < metric->bound_count; i++)
        append_line(out, sample, "_bucket", metric->bounds[i].text, (double)sample->buckets[i]);
    if (metric->type == KI_METRIC_HISTOGRAM)
        append_line(out, sample, "_bucket", "+Inf", (double)sample->count);
    append_line(out, sample, "_count", NULL, (double)sample->count);
    append_line(out, sample, "_sum", NULL, sample->value);
}

/* --- the text ----------------------------------------------------------------------------------------------------- */

/* Returns the lines of a metric, with its head at first; NULL without memory. */
static ki_buffer *lines_of(ki_openmetrics *text, const ki_metric *metric) {
    KI_ASSERT(text->count <= text->capacity);
    for (size_t i = 0; i < text->count; i++)
        if (text->families[i].metric == metric)
            return &text->families[i].lines;
    if (KI_ARRAY_RESERVE(text->allocator, text->families, text->count, text->capacity)) {
        text->failed = KI_ERR_NO_MEMORY;
        return NULL;
    }
    family *added = &text->families[text->count++];
    added->metric = metric;
    ki_buffer_init(&added->lines, text->allocator, 0);
    append_head(&added->lines, metric, text->is_prometheus);
    return &added->lines;
}

void ki_openmetrics_init(ki_openmetrics *text, const ki_allocator *allocator) {
    *text = (ki_openmetrics){ .allocator = allocator };
}

void ki_openmetrics_add(const ki_sample *sample, void *text) {
    ki_buffer *lines = lines_of(text, sample->metric);
    if (lines)
        append_sample(lines, sample);
}

/* A text and what frees it. */
typedef struct text_block {
    ki_allocator allocator;
    char text[];
} text_block;

char *ki_metrics_text_new(const ki_allocator *allocator, size_t size) {
    text_block *block = ki_alloc(allocator, sizeof *block + size);
    if (!block)
        return NULL;
    block->allocator = *allocator;
    return block->text;
}

ki_status ki_openmetrics_end(ki_openmetrics *text, char **ret_text) {
    const char *end = text->is_prometheus ? "" : "# EOF\n";
    size_t size = strlen(end) + 1;
    for (size_t i = 0; i < text->count; i++) {
        size += text->families[i].lines.size;
        if (text->families[i].lines.failed)
            text->failed = text->families[i].lines.failed;
    }
    char *made = text->failed ? NULL : ki_metrics_text_new(text->allocator, size), *at = made;
    for (size_t i = 0; i < text->count; i++) {
        ki_buffer *lines = &text->families[i].lines;
        if (made) {
            memcpy(at, lines->data, lines->size);
            at += lines->size;
        }
        ki_buffer_free(lines);
    }
    ki_free(text->allocator, text->families);
    if (!made)
        return KI_ERR_NO_MEMORY;
    memcpy(at, end, strlen(end) + 1);
    *ret_text = made;
    return KI_OK;
}

void ki_metrics_text_free(char *text) {
    if (!text)
        return;
    text_block *block = (text_block *)(void *)(text - offsetof(text_block, text));
    ki_allocator allocator = block->allocator;
    ki_free(&allocator, block);
}

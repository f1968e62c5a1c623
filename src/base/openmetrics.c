/* openmetrics.c: writes lines of OpenMetrics text; the memory of a text that the program frees. */
#include "src/base/openmetrics.h"

#include "src/base/memory.h"

#include <inttypes.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: doubles are exact for integers below */

void ki_openmetrics_head(ki_buffer *out, const ki_metric *metric) {
    static const char *const types[] = { "counter", "gauge", "summary" };
    ki_buffer_printf(out, "# TYPE %s %s\n# HELP %s %s.\n", metric->name, types[metric->type], metric->name,
                     metric->help);
}

/* Writes a number without printf's fractions, which depend on the locale. */
static void append_number(ki_buffer *out, double value) {
    double whole = (double)(int64_t)(value < WHOLE_MAX ? value : 0);
    if (value >= WHOLE_MAX || whole == value)
        ki_buffer_printf(out, "%.0f", value);
    else
        ki_buffer_printf(out, "%" PRId64 ".%09" PRId64, (int64_t)whole, (int64_t)((value - whole) * 1e9));
}

static void append_label(ki_buffer *out, const ki_label *label) {
    ki_buffer_printf(out, "%s=\"", label->name);
    for (const char *c = label->value; *c; c++) {
        if (*c == '\\' || *c == '"')
            ki_buffer_append_char(out, '\\');
        if (*c == '\n')
            ki_buffer_append_string(out, "\\n");
        else
            ki_buffer_append_char(out, *c);
    }
    ki_buffer_append_char(out, '"');
}

void ki_openmetrics_sample(ki_buffer *out, const ki_metric *metric, const char *suffix, const ki_label *labels,
                           size_t label_count, double value) {
    ki_buffer_printf(out, "%s%s{", metric->name, suffix);
    for (size_t i = 0; i < label_count; i++) {
        if (i > 0)
            ki_buffer_append_char(out, ',');
        append_label(out, &labels[i]);
    }
    ki_buffer_append_string(out, "} ");
    append_number(out, value);
    ki_buffer_append_char(out, '\n');
}

/* --- a text's memory ---------------------------------------------------------------------------------------------- */

typedef struct text_block {
    ki_allocator allocator;
    char text[];
} text_block;

ki_status ki_openmetrics_copy(const ki_allocator *allocator, const ki_buffer *text, char **ret_text) {
    text_block *block = ki_alloc(allocator, sizeof *block + text->size + 1);
    if (!block)
        return KI_ERR_NO_MEMORY;
    block->allocator = *allocator;
    memcpy(block->text, text->data, text->size + 1);
    *ret_text = block->text;
    return KI_OK;
}

void ki_metrics_text_free(char *text) {
    if (!text)
        return;
    text_block *block = (text_block *)(void *)(text - offsetof(text_block, text));
    ki_allocator allocator = block->allocator;
    ki_free(&allocator, block);
}

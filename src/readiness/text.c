/* text.c: see text.h. No printf of fractions, which depend on the locale. */
#include "src/readiness/text.h"

#define WHOLE_MAX 9e15

static void append_escaped(ki_buffer *out, ki_str c, bool is_html) {
    static const struct {
        char c;
        const char *text;
    } entities[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };
    for (size_t i = 0; is_html && i < sizeof entities / sizeof *entities; i++)
        if (c.data[0] == entities[i].c) {
            ki_buffer_append_string(out, entities[i].text);
            return;
        }
    ki_buffer_append_view(out, ki_str_control_size(c.data) ? ki_str_of("?") : c);
}

static void append_text(ki_buffer *out, const char *text, bool is_html) {
    ki_str rest = ki_str_of(text);
    while (rest.size) {
        size_t size = ki_str_utf8_size(rest);
        append_escaped(out, size ? (ki_str){ rest.data, size } : ki_str_of("?"), is_html);
        size += size == 0;
        rest = (ki_str){ rest.data + size, rest.size - size };
    }
}

void ki_text_html(ki_buffer *out, const char *text) {
    append_text(out, text, true);
}

void ki_text_line(ki_buffer *out, const char *text) {
    append_text(out, text, false);
}

void ki_text_count(ki_buffer *out, double count) {
    char digits[24];
    uint64_t whole = count > 0 && count < WHOLE_MAX ? (uint64_t)(count + 0.5) : count > 0 ? (uint64_t)WHOLE_MAX : 0;
    int size = 0;
    do
        digits[size++] = (char)('0' + whole % 10);
    while (whole /= 10);
    while (size-- > 0) {
        ki_buffer_append_char(out, digits[size]);
        if (size > 0 && size % 3 == 0)
            ki_buffer_append_char(out, ',');
    }
}

/* Appends a number below a thousand with a tenth, if it is less than `whole_from`. */
static void append_tenths(ki_buffer *out, double number, double whole_from) {
    if (number >= whole_from) {
        ki_text_count(out, number);
        return;
    }
    unsigned tenths = (unsigned)(number * 10 + 0.5);
    ki_buffer_printf(out, "%u.%u", tenths / 10, tenths % 10);
}

void ki_text_rate(ki_buffer *out, double rate) {
    if (rate > 0)
        append_tenths(out, rate, 100);
    else
        ki_buffer_append_char(out, '0');
}

void ki_text_bytes(ki_buffer *out, double bytes) {
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    append_tenths(out, bytes, unit ? 10 : 0);
    ki_buffer_printf(out, " %s", units[unit]);
}

void ki_text_duration(ki_buffer *out, double seconds) {
    static const struct {
        double below, unit, whole_from;
        const char *name;
    } rows[] = { { 10, 1, 10, "s" }, { 120, 1, 0, "s" }, { 7200, 60, 0, "min" }, { 172800, 3600, 0, "h" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (seconds < rows[i].below) {
            append_tenths(out, seconds > 0 ? seconds / rows[i].unit : 0, rows[i].whole_from);
            ki_buffer_printf(out, " %s", rows[i].name);
            return;
        }
    ki_text_count(out, seconds / 86400);
    ki_buffer_append_string(out, " d");
}

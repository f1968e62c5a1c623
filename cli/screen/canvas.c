/* canvas.c: see canvas.h. */
#include "canvas.h"

#include "cli/output.h"

#include "src/base/string_view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char ellipsis[] = "\342\200\246";

enum {
    CHARACTER_MAX = 4 /* bytes of a character in UTF-8 */
};

typedef struct run {
    style style;
    size_t text; /* offset of its text, with a closing zero */
    size_t column, width;
} run;

typedef struct picture_line {
    size_t first_run, run_count;
    size_t column; /* where the next text begins */
    bool is_selected;
} picture_line;

struct canvas {
    size_t width, height;
    bool has_failed;
    picture_line *lines;
    size_t line_count; /* lines that are begun */
    size_t line_capacity;
    bool is_on_line; /* the last line takes text */
    run *runs;       /* of all lines, in their order */
    size_t run_count, run_capacity;
    char *text; /* of all runs */
    size_t text_size, text_capacity;
};

canvas *canvas_new(void) {
    return calloc(1, sizeof(canvas));
}

void canvas_free(canvas *c) {
    if (!c)
        return;
    free(c->lines);
    free(c->runs);
    free(c->text);
    free(c);
}

/* Makes room for `needed` items. Returns the memory, which has moved, or NULL if out of memory. */
static void *reserve(canvas *c, void *items, size_t *capacity, size_t needed, size_t item_size) {
    if (items && needed <= *capacity)
        return items;
    size_t larger = needed + needed / 2 + 16;
    void *moved = realloc(items, larger * item_size);
    if (moved)
        *capacity = larger;
    else
        c->has_failed = true;
    return moved;
}

bool canvas_begin(canvas *c, size_t width, size_t height) {
    c->width = c->height = 0;
    c->line_count = c->run_count = c->text_size = 0;
    c->is_on_line = c->has_failed = false;
    picture_line *lines = reserve(c, c->lines, &c->line_capacity, height, sizeof *lines);
    if (!lines)
        return false;
    c->lines = lines;
    c->width = width;
    c->height = height;
    return true;
}

size_t canvas_width(const canvas *c) {
    return c->width;
}

size_t canvas_height(const canvas *c) {
    return c->height;
}

bool canvas_has_failed(const canvas *c) {
    return c->has_failed;
}

/* ---- drawing ---- */

bool canvas_line(canvas *c) {
    c->is_on_line = c->line_count < c->height;
    if (c->is_on_line)
        c->lines[c->line_count++] = (picture_line){ .first_run = c->run_count };
    return c->is_on_line;
}

void canvas_select_line(canvas *c) {
    if (c->is_on_line)
        c->lines[c->line_count - 1].is_selected = true;
}

size_t canvas_column(const canvas *c) {
    return c->is_on_line ? c->lines[c->line_count - 1].column : 0;
}

/* Returns how many columns the current line has left. */
static size_t columns_left(const canvas *c) {
    return c->is_on_line ? c->width - canvas_column(c) : 0;
}

/* Makes room for a text of `size` bytes, and a run. Returns where the text is written; NULL if out of memory. */
static char *reserve_run(canvas *c, size_t size) {
    char *text = reserve(c, c->text, &c->text_capacity, c->text_size + size + 1, 1);
    run *runs = reserve(c, c->runs, &c->run_capacity, c->run_count + 1, sizeof *runs);
    c->text = text ? text : c->text;
    c->runs = runs ? runs : c->runs;
    return text && runs ? text + c->text_size : NULL;
}

/* Adds the text that was written into the room of reserve_run. */
static void add_run(canvas *c, style in, size_t size, size_t width) {
    picture_line *current = &c->lines[c->line_count - 1];
    c->runs[c->run_count++] = (run){ .style = in, .text = c->text_size, .column = current->column, .width = width };
    c->text[c->text_size + size] = '\0';
    c->text_size += size + 1;
    current->run_count++;
    current->column += width;
}

/* Copies the first characters of a text, with '?' for what a terminal must not get. */
static void copy_safe(char *to, const char *text, size_t characters) {
    const char *end = text + strnlen(text, characters * CHARACTER_MAX);
    for (; text < end && characters; characters--) {
        size_t size = ki_str_utf8_size((ki_str){ text, (size_t)(end - text) });
        memcpy(to, size ? text : "?", size ? size : 1);
        text += size ? size : 1;
        to += size ? size : 1;
    }
    *to = '\0';
}

void canvas_add(canvas *c, style in, const char *text, size_t width) {
    size_t left = columns_left(c);
    width = width && width < left ? width : left;
    if (!width || !*text)
        return;
    /* A character fills a column at least: one more than fits shows that the text is cut. */
    char *to = reserve_run(c, (width + 1) * CHARACTER_MAX + sizeof ellipsis);
    if (!to)
        return;
    copy_safe(to, text, width + 1);
    make_safe(to);
    size_t size = display_fitting(to, width);
    if (to[size]) {
        memcpy(to + size, ellipsis, sizeof ellipsis);
        size += sizeof ellipsis - 1;
    }
    add_run(c, in, size, display_width(to));
}

void canvas_move(canvas *c, size_t column, style in) {
    column = column < c->width ? column : c->width;
    if (!c->is_on_line || column <= canvas_column(c))
        return;
    size_t size = column - canvas_column(c);
    char *to = reserve_run(c, size);
    if (!to)
        return;
    memset(to, ' ', size);
    add_run(c, in, size, size);
}

void canvas_printf(canvas *c, style in, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0) {
        c->has_failed = true;
        return;
    }
    canvas_add(c, in, text, 0);
    free(text);
}

/* ---- reading ---- */

bool canvas_is_selected(const canvas *c, size_t line) {
    return line < c->line_count && c->lines[line].is_selected;
}

size_t canvas_run_count(const canvas *c, size_t line) {
    return line < c->line_count ? c->lines[line].run_count : 0;
}

canvas_run canvas_run_at(const canvas *c, size_t line, size_t index) {
    const run *r = &c->runs[c->lines[line].first_run + index];
    return (canvas_run){ .style = r->style, .text = c->text + r->text, .column = r->column, .width = r->width };
}

/* Writes a line without the blanks at its end. */
static void write_line(const canvas *c, size_t line, FILE *out) {
    size_t blanks = 0;
    for (size_t i = 0; i < canvas_run_count(c, line); i++) {
        for (const char *text = canvas_run_at(c, line, i).text; *text; text++) {
            if (*text == ' ') {
                blanks++;
                continue;
            }
            fprintf(out, "%*s%c", (int)blanks, "", *text);
            blanks = 0;
        }
    }
    putc('\n', out);
}

void canvas_write(const canvas *c, FILE *out) {
    for (size_t i = 0; i < c->line_count; i++)
        write_line(c, i, out);
}

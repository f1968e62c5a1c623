/* sheet.c: see sheet.h. A cell ends with a tab; the last text of a line is in no column. A column is as wide as its
 * widest cell in neighbouring lines that have the column, and two blanks. */
#include "sheet.h"

#include "src/base/string_view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVEL_WIDTH = 2,
    PADDING = 2,
    ALIGNED_MAX = 64 /* columns; a server's text can have a tab in each byte */
};

void sheet_open(sheet *s) {
    *s = (sheet){ .text = NULL };
    s->out = open_memstream(&s->text, &s->size);
    s->has_failed = !s->out;
}

void sheet_write(sheet *s, int level, const char *format, ...) {
    va_list args;
    if (!s->out)
        return;
    fprintf(s->out, "%*s", LEVEL_WIDTH * (level + s->indent), "");
    va_start(args, format);
    vfprintf(s->out, format, args);
    va_end(args);
}

void sheet_begin_part(sheet *s) {
    if (s->out && fflush(s->out) == 0)
        s->part = s->size;
}

/* Writes a text without control characters but tabs and newlines. */
static void write_safe(const char *text, size_t size, FILE *out) {
    for (const char *at = text; at < text + size;) {
        size_t control = *at == '\t' || *at == '\n' ? 0 : ki_str_control_size(at);
        if (*at == '\033')
            fputs("^[", out);
        else if (*at == '\r')
            fputs("\\r", out);
        else if (!control)
            putc(*at, out);
        else
            fprintf(out, "%.*s", (int)control, "????");
        at += control ? control : 1;
    }
}

/* The lines of a text. */
typedef struct layout {
    char **lines;   /* each ended by zero instead of its newline; borrowed from the text */
    size_t *cells;  /* number of tabs of each line */
    size_t *begins; /* index of each line's first width */
    size_t count;
    size_t *widths; /* of each cell that a tab ends */
} layout;

static size_t characters(const char *text, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Finds the lines and measures the cells. Returns false if out of memory. */
static bool measure(layout *l, char *text) {
    size_t lines = 1, tabs = 0;
    for (const char *at = text; *at; at++) {
        lines += *at == '\n';
        tabs += *at == '\t';
    }
    l->lines = calloc(lines, sizeof *l->lines);
    l->cells = calloc(lines, sizeof *l->cells);
    l->begins = calloc(lines, sizeof *l->begins);
    l->widths = calloc(tabs + 1, sizeof *l->widths);
    if (!l->lines || !l->cells || !l->begins || !l->widths)
        return false;
    tabs = 0;
    for (char *line = text; *line;) {
        size_t size = strcspn(line, "\n"), cell = 0;
        char *next = line + size + (line[size] == '\n');
        line[size] = '\0';
        l->lines[l->count] = line;
        l->begins[l->count] = tabs;
        for (const char *at = line; at[cell = strcspn(at, "\t")]; at += cell + 1)
            l->widths[tabs++] = characters(at, cell) + PADDING;
        l->cells[l->count] = tabs - l->begins[l->count];
        l->count++;
        line = next;
    }
    return true;
}

/* Gives the cells of a column in neighbouring lines the same width. Returns false past the last column. */
static bool align_column(const layout *l, size_t column) {
    bool has_any = false;
    for (size_t first = 0, end; first < l->count; first = end) {
        size_t width = 0;
        for (end = first; end < l->count && l->cells[end] > column; end++) {
            size_t own = l->widths[l->begins[end] + column];
            width = own > width ? own : width;
        }
        for (size_t i = first; i < end; i++)
            l->widths[l->begins[i] + column] = width;
        has_any |= end > first;
        end += end == first;
    }
    return has_any;
}

static void print_line(const layout *l, size_t index, FILE *out) {
    const char *at = l->lines[index];
    for (size_t i = 0; i < l->cells[index]; i++) {
        size_t size = strcspn(at, "\t"), width = l->widths[l->begins[index] + i];
        fprintf(out, "%.*s%*s", (int)size, at, (int)(width - characters(at, size)), "");
        at += size + 1;
    }
    fprintf(out, "%s\n", at);
}

static bool print_aligned(const char *text, size_t size, FILE *out) {
    layout l = { .count = 0 };
    char *safe = NULL;
    size_t safe_size = 0;
    FILE *to = open_memstream(&safe, &safe_size);
    if (to)
        write_safe(text, size, to);
    bool is_ok = to && fclose(to) == 0 && measure(&l, safe);
    for (size_t column = 0; is_ok && column < ALIGNED_MAX && align_column(&l, column); column++)
        ;
    for (size_t i = 0; is_ok && i < l.count; i++)
        print_line(&l, i, out);
    free(l.lines);
    free(l.cells);
    free(l.begins);
    free(l.widths);
    free(safe);
    return is_ok;
}

bool sheet_close(sheet *s, FILE *out) {
    bool is_ok = s->out && fclose(s->out) == 0 && !s->has_failed;
    is_ok = is_ok && (!s->part || print_aligned(s->text, s->part, out)) &&
            print_aligned(s->text + s->part, s->size - s->part, out);
    free(s->text);
    *s = (sheet){ .text = NULL };
    return is_ok;
}

/* canvas.h: a picture of a terminal's screen: lines of text in styles. Without a terminal. */
#ifndef CLI_SCREEN_CANVAS_H
#define CLI_SCREEN_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_HEADING, /* bold, underlined */
    STYLE_GOOD,    /* green; without colours: plain */
    STYLE_WARNING, /* yellow; without colours: underlined */
    STYLE_BAD,     /* red, bold; without colours: bold */
    STYLE_LIT,     /* a cell that has changed: black on yellow; without colours: reverse, bold */
    STYLE_BAR,     /* the bars above and below: reverse */
    STYLES
} style;

/* A part of a line in one style. */
typedef struct canvas_run {
    style style;
    const char *text; /* UTF-8, without control characters; borrowed, until the canvas is changed */
    size_t column;    /* where the part begins */
    size_t width;     /* columns that it fills */
} canvas_run;

typedef struct canvas canvas;

/* Returns an empty canvas without a size, or NULL if out of memory. */
canvas *canvas_new(void);
/* NULL is accepted. */
void canvas_free(canvas *c);
/* Clears the canvas and gives it a size. Returns false if out of memory. */
bool canvas_begin(canvas *c, size_t width, size_t height);
size_t canvas_width(const canvas *c);
size_t canvas_height(const canvas *c);

/* Begins the next line of the canvas. Returns false once all lines are begun: what is then added is skipped. */
bool canvas_line(canvas *c);
/* Marks the current line as the cursor's: it is reverse over its whole width. */
void canvas_select_line(canvas *c);
/* Adds text at the end of the current line, in at most `width` columns (0: what is left of the line), with "…" at its
 * end if it is cut. Each byte that is not UTF-8 is '?', as are control characters (print_safe). Wide characters fill
 * two columns. */
void canvas_add(canvas *c, style in, const char *text, size_t width);
/* Adds blanks up to a column from the left edge. Does nothing if the line is there already. */
void canvas_move(canvas *c, size_t column, style in);
/* Formats as printf does, and adds the text with width 0. */
void canvas_printf(canvas *c, style in, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));
/* Returns the column at which the current line's next text begins. */
size_t canvas_column(const canvas *c);
/* Returns true once memory has run out since canvas_begin: the picture is incomplete. */
bool canvas_has_failed(const canvas *c);

/* Returns true for the cursor's line. */
bool canvas_is_selected(const canvas *c, size_t line);
/* The parts of a line, from left to right. A line that was not begun has none. */
size_t canvas_run_count(const canvas *c, size_t line);
canvas_run canvas_run_at(const canvas *c, size_t line, size_t index);
/* Writes the lines that were begun as text, without blanks at their ends: for tests, which compare it. */
void canvas_write(const canvas *c, FILE *out);

#endif

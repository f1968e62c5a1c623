/* output.h: the program's standard output and standard error: lines, colour, progress, write errors. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <kinformer/object.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    HELD_MAX = 16 * 1024 /* bytes of held messages */
};

/* Flushes stdout. Returns false once a write has failed; the command then ends with output_status(). */
bool output_flush(void);
/* Returns EXIT_OK if the reader has closed stdout. Returns EXIT_FAILED for another write error, such as a full disk,
 * and prints it once. */
int output_status(void);

typedef enum colour {
    COLOUR_NONE,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_RED,
    COLOUR_DIM,
    COLOUR_BOLD
} colour;

/* Returns the sequence that begins a colour, or ends it (COLOUR_NONE); "" if `out` is not a terminal or NO_COLOR is
 * set. */
const char *colour_text(FILE *out, colour which);
bool is_terminal(FILE *out);

/* Prints the line "kinformer COMMAND: …" on stderr. Clears a progress line first. */
void say(const char *command, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
/* Prints a progress line, which the next one replaces, if stderr is a terminal. NULL clears it. */
void show_progress(const char *text);

/* Keeps what say and show_progress would print, while something else has the terminal: the last HELD_MAX bytes of
 * messages, and no progress. */
void output_hold_messages(void);
/* Prints the messages that were kept, as far as a terminal takes them, and prints again from then on. Does nothing
 * unless they are held. */
void output_release_messages(void);

/* Prints text from outside with '?' for each byte of a control character, including those that change the text's
 * direction. A server cannot drive the terminal, and no line reads as another. */
void print_safe(FILE *out, const char *text);
/* Prints a text of several lines on stdout, which a zero follows: on a terminal without what print_safe replaces, but
 * tabs and newlines; elsewhere as it is. */
void print_printable(const char *text, size_t size);
/* Replaces in a text what print_safe replaces. */
void make_safe(char *text);
/* Replace the letters A to Z by a to z, or these by those. */
void make_lower(char *text);
void make_upper(char *text);
/* Returns how many terminal columns print_safe fills. */
size_t width_of(const char *text);
/* Removes our colours from a text. */
void strip_colours(char *text);
/* Returns how many columns a text fills on a terminal. The text can contain our colours, and no control characters. */
size_t display_width(const char *text);
/* Returns how many bytes of such a text fit into `width` columns. If not all do, one column is left for "…". */
size_t display_fitting(const char *text, size_t width);
/* Writes such a text, with "…" at its end if it does not fit into `width` columns (0: any width). */
void display_cut(const char *text, size_t width, FILE *out);
/* Writes such a text in at most `width` columns, with "…" in its middle. */
void display_shorten(const char *text, size_t width, FILE *out);
/* Returns the width of stdout's terminal; 0 if stdout is not a terminal or its width is unknown. */
size_t terminal_width(void);
/* Prints a line on stdout, cut to the width of a terminal. The text can contain our colours. */
void output_line(const char *text);

/* Prints a JSON string in quotes, with '?' for each byte that is not UTF-8 (a cut text). */
void print_json_string(FILE *out, const char *text);

/* Writes the value of a field selector: with a '\\' before what would end it. */
void print_selector_value(FILE *out, const char *value);

/* Returns "deployment.apps/web", as kubectl's -o name prints. The caller frees it. Returns NULL if out of memory. */
char *object_name(const ki_object *obj);
void print_object_name(const ki_object *obj);

/* Writes 12345 as "12,345". Returns `text`. */
const char *with_commas(unsigned long long number, char text[32]);

#endif

/* output.h: the program's standard output and standard error: lines, colour, and what happens once nobody reads. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <kinformer/object.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Sends what was printed to stdout on its way. False once that has failed; then the command should end with output_status(). */
bool output_flush(void);
/* EXIT_FINE where the reader has closed it, EXIT_FAILED (and a message, once) for a full disk and the like. */
int output_status(void);

typedef enum colour {
    COLOUR_NONE,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_RED,
    COLOUR_DIM,
    COLOUR_BOLD
} colour;

/* The text that begins a colour, or ends it (COLOUR_NONE); "" where `out` is no terminal or NO_COLOR is set. */
const char *colour_text(FILE *out, colour which);
bool is_terminal(FILE *out);

/* "kinformer COMMAND: …" on stderr, one line. Clears a progress line before. */
void say(const char *command, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
/* A line that is overwritten by the next, on a terminal; NULL clears it. */
void show_progress(const char *text);

/* Prints text from elsewhere with '?' for each byte of a control character, of those too that turn the direction of what follows: a server must not
 * drive the terminal, nor make a line read as another. */
void print_tame(FILE *out, const char *text);
/* Returns how many columns of a terminal print_tame fills. */
size_t width_of(const char *text);
/* Prints a line of output, which may hold our colours, to stdout: on a terminal no more of it than fits its width. */
void output_line(const char *text);

/* As JSON has it, in quotes; with '?' for each byte that is no UTF-8, as where a text was cut. */
void print_json_string(FILE *out, const char *text);

/* "deployment.apps/web", as kubectl's -o name; to be freed; NULL where there is no memory. */
char *object_name(const ki_object *obj);
void print_object_name(const ki_object *obj);

/* 12345 as "12,345". */
const char *with_commas(unsigned long long number, char text[32]);

#endif

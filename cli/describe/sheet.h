/* sheet.h: text whose tabs become columns, as kubectl describe aligns it. */
#ifndef CLI_DESCRIBE_SHEET_H
#define CLI_DESCRIBE_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct sheet {
    FILE *out; /* NULL: out of memory */
    char *text;
    size_t size;
    size_t part;     /* where the part begins that is aligned for itself; 0: there is none */
    int indent;      /* added to each level */
    bool has_failed; /* out of memory */
} sheet;

void sheet_open(sheet *s);
/* Writes text, indented by two blanks for each level. A tab in it ends a cell. */
void sheet_write(sheet *s, int level, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));
/* Aligns what follows for itself. Used once. */
void sheet_begin_part(sheet *s);
/* Prints the text with the cells of its first 64 columns aligned, and frees it. Control characters but tabs and
 * newlines are replaced: Escape by "^[", carriage return by "\r", each byte of the others by "?". Returns false if out
 * of memory. */
bool sheet_close(sheet *s, FILE *out);

#endif

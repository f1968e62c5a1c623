/* printer.h: the formats of -o that watch and get share: json, yaml, name, jsonpath and custom-columns, as kubectl has them. */
#ifndef CLI_PRINTER_H
#define CLI_PRINTER_H

#include "cli.h"
#include "table.h"

#include <kinformer-print/jsonpath.h>
#include <kinformer/kinformer.h>

typedef enum format {
    FORMAT_LINE, /* of watch; get's table */
    FORMAT_WIDE, /* the same with more columns */
    FORMAT_JSON,
    FORMAT_YAML,
    FORMAT_NAME,
    FORMAT_JSONPATH,
    FORMAT_COLUMNS
} format;

enum {
    COLUMNS_MAX = 64
};

typedef struct printer {
    const char *command;
    format format;
    bool no_headers;
    size_t count;       /* objects printed so far */
    ki_jsonpath *path;  /* of FORMAT_JSONPATH */
    ki_jsonpath *value; /* "{@}": numbers as Go prints them */
    ki_jsonpath *columns[COLUMNS_MAX];
    char *headers[COLUMNS_MAX];
    size_t column_count;
    table table; /* of FORMAT_COLUMNS */
} printer;

/* Reads the value of -o. EXIT_USAGE, said on stderr, where it is none of these. */
int printer_open(printer *p, const char *command, const options *o);
/* An object, or a list of them, as JSON, in one of the last formats: yaml, jsonpath or custom-columns. The rows of custom-columns come
 * with printer_flush. */
ki_status printer_print(printer *p, const char *json, size_t size, ki_error *err);
/* Shows the rows that have come; `is_last` makes no promise for later ones. */
void printer_flush(printer *p);
void printer_close(printer *p);

#endif

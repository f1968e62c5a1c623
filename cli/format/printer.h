/* printer.h: the formats of -o of watch and get: json, yaml, name, jsonpath, jsonpath-as-json, go-template and
 * custom-columns, as in kubectl; jsonl. */
#ifndef CLI_FORMAT_PRINTER_H
#define CLI_FORMAT_PRINTER_H

#include "cli/cli.h"
#include "table.h"

#include "print/go_template.h"

#include <kinformer-print/jsonpath.h>
#include <kinformer-print/yaml.h>
#include <kinformer/kinformer.h>

typedef enum format {
    FORMAT_LINE, /* a line of watch, a table of get */
    FORMAT_WIDE, /* the same with more columns */
    FORMAT_JSON,
    FORMAT_JSONL, /* an object a line */
    FORMAT_YAML,
    FORMAT_NAME,
    FORMAT_JSONPATH,
    FORMAT_JSONPATH_AS_JSON,
    FORMAT_GO_TEMPLATE,
    FORMAT_COLUMNS
} format;

enum {
    COLUMNS_MAX = 64
};

typedef struct printer {
    const char *command;
    format format;
    bool no_headers;
    size_t count;             /* objects printed so far */
    ki_jsonpath *path;        /* the template of FORMAT_JSONPATH and FORMAT_JSONPATH_AS_JSON */
    ki_go_template *template; /* of FORMAT_GO_TEMPLATE */
    ki_go_template *value;    /* the template "{{.}}", which prints a value as Go does */
    ki_jsonpath *columns[COLUMNS_MAX];
    char *headers[COLUMNS_MAX];
    size_t column_count;
    table table; /* the rows of a table or of FORMAT_COLUMNS */
} printer;

/* Parses the value of -o. Returns EXIT_USAGE, with a message on stderr, if it is not a format. */
int printer_open(printer *p, const char *command, const options *o);
/* Prints an object or a List in JSON in the format, which is not name or a table. printer_flush prints the rows of
 * custom-columns. */
ki_status printer_print(printer *p, const char *json, size_t size, ki_error *err);
/* Adds the headers of custom-columns, which printer_print adds before the first object. */
ki_status printer_add_headers(printer *p);
/* Prints the rows added so far. Later rows have the widths of these columns, or wider ones. */
void printer_flush(printer *p);
void printer_close(printer *p);

#endif

/* go_template.h: the part of Go's text/template that scripts use in `kubectl get -o go-template`, over JSON. Immutable
 * once parsed.
 *
 *     {{range .items}}{{.metadata.name}}{{"\t"}}{{len .spec.containers}}{{"\n"}}{{end}}
 *
 * Words: if, else, range, with, end; and, or, not, eq, ne, lt, le, gt, ge, len, index, print, printf, println,
 * base64decode. As in kubectl, a number of the JSON is an int64 or else a float64. */
#ifndef KI_PRINT_GO_TEMPLATE_H
#define KI_PRINT_GO_TEMPLATE_H

#include <kinformer-print/jsonpath.h>

#include "print/jsonpath.h"

enum {
    KI_GO_TEMPLATE_MAX_DEPTH = 32,     /* nested blocks and parentheses */
    KI_GO_TEMPLATE_MAX_VARIABLES = 64, /* variables in scope */
    KI_GO_TEMPLATE_MAX_OPERANDS = 32   /* of one command */
};

typedef struct ki_go_template ki_go_template;

/* Parses a template. With `allow_missing_keys` a missing field prints "<no value>"; otherwise it is an error.
 * Errors: KI_ERR_PARSE (the message names what is not supported), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_go_template_new(const char *text, const ki_jsonpath_options *options, ki_go_template **ret_template,
                             ki_error *err);
void ki_go_template_free(ki_go_template *template);
/* Prints the template for a JSON value. The caller empties the text with ki_jsonpath_text_clear before it frees the
 * template.
 * Errors: KI_ERR_INVALID (a value of the wrong type, an index past the end), KI_ERR_NOT_FOUND (no such field),
 * KI_ERR_PARSE (`json` is not JSON), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_go_template_print(const ki_go_template *template, const char *json, size_t size,
                               ki_jsonpath_text *ret_text, ki_error *err);

/* ---- the parsed template ---- */

typedef struct ki_go_name {
    ki_str text;
    struct ki_go_name *next;
} ki_go_name;

typedef enum ki_go_operand_type {
    KI_GO_DOT,
    KI_GO_VARIABLE,
    KI_GO_PIPE, /* in parentheses */
    KI_GO_STRING,
    KI_GO_INT,
    KI_GO_FLOAT,
    KI_GO_BOOL,
    KI_GO_NIL,
    KI_GO_FUNCTION
} ki_go_operand_type;

typedef struct ki_go_operand {
    ki_go_operand_type type;
    ki_str text;  /* a string; a function's name, for messages */
    size_t index; /* of a variable or function */
    int64_t integer;
    double number;
    bool boolean;
    struct ki_go_pipe *pipe;
    ki_go_name *fields; /* that follow: .a.b */
    struct ki_go_operand *next;
} ki_go_operand;

/* A function with its arguments, or one operand. */
typedef struct ki_go_command {
    ki_go_operand *first;
    struct ki_go_command *next; /* which gets this one's value as its last argument */
} ki_go_command;

typedef struct ki_go_pipe {
    size_t variables[2]; /* which it sets; of a range: key and element */
    size_t variable_count;
    ki_go_command *first;
} ki_go_pipe;

typedef enum ki_go_node_type {
    KI_GO_TEXT,
    KI_GO_PRINT, /* or nothing, if the pipe sets a variable */
    KI_GO_IF,
    KI_GO_WITH,
    KI_GO_RANGE
} ki_go_node_type;

typedef struct ki_go_node {
    ki_go_node_type type;
    ki_str text;
    ki_go_pipe *pipe;
    struct ki_go_node *body;
    struct ki_go_node *otherwise;
    struct ki_go_node *next;
} ki_go_node;

struct ki_go_template {
    ki_allocator allocator;
    bool allows_missing;
    size_t max_output;
    ki_go_node *first;
    ki_block *blocks;
};

/* Parses `text` into an empty template. After a failure `template->blocks` keeps the memory. */
ki_status ki_go_template_parse(ki_go_template *template, ki_str text, ki_error *err);

/* ---- values ---- */

typedef enum ki_go_type {
    KI_GO_NONE, /* a missing field */
    KI_GO_NULL,
    KI_GO_IS_STRING,
    KI_GO_IS_INT,
    KI_GO_IS_FLOAT,
    KI_GO_IS_BOOL,
    KI_GO_IS_LIST,
    KI_GO_IS_MAP
} ki_go_type;

typedef struct ki_go_value {
    ki_go_type type;
    ki_str text;
    int64_t integer;
    double number;
    bool boolean;
    yyjson_val *json; /* a list or map; for any other value of the JSON not NULL */
} ki_go_value;

ki_go_value ki_go_value_of(yyjson_val *json);
bool ki_go_is_true(const ki_go_value *value);
/* Returns Go's name of the value's type. */
const char *ki_go_type_name(const ki_go_value *value);
/* Append a value as fmt.Print does, several as fmt.Sprint, fmt.Sprintln and fmt.Sprintf do. The buffer keeps a
 * failure; values that are nested too deeply end with "...". */
void ki_go_append(ki_buffer *out, const ki_go_value *value);
void ki_go_append_all(ki_buffer *out, const ki_go_value *values, size_t count, bool is_line);
void ki_go_append_format(ki_buffer *out, ki_str format, const ki_go_value *values, size_t count);

/* ---- functions ---- */

/* What a function needs beside its arguments. */
typedef struct ki_go_call {
    const char *name;
    ki_buffer *scratch; /* for the text that the function returns */
    ki_error *err;
} ki_go_call;

/* Returns the index of a function; -1 if there is none. `and` and `or` are the first two. */
int ki_go_function_find(ki_str name);
const char *ki_go_function_name(size_t index);
enum {
    KI_GO_AND = 0,
    KI_GO_OR = 1
};
/* Checks a format of printf for directives of Go that are not there. Errors: KI_ERR_PARSE. */
ki_status ki_go_format_check(ki_str format, ki_error *err);
/* Calls any other function. A text in `*ret_value` may be in the scratch. */
ki_status ki_go_function_call(size_t index, const ki_go_call *call, const ki_go_value *arguments, size_t count,
                              ki_go_value *ret_value);

#endif

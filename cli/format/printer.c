/* printer.c: see printer.h. */
#include "printer.h"

#include "cli/output.h"
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    TEMPLATE_FILE_MAX = 256 * 1024
};

/* ---- the value of -o ---- */

/* Returns the content of a file. Returns NULL, with a message, on failure. */
static char *read_template(const printer *p, const char *file) {
    FILE *in = fopen(file, "re");
    char *text = in ? malloc(TEMPLATE_FILE_MAX + 1) : NULL;
    size_t size = text ? fread(text, 1, TEMPLATE_FILE_MAX + 1, in) : 0;
    bool is_ok = text && !ferror(in);
    if (!is_ok)
        say(p->command, "error reading template %s: %s", file, strerror(errno));
    else if (size > TEMPLATE_FILE_MAX)
        say(p->command, "the template %s is longer than %d bytes", file, TEMPLATE_FILE_MAX);
    if (in)
        fclose(in);
    if (!is_ok || size > TEMPLATE_FILE_MAX) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

static int open_path(printer *p, const options *o, const char *template) {
    ki_error err = KI_ERROR_INIT;
    const ki_jsonpath_options with = { .size = sizeof with,
                                       .allow_missing_keys = o->allow_missing_keys,
                                       .max_output = (size_t)1 << 30 };
    if (!template || !*template) {
        say(p->command, "-o jsonpath needs a template: -o jsonpath='{.metadata.name}'");
        return EXIT_USAGE;
    }
    if (ki_jsonpath_new(template, &with, &p->path, &err) == KI_OK)
        return EXIT_OK;
    say(p->command, "error parsing %s: %s", template, ki_error_message(&err));
    return EXIT_USAGE;
}

static int open_template(printer *p, const options *o, const char *template) {
    ki_error err = KI_ERROR_INIT;
    const ki_jsonpath_options with = { .size = sizeof with,
                                       .allow_missing_keys = o->allow_missing_keys,
                                       .max_output = (size_t)1 << 30 };
    p->format = FORMAT_GO_TEMPLATE;
    if (!template || !*template) {
        say(p->command, "template format specified but no template given: -o go-template='{{.metadata.name}}'");
        return EXIT_USAGE;
    }
    if (ki_go_template_new(template, &with, &p->template, &err) == KI_OK)
        return EXIT_OK;
    say(p->command, "error parsing template %s: %s", template, ki_error_message(&err));
    return EXIT_USAGE;
}

static int add_column(printer *p, const char *header, size_t header_size, const char *path) {
    ki_error err = KI_ERROR_INIT;
    const ki_jsonpath_options with = { .size = sizeof with, .allow_missing_keys = true };
    if (p->column_count == COLUMNS_MAX) {
        say(p->command, "at most %d columns", COLUMNS_MAX);
        return EXIT_USAGE;
    }
    if (*path ? ki_jsonpath_new_relaxed(path, &with, &p->columns[p->column_count], &err)
              : ki_jsonpath_new("", &with, &p->columns[p->column_count], &err)) {
        say(p->command, "the column %.*s: %s", (int)header_size, header, ki_error_message(&err));
        return EXIT_USAGE;
    }
    p->headers[p->column_count] = strndup(header, header_size);
    return p->headers[p->column_count++] ? EXIT_OK : EXIT_FAILED;
}

/* Parses columns: "NAME:.metadata.name,NODE:.spec.nodeName". */
static int open_columns(printer *p, const char *spec) {
    int status = EXIT_OK;
    char *own = strdup(spec);
    char *rest = own;
    char *part;
    if (!*spec) {
        say(p->command, "custom-columns format specified but no custom columns given");
        status = EXIT_USAGE;
    }
    while (!status && (part = strsep(&rest, ","))) {
        char *colon = strchr(part, ':');
        if (colon) {
            status = add_column(p, part, (size_t)(colon - part), colon + 1);
        } else {
            say(p->command, "unexpected custom-columns spec: %s, expected <header>:<json-path-expr>", part);
            status = EXIT_USAGE;
        }
    }
    free(own);
    return status;
}

/* Parses a file with a line of headers and a line of paths. */
static int open_columns_file(printer *p, const char *file) {
    static const char blanks[] = " \t\r";
    char *text = read_template(p, file);
    int status = text ? EXIT_OK : EXIT_USAGE;
    char *rest = text;
    char *headers = rest ? strsep(&rest, "\n") : NULL;
    char *paths = rest ? strsep(&rest, "\n") : NULL;
    char *header_rest = NULL;
    char *path_rest = NULL;
    char *header = headers && paths ? strtok_r(headers, blanks, &header_rest) : NULL;
    char *path = paths ? strtok_r(paths, blanks, &path_rest) : NULL;
    if (text && !header) {
        say(p->command, "%s: expected two lines, the headers and one path for each header, separated by blanks", file);
        status = EXIT_USAGE;
    }
    while (!status && (header || path)) {
        if (!header || !path) {
            say(p->command, "%s: the numbers of headers and of paths differ", file);
            status = EXIT_USAGE;
            break;
        }
        status = add_column(p, header, strlen(header), path);
        header = strtok_r(NULL, blanks, &header_rest);
        path = strtok_r(NULL, blanks, &path_rest);
    }
    free(text);
    return status;
}

static bool begins(const char *text, const char *prefix, const char **ret_rest) {
    size_t size = strlen(prefix);
    if (strncmp(text, prefix, size) != 0)
        return false;
    *ret_rest = text + size;
    return true;
}

/* Opens the template of "go-template=TEXT", "go-template-file=FILE" and the like, or of --template. Returns -1 for any
 * other format. */
static int set_template(printer *p, const options *o) {
    static const struct {
        const char *name;
        bool is_file;
    } names[] = {
        { "go-template", false }, { "template", false }, { "go-template-file", true }, { "templatefile", true }
    };
    const char *text = o->output ? o->output : "go-template", *rest = NULL;
    if (!o->output && !o->template)
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!begins(text, names[i].name, &rest) || (*rest && *rest != '='))
            continue;
        const char *given = *rest ? rest + 1 : o->template;
        if (!names[i].is_file || !given)
            return open_template(p, o, given);
        char *read = read_template(p, given);
        int status = read ? open_template(p, o, read) : EXIT_USAGE;
        free(read);
        return status;
    }
    return -1;
}

static int set_format(printer *p, const options *o) {
    static const struct {
        const char *name;
        format format;
    } plain[] = { { "line", FORMAT_LINE },   { "wide", FORMAT_WIDE }, { "json", FORMAT_JSON },
                  { "jsonl", FORMAT_JSONL }, { "yaml", FORMAT_YAML }, { "name", FORMAT_NAME } };
    const char *text = o->output && *o->output ? o->output : "line";
    const char *rest = NULL;
    bool is_watch = strcmp(p->command, "watch") == 0;
    if (is_watch && (strcmp(text, "jsonl") == 0 || begins(text, "jsonpath-as-json", &rest))) {
        say(p->command, "-o %.16s is a format of get; -o json prints a line for each change", text);
        return EXIT_USAGE;
    }
    int opened = set_template(p, o);
    if (opened >= 0)
        return opened;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(text, plain[i].name) != 0)
            continue;
        p->format = plain[i].format;
        return EXIT_OK;
    }
    if (begins(text, "jsonpath-file=", &rest)) {
        p->format = FORMAT_JSONPATH;
        char *template = read_template(p, rest);
        int status = template ? open_path(p, o, template) : EXIT_USAGE;
        free(template);
        return status;
    }
    if (begins(text, "jsonpath=", &rest) || strcmp(text, "jsonpath") == 0) {
        p->format = FORMAT_JSONPATH;
        return open_path(p, o, text[8] ? rest : NULL);
    }
    if (begins(text, "jsonpath-as-json=", &rest) || strcmp(text, "jsonpath-as-json") == 0) {
        p->format = FORMAT_JSONPATH_AS_JSON;
        return open_path(p, o, text[16] ? rest : NULL);
    }
    if (begins(text, "custom-columns-file=", &rest)) {
        p->format = FORMAT_COLUMNS;
        return open_columns_file(p, rest);
    }
    if (begins(text, "custom-columns=", &rest) || strcmp(text, "custom-columns") == 0) {
        p->format = FORMAT_COLUMNS;
        return open_columns(p, text[14] ? rest : "");
    }
    say(p->command,
        "-o %s is not a format; use %s, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, %sgo-template=TEMPLATE, "
        "go-template-file=FILE, custom-columns=HEADER:PATH,... or custom-columns-file=FILE",
        text, is_watch ? "line, wide, json" : "wide, json, jsonl", is_watch ? "" : "jsonpath-as-json=TEMPLATE, ");
    return EXIT_USAGE;
}

int printer_open(printer *p, const char *command, const options *o) {
    *p = (printer){ .command = command, .no_headers = o->no_headers };
    if (ki_go_template_new("{{.}}", NULL, &p->value, NULL))
        return EXIT_FAILED;
    return set_format(p, o);
}

/* ---- custom-columns: values as Go's fmt prints them ---- */

typedef struct cell {
    const printer *printer;
    FILE *out;
    size_t values;
    bool has_failed; /* out of memory */
} cell;

/* Prints a number with a fraction, an array or an object. Returns false if out of memory. */
static bool print_go(const printer *p, FILE *out, const ki_value *value) {
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    yyjson_mut_doc *number = value->type == KI_VALUE_DOUBLE ? yyjson_mut_doc_new(NULL) : NULL;
    size_t size = value->text_size;
    yyjson_mut_doc_set_root(number, yyjson_mut_real(number, value->number));
    char *written = number ? yyjson_mut_write(number, 0, &size) : NULL;
    const char *json = value->type == KI_VALUE_DOUBLE ? written : value->text;
    bool is_ok = json && ki_go_template_print(p->value, json, size, &text, NULL) == KI_OK;
    if (is_ok)
        fputs(text.data, out);
    ki_jsonpath_text_clear(&text);
    free(written);
    yyjson_mut_doc_free(number);
    return is_ok;
}

static bool print_value(const ki_value *value, void *user) {
    cell *c = user;
    if (c->values++)
        fputc(',', c->out);
    if (value->type == KI_VALUE_STRING) {
        fputs(value->text, c->out);
    } else if (value->type == KI_VALUE_NULL) {
        fputs("<nil>", c->out);
    } else if (value->type == KI_VALUE_BOOL) {
        fputs(value->boolean ? "true" : "false", c->out);
    } else if (value->type == KI_VALUE_INT) {
        fprintf(c->out, "%lld", (long long)value->integer);
    } else {
        c->has_failed = !print_go(c->printer, c->out, value);
    }
    return !c->has_failed;
}

ki_status printer_add_headers(printer *p) {
    p->table.columns = p->column_count;
    for (size_t i = 0; i < p->column_count && !p->no_headers; i++) {
        if (!table_add(&p->table, p->headers[i]))
            return KI_ERR_NO_MEMORY;
    }
    return KI_OK;
}

static ki_status add_row(printer *p, const char *json, size_t size, ki_error *err) {
    if (p->count == 0 && printer_add_headers(p))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < p->column_count; i++) {
        char *text = NULL;
        size_t text_size = 0;
        cell c = { .printer = p, .out = open_memstream(&text, &text_size) };
        if (!c.out)
            return KI_ERR_NO_MEMORY;
        ki_status status = ki_jsonpath_each(p->columns[i], json, size, print_value, &c, err);
        if (!c.values)
            fputs("<none>", c.out);
        bool is_added = fclose(c.out) == 0 && !status && !c.has_failed && table_add(&p->table, text);
        free(text);
        if (!is_added)
            return status ? status : KI_ERR_NO_MEMORY;
    }
    return KI_OK;
}

/* ---- printing ---- */

static bool write_out(const char *text, size_t size, void *user) {
    (void)user;
    return fwrite(text, 1, size, stdout) == size;
}

static ki_status print_yaml(const char *json, size_t size, ki_error *err) {
    ki_status status = ki_yaml_write(NULL, json, size, write_out, NULL, err);
    return status == KI_ERR_CLOSED ? KI_OK : status; /* the stream keeps the error; output_flush reports it */
}

ki_status printer_print(printer *p, const char *json, size_t size, ki_error *err) {
    ki_status status = KI_OK;
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    switch (p->format) {
    case FORMAT_YAML:
        if (p->count)
            printf("---\n");
        status = print_yaml(json, size, err);
        break;
    case FORMAT_JSONPATH:
        status = ki_jsonpath_print(p->path, json, size, &text, err);
        if (!status)
            print_printable(text.data, text.size);
        ki_jsonpath_text_clear(&text);
        break;
    case FORMAT_GO_TEMPLATE:
        status = ki_go_template_print(p->template, json, size, &text, err);
        if (!status)
            print_printable(text.data, text.size);
        ki_jsonpath_text_clear(&text);
        break;
    case FORMAT_JSONPATH_AS_JSON:
        status = json_print_values(p->path, json, size, err);
        break;
    case FORMAT_JSON:
        status = json_print(json, size, 0, err);
        putchar('\n');
        break;
    case FORMAT_JSONL:
        print_printable(json, size);
        putchar('\n');
        break;
    case FORMAT_COLUMNS:
        status = add_row(p, json, size, err);
        break;
    default:
        break;
    }
    p->count++;
    return status;
}

void printer_flush(printer *p) {
    if (p->format == FORMAT_COLUMNS)
        table_print(&p->table);
}

void printer_close(printer *p) {
    ki_jsonpath_free(p->path);
    ki_go_template_free(p->template);
    ki_go_template_free(p->value);
    for (size_t i = 0; i < p->column_count; i++) {
        ki_jsonpath_free(p->columns[i]);
        free(p->headers[i]);
    }
    table_free(&p->table);
    *p = (printer){ 0 };
}

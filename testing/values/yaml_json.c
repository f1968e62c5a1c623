/* yaml_json.c: writes libyaml's events as JSON while they arrive. Keeps only where each anchor begins and ends in
 * the JSON. Counts depth and aliases, because libyaml's time grows with the square of the nesting. */
#include "testing/values/yaml_json.h"

#include "src/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
    NAME_MAX_SIZE = 64 /* of an anchor's name */
};

typedef struct anchor {
    char name[NAME_MAX_SIZE];
    size_t start; /* offset in the JSON */
    size_t end;   /* offset in the JSON; 0: the node has not ended */
} anchor;

typedef struct level {
    bool is_map;
    size_t count;  /* written so far; a map counts keys and values */
    size_t anchor; /* index of its anchor; SIZE_MAX: none */
} level;

typedef struct writer {
    yaml_parser_t parser;
    ki_buffer *out;
    const char *why;
    level levels[KT_YAML_DEPTH_MAX];
    size_t depth;
    anchor anchors[KT_YAML_ANCHORS_MAX];
    size_t anchor_count;
    size_t alias_count;
    bool is_done;
} writer;

static void fail(writer *w, const char *why) {
    if (!w->why)
        w->why = why;
}

static bool is_one_of(const char *text, const char *const *names) {
    for (; *names; names++) {
        if (strcmp(text, *names) == 0)
            return true;
    }
    return false;
}

/* ---- scalars ---- */

/* Returns true for -?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)? */
static bool is_json_number(const char *at) {
    at += *at == '-';
    size_t digits = strspn(at, "0123456789");
    if (!digits || (digits > 1 && *at == '0'))
        return false;
    at += digits;
    if (*at == '.') {
        digits = strspn(++at, "0123456789");
        at += digits;
        if (!digits)
            return false;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        digits = strspn(at, "0123456789");
        at += digits;
        if (!digits)
            return false;
    }
    return !*at;
}

/* Appends a number in a form that JSON does not have: +1, 0x1f, 0o17, 017, .5, 5. Returns false if `text` is no
 * number. */
static bool append_other_number(ki_buffer *out, const char *text) {
    const char *digits = text + (*text == '-' || *text == '+');
    char *end = NULL;
    errno = 0;
    if (*digits == '0' && digits[1] && !strpbrk(digits, ".eE")) {
        bool has_letter = digits[1] == 'x' || digits[1] == 'o' || digits[1] == 'b';
        int base = digits[1] == 'x' ? 16 : digits[1] == 'b' ? 2 : 8;
        const char *number = digits + (has_letter ? 2 : 1);
        long long value = strspn(number, "0123456789abcdefABCDEF") ? strtoll(number, &end, base) : 0;
        if (!end || *end || errno)
            return false;
        ki_buffer_printf(out, "%s%lld", *text == '-' ? "-" : "", value);
        return true;
    }
    bool is_decimal = strspn(digits, "0123456789.eE+-") == strlen(digits) && strpbrk(digits, "0123456789") &&
                      strchr("0123456789.", *digits);
    double value = is_decimal ? strtod(text, &end) : 0;
    if (!is_decimal || *end || value - value != 0)
        return false;
    if (*text == '+' && is_json_number(digits))
        ki_buffer_append_string(out, digits);
    else
        ki_buffer_printf(out, "%.17g", value);
    return true;
}

static void append_plain(ki_buffer *out, ki_str value) {
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = {
        "true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", NULL
    };
    static const char *const falses[] = { "false", "False", "FALSE", "n",   "N",   "no",
                                          "No",    "NO",    "off",   "Off", "OFF", NULL };
    const char *text = value.data;
    if (is_one_of(text, nulls))
        ki_buffer_append_string(out, "null");
    else if (is_one_of(text, trues) || is_one_of(text, falses))
        ki_buffer_append_string(out, is_one_of(text, trues) ? "true" : "false");
    else if (is_json_number(text))
        ki_buffer_append_view(out, value);
    else if (!strchr("+-.0123456789", *text) || !append_other_number(out, text))
        ki_buffer_append_json_string(out, value);
}

/* Makes the value at `start` a string, because a JSON key is a string: `yes:` becomes "true", 017 becomes "15". */
static void quote(ki_buffer *out, size_t start) {
    size_t size = out->size - start;
    if (out->failed || out->data[start] == '"' || ki_buffer_append_string(out, "\"\""))
        return;
    memmove(out->data + start + 1, out->data + start, size);
    out->data[start] = '"';
}

static void append_scalar(writer *w, const yaml_event_t *event, bool is_key) {
    ki_str value = { (const char *)event->data.scalar.value, event->data.scalar.length };
    size_t start = w->out->size;
    if (event->data.scalar.plain_implicit && !memchr(value.data, 0, value.size))
        append_plain(w->out, value);
    else
        ki_buffer_append_json_string(w->out, value);
    if (is_key)
        quote(w->out, start);
}

/* ---- structure ---- */

/* Writes the separator before a node. Returns true if the node is a key. */
static bool begin_node(writer *w) {
    level *in = w->depth ? &w->levels[w->depth - 1] : NULL;
    bool is_key = in && in->is_map && in->count % 2 == 0, is_value = in && in->is_map && !is_key;
    if (is_value)
        ki_buffer_append_char(w->out, ':');
    else if (in && in->count)
        ki_buffer_append_char(w->out, ',');
    if (in)
        in->count++;
    return is_key;
}

static size_t add_anchor(writer *w, const yaml_char_t *name) {
    if (!name)
        return SIZE_MAX;
    if (w->anchor_count == KT_YAML_ANCHORS_MAX || strlen((const char *)name) >= NAME_MAX_SIZE) {
        fail(w, "too many anchors, or one with a long name");
        return SIZE_MAX;
    }
    anchor *one = &w->anchors[w->anchor_count];
    snprintf(one->name, sizeof one->name, "%s", (const char *)name);
    one->start = w->out->size;
    one->end = 0;
    return w->anchor_count++;
}

static void end_anchor(writer *w, size_t which) {
    if (which != SIZE_MAX)
        w->anchors[which].end = w->out->size;
}

static void open_level(writer *w, bool is_map, const yaml_char_t *name) {
    if (begin_node(w))
        fail(w, "a key must be a text");
    size_t which = add_anchor(w, name);
    if (w->depth == KT_YAML_DEPTH_MAX) {
        fail(w, "too deep");
        return;
    }
    w->levels[w->depth++] = (level){ .is_map = is_map, .anchor = which };
    ki_buffer_append_char(w->out, is_map ? '{' : '[');
}

static void close_level(writer *w) {
    const level *in = &w->levels[--w->depth];
    ki_buffer_append_char(w->out, in->is_map ? '}' : ']');
    end_anchor(w, in->anchor);
}

static void append_alias(writer *w, const char *name) {
    if (begin_node(w))
        fail(w, "a key must be a text");
    if (++w->alias_count > KT_YAML_ANCHORS_MAX)
        fail(w, "too many aliases");
    for (size_t i = w->anchor_count; !w->why && i-- > 0;) { /* the last anchor of a name counts */
        const anchor *one = &w->anchors[i];
        if (strcmp(one->name, name) != 0)
            continue;
        if (!one->end)
            fail(w, "an alias to what it stands in");
        else if (!ki_buffer_reserve(w->out, one->end - one->start)) /* the append reads this buffer */
            ki_buffer_append(w->out, w->out->data + one->start, one->end - one->start);
        return;
    }
    fail(w, "an alias without its anchor");
}

static void write_event(writer *w, const yaml_event_t *event) {
    size_t which;
    switch (event->type) {
    case YAML_SCALAR_EVENT: {
        bool is_key = begin_node(w);
        which = add_anchor(w, event->data.scalar.anchor);
        append_scalar(w, event, is_key);
        end_anchor(w, which);
        break;
    }
    case YAML_SEQUENCE_START_EVENT:
        open_level(w, false, event->data.sequence_start.anchor);
        break;
    case YAML_MAPPING_START_EVENT:
        open_level(w, true, event->data.mapping_start.anchor);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(w);
        break;
    case YAML_ALIAS_EVENT:
        append_alias(w, (const char *)event->data.alias.anchor);
        break;
    case YAML_DOCUMENT_END_EVENT: /* later documents are ignored */
    case YAML_STREAM_END_EVENT:
        w->is_done = true;
        break;
    default:
        break;
    }
}

static const char *problem_of(const yaml_parser_t *parser) {
    switch (parser->error) {
    case YAML_READER_ERROR:
        return "yaml: control characters are not allowed";
    case YAML_SCANNER_ERROR:
        return "yaml: a token cannot be read";
    default:
        return "yaml: did not find what was expected";
    }
}

ki_status kt_yaml_to_json(ki_str text, ki_buffer *out, const char **ret_why) {
    writer *w = ki_alloc(out->allocator, sizeof *w);
    if (!w)
        return KI_ERR_NO_MEMORY;
    *w = (writer){ .out = out };
    size_t start = out->size;
    ki_status status = yaml_parser_initialize(&w->parser) ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status) {
        yaml_parser_set_input_string(&w->parser, (const unsigned char *)(text.data ? text.data : ""), text.size);
        while (!w->is_done && !w->why && !out->failed && !status) {
            yaml_event_t event;
            if (yaml_parser_parse(&w->parser, &event)) {
                write_event(w, &event);
                yaml_event_delete(&event);
            } else if (w->parser.error == YAML_MEMORY_ERROR) {
                status = KI_ERR_NO_MEMORY;
            } else {
                fail(w, problem_of(&w->parser));
            }
        }
        yaml_parser_delete(&w->parser);
    }
    if (!status)
        status = out->failed;
    if (!status && w->why) {
        *ret_why = w->why;
        status = KI_ERR_PARSE;
    } else if (!status && out->size == start) {
        ki_buffer_append_string(out, "null");
        status = out->failed;
    }
    ki_free(out->allocator, w);
    return status;
}

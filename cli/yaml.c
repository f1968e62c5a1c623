/* yaml.c: see yaml.h. libyaml parses, yyjson writes. Plain scalars have kubectl's meaning: null, true, false, numbers
 * (0644 is octal), else text. */
#include "yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include <yyjson.h>

enum {
    DEPTH_MAX = 128,
    VALUES_MAX = 5000000, /* limits the expansion of aliases */
    ALIASES_MAX = 10000   /* aliases and anchors; libyaml searches them linearly */
};

typedef struct conversion {
    yaml_document_t *yaml;
    yyjson_mut_doc *json;
    size_t values;
} conversion;

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

static yyjson_mut_val *convert_plain(yyjson_mut_doc *json, const char *text, size_t size) {
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = { "true", "True", "TRUE", NULL };
    static const char *const falses[] = { "false", "False", "FALSE", NULL };
    const char *digits = text + (*text == '-' || *text == '+');
    char *end = NULL;

    if (is_one_of(text, nulls))
        return yyjson_mut_null(json);
    if (is_one_of(text, trues) || is_one_of(text, falses))
        return yyjson_mut_bool(json, is_one_of(text, trues));
    if (*digits >= '0' && *digits <= '9') {
        errno = 0;
        bool is_hex = strncmp(digits, "0x", 2) == 0;
        bool is_octal = digits[0] == '0' && digits[1] && strspn(digits, "01234567") == strlen(digits);
        long long integer = strtoll(text, &end, is_hex ? 16 : is_octal ? 8 : 10);
        if (!*end && !errno)
            return yyjson_mut_sint(json, integer);
    }
    if (*digits && strspn(digits, "0123456789.eE+-") == strlen(digits) && strpbrk(digits, "0123456789")) {
        double number = strtod(text, &end);
        if (!*end && number - number == 0)
            return yyjson_mut_real(json, number);
    }
    return yyjson_mut_strncpy(json, text, size);
}

/* Converts a node. Returns NULL if it is too deep or too large, or if a key is not a scalar. */
static yyjson_mut_val *convert(conversion *c, int index, int depth) {
    yaml_node_t *node = yaml_document_get_node(c->yaml, index);
    if (!node || depth > DEPTH_MAX || ++c->values > VALUES_MAX)
        return NULL;
    if (node->type == YAML_SCALAR_NODE) {
        const char *text = (const char *)node->data.scalar.value;
        size_t size = node->data.scalar.length;
        bool is_text = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || memchr(text, 0, size);
        return is_text ? yyjson_mut_strncpy(c->json, text, size) : convert_plain(c->json, text, size);
    }
    if (node->type == YAML_SEQUENCE_NODE) {
        yyjson_mut_val *array = yyjson_mut_arr(c->json);
        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
            yyjson_mut_val *value = convert(c, *item, depth + 1);
            if (!value || !yyjson_mut_arr_append(array, value))
                return NULL;
        }
        return array;
    }
    yyjson_mut_val *object = yyjson_mut_obj(c->json);
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(c->yaml, pair->key);
        if (!key || key->type != YAML_SCALAR_NODE)
            return NULL;
        yyjson_mut_val *name =
            yyjson_mut_strncpy(c->json, (const char *)key->data.scalar.value, key->data.scalar.length);
        yyjson_mut_val *value = convert(c, pair->value, depth + 1);
        if (!name || !value || !yyjson_mut_obj_put(object, name, value))
            return NULL;
    }
    return object;
}

/* Writes a document as one line of JSON. */
static bool write_document(yaml_document_t *yaml, FILE *out) {
    conversion c = { .yaml = yaml, .json = yyjson_mut_doc_new(NULL) };
    yyjson_mut_val *root = c.json ? convert(&c, 1, 0) : NULL;
    bool is_written = false;
    if (root && yyjson_mut_is_null(root)) {
        is_written = true;
    } else if (root) {
        size_t size = 0;
        yyjson_mut_doc_set_root(c.json, root);
        char *line = yyjson_mut_write(c.json, 0, &size);
        is_written = line && fwrite(line, 1, size, out) == size && fputc('\n', out) == '\n';
        free(line);
    }
    yyjson_mut_doc_free(c.json);
    return is_written;
}

/* Returns false for a text that is too deep or has too many anchors and aliases: libyaml's time for both is quadratic.
 * Leaves invalid YAML to the conversion. */
static bool is_bounded(const char *text, size_t size, char why[256]) {
    yaml_parser_t parser;
    size_t depth = 0, aliases = 0;
    bool is_at_end = false, is_bounded = true;
    if (!yaml_parser_initialize(&parser))
        return false;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    while (!is_at_end && is_bounded) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event))
            break;
        bool begins = event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        bool ends = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        bool has_anchor = (event.type == YAML_SEQUENCE_START_EVENT && event.data.sequence_start.anchor) ||
                          (event.type == YAML_MAPPING_START_EVENT && event.data.mapping_start.anchor) ||
                          (event.type == YAML_SCALAR_EVENT && event.data.scalar.anchor);
        depth += begins;
        depth -= ends;
        aliases += has_anchor || event.type == YAML_ALIAS_EVENT;
        is_at_end = event.type == YAML_STREAM_END_EVENT;
        is_bounded = depth <= DEPTH_MAX && aliases <= ALIASES_MAX;
        if (!is_bounded)
            snprintf(why, 256, "line %zu: %s", event.start_mark.line + 1,
                     depth > DEPTH_MAX ? "too deep" : "too many anchors and aliases");
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return is_bounded;
}

char *yaml_to_json(const char *text, size_t size, size_t *ret_size, char why[256]) {
    yaml_parser_t parser;
    char *json = NULL;
    bool is_ok = true;
    bool is_at_end = false;
    FILE *out = open_memstream(&json, ret_size);

    snprintf(why, 256, "out of memory");
    if (!out)
        return NULL;
    if (!is_bounded(text, size, why) || !yaml_parser_initialize(&parser)) {
        fclose(out);
        free(json);
        return NULL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    while (is_ok && !is_at_end) {
        yaml_document_t document;
        size_t line = parser.mark.line + 1;
        is_ok = yaml_parser_load(&parser, &document);
        if (!is_ok) {
            snprintf(why, 256, "line %zu: %s", parser.problem_mark.line + 1,
                     parser.problem ? parser.problem : "invalid YAML");
            break;
        }
        is_at_end = !yaml_document_get_root_node(&document);
        if (!is_at_end) {
            is_ok = write_document(&document, out);
            if (!is_ok)
                snprintf(why, 256, "the document at line %zu is too deep or too large, or has a key that is not a text",
                         line);
        }
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    if (fclose(out))
        is_ok = false;
    if (!is_ok) {
        free(json);
        json = NULL;
    }
    return json;
}

/* yaml_tree.c: libyaml's document, asked by key. Aliases are shared nodes there, so a small file cannot grow into a large tree. */
#include "src/auth/yaml_tree.h"

#include "src/base/error.h"
#include "src/base/memory.h"

static ki_status parse_error(const yaml_parser_t *parser, ki_error *err) {
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (parser->error == YAML_MEMORY_ERROR)
        return ki_error_no_memory(err, "reading YAML");
    if (parser->error == YAML_READER_ERROR)
        return ki_error_set(err, KI_ERR_PARSE, "byte %zu: %s", parser->problem_offset, problem);
    return ki_error_set(err, KI_ERR_PARSE, "line %zu, column %zu: %s", parser->problem_mark.line + 1,
                        parser->problem_mark.column + 1, problem);
}

/* libyaml takes time that grows with the square of the nesting, and of the number of anchors: both are counted, in a pass of its
 * own that builds nothing, before it is asked for the document. */
typedef struct shape {
    size_t depth;
    size_t anchors; /* and aliases */
} shape;

static ki_status check_event(shape *seen, const yaml_event_t *event, ki_error *err) {
    const yaml_char_t *anchor = NULL;
    switch (event->type) {
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        seen->depth++;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        seen->depth++;
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        seen->depth--;
        break;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        break;
    case YAML_ALIAS_EVENT:
        anchor = event->data.alias.anchor;
        break;
    default:
        break;
    }
    seen->anchors += anchor != NULL;
    size_t line = event->start_mark.line + 1;
    if (seen->depth > KI_YAML_DEPTH_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: nested deeper than %d", line, KI_YAML_DEPTH_LIMIT);
    if (seen->anchors > KI_YAML_ANCHOR_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %d anchors and aliases", line,
                            KI_YAML_ANCHOR_LIMIT);
    return KI_OK;
}

/* Up to the end of the first document, which is all that is read. */
static ki_status check_shape(ki_str text, ki_error *err) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return ki_error_no_memory(err, "reading YAML");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    shape seen = { 0, 0 };
    ki_status status = KI_OK;
    bool is_over = false;
    while (!status && !is_over) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = parse_error(&parser, err);
            break;
        }
        is_over = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
        status = check_event(&seen, &event, err);
        if (event.type == YAML_SCALAR_EVENT)
            ki_wipe(event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

ki_status ki_yaml_load(yaml_document_t *document, ki_str text, ki_error *err) {
    ki_status status = check_shape(text, err);
    if (status)
        return status;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return ki_error_no_memory(err, "reading YAML");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    if (!yaml_parser_load(&parser, document))
        status = parse_error(&parser, err);
    yaml_parser_delete(&parser);
    return status;
}

void ki_yaml_free(yaml_document_t *document) {
    for (yaml_node_t *node = document->nodes.start; node < document->nodes.top; node++) {
        if (node->type == YAML_SCALAR_NODE)
            ki_wipe(node->data.scalar.value, node->data.scalar.length);
    }
    yaml_document_delete(document);
}

ki_str ki_yaml_text(const ki_yaml *node) {
    if (!node || node->type != YAML_SCALAR_NODE)
        return (ki_str){ NULL, 0 };
    return (ki_str){ (const char *)node->data.scalar.value, node->data.scalar.length };
}

bool ki_yaml_is_map(const ki_yaml *node) {
    return node && node->type == YAML_MAPPING_NODE;
}

bool ki_yaml_is_empty(const ki_yaml *node) {
    if (!node || node->type == YAML_NO_NODE)
        return true;
    if (node->type == YAML_MAPPING_NODE)
        return node->data.mapping.pairs.start == node->data.mapping.pairs.top;
    if (node->type == YAML_SEQUENCE_NODE)
        return node->data.sequence.items.start == node->data.sequence.items.top;
    ki_str text = ki_yaml_text(node);
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return text.size == 0 || (plain && (ki_str_equals(text, "null") || ki_str_equals(text, "~")));
}

void ki_yaml_pair(yaml_document_t *document, ki_yaml *map, size_t index, ki_yaml **ret_key, ki_yaml **ret_value) {
    *ret_key = *ret_value = NULL;
    if (!ki_yaml_is_map(map))
        return;
    yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    if (index >= (size_t)(map->data.mapping.pairs.top - pair))
        return;
    *ret_key = yaml_document_get_node(document, pair[index].key);
    *ret_value = yaml_document_get_node(document, pair[index].value);
}

ki_yaml *ki_yaml_get(yaml_document_t *document, ki_yaml *map, const char *key) {
    for (size_t i = 0;; i++) {
        ki_yaml *name, *value;
        ki_yaml_pair(document, map, i, &name, &value);
        if (!name)
            return NULL;
        if (ki_str_equals(ki_yaml_text(name), key))
            return ki_yaml_is_empty(value) ? NULL : value;
    }
}

ki_yaml *ki_yaml_at(yaml_document_t *document, ki_yaml *sequence, size_t index) {
    if (!sequence || sequence->type != YAML_SEQUENCE_NODE)
        return NULL;
    yaml_node_item_t *items = sequence->data.sequence.items.start;
    if (index >= (size_t)(sequence->data.sequence.items.top - items))
        return NULL;
    return yaml_document_get_node(document, items[index]);
}

size_t ki_yaml_line(const ki_yaml *node) {
    return node->start_mark.line + 1;
}

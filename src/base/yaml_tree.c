/* yaml_tree.c: builds a tree from libyaml's events, in memory of the program's allocator. Counts directives before and
 * depth, anchors and nodes while parsing, because libyaml's time grows with the square of directives and nesting. Wipes
 * libyaml's copies of the text. */
#include "src/base/yaml_tree.h"

#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"

#include <yaml.h>

typedef struct anchor {
    char *name;
    ki_yaml *node;
} anchor;

typedef struct loader {
    ki_yaml_document document;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event */
    ki_yaml *open[KI_YAML_DEPTH_LIMIT];
    size_t depth;
    anchor anchors[KI_YAML_ANCHOR_LIMIT];
    size_t anchor_count;
    size_t alias_count;
    size_t value_count;   /* the document, nodes, aliases, and the nodes that aliases stand for */
    size_t aliased_count; /* of them what aliases stand for */
    size_t node_limit;
    bool keeps_equal_keys;
} loader;

static size_t line_of(const loader *self) {
    return self->event.start_mark.line + 1;
}

static ki_status parse_error(const yaml_parser_t *parser, ki_error *err) {
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (parser->error == YAML_MEMORY_ERROR)
        return ki_error_no_memory(err, "reading YAML");
    if (parser->error == YAML_READER_ERROR)
        return ki_error_set(err, KI_ERR_PARSE, "byte %zu: %s", parser->problem_offset, problem);
    return ki_error_set(err, KI_ERR_PARSE, "line %zu, column %zu: %s", parser->problem_mark.line + 1,
                        parser->problem_mark.column + 1, problem);
}

static ki_status set_error(const loader *self, const char *why, ki_error *err) {
    return ki_error_set(err, KI_ERR_PARSE, "line %zu, column %zu: %s", line_of(self), self->event.start_mark.column + 1,
                        why);
}

static void wipe_and_delete(yaml_event_t *event) {
    if (event->type == YAML_SCALAR_EVENT && event->data.scalar.value)
        ki_wipe(event->data.scalar.value, event->data.scalar.length);
    yaml_event_delete(event);
}

/* Wipes the parser's buffers and tokens, which libyaml only frees. */
static void wipe_and_delete_parser(yaml_parser_t *parser) {
    for (yaml_token_t *token = parser->tokens.head; token != parser->tokens.tail; token++) {
        if (token->type == YAML_SCALAR_TOKEN && token->data.scalar.value)
            ki_wipe(token->data.scalar.value, token->data.scalar.length);
    }
    if (parser->raw_buffer.start)
        ki_wipe(parser->raw_buffer.start, (size_t)(parser->raw_buffer.end - parser->raw_buffer.start));
    if (parser->buffer.start)
        ki_wipe(parser->buffer.start, (size_t)(parser->buffer.end - parser->buffer.start));
    yaml_parser_delete(parser);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static ki_status count_node(loader *self, ki_error *err) {
    if (self->document.node_count++ < self->node_limit)
        return KI_OK;
    return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %zu values", line_of(self), self->node_limit);
}

/* Returns the largest share of a document's values that aliases may stand for: 99 %, falling to 10 % in large documents
 * (go.yaml.in/yaml/v2, allowedAliasRatio). */
static double allowed_share(size_t value_count) {
    const double low = 400000, high = 4000000;
    double count = (double)value_count;
    return count <= low ? 0.99 : count >= high ? 0.10 : 0.99 - 0.89 * (count - low) / (high - low);
}

/* Counts values as Kubernetes' tools do, and rejects the documents that they reject. The counts at most double before
 * each check, so they cannot overflow. */
static ki_status count_values(loader *self, size_t count, size_t aliased, ki_error *err) {
    self->value_count += count;
    self->aliased_count += aliased;
    if (self->aliased_count <= 100 || self->value_count <= 1000 ||
        (double)self->aliased_count <= allowed_share(self->value_count) * (double)self->value_count)
        return KI_OK;
    return ki_error_set(err, KI_ERR_LIMIT, "line %zu: the document contains excessive aliasing", line_of(self));
}

static ki_status new_node(loader *self, ki_yaml_kind kind, ki_yaml **ret_node, ki_error *err) {
    ki_status status = count_node(self, err);
    if (!status)
        status = count_values(self, 1, 0, err);
    if (status)
        return status;
    ki_yaml *node = ki_alloc_zero(self->document.allocator, sizeof *node);
    if (!node)
        return ki_error_no_memory(err, "reading YAML");
    node->kind = kind;
    node->values = 1;
    node->line = line_of(self);
    node->column = self->event.start_mark.column + 1;
    node->next = self->document.nodes;
    self->document.nodes = node;
    *ret_node = node;
    return KI_OK;
}

static ki_status append(loader *self, ki_yaml *to, const ki_yaml *node, ki_error *err) {
    if (KI_ARRAY_RESERVE(self->document.allocator, to->items, to->count, to->capacity))
        return ki_error_no_memory(err, "reading YAML");
    to->items[to->count++] = node;
    return KI_OK;
}

static bool is_at_key(const loader *self) {
    const ki_yaml *parent = self->depth ? self->open[self->depth - 1] : NULL;
    return parent && parent->kind == KI_YAML_MAP && parent->count % 2 == 0;
}

static ki_status too_deep(const loader *self, ki_error *err) {
    return ki_error_set(err, KI_ERR_LIMIT, "line %zu: nested deeper than %d", line_of(self), KI_YAML_DEPTH_LIMIT);
}

/* Counts the levels and the values of a complete child of the innermost open node. */
static void count_child(loader *self, const ki_yaml *child) {
    if (!self->depth)
        return;
    ki_yaml *node = self->open[self->depth - 1];
    if (node->levels <= child->levels)
        node->levels = child->levels + 1;
    node->values += child->values;
}

/* Adds the node to the innermost open node, or makes it the root. */
static ki_status place(loader *self, const ki_yaml *node, ki_error *err) {
    if (!self->depth) {
        self->document.root = node;
        return KI_OK;
    }
    if (is_at_key(self) && node->kind != KI_YAML_TEXT) /* reached only by an alias: scalar keys are texts already */
        return set_error(self, "a key must be a text", err);
    return append(self, self->open[self->depth - 1], node, err);
}

static ki_status set_anchor(loader *self, const yaml_char_t *name, ki_yaml *node, ki_error *err) {
    if (!name)
        return KI_OK;
    if (self->anchor_count + self->alias_count >= KI_YAML_ANCHOR_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %d anchors and aliases", line_of(self),
                            KI_YAML_ANCHOR_LIMIT);
    ki_str text = ki_str_of((const char *)name);
    char *copy = ki_strndup(self->document.allocator, text.data, text.size);
    if (!copy)
        return ki_error_no_memory(err, "reading YAML");
    self->anchors[self->anchor_count++] = (anchor){ copy, node };
    return KI_OK;
}

static ki_status add_alias(loader *self, ki_error *err) {
    if (self->anchor_count + ++self->alias_count > KI_YAML_ANCHOR_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %d anchors and aliases", line_of(self),
                            KI_YAML_ANCHOR_LIMIT);
    ki_str name = ki_str_of((const char *)self->event.data.alias.anchor);
    for (size_t i = self->anchor_count; i-- > 0;) { /* a name can be defined again: the last one counts */
        if (!ki_str_equals(name, self->anchors[i].name))
            continue;
        const ki_yaml *node = self->anchors[i].node;
        if (node->is_open)
            return set_error(self, "an alias to a node that contains it", err);
        if (self->depth + node->levels > KI_YAML_DEPTH_LIMIT)
            return too_deep(self, err);
        ki_status status = count_values(self, 1 + node->values, node->values, err);
        if (status)
            return status;
        count_child(self, node);
        if (self->depth)
            self->open[self->depth - 1]->values++; /* the alias itself */
        return place(self, node, err);
    }
    return set_error(self, "an alias without its anchor", err);
}

/* Returns the short name of YAML's own tag, "" for no tag, NULL for any other tag. */
static const char *short_tag(const yaml_char_t *tag) {
    static const char prefix[] = "tag:yaml.org,2002:";
    if (!tag || !*tag || strcmp((const char *)tag, "!") == 0)
        return "";
    return strncmp((const char *)tag, prefix, sizeof prefix - 1) == 0 ? (const char *)tag + sizeof prefix - 1 : NULL;
}

static ki_status kind_of_scalar(const loader *self, ki_yaml_kind *ret_kind, ki_error *err) {
    static const struct {
        const char *tag;
        ki_yaml_kind kind;
    } known[] = {
        { "null", KI_YAML_NULL }, { "bool", KI_YAML_BOOL }, { "int", KI_YAML_NUMBER }, { "float", KI_YAML_NUMBER }
    };
    const char *tag = short_tag(self->event.data.scalar.tag);
    if (!tag)
        return set_error(self, "an unknown tag", err);
    ki_str text = { (const char *)self->event.data.scalar.value, self->event.data.scalar.length };
    bool is_plain = self->event.data.scalar.plain_implicit;
    if (!*tag || strcmp(tag, "str") == 0) {
        *ret_kind = is_plain && !*tag ? ki_yaml_plain_kind(text) : KI_YAML_TEXT;
        return KI_OK;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(tag, known[i].tag) == 0 && ki_yaml_plain_kind(text) == known[i].kind) {
            *ret_kind = known[i].kind;
            return KI_OK;
        }
    }
    return set_error(self, "a value that does not match its tag, or an unknown tag", err);
}

/* Converts a key to a text, as Kubernetes' tools do: `no:` becomes "false", 017 becomes "15". */
static ki_status make_key(loader *self, ki_yaml *node, ki_error *err) {
    if (node->kind == KI_YAML_TEXT)
        return KI_OK;
    if (node->kind == KI_YAML_NULL)
        return set_error(self, "a key must be a text", err);
    ki_buffer text;
    ki_buffer_init(&text, self->document.allocator, KI_YAML_JSON_LIMIT);
    ki_status status = ki_yaml_append_json(&text, node, err);
    size_t size = 0;
    char *bytes = status ? NULL : ki_buffer_take(&text, &size);
    ki_buffer_free(&text);
    if (!bytes)
        return status ? status : ki_error_no_memory(err, "reading YAML");
    ki_free(self->document.allocator, node->bytes);
    node->bytes = bytes;
    node->text = (ki_str){ bytes, size };
    node->kind = KI_YAML_TEXT;
    return KI_OK;
}

static ki_status add_scalar(loader *self, ki_error *err) {
    ki_yaml_kind kind = KI_YAML_NULL;
    ki_yaml *node = NULL;
    ki_status status = kind_of_scalar(self, &kind, err);
    if (!status)
        status = new_node(self, kind, &node, err);
    if (status)
        return status;
    size_t size = self->event.data.scalar.length;
    char *text = ki_strndup(self->document.allocator, (const char *)self->event.data.scalar.value, size);
    if (!text)
        return ki_error_no_memory(err, "reading YAML");
    node->bytes = text;
    node->text = (ki_str){ text, size };
    if (is_at_key(self))
        status = make_key(self, node, err);
    if (!status) {
        count_child(self, node);
        status = place(self, node, err);
    }
    return status ? status : set_anchor(self, self->event.data.scalar.anchor, node, err);
}

static ki_status open_node(loader *self, ki_yaml_kind kind, const yaml_char_t *name, ki_error *err) {
    if (self->depth == KI_YAML_DEPTH_LIMIT)
        return too_deep(self, err);
    ki_yaml *node = NULL;
    ki_status status = new_node(self, kind, &node, err);
    if (!status)
        status = place(self, node, err);
    if (!status)
        status = set_anchor(self, name, node, err);
    if (status)
        return status;
    node->is_open = true;
    node->levels = 1;
    self->open[self->depth++] = node;
    return KI_OK;
}

/* --- merge keys --------------------------------------------------------------------------------------------------- */

static bool is_merge_key(const ki_yaml *key) {
    return key->kind == KI_YAML_TEXT && ki_str_equals(key->text, "<<");
}

static ki_status merge_map(loader *self, ki_yaml *to, const ki_yaml *from, ki_error *err) {
    if (from->kind != KI_YAML_MAP)
        return set_error(self, "<< takes a map or a list of maps", err);
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < from->count; i++) {
        status = count_node(self, err);
        if (!status)
            status = append(self, to, from->items[i], err);
    }
    return status;
}

/* Replaces `<<` by the members of its maps. The first map of a list has precedence, so it comes last. */
static ki_status merge_keys(loader *self, ki_yaml *node, ki_error *err) {
    size_t i = 0;
    while (i < node->count && !is_merge_key(node->items[i]))
        i += 2;
    if (i >= node->count)
        return KI_OK;
    ki_yaml merged = { .kind = KI_YAML_MAP };
    ki_status status = KI_OK;
    for (i = 0; !status && i < node->count; i += 2) {
        const ki_yaml *value = node->items[i + 1];
        if (!is_merge_key(node->items[i])) {
            status = append(self, &merged, node->items[i], err);
            if (!status)
                status = append(self, &merged, value, err);
        } else if (value->kind == KI_YAML_LIST) {
            for (size_t k = value->count; !status && k-- > 0;)
                status = merge_map(self, &merged, value->items[k], err);
        } else {
            status = merge_map(self, &merged, value, err);
        }
    }
    if (status) {
        ki_free(self->document.allocator, merged.items);
        return status;
    }
    ki_free(self->document.allocator, node->items);
    node->items = merged.items;
    node->count = merged.count;
    node->capacity = merged.capacity;
    return KI_OK;
}

/* Removes all but the last of equal keys, as Kubernetes' tools do. */
static ki_status drop_earlier_keys(loader *self, ki_yaml *node, ki_error *err) {
    ki_map seen;
    ki_map_init(&seen, self->document.allocator, 0);
    ki_status status = KI_OK;
    size_t kept = node->count; /* kept from this index on */
    for (size_t i = node->count; !status && i > 0; i -= 2) {
        const ki_yaml *key = node->items[i - 2];
        if (ki_map_has(&seen, key->text))
            continue;
        status = ki_map_put(&seen, key->text, node, NULL);
        node->items[--kept] = node->items[i - 1];
        node->items[--kept] = key;
    }
    ki_map_free(&seen);
    if (status)
        return ki_error_no_memory(err, "reading YAML");
    node->count -= kept;
    memmove(node->items, node->items + kept, node->count * sizeof *node->items);
    return KI_OK;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

static ki_status close_node(loader *self, ki_error *err) {
    ki_yaml *node = self->open[--self->depth];
    node->is_open = false;
    count_child(self, node);
    if (node->kind != KI_YAML_MAP || !node->count)
        return KI_OK;
    ki_status status = merge_keys(self, node, err);
    if (status || !node->count || self->keeps_equal_keys) /* no count: only an empty merge */
        return status;
    return drop_earlier_keys(self, node, err);
}

static ki_status handle_event(loader *self, bool *ret_is_over, ki_error *err) {
    switch (self->event.type) {
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        *ret_is_over = true;
        return KI_OK;
    case YAML_SCALAR_EVENT:
        return add_scalar(self, err);
    case YAML_ALIAS_EVENT:
        return add_alias(self, err);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(self, KI_YAML_LIST, self->event.data.sequence_start.anchor, err);
    case YAML_MAPPING_START_EVENT:
        return open_node(self, KI_YAML_MAP, self->event.data.mapping_start.anchor, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(self, err);
    default:
        return KI_OK;
    }
}

/* Checks the directives of the first document: the tokens before it. */
static ki_status check_directives(ki_str text, ki_error *err) {
    yaml_parser_t parser;
    yaml_token_type_t type = YAML_STREAM_START_TOKEN;
    size_t count = 0, size = 0, line = 0;
    if (!yaml_parser_initialize(&parser))
        return ki_error_no_memory(err, "reading YAML");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    while (
        (type == YAML_STREAM_START_TOKEN || type == YAML_VERSION_DIRECTIVE_TOKEN || type == YAML_TAG_DIRECTIVE_TOKEN) &&
        count <= KI_YAML_DIRECTIVE_LIMIT && size <= KI_YAML_PREFIX_LIMIT) {
        yaml_token_t token;
        if (!yaml_parser_scan(&parser, &token)) /* the load says what is wrong */
            break;
        type = token.type;
        line = token.start_mark.line + 1;
        if (type == YAML_TAG_DIRECTIVE_TOKEN) {
            count++;
            size += strlen((const char *)token.data.tag_directive.handle);
            size += strlen((const char *)token.data.tag_directive.prefix);
        }
        if (type == YAML_SCALAR_TOKEN)
            ki_wipe(token.data.scalar.value, token.data.scalar.length);
        yaml_token_delete(&token);
    }
    wipe_and_delete_parser(&parser);
    if (count > KI_YAML_DIRECTIVE_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %d directives", line, KI_YAML_DIRECTIVE_LIMIT);
    if (size > KI_YAML_PREFIX_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "line %zu: more than %d bytes of directives", line,
                            KI_YAML_PREFIX_LIMIT);
    return KI_OK;
}

static ki_status load(loader *self, ki_str text, ki_error *err) {
    if (!yaml_parser_initialize(&self->parser))
        return ki_error_no_memory(err, "reading YAML");
    yaml_parser_set_input_string(&self->parser, (const unsigned char *)text.data, text.size);
    ki_status status = KI_OK;
    bool is_at_end = false;
    while (!status && !is_at_end) {
        if (!yaml_parser_parse(&self->parser, &self->event)) {
            status = parse_error(&self->parser, err);
            break;
        }
        status = handle_event(self, &is_at_end, err);
        wipe_and_delete(&self->event);
    }
    wipe_and_delete_parser(&self->parser);
    if (!status && !self->document.root) {
        ki_yaml *empty = NULL;
        status = new_node(self, KI_YAML_NULL, &empty, err);
        self->document.root = empty;
    }
    return status;
}

ki_status ki_yaml_load(const ki_allocator *allocator, ki_str text, const ki_yaml_options *options,
                       ki_yaml_document *ret_document, ki_error *err) {
    if (!text.data)
        text = KI_STR("");
    ki_status status = check_directives(text, err);
    if (status)
        return status;
    loader *self = ki_alloc_zero(allocator, sizeof *self); /* too large for a small stack */
    if (!self)
        return ki_error_no_memory(err, "reading YAML");
    self->document.allocator = allocator;
    self->value_count = 1; /* the document */
    self->node_limit = options && options->node_limit ? options->node_limit : KI_YAML_NODE_LIMIT;
    self->keeps_equal_keys = options && options->keeps_equal_keys;
    status = load(self, text, err);
    for (size_t i = 0; i < self->anchor_count; i++)
        ki_free(allocator, self->anchors[i].name);
    if (status)
        ki_yaml_free(&self->document);
    else
        *ret_document = self->document;
    ki_free(allocator, self);
    return status;
}

void ki_yaml_free(ki_yaml_document *document) {
    for (ki_yaml *node = document->nodes, *next; node; node = next) {
        next = node->next;
        if (node->bytes)
            ki_wipe(node->bytes, node->text.size);
        ki_free(document->allocator, node->bytes);
        ki_free(document->allocator, node->items);
        ki_free(document->allocator, node);
    }
    *document = (ki_yaml_document){ 0 };
}

void ki_yaml_pair(const ki_yaml *map, size_t index, const ki_yaml **ret_key, const ki_yaml **ret_value) {
    bool is_there = map && map->kind == KI_YAML_MAP && index < map->count / 2;
    *ret_key = is_there ? map->items[2 * index] : NULL;
    *ret_value = is_there ? map->items[2 * index + 1] : NULL;
}

const ki_yaml *ki_yaml_get(const ki_yaml *map, const char *key) {
    if (!map || map->kind != KI_YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i += 2) {
        if (ki_str_equals(map->items[i]->text, key))
            return map->items[i + 1]->kind == KI_YAML_NULL ? NULL : map->items[i + 1];
    }
    return NULL;
}

const ki_yaml *ki_yaml_at(const ki_yaml *list, size_t index) {
    return list && list->kind == KI_YAML_LIST && index < list->count ? list->items[index] : NULL;
}

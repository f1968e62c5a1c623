/* yaml_tree.h: a YAML document as a tree, read as Kubernetes' own tools read it: the first document alone, YAML 1.1's words for true and
 * false, the last of two equal keys, `<<` merged where it stands. Constant once loaded; one thread. */
#ifndef KI_AUTH_YAML_TREE_H
#define KI_AUTH_YAML_TREE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

enum {
    KI_YAML_DEPTH_LIMIT = 64,
    KI_YAML_ANCHOR_LIMIT = 1000,   /* and aliases */
    KI_YAML_NODE_LIMIT = 250000,   /* of a document; what is merged in counts again */
    KI_YAML_JSON_LIMIT = 64 * 1024 /* bytes of one node as JSON */
};

typedef enum ki_yaml_kind {
    KI_YAML_NULL,
    KI_YAML_BOOL,
    KI_YAML_NUMBER,
    KI_YAML_TEXT,
    KI_YAML_LIST,
    KI_YAML_MAP
} ki_yaml_kind;

/* Borrowed from its document. Aliases are the same node again, so a small file cannot grow into a large tree. */
typedef struct ki_yaml ki_yaml;
struct ki_yaml {
    ki_yaml_kind kind;
    size_t line, column;   /* from 1 */
    ki_str text;           /* of a scalar, as written; zero-terminated */
    const ki_yaml **items; /* of a list: its elements; of a map: key, value, key, value, … */
    size_t count;          /* of items */
    size_t capacity;
    char *bytes;   /* of `text`, which the node owns */
    bool is_open;  /* while loading: an alias to it would lead to itself */
    ki_yaml *next; /* of all nodes */
};

typedef struct ki_yaml_document {
    const ki_allocator *allocator;
    const ki_yaml *root; /* a null where the text is empty */
    ki_yaml *nodes;
    size_t node_count;
} ki_yaml_document;

/* Errors: KI_ERR_PARSE with line and column, KI_ERR_LIMIT with the line, KI_ERR_NO_MEMORY. */
ki_status ki_yaml_load(const ki_allocator *allocator, ki_str text, ki_yaml_document *ret_document, ki_error *err);
/* Wipes all scalars, since some are secrets, and frees. */
void ki_yaml_free(ki_yaml_document *document);

/* The value of a map's key; NULL where there is none or it is a null, or `map` is NULL or no map. */
const ki_yaml *ki_yaml_get(const ki_yaml *map, const char *key);
/* The key and value number `index` of a map, both NULL past the end or where it is no map. */
void ki_yaml_pair(const ki_yaml *map, size_t index, const ki_yaml **ret_key, const ki_yaml **ret_value);
/* Element number `index` of a list; NULL past the end or where it is no list. */
const ki_yaml *ki_yaml_at(const ki_yaml *list, size_t index);
/* "a text", "a number", … */
const char *ki_yaml_kind_name(ki_yaml_kind kind);

/* What an unquoted scalar is, by its letters. */
ki_yaml_kind ki_yaml_plain_kind(ki_str text);
bool ki_yaml_is_true(ki_str text); /* of a KI_YAML_BOOL's */

/* The node as JSON. Errors: KI_ERR_LIMIT, KI_ERR_UNSUPPORTED (a number that JSON does not have), KI_ERR_NO_MEMORY. */
ki_status ki_yaml_append_json(ki_buffer *buffer, const ki_yaml *node, ki_error *err);

#endif

/* yaml_tree.h: the one YAML reader: a document as a tree, and as JSON, as Kubernetes' tools read it: YAML 1.1's words
 * for true and false, the last of equal keys, `<<` merged in place. Kubeconfigs, the bodies of requests and the files
 * of `serve --load` are read with it. Constant once loaded. One thread. */
#ifndef KI_BASE_YAML_TREE_H
#define KI_BASE_YAML_TREE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

enum {
    KI_YAML_DEPTH_LIMIT = 128,     /* also with each alias replaced by its node */
    KI_YAML_DIRECTIVE_LIMIT = 64,  /* %TAG directives of a document */
    KI_YAML_PREFIX_LIMIT = 4096,   /* bytes of all %TAG directives */
    KI_YAML_ANCHOR_LIMIT = 1000,   /* anchors and aliases together */
    KI_YAML_NODE_LIMIT = 250000,   /* nodes of a kubeconfig or a body; merged members count again */
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

/* Borrowed from its document. An alias is the same node again. A document whose aliases stand for almost all of its
 * values is an error, so a small text becomes neither a large tree nor a large JSON. */
typedef struct ki_yaml ki_yaml;
struct ki_yaml {
    ki_yaml_kind kind;
    size_t line, column;   /* from 1 */
    ki_str text;           /* a scalar as written, zero-terminated */
    const ki_yaml **items; /* a list's elements, or a map's key, value, key, value, … */
    size_t count;          /* number of items */
    size_t capacity;
    size_t levels; /* lists and maps in each other, from this node on; 0: a scalar */
    size_t values; /* the node and all in it, also an alias and, once more, all in its node */
    char *bytes;   /* owned memory of `text` */
    bool is_open;  /* while loading: an alias to it would be circular */
    ki_yaml *next; /* next of all nodes */
};

typedef struct ki_yaml_document {
    const ki_allocator *allocator;
    const ki_yaml *root; /* KI_YAML_NULL if the text is empty */
    ki_yaml *nodes;
    size_t node_count;
} ki_yaml_document;

typedef struct ki_yaml_options {
    size_t node_limit;     /* 0: KI_YAML_NODE_LIMIT */
    bool keeps_equal_keys; /* all of equal keys, for a reader that reports them */
} ki_yaml_options;

/* Parses the first document of a text. `options` may be NULL. Errors: KI_ERR_PARSE with line and column, KI_ERR_LIMIT
 * with the line, KI_ERR_NO_MEMORY. */
ki_status ki_yaml_load(const ki_allocator *allocator, ki_str text, const ki_yaml_options *options,
                       ki_yaml_document *ret_document, ki_error *err);
/* Wipes all scalars, because some are secrets, and frees the document. */
void ki_yaml_free(ki_yaml_document *document);

/* Returns the value of a map's key; NULL if it is missing or null, or if `map` is NULL or not a map. */
const ki_yaml *ki_yaml_get(const ki_yaml *map, const char *key);
/* Returns a key and its value by index; both NULL past the end or if `map` is not a map. */
void ki_yaml_pair(const ki_yaml *map, size_t index, const ki_yaml **ret_key, const ki_yaml **ret_value);
/* Returns an element by index; NULL past the end or if `list` is not a list. */
const ki_yaml *ki_yaml_at(const ki_yaml *list, size_t index);
/* Returns "a text", "a number", … */
const char *ki_yaml_kind_name(ki_yaml_kind kind);

/* Returns the type of an unquoted scalar. */
ki_yaml_kind ki_yaml_plain_kind(ki_str text);
bool ki_yaml_is_true(ki_str text); /* the value of a KI_YAML_BOOL */

/* Appends the node as JSON. Errors: KI_ERR_LIMIT, KI_ERR_UNSUPPORTED (a number that JSON does not have),
 * KI_ERR_NO_MEMORY. */
ki_status ki_yaml_append_json(ki_buffer *buffer, const ki_yaml *node, ki_error *err);

/* Appends the first document as JSON. Each alias becomes a copy, and the limit of `buffer` counts it. Errors: as
 * ki_yaml_load and ki_yaml_append_json. */
ki_status ki_yaml_to_json(ki_str text, const ki_yaml_options *options, ki_buffer *buffer, ki_error *err);
/* Cuts the text before the next line that begins a document (---). Returns false at the end. */
bool ki_yaml_next_document(ki_str *rest, ki_str *ret_document);

#endif

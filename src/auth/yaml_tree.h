/* yaml_tree.h: a YAML document and the few questions that a kubeconfig asks of it. libyaml's own memory is malloc's. One thread. */
#ifndef KI_AUTH_YAML_TREE_H
#define KI_AUTH_YAML_TREE_H

#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <yaml.h>

enum {
    KI_YAML_DEPTH_LIMIT = 64,
    KI_YAML_ANCHOR_LIMIT = 1000 /* and aliases */
};

/* Borrowed from its document. */
typedef yaml_node_t ki_yaml;

/* The text's first document. Errors: KI_ERR_PARSE with line and column, KI_ERR_LIMIT with the line, KI_ERR_NO_MEMORY. */
ki_status ki_yaml_load(yaml_document_t *document, ki_str text, ki_error *err);
/* Wipes all scalars, since some are secrets, and frees. */
void ki_yaml_free(yaml_document_t *document);

/* The value of a mapping's key; NULL where there is none, it is null or "", or `map` is NULL or no mapping. */
ki_yaml *ki_yaml_get(yaml_document_t *document, ki_yaml *map, const char *key);
/* The key and value number `index` of a mapping, both NULL past the end. */
void ki_yaml_pair(yaml_document_t *document, ki_yaml *map, size_t index, ki_yaml **ret_key, ki_yaml **ret_value);
/* Element number `index` of a sequence; NULL past the end or where it is no sequence. */
ki_yaml *ki_yaml_at(yaml_document_t *document, ki_yaml *sequence, size_t index);
bool ki_yaml_is_empty(const ki_yaml *node); /* NULL, null, "", {} or [] */
bool ki_yaml_is_map(const ki_yaml *node);
/* A scalar's text; data NULL where it is none. */
ki_str ki_yaml_text(const ki_yaml *node);
size_t ki_yaml_line(const ki_yaml *node); /* from 1 */

#endif

/* requirements.h: parsed label or field selectors: "app=web,tier in (a, b),zone notin (x),!canary,gpus>1" and
 * "metadata.name=a,spec.nodeName!=b".
 *
 * Grammar, meaning and messages are the API server's (apimachinery's labels.Parse and fields.ParseSelector). Labels: =,
 * == and != take one value, which may be empty; in and notin take a list; a key alone requires the label, !key its
 * absence; > and < compare integers. != and notin also hold for objects without the label. Fields: = == and != only;
 * ',', '=' and '\\' in a value need a '\\' before them; only the server knows which fields exist. A selector is
 * immutable and one allocation. Any thread. */
#ifndef KI_OBJECT_REQUIREMENTS_H
#define KI_OBJECT_REQUIREMENTS_H

#include "src/base/string_view.h"

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

enum {
    KI_SELECTOR_MAX_LENGTH = 65536 /* bytes of a selector's text */
};

typedef struct ki_requirements ki_requirements;

/* Parse a selector; "" selects everything. Errors: KI_ERR_PARSE with the API server's message, KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_requirements_parse_labels(const ki_allocator *allocator, ki_str text, ki_requirements **ret_selector,
                                       ki_error *err);
ki_status ki_requirements_parse_fields(const ki_allocator *allocator, ki_str text, ki_requirements **ret_selector,
                                       ki_error *err);
void ki_requirements_free(const ki_allocator *allocator, ki_requirements *selector);

bool ki_requirements_match(const ki_requirements *selector, const ki_object *obj);
/* The same for labels or fields stored elsewhere: `value` returns that of a key; data is NULL if there is none. */
bool ki_requirements_match_values(const ki_requirements *selector, ki_str (*value)(ki_str key, const void *context),
                                  const void *context);
/* Returns the key of the requirement at `index`; data is NULL behind the last. */
ki_str ki_requirements_key(const ki_requirements *selector, size_t index);
/* Gets the requirement at `index` of a field selector: the field must have the value, or must not (`*ret_is_negated`).
 * Returns false behind the last. */
bool ki_requirements_field(const ki_requirements *selector, size_t index, ki_str *ret_key, ki_str *ret_value,
                           bool *ret_is_negated);

#endif

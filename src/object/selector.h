/* selector.h: label and field selectors: "app=web,tier in (a, b),zone notin (x),!canary,gpus>1" and
 * "metadata.name=a,spec.nodeName!=b".
 *
 * Grammar, meaning and messages are the API server's (apimachinery's labels.Parse and fields.ParseSelector). Labels: =,
 * == and != take one value, which may be empty; in and notin take a list; a key alone requires the label, !key its
 * absence; > and < compare integers. != and notin also hold for objects without the label. Fields: = == and != only;
 * ',', '=' and '\\' in a value need a '\\' before them; only the server knows which fields exist. A selector is
 * immutable and one allocation. Any thread. */
#ifndef KI_OBJECT_SELECTOR_H
#define KI_OBJECT_SELECTOR_H

#include "src/base/string_view.h"

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

enum {
    KI_SELECTOR_MAX_LENGTH = 65536 /* bytes of a selector's text */
};

typedef struct ki_selector ki_selector;

/* Parse a selector; "" selects everything. Errors: KI_ERR_PARSE with the API server's message, KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_selector_parse(const ki_allocator *allocator, ki_str text, ki_selector **ret_selector, ki_error *err);
ki_status ki_field_selector_parse(const ki_allocator *allocator, ki_str text, ki_selector **ret_selector,
                                  ki_error *err);
void ki_selector_free(const ki_allocator *allocator, ki_selector *selector);

bool ki_selector_matches(const ki_selector *selector, const ki_object *obj);
/* The same for labels or fields stored elsewhere: `value` returns that of a key; data is NULL if there is none. */
bool ki_selector_matches_values(const ki_selector *selector, ki_str (*value)(ki_str key, const void *context),
                                const void *context);
/* Returns the key of the requirement at `index`; data is NULL behind the last. */
ki_str ki_selector_key(const ki_selector *selector, size_t index);

#endif

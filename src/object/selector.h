/* selector.h: label selectors: "app=web,tier in (a, b),zone notin (x),!canary,gpus>1".
 *
 * Grammar and meaning are the API server's. =, == and != take one value, which may be empty; in and notin take a list;
 * a key alone requires the label, !key its absence; > and < compare integers. != and notin also hold for objects
 * without the label. A selector is immutable and one allocation. Any thread. */
#ifndef KI_OBJECT_SELECTOR_H
#define KI_OBJECT_SELECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

/* Bytes of a selector's text, of a label's name and its prefix, and of a label's value. */
enum {
    KI_SELECTOR_MAX_LENGTH = 65536,
    KI_LABEL_NAME_MAX = 63,
    KI_LABEL_PREFIX_MAX = 253,
    KI_LABEL_VALUE_MAX = 63
};

typedef struct ki_selector ki_selector;

/* Parses a selector; NULL or "" selects everything. Errors: KI_ERR_PARSE with the place and the cause, KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_selector_parse(const ki_allocator *allocator, const char *text, ki_selector **ret_selector, ki_error *err);
void ki_selector_free(const ki_allocator *allocator, ki_selector *selector);
bool ki_selector_matches(const ki_selector *selector, const ki_object *obj);
/* The same for labels stored elsewhere: `label` returns a label's value or NULL. */
bool ki_selector_matches_labels(const ki_selector *selector,
                                const char *(*label)(const char *name, const void *context), const void *context);

#endif

/* selector.h: label selectors: "app=web,tier in (a, b),zone notin (x),!canary,gpus>1".
 *
 * The grammar and the meaning are the API server's: = and == and != take one value (perhaps empty), in
 * and notin a list, a key alone asks that it is there, !key that it is not; > and < compare whole
 * numbers. != and notin also hold where the label is not there at all. A selector is immutable and one
 * allocation; any thread. */
#ifndef KI_OBJECT_SELECTOR_H
#define KI_OBJECT_SELECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include <stdbool.h>

/* Bytes of a selector's text; of a label's name and its prefix, and of a label's value. */
enum {
    KI_SELECTOR_MAX_LENGTH = 65536,
    KI_LABEL_NAME_MAX = 63,
    KI_LABEL_PREFIX_MAX = 253,
    KI_LABEL_VALUE_MAX = 63
};

typedef struct ki_selector ki_selector;

/* NULL or "": everything. Errors: KI_ERR_PARSE (the message tells where and why), KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
ki_status ki_selector_parse(const ki_allocator *allocator, const char *text, ki_selector **ret_selector, ki_error *err);
void ki_selector_free(const ki_allocator *allocator, ki_selector *selector);
bool ki_selector_matches(const ki_selector *selector, const ki_object *obj);
/* The same for labels that are kept elsewhere: `label` gives a label's value or NULL. */
bool ki_selector_matches_labels(const ki_selector *selector,
                                const char *(*label)(const char *name, const void *context), const void *context);

#endif

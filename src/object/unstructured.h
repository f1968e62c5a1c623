/* unstructured.h: what the parts of ki_unstructured share. Only src/object looks inside.
 *
 * The object is a yyjson mutable document whose numbers are raw text: they are written as they were read. A replaced value keeps its
 * memory until the whole is freed. */
#ifndef KI_OBJECT_UNSTRUCTURED_H
#define KI_OBJECT_UNSTRUCTURED_H

#include <kinformer/allocator.h>
#include <kinformer/unstructured.h>

#include "src/base/string_view.h"

#include <yyjson.h>

struct ki_unstructured {
    ki_allocator allocator;
    yyjson_mut_doc *doc; /* NULL: `failure` says why */
    char *json;          /* the text last written; NULL: the object changed since */
    ki_error failure;    /* the first; code KI_OK: none */
};

/* Makes one from JSON text with an allocator, which is copied. Returns NULL where there is no memory for it. */
ki_unstructured *ki_unstructured_new_of(const ki_allocator *allocator, ki_str json);

/* Returns the document where the object can be changed, and forgets the written text; NULL after a failure. */
yyjson_mut_doc *ki_unstructured_change(ki_unstructured *object);

/* Keeps the first failure. `what` is the path or member that it is about. Return false. */
bool ki_unstructured_fail(ki_unstructured *object, ki_status code, const char *what, const char *why);
bool ki_unstructured_fail_no_memory(ki_unstructured *object, const char *what);

#endif

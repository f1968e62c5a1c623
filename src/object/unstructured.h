/* unstructured.h: what the files of ki_unstructured share. Only src/object includes it.
 *
 * The object is a yyjson mutable document with numbers as raw text: they are written as they were read. Memory of a
 * replaced value is freed with the document. */
#ifndef KI_OBJECT_UNSTRUCTURED_H
#define KI_OBJECT_UNSTRUCTURED_H

#include <kinformer/allocator.h>
#include <kinformer/unstructured.h>

#include "src/base/string_view.h"

#include <yyjson.h>

struct ki_unstructured {
    ki_allocator allocator;
    yyjson_mut_doc *doc; /* NULL: `failure` has the cause */
    char *json;          /* the last written text; NULL: changed since */
    ki_error failure;    /* the first failure; code KI_OK: none */
};

/* Creates an object from JSON text, with an allocator, which is copied. Returns NULL if out of memory. */
ki_unstructured *ki_unstructured_new_of(const ki_allocator *allocator, ki_str json);

/* Returns the document for a change, and frees the written text; NULL after a failure. */
yyjson_mut_doc *ki_unstructured_change(ki_unstructured *object);

/* Keeps the first failure. `what` is the path or member it is about. Returns false. */
bool ki_unstructured_fail(ki_unstructured *object, ki_status code, const char *what, const char *why);
bool ki_unstructured_fail_no_memory(ki_unstructured *object, const char *what);

#endif

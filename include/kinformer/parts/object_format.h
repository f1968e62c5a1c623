/* parts/object_format.h: makes objects from JSON, for a source of the program's own (list_watch.h), or for a store. A
 * building block of an informer, with the weaker promise of store.h.
 *
 *     ki_object_format *pods = NULL;
 *     status = ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.view = pod_fields), &pods, &err);
 *     status = ki_object_format_read(pods, json, strlen(json), &obj, &err);
 *
 * Threads: any, also at the same time. */
#ifndef KINFORMER_PARTS_OBJECT_FORMAT_H
#define KINFORMER_PARTS_OBJECT_FORMAT_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>
#include <kinformer/view.h>

KI_BEGIN_DECLS

/* How one kind of objects is made from JSON and stored. Immutable; every object made with it shares it. */
typedef struct ki_object_format ki_object_format;

typedef struct ki_object_format_options {
    size_t size;          /* sizeof(ki_object_format_options); set by the macro */
    const ki_field *view; /* NULL: no view; ended by KI_FIELD_END */
    bool keep_managed_fields;
} ki_object_format_options;

#define KI_OBJECT_FORMAT_OPTIONS(...) KI_SIZED_(ki_object_format_options, __VA_ARGS__)

/* Makes a format. `allocator` (copied; NULL: malloc) is that of its objects. `options` may be NULL.
 * Ownership: the caller releases the format with ki_object_format_unref; objects may outlive that. Blocks: no.
 * Errors: KI_ERR_PARSE (a view's path), KI_ERR_LIMIT (too many fields), KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_format_new(const ki_allocator *allocator,
                                                    const ki_object_format_options *options,
                                                    ki_object_format **ret_format, ki_error *err);
/* Releases a reference to a format. NULL is accepted. */
KI_API void ki_object_format_unref(ki_object_format *format);

/* Makes an object from `size` bytes of JSON; does not keep the text.
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Blocks: no.
 * Errors: KI_ERR_PARSE (no JSON, no metadata, or no name), KI_ERR_INVALID, KI_ERR_LIMIT (over 1 GiB),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_format_read(ki_object_format *format, const char *json, size_t size,
                                                     ki_object **ret_obj, ki_error *err);

KI_END_DECLS

#endif

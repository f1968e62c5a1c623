/* form.h: writes an object in the form that the Accept header selects: whole, metadata only, or a row of a table. */
#ifndef KT_REQUEST_FORM_H
#define KT_REQUEST_FORM_H

#include "testing/request/call.h"

typedef enum kt_include {
    KT_INCLUDE_METADATA,
    KT_INCLUDE_OBJECT,
    KT_INCLUDE_NONE
} kt_include;

/* The form of a request's response. A watch keeps a copy. */
typedef struct kt_shape {
    kt_form form;
    const char *version; /* version of meta.k8s.io */
    kt_include include;  /* the objects in a table's rows */
    const ki_resource_info *info;
    ki_str api_version; /* of the resource */
} kt_shape;

ki_status kt_shape_of(kt_call *call, kt_shape *ret_shape);

/* Appends one object. `columns`: a table has its column definitions. */
ki_status kt_shape_append(const kt_shape *shape, const kt_object *obj, int64_t now_ms, bool columns, ki_buffer *out);
/* Appends an object that has only a resource version, for a bookmark. */
ki_status kt_shape_append_bookmark(const kt_shape *shape, uint64_t revision, bool initial_events_end, ki_buffer *out);
/* Appends a list. `continue_token` may be empty; `remaining` is remainingItemCount, -1: none. */
ki_status kt_shape_append_list(const kt_shape *shape, kt_object *const *objects, size_t count, uint64_t revision,
                               ki_str continue_token, int64_t remaining, int64_t now_ms, ki_buffer *out);

#endif

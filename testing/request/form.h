/* form.h: how an object looks on the wire: whole, metadata only, or a row of a table, as the Accept header asked. */
#ifndef KT_REQUEST_FORM_H
#define KT_REQUEST_FORM_H

#include "testing/request/call.h"

typedef enum kt_include {
    KT_INCLUDE_METADATA,
    KT_INCLUDE_OBJECT,
    KT_INCLUDE_NONE
} kt_include;

/* A copy of what the request asked for, which a watch keeps. */
typedef struct kt_shape {
    kt_form form;
    const char *version; /* of meta.k8s.io */
    kt_include include;  /* what a table's rows carry */
    const ki_resource_info *info;
} kt_shape;

ki_status kt_shape_of(kt_call *call, kt_shape *ret_shape);

/* One object alone; `columns`: a table starts with its column definitions. */
ki_status kt_shape_append(const kt_shape *shape, const kt_object *obj, int64_t now_ms, bool columns, ki_buffer *out);
/* An object of this shape that only carries a revision, for bookmarks. */
ki_status kt_shape_append_bookmark(const kt_shape *shape, uint64_t revision, bool initial_events_end, ki_buffer *out);
/* A list from its objects: `continue_token` and `remaining` (-1: not told) as metadata has them. */
ki_status kt_shape_append_list(const kt_shape *shape, kt_object *const *objects, size_t count, uint64_t revision,
                               ki_str continue_token, int64_t remaining, int64_t now_ms, ki_buffer *out);
/* The same for the call's own object, in the version of the call's path. */
ki_status kt_form_append_object(kt_call *call, kt_object *obj, ki_buffer *out);

#endif

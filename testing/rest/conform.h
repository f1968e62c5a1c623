/* conform.h: incoming objects: their type, fieldValidation, removal of unknown fields. */
#ifndef KT_REST_CONFORM_H
#define KT_REST_CONFORM_H

#include "testing/request/call.h"

#include <yyjson.h>

typedef enum kt_origin {
    KT_ORIGIN_BODY,      /* a request's body */
    KT_ORIGIN_PATCH,     /* the result of a patch */
    KT_ORIGIN_STRATEGIC, /* the result of a strategic merge patch; messages show the patch */
    KT_ORIGIN_APPLY      /* a configuration that was checked before */
} kt_origin;

/* Replaces `*doc` by the object without unknown and duplicate fields. Responds 400 for another type than that of the
 * path, 400 or 422 for values of the wrong type, and for unknown fields if the request forbids them; otherwise adds
 * Warning headers. `patch` is for KT_ORIGIN_STRATEGIC. Moves a Secret's stringData into its data.
 * Keeps unknown fields of custom resources, which kt_custom_prepare removes. */
ki_status kt_conform(kt_call *call, kt_origin origin, yyjson_val *patch, yyjson_doc **doc);

#endif

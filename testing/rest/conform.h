/* conform.h: objects on their way in: fieldValidation, and what the type or the custom resource's schema does not have. */
#ifndef KT_REST_CONFORM_H
#define KT_REST_CONFORM_H

#include "testing/request/call.h"

#include <yyjson.h>

typedef enum kt_origin {
    KT_ORIGIN_BODY,      /* the object came as it is */
    KT_ORIGIN_PATCH,     /* a patch led to it */
    KT_ORIGIN_STRATEGIC, /* a strategic merge patch did: it is told as it was sent */
    KT_ORIGIN_APPLY      /* the configuration was checked before */
} kt_origin;

/* Replaces `*doc` by what its type makes of it; 400 or 422 where it is none, or where the request wants unknown fields to be refused;
 * else they go into the response's warnings. `patch` is that of STRATEGIC. Of a custom resource what its schema does not have stays here (crd/custom.h takes it out). */
ki_status kt_conform(kt_call *call, kt_origin origin, yyjson_val *patch, yyjson_doc **doc);

#endif

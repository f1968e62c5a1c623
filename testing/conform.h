/* conform.h: objects of built-in types on their way in: fieldValidation, and what the type does not have. */
#ifndef KT_CONFORM_H
#define KT_CONFORM_H

#include "testing/call.h"

#include <yyjson.h>

typedef enum kt_origin {
    KT_ORIGIN_BODY,      /* the object came as it is */
    KT_ORIGIN_PATCH,     /* a patch led to it */
    KT_ORIGIN_STRATEGIC, /* a strategic merge patch did: it is told as it was sent */
    KT_ORIGIN_APPLY      /* the configuration was checked before */
} kt_origin;

/* Replaces `*doc` by what its type makes of it; 400 or 422 where it is none, or where the request wants unknown fields to be refused;
 * else they go into the response's warnings. `patch` is that of STRATEGIC. Types that are not built in stay as they are. */
ki_status kt_conform(kt_call *call, kt_origin origin, yyjson_val *patch, yyjson_doc **doc);

#endif

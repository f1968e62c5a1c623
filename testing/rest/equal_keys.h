/* equal_keys.h: equal keys of the maps in an apply's body, of which the last one counts. One thread. */
#ifndef KT_REST_EQUAL_KEYS_H
#define KT_REST_EQUAL_KEYS_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Replaces `*doc`, the request's body, by a document with the last one of equal keys, and notes the others in
 * `call->equal_keys`. */
ki_status kt_equal_keys_drop(kt_call *call, yyjson_doc **doc);
/* Responds 400 if keys were dropped and `is_strict`; otherwise adds a Warning header for each. */
ki_status kt_equal_keys_report(kt_call *call, bool is_strict);

#endif

/* apply.h: server-side apply: the configuration merged into the object, what it no longer names taken out, conflicts with
 * other managers told. Called by verb_patch.c. */
#ifndef KT_REST_APPLY_H
#define KT_REST_APPLY_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

/* Is the configuration an object of its type? Else answers as the server does. */
ki_status kt_apply_check(kt_call *call, const kt_write *write);
/* Appends the object as it shall be to `out`; 409 where fields are others' and the request does not force. */
ki_status kt_apply_merge(kt_call *call, const kt_write *write, yyjson_val *old, ki_buffer *out);

#endif

/* apply.h: server-side apply: merges the configuration into the object, removes fields that the manager no longer
 * applies, and reports conflicts with other managers. Called by verb_patch.c. */
#ifndef KT_REST_APPLY_H
#define KT_REST_APPLY_H

#include "testing/cluster/write.h"
#include "testing/request/call.h"

/* Responds 422 if the request has no field manager. */
ki_status kt_apply_check_manager(kt_call *call);
/* Checks that the configuration fits its schema. Responds as the real server does if it does not. */
ki_status kt_apply_check(kt_call *call, const kt_write *write);
/* Appends the merged object to `out`. Responds 409 if other managers own changed fields, unless the request has
 * force=true. */
ki_status kt_apply_merge(kt_call *call, const kt_write *write, yyjson_val *old, ki_buffer *out);

#endif

/* control.h: the paths by which a test in any language drives the server: /_faults, /_requests, /_wait, /_load,
 * /_reset, /_restore. They are for clients on the same machine, and on a server with tokens for the administrator
 * alone, whom the caller has checked. They are not recorded, and faults do not apply to them. The caller holds the
 * cluster. */
#ifndef KT_CONTROL_CONTROL_H
#define KT_CONTROL_CONTROL_H

#include "testing/request/call.h"

/* Returns true for these paths. */
bool kt_control_is(const kt_call *call);
/* Responds. A response with `until` is not there yet (request.h). */
ki_status kt_control(kt_call *call);

/* ---- for this room ---- */

ki_status kt_control_faults(kt_call *call);
ki_status kt_control_requests(kt_call *call);
ki_status kt_control_wait(kt_call *call);
ki_status kt_control_load(kt_call *call);
ki_status kt_control_reset(kt_call *call);
ki_status kt_control_restore(kt_call *call);

/* Responds 400 for a parameter that is not in `known`, or is there twice. */
ki_status kt_control_check_params(kt_call *call, const char *const *known);
/* Responds 400 for any parameter. */
ki_status kt_control_no_params(kt_call *call);
/* Reads a whole number. `*number` stays unchanged without the parameter. Responds 400. */
ki_status kt_control_number(kt_call *call, const char *name, uint64_t *number);
/* Responds 405 unless the method is `method`. */
ki_status kt_control_method(kt_call *call, const char *method);
/* Responds 200 with an empty object. */
ki_status kt_control_done(kt_call *call);

#endif

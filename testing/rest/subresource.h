/* subresource.h: the subresources except status: scale, eviction, binding, token, finalize. Called by rest.c with a
 * parsed call. */
#ifndef KT_REST_SUBRESOURCE_H
#define KT_REST_SUBRESOURCE_H

#include "testing/request/call.h"

/* Returns true if the server serves this subresource. Discovery uses it too. */
bool kt_subresource_is_served(const char *name);
/* Handles POST …/bindings: binds the pod that the body names. */
ki_status kt_binding(kt_call *call);
/* Handles a request for the call's subresource, whose verb was checked. */
ki_status kt_subresource(kt_call *call);

#endif

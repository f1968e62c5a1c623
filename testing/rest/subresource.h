/* subresource.h: what can be done to an object beside itself and its status: scale, eviction, binding, a token, finalize.
 * Called by rest.c with a parsed call. */
#ifndef KT_REST_SUBRESOURCE_H
#define KT_REST_SUBRESOURCE_H

#include "testing/request/call.h"

/* Is this one that is answered? For discovery too; status is not among them. */
bool kt_subresource_is_served(const char *name);
/* The request for the call's subresource, whose verbs were checked. */
ki_status kt_subresource(kt_call *call);

#endif

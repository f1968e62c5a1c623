/* verbs.h: the verbs of resources, one function each. Each returns KT_RESPONDED once the response is complete
 * (request/call.h). Called by rest.c with a parsed call. */
#ifndef KT_REST_VERBS_H
#define KT_REST_VERBS_H

#include "testing/request/call.h"

ki_status kt_verb_get(kt_call *call);
ki_status kt_verb_list(kt_call *call); /* also watch */
ki_status kt_verb_create(kt_call *call);
ki_status kt_verb_update(kt_call *call);
ki_status kt_verb_patch(kt_call *call);
ki_status kt_verb_delete(kt_call *call);
ki_status kt_verb_delete_collection(kt_call *call);
/* True for /api, /apis, and the discovery documents of a group or version. */
bool kt_discovery_is(const kt_call *call);
ki_status kt_discovery(kt_call *call);
bool kt_openapi_is(const kt_call *call);
ki_status kt_openapi(kt_call *call);

#endif

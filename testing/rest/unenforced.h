/* unenforced.h: objects that the server stores but does not enforce: webhooks, admission policies, quotas. Writes of
 * them get a Warning header. Called by change.c. */
#ifndef KT_REST_UNENFORCED_H
#define KT_REST_UNENFORCED_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Adds a warning if this server does not enforce `root`. */
ki_status kt_unenforced_warn(kt_call *call, yyjson_val *root);

#endif

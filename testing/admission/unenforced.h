/* unenforced.h: objects that the server stores but does not enforce, such as webhooks, admission policies and quotas,
 * and kinds and members whose values it does not check. Writes of them get a Warning header. Called by change.c. */
#ifndef KT_ADMISSION_UNENFORCED_H
#define KT_ADMISSION_UNENFORCED_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Adds warnings if this server does not enforce `root`, or does not check its values. */
ki_status kt_unenforced_warn(kt_call *call, yyjson_val *root);

#endif

/* unenforced.h: objects that the server keeps and does not act on: webhooks, admission policies, quotas. Who writes one is told in a Warning header.
 * Called by change.c. */
#ifndef KT_REST_UNENFORCED_H
#define KT_REST_UNENFORCED_H

#include "testing/request/call.h"

#include <yyjson.h>

/* Adds a warning where `root` asks for something that this server does not do. */
ki_status kt_unenforced_warn(kt_call *call, yyjson_val *root);

#endif

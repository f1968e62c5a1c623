/* grant.h: RBAC's escalation check: a user can only grant permissions that the user has. change.c calls it before it
 * validates an object. The caller holds the cluster. */
#ifndef KT_ACCESS_GRANT_H
#define KT_ACCESS_GRANT_H

#include "testing/request/call.h"

#include <yyjson.h>

enum {
    KT_GRANTS_MAX = 100 * 1000 /* permissions in one role; more are an error */
};

/* Checks `root`, a new or updated role or binding, on a cluster with RBAC. Returns KI_OK for other kinds, for
 * system:masters, and for users who can "escalate" the role or "bind" the binding's role. Otherwise responds 403, or
 * 404 if the binding's role does not exist. */
ki_status kt_grant_check(kt_call *call, yyjson_val *root);

#endif

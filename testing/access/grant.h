/* grant.h: RBAC's escalation check: nobody grants by a role or a binding what they may not do themselves. Called by change.c before an object is
 * validated. Under the cluster's guard. */
#ifndef KT_ACCESS_GRANT_H
#define KT_ACCESS_GRANT_H

#include "testing/request/call.h"

#include <yyjson.h>

enum {
    KT_GRANTS_MAX = 100 * 1000 /* single permissions in one role; a role with more is refused */
};

/* Checks `root`, a new role or binding, or the state that one shall have. Returns KI_OK for all other kinds, where RBAC is off, and for who
 * is in system:masters, or may "escalate" the role or "bind" what the binding names; else 403, or 404 where the binding's role does not exist. */
ki_status kt_grant_check(kt_call *call, yyjson_val *root);

#endif

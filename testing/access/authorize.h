/* authorize.h: whether a user may make a request: RBAC and the rules of auth.h. The caller holds the cluster. */
#ifndef KT_ACCESS_AUTHORIZE_H
#define KT_ACCESS_AUTHORIZE_H

#include "testing/request/call.h"

/* Returns true if `user` is allowed the request. `ret_why` (may be NULL) gets RBAC's reason; empty if something else
 * allows it. */
bool kt_auth_allows(const kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size);

/* Authenticates and authorizes a call. Responds 401 or 403. */
ki_status kt_auth_check(kt_call *call);
/* Authenticates a call that only the administrator can make, a member of system:masters. Responds 401 or 403. An open
 * server has no administrator: the call is allowed. */
ki_status kt_auth_check_admin(kt_call *call);
/* Checks the permission to create, for a patch that creates its object. Responds 403. */
ki_status kt_auth_check_create(kt_call *call);

#endif

/* rbac.h: the permissions of Roles, ClusterRoles and their bindings, which are ordinary objects of the cluster.
 * Every check reads the current objects. The caller holds the cluster. */
#ifndef KT_ACCESS_RBAC_H
#define KT_ACCESS_RBAC_H

#include "testing/access/auth.h"
#include "testing/cluster/cluster.h"

#include <yyjson.h>

/* Returns true if RBAC allows the request. `ret_why` (may be NULL) gets the real server's reason. Returns false if
 * memory runs out. */
bool kt_rbac_allows(const kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size);
/* Returns true if `rule`, a PolicyRule, allows the request. Does not look at the user. */
bool kt_rbac_rule_allows(yyjson_val *rule, const kt_attributes *wanted);
/* Calls `visit` with each PolicyRule that applies to `user` in namespace `ns`. Stops and returns true if `visit`
 * returns true. */
bool kt_rbac_each_rule(const kt_cluster *cluster, const kt_user *user, ki_str ns,
                       bool (*visit)(yyjson_val *rule, const char *why, void *context), void *context);
/* Creates the default roles and bindings that matter for this server: cluster-admin, admin, edit, view,
 * system:discovery, system:basic-user, system:public-info-viewer. */
ki_status kt_rbac_add_defaults(kt_cluster *cluster, int64_t now_ms, ki_error *err);

#endif

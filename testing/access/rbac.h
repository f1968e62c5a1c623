/* rbac.h: what the cluster's Roles, ClusterRoles and their bindings allow. They are ordinary objects; each question reads them anew.
 * Under the cluster's guard. */
#ifndef KT_ACCESS_RBAC_H
#define KT_ACCESS_RBAC_H

#include "testing/access/auth.h"
#include "testing/cluster/cluster.h"

#include <yyjson.h>

/* `ret_why` (may be NULL) gets the real server's reason. Lack of memory allows nothing. */
bool kt_rbac_allows(const kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size);
/* Calls `visit` with each rule (a PolicyRule) that holds for `user` in namespace `ns`; ends where it gives true, and gives that. */
bool kt_rbac_each_rule(const kt_cluster *cluster, const kt_user *user, ki_str ns,
                       bool (*visit)(yyjson_val *rule, const char *why, void *context), void *context);
/* Puts in the roles and bindings that every cluster begins with, as far as they decide something here: cluster-admin, admin, edit, view,
 * system:discovery, system:basic-user, system:public-info-viewer. */
ki_status kt_rbac_add_defaults(kt_cluster *cluster, int64_t now_ms, ki_error *err);

#endif

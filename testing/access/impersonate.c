/* impersonate.c: impersonation (Impersonate-User, -Group, -Uid): the check, and the resulting user. */
#include "testing/access/authorize.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"

#include <stdio.h>

static ki_status fail_forbidden(kt_call *call, const kt_attributes *wanted) {
    const kt_details details = { .name = wanted->name, .group = wanted->group.data, .kind = wanted->resource.data };
    return kt_fail(
        call, 403, "Forbidden", &details,
        "%s%s%s \"%.*s\" is forbidden: User \"%.*s\" cannot impersonate resource \"%s\" in API group \"%s\" %s%.*s%s",
        wanted->resource.data, wanted->group.size ? "." : "", wanted->group.data, (int)wanted->name.size,
        wanted->name.data, (int)call->user.name.size, call->user.name.data, wanted->resource.data, wanted->group.data,
        wanted->ns.size ? "in the namespace \"" : "at the cluster scope", (int)wanted->ns.size,
        wanted->ns.size ? wanted->ns.data : "", wanted->ns.size ? "\"" : "");
}

static ki_status check_allowed(kt_call *call, const char *group, const char *resource, ki_str ns, ki_str name) {
    const kt_attributes wanted = { .verb = KI_STR("impersonate"),
                                   .group = ki_str_of(group),
                                   .resource = ki_str_of(resource),
                                   .ns = ns,
                                   .name = name };
    return !call->cluster->auth.closed || kt_auth_allows(call->cluster, &call->user, &wanted, NULL, 0)
               ? KI_OK
               : fail_forbidden(call, &wanted);
}

/* Parses "system:serviceaccount:NAMESPACE:NAME". */
static bool is_service_account(ki_str user, ki_str *ret_ns, ki_str *ret_name) {
    static const char prefix[] = "system:serviceaccount:";
    if (!ki_str_starts_with(user, KI_STR("system:serviceaccount:")))
        return false;
    *ret_ns = ki_str_split((ki_str){ user.data + sizeof prefix - 1, user.size - (sizeof prefix - 1) }, ':', ret_name);
    return ret_ns->size && ret_name->size;
}

ki_status kt_impersonate(kt_call *call) {
    static const ki_str nowhere = { "", 0 };
    const kt_user *as = &call->request->as;
    ki_str ns = nowhere, name = nowhere;
    if (!as->name.size) {
        return as->uid.size || as->group_count
                   ? kt_fail(call, 500, "InternalError", NULL,
                             "Internal error occurred: groups or a uid were requested without impersonating a user")
                   : KI_OK;
    }
    if (as->group_count > KT_GROUPS_MAX - KT_GROUPS_OWN)
        return kt_fail_bad_request(call, "a user cannot be impersonated with more than %d groups here",
                                   (int)(KT_GROUPS_MAX - KT_GROUPS_OWN));
    bool is_service = is_service_account(as->name, &ns, &name);
    ki_status status = is_service ? check_allowed(call, "", "serviceaccounts", ns, name)
                                  : check_allowed(call, "", "users", nowhere, as->name);
    for (size_t i = 0; i < as->group_count && !status; i++)
        status = check_allowed(call, "", "groups", nowhere, as->groups[i]);
    if (!status && as->uid.size)
        status = check_allowed(call, "authentication.k8s.io", "uids", nowhere, as->uid);
    if (status)
        return status;
    call->user = *as;
    if (is_service && !as->group_count) {
        snprintf(call->service_group, sizeof call->service_group, "system:serviceaccounts:%.*s", (int)ns.size, ns.data);
        kt_user_join(&call->user, KI_STR("system:serviceaccounts"));
        kt_user_join(&call->user, ki_str_of(call->service_group));
    }
    bool nobody = ki_str_equals(as->name, "system:anonymous") || kt_user_is_in(as, "system:unauthenticated");
    if (!kt_user_is_in(as, nobody ? "system:unauthenticated" : "system:authenticated"))
        kt_user_join(&call->user, nobody ? KI_STR("system:unauthenticated") : KI_STR("system:authenticated"));
    return KI_OK;
}

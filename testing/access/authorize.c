/* authorize.c: authenticates and authorizes a call, with the real server's messages for 401 and 403. */
#include "testing/access/authorize.h"
#include "testing/access/page.h"
#include "testing/access/rbac.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"

#include <ctype.h>
#include <stdio.h>

static void set_user(kt_user *user, const char *name, const char *group) {
    *user = (kt_user){ .name = ki_str_of(name) };
    kt_user_join(user, ki_str_of(group));
}

/* Returns the header's token; data is NULL if there is none. */
static ki_str bearer(const char *header) {
    static const char scheme[] = "bearer ";
    size_t i = 0;
    if (!header)
        return (ki_str){ NULL, 0 };
    while (i < sizeof scheme - 1 && tolower((unsigned char)header[i]) == scheme[i])
        i++;
    if (i < sizeof scheme - 1)
        return (ki_str){ NULL, 0 };
    ki_str token = ki_str_of(header + i);
    while (token.size && token.data[0] == ' ') {
        token.data++;
        token.size--;
    }
    return token;
}

static ki_status authenticate(kt_call *call) {
    const kt_auth *auth = &call->cluster->auth;
    const kt_request *request = call->request;
    if (!request->from_network || !auth->closed) {
        if (request->from_network && kt_is_of_foreign_page(request->host, request->origin))
            return kt_fail(call, 403, "Forbidden", NULL,
                           "forbidden: a server without tokens rejects web pages of other sites: connect to localhost "
                           "or to an address, or start the server with a token");
        set_user(&call->user, "system:admin", "system:masters");
        kt_user_join(&call->user, KI_STR("system:authenticated"));
        return KI_OK;
    }
    ki_str token = bearer(request->authorization);
    bool known = false;
    if (request->user) {
        call->user = *request->user;
        known = true;
    } else if (token.size) {
        known = kt_auth_find(call->cluster, token, call->now_ms, &call->user);
    }
    if (known) {
        kt_user_join(&call->user, KI_STR("system:authenticated"));
        return KI_OK;
    }
    if (token.size || request->bad_certificate)
        return kt_fail(call, 401, "Unauthorized", NULL, "Unauthorized");
    set_user(&call->user, "system:anonymous", "system:unauthenticated");
    return KI_OK;
}

/* Returns true for requests that all users, or all authenticated users, are always allowed. */
static bool is_always_allowed(const kt_user *user, const kt_attributes *wanted) {
    static const char *const open[] = { "/healthz", "/livez", "/readyz", "/version", "/version/" };
    bool known = kt_user_is_in(user, "system:authenticated");
    if (!wanted->of_path) {
        bool self = ki_str_starts_with(wanted->resource, KI_STR("selfsubject"));
        return known && self && ki_str_equals(wanted->verb, "create");
    }
    if (!ki_str_equals(wanted->verb, "get"))
        return false;
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        if (ki_str_equals(wanted->path, open[i]))
            return true;
    }
    return known &&
           (ki_str_starts_with(wanted->path, KI_STR("/api")) || ki_str_starts_with(wanted->path, KI_STR("/openapi")));
}

bool kt_auth_allows(const kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size) {
    KT_HOLDS(cluster);
    const kt_auth *auth = &cluster->auth;
    if (ret_why && why_size)
        ret_why[0] = '\0';
    if (kt_user_is_in(user, "system:masters"))
        return true;
    if (kt_auth_rules_allow(auth, user, wanted))
        return true;
    if (auth->rbac && kt_rbac_allows(cluster, user, wanted, ret_why, why_size))
        return true;
    if (!auth->rbac && is_always_allowed(user, wanted))
        return true;
    /* Without rules and RBAC, every authenticated user is allowed everything. */
    return !auth->rbac && !auth->rules && kt_user_is_in(user, "system:authenticated");
}

static ki_status fail_forbidden(kt_call *call, const kt_attributes *wanted) {
    static const kt_details nothing;
    const kt_user *user = &call->user;
    if (wanted->of_path)
        return kt_fail(call, 403, "Forbidden", &nothing, "forbidden: User \"%.*s\" cannot %.*s path \"%.*s\"",
                       (int)user->name.size, user->name.data, (int)wanted->verb.size, wanted->verb.data,
                       (int)wanted->path.size, wanted->path.data);
    const ki_resource *resource = call->resource;
    kt_details details = { .name = wanted->name, .group = resource->group, .kind = resource->plural };
    ki_buffer what;
    ki_buffer_init(&what, call->allocator, 0);
    ki_buffer_printf(&what, "%s%s%s ", resource->plural, resource->group[0] ? "." : "", resource->group);
    if (wanted->name.size)
        ki_buffer_printf(&what, "\"%.*s\" ", (int)wanted->name.size, wanted->name.data);
    ki_buffer_printf(&what, "is forbidden: User \"%.*s\" cannot %.*s resource \"%s%s%.*s\" in API group \"%s\" ",
                     (int)user->name.size, user->name.data, (int)wanted->verb.size, wanted->verb.data, resource->plural,
                     wanted->subresource.size ? "/" : "", (int)wanted->subresource.size,
                     wanted->subresource.data ? wanted->subresource.data : "", resource->group);
    if (wanted->ns.size)
        ki_buffer_printf(&what, "in the namespace \"%.*s\"", (int)wanted->ns.size, wanted->ns.data);
    else
        ki_buffer_append_string(&what, "at the cluster scope");
    ki_status status = what.failed ? KI_ERR_NO_MEMORY : kt_fail(call, 403, "Forbidden", &details, "%s", what.data);
    ki_buffer_free(&what);
    return status;
}

ki_status kt_auth_check_create(kt_call *call) {
    kt_attributes wanted;
    char small[KT_VERB_SIZE];
    if (!call->request->from_network || !call->cluster->auth.closed)
        return KI_OK;
    kt_call_describe(call, small, &wanted);
    wanted.verb = KI_STR("create");
    return kt_auth_allows(call->cluster, &call->user, &wanted, NULL, 0) ? KI_OK : fail_forbidden(call, &wanted);
}

ki_status kt_auth_check(kt_call *call) {
    kt_attributes wanted;
    char small[KT_VERB_SIZE];
    ki_status status = authenticate(call);
    if (!status && call->request->from_network)
        status = kt_impersonate(call);
    if (status || !call->request->from_network || !call->cluster->auth.closed)
        return status;
    kt_call_describe(call, small, &wanted);
    if (!kt_auth_allows(call->cluster, &call->user, &wanted, NULL, 0))
        return fail_forbidden(call, &wanted);
    return KI_OK;
}

ki_status kt_auth_check_admin(kt_call *call) {
    kt_attributes wanted;
    char small[KT_VERB_SIZE];
    ki_status status = authenticate(call);
    if (status || kt_user_is_in(&call->user, "system:masters"))
        return status;
    kt_call_describe(call, small, &wanted);
    return fail_forbidden(call, &wanted);
}

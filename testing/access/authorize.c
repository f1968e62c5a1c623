/* authorize.c: authenticates and authorizes a call, with the real server's messages for 401 and 403. */
#include "testing/access/authorize.h"
#include "testing/access/rbac.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* ---- web pages ---- */

/* Returns true if the host of "HOST", "HOST:PORT" or "[IPv6]:PORT" is "localhost" or an address. `only_loopback`: no
 * other addresses. */
static bool is_local(const char *authority, bool only_loopback) {
    char host[INET6_ADDRSTRLEN];
    struct in_addr v4;
    struct in6_addr v6;
    bool has_bracket = authority[0] == '[';
    size_t size = strcspn(authority + has_bracket, has_bracket ? "]" : ":");
    const char *after = authority + has_bracket + size;
    if (has_bracket && *after++ != ']')
        return false;
    if (!size || size >= sizeof host || (*after && *after != ':'))
        return false;
    memcpy(host, authority + has_bracket, size);
    host[size] = '\0';
    if (inet_pton(AF_INET, host, &v4) == 1)
        return !only_loopback || ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return !only_loopback || IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

/* Returns true if a request is of a web page of another site, through a browser on the user's machine. `host` and
 * `origin` are the headers, or NULL. An open server has no other protection from such a page.
 *
 * A page whose name leads to this server (DNS rebinding) sends that name as Host, as for kubectl proxy: so Host must be
 * "localhost" or an address. A page that was loaded from elsewhere sends its site as Origin (RFC 6454 §7): so Origin
 * must be of a loopback host, or equal to Host. */
static bool is_of_foreign_page(const char *host, const char *origin) {
    if (host && !is_local(host, false))
        return true;
    if (!origin)
        return false;
    const char *scheme = strstr(origin, "://"); /* none in "null" */
    return !scheme || (!is_local(scheme + 3, true) && (!host || strcasecmp(scheme + 3, host) != 0));
}

/* ---- the user ---- */

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
        if (request->from_network && is_of_foreign_page(request->host, request->origin))
            return kt_fail(call, 403, "Forbidden", NULL,
                           "forbidden: a server without tokens rejects web pages of other sites: connect to localhost "
                           "or to an address, or start the server with a token");
        call->user = (kt_user){ .name = KI_STR("system:admin"),
                                .groups = { KI_STR("system:masters"), KI_STR("system:authenticated") },
                                .group_count = 2 };
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
    call->user = (kt_user){ .name = KI_STR("system:anonymous"),
                            .groups = { KI_STR("system:unauthenticated") },
                            .group_count = 1 };
    return KI_OK;
}

/* ---- permissions ---- */

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

/* ---- impersonation: the headers Impersonate-User, -Group and -Uid ---- */

static ki_status fail_impersonation(kt_call *call, const kt_attributes *wanted) {
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
               : fail_impersonation(call, &wanted);
}

/* Parses "system:serviceaccount:NAMESPACE:NAME". */
static bool is_service_account(ki_str user, ki_str *ret_ns, ki_str *ret_name) {
    static const char prefix[] = "system:serviceaccount:";
    if (!ki_str_starts_with(user, KI_STR("system:serviceaccount:")))
        return false;
    *ret_ns = ki_str_split((ki_str){ user.data + sizeof prefix - 1, user.size - (sizeof prefix - 1) }, ':', ret_name);
    return ret_ns->size && ret_name->size;
}

/* Replaces the user of a call with Impersonate headers. Responds 403 if impersonation is not allowed. */
static ki_status impersonate(kt_call *call) {
    static const ki_str nowhere = { "", 0 };
    const kt_user *as = &call->request->as;
    ki_str ns = nowhere, name = nowhere;
    if (!as->name.size)
        return kt_fail(call, 500, "InternalError", NULL,
                       "Internal error occurred: groups or a uid were requested without impersonating a user");
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

/* ---- a call ---- */

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
    const kt_user *as = &call->request->as;
    ki_status status = authenticate(call);
    if (!status && call->request->from_network && (as->name.size || as->uid.size || as->group_count))
        status = impersonate(call);
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

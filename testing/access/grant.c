/* grant.c: see grant.h. Splits a role's rules into single permissions. One rule of the user must cover each of them. */
#include "testing/access/grant.h"

#include "src/base/array.h"
#include "src/base/memory.h"
#include "testing/access/authorize.h"
#include "testing/access/rbac.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"
#include "testing/values/json.h"

#include <stdlib.h>

#define RBAC "rbac.authorization.k8s.io"

/* One verb for one resource or path. */
typedef struct grant {
    ki_str group;
    ki_str resource;
    ki_str name; /* data NULL: all names */
    ki_str url;  /* data NULL: a resource */
    ki_str verb;
    bool is_held;  /* the user has this permission */
    bool is_shown; /* the message contains it */
} grant;

typedef struct grants {
    const ki_allocator *allocator;
    grant *list; /* at most KT_GRANTS_MAX */
    size_t count;
    size_t capacity;
    ki_status status;
} grants;

/* ---- permissions of a role ---- */

static void add_grant(grants *all, const grant *one) {
    if (all->status)
        return;
    if (all->count == KT_GRANTS_MAX) {
        all->status = KI_ERR_LIMIT;
        return;
    }
    all->status = KI_ARRAY_RESERVE(all->allocator, all->list, all->count, all->capacity);
    if (!all->status)
        all->list[all->count++] = *one;
}

static void add_names(grants *all, grant one, yyjson_val *names, yyjson_val *verbs) {
    size_t n, name_count, v, verb_count;
    yyjson_val *name, *verb;
    yyjson_arr_foreach(verbs, v, verb_count, verb) {
        one.verb = kt_json_str(verb);
        one.name = (ki_str){ NULL, 0 };
        if (yyjson_arr_size(names) == 0)
            add_grant(all, &one);
        yyjson_arr_foreach(names, n, name_count, name) {
            one.name = kt_json_str(name);
            add_grant(all, &one);
        }
        if (all->status)
            return;
    }
}

static void add_rule(grants *all, yyjson_val *rule) {
    yyjson_val *verbs = yyjson_obj_get(rule, "verbs"), *group, *resource, *url;
    size_t g, group_count, r, resource_count, u, url_count;
    yyjson_arr_foreach(yyjson_obj_get(rule, "apiGroups"), g, group_count, group) {
        yyjson_arr_foreach(yyjson_obj_get(rule, "resources"), r, resource_count, resource) {
            const grant one = { .group = kt_json_str(group), .resource = kt_json_str(resource) };
            add_names(all, one, yyjson_obj_get(rule, "resourceNames"), verbs);
            if (all->status)
                return;
        }
    }
    yyjson_arr_foreach(yyjson_obj_get(rule, "nonResourceURLs"), u, url_count, url) {
        const grant one = { .url = kt_json_str(url) };
        add_names(all, one, NULL, verbs);
        if (all->status)
            return;
    }
}

static void add_rules(grants *all, yyjson_val *role) {
    size_t index, count;
    yyjson_val *rule;
    yyjson_arr_foreach(yyjson_obj_get(role, "rules"), index, count, rule) {
        add_rule(all, rule);
    }
}

/* ---- permissions of the user ---- */

static bool covers(yyjson_val *rule, const grant *one) {
    ki_str sub, resource = ki_str_split(one->resource, '/', &sub);
    const kt_attributes wanted = { .verb = one->verb,
                                   .of_path = one->url.data != NULL,
                                   .path = one->url,
                                   .group = one->group,
                                   .resource = sub.size ? resource : one->resource,
                                   .subresource = sub,
                                   .name = one->name };
    return kt_rbac_rule_allows(rule, &wanted);
}

static bool mark_held(yyjson_val *rule, const char *why, void *context) {
    grants *all = context;
    bool missing = false;
    (void)why;
    for (size_t i = 0; i < all->count; i++) {
        grant *one = &all->list[i];
        one->is_held = one->is_held || covers(rule, one);
        missing = missing || !one->is_held;
    }
    return !missing; /* stop: the user has all permissions */
}

/* ---- the error message ---- */

static void append_list(ki_buffer *out, const char *label, ki_str value) {
    ki_buffer_append_string(out, label);
    ki_buffer_append_string(out, ":[");
    ki_buffer_append_json_string(out, value);
    ki_buffer_append_char(out, ']');
}

/* Returns true if the message shows both on one line: verbs of the same resource. Each verb of a path has its own
 * line. */
static bool is_one_line(const grant *a, const grant *b) {
    return !a->url.data && !b->url.data && ki_str_equal(a->group, b->group) && ki_str_equal(a->resource, b->resource) &&
           ki_str_equal(a->name, b->name) && !a->name.data == !b->name.data;
}

static void append_missing(grants *all, size_t first, ki_buffer *out) {
    grant *one = &all->list[first];
    if (one->url.data) {
        append_list(out, "{NonResourceURLs", one->url);
    } else {
        append_list(out, "{APIGroups", one->group);
        append_list(out, ", Resources", one->resource);
        if (one->name.data)
            append_list(out, ", ResourceNames", one->name);
    }
    ki_buffer_append_string(out, ", Verbs:[");
    for (size_t i = first; i < all->count; i++) {
        grant *other = &all->list[i];
        if (other->is_held || other->is_shown || (i > first && !is_one_line(one, other)))
            continue;
        ki_buffer_append_string(out, i > first ? " " : "");
        ki_buffer_append_json_string(out, other->verb);
        other->is_shown = true;
    }
    ki_buffer_append_string(out, "]}");
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the missing permissions, sorted, one a line. */
static ki_status append_all_missing(grants *all, ki_buffer *out) {
    enum {
        LINES_MAX = 256
    };
    char *lines[LINES_MAX];
    size_t count = 0;
    ki_status status = KI_OK;
    for (size_t i = 0; i < all->count && count < LINES_MAX && !status; i++) {
        if (all->list[i].is_held || all->list[i].is_shown)
            continue;
        ki_buffer line;
        ki_buffer_init(&line, all->allocator, 0);
        append_missing(all, i, &line);
        lines[count] = line.failed ? NULL : ki_strdup(all->allocator, line.data);
        status = lines[count] ? KI_OK : KI_ERR_NO_MEMORY;
        count += lines[count] != NULL;
        ki_buffer_free(&line);
    }
    qsort(lines, count, sizeof lines[0], compare);
    for (size_t i = 0; i < count; i++) {
        ki_buffer_append_char(out, '\n');
        ki_buffer_append_string(out, lines[i]);
        ki_free(all->allocator, lines[i]);
    }
    return status ? status : out->failed;
}

static ki_status fail_missing(kt_call *call, grants *all, ki_str name) {
    ki_buffer why;
    const ki_resource *resource = call->resource;
    kt_details details = { .name = name, .group = resource->group, .kind = resource->plural };
    const kt_user *user = &call->user;
    ki_buffer_init(&why, call->allocator, 0);
    ki_buffer_append_string(&why, "user ");
    ki_buffer_append_json_string(&why, user->name);
    ki_buffer_append_string(&why, " (groups=[");
    for (size_t i = 0; i < user->group_count; i++) {
        ki_buffer_append_string(&why, i ? " " : "");
        ki_buffer_append_json_string(&why, user->groups[i]);
    }
    ki_buffer_append_string(&why, "]) is attempting to grant RBAC permissions not currently held:");
    ki_status status = append_all_missing(all, &why);
    if (!status)
        status = kt_fail(call, 403, "Forbidden", &details, "%s.%s \"%.*s\" is forbidden: %s", resource->plural,
                         resource->group, (int)name.size, name.data ? name.data : "", why.data);
    ki_buffer_free(&why);
    return status;
}

/* ---- the check ---- */

static bool is_allowed(kt_call *call, const char *verb, const char *plural, ki_str ns, ki_str name) {
    const kt_attributes wanted = {
        .verb = ki_str_of(verb), .group = KI_STR(RBAC), .resource = ki_str_of(plural), .ns = ns, .name = name
    };
    return kt_auth_allows(call->cluster, &call->user, &wanted, NULL, 0);
}

/* Checks that the user has every permission of `role` in the call's namespace. */
static ki_status check_rules(kt_call *call, yyjson_val *role, ki_str name) {
    grants all = { .allocator = call->allocator };
    add_rules(&all, role);
    if (!all.status && all.count)
        (void)kt_rbac_each_rule(call->cluster, &call->user, call->ns, mark_held, &all);
    size_t held = 0;
    while (held < all.count && all.list[held].is_held)
        held++;
    ki_status status = all.status;
    if (status == KI_ERR_LIMIT)
        status = kt_fail_bad_request(call, "a role may have %d permissions at most", (int)KT_GRANTS_MAX);
    else if (!status && held < all.count)
        status = fail_missing(call, &all, name);
    ki_free(call->allocator, all.list);
    return status;
}

/* Checks for cluster-admin permissions. An aggregation rule grants the permissions of all roles with its labels,
 * also of future ones. */
static ki_status check_aggregation(kt_call *call, ki_str name) {
    static const char everything[] = "{\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]},"
                                     "{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}]}";
    kt_details details = { .name = name, .group = call->resource->group, .kind = call->resource->plural };
    yyjson_doc *doc = NULL;
    grants all = { .allocator = call->allocator };
    ki_status status = kt_json_read_trusted(call->allocator, KI_STR(everything), &doc, NULL);
    if (status)
        return status;
    add_rules(&all, yyjson_doc_get_root(doc));
    status = all.status;
    if (!status && !kt_rbac_each_rule(call->cluster, &call->user, call->ns, mark_held, &all))
        status = kt_fail(call, 403, "Forbidden", &details,
                         "%s.%s \"%.*s\" is forbidden: must have cluster-admin privileges to use the aggregationRule",
                         call->resource->plural, call->resource->group, (int)name.size, name.data ? name.data : "");
    ki_free(call->allocator, all.list);
    yyjson_doc_free(doc);
    return status;
}

static ki_status check_role(kt_call *call, yyjson_val *root, ki_str name) {
    ki_status status = KI_OK;
    if (is_allowed(call, "escalate", call->resource->plural, call->ns, name))
        return KI_OK;
    if (yyjson_is_obj(yyjson_obj_get(root, "aggregationRule")))
        status = check_aggregation(call, name);
    return status ? status : check_rules(call, root, name);
}

static ki_status check_binding(kt_call *call, yyjson_val *root, ki_str name) {
    yyjson_val *ref = yyjson_obj_get(root, "roleRef");
    ki_str kind = kt_json_get_str(ref, "kind"), role_name = kt_json_get_str(ref, "name");
    bool is_local = ki_str_equals(kind, "Role");
    if (!is_local && !ki_str_equals(kind, "ClusterRole"))
        return KI_OK; /* validation rejects it */
    const char *plural = is_local ? "roles" : "clusterroles";
    if (is_allowed(call, "bind", plural, call->ns, role_name))
        return KI_OK;
    const kt_object *role =
        kt_storage_get(kt_storage_find(call->cluster, KI_STR(RBAC), KI_STR("v1"), ki_str_of(plural)),
                       is_local ? call->ns : (ki_str){ NULL, 0 }, role_name);
    if (!role)
        return kt_fail_not_found(call, call->resource, role_name);
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read_trusted(call->allocator, role->json, &doc, NULL);
    if (!status)
        status = check_rules(call, yyjson_doc_get_root(doc), name);
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_grant_check(kt_call *call, yyjson_val *root) {
    KT_HOLDS(call->cluster);
    const ki_resource *resource = call->resource;
    if (strcmp(resource->group, RBAC) != 0 || kt_user_is_in(&call->user, "system:masters"))
        return KI_OK;
    ki_str name = call->name.size ? call->name : kt_json_get_str(yyjson_obj_get(root, "metadata"), "name");
    bool is_binding =
        strcmp(resource->plural, "rolebindings") == 0 || strcmp(resource->plural, "clusterrolebindings") == 0;
    return is_binding ? check_binding(call, root, name) : check_role(call, root, name);
}

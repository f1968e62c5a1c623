/* review.c: see review.h. */
#include "testing/access/review.h"

#include "src/base/rfc3339.h"
#include "testing/access/authorize.h"
#include "testing/access/rbac.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/values/json.h"
#include "testing/values/spec.h"

enum {
    WHY_SIZE = 512
};

static void append_strings(ki_buffer *out, const char *name, ki_str list) {
    ki_buffer_printf(out, "\"%s\":[", name);
    for (bool first = true; list.size || first; first = false) {
        ki_str one = ki_str_split(list, '+', &list);
        ki_buffer_append_string(out, first ? "" : ",");
        ki_buffer_append_json_string(out, one);
    }
    ki_buffer_append_char(out, ']');
}

static void append_user(ki_buffer *out, const kt_user *user) {
    ki_buffer_append_string(out, "{\"username\":");
    ki_buffer_append_json_string(out, user->name);
    if (user->uid.size) {
        ki_buffer_append_string(out, ",\"uid\":");
        ki_buffer_append_json_string(out, user->uid);
    }
    ki_buffer_append_string(out, ",\"groups\":[");
    for (size_t i = 0; i < user->group_count; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_json_string(out, user->groups[i]);
    }
    ki_buffer_append_string(out, "]}");
}

static void begin(kt_call *call, yyjson_val *spec) {
    const ki_resource *resource = call->resource;
    ki_buffer *out = &call->response->body;
    ki_buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s/%s\",\"metadata\":{\"creationTimestamp\":null}",
                     resource->kind, resource->group, resource->version);
    if (spec) {
        ki_buffer_append_string(out, ",\"spec\":");
        kt_json_append(out, spec);
    }
    ki_buffer_append_string(out, ",\"status\":");
}

static ki_status end(kt_call *call) {
    ki_buffer_append_char(&call->response->body, '}');
    return kt_call_done(call, 201);
}

/* ---- users and tokens ---- */

static ki_status self_subject(kt_call *call) {
    char created[KI_RFC3339_SIZE];
    ki_buffer *out = &call->response->body;
    ki_rfc3339_seconds(call->now_ms / 1000, created);
    ki_buffer_printf(out,
                     "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"%s/%s\",\"metadata\":{\"creationTimestamp\":"
                     "\"%s\"},\"status\":{\"userInfo\":",
                     call->resource->group, call->resource->version, created);
    append_user(out, &call->user);
    ki_buffer_append_char(out, '}');
    return end(call);
}

static ki_status token(kt_call *call, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    ki_str secret = kt_json_get_str(spec, "token");
    kt_user user;
    if (!secret.size)
        return kt_fail_bad_request(call, "token is required for TokenReview in authentication");
    begin(call, spec);
    if (kt_auth_find(call->cluster, secret, call->now_ms, &user)) {
        kt_user_join(&user, KI_STR("system:authenticated"));
        ki_buffer_append_string(&call->response->body, "{\"authenticated\":true,\"user\":");
        append_user(&call->response->body, &user);
        ki_buffer_append_char(&call->response->body, '}');
    } else {
        ki_buffer_append_string(&call->response->body,
                                "{\"user\":{},\"error\":\"[invalid bearer token, token lookup failed]\"}");
    }
    return end(call);
}

/* ---- one permission ---- */

static ki_status fail_spec(kt_call *call, const char *field, const char *detail) {
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    kt_causes_add(&causes, KT_CAUSE_INVALID, field, KI_STR("null"), detail);
    return kt_fail_causes(call, &causes, call->resource->group, call->resource->kind, (ki_str){ NULL, 0 });
}

static void read_user(yyjson_val *spec, kt_user *user) {
    size_t index, count;
    yyjson_val *group;
    *user = (kt_user){ .name = kt_json_get_str(spec, "user"), .uid = kt_json_get_str(spec, "uid") };
    yyjson_arr_foreach(yyjson_obj_get(spec, "groups"), index, count, group) kt_user_join(user, kt_json_str(group));
}

static ki_status access(kt_call *call, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    yyjson_val *resource = yyjson_obj_get(spec, "resourceAttributes"),
               *path = yyjson_obj_get(spec, "nonResourceAttributes");
    kt_user user = call->user;
    kt_attributes wanted;
    char why[WHY_SIZE];
    if (!yyjson_is_obj(resource) == !yyjson_is_obj(path))
        return fail_spec(call, "spec.resourceAttributes",
                         path ? "cannot be specified in combination with nonResourceAttributes"
                              : "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    if (!ki_str_starts_with(ki_str_of(call->resource->kind), KI_STR("Self"))) {
        read_user(spec, &user);
        if (!user.name.size && !user.group_count)
            return fail_spec(call, "spec.user", "at least one of user or group must be specified");
    }
    if (path)
        wanted = (kt_attributes){ .of_path = true,
                                  .verb = kt_json_get_str(path, "verb"),
                                  .path = kt_json_get_str(path, "path") };
    else
        wanted = (kt_attributes){ .verb = kt_json_get_str(resource, "verb"),
                                  .group = kt_json_get_str(resource, "group"),
                                  .resource = kt_json_get_str(resource, "resource"),
                                  .subresource = kt_json_get_str(resource, "subresource"),
                                  .ns = kt_json_get_str(resource, "namespace"),
                                  .name = kt_json_get_str(resource, "name") };
    bool allowed = kt_auth_allows(call->cluster, &user, &wanted, why, sizeof why);
    begin(call, spec);
    ki_buffer_printf(&call->response->body, "{\"allowed\":%s", allowed ? "true" : "false");
    if (why[0] && allowed) {
        ki_buffer_append_string(&call->response->body, ",\"reason\":");
        ki_buffer_append_json_string(&call->response->body, ki_str_of(why));
    }
    ki_buffer_append_char(&call->response->body, '}');
    return end(call);
}

/* ---- all permissions ---- */

typedef struct rules {
    ki_buffer *out;
    bool of_paths;
    size_t count;
} rules;

static bool append_rule(yyjson_val *rule, const char *why, void *context) {
    rules *list = context;
    (void)why;
    if ((yyjson_arr_size(yyjson_obj_get(rule, "nonResourceURLs")) > 0) != list->of_paths)
        return false;
    ki_buffer_append_string(list->out, list->count++ ? "," : "");
    kt_json_append(list->out, rule);
    return false;
}

/* Appends one rule for each resource, because "pods" and "deployments.apps" are in different groups. */
static void append_resource_rule(rules *list, const kt_rule_text *rule) {
    ki_str resources = rule->resources.data ? rule->resources : KI_STR("*");
    while (resources.size) {
        ki_str group, sub, all = ki_str_split(resources, '+', &resources);
        ki_str whole = ki_str_split(all, '/', &sub), name = ki_str_split(whole, '.', &group);
        ki_buffer_append_string(list->out, list->count++ ? ",{" : "{");
        append_strings(list->out, "verbs", rule->verbs.data ? rule->verbs : KI_STR("*"));
        ki_buffer_append_char(list->out, ',');
        append_strings(list->out, "apiGroups", ki_str_equals(name, "*") ? KI_STR("*") : group);
        ki_buffer_append_string(list->out, ",\"resources\":[\"");
        ki_buffer_printf(list->out, "%.*s%s%.*s\"]", (int)name.size, name.data, sub.data ? "/" : "", (int)sub.size,
                         sub.data ? sub.data : "");
        if (rule->names.data) {
            ki_buffer_append_char(list->out, ',');
            append_strings(list->out, "resourceNames", rule->names);
        }
        ki_buffer_append_char(list->out, '}');
    }
}

static void append_rules(kt_call *call, ki_str ns, bool of_paths) {
    const kt_auth *auth = &call->cluster->auth;
    const kt_user *user = &call->user;
    rules list = { &call->response->body, of_paths, 0 };
    const kt_rule *at = NULL;
    kt_rule_text rule;
    bool all = kt_user_is_in(user, "system:masters") || (!auth->rbac && !auth->rules);
    if (all)
        ki_buffer_append_string(list.out, of_paths ? "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}"
                                                   : "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}");
    list.count = all;
    while (kt_auth_next_rule(auth, user, &at, &rule)) {
        if (of_paths && rule.paths.data) {
            ki_buffer_append_string(list.out, list.count++ ? ",{" : "{");
            append_strings(list.out, "verbs", rule.verbs.data ? rule.verbs : KI_STR("*"));
            ki_buffer_append_char(list.out, ',');
            append_strings(list.out, "nonResourceURLs", rule.paths);
            ki_buffer_append_char(list.out, '}');
        } else if (!of_paths && !rule.paths.data && (!rule.namespaces.data || kt_spec_list_has(rule.namespaces, ns))) {
            append_resource_rule(&list, &rule);
        }
    }
    if (auth->rbac)
        (void)kt_rbac_each_rule(call->cluster, user, ns, append_rule, &list);
}

static ki_status all_rules(kt_call *call, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    ki_str ns = kt_json_get_str(spec, "namespace");
    ki_buffer *out = &call->response->body;
    if (!ns.size)
        return kt_fail_bad_request(call, "no namespace on request");
    begin(call, NULL);
    ki_buffer_append_string(out, "{\"resourceRules\":[");
    append_rules(call, ns, false);
    ki_buffer_append_string(out, "],\"nonResourceRules\":[");
    append_rules(call, ns, true);
    ki_buffer_append_string(out, "],\"incomplete\":false}");
    return end(call);
}

ki_status kt_review(kt_call *call) {
    yyjson_doc *doc = NULL;
    const char *kind = call->resource->kind;
    ki_status status = kt_call_negotiate(call, false);
    if (!status)
        status = kt_body_read(call, &doc);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!status)
        status = kt_body_check_type(call, root);
    if (!status)
        status = kt_body_check_namespace(call, root);
    if (!status && strcmp(kind, "SelfSubjectReview") == 0)
        status = self_subject(call);
    else if (!status && strcmp(kind, "TokenReview") == 0)
        status = token(call, root);
    else if (!status && strcmp(kind, "SelfSubjectRulesReview") == 0)
        status = all_rules(call, root);
    else if (!status)
        status = access(call, root);
    yyjson_doc_free(doc);
    return status;
}

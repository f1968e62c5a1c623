/* validate_access.c: checks roles, their bindings, and priority classes. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define RBAC "rbac.authorization.k8s.io"

enum {
    FIELD_SIZE = 64,
    USER_PRIORITY_MAX = 1000000000
};

void kt_check_role(kt_checked *c) {
    bool is_local = strcmp(c->what, "Role") == 0;
    size_t index, count;
    yyjson_val *rule;
    yyjson_arr_foreach(yyjson_obj_get(c->root, "rules"), index, count, rule) {
        yyjson_val *urls = yyjson_obj_get(rule, "nonResourceURLs");
        bool has_groups = yyjson_arr_size(yyjson_obj_get(rule, "apiGroups"));
        bool has_resources = yyjson_arr_size(yyjson_obj_get(rule, "resources"));
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "rules[%zu].nonResourceURLs", index);
        if (yyjson_arr_size(urls)) {
            if (is_local)
                kt_add_json(c, field, urls, "namespaced rules cannot apply to non-resource URLs");
            if (has_groups || has_resources || yyjson_arr_size(yyjson_obj_get(rule, "resourceNames")))
                kt_add_json(c, field, urls, "rules cannot apply to both regular resources and non-resource URLs");
            continue;
        }
        if (!has_groups)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "resource rules must supply at least one api group", "rules[%zu].apiGroups", index);
        if (!has_resources)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "resource rules must supply at least one resource", "rules[%zu].resources", index);
    }
}

/* An empty group is not an error: the server fills it in. */
static void check_subject(kt_checked *c, size_t at, yyjson_val *subject, bool is_local) {
    ki_str kind = kt_json_get_str(subject, "kind"), name = kt_json_get_str(subject, "name");
    ki_str group = kt_json_get_str(subject, "apiGroup");
    bool is_account = ki_str_equals(kind, "ServiceAccount");
    const char *why = is_account ? ki_label_check_subdomain(name) : NULL;
    if (!is_account && !ki_str_equals(kind, "User") && !ki_str_equals(kind, "Group"))
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, kind.size ? kind : KI_STR(""), true,
                        "supported values: \"ServiceAccount\", \"User\", \"Group\"", "subjects[%zu].kind", at);
    if (!name.size)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "subjects[%zu].name", at);
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, name, true, why, "subjects[%zu].name", at);
    if (is_account && group.size)
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, group, true, "supported values: \"\"",
                        "subjects[%zu].apiGroup", at);
    if (is_account && !is_local && !kt_json_get_str(subject, "namespace").size)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "subjects[%zu].namespace", at);
    if ((ki_str_equals(kind, "User") || ki_str_equals(kind, "Group")) && group.size && !ki_str_equals(group, RBAC))
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, group, true, "supported values: \"" RBAC "\"",
                        "subjects[%zu].apiGroup", at);
}

/* Adds the new roleRef if an update changes it. */
static void check_kept_role(kt_checked *c, yyjson_val *ref) {
    static const char *const members[] = { "apiGroup", "kind", "name" };
    static const char *const shown[] = { "APIGroup", "Kind", "Name" };
    yyjson_val *old = yyjson_obj_get(c->old, "roleRef");
    bool changed = false;
    ki_buffer text;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        changed = changed || (old && !ki_str_equal(kt_json_get_str(ref, members[i]), kt_json_get_str(old, members[i])));
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "{", shown[i]);
        ki_buffer_append_json_string(&text, kt_json_get_str(ref, members[i]));
    }
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    if (changed)
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "roleRef", (ki_str){ text.data, text.size }, false,
                            KT_IMMUTABLE);
    ki_buffer_free(&text);
}

void kt_check_role_binding(kt_checked *c) {
    yyjson_val *ref = yyjson_obj_get(c->root, "roleRef"), *subject;
    bool is_local = strcmp(c->what, "RoleBinding") == 0;
    ki_str kind = kt_json_get_str(ref, "kind"), group = kt_json_get_str(ref, "apiGroup");
    ki_str name = kt_json_get_str(ref, "name");
    const char *why = name.size ? kt_validate_segment(name) : NULL;
    size_t index, count;
    if (group.size && !ki_str_equals(group, RBAC))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "roleRef.apiGroup", group, "supported values: \"" RBAC "\"");
    if (!ki_str_equals(kind, "ClusterRole") && !(is_local && ki_str_equals(kind, "Role")))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "roleRef.kind", kind,
                      is_local ? "supported values: \"Role\", \"ClusterRole\"" : "supported values: \"ClusterRole\"");
    if (!name.size)
        kt_add_required(c, "roleRef.name");
    else if (why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "roleRef.name", name, why);
    yyjson_arr_foreach(yyjson_obj_get(c->root, "subjects"), index, count, subject) {
        check_subject(c, index, subject, is_local);
    }
    check_kept_role(c, ref);
}

void kt_check_priority_class(kt_checked *c) {
    static const struct {
        const char *name;
        int64_t value;
    } known[] = { { "system-node-critical", 2000001000 }, { "system-cluster-critical", 2000000000 } };
    ki_str name = kt_json_get_str(yyjson_obj_get(c->root, "metadata"), "name");
    int64_t value = yyjson_get_sint(yyjson_obj_get(c->root, "value"));
    char why[480], error[320];
    snprintf(error, sizeof error, "%.*s is not a known system priority class", (int)name.size,
             name.size ? name.data : "");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!ki_str_equals(name, known[i].name))
            continue;
        error[0] = '\0';
        if (value != known[i].value)
            snprintf(error, sizeof error, "value of %s PriorityClass must be %" PRId64, known[i].name, known[i].value);
        else if (yyjson_get_bool(yyjson_obj_get(c->root, "globalDefault")))
            snprintf(error, sizeof error, "globalDefault of %s PriorityClass must be false", known[i].name);
    }
    snprintf(why, sizeof why, "priority class names with 'system-' prefix are reserved for system use only. error: %s",
             error);
    if (c->old)
        return;
    if (!ki_str_starts_with(name, KI_STR("system-"))) {
        if (value > USER_PRIORITY_MAX)
            kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "value", KI_STR(""),
                          "maximum allowed value of a user defined priority is 1000000000");
    } else if (error[0]) {
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "metadata.name", KI_STR(""), why);
    }
}

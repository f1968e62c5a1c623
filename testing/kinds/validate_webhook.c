/* validate_webhook.c: checks the configurations of admission webhooks. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/field_rules.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    PATH_SIZE = 96,
    CONDITIONS_MAX = 64,
    TIMEOUT_MAX = 30, /* seconds */
};

static void add_required(kt_checked *c, const char *path, const char *name, const char *why) {
    kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, why, "%s.%s", path, name);
}

/* Checks a list of a rule, in which "*" stands alone. */
static void check_list(kt_checked *c, const char *path, yyjson_val *rule, const char *name, const char *others) {
    yyjson_val *list = yyjson_obj_get(rule, name);
    char field[PATH_SIZE + 16], why[96];
    snprintf(field, sizeof field, "%s.%s", path, name);
    snprintf(why, sizeof why, "if '*' is present, must not specify other %s", others);
    if (!yyjson_arr_size(list))
        kt_add_required(c, field);
    if (yyjson_arr_size(list) > 1 && kt_json_list_has(list, SIZE_MAX, NULL, KI_STR("*")))
        kt_add_json(c, field, list, why);
}

static void check_resources(kt_checked *c, const char *path, yyjson_val *list) {
    size_t index, count;
    yyjson_val *one;
    bool is_plain = false; /* the last resource without a subresource has a name */
    char field[PATH_SIZE + 16];
    snprintf(field, sizeof field, "%s.resources", path);
    if (!yyjson_arr_size(list))
        kt_add_required(c, field);
    yyjson_arr_foreach(list, index, count, one) {
        ki_str text = kt_json_str(one);
        if (!text.size)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s[%zu]", field, index);
        else if (!memchr(text.data, '/', text.size))
            is_plain = !ki_str_equals(text, "*");
    }
    if (yyjson_arr_size(list) > 1 && kt_json_list_has(list, SIZE_MAX, NULL, KI_STR("*/*")))
        kt_add_json(c, field, list, "if '*/*' is present, must not specify other resources");
    if (kt_json_list_has(list, SIZE_MAX, NULL, KI_STR("*")) && is_plain)
        kt_add_json(c, field, list, "if '*' is present, must not specify other resources without subresources");
}

void kt_check_webhook_rule(kt_checked *c, const char *path, yyjson_val *rule) {
    yyjson_val *operations = yyjson_obj_get(rule, "operations"), *one;
    size_t index, count;
    char field[PATH_SIZE + 32];
    check_list(c, path, rule, "operations", "operations");
    yyjson_arr_foreach(operations, index, count, one) {
        snprintf(field, sizeof field, "%s.operations[%zu]", path, index);
        kt_check_one_of(c->causes, field, one, "*,CONNECT,CREATE,DELETE,UPDATE");
    }
    check_list(c, path, rule, "apiGroups", "API groups");
    check_list(c, path, rule, "apiVersions", "API versions");
    check_resources(c, path, yyjson_obj_get(rule, "resources"));
    kt_check_choice(c->causes, path, "scope", yyjson_obj_get(rule, "scope"), "*,Cluster,Namespaced");
}

static void check_versions(kt_checked *c, const char *path, yyjson_val *versions) {
    kt_place field = kt_place_of("%s.admissionReviewVersions", path);
    size_t index, count;
    yyjson_val *one;
    if (!yyjson_arr_size(versions))
        add_required(c, path, "admissionReviewVersions", "must specify one of v1, v1beta1");
    else if (!kt_json_list_has(versions, SIZE_MAX, NULL, KI_STR("v1")) &&
             !kt_json_list_has(versions, SIZE_MAX, NULL, KI_STR("v1beta1")))
        kt_add_json(c, field.text, versions, "must include at least one of v1, v1beta1");
    yyjson_arr_foreach(versions, index, count, one) {
        ki_str version = kt_json_str(one);
        kt_place element = kt_place_of("%s[%zu]", field.text, index);
        kt_add_problem(c->causes, element.text, version,
                       kt_is_earlier(versions, index, NULL, version) ? "duplicate version"
                                                                     : kt_validate_rfc1035_label(version));
    }
}

static void check_url(kt_checked *c, const char *path, ki_str url) {
    static const char form[] = "desired format: https://host[/path]";
    ki_str rest, scheme = ki_str_split(url, ':', &rest);
    char why[96];
    if (!rest.data) /* a path alone */
        scheme = KI_STR("");
    snprintf(why, sizeof why, "'https' is the only allowed URL scheme; %s", form);
    if (!ki_str_equals(scheme, "https"))
        kt_validate_add(c->causes, KT_CAUSE_INVALID, scheme, true, why, "%s.clientConfig.url", path);
    snprintf(why, sizeof why, "host must be specified; %s", form);
    bool has_host = rest.size > 2 && memcmp(rest.data, "//", 2) == 0 && rest.data[2] != '/';
    if (!has_host)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, KI_STR(""), true, why, "%s.clientConfig.url", path);
}

/* Checks the segments of a path: each is a DNS subdomain. A slash can follow the last one. */
static void check_url_path(kt_checked *c, const char *path, ki_str text) {
    ki_str rest = { text.data + 1, text.size - 1 };
    size_t at = 0;
    if (text.data[0] != '/')
        kt_validate_add(c->causes, KT_CAUSE_INVALID, text, true, "must start with a '/'",
                        "%s.clientConfig.service.path", path);
    if (rest.size > 1 && rest.data[rest.size - 1] == '/')
        rest.size--;
    do {
        char why[400];
        ki_str segment = ki_str_split(rest, '/', &rest);
        const char *problem = ki_label_check_subdomain(segment);
        if (!segment.size)
            snprintf(why, sizeof why, "segment[%zu] may not be empty", at);
        else
            snprintf(why, sizeof why, "segment[%zu]: %s", at, problem ? problem : "");
        at++;
        if (problem)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, text, true, why, "%s.clientConfig.service.path", path);
    } while (rest.data && !kt_causes_is_full(c->causes));
}

static void check_service(kt_checked *c, const char *path, yyjson_val *service) {
    yyjson_val *port = yyjson_obj_get(service, "port");
    int64_t number = yyjson_get_sint(port);
    ki_str url_path = kt_json_get_str(service, "path");
    char field[PATH_SIZE + 32];
    snprintf(field, sizeof field, "%s.clientConfig.service.port", path);
    if (!kt_json_get_str(service, "name").size)
        add_required(c, path, "clientConfig.service.name", "");
    if (!kt_json_get_str(service, "namespace").size)
        add_required(c, path, "clientConfig.service.namespace", "");
    if (yyjson_is_int(port) && (number < 1 || number > UINT16_MAX))
        kt_add_json(c, field, port, "port is not valid: " KT_PORT_RANGE);
    if (url_path.size && !ki_str_equals(url_path, "/"))
        check_url_path(c, path, url_path);
}

static void check_client(kt_checked *c, const char *path, yyjson_val *client) {
    bool has_url = kt_json_has(client, "url");
    if (has_url == kt_json_has(client, "service"))
        add_required(c, path, "clientConfig", "exactly one of url or service is required");
    else if (has_url)
        check_url(c, path, kt_json_get_str(client, "url"));
    else
        check_service(c, path, yyjson_obj_get(client, "service"));
}

static void check_name(kt_checked *c, const char *path, ki_str name) {
    const char *why = ki_label_check_subdomain(name);
    size_t dots = 0;
    for (size_t i = 0; i < name.size; i++)
        dots += name.data[i] == '.';
    if (!why && dots < 2)
        why = "should be a domain with at least three segments separated by dots";
    if (!name.size)
        add_required(c, path, "name", "");
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, name, true, why, "%s.name", path);
}

void kt_check_webhooks(kt_checked *c) {
    yyjson_val *hooks = yyjson_obj_get(c->root, "webhooks"), *hook, *rule;
    size_t index, count, at, rule_count;
    yyjson_arr_foreach(hooks, index, count, hook) {
        ki_str name = kt_json_get_str(hook, "name");
        yyjson_val *timeout = yyjson_obj_get(hook, "timeoutSeconds");
        int64_t seconds = yyjson_get_sint(timeout);
        char path[PATH_SIZE], field[PATH_SIZE];
        snprintf(path, sizeof path, "webhooks[%zu]", index);
        check_name(c, path, name);
        yyjson_arr_foreach(yyjson_obj_get(hook, "rules"), at, rule_count, rule) {
            snprintf(field, sizeof field, "webhooks[%zu].rules[%zu]", index, at);
            kt_check_webhook_rule(c, field, rule);
        }
        if (!kt_json_has(hook, "sideEffects"))
            add_required(c, path, "sideEffects", "must specify one of None, NoneOnDryRun");
        snprintf(field, sizeof field, "webhooks[%zu].timeoutSeconds", index);
        if (yyjson_is_int(timeout) && (seconds < 1 || seconds > TIMEOUT_MAX))
            kt_add_json(c, field, timeout, "the timeout value must be between 1 and 30 seconds");
        snprintf(field, sizeof field, "webhooks[%zu].matchConditions", index);
        kt_check_most(c->causes, field, yyjson_obj_get(hook, "matchConditions"), CONDITIONS_MAX);
        check_client(c, path, yyjson_obj_get(hook, "clientConfig"));
        check_versions(c, path, yyjson_obj_get(hook, "admissionReviewVersions"));
        if (name.size && kt_is_earlier(hooks, index, "name", name))
            kt_validate_add(c->causes, KT_CAUSE_DUPLICATE, name, true, "", "%s.name", path);
    }
}

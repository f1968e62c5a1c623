/* validate_ingress.c: see validate_ingress.h. Has the real server's order and messages. */
#include "testing/kinds/validate_ingress.h"

#include "src/object/label.h"
#include "testing/validation/checked.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 128
};

static void check_service(kt_causes *causes, const char *path, yyjson_val *service) {
    yyjson_val *port = yyjson_obj_get(service, "port");
    ki_str name = kt_json_get_str(service, "name"), port_name = kt_json_get_str(port, "name");
    int64_t number = yyjson_get_sint(yyjson_obj_get(port, "number"));
    const char *why = kt_validate_dns_label(name);
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, number);
    if (!name.size)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s.service.name", path);
    else if (why)
        kt_validate_add(causes, KT_CAUSE_INVALID, name, true, why, "%s.service.name", path);
    if (port_name.size && number)
        kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR(""), true, "cannot set both port name & port number", "%s",
                        path);
    else if (!port_name.size && !number)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "port name or number is required", "%s", path);
    else if (number < 0 || number > UINT16_MAX)
        kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), false, KT_PORT_RANGE, "%s.service.port.number",
                        path);
}

static void check_backend(kt_causes *causes, const char *path, yyjson_val *backend) {
    bool has_resource = kt_json_has(backend, "resource"), has_service = kt_json_has(backend, "service");
    if (has_resource && has_service)
        kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR(""), true, "cannot set both resource and service backends",
                        "%s", path);
    else if (has_service)
        check_service(causes, path, yyjson_obj_get(backend, "service"));
    else if (!has_resource)
        kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR(""), true, "resource or service backend is required", "%s",
                        path);
}

/* Checks a path of the types Exact and Prefix. */
static void check_strict_path(kt_causes *causes, const char *place, ki_str path) {
    static const char *const parts[] = { "//", "/./", "/../", "%2f", "%2F" }, *const ends[] = { "/..", "/." };
    char why[48];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(why, sizeof why, "must not contain '%s'", parts[i]);
        if (path.size && memmem(path.data, path.size, parts[i], strlen(parts[i])))
            kt_validate_add(causes, KT_CAUSE_INVALID, path, true, why, "%s.path", place);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t size = strlen(ends[i]);
        snprintf(why, sizeof why, "cannot end with '%s'", ends[i]);
        if (path.size >= size && memcmp(path.data + path.size - size, ends[i], size) == 0)
            kt_validate_add(causes, KT_CAUSE_INVALID, path, true, why, "%s.path", place);
    }
}

static void check_path(kt_causes *causes, const char *place, yyjson_val *one) {
    ki_str type = kt_json_get_str(one, "pathType"), path = kt_json_get_str(one, "path");
    bool is_loose = ki_str_equals(type, "ImplementationSpecific");
    bool is_strict = ki_str_equals(type, "Exact") || ki_str_equals(type, "Prefix");
    char backend[FIELD_SIZE + 16];
    if (!kt_json_has(one, "pathType")) {
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "pathType must be specified", "%s.pathType",
                        place);
        return;
    }
    bool is_absolute = path.size && path.data[0] == '/';
    if (!is_absolute && (is_strict || (is_loose && path.size)))
        kt_validate_add(causes, KT_CAUSE_INVALID, path.data ? path : KI_STR(""), true, "must be an absolute path",
                        "%s.path", place);
    if (is_strict)
        check_strict_path(causes, place, path);
    if (!is_strict && !is_loose)
        kt_validate_add(causes, KT_CAUSE_NOT_SUPPORTED, type, true,
                        "supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"", "%s.pathType", place);
    snprintf(backend, sizeof backend, "%s.backend", place);
    check_backend(causes, backend, yyjson_obj_get(one, "backend"));
}

static void check_rule(kt_causes *causes, size_t at, yyjson_val *rule) {
    ki_str host = kt_json_get_str(rule, "host");
    bool is_wildcard = host.size && memchr(host.data, '*', host.size);
    const char *why = is_wildcard ? kt_validate_wildcard(host) : ki_label_check_subdomain(host);
    yyjson_val *http = yyjson_obj_get(rule, "http"), *paths = yyjson_obj_get(http, "paths"), *path;
    size_t index, count;
    if (host.size && why)
        kt_validate_add(causes, KT_CAUSE_INVALID, host, true, why, "spec.rules[%zu].host", at);
    if (kt_json_has(rule, "http") && yyjson_arr_size(paths) == 0)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "spec.rules[%zu].http.paths", at);
    yyjson_arr_foreach(paths, index, count, path) {
        char place[FIELD_SIZE];
        snprintf(place, sizeof place, "spec.rules[%zu].http.paths[%zu]", at, index);
        check_path(causes, place, path);
    }
}

void kt_validate_ingress_spec(kt_causes *causes, yyjson_val *spec) {
    yyjson_val *rules = yyjson_obj_get(spec, "rules"), *rule;
    size_t index, count;
    if (yyjson_arr_size(rules) == 0 && !kt_json_has(spec, "defaultBackend"))
        kt_validate_add(causes, KT_CAUSE_INVALID, yyjson_is_arr(rules) ? KI_STR("[]") : KI_STR("null"), false,
                        "either `defaultBackend` or `rules` must be specified", "spec");
    if (kt_json_has(spec, "defaultBackend"))
        check_backend(causes, "spec.defaultBackend", yyjson_obj_get(spec, "defaultBackend"));
    yyjson_arr_foreach(rules, index, count, rule) {
        check_rule(causes, index, rule);
    }
}

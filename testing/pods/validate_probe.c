/* validate_probe.c: see validate_probe.h. As validateProbe and validateLifecycle (pkg/apis/core/validation). */
#include "testing/pods/validate_probe.h"

#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define ONLY_SIDECARS "may not be set for init containers without restartPolicy=Always"

enum {
    GRACE_SECONDS = 30 /* the default of terminationGracePeriodSeconds */
};

/* A handler's field is its place, and headers are named without their index. */
static void check_header(kt_causes *causes, const char *path, ki_str name) {
    bool is_name = name.size > 0;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        is_name = is_name && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-');
    }
    if (!is_name)
        kt_validate_add(causes, KT_CAUSE_INVALID, name, true,
                        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
                        "regex used for validation is '[-A-Za-z0-9]+')",
                        "%s.httpGet.httpHeaders", path);
}

static void check_one(kt_causes *causes, const char *path, const char *type, yyjson_val *handler, int64_t grace) {
    static const struct {
        const char *type;
        kt_rule rule;
    } rules[] = {
        { "exec", KT_REQUIRED("exec.command", "") },
        { "httpGet", KT_PORT("httpGet.port", KT_ALWAYS) },
        { "httpGet", KT_CHOICE("httpGet.scheme", KT_IF_FILLED, "HTTP,HTTPS") },
        { "tcpSocket", KT_PORT("tcpSocket.port", KT_ALWAYS) },
        { "grpc", KT_PORT("grpc.port", KT_ALWAYS) },
    };
    yyjson_val *http = yyjson_obj_get(handler, "httpGet"), *header;
    int64_t seconds = yyjson_get_sint(yyjson_obj_get(yyjson_obj_get(handler, "sleep"), "seconds"));
    size_t index, count;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].type, type) == 0)
            kt_check_rules(causes, path, handler, &rules[i].rule, 1);
    }
    if (strcmp(type, "httpGet") == 0) {
        yyjson_arr_foreach(yyjson_obj_get(http, "httpHeaders"), index, count, header) {
            check_header(causes, path, kt_json_get_str(header, "name"));
        }
    }
    if (strcmp(type, "sleep") == 0 && (seconds < 0 || seconds > grace)) {
        kt_place field;
        char why[96];
        field = kt_place_of("%s.sleep", path);
        snprintf(why, sizeof why, "must be non-negative and less than terminationGracePeriodSeconds (%" PRId64 ")",
                 grace);
        kt_add_number(causes, field.text, seconds, why);
    }
}

/* Checks that a handler has one of the types. */
static void check_handler(kt_causes *causes, const char *path, const char *const types[4], yyjson_val *handler,
                          int64_t grace) {
    bool has_type = false;
    for (size_t i = 0; i < 4; i++) {
        if (kt_is_absent(yyjson_obj_get(handler, types[i])))
            continue;
        if (has_type)
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "may not specify more than 1 handler type",
                            "%s.%s", path, types[i]);
        else
            check_one(causes, path, types[i], handler, grace);
        has_type = true;
    }
    if (!has_type)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, path, KI_STR(""), "must specify a handler type");
}

static void check_probe(kt_causes *causes, const char *path, yyjson_val *probe, bool is_readiness, int64_t grace) {
    static const char *const types[4] = { "exec", "httpGet", "tcpSocket", "grpc" };
    static const kt_rule rules[] = {
        KT_NOT_BELOW_0("initialDelaySeconds"),
        KT_NOT_BELOW_0("timeoutSeconds"),
        KT_NOT_BELOW_0("periodSeconds"),
        KT_NOT_BELOW_0("successThreshold"),
        KT_NOT_BELOW_0("failureThreshold"),
        KT_NUMBER("terminationGracePeriodSeconds", KT_IF_GIVEN, 1, INT64_MAX, "must be greater than 0"),
    };
    static const kt_rule once[] = { KT_NUMBER("successThreshold", KT_IF_FILLED, 1, 1, "must be 1") };
    yyjson_val *own_grace = yyjson_obj_get(probe, "terminationGracePeriodSeconds");
    check_handler(causes, path, types, probe, grace);
    KT_CHECK_RULES(causes, path, probe, rules);
    if (!is_readiness)
        KT_CHECK_RULES(causes, path, probe, once);
    if (is_readiness && yyjson_is_int(own_grace)) {
        kt_place field = kt_place_of("%s.terminationGracePeriodSeconds", path);
        kt_add_number(causes, field.text, yyjson_get_sint(own_grace), "must not be set for readinessProbes");
    }
}

static void check_lifecycle(kt_causes *causes, const char *path, yyjson_val *lifecycle, int64_t grace) {
    static const char *const types[4] = { "exec", "httpGet", "tcpSocket", "sleep" };
    static const char *const moments[] = { "postStart", "preStop" };
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        yyjson_val *handler = yyjson_obj_get(lifecycle, moments[i]);
        kt_place place = kt_place_of("%s.%s", path, moments[i]);
        if (!kt_is_absent(handler))
            check_handler(causes, place.text, types, handler, grace);
    }
}

void kt_check_probes(kt_causes *causes, const char *path, yyjson_val *container, yyjson_val *spec, bool is_init) {
    static const char *const members[] = { "lifecycle", "livenessProbe", "readinessProbe", "startupProbe" };
    yyjson_val *given = yyjson_obj_get(spec, "terminationGracePeriodSeconds");
    int64_t grace = yyjson_is_int(given) ? yyjson_get_sint(given) : GRACE_SECONDS;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_val *one = yyjson_obj_get(container, members[i]);
        kt_place place = kt_place_of("%s.%s", path, members[i]);
        if (kt_is_absent(one))
            continue;
        if (is_init)
            kt_causes_add(causes, KT_CAUSE_FORBIDDEN, place.text, KI_STR(""), ONLY_SIDECARS);
        else if (i == 0)
            check_lifecycle(causes, place.text, one, grace);
        else
            check_probe(causes, place.text, one, i == 2, grace);
    }
}

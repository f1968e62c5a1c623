/* validate_container.c: see validate_container.h. As validateContainerCommon (pkg/apis/core/validation). */
#include "testing/pods/validate_container.h"

#include "src/base/quantity.h"
#include "testing/validation/amounts.h"
#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define ONLY_SIDECARS "may not be set for init containers without restartPolicy=Always"
#define PROFILES "Localhost,RuntimeDefault,Unconfined"

enum {
    FIELD_SIZE = 256,
    GRACE_SECONDS = 30 /* the default of terminationGracePeriodSeconds */
};

/* Checks that the name of the container `one` (`list[index]`) at `path` is a DNS label and is neither earlier in
 * `list` nor in `other`. */
static void check_name(kt_causes *causes, const char *path, yyjson_val *list, size_t index, yyjson_val *one,
                       yyjson_val *other) {
    ki_str name = kt_json_get_str(one, "name");
    kt_place field = kt_place_of("%s.name", path);
    if (name.size)
        kt_check_dns_label(causes, field.text, name);
    else
        kt_causes_add(causes, KT_CAUSE_REQUIRED, field.text, name, "");
    if (name.size && (kt_is_earlier(list, index, "name", name) || kt_is_earlier(other, KT_COMPARED_MAX, "name", name)))
        kt_causes_add(causes, KT_CAUSE_DUPLICATE, field.text, name, "");
}

/* ---- ports ---- */

static void check_port_names(kt_causes *causes, const char *path, yyjson_val *ports) {
    size_t index, count;
    yyjson_val *port;
    yyjson_arr_foreach(ports, index, count, port) {
        ki_str name = kt_json_get_str(port, "name");
        if (name.size && kt_is_earlier(ports, index, "name", name))
            kt_validate_add(causes, KT_CAUSE_DUPLICATE, name, true, "", "%s.ports[%zu].name", path, index);
    }
}

/* Returns true if both ports take the same port of the host. */
static bool is_same_host_port(yyjson_val *a, yyjson_val *b) {
    ki_str left = kt_json_get_str(a, "protocol"), right = kt_json_get_str(b, "protocol");
    return yyjson_get_sint(yyjson_obj_get(a, "hostPort")) == yyjson_get_sint(yyjson_obj_get(b, "hostPort")) &&
           ki_str_equal(left.size ? left : KI_STR("TCP"), right.size ? right : KI_STR("TCP")) &&
           ki_str_equal(kt_json_get_str(a, "hostIP"), kt_json_get_str(b, "hostIP"));
}

/* Returns true if a port before the port `until` of the container `last` has the same host port as `port`. */
static bool is_taken(yyjson_val *containers, size_t last, size_t until, yyjson_val *port) {
    size_t index, count, k, port_count;
    yyjson_val *container, *other;
    yyjson_arr_foreach(containers, index, count, container) {
        if (index > last)
            break;
        yyjson_arr_foreach(yyjson_obj_get(container, "ports"), k, port_count, other) {
            if (index == last && k == until)
                break;
            if (is_same_host_port(other, port))
                return true;
        }
    }
    return false;
}

/* Checks that containers take different ports of the host, and with the host's network their own. */
static void check_host_ports(kt_causes *causes, const char *path, yyjson_val *containers, bool in_host_network) {
    size_t index, count, k, port_count, compared = 0;
    yyjson_val *container, *port;
    yyjson_arr_foreach(containers, index, count, container) {
        yyjson_arr_foreach(yyjson_obj_get(container, "ports"), k, port_count, port) {
            int64_t number = yyjson_get_sint(yyjson_obj_get(port, "hostPort"));
            ki_str protocol = kt_json_get_str(port, "protocol"), ip = kt_json_get_str(port, "hostIP");
            char shown[96];
            if (!number || compared++ > KT_COMPARED_MAX)
                continue;
            snprintf(shown, sizeof shown, "%.*s/%.*s/%" PRId64, protocol.size ? (int)protocol.size % 16 : 3,
                     protocol.size ? protocol.data : "TCP", (int)ip.size % 48, ip.size ? ip.data : "", number);
            if (is_taken(containers, index, k, port))
                kt_validate_add(causes, KT_CAUSE_DUPLICATE, ki_str_of(shown), true, "",
                                "%s.containers[%zu].ports[%zu].hostPort", path, index, k);
            snprintf(shown, sizeof shown, "%" PRId64, number);
            if (in_host_network && number != yyjson_get_sint(yyjson_obj_get(port, "containerPort")))
                kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), false,
                                "must match `containerPort` when `hostNetwork` is true",
                                "%s.containers[%zu].ports[%zu].hostPort", path, index, k);
        }
    }
}

/* ---- resources ---- */

static bool is_huge_pages(ki_str name) {
    return ki_str_starts_with(name, KI_STR("hugepages-"));
}

/* Returns true if containers can request less than their limit of this resource. */
static bool is_overcommitted(ki_str name) {
    bool is_native = !memchr(name.data, '/', name.size) ||
                     memmem(name.data, name.size, "kubernetes.io/", sizeof "kubernetes.io/" - 1);
    return is_native && !is_huge_pages(name);
}

/* Checks one entry of `path`, such as "spec.containers[0].resources.limits". Returns false if it has no quantity. */
static bool check_quantity(kt_causes *causes, const char *path, ki_str name, yyjson_val *val,
                           ki_quantity *ret_quantity) {
    static const ki_quantity zero = { 0 };
    char shown[KI_QUANTITY_SIZE];
    kt_place field = kt_place_of("%s[%.*s]", path, (int)name.size, name.data);
    kt_check_container_resource_name(causes, field.text, name);
    if (!ki_quantity_parse(kt_json_str(val), ret_quantity))
        return false;
    ki_quantity_write(ret_quantity, shown);
    if (ki_quantity_compare(ret_quantity, &zero) < 0)
        kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), true, "must be greater than or equal to 0",
                        "%s[%.*s]", path, (int)name.size, name.data);
    return true;
}

static void check_request(kt_causes *causes, const char *path, ki_str name, const ki_quantity *request,
                          yyjson_val *limit_val) {
    ki_quantity limit;
    char shown[KI_QUANTITY_SIZE], most[KI_QUANTITY_SIZE], detail[FIELD_SIZE + KI_QUANTITY_SIZE];
    if (!limit_val && !is_overcommitted(name))
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                        "Limit must be set for non overcommitable resources", "%s.limits", path);
    if (!limit_val || !ki_quantity_parse(kt_json_str(limit_val), &limit))
        return;
    int order = ki_quantity_compare(request, &limit);
    bool must_equal = !is_overcommitted(name);
    if (order == 0 || (order < 0 && !must_equal))
        return;
    ki_quantity_write(request, shown);
    ki_quantity_write(&limit, most);
    snprintf(detail, sizeof detail, "must be %s to %.*s limit of %s", must_equal ? "equal" : "less than or equal",
             (int)name.size, name.data, most);
    kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), true, detail, "%s.requests", path);
}

/* A pod's limits are the defaults of its requests; a template's are not. */
static void check_resources(kt_causes *causes, const char *path, yyjson_val *resources) {
    yyjson_val *limits = yyjson_obj_get(resources, "limits"), *requests = yyjson_obj_get(resources, "requests");
    yyjson_val *key, *val;
    bool is_of_pod = strncmp(path, "spec.containers[", sizeof "spec.containers[" - 1) == 0 ||
                     strncmp(path, "spec.initContainers[", sizeof "spec.initContainers[" - 1) == 0;
    kt_place list;
    ki_quantity quantity;
    size_t index, count;
    kt_place own = kt_place_of("%s.resources", path);
    list = kt_place_of("%s.limits", own.text);
    yyjson_obj_foreach(limits, index, count, key, val) {
        (void)check_quantity(causes, list.text, kt_json_str(key), val, &quantity);
    }
    list = kt_place_of("%s.requests", own.text);
    yyjson_obj_foreach(requests, index, count, key, val) {
        ki_str name = kt_json_str(key);
        if (check_quantity(causes, list.text, name, val, &quantity))
            check_request(causes, own.text, name, &quantity, yyjson_obj_getn(limits, name.data, name.size));
    }
    yyjson_obj_foreach(limits, index, count, key, val) {
        if (is_of_pod && !yyjson_obj_getn(requests, kt_json_str(key).data, kt_json_str(key).size))
            (void)check_quantity(causes, list.text, kt_json_str(key), val, &quantity);
    }
}

/* ---- environment ---- */

static void check_env_name(kt_causes *causes, const char *field, ki_str name) {
    bool is_name = true;
    for (size_t i = 0; i < name.size; i++)
        is_name = is_name && name.data[i] >= ' ' && name.data[i] <= '~' && name.data[i] != '=';
    if (!is_name)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, name,
                      "a valid environment variable name must consist only of printable ASCII characters other than "
                      "'='");
}

/* Checks the field of the pod that a variable takes its value from. */
static void check_field_path(kt_causes *causes, const char *field, ki_str path) {
    static const char *const convertible[] = { "metadata.annotations", "metadata.labels", "spec.restartPolicy",
                                               "spec.schedulerName", "status.phase" };
    static const char *const fields[] = {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
        "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs", "spec.host"
    };
    static const char supported[] = "supported values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", "
                                    "\"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", "
                                    "\"status.hostIPs\", \"status.podIP\", \"status.podIPs\"";
    char why[FIELD_SIZE];
    bool is_subscripted = path.size && path.data[path.size - 1] == ']';
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (ki_str_equals(path, fields[i]))
            return;
    }
    if (is_subscripted && (ki_str_starts_with(path, KI_STR("metadata.annotations['")) ||
                           ki_str_starts_with(path, KI_STR("metadata.labels['"))))
        return;
    for (size_t i = 0; i < sizeof convertible / sizeof convertible[0]; i++) {
        if (!ki_str_equals(path, convertible[i]))
            continue;
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, field, path, supported);
        return;
    }
    snprintf(why, sizeof why, "error converting fieldPath: field label %s: %.*s",
             is_subscripted ? "does not support subscript" : "not supported", (int)(path.size % FIELD_SIZE), path.data);
    kt_causes_add(causes, KT_CAUSE_INVALID, field, path, why);
}

/* Checks the resource of the container that a variable takes its value from. */
static void check_resource_path(kt_causes *causes, const char *field, ki_str path) {
    static const char *const resources[] = { "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                             "requests.cpu", "requests.ephemeral-storage", "requests.memory" };
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++) {
        if (ki_str_equals(path, resources[i]))
            return;
    }
    if (!ki_str_starts_with(path, KI_STR("requests.hugepages-")) &&
        !ki_str_starts_with(path, KI_STR("limits.hugepages-")))
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, field, path,
                      "supported values: \"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", "
                      "\"requests.cpu\", \"requests.ephemeral-storage\", \"requests.memory\"");
}

static size_t count_members(yyjson_val *obj, const char *const *names, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += !kt_is_absent(yyjson_obj_get(obj, names[i]));
    return found;
}

/* Checks that variables take their value from one place. */
static void check_sources(kt_causes *causes, const char *path, yyjson_val *container) {
    static const char *const of_one[] = { "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef",
                                          "fileKeyRef" };
    static const char *const of_many[] = { "configMapRef", "secretRef" };
    static const char twice[] = "may not have more than one field specified at a time";
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(yyjson_obj_get(container, "env"), index, count, one) {
        yyjson_val *from = yyjson_obj_get(one, "valueFrom");
        size_t found = count_members(from, of_one, sizeof of_one / sizeof of_one[0]);
        const char *why = NULL;
        if (!found)
            why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                  "`fileKeyRef`";
        else if (kt_json_get_str(one, "value").size)
            why = "may not be specified when `value` is not empty";
        else if (found > 1)
            why = twice;
        if (why && !kt_is_absent(from))
            kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR(""), true, why, "%s.env[%zu].valueFrom", path, index);
    }
    yyjson_arr_foreach(yyjson_obj_get(container, "envFrom"), index, count, one) {
        size_t found = count_members(one, of_many, sizeof of_many / sizeof of_many[0]);
        if (found != 1)
            kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR(""), true,
                            found ? twice : "must specify one of: `configMapRef` or `secretRef`", "%s.envFrom", path);
    }
}

/* ---- mounts ---- */

static void check_mounts(kt_causes *causes, const char *path, yyjson_val *container, const kt_volumes *volumes) {
    static const kt_rule rules[] = {
        KT_REQUIRED("volumeMounts[].name", ""),
        KT_REQUIRED("volumeMounts[].mountPath", ""),
    };
    /* The server names these fields without the index of the mount. */
    static const kt_rule paths[] = {
        KT_TEXT("subPath", KT_IF_FILLED, kt_check_descending_path),
        KT_TEXT("subPathExpr", KT_IF_FILLED, kt_check_descending_path),
        KT_CHOICE("mountPropagation", KT_IF_GIVEN, "Bidirectional,HostToContainer,None"),
        KT_CHOICE("recursiveReadOnly", KT_IF_GIVEN, "Disabled,Enabled,IfPossible"),
    };
    yyjson_val *mounts = yyjson_obj_get(container, "volumeMounts"), *one;
    yyjson_val *devices = yyjson_obj_get(container, "volumeDevices");
    size_t index, count;
    kt_place list = kt_place_of("%s.volumeMounts", path);
    KT_CHECK_RULES(causes, path, container, rules);
    yyjson_arr_foreach(mounts, index, count, one) {
        ki_str name = kt_json_get_str(one, "name"), place = kt_json_get_str(one, "mountPath");
        ki_str expression = kt_json_get_str(one, "subPathExpr");
        if (!kt_has_volume(volumes, name))
            kt_validate_add(causes, KT_CAUSE_NOT_FOUND, name, true, "", "%s[%zu].name", list.text, index);
        if (kt_is_earlier(mounts, index, "mountPath", place))
            kt_validate_add(causes, KT_CAUSE_INVALID, place, true, "must be unique", "%s[%zu].mountPath", list.text,
                            index);
        if (kt_is_earlier(devices, KT_COMPARED_MAX, "name", name))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must not already exist in volumeDevices",
                            "%s[%zu].name", list.text, index);
        if (kt_is_earlier(devices, KT_COMPARED_MAX, "devicePath", place))
            kt_validate_add(causes, KT_CAUSE_INVALID, place, true, "must not already exist as a path in volumeDevices",
                            "%s[%zu].mountPath", list.text, index);
        if (expression.size && kt_json_get_str(one, "subPath").size)
            kt_validate_add(causes, KT_CAUSE_INVALID, expression, true,
                            "subPathExpr and subPath are mutually exclusive", "%s[%zu].subPathExpr", list.text, index);
        KT_CHECK_RULES(causes, list.text, one, paths);
    }
}

static void check_devices(kt_causes *causes, const char *path, yyjson_val *container, const kt_volumes *volumes) {
    static const kt_rule rules[] = {
        KT_REQUIRED("volumeDevices[].name", ""),
        KT_REQUIRED("volumeDevices[].devicePath", ""),
    };
    yyjson_val *devices = yyjson_obj_get(container, "volumeDevices"), *one;
    yyjson_val *mounts = yyjson_obj_get(container, "volumeMounts");
    size_t index, count;
    KT_CHECK_RULES(causes, path, container, rules);
    yyjson_arr_foreach(devices, index, count, one) {
        ki_str name = kt_json_get_str(one, "name"), place = kt_json_get_str(one, "devicePath");
        kt_place list = kt_place_of("%s.volumeDevices[%zu]", path, index);
        if (!kt_has_volume(volumes, name))
            kt_validate_add(causes, KT_CAUSE_NOT_FOUND, name, true, "", "%s.name", list.text);
        else if (!kt_is_claim(volumes, name))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true,
                            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                            "%s.name", list.text);
        if (name.size && kt_is_earlier(devices, index, "name", name))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must be unique", "%s.name", list.text);
        if (kt_is_earlier(devices, index, "devicePath", place))
            kt_validate_add(causes, KT_CAUSE_INVALID, place, true, "must be unique", "%s.devicePath", list.text);
        if (kt_is_earlier(mounts, KT_COMPARED_MAX, "name", name))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must not already exist in volumeMounts", "%s.name",
                            list.text);
        if (kt_is_earlier(mounts, KT_COMPARED_MAX, "mountPath", place))
            kt_validate_add(causes, KT_CAUSE_INVALID, place, true, "must not already exist as a path in volumeMounts",
                            "%s.devicePath", list.text);
    }
}

/* ---- probes, and handlers of the lifecycle: as validateProbe and validateLifecycle ---- */

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

/* Adds the problems of the probes and the lifecycle of a container of the pod `spec`. `path`: the container's place.
 * `is_init`: it ends before the others begin, and can have none of them. */
static void check_probes(kt_causes *causes, const char *path, yyjson_val *container, yyjson_val *spec, bool is_init) {
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

/* ---- containers ---- */

static void check_container(kt_causes *causes, const char *path, yyjson_val *container, const kt_volumes *volumes) {
    static const kt_rule rules[] = {
        KT_REQUIRED("image", ""),
        KT_CHOICE("terminationMessagePolicy", KT_IF_FILLED, "File,FallbackToLogsOnError"),
        KT_TEXT("ports[].name", KT_IF_FILLED, kt_check_port_name),
        KT_REQUIRED("ports[].containerPort", ""),
        KT_NUMBER("ports[].containerPort", KT_IF_FILLED, 1, UINT16_MAX, KT_PORT_RANGE),
        KT_NUMBER("ports[].hostPort", KT_IF_FILLED, 1, UINT16_MAX, KT_PORT_RANGE),
        KT_CHOICE("ports[].protocol", KT_IF_FILLED, "SCTP,TCP,UDP"),
        KT_REQUIRED("env[].name", ""),
        KT_TEXT("env[].name", KT_IF_FILLED, check_env_name),
        KT_REQUIRED("env[].valueFrom.fieldRef.fieldPath", ""),
        KT_TEXT("env[].valueFrom.fieldRef.fieldPath", KT_IF_FILLED, check_field_path),
        KT_REQUIRED("env[].valueFrom.resourceFieldRef.resource", ""),
        KT_TEXT("env[].valueFrom.resourceFieldRef.resource", KT_IF_FILLED, check_resource_path),
        KT_TEXT("env[].valueFrom.configMapKeyRef.name", KT_ALWAYS, kt_check_subdomain),
        KT_REQUIRED("env[].valueFrom.configMapKeyRef.key", ""),
        KT_TEXT("env[].valueFrom.configMapKeyRef.key", KT_IF_FILLED, kt_check_config_key),
        KT_TEXT("env[].valueFrom.secretKeyRef.name", KT_ALWAYS, kt_check_subdomain),
        KT_REQUIRED("env[].valueFrom.secretKeyRef.key", ""),
        KT_TEXT("env[].valueFrom.secretKeyRef.key", KT_IF_FILLED, kt_check_config_key),
        KT_TEXT("envFrom[].prefix", KT_IF_FILLED, check_env_name),
        KT_REQUIRED("envFrom[].configMapRef.name", ""),
        KT_REQUIRED("envFrom[].secretRef.name", ""),
        KT_CHOICE("imagePullPolicy", KT_IF_FILLED, "Always,IfNotPresent,Never"),
        KT_CHOICE("restartPolicy", KT_IF_GIVEN, "Always,Never,OnFailure"),
        KT_NUMBER("securityContext.runAsUser", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_NUMBER("securityContext.runAsGroup", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_CHOICE("securityContext.procMount", KT_IF_GIVEN, "Default,Unmasked"),
        KT_REQUIRED("securityContext.seccompProfile.type", "type is required when seccompProfile is set"),
        KT_CHOICE("securityContext.seccompProfile.type", KT_IF_FILLED, PROFILES),
        KT_REQUIRED("securityContext.appArmorProfile.type", "type is required when appArmorProfile is set"),
        KT_CHOICE("securityContext.appArmorProfile.type", KT_IF_FILLED, PROFILES),
    };
    yyjson_val *ports = yyjson_obj_get(container, "ports"), *resources = yyjson_obj_get(container, "resources");
    KT_CHECK_RULES(causes, path, container, rules);
    if (ports)
        check_port_names(causes, path, ports);
    if (yyjson_obj_get(container, "env") || yyjson_obj_get(container, "envFrom"))
        check_sources(causes, path, container);
    if (yyjson_obj_get(container, "volumeMounts"))
        check_mounts(causes, path, container, volumes);
    if (yyjson_obj_get(container, "volumeDevices"))
        check_devices(causes, path, container, volumes);
    if (resources)
        check_resources(causes, path, resources);
}

void kt_check_containers(kt_causes *causes, const char *path, yyjson_val *spec, const kt_volumes *volumes) {
    yyjson_val *containers = yyjson_obj_get(spec, "containers"), *inits = yyjson_obj_get(spec, "initContainers"), *one;
    size_t index, count;
    kt_place place;
    if (yyjson_arr_size(containers) == 0)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s.containers", path);
    yyjson_arr_foreach(containers, index, count, one) {
        place = kt_place_of("%s.containers[%zu]", path, index);
        check_name(causes, place.text, containers, index, one, NULL);
        check_container(causes, place.text, one, volumes);
        check_probes(causes, place.text, one, spec, false);
    }
    check_host_ports(causes, path, containers, yyjson_is_true(yyjson_obj_get(spec, "hostNetwork")));
    yyjson_arr_foreach(inits, index, count, one) {
        place = kt_place_of("%s.initContainers[%zu]", path, index);
        check_name(causes, place.text, inits, index, one, containers);
        check_container(causes, place.text, one, volumes);
        check_probes(causes, place.text, one, spec, !ki_str_equals(kt_json_get_str(one, "restartPolicy"), "Always"));
    }
}

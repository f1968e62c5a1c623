/* validate_pod.c: see validate_pod.h. Has the real server's order and messages. */
#include "testing/validation/validate_pod.h"

#include "src/base/quantity.h"
#include "testing/validation/checked.h"
#include "testing/validation/validate.h"
#include "testing/values/arena.h"
#include "testing/values/equal.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define UPDATES_FORBIDDEN \
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," \
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," \
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

enum {
    FIELD_SIZE = 192,
    PORT_MAX = 65535,
    COMPARED_MAX = 1000 /* elements of a list whose names are compared */
};

static const ki_str nothing = { NULL, 0 };

static bool is_named(yyjson_val *list, ki_str name, size_t before) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(list, index, count, one) {
        if (index == before || index == COMPARED_MAX)
            return false;
        if (ki_str_equal(kt_json_get_str(one, "name"), name))
            return true;
    }
    return false;
}

/* Checks that the name of `one` (`list[index]`) is a DNS label and is neither earlier in `list` nor in `other`. */
static void check_name(kt_causes *causes, const char *path, yyjson_val *list, size_t index, yyjson_val *one,
                       yyjson_val *other) {
    ki_str name = kt_json_get_str(one, "name");
    const char *why = kt_validate_dns_label(name);
    if (!name.size)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s[%zu].name", path, index);
    else if (why)
        kt_validate_add(causes, KT_CAUSE_INVALID, name, true, why, "%s[%zu].name", path, index);
    if (name.size && index < COMPARED_MAX && (is_named(list, name, index) || is_named(other, name, SIZE_MAX)))
        kt_validate_add(causes, KT_CAUSE_DUPLICATE, name, true, "", "%s[%zu].name", path, index);
}

static void check_ports(kt_causes *causes, const char *path, yyjson_val *ports) {
    size_t index, count;
    yyjson_val *port;
    yyjson_arr_foreach(ports, index, count, port) {
        char own[2 * FIELD_SIZE], shown[32];
        ki_str name = kt_json_get_str(port, "name");
        int64_t number = yyjson_get_sint(yyjson_obj_get(port, "containerPort"));
        snprintf(own, sizeof own, "%s.ports[%zu]", path, index);
        if (name.size && index < COMPARED_MAX && is_named(ports, name, index))
            kt_validate_add(causes, KT_CAUSE_DUPLICATE, name, true, "", "%s.name", own);
        snprintf(shown, sizeof shown, "%" PRId64, number);
        if (number == 0)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.containerPort", own);
        else if (number < 0 || number > PORT_MAX)
            kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), false, "must be between 1 and 65535, inclusive",
                            "%s.containerPort", own);
        kt_check_choice(causes, own, "protocol", yyjson_obj_get(port, "protocol"), "SCTP,TCP,UDP");
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
            if (!number || compared++ > COMPARED_MAX)
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

/* Returns true for the other standard names, which quotas and claims use and containers cannot. */
static bool is_standard_elsewhere(ki_str name) {
    static const char *const names[] = {
        "pods",
        "services",
        "secrets",
        "configmaps",
        "resourcequotas",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "services.nodeports",
        "services.loadbalancers",
        "requests.storage",
        "replicationcontrollers",
        "persistentvolumeclaims",
    };
    size_t i = 0;
    while (i < sizeof names / sizeof *names && !ki_str_equals(name, names[i]))
        i++;
    return i < sizeof names / sizeof *names;
}

static void check_resource_name(kt_causes *causes, const char *path, ki_str name) {
    bool is_standard = ki_str_equals(name, "cpu") || ki_str_equals(name, "memory") ||
                       ki_str_equals(name, "ephemeral-storage") || is_huge_pages(name);
    if (memchr(name.data, '/', name.size) || is_standard)
        return;
    if (!is_standard_elsewhere(name))
        kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must be a standard resource type or fully qualified",
                        "%s[%.*s]", path, (int)name.size, name.data);
    kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must be a standard resource for containers", "%s[%.*s]",
                    path, (int)name.size, name.data);
}

/* Checks one entry of `path`, such as "spec.containers[0].resources.limits". Returns false if it has no quantity. */
static bool check_quantity(kt_causes *causes, const char *path, ki_str name, yyjson_val *val,
                           ki_quantity *ret_quantity) {
    static const ki_quantity zero = { 0 };
    char shown[KI_QUANTITY_SIZE];
    check_resource_name(causes, path, name);
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
        kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "Limit must be set for non overcommitable resources",
                        "%s.limits", path);
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
    char own[2 * FIELD_SIZE], list[2 * FIELD_SIZE + 16];
    ki_quantity quantity;
    size_t index, count;
    snprintf(own, sizeof own, "%s.resources", path);
    snprintf(list, sizeof list, "%s.limits", own);
    yyjson_obj_foreach(limits, index, count, key, val) {
        (void)check_quantity(causes, list, kt_json_str(key), val, &quantity);
    }
    snprintf(list, sizeof list, "%s.requests", own);
    yyjson_obj_foreach(requests, index, count, key, val) {
        ki_str name = kt_json_str(key);
        if (check_quantity(causes, list, name, val, &quantity))
            check_request(causes, own, name, &quantity, yyjson_obj_getn(limits, name.data, name.size));
    }
    yyjson_obj_foreach(limits, index, count, key, val) {
        if (is_of_pod && !yyjson_obj_getn(requests, kt_json_str(key).data, kt_json_str(key).size))
            (void)check_quantity(causes, list, kt_json_str(key), val, &quantity);
    }
}

static void check_container(kt_causes *causes, const char *path, yyjson_val *container, yyjson_val *volumes,
                            bool checks_mounts) {
    size_t index, count;
    yyjson_val *one;
    if (!kt_json_get_str(container, "image").size)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.image", path);
    check_ports(causes, path, yyjson_obj_get(container, "ports"));
    yyjson_arr_foreach(yyjson_obj_get(container, "env"), index, count, one) {
        ki_str name = kt_json_get_str(one, "name");
        if (!name.size)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.env[%zu].name", path, index);
        else if (memchr(name.data, '=', name.size))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true,
                            "a valid environment variable name must consist only of printable ASCII characters other "
                            "than '='",
                            "%s.env[%zu].name", path, index);
    }
    yyjson_arr_foreach(yyjson_obj_get(container, "volumeMounts"), index, count, one) {
        ki_str name = kt_json_get_str(one, "name");
        if (!name.size)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.volumeMounts[%zu].name", path, index);
        else if (checks_mounts && !is_named(volumes, name, SIZE_MAX))
            kt_validate_add(causes, KT_CAUSE_NOT_FOUND, name, true, "", "%s.volumeMounts[%zu].name", path, index);
        if (!kt_json_get_str(one, "mountPath").size)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.volumeMounts[%zu].mountPath", path,
                            index);
    }
    kt_check_choice(causes, path, "imagePullPolicy", yyjson_obj_get(container, "imagePullPolicy"),
                    "Always,IfNotPresent,Never");
    check_resources(causes, path, yyjson_obj_get(container, "resources"));
}

static void check_containers(kt_causes *causes, const char *path, const char *name, yyjson_val *spec, yyjson_val *other,
                             bool checks_mounts) {
    yyjson_val *list = yyjson_obj_get(spec, name), *container;
    size_t index, count;
    char own[FIELD_SIZE];
    snprintf(own, sizeof own, "%s.%s", path, name);
    yyjson_arr_foreach(list, index, count, container) {
        char place[FIELD_SIZE];
        snprintf(place, sizeof place, "%s.%s[%zu]", path, name, index);
        check_name(causes, own, list, index, container, other);
        check_container(causes, place, container, yyjson_obj_get(spec, "volumes"), checks_mounts);
    }
}

void kt_validate_pod_spec(kt_causes *causes, const char *path, yyjson_val *spec, bool checks_mounts) {
    checks_mounts = checks_mounts && yyjson_arr_size(yyjson_obj_get(spec, "volumes")) <= COMPARED_MAX;
    yyjson_val *volumes = yyjson_obj_get(spec, "volumes"), *containers = yyjson_obj_get(spec, "containers");
    size_t index, count;
    yyjson_val *volume;
    char own[FIELD_SIZE];
    snprintf(own, sizeof own, "%s.volumes", path);
    yyjson_arr_foreach(volumes, index, count, volume) {
        check_name(causes, own, volumes, index, volume, NULL);
    }
    if (yyjson_arr_size(containers) == 0)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "%s.containers", path);
    check_containers(causes, path, "containers", spec, NULL, checks_mounts);
    check_host_ports(causes, path, containers, yyjson_is_true(yyjson_obj_get(spec, "hostNetwork")));
    check_containers(causes, path, "initContainers", spec, containers, checks_mounts);
    kt_check_choice(causes, path, "restartPolicy", yyjson_obj_get(spec, "restartPolicy"), "Always,OnFailure,Never");
    kt_check_choice(causes, path, "dnsPolicy", yyjson_obj_get(spec, "dnsPolicy"),
                    "ClusterFirstWithHostNet,ClusterFirst,Default,None");
}

/* ---- updates ---- */

/* Returns true if two lists of containers differ only in their images. */
static bool same_containers(kt_arena *arena, yyjson_val *old, yyjson_val *now) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_iter others = yyjson_arr_iter_with(now);
    yyjson_arr_foreach(old, index, count, one) {
        yyjson_val *other = yyjson_arr_iter_next(&others), *key, *val;
        size_t k, key_count;
        if (yyjson_obj_size(one) - (yyjson_obj_get(one, "image") != NULL) !=
            yyjson_obj_size(other) - (yyjson_obj_get(other, "image") != NULL))
            return false;
        yyjson_obj_foreach(one, k, key_count, key, val) {
            ki_str name = kt_json_str(key);
            if (!ki_str_equals(name, "image") && !kt_equal(arena, val, yyjson_obj_getn(other, name.data, name.size)))
                return false;
        }
    }
    return true;
}

/* Returns true if two specs differ only in what an update can change. */
static bool same_spec(kt_arena *arena, yyjson_val *old, yyjson_val *now) {
    static const char *const changeable[] = { "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds",
                                              "schedulingGates" };
    yyjson_val *specs[2] = { old, now }, *key, *val;
    size_t index, count;
    for (size_t side = 0; side < 2; side++) {
        yyjson_obj_foreach(specs[side], index, count, key, val) {
            ki_str name = kt_json_str(key);
            yyjson_val *other = yyjson_obj_getn(specs[!side], name.data, name.size);
            bool same = ki_str_equals(name, "containers") || ki_str_equals(name, "initContainers")
                            ? same_containers(arena, val, other)
                            : (yyjson_is_null(val) && !other) || kt_equal(arena, val, other);
            for (size_t i = 0; i < sizeof changeable / sizeof changeable[0]; i++)
                same = same || ki_str_equals(name, changeable[i]);
            bool is_empty = !other && (yyjson_is_ctn(val) ? yyjson_get_len(val) == 0 : false);
            if (!same && !is_empty)
                return false;
        }
    }
    return true;
}

void kt_validate_pod_update(kt_causes *causes, const ki_allocator *allocator, yyjson_val *old_spec, yyjson_val *spec) {
    static const char *const lists[] = { "containers", "initContainers" };
    kt_arena arena;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (yyjson_arr_size(yyjson_obj_get(old_spec, lists[i])) == yyjson_arr_size(yyjson_obj_get(spec, lists[i])))
            continue;
        kt_validate_add(causes, KT_CAUSE_FORBIDDEN, nothing, true, "pod updates may not add or remove containers",
                        "spec.%s", lists[i]);
        return;
    }
    kt_arena_init(&arena, allocator);
    bool same = same_spec(&arena, old_spec, spec);
    if (arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    else if (!same)
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec", nothing, UPDATES_FORBIDDEN);
    kt_arena_free(&arena);
}

void kt_validate_pod_status(kt_causes *causes, yyjson_val *old, yyjson_val *status) {
    static const char name[] = "nominatedNodeName";
    ki_str nominated = kt_json_get_str(status, name), before = kt_json_get_str(yyjson_obj_get(old, "status"), name);
    bool is_bound = kt_json_get_str(yyjson_obj_get(old, "spec"), "nodeName").size > 0;
    if (is_bound && nominated.size && !ki_str_equal(nominated, before))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.nominatedNodeName", nothing,
                      "may not be set on pods that are already bound to a node");
}

/* service.c: see service.h. As pkg/registry/core/service/storage of Kubernetes. Node ports are read from the services
 * that have some; no set of used ports is kept. */
#include "testing/admission/service.h"

#include "testing/cluster/storage.h"
#include "testing/request/status.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    ADDRESS_SIZE = 64, /* bytes of an IPv6 address in brackets */
    PORT_FIRST = 30000,
    PORT_LAST = 32767,
    PORT_COUNT = PORT_LAST - PORT_FIRST + 1
};

typedef struct used_ports {
    bool is_used[PORT_COUNT];
} used_ports;

static bool needs_address(ki_str type) {
    return !ki_str_equals(type, "ExternalName");
}

static bool is_external(ki_str type) {
    return ki_str_equals(type, "NodePort") || ki_str_equals(type, "LoadBalancer");
}

static bool needs_ports(ki_str type, bool allocates) {
    return ki_str_equals(type, "NodePort") || (ki_str_equals(type, "LoadBalancer") && allocates);
}

static bool needs_health_port(ki_str type, ki_str policy) {
    return ki_str_equals(type, "LoadBalancer") && ki_str_equals(policy, "Local");
}

static void use(used_ports *used, int64_t port) {
    if (port >= PORT_FIRST && port <= PORT_LAST)
        used->is_used[port - PORT_FIRST] = true;
}

/* Collects the ports of all services but `name`. */
static ki_status collect_ports(kt_call *call, ki_str name, used_ports *used) {
    const kt_storage *store = call->storage->store;
    memset(used, 0, sizeof *used);
    for (size_t i = 0; i < store->count; i++) {
        const kt_object *obj = store->objects[i];
        if (!is_external(kt_object_field(obj, KI_STR("spec.type"))) ||
            (ki_str_equal(obj->ns, call->ns) && ki_str_equal(obj->name, name)))
            continue;
        yyjson_doc *doc = NULL;
        size_t index, count;
        yyjson_val *port;
        if (kt_json_read_trusted(call->allocator, obj->json, &doc, NULL))
            return KI_ERR_NO_MEMORY;
        yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
        use(used, yyjson_get_sint(yyjson_obj_get(spec, "healthCheckNodePort")));
        yyjson_arr_foreach(yyjson_obj_get(spec, "ports"), index, count, port) {
            use(used, yyjson_get_sint(yyjson_obj_get(port, "nodePort")));
        }
        yyjson_doc_free(doc);
    }
    return KI_OK;
}

/* Returns true if a service other than `name` has this address. */
static bool is_address_used(const kt_call *call, ki_str name, ki_str address) {
    const kt_storage *store = call->storage->store;
    for (size_t i = 0; i < store->count; i++) {
        const kt_object *obj = store->objects[i];
        if (ki_str_equal(kt_object_field(obj, KI_STR("spec.clusterIP")), address) &&
            !(ki_str_equal(obj->ns, call->ns) && ki_str_equal(obj->name, name)))
            return true;
    }
    return false;
}

/* ---- checks ---- */

static void check_address(kt_call *call, ki_str name, ki_str address, kt_causes *causes) {
    bool in_range = ki_str_starts_with(address, KI_STR("10."));
    ki_buffer shown, why;
    if (!address.size || ki_str_equals(address, "None") || (in_range && !is_address_used(call, name, address)))
        return;
    ki_buffer_init(&shown, call->allocator, 0);
    ki_buffer_init(&why, call->allocator, 0);
    ki_buffer_append_char(&shown, '[');
    ki_buffer_append_json_string(&shown, address);
    ki_buffer_append_char(&shown, ']');
    ki_buffer_printf(&why, "failed to allocate IP %.*s: %s", (int)address.size, address.data,
                     in_range ? "provided IP is already allocated"
                              : "the provided network does not match the current range");
    if (shown.failed || why.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(causes, KT_CAUSE_INVALID, "spec.clusterIPs", (ki_str){ shown.data, shown.size }, false,
                            why.data);
    ki_buffer_free(&shown);
    ki_buffer_free(&why);
}

/* Returns the node port that an earlier port of the same number has. */
static int64_t port_of_twin(yyjson_val *ports, size_t before, yyjson_val *port) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(ports, index, count, one) {
        if (index >= before)
            break;
        if (yyjson_get_sint(yyjson_obj_get(one, "port")) == yyjson_get_sint(yyjson_obj_get(port, "port")))
            return yyjson_get_sint(yyjson_obj_get(one, "nodePort"));
    }
    return 0;
}

static void check_ports(yyjson_val *ports, used_ports *used, kt_causes *causes) {
    size_t index, count;
    yyjson_val *port;
    yyjson_arr_foreach(ports, index, count, port) {
        int64_t number = yyjson_get_sint(yyjson_obj_get(port, "nodePort"));
        bool in_range = number >= PORT_FIRST && number <= PORT_LAST;
        char field[64], shown[32];
        if (!number || number == port_of_twin(ports, index, port))
            continue;
        snprintf(field, sizeof field, "spec.ports[%zu].nodePort", index);
        snprintf(shown, sizeof shown, "%" PRId64, number);
        if (!in_range || used->is_used[number - PORT_FIRST]) {
            kt_causes_add_value(causes, KT_CAUSE_INVALID, field, ki_str_of(shown), false,
                                in_range ? "provided port is already allocated"
                                         : "provided port is not in the valid range. The range of valid ports is "
                                           "30000-32767");
            return; /* the first port that cannot be allocated ends the allocation */
        }
        use(used, number);
    }
}

/* Checks the families of the addresses. The server has IPv4 alone; a service without addresses and selector can have
 * both. */
static void check_families(yyjson_val *spec, kt_causes *causes) {
    static const char of_many[] = "must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified";
    static const char policy_field[] = "spec.ipFamilyPolicy";
    yyjson_val *families = yyjson_obj_get(spec, "ipFamilies"), *one;
    ki_str policy = kt_json_get_str(spec, "ipFamilyPolicy"), address = kt_json_get_str(spec, "clusterIP");
    bool is_headless = ki_str_equals(address, "None") && yyjson_obj_size(yyjson_obj_get(spec, "selector")) == 0;
    bool is_single = ki_str_equals(policy, "SingleStack") || (!policy.size && !is_headless);
    size_t index, count;
    char why[96];
    if (is_single && yyjson_arr_size(yyjson_obj_get(spec, "clusterIPs")) > 1) {
        snprintf(why, sizeof why, of_many, "cluster IPs");
        kt_causes_add(causes, KT_CAUSE_INVALID, policy_field, KI_STR("SingleStack"), why);
    }
    if (is_single && yyjson_arr_size(families) > 1) {
        snprintf(why, sizeof why, of_many, "IP families");
        kt_causes_add(causes, KT_CAUSE_INVALID, policy_field, KI_STR("SingleStack"), why);
    }
    if (!yyjson_arr_size(families) && address.size && memchr(address.data, ':', address.size)) {
        char list[ADDRESS_SIZE];
        snprintf(list, sizeof list, "[\"%.*s\"]", (int)address.size, address.data);
        kt_causes_add_value(causes, KT_CAUSE_INVALID, "spec.clusterIPs[0]", ki_str_of(list), false,
                            "IPv6 is not configured on this cluster");
    }
    if (causes->count || is_headless)
        return;
    if (ki_str_equals(policy, "RequireDualStack"))
        kt_causes_add(causes, KT_CAUSE_INVALID, policy_field, policy,
                      "this cluster is not configured for dual-stack services");
    yyjson_arr_foreach(families, index, count, one) {
        char field[64];
        snprintf(field, sizeof field, "spec.ipFamilies[%zu]", index);
        if (yyjson_equals_str(one, "IPv6"))
            kt_causes_add(causes, KT_CAUSE_INVALID, field, KI_STR("IPv6"), "not configured on this cluster");
    }
}

ki_status kt_service_check(kt_call *call, ki_str name, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    ki_str type = kt_json_get_str(spec, "type");
    used_ports used;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    if (needs_address(type))
        check_families(spec, &causes);
    if (!causes.count && needs_address(type))
        check_address(call, name, kt_json_get_str(spec, "clusterIP"), &causes);
    if (!causes.count && is_external(type)) {
        if (collect_ports(call, name, &used))
            causes.text.failed = KI_ERR_NO_MEMORY;
        check_ports(yyjson_obj_get(spec, "ports"), &used, &causes);
    }
    return kt_fail_causes(call, &causes, "", "Service", name);
}

/* ---- assignment ---- */

typedef struct assignment {
    kt_call *call;
    ki_str name;
    yyjson_mut_doc *doc;
    yyjson_mut_val *spec;
    yyjson_val *old; /* the old spec; NULL: a new service */
    ki_str type, old_type;
    bool failed;
} assignment;

static ki_str text_of(yyjson_mut_val *obj, const char *name) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, name);
    return yyjson_mut_is_str(val) ? (ki_str){ yyjson_mut_get_str(val), yyjson_mut_get_len(val) } : KI_STR("");
}

static void put(assignment *a, yyjson_mut_val *obj, const char *name, yyjson_mut_val *val) {
    if (!val || !yyjson_mut_obj_put(obj, yyjson_mut_str(a->doc, name), val))
        a->failed = true;
}

/* Copies a member of the old spec if the new one has none. */
static void keep(assignment *a, const char *name) {
    yyjson_val *old = yyjson_obj_get(a->old, name);
    if (old && !yyjson_mut_get_len(yyjson_mut_obj_get(a->spec, name)))
        put(a, a->spec, name, yyjson_val_mut_copy(a->doc, old));
}

/* Removes a member that the client did not change. */
static void drop(assignment *a, const char *name) {
    yyjson_mut_val *val = yyjson_mut_obj_get(a->spec, name);
    yyjson_val *old = yyjson_obj_get(a->old, name);
    bool is_same = yyjson_mut_is_str(val) ? ki_str_equal(text_of(a->spec, name), kt_json_str(old))
                                          : yyjson_mut_get_sint(val) == yyjson_get_sint(old);
    if (val && old && is_same)
        yyjson_mut_obj_remove_key(a->spec, name);
}

static bool new_needs_ports(const assignment *a) {
    return needs_ports(a->type, !yyjson_mut_is_false(yyjson_mut_obj_get(a->spec, "allocateLoadBalancerNodePorts")));
}

static bool old_needs_ports(const assignment *a) {
    return needs_ports(a->old_type, !yyjson_is_false(yyjson_obj_get(a->old, "allocateLoadBalancerNodePorts")));
}

/* Takes the old node ports over by the ports' names, or removes them if the type has no node ports any more. */
static void take_old_ports(assignment *a) {
    size_t index, count, old_index, old_count;
    yyjson_mut_val *port;
    yyjson_val *old;
    bool keeps = new_needs_ports(a), drops = !keeps && old_needs_ports(a);
    used_ports now = { { false } };
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(a->spec, "ports"), index, count, port) {
        use(&now, yyjson_mut_get_sint(yyjson_mut_obj_get(port, "nodePort")));
    }
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(a->spec, "ports"), index, count, port) {
        yyjson_arr_foreach(yyjson_obj_get(a->old, "ports"), old_index, old_count, old) {
            int64_t number = yyjson_get_sint(yyjson_obj_get(old, "nodePort")),
                    own = yyjson_mut_get_sint(yyjson_mut_obj_get(port, "nodePort"));
            if (!ki_str_equal(text_of(port, "name"), kt_json_get_str(old, "name")) || number < PORT_FIRST)
                continue;
            if (drops && own == number)
                yyjson_mut_obj_remove_key(port, "nodePort");
            else if (keeps && !own && number <= PORT_LAST && !now.is_used[number - PORT_FIRST]) {
                put(a, port, "nodePort", yyjson_mut_sint(a->doc, number));
                use(&now, number); /* another port of this number gets it from its twin */
            }
        }
    }
}

static void take_old(assignment *a) {
    ki_str old_address = kt_json_get_str(a->old, "clusterIP"), address = text_of(a->spec, "clusterIP");
    yyjson_mut_val *first = yyjson_mut_arr_get_first(yyjson_mut_obj_get(a->spec, "clusterIPs"));
    if (!ki_str_equal(address, old_address) && old_address.size &&
        yyjson_mut_equals_strn(first, old_address.data, old_address.size))
        yyjson_mut_obj_remove_key(a->spec, "clusterIPs"); /* the client changed only the first address */
    if (needs_address(a->old_type) && needs_address(a->type)) {
        keep(a, "clusterIP");
        if (ki_str_equal(text_of(a->spec, "clusterIP"), kt_json_get_str(a->old, "clusterIP")))
            keep(a, "clusterIPs");
    } else if (needs_address(a->old_type)) {
        static const char *const members[] = { "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            yyjson_mut_obj_remove_key(a->spec, members[i]);
    }
    take_old_ports(a);
    bool old_health = needs_health_port(a->old_type, kt_json_get_str(a->old, "externalTrafficPolicy"));
    bool health = needs_health_port(a->type, text_of(a->spec, "externalTrafficPolicy"));
    yyjson_val *old_port = yyjson_obj_get(a->old, "healthCheckNodePort");
    if (old_health && health && old_port && !yyjson_mut_obj_get(a->spec, "healthCheckNodePort"))
        put(a, a->spec, "healthCheckNodePort", yyjson_val_mut_copy(a->doc, old_port));
    if (old_health && !health)
        drop(a, "healthCheckNodePort");
    if (is_external(a->old_type) && !is_external(a->type))
        drop(a, "externalTrafficPolicy");
    if (ki_str_equals(a->old_type, "LoadBalancer") && !ki_str_equals(a->type, "LoadBalancer")) {
        yyjson_mut_obj_remove_key(a->spec, "allocateLoadBalancerNodePorts");
        drop(a, "loadBalancerClass");
    }
}

/* Sets an address of 10.96.0.0/12. It comes from the write's revision, so that few services have to be compared. */
static void assign_address(assignment *a) {
    char text[16];
    unsigned host = (unsigned)((kt_cluster_revision(a->call->cluster) + 1) & 0xfffff);
    do
        snprintf(text, sizeof text, "10.%u.%u.%u", 96 + (host >> 16), host >> 8 & 0xff, host & 0xff);
    while (is_address_used(a->call, a->name, ki_str_of(text)) && (host = (host + 1) & 0xfffff) != 0);
    put(a, a->spec, "clusterIP", yyjson_mut_strcpy(a->doc, text));
}

/* Returns a free port; 0 if there is none. */
static int64_t take_port(const assignment *a, used_ports *used) {
    size_t first = (size_t)(kt_cluster_revision(a->call->cluster) % PORT_COUNT);
    for (size_t i = 0; i < PORT_COUNT; i++) {
        size_t at = (first + i) % PORT_COUNT;
        if (used->is_used[at])
            continue;
        used->is_used[at] = true;
        return (int64_t)at + PORT_FIRST;
    }
    return 0;
}

/* Returns the node port of a port with the same number. */
static int64_t requested_port(yyjson_mut_val *ports, yyjson_mut_val *port) {
    size_t index, count;
    yyjson_mut_val *one;
    yyjson_mut_arr_foreach(ports, index, count, one) {
        int64_t number = yyjson_mut_get_sint(yyjson_mut_obj_get(one, "nodePort"));
        if (number && yyjson_mut_get_sint(yyjson_mut_obj_get(one, "port")) ==
                          yyjson_mut_get_sint(yyjson_mut_obj_get(port, "port")))
            return number;
    }
    return 0;
}

static ki_status assign_ports(assignment *a) {
    yyjson_mut_val *ports = yyjson_mut_obj_get(a->spec, "ports"), *port;
    size_t index, count;
    used_ports used;
    if (collect_ports(a->call, a->name, &used))
        return KI_ERR_NO_MEMORY;
    yyjson_mut_arr_foreach(ports, index, count, port) {
        use(&used, yyjson_mut_get_sint(yyjson_mut_obj_get(port, "nodePort")));
    }
    yyjson_mut_arr_foreach(ports, index, count, port) {
        if (!new_needs_ports(a) || yyjson_mut_get_sint(yyjson_mut_obj_get(port, "nodePort")))
            continue;
        int64_t number = requested_port(ports, port);
        put(a, port, "nodePort", yyjson_mut_sint(a->doc, number ? number : take_port(a, &used)));
    }
    if (needs_health_port(a->type, text_of(a->spec, "externalTrafficPolicy")) &&
        !yyjson_mut_get_sint(yyjson_mut_obj_get(a->spec, "healthCheckNodePort")))
        put(a, a->spec, "healthCheckNodePort", yyjson_mut_sint(a->doc, take_port(a, &used)));
    return KI_OK;
}

ki_status kt_service_assign(kt_call *call, ki_str name, yyjson_mut_doc *doc, yyjson_mut_val *root,
                            yyjson_val *old_root) {
    assignment a = { .call = call,
                     .name = name,
                     .doc = doc,
                     .spec = yyjson_mut_obj_get(root, "spec"),
                     .old = yyjson_obj_get(old_root, "spec") };
    if (!yyjson_mut_is_obj(a.spec))
        return KI_OK;
    a.type = text_of(a.spec, "type");
    a.old_type = kt_json_get_str(a.old, "type");
    if (a.old)
        take_old(&a);
    if (needs_address(a.type) && !text_of(a.spec, "clusterIP").size)
        assign_address(&a);
    ki_status status = is_external(a.type) ? assign_ports(&a) : KI_OK;
    return a.failed ? KI_ERR_NO_MEMORY : status;
}

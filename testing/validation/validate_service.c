/* validate_service.c: see validate_service.h. In the order of validateService (pkg/apis/core/validation). */
#include "testing/validation/validate_service.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/validation/checked.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define PORT_RANGE "must be between 1 and 65535, inclusive"

enum {
    PORT_MAX = 65535,
    COMPARED_MAX = 200 /* ports of a service that are compared with each other */
};

static const ki_str nothing = { NULL, 0 };

static void add_number(kt_causes *causes, int64_t number, const char *detail, const char *name, size_t index) {
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, number);
    kt_validate_add(causes, KT_CAUSE_INVALID, ki_str_of(shown), false, detail, "spec.ports[%zu].%s", index, name);
}

static bool is_earlier_name(yyjson_val *ports, size_t before, ki_str name) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(ports, index, count, one) {
        if (index >= before)
            break;
        if (ki_str_equal(kt_json_get_str(one, "name"), name))
            return true;
    }
    return false;
}

static void check_port(kt_causes *causes, yyjson_val *ports, size_t index, yyjson_val *port) {
    static const char *const protocols[] = { "SCTP", "TCP", "UDP" };
    ki_str name = kt_json_get_str(port, "name"), protocol = kt_json_get_str(port, "protocol");
    int64_t number = yyjson_get_sint(yyjson_obj_get(port, "port"));
    yyjson_val *target = yyjson_obj_get(port, "targetPort");
    const char *why = name.size ? kt_validate_dns_label(name) : NULL;
    bool is_protocol = !protocol.size;
    if (yyjson_arr_size(ports) > 1 && !name.size)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, nothing, true, "", "spec.ports[%zu].name", index);
    if (why)
        kt_validate_add(causes, KT_CAUSE_INVALID, name, true, why, "spec.ports[%zu].name", index);
    if (name.size && index < COMPARED_MAX && is_earlier_name(ports, index, name))
        kt_validate_add(causes, KT_CAUSE_DUPLICATE, name, true, "", "spec.ports[%zu].name", index);
    if (number < 1 || number > PORT_MAX)
        add_number(causes, number, PORT_RANGE, "port", index);
    for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++)
        is_protocol = is_protocol || ki_str_equals(protocol, protocols[i]);
    if (!is_protocol)
        kt_validate_add(causes, KT_CAUSE_NOT_SUPPORTED, protocol, true, "supported values: \"SCTP\", \"TCP\", \"UDP\"",
                        "spec.ports[%zu].protocol", index);
    if (yyjson_is_str(target) && (why = kt_validate_port_name(kt_json_str(target))) != NULL)
        kt_validate_add(causes, KT_CAUSE_INVALID, kt_json_str(target), true, why, "spec.ports[%zu].targetPort", index);
    number = yyjson_is_int(target) && yyjson_get_sint(target) ? yyjson_get_sint(target) : number;
    if (!yyjson_is_str(target) && (number < 1 || number > PORT_MAX))
        add_number(causes, number, PORT_RANGE, "targetPort", index);
}

static ki_str protocol_of(yyjson_val *port) {
    ki_str protocol = kt_json_get_str(port, "protocol");
    return protocol.size ? protocol : KI_STR("TCP");
}

/* Finds ports that equal an earlier one in protocol and number. */
static void check_duplicates(kt_causes *causes, yyjson_val *ports) {
    size_t index, count, k, other_count;
    yyjson_val *port, *other;
    yyjson_arr_foreach(ports, index, count, port) {
        int64_t number = yyjson_get_sint(yyjson_obj_get(port, "port"));
        ki_str protocol = protocol_of(port);
        if (!number || index >= COMPARED_MAX)
            continue;
        yyjson_arr_foreach(ports, k, other_count, other) {
            char shown[160];
            if (k == index)
                break;
            if (yyjson_get_sint(yyjson_obj_get(other, "port")) != number || !ki_str_equal(protocol_of(other), protocol))
                continue;
            snprintf(shown, sizeof shown,
                     "{\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,\"Port\":%" PRId64
                     ",\"TargetPort\":0,\"NodePort\":0}",
                     (int)(protocol.size < 8 ? protocol.size : 8), protocol.data, number);
            kt_validate_add(causes, KT_CAUSE_DUPLICATE, ki_str_of(shown), false, "", "spec.ports[%zu]", index);
            break;
        }
    }
}

/* Adds an "Invalid value" that shows the list of addresses. */
static void add_addresses(kt_causes *causes, yyjson_val *list, ki_str first, const char *field, const char *detail) {
    ki_buffer shown;
    ki_buffer_init(&shown, causes->text.allocator, 0);
    if (yyjson_is_arr(list)) {
        kt_json_append(&shown, list);
    } else {
        ki_buffer_append_char(&shown, '[');
        ki_buffer_append_json_string(&shown, first);
        ki_buffer_append_char(&shown, ']');
    }
    if (shown.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(causes, KT_CAUSE_INVALID, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

static void check_addresses(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec, bool is_external) {
    yyjson_val *list = yyjson_obj_get(spec, "clusterIPs"), *one;
    ki_str address = kt_json_get_str(spec, "clusterIP"), old = kt_json_get_str(old_spec, "clusterIP");
    bool is_first = !yyjson_is_arr(list) || ki_str_equal(kt_json_str(yyjson_arr_get_first(list)), address);
    size_t index, count;
    if (is_external)
        return;
    if (!is_first)
        add_addresses(causes, list, address, "spec.clusterIPs", "first value must match `clusterIP`");
    else if (address.size && !ki_str_equals(address, "None") && !kt_address_family(address))
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.clusterIPs[0]", address, KT_NOT_AN_ADDRESS);
    else if (old.size && address.size && !ki_str_equal(address, old))
        add_addresses(causes, NULL, address, "spec.clusterIPs[0]", "may not change once set");
    yyjson_arr_foreach(yyjson_obj_get(spec, "externalIPs"), index, count, one) {
        if (!kt_address_family(kt_json_str(one)))
            kt_validate_add(causes, KT_CAUSE_INVALID, kt_json_str(one), true, KT_NOT_AN_ADDRESS,
                            "spec.externalIPs[%zu]", index);
    }
}

void kt_validate_service_spec(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec) {
    yyjson_val *ports = yyjson_obj_get(spec, "ports"), *port, *key, *val;
    ki_str type = kt_json_get_str(spec, "type"), affinity = kt_json_get_str(spec, "sessionAffinity");
    ki_str address = kt_json_get_str(spec, "clusterIP"), policy = kt_json_get_str(spec, "externalTrafficPolicy");
    bool is_external = ki_str_equals(type, "ExternalName"), is_plain = !type.size || ki_str_equals(type, "ClusterIP");
    size_t index, count;
    if (yyjson_arr_size(ports) == 0 && !is_external && !ki_str_equals(address, "None"))
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.ports", nothing, "");
    if (is_external && (address.size || yyjson_arr_size(yyjson_obj_get(spec, "clusterIPs"))))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.clusterIPs", nothing,
                      "may not be set for ExternalName services");
    if (is_external && !kt_json_get_str(spec, "externalName").size)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.externalName", nothing, "");
    yyjson_arr_foreach(ports, index, count, port) {
        check_port(causes, ports, index, port);
    }
    yyjson_obj_foreach(yyjson_obj_get(spec, "selector"), index, count, key, val) {
        const char *why = ki_label_check_key(kt_json_str(key));
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, "spec.selector", kt_json_str(key), why);
        if ((why = ki_label_check_value(kt_json_str(val))) != NULL)
            kt_causes_add(causes, KT_CAUSE_INVALID, "spec.selector", kt_json_str(val), why);
    }
    if (affinity.size && !ki_str_equals(affinity, "None") && !ki_str_equals(affinity, "ClientIP"))
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, "spec.sessionAffinity", affinity,
                      "supported values: \"ClientIP\", \"None\"");
    check_addresses(causes, old_spec, spec, is_external);
    if (!is_plain && !is_external && !ki_str_equals(type, "NodePort") && !ki_str_equals(type, "LoadBalancer"))
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, "spec.type", type,
                      "supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"");
    yyjson_arr_foreach(ports, index, count, port) {
        if (is_plain && yyjson_get_sint(yyjson_obj_get(port, "nodePort")))
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, nothing, true, "may not be used when `type` is 'ClusterIP'",
                            "spec.ports[%zu].nodePort", index);
    }
    check_duplicates(causes, ports);
    if (policy.size && (is_plain || is_external) && !yyjson_arr_size(yyjson_obj_get(spec, "externalIPs")))
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.externalTrafficPolicy", policy,
                      "may only be set for externally-accessible services");
}

void kt_validate_service_status(kt_causes *causes, yyjson_val *spec, yyjson_val *status) {
    yyjson_val *ingress = yyjson_obj_get(yyjson_obj_get(status, "loadBalancer"), "ingress"), *one;
    size_t index, count;
    if (yyjson_arr_size(ingress) && !ki_str_equals(kt_json_get_str(spec, "type"), "LoadBalancer")) {
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.loadBalancer.ingress", nothing,
                      "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    yyjson_arr_foreach(ingress, index, count, one) {
        ki_str address = kt_json_get_str(one, "ip");
        if (address.size && !kt_address_family(address))
            kt_validate_add(causes, KT_CAUSE_INVALID, address, true, KT_NOT_AN_ADDRESS,
                            "status.loadBalancer.ingress[%zu].ip", index);
    }
}

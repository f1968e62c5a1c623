/* validate_service.c: see validate_service.h. In the order of validateService (pkg/apis/core/validation). */
#include "testing/kinds/validate_service.h"

#include "testing/validation/address.h"
#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    AFFINITY_SECONDS_MAX = 86400,
    ADDRESSES_MAX = 2
};

#define FOR_BALANCERS "may only be used when `type` is 'LoadBalancer'"
#define NOT_FOR_NAMES "may not be set for ExternalName services"

static void check_port(kt_causes *causes, yyjson_val *ports, size_t index, yyjson_val *port) {
    ki_str name = kt_json_get_str(port, "name");
    yyjson_val *target = yyjson_obj_get(port, "targetPort");
    int64_t number = yyjson_get_sint(yyjson_obj_get(port, "port"));
    bool has_target = yyjson_is_str(target) ? yyjson_get_len(target) > 0 : yyjson_get_sint(target) != 0;
    char field[64];
    if (yyjson_arr_size(ports) > 1 && !name.size)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "spec.ports[%zu].name", index);
    if (name.size && kt_is_earlier(ports, index, "name", name))
        kt_validate_add(causes, KT_CAUSE_DUPLICATE, name, true, "", "spec.ports[%zu].name", index);
    snprintf(field, sizeof field, "spec.ports[%zu].targetPort", index);
    if (!has_target && (number < 1 || number > UINT16_MAX)) /* its default is the port */
        kt_add_number(causes, field, number, KT_PORT_RANGE);
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
        if (!number || index >= KT_COMPARED_MAX)
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

static void check_family(kt_causes *causes, size_t index, ki_str address, yyjson_val *families) {
    yyjson_val *family = yyjson_arr_get(families, index);
    int wanted = yyjson_equals_str(family, "IPv6") ? 6 : 4, found = kt_address_family(address);
    char field[64], why[96];
    if (!family || !found || wanted == found)
        return;
    snprintf(field, sizeof field, "spec.clusterIPs[%zu]", index);
    snprintf(why, sizeof why, "expected an IPv%d value as indicated by `ipFamilies[%zu]`", wanted, index);
    kt_causes_add(causes, KT_CAUSE_INVALID, field, address, why);
}

/* Checks that each address is of the family that the spec gives for it. `first`: the address of a service that has no
 * list. */
static void check_families(kt_causes *causes, yyjson_val *list, ki_str first, yyjson_val *families) {
    size_t index, count;
    yyjson_val *one;
    if (!yyjson_is_arr(list))
        check_family(causes, 0, first, families);
    yyjson_arr_foreach(list, index, count, one) {
        check_family(causes, index, kt_json_str(one), families);
    }
}

static void check_addresses(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_CHOICE("ipFamilies[]", KT_ALWAYS, "IPv4,IPv6"),
        KT_CHOICE("ipFamilyPolicy", KT_IF_GIVEN, "PreferDualStack,RequireDualStack,SingleStack"),
    };
    yyjson_val *list = yyjson_obj_get(spec, "clusterIPs"), *families = yyjson_obj_get(spec, "ipFamilies");
    yyjson_val *one;
    ki_str address = kt_json_get_str(spec, "clusterIP"), old = kt_json_get_str(old_spec, "clusterIP");
    bool is_first = !yyjson_is_arr(list) || ki_str_equal(kt_json_str(yyjson_arr_get_first(list)), address);
    bool is_headless = ki_str_equals(address, "None");
    int family = kt_address_family(address);
    size_t index, count;
    KT_CHECK_RULES(causes, "spec", spec, rules);
    yyjson_arr_foreach(families, index, count, one) {
        if (kt_is_earlier(families, index, NULL, kt_json_str(one)))
            kt_validate_add(causes, KT_CAUSE_DUPLICATE, kt_json_str(one), true, "", "spec.ipFamilies[%zu]", index);
    }
    if (!is_first)
        add_addresses(causes, list, address, "spec.clusterIPs",
                      address.size ? "first value must match `clusterIP`"
                                   : "must be empty when `clusterIP` is not specified");
    else if (address.size && !is_headless && !family)
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.clusterIPs[0]", address, KT_NOT_AN_ADDRESS);
    else if (old.size && address.size && !ki_str_equal(address, old))
        add_addresses(causes, NULL, address, "spec.clusterIPs[0]", "may not change once set");
    yyjson_arr_foreach(list, index, count, one) {
        char field[64];
        snprintf(field, sizeof field, "spec.clusterIPs[%zu]", index);
        if (index > 0 && !is_headless)
            kt_check_address(causes, field, kt_json_str(one));
    }
    if (is_headless && count > 1)
        add_addresses(causes, list, address, "spec.clusterIPs", "'None' must be the first and only value");
    else if (count > ADDRESSES_MAX)
        add_addresses(causes, list, address, "spec.clusterIPs", "may only hold up to 2 values");
    else if (count > 1 && family && kt_address_family(kt_json_str(yyjson_arr_get(list, 1))) == family)
        add_addresses(causes, list, address, "spec.clusterIPs", "may specify no more than one IP for each IP family");
    if (is_first && !is_headless)
        check_families(causes, list, address, families);
}

/* Checks what only services of the type ExternalName need, and what they cannot have. */
static void check_external_name(kt_causes *causes, yyjson_val *spec) {
    ki_str name = kt_json_get_str(spec, "externalName");
    if (kt_json_get_str(spec, "clusterIP").size || yyjson_arr_size(yyjson_obj_get(spec, "clusterIPs")))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.clusterIPs", KI_STR(""), NOT_FOR_NAMES);
    if (yyjson_arr_size(yyjson_obj_get(spec, "ipFamilies")))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.ipFamilies", KI_STR(""), NOT_FOR_NAMES);
    if (!kt_is_absent(yyjson_obj_get(spec, "ipFamilyPolicy")))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.ipFamilyPolicy", KI_STR(""), NOT_FOR_NAMES);
    if (name.size && name.data[name.size - 1] == '.')
        name.size--;
    if (name.size)
        kt_check_subdomain(causes, "spec.externalName", name);
    else
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.externalName", KI_STR(""), "");
}

/* Checks what belongs to a load balancer. */
static void check_balancer(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec, bool is_balancer) {
    yyjson_val *ranges = yyjson_obj_get(spec, "loadBalancerSourceRanges"), *range;
    yyjson_val *class_name = yyjson_obj_get(spec, "loadBalancerClass"),
               *old = yyjson_obj_get(old_spec, "loadBalancerClass");
    bool was_balancer = yyjson_equals_str(yyjson_obj_get(old_spec, "type"), "LoadBalancer");
    size_t index, count;
    if (yyjson_arr_size(ranges) && !is_balancer)
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.LoadBalancerSourceRanges", KI_STR(""), FOR_BALANCERS);
    yyjson_arr_foreach(ranges, index, count, range) {
        ki_str text = kt_json_str(range);
        char field[64];
        for (; text.size && text.data[0] == ' '; text.size--)
            text.data++;
        for (; text.size && text.data[text.size - 1] == ' ';)
            text.size--;
        snprintf(field, sizeof field, "spec.LoadBalancerSourceRanges[%zu]", index);
        kt_check_block(causes, field, text);
    }
    if (!is_balancer && !kt_is_absent(yyjson_obj_get(spec, "allocateLoadBalancerNodePorts")))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.allocateLoadBalancerNodePorts", KI_STR(""), FOR_BALANCERS);
    if (!is_balancer && !kt_is_absent(class_name))
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "spec.loadBalancerClass", KI_STR(""), FOR_BALANCERS);
    else if (!kt_is_absent(class_name))
        kt_check_key(causes, "spec.loadBalancerClass", kt_json_str(class_name));
    if (is_balancer && was_balancer && !ki_str_equal(kt_json_str(class_name), kt_json_str(old)))
        kt_causes_add_value(causes, KT_CAUSE_INVALID, "spec.loadBalancerClass",
                            kt_is_absent(class_name) ? KI_STR("null") : kt_json_str(class_name),
                            !kt_is_absent(class_name), "may not change once set");
}

/* Checks the policies of traffic, and the port at which a load balancer asks whether a node has pods. */
static void check_traffic(kt_causes *causes, yyjson_val *spec, bool is_plain, bool is_balancer) {
    static const kt_rule rules[] = {
        KT_CHOICE("internalTrafficPolicy", KT_IF_GIVEN, "Cluster,Local"),
        KT_CHOICE("trafficDistribution", KT_IF_GIVEN, "PreferClose,PreferSameZone,PreferSameNode"),
    };
    static const kt_rule external_rules[] = { KT_CHOICE("externalTrafficPolicy", KT_IF_FILLED, "Cluster,Local") };
    static const kt_rule health_rules[] = { KT_NUMBER("healthCheckNodePort", KT_IF_FILLED, 1, UINT16_MAX,
                                                      KT_PORT_RANGE) };
    ki_str policy = kt_json_get_str(spec, "externalTrafficPolicy");
    bool is_reachable = ki_str_equals(kt_json_get_str(spec, "type"), "NodePort") || is_balancer ||
                        (is_plain && yyjson_arr_size(yyjson_obj_get(spec, "externalIPs")));
    int64_t port = yyjson_get_sint(yyjson_obj_get(spec, "healthCheckNodePort"));
    if (is_reachable)
        KT_CHECK_RULES(causes, "spec", spec, external_rules);
    else if (policy.size)
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.externalTrafficPolicy", policy,
                      "may only be set for externally-accessible services");
    if (is_balancer && ki_str_equals(policy, "Local"))
        KT_CHECK_RULES(causes, "spec", spec, health_rules);
    else if (port)
        kt_add_number(causes, "spec.healthCheckNodePort", port,
                      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
    KT_CHECK_RULES(causes, "spec", spec, rules);
}

static void check_external_address(kt_causes *causes, const char *field, ki_str text) {
    kt_block address;
    const char *why = kt_address_problem(text, &address);
    if (why)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text, why);
    else
        kt_check_reachable(causes, field, text, &address);
}

void kt_validate_service_spec(kt_causes *causes, yyjson_val *old_spec, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_TEXT("ports[].name", KT_IF_FILLED, kt_check_dns_label),
        KT_NUMBER("ports[].port", KT_ALWAYS, 1, UINT16_MAX, KT_PORT_RANGE),
        KT_CHOICE("ports[].protocol", KT_IF_FILLED, "SCTP,TCP,UDP"),
        KT_PORT("ports[].targetPort", KT_IF_FILLED),
        KT_TEXT("ports[].appProtocol", KT_IF_GIVEN, kt_check_key),
        KT_VALUE("selector", kt_check_labels),
        KT_CHOICE("sessionAffinity", KT_IF_FILLED, "ClientIP,None"),
        KT_TEXT("externalIPs[]", KT_ALWAYS, check_external_address),
        KT_CHOICE("type", KT_IF_FILLED, "ClusterIP,ExternalName,LoadBalancer,NodePort"),
    };
    static const kt_rule affinity_rules[] = { KT_NUMBER("sessionAffinityConfig.clientIP.timeoutSeconds", KT_IF_GIVEN, 1,
                                                        AFFINITY_SECONDS_MAX,
                                                        "must be greater than 0 and less than 86400") };
    yyjson_val *ports = yyjson_obj_get(spec, "ports"), *port;
    ki_str type = kt_json_get_str(spec, "type");
    bool is_name = ki_str_equals(type, "ExternalName"), is_balancer = ki_str_equals(type, "LoadBalancer");
    bool is_plain = !type.size || ki_str_equals(type, "ClusterIP");
    bool is_headless = ki_str_equals(kt_json_get_str(spec, "clusterIP"), "None");
    size_t index, count;
    if (yyjson_arr_size(ports) == 0 && !is_name && !is_headless)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.ports", KI_STR(""), "");
    if (is_headless && (is_balancer || ki_str_equals(type, "NodePort")))
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.clusterIPs[0]", KI_STR("None"),
                      is_balancer ? "may not be set to 'None' for LoadBalancer services"
                                  : "may not be set to 'None' for NodePort services");
    KT_CHECK_RULES(causes, "spec", spec, rules);
    if (ki_str_equals(kt_json_get_str(spec, "sessionAffinity"), "ClientIP"))
        KT_CHECK_RULES(causes, "spec", spec, affinity_rules);
    yyjson_arr_foreach(ports, index, count, port) {
        check_port(causes, ports, index, port);
        if (is_plain && yyjson_get_sint(yyjson_obj_get(port, "nodePort")))
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "may not be used when `type` is 'ClusterIP'",
                            "spec.ports[%zu].nodePort", index);
    }
    check_duplicates(causes, ports);
    if (is_name)
        check_external_name(causes, spec);
    else
        check_addresses(causes, old_spec, spec);
    check_balancer(causes, old_spec, spec, is_balancer);
    check_traffic(causes, spec, is_plain, is_balancer);
}

void kt_validate_service_status(kt_causes *causes, yyjson_val *spec, yyjson_val *status) {
    static const kt_rule rules[] = {
        KT_TEXT("loadBalancer.ingress[].ip", KT_IF_FILLED, kt_check_address),
        KT_TEXT("loadBalancer.ingress[].hostname", KT_IF_FILLED, kt_check_subdomain),
        KT_CHOICE("loadBalancer.ingress[].ipMode", KT_IF_FILLED, "Proxy,VIP"),
    };
    yyjson_val *ingress = yyjson_obj_get(yyjson_obj_get(status, "loadBalancer"), "ingress"), *one;
    size_t index, count;
    if (yyjson_arr_size(ingress) && !ki_str_equals(kt_json_get_str(spec, "type"), "LoadBalancer")) {
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.loadBalancer.ingress", KI_STR(""),
                      "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    KT_CHECK_RULES(causes, "status", status, rules);
    yyjson_arr_foreach(ingress, index, count, one) {
        ki_str name = kt_json_get_str(one, "hostname");
        if (kt_address_family(name))
            kt_validate_add(causes, KT_CAUSE_INVALID, name, true, "must be a DNS name, not an IP address",
                            "status.loadBalancer.ingress[%zu].hostname", index);
        if (kt_json_get_str(one, "ipMode").size && !kt_json_get_str(one, "ip").size)
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "may not be specified when `ip` is not set",
                            "status.loadBalancer.ingress[%zu].ipMode", index);
    }
}

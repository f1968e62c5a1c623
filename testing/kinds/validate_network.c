/* validate_network.c: checks endpoints, network policies, and the server's own blocks of addresses. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/validation/field_rules.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 128,
    /* of a slice */
    ADDRESSES_MAX = 100,
    ENDPOINTS_MAX = 1000,
    HINTS_MAX = 8,
    PORTS_MAX = 20000
};

/* ---- endpoints ---- */

static void check_endpoint_addresses(kt_checked *c, size_t at, const char *member, yyjson_val *list) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(list, index, count, one) {
        ki_str text = kt_json_get_str(one, "ip");
        kt_block address;
        const char *why = kt_address_problem(text, &address);
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "subsets[%zu].%s[%zu].ip", at, member, index);
        if (why)
            kt_causes_add(c->causes, KT_CAUSE_INVALID, field, text, why);
        if (address.family)
            kt_check_reachable(c->causes, field, text, &address);
        else
            kt_causes_add(c->causes, KT_CAUSE_INVALID, field, text, "must be a valid IP address");
    }
}

void kt_check_endpoints(kt_checked *c) {
    yyjson_val *subsets = yyjson_obj_get(c->root, "subsets"), *subset, *port;
    size_t index, count, at, port_count;
    yyjson_arr_foreach(subsets, index, count, subset) {
        yyjson_val *ready = yyjson_obj_get(subset, "addresses"), *others = yyjson_obj_get(subset, "notReadyAddresses");
        yyjson_val *ports = yyjson_obj_get(subset, "ports");
        if (!yyjson_arr_size(ready) && !yyjson_arr_size(others))
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "must specify `addresses` or `notReadyAddresses`", "subsets[%zu]", index);
        check_endpoint_addresses(c, index, "addresses", ready);
        check_endpoint_addresses(c, index, "notReadyAddresses", others);
        yyjson_arr_foreach(ports, at, port_count, port) {
            if (port_count > 1 && !kt_json_get_str(port, "name").size)
                kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "subsets[%zu].ports[%zu].name",
                                index, at);
        }
    }
}

/* `family`: 4, 6, or 0 for names. */
static void check_slice_address(kt_checked *c, size_t at, size_t index, ki_str text, int family) {
    kt_place field = kt_place_of("endpoints[%zu].addresses[%zu]", at, index);
    kt_block address;
    size_t before = c->causes->count;
    if (family == 0)
        kt_check_full_name(c->causes, field.text, text);
    else if (family == 4)
        kt_check_address(c->causes, field.text, text);
    else
        kt_check_canonical_address(c->causes, field.text, text);
    if (family == 0 || c->causes->count > before || kt_address_problem(text, &address))
        return;
    if (address.family != family)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, text, true,
                        family == 4 ? "must be an IPv4 address" : "must be an IPv6 address", "endpoints[%zu].addresses",
                        at);
    kt_check_reachable(c->causes, field.text, text, &address);
}

/* Checks a list of an endpoint's hints. Returns false if it is too long. */
static bool check_hints(kt_checked *c, size_t at, const char *name, yyjson_val *list, kt_text_check *check_name) {
    kt_place place = kt_place_of("endpoints[%zu].hints.%s", at, name);
    size_t index, count;
    yyjson_val *one;
    if (!kt_check_most(c->causes, place.text, list, HINTS_MAX))
        return false;
    yyjson_arr_foreach(list, index, count, one) {
        ki_str text = kt_json_get_str(one, "name");
        kt_place field = kt_place_of("%s[%zu].name", place.text, index);
        check_name(c->causes, field.text, text);
        if (kt_is_earlier(list, index, "name", text))
            kt_causes_add(c->causes, KT_CAUSE_DUPLICATE, field.text, text, "");
    }
    return true;
}

/* `family`: as for check_slice_address; -1: addresses of an unknown type. */
static void check_endpoint(kt_checked *c, size_t at, yyjson_val *endpoint, int family) {
    static const kt_rule rules[] = {
        KT_TEXT("nodeName", KT_IF_GIVEN, kt_check_subdomain),
        KT_TEXT("hostname", KT_IF_GIVEN, kt_check_dns_label),
    };
    yyjson_val *addresses = yyjson_obj_get(endpoint, "addresses"), *hints = yyjson_obj_get(endpoint, "hints"), *one;
    size_t index, count;
    kt_check_most(c->causes, kt_place_of("endpoints[%zu].addresses", at).text, addresses, ADDRESSES_MAX);
    yyjson_arr_foreach(addresses, index, count, one) {
        if (family >= 0)
            check_slice_address(c, at, index, kt_json_str(one), family);
    }
    KT_CHECK_RULES(c->causes, kt_place_of("endpoints[%zu]", at).text, endpoint, rules);
    if (check_hints(c, at, "forZones", yyjson_obj_get(hints, "forZones"), kt_check_value))
        check_hints(c, at, "forNodes", yyjson_obj_get(hints, "forNodes"), kt_check_subdomain);
}

void kt_check_endpoint_slice(kt_checked *c) {
    static const kt_rule port_rules[] = {
        KT_TEXT("name", KT_IF_FILLED, kt_check_dns_label),
        KT_CHOICE("protocol", KT_IF_GIVEN, "SCTP,TCP,UDP"),
        KT_TEXT("appProtocol", KT_IF_GIVEN, kt_check_key),
    };
    ki_str type = kt_json_get_str(c->root, "addressType");
    yyjson_val *endpoints = yyjson_obj_get(c->root, "endpoints"), *ports = yyjson_obj_get(c->root, "ports"), *one;
    int family = ki_str_equals(type, "IPv4")   ? 4
                 : ki_str_equals(type, "IPv6") ? 6
                 : ki_str_equals(type, "FQDN") ? 0
                                               : -1;
    size_t index, count;
    if (kt_check_most(c->causes, "endpoints", endpoints, ENDPOINTS_MAX)) {
        yyjson_arr_foreach(endpoints, index, count, one) {
            if (kt_causes_is_full(c->causes))
                break;
            check_endpoint(c, index, one, family);
        }
    }
    if (!kt_check_most(c->causes, "ports", ports, PORTS_MAX))
        return;
    yyjson_arr_foreach(ports, index, count, one) {
        ki_str name = kt_json_get_str(one, "name");
        if (kt_causes_is_full(c->causes))
            break;
        KT_CHECK_RULES(c->causes, kt_place_of("ports[%zu]", index).text, one, port_rules);
        if (kt_is_earlier(ports, index, "name", name))
            kt_validate_add(c->causes, KT_CAUSE_DUPLICATE, name, true, "", "ports[%zu].name", index);
    }
}

/* ---- network policies ---- */

static void check_policy_port(kt_checked *c, const char *path, yyjson_val *port) {
    yyjson_val *number = yyjson_obj_get(port, "port"), *last = yyjson_obj_get(port, "endPort");
    char field[FIELD_SIZE + 16], end[FIELD_SIZE + 16];
    snprintf(field, sizeof field, "%s.port", path);
    snprintf(end, sizeof end, "%s.endPort", path);
    int64_t first = yyjson_get_sint(number), end_number = yyjson_get_sint(last);
    if (yyjson_is_int(number) && (first < 1 || first > UINT16_MAX))
        kt_add_json(c, field, number, KT_PORT_RANGE);
    if (yyjson_is_str(number))
        kt_check_port_name(c->causes, field, kt_json_str(number));
    if (!kt_json_has(port, "endPort"))
        return;
    if (!kt_json_has(port, "port"))
        kt_add_json(c, end, last, "may not be specified when `port` is not specified");
    else if (yyjson_is_str(number))
        kt_add_json(c, end, last, "may not be specified when `port` is non-numeric");
    else {
        if (end_number < first)
            kt_add_json(c, end, last, "must be greater than or equal to `port`");
        if (end_number < 1 || end_number > UINT16_MAX)
            kt_add_json(c, end, last, KT_PORT_RANGE);
    }
}

static void check_ip_block(kt_checked *c, const char *path, yyjson_val *block) {
    ki_str text = kt_json_get_str(block, "cidr");
    kt_block outer, inner;
    const char *why = kt_block_problem(text, &outer);
    size_t index, count;
    yyjson_val *one;
    if (!text.size)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s.ipBlock.cidr", path);
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, text, true, why, "%s.ipBlock.cidr", path);
    if (why)
        return;
    yyjson_arr_foreach(yyjson_obj_get(block, "except"), index, count, one) {
        why = kt_block_problem(kt_json_str(one), &inner);
        if (!why && !kt_block_contains(&outer, &inner))
            why = "must be a strict subset of `cidr`";
        if (why)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, kt_json_str(one), true, why, "%s.ipBlock.except[%zu]", path,
                            index);
    }
}

static void check_peer(kt_checked *c, const char *path, yyjson_val *peer) {
    static const char *const selectors[] = { "podSelector", "namespaceSelector" };
    bool has_selector = false, has_block = kt_json_has(peer, "ipBlock");
    for (size_t i = 0; i < sizeof selectors / sizeof selectors[0]; i++) {
        char field[FIELD_SIZE + 32];
        snprintf(field, sizeof field, "%s.%s", path, selectors[i]);
        has_selector = has_selector || kt_json_has(peer, selectors[i]);
        kt_check_selector(c->causes, field, yyjson_obj_get(peer, selectors[i]));
    }
    if (has_block)
        check_ip_block(c, path, yyjson_obj_get(peer, "ipBlock"));
    if (!has_selector && !has_block)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "must specify a peer", "%s", path);
    else if (has_selector && has_block)
        kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true,
                        "may not specify both ipBlock and another peer", "%s", path);
}

static void check_direction(kt_checked *c, const char *name, const char *peers) {
    size_t index, count, at, inner_count;
    yyjson_val *rule, *one;
    char path[FIELD_SIZE];
    yyjson_arr_foreach(yyjson_obj_get(c->spec, name), index, count, rule) {
        yyjson_arr_foreach(yyjson_obj_get(rule, "ports"), at, inner_count, one) {
            snprintf(path, sizeof path, "spec.%s[%zu].ports[%zu]", name, index, at);
            check_policy_port(c, path, one);
        }
        yyjson_arr_foreach(yyjson_obj_get(rule, peers), at, inner_count, one) {
            snprintf(path, sizeof path, "spec.%s[%zu].%s[%zu]", name, index, peers, at);
            check_peer(c, path, one);
        }
    }
}

void kt_check_network_policy(kt_checked *c) {
    yyjson_val *types = yyjson_obj_get(c->spec, "policyTypes");
    check_direction(c, "ingress", "from");
    check_direction(c, "egress", "to");
    if (yyjson_arr_size(types) > 2)
        kt_add_json(c, "spec.policyTypes", types, "may not specify more than two policyTypes");
}

/* ---- the server's blocks ---- */

static void check_blocks(kt_checked *c, yyjson_val *list) {
    kt_block blocks[2] = { { 0 } };
    size_t index, count;
    yyjson_val *one;
    if (!yyjson_arr_size(list)) {
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.cidrs", KI_STR(""), "at least one CIDR required");
        return;
    }
    if (yyjson_arr_size(list) > 2) {
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "spec.cidrs", KI_STR("{}"), false,
                            "may only hold up to 2 values");
        return;
    }
    yyjson_arr_foreach(list, index, count, one) {
        const char *why = kt_block_problem(kt_json_str(one), &blocks[index]);
        if (why)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, kt_json_str(one), true, why, "spec.cidrs[%zu]", index);
    }
    if (blocks[0].family && blocks[0].family == blocks[1].family)
        kt_add_json(c, "spec.cidrs", list,
                    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
}

/* An update may only add a block of the other family. */
void kt_check_service_cidr(kt_checked *c) {
    yyjson_val *list = yyjson_obj_get(c->spec, "cidrs"), *old = yyjson_obj_get(c->old_spec, "cidrs"), *one;
    size_t now = yyjson_arr_size(list), before = yyjson_arr_size(old), index, count;
    if (!c->old) {
        check_blocks(c, list);
        return;
    }
    if (now != before && !(before == 1 && now == 2)) {
        kt_add_json(c, "spec.cidrs", list, KT_IMMUTABLE);
        return;
    }
    yyjson_arr_foreach(old, index, count, one) {
        yyjson_val *val = yyjson_arr_get(list, index);
        if (!yyjson_equals(one, val))
            kt_validate_add(c->causes, KT_CAUSE_INVALID, kt_json_str(val), true, KT_IMMUTABLE, "spec.cidrs[%zu]",
                            index);
    }
    if (now != before)
        check_blocks(c, list);
}

/* validate_capacity.c: checks nodes, and the quotas and limits of namespaces. */
#include "testing/kinds/kinds.h"

#include "src/base/quantity.h"
#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/validation/amounts.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 512,
    AMOUNTS_MAX = 200 /* of a limit that are compared with each other */
};

/* ---- nodes ---- */

static bool is_earlier_taint(yyjson_val *taints, size_t before, yyjson_val *taint) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(taints, index, count, one) {
        if (index >= before)
            break;
        if (ki_str_equal(kt_json_get_str(one, "key"), kt_json_get_str(taint, "key")) &&
            ki_str_equal(kt_json_get_str(one, "effect"), kt_json_get_str(taint, "effect")))
            return true;
    }
    return false;
}

/* Adds the taint as Go writes it. */
static void add_duplicate_taint(kt_checked *c, size_t at, yyjson_val *taint) {
    static const char *const members[] = { "key", "value", "effect" }, *const shown[] = { "Key", "Value", "Effect" };
    yyjson_val *time = yyjson_obj_get(taint, "timeAdded");
    ki_buffer text;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "{", shown[i]);
        ki_buffer_append_json_string(&text, kt_json_get_str(taint, members[i]));
    }
    ki_buffer_append_string(&text, ",\"TimeAdded\":");
    if (yyjson_is_str(time))
        ki_buffer_append_json_string(&text, kt_json_str(time));
    else
        ki_buffer_append_string(&text, "null");
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_validate_add(c->causes, KT_CAUSE_DUPLICATE, (ki_str){ text.data, text.size }, false,
                    "taints must be unique by key and effect pair", "metadata.taints[%zu]", at);
    ki_buffer_free(&text);
}

/* The real server names the taints as a part of the metadata. */
static void check_taints(kt_checked *c) {
    yyjson_val *taints = yyjson_obj_get(c->spec, "taints"), *taint;
    size_t index, count;
    yyjson_arr_foreach(taints, index, count, taint) {
        ki_str key = kt_json_get_str(taint, "key"), value = kt_json_get_str(taint, "value");
        yyjson_val *effect = yyjson_obj_get(taint, "effect");
        const char *why = ki_label_check_value(value);
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "metadata.taints[%zu].key", index);
        kt_check_key(c->causes, field, key);
        snprintf(field, sizeof field, "metadata.taints[%zu].effect", index);
        if (why)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, value, true, why, "metadata.taints[%zu].value", index);
        if (!kt_json_str(effect).size)
            kt_add_required(c, field);
        else
            kt_check_one_of(c->causes, field, effect, "NoSchedule,PreferNoSchedule,NoExecute");
        if (index < KT_COMPARED_MAX && is_earlier_taint(taints, index, taint))
            add_duplicate_taint(c, index, taint);
    }
}

static void check_pod_blocks(kt_checked *c) {
    yyjson_val *list = yyjson_obj_get(c->spec, "podCIDRs"), *one;
    kt_block blocks[2] = { { 0 } };
    ki_str single = kt_json_get_str(c->spec, "podCIDR"); /* of which the defaults make a list */
    size_t index, count;
    const char *problem = single.size && !list ? kt_block_problem(single, NULL) : NULL;
    if (problem)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.podCIDRs[0]", single, problem);
    yyjson_arr_foreach(list, index, count, one) {
        const char *why = kt_block_problem(kt_json_str(one), &blocks[index % 2]);
        if (why)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, kt_json_str(one), true, why, "spec.podCIDRs[%zu]", index);
    }
    if (yyjson_arr_size(list) > 2 || (yyjson_arr_size(list) == 2 && blocks[0].family == blocks[1].family))
        kt_add_json(c, "spec.podCIDRs", list, "may specify no more than one CIDR for each IP family");
}

static void check_amounts(kt_checked *c, const char *member, yyjson_val *amounts) {
    size_t index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(amounts, index, count, key, val) {
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "status.%s.%s", member, yyjson_get_str(key));
        kt_check_amount(c->causes, field, kt_json_str(key), val);
    }
}

void kt_check_node_status(kt_checked *c) {
    yyjson_val *status = yyjson_obj_get(c->root, "status"), *capacity = yyjson_obj_get(status, "capacity");
    yyjson_val *allocatable = yyjson_obj_get(status, "allocatable");
    check_amounts(c, "capacity", capacity);
    check_amounts(c, "allocatable", allocatable ? allocatable : capacity); /* as the defaults fill it in */
}

static void check_node_change(kt_checked *c) {
    ki_str old = kt_json_get_str(c->old_spec, "providerID"), id = kt_json_get_str(c->spec, "providerID");
    yyjson_val *blocks = yyjson_obj_get(c->old_spec, "podCIDRs");
    if (old.size && !ki_str_equal(old, id))
        kt_add_json(c, "spec.providerID", NULL,
                    id.size ? "field cannot be modified once set" : "field cannot be cleared once set");
    if (yyjson_arr_size(blocks) && !kt_is_same(c, blocks, yyjson_obj_get(c->spec, "podCIDRs")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.podCIDRs", KI_STR(""),
                      "node updates may not change podCIDR except from \"\" to valid");
}

void kt_check_node(kt_checked *c) {
    check_taints(c);
    if (c->old) { /* which keeps its status */
        check_node_change(c);
    } else {
        kt_check_node_status(c);
        check_pod_blocks(c);
    }
}

/* ---- quotas ---- */

static void check_limits(kt_checked *c, const char *path, yyjson_val *limits) {
    size_t index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(limits, index, count, key, val) {
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "%s[%s]", path, yyjson_get_str(key));
        kt_check_quota_name(c->causes, field, kt_json_str(key));
        kt_check_amount(c->causes, field, kt_json_str(key), val);
    }
}

static bool has_all_scopes(yyjson_val *scopes, yyjson_val *others) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(others, index, count, one) {
        if (index == KT_COMPARED_MAX)
            break;
        if (!kt_is_earlier(scopes, KT_COMPARED_MAX, NULL, kt_json_str(one)))
            return false;
    }
    return true;
}

static void check_scopes(kt_checked *c) {
    static const char *const known[] = { "Terminating",          "NotTerminating", "BestEffort",
                                         "NotBestEffort",        "PriorityClass",  "CrossNamespacePodAffinity",
                                         "VolumeAttributesClass" };
    yyjson_val *scopes = yyjson_obj_get(c->spec, "scopes"), *old = yyjson_obj_get(c->old_spec, "scopes"), *one;
    size_t index, count;
    yyjson_arr_foreach(scopes, index, count, one) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known = is_known || yyjson_equals_str(one, known[i]);
        if (!is_known)
            kt_add_json(c, "spec.scopes", scopes, "unsupported scope");
    }
    if ((kt_is_earlier(scopes, KT_COMPARED_MAX, NULL, KI_STR("BestEffort")) &&
         kt_is_earlier(scopes, KT_COMPARED_MAX, NULL, KI_STR("NotBestEffort"))) ||
        (kt_is_earlier(scopes, KT_COMPARED_MAX, NULL, KI_STR("Terminating")) &&
         kt_is_earlier(scopes, KT_COMPARED_MAX, NULL, KI_STR("NotTerminating"))))
        kt_add_json(c, "spec.scopes", scopes, "conflicting scopes");
    if (c->old && (!has_all_scopes(scopes, old) || !has_all_scopes(old, scopes)))
        kt_add_json(c, "spec.scopes", scopes, KT_IMMUTABLE);
}

void kt_check_resource_quota(kt_checked *c) {
    check_limits(c, "spec.hard", yyjson_obj_get(c->spec, "hard"));
    check_scopes(c);
}

void kt_check_resource_quota_status(kt_checked *c) {
    yyjson_val *status = yyjson_obj_get(c->root, "status");
    check_limits(c, "status.hard", yyjson_obj_get(status, "hard"));
    check_limits(c, "status.used", yyjson_obj_get(status, "used"));
}

/* ---- limit ranges ---- */

typedef struct amount {
    bool is_given;
    ki_quantity value;
    char text[KI_QUANTITY_SIZE];
} amount;

static amount amount_of(yyjson_val *item, const char *member, ki_str name) {
    amount found = { 0 };
    yyjson_val *val = yyjson_obj_getn(yyjson_obj_get(item, member), name.data, name.size);
    found.is_given = yyjson_is_str(val) && ki_quantity_parse(kt_json_str(val), &found.value);
    if (found.is_given)
        ki_quantity_write(&found.value, found.text);
    return found;
}

/* Adds a problem at `member` that shows `shown` if `low` exceeds `high`. */
static void check_order(kt_checked *c, const char *path, const char *member, ki_str name, const amount *low,
                        const char *low_name, const amount *high, const char *high_name, const amount *shown) {
    char why[160];
    snprintf(why, sizeof why, "%s value %s is greater than %s value %s", low_name, low->text, high_name, high->text);
    if (low->is_given && high->is_given && ki_quantity_compare(&low->value, &high->value) > 0)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, ki_str_of(shown->text), true, why, "%s.%s[%.*s]", path, member,
                        (int)name.size, name.data);
}

/* Checks the amounts of one resource, with the defaults of containers filled in. */
static void check_amounts_of(kt_checked *c, const char *path, yyjson_val *item, ki_str name) {
    amount low = amount_of(item, "min", name), high = amount_of(item, "max", name);
    amount limit = amount_of(item, "default", name), request = amount_of(item, "defaultRequest", name);
    amount ratio = amount_of(item, "maxLimitRequestRatio", name);
    const ki_quantity one = { .whole = 1 };
    bool is_container = ki_str_equals(kt_json_get_str(item, "type"), "Container");
    char why[KI_QUANTITY_SIZE + 32];
    if (is_container && !limit.is_given)
        limit = high;
    if (is_container && !request.is_given)
        request = limit.is_given ? limit : low;
    check_order(c, path, "min", name, &low, "min", &high, "max", &low);
    check_order(c, path, "defaultRequest", name, &low, "min", &request, "default request", &request);
    check_order(c, path, "defaultRequest", name, &request, "default request", &high, "max", &request);
    check_order(c, path, "defaultRequest", name, &request, "default request", &limit, "default limit", &request);
    check_order(c, path, "default", name, &low, "min", &limit, "default", &low);
    check_order(c, path, "default", name, &limit, "default", &high, "max", &high);
    snprintf(why, sizeof why, "ratio %s is less than 1", ratio.text);
    if (ratio.is_given && ki_quantity_compare(&ratio.value, &one) < 0)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, ki_str_of(ratio.text), true, why, "%s.maxLimitRequestRatio[%.*s]",
                        path, (int)name.size, name.data);
}

/* Returns true if one of the first `count` members has this name. */
static bool is_member_of(yyjson_val *item, const char *const *members, size_t count, ki_str name) {
    for (size_t i = 0; i < count; i++) {
        if (yyjson_obj_getn(yyjson_obj_get(item, members[i]), name.data, name.size))
            return true;
    }
    return false;
}

/* Checks the names of one member, and of the members that the defaults fill it in from. */
static void check_member(kt_checked *c, const char *path, yyjson_val *item, const char *const *sources) {
    ki_str type = kt_json_get_str(item, "type");
    bool is_container = ki_str_equals(type, "Container"), is_pod = ki_str_equals(type, "Pod");
    size_t index, count;
    yyjson_val *key, *val;
    for (size_t i = 0; sources[i] && (i == 0 || is_container); i++) {
        yyjson_obj_foreach(yyjson_obj_get(item, sources[i]), index, count, key, val) {
            ki_str name = kt_json_str(key);
            char field[FIELD_SIZE];
            if (index == AMOUNTS_MAX)
                break;
            if (is_member_of(item, sources, i, name))
                continue;
            snprintf(field, sizeof field, "%s.%s[%s]", path, sources[0], yyjson_get_str(key));
            if (is_pod || is_container)
                kt_check_container_resource_name(c->causes, field, name);
            else
                kt_check_resource_name(c->causes, field, name);
        }
    }
}

static void check_all_amounts(kt_checked *c, const char *path, yyjson_val *item) {
    static const char *const members[] = { "max", "min", "default", "defaultRequest", "maxLimitRequestRatio" };
    size_t index, count;
    yyjson_val *key, *val;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_obj_foreach(yyjson_obj_get(item, members[i]), index, count, key, val) {
            if (index == AMOUNTS_MAX)
                break;
            if (!is_member_of(item, members, i, kt_json_str(key)))
                check_amounts_of(c, path, item, kt_json_str(key));
        }
    }
}

static void check_limit(kt_checked *c, size_t at, yyjson_val *item) {
    static const char *const members[][5] = { { "max" },
                                              { "min" },
                                              { "default", "max" },
                                              { "defaultRequest", "default", "max", "min" },
                                              { "maxLimitRequestRatio" } };
    bool is_pod = ki_str_equals(kt_json_get_str(item, "type"), "Pod");
    char path[64];
    snprintf(path, sizeof path, "spec.limits[%zu]", at);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!is_pod || (i != 2 && i != 3))
            check_member(c, path, item, members[i]);
        else if (yyjson_obj_size(yyjson_obj_get(item, members[i][0])))
            kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true,
                            "may not be specified when `type` is 'Pod'", "%s.%s", path, members[i][0]);
    }
    check_all_amounts(c, path, item);
}

void kt_check_limit_range(kt_checked *c) {
    yyjson_val *limits = yyjson_obj_get(c->spec, "limits"), *item;
    size_t index, count;
    yyjson_arr_foreach(limits, index, count, item) {
        ki_str type = kt_json_get_str(item, "type");
        char field[64];
        bool is_standard = ki_str_equals(type, "Pod") || ki_str_equals(type, "Container") ||
                           ki_str_equals(type, "PersistentVolumeClaim");
        snprintf(field, sizeof field, "spec.limits[%zu].type", index);
        kt_check_key(c->causes, field, type);
        if (!ki_label_check_key(type) && !is_standard && !memchr(type.data, '/', type.size))
            kt_causes_add(c->causes, KT_CAUSE_INVALID, field, type, "must be a standard limit type or fully qualified");
        if (kt_is_earlier(limits, index, "type", type))
            kt_causes_add(c->causes, KT_CAUSE_DUPLICATE, field, type, "");
        if (ki_str_equals(type, "PersistentVolumeClaim") && !amount_of(item, "min", KI_STR("storage")).is_given &&
            !amount_of(item, "max", KI_STR("storage")).is_given)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "either minimum or maximum storage value is required, but neither was provided",
                            "spec.limits[%zu].limits", index);
        check_limit(c, index, item);
    }
}

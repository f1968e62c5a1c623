/* validate_claim.c: checks claims for devices, and their templates and status. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <stdio.h>

enum {
    FIELD_SIZE = 96,
    CHOICES_MAX = 8,
    PARTS_MAX = 32, /* requests, constraints, configurations; selectors of a request */
    CONSUMERS_MAX = 256
};

/* Checks a request, or one of those of which the first available one is taken. */
static void check_devices(kt_checked *c, const char *path, yyjson_val *request) {
    ki_str class = kt_json_get_str(request, "deviceClassName"), mode = kt_json_get_str(request, "allocationMode");
    yyjson_val *number = yyjson_obj_get(request, "count");
    const char *why = class.size ? ki_label_check_subdomain(class) : NULL;
    char field[FIELD_SIZE + 64];
    if (!class.size)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s.deviceClassName", path);
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, class, true, why, "%s.deviceClassName", path);
    if (mode.size)
        kt_check_choice(c->causes, path, "allocationMode", yyjson_obj_get(request, "allocationMode"), "All,ExactCount");
    snprintf(field, sizeof field, "%s.selectors", path);
    kt_check_most(c->causes, field, yyjson_obj_get(request, "selectors"), PARTS_MAX);
    snprintf(field, sizeof field, "%s.count", path);
    if (ki_str_equals(mode, "All") && yyjson_get_sint(number))
        kt_add_json(c, field, number, "must not be specified when allocationMode is 'All'");
    if (!mode.size || ki_str_equals(mode, "ExactCount"))
        kt_check_least(c, field, number, mode.size ? 1 : 0, "must be greater than zero");
}

static void check_name(kt_checked *c, const char *path, yyjson_val *list, size_t at, yyjson_val *one) {
    ki_str name = kt_json_get_str(one, "name");
    const char *why = name.size ? kt_validate_dns_label(name) : NULL;
    if (!name.size)
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "%s.name", path);
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, name, true, why, "%s.name", path);
    if (kt_is_earlier(list, at, "name", name))
        kt_add_json_as(c, KT_CAUSE_DUPLICATE, path, one, "");
}

static void check_requests(kt_checked *c, const char *base, yyjson_val *spec) {
    static const char *const parts[] = { "constraints", "config" };
    yyjson_val *devices = yyjson_obj_get(spec, "devices"), *requests = yyjson_obj_get(devices, "requests");
    yyjson_val *request, *choice;
    size_t index, count, at, choice_count;
    char field[FIELD_SIZE];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(field, sizeof field, "%s.devices.%s", base, parts[i]);
        kt_check_most(c->causes, field, yyjson_obj_get(devices, parts[i]), PARTS_MAX);
    }
    snprintf(field, sizeof field, "%s.devices.requests", base);
    if (!kt_check_most(c->causes, field, requests, PARTS_MAX))
        return;
    yyjson_arr_foreach(requests, index, count, request) {
        yyjson_val *choices = yyjson_obj_get(request, "firstAvailable");
        bool has_choices = yyjson_arr_size(choices), is_exact = kt_json_has(request, "exactly");
        char path[FIELD_SIZE], inner[FIELD_SIZE + 48];
        snprintf(path, sizeof path, "%s.devices.requests[%zu]", base, index);
        check_name(c, path, requests, index, request);
        if (has_choices && is_exact)
            kt_add_json(c, path, NULL,
                        "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
        else if (!has_choices && !is_exact)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "exactly one of `exactly` or `firstAvailable` is required", "%s", path);
        else if (is_exact) {
            snprintf(inner, sizeof inner, "%s.exactly", path);
            check_devices(c, inner, yyjson_obj_get(request, "exactly"));
        }
        snprintf(inner, sizeof inner, "%s.firstAvailable", path);
        if (is_exact || !kt_check_most(c->causes, inner, choices, CHOICES_MAX))
            continue;
        yyjson_arr_foreach(choices, at, choice_count, choice) {
            snprintf(inner, sizeof inner, "%s.firstAvailable[%zu]", path, at);
            check_name(c, inner, choices, at, choice);
            check_devices(c, inner, choice);
        }
    }
}

/* Its spec does not change. */
void kt_check_resource_claim(kt_checked *c) {
    if (!c->old)
        check_requests(c, "spec", c->spec);
}

void kt_check_resource_claim_status(kt_checked *c) {
    yyjson_val *status = yyjson_obj_get(c->root, "status"), *old = yyjson_obj_get(c->old, "status");
    yyjson_val *allocation = yyjson_obj_get(status, "allocation"), *before = yyjson_obj_get(old, "allocation");
    kt_check_most(c->causes, "status.reservedFor", yyjson_obj_get(status, "reservedFor"), CONSUMERS_MAX);
    if (yyjson_arr_size(yyjson_obj_get(status, "reservedFor")) && !yyjson_is_obj(allocation))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "status.reservedFor", KI_STR(""),
                      "may not be specified when `allocated` is not set");
    if (yyjson_is_obj(before) && yyjson_is_obj(allocation) && !kt_is_same(c, before, allocation))
        kt_add_json(c, "status.allocation", NULL, KT_IMMUTABLE);
}

/* Appends a value as Go writes it: members have the names of Go's fields. Absent ones are not shown. */
static ki_status append_go(ki_buffer *out, yyjson_val *val) {
    size_t index, count;
    yyjson_val *key, *element;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, index, count, element) {
            ki_buffer_append_char(out, index ? ',' : '[');
            append_go(out, element);
        }
        return ki_buffer_append_string(out, count ? "]" : "null");
    }
    if (!yyjson_is_obj(val))
        return kt_json_append(out, val);
    ki_buffer_append_char(out, '{');
    yyjson_obj_foreach(val, index, count, key, element) {
        ki_str name = kt_json_str(key);
        char first = name.size && name.data[0] >= 'a' && name.data[0] <= 'z' ? (char)(name.data[0] - 'a' + 'A') : '\0';
        ki_buffer_append_string(out, index ? ",\"" : "\"");
        if (first)
            ki_buffer_append_char(out, first);
        ki_buffer_printf(out, "%.*s\":", (int)(name.size - (first != 0)), name.data + (first != 0));
        append_go(out, element);
    }
    return ki_buffer_append_char(out, '}');
}

void kt_check_resource_claim_template(kt_checked *c) {
    static const char *const members[] = { "requests", "constraints", "config" };
    static const char *const shown[] = { "Requests", "Constraints", "Config" };
    yyjson_val *devices = yyjson_obj_get(yyjson_obj_get(c->spec, "spec"), "devices");
    ki_buffer text;
    if (!c->old)
        check_requests(c, "spec.spec", yyjson_obj_get(c->spec, "spec"));
    if (!c->old || kt_is_same(c, c->old_spec, c->spec))
        return;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    ki_buffer_append_string(&text, "{\"Spec\":{\"Devices\":{");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_val *val = yyjson_obj_get(devices, members[i]);
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "", shown[i]);
        if (kt_json_is_nothing(val))
            ki_buffer_append_string(&text, "null");
        else
            append_go(&text, val);
    }
    if (ki_buffer_append_string(&text, "}}}"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "spec", (ki_str){ text.data, text.size }, false, KT_IMMUTABLE);
    ki_buffer_free(&text);
}

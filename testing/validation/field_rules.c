/* field_rules.c: see field_rules.h. */
#include "testing/validation/field_rules.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/validation/checked.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    PORT_NAME_MAX = 15
};

static void add_invalid(kt_causes *causes, const char *field, ki_str text, const char *why) {
    if (why)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text, why);
}

kt_place kt_place_of(const char *format, ...) {
    kt_place place;
    va_list args;
    va_start(args, format);
    vsnprintf(place.text, sizeof place.text, format, args);
    va_end(args);
    return place;
}

bool kt_is_absent(yyjson_val *val) {
    return !val || yyjson_is_null(val);
}

/* ---- texts ---- */

void kt_check_address(kt_causes *causes, const char *field, ki_str text) {
    add_invalid(causes, field, text, kt_address_problem(text, NULL));
}

void kt_check_reachable(kt_causes *causes, const char *field, ki_str text, const kt_block *address) {
    static const unsigned char zeros[16] = { 0 };
    const unsigned char *bytes = address->bytes;
    bool is_4 = address->family == 4;
    size_t size = is_4 ? 4 : 16;
    char why[96];
    snprintf(why, sizeof why, "may not be unspecified (%.*s)", (int)text.size, text.size ? text.data : "");
    if (memcmp(bytes, zeros, size) == 0)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text, why);
    if (is_4 ? bytes[0] == 127 : memcmp(bytes, zeros, 15) == 0 && bytes[15] == 1)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (is_4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text,
                      "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (is_4 ? bytes[0] == 224 && !bytes[1] && !bytes[2] : bytes[0] == 0xff && (bytes[1] & 0x0f) == 2)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text,
                      "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

void kt_check_block(kt_causes *causes, const char *field, ki_str text) {
    add_invalid(causes, field, text, kt_block_problem(text, NULL));
}

void kt_check_port_name(kt_causes *causes, const char *field, ki_str text) {
    bool has_letter = false, has_other = text.size == 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_letter = c >= 'a' && c <= 'z';
        has_letter = has_letter || is_letter;
        has_other = has_other || (!is_letter && !(c >= '0' && c <= '9') && c != '-');
    }
    if (text.size > PORT_NAME_MAX)
        add_invalid(causes, field, text, "must be no more than 15 characters");
    if (has_other)
        add_invalid(causes, field, text, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!has_letter)
        add_invalid(causes, field, text, "must contain at least one letter (a-z)");
    if (text.size && memmem(text.data, text.size, "--", 2))
        add_invalid(causes, field, text, "must not contain consecutive hyphens");
    if (text.size && (text.data[0] == '-' || text.data[text.size - 1] == '-'))
        add_invalid(causes, field, text, "must not begin or end with a hyphen");
}

void kt_check_value(kt_causes *causes, const char *field, ki_str text) {
    add_invalid(causes, field, text, ki_label_check_value(text));
}

void kt_check_dns_label(kt_causes *causes, const char *field, ki_str text) {
    add_invalid(causes, field, text, kt_validate_dns_label(text));
}

void kt_check_subdomain(kt_causes *causes, const char *field, ki_str text) {
    add_invalid(causes, field, text, ki_label_check_subdomain(text));
}

/* ---- values ---- */

void kt_add_number(kt_causes *causes, const char *field, int64_t number, const char *detail) {
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, number);
    kt_causes_add_value(causes, KT_CAUSE_INVALID, field, ki_str_of(shown), false, detail);
}

void kt_check_labels(kt_causes *causes, const char *field, yyjson_val *labels) {
    yyjson_val *key, *val;
    size_t index, count;
    yyjson_obj_foreach(labels, index, count, key, val) {
        kt_check_key(causes, field, kt_json_str(key));
        kt_check_value(causes, field, kt_json_str(val));
    }
}

/* Returns true for an absent value, "", 0 and an empty list or object. */
static bool is_empty(yyjson_val *val) {
    return kt_is_absent(val) || (yyjson_is_num(val) ? yyjson_get_num(val) == 0 : yyjson_get_len(val) == 0);
}

static void check_value(kt_causes *causes, const kt_rule *rule, const char *field, yyjson_val *val) {
    ki_str text = yyjson_is_str(val) ? kt_json_str(val) : KI_STR("");
    int64_t number = yyjson_get_sint(val);
    if ((rule->presence == KT_IF_GIVEN && kt_is_absent(val)) || (rule->presence == KT_IF_FILLED && is_empty(val)))
        return;
    switch (rule->type) {
    case KT_RULE_NUMBER:
        if (number < rule->least || number > rule->most)
            kt_add_number(causes, field, number, rule->detail);
        break;
    case KT_RULE_CHOICE:
        kt_check_known(causes, field, text, rule->detail);
        break;
    case KT_RULE_TEXT:
        rule->check(causes, field, text);
        break;
    case KT_RULE_PORT:
        if (yyjson_is_str(val))
            kt_check_port_name(causes, field, text);
        else if (number < 1 || number > UINT16_MAX)
            kt_add_number(causes, field, number, KT_PORT_RANGE);
        break;
    case KT_RULE_LABELS:
        kt_check_labels(causes, field, val);
        break;
    case KT_RULE_REQUIRED:
        if (is_empty(val))
            kt_causes_add(causes, KT_CAUSE_REQUIRED, field, text, rule->detail);
        break;
    }
}

/* Applies a rule to what `rest` of its path finds in `val`. Recursive: as deep as the path has lists and members. */
static void walk(kt_causes *causes, const kt_rule *rule, const char *rest, const char *path, yyjson_val *val) {
    kt_place field;
    size_t size = strcspn(rest, ".["), index, count;
    yyjson_val *member = yyjson_obj_getn(val, rest, size), *one;
    field = kt_place_of("%s%s%.*s", path, path[0] ? "." : "", (int)size, rest);
    rest += size;
    if (!rest[0])
        check_value(causes, rule, field.text, member);
    else if (rest[0] == '.' && yyjson_is_obj(member))
        walk(causes, rule, rest + 1, field.text, member);
    if (strncmp(rest, "[]", 2) != 0)
        return;
    rest += 2;
    yyjson_arr_foreach(member, index, count, one) {
        kt_place element = kt_place_of("%s[%zu]", field.text, index);
        if (kt_causes_is_full(causes))
            break;
        if (rest[0] == '.')
            walk(causes, rule, rest + 1, element.text, one);
        else
            check_value(causes, rule, element.text, one);
    }
}

void kt_check_rules(kt_causes *causes, const char *path, yyjson_val *val, const kt_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++)
        walk(causes, &rules[i], rules[i].path, path, val);
}

/* field_rules.c: see field_rules.h. */
#include "testing/validation/field_rules.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    PORT_NAME_MAX = 15
};

void kt_add_problem(kt_causes *causes, const char *field, ki_str text, const char *why) {
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
    kt_add_problem(causes, field, text, kt_address_problem(text, NULL));
}

void kt_check_canonical_address(kt_causes *causes, const char *field, ki_str text) {
    char canonical[KT_ADDRESS_SIZE], why[KT_ADDRESS_SIZE + 32];
    kt_block address;
    const char *problem = kt_address_problem(text, &address);
    if (!problem) {
        kt_address_write(&address, canonical);
        snprintf(why, sizeof why, "must be in canonical form (\"%s\")", canonical);
        problem = ki_str_equals(text, canonical) ? NULL : why;
    }
    kt_add_problem(causes, field, text, problem);
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
    kt_add_problem(causes, field, text, kt_block_problem(text, NULL));
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
        kt_add_problem(causes, field, text, "must be no more than 15 characters");
    if (has_other)
        kt_add_problem(causes, field, text, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!has_letter)
        kt_add_problem(causes, field, text, "must contain at least one letter (a-z)");
    if (text.size && memmem(text.data, text.size, "--", 2))
        kt_add_problem(causes, field, text, "must not contain consecutive hyphens");
    if (text.size && (text.data[0] == '-' || text.data[text.size - 1] == '-'))
        kt_add_problem(causes, field, text, "must not begin or end with a hyphen");
}

void kt_check_value(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, ki_label_check_value(text));
}

void kt_check_dns_label(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, kt_validate_dns_label(text));
}

void kt_check_subdomain(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, ki_label_check_subdomain(text));
}

void kt_check_full_name(kt_causes *causes, const char *field, ki_str text) {
    if (!text.size)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, field, text, "");
    else if (text.data[text.size - 1] == '.')
        text.size--;
    const char *why = ki_label_check_subdomain(text);
    if (text.size && !why && !memchr(text.data, '.', text.size))
        why = "should be a domain with at least two segments separated by dots";
    if (text.size)
        kt_add_problem(causes, field, text, why);
    for (ki_str rest = text; rest.size && !why;) {
        ki_str label = ki_str_split(rest, '.', &rest);
        kt_add_problem(causes, field, label, why = kt_validate_dns_label(label));
    }
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

/* An object or a part of it, while one rule is applied to it. */
typedef struct walk {
    kt_causes *causes;
    kt_checked *c; /* of the whole object; NULL: a part, without the old one */
    const kt_rule *rule;
} walk;

static void check_kept(const walk *w, const char *field, yyjson_val *old, yyjson_val *val) {
    const kt_rule *rule = w->rule;
    if (!w->c || !w->c->old || kt_is_same(w->c, old, val))
        return;
    if (rule->type == KT_RULE_KEEP_FORBIDDEN)
        kt_causes_add(w->causes, KT_CAUSE_FORBIDDEN, field, KI_STR(""), rule->detail);
    else
        kt_add_json(w->c, rule->detail ? rule->detail : field, rule->type == KT_RULE_KEEP ? val : NULL, KT_IMMUTABLE);
}

static void check_value(const walk *w, const char *field, yyjson_val *old, yyjson_val *val) {
    const kt_rule *rule = w->rule;
    ki_str text = yyjson_is_str(val) ? kt_json_str(val) : KI_STR("");
    int64_t number = yyjson_get_sint(val);
    if ((rule->presence == KT_IF_GIVEN && kt_is_absent(val)) || (rule->presence == KT_IF_FILLED && is_empty(val)))
        return;
    switch (rule->type) {
    case KT_RULE_NUMBER:
        if (number < rule->least || number > rule->most)
            kt_add_number(w->causes, field, number, rule->detail);
        break;
    case KT_RULE_CHOICE:
        kt_check_known(w->causes, field, text, rule->detail);
        break;
    case KT_RULE_TEXT:
        rule->check(w->causes, field, text);
        break;
    case KT_RULE_PORT:
        if (yyjson_is_str(val))
            kt_check_port_name(w->causes, field, text);
        else if (number < 1 || number > UINT16_MAX)
            kt_add_number(w->causes, field, number, KT_PORT_RANGE);
        break;
    case KT_RULE_VALUE:
        rule->check_value(w->causes, field, val);
        break;
    case KT_RULE_REQUIRED:
    case KT_RULE_GIVEN:
        if (rule->type == KT_RULE_GIVEN ? kt_is_absent(val) : is_empty(val))
            kt_causes_add(w->causes, KT_CAUSE_REQUIRED, field, text, rule->detail);
        break;
    case KT_RULE_KEEP:
    case KT_RULE_KEEP_UNSHOWN:
    case KT_RULE_KEEP_FORBIDDEN:
        check_kept(w, field, old, val);
        break;
    }
}

/* Applies the rule to what `rest` of its path finds in `val`. `old`: the same place of the old object; NULL in lists.
 * Recursive: as deep as the path has lists and members. */
static void walk_path(const walk *w, const char *rest, const char *path, yyjson_val *old, yyjson_val *val) {
    size_t size = strcspn(rest, ".[<!"), index, count;
    yyjson_val *member = yyjson_obj_getn(val, rest, size), *old_member = yyjson_obj_getn(old, rest, size), *one;
    const char *name = rest;
    rest += size;
    if (kt_is_absent(member) && rest[0] != '!' && (rest[0] || w->rule->presence != KT_ALWAYS))
        return;
    kt_place field = kt_place_of("%s%s%.*s", path, path[0] ? "." : "", (int)size, name);
    if (!rest[0])
        check_value(w, field.text, old_member, member);
    else if (rest[0] == '!' || (rest[0] == '.' && yyjson_is_obj(member)))
        walk_path(w, rest + (rest[0] == '!') + 1, field.text, old_member, member);
    if (rest[0] != '[' && rest[0] != '<')
        return;
    bool is_indexed = rest[0] == '[';
    rest += 2;
    yyjson_arr_foreach(member, index, count, one) {
        kt_place element = is_indexed ? kt_place_of("%s[%zu]", field.text, index) : field;
        if (kt_causes_is_full(w->causes))
            break;
        if (rest[0] == '.')
            walk_path(w, rest + 1, element.text, NULL, one);
        else
            check_value(w, element.text, NULL, one);
    }
}

void kt_check_rules(kt_causes *causes, const char *path, yyjson_val *val, const kt_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const walk w = { .causes = causes, .rule = &rules[i] };
        walk_path(&w, rules[i].path, path, NULL, val);
    }
}

void kt_check_object_rule(kt_checked *c, const kt_rule *rule) {
    const walk w = { .causes = c->causes, .c = c, .rule = rule };
    walk_path(&w, rule->path, "", c->old, c->root);
}

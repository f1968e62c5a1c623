/* checked.c: see checked.h. */
#include "testing/validation/checked.h"

#include "src/base/quantity.h"
#include "src/object/label.h"
#include "testing/values/equal.h"
#include "testing/values/json.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 512,
    KEY_SIZE = 253
};

bool kt_is_same(kt_checked *c, yyjson_val *a, yyjson_val *b) {
    return kt_json_is_nothing(a) || kt_json_is_nothing(b) ? kt_json_is_nothing(a) == kt_json_is_nothing(b)
                                                          : kt_equal(&c->arena, a, b);
}

bool kt_is_same_but(kt_checked *c, yyjson_val *a, yyjson_val *b, const char *const *but) {
    yyjson_val *sides[2] = { a, b }, *key, *val;
    size_t index, count;
    for (size_t side = 0; side < 2; side++) {
        yyjson_obj_foreach(sides[side], index, count, key, val) {
            ki_str name = kt_json_str(key);
            const char *const *one = but;
            while (*one && !ki_str_equals(name, *one))
                one++;
            if (!*one && !kt_is_same(c, val, yyjson_obj_getn(sides[!side], name.data, name.size)))
                return false;
        }
    }
    return true;
}

bool kt_is_list_same_but(kt_checked *c, yyjson_val *a, yyjson_val *b, const char *const *but) {
    yyjson_arr_iter others = yyjson_arr_iter_with(b);
    bool is_same = yyjson_arr_size(a) == yyjson_arr_size(b);
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(a, index, count, one) {
        is_same = is_same && kt_is_same_but(c, one, yyjson_arr_iter_next(&others), but);
    }
    return is_same;
}

void kt_validate_add(kt_causes *causes, kt_cause_type type, ki_str value, bool quoted, const char *detail,
                     const char *format, ...) {
    char field[FIELD_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(field, sizeof field, format, args);
    va_end(args);
    kt_causes_add_value(causes, type, field, value, quoted, detail);
}

void kt_add_required(kt_checked *c, const char *field) {
    kt_causes_add(c->causes, KT_CAUSE_REQUIRED, field, KI_STR(""), "");
}

void kt_add_json(kt_checked *c, const char *field, yyjson_val *val, const char *detail) {
    kt_add_json_as(c, KT_CAUSE_INVALID, field, val, detail);
}

void kt_add_json_as(kt_checked *c, kt_cause_type type, const char *field, yyjson_val *val, const char *detail) {
    ki_buffer shown;
    if (kt_causes_is_full(c->causes))
        return;
    ki_buffer_init(&shown, c->causes->text.allocator, 0);
    if (val ? kt_json_append(&shown, val) : ki_buffer_append_string(&shown, "null"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, type, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

void kt_check_least(kt_checked *c, const char *field, yyjson_val *val, int64_t least, const char *detail) {
    if (yyjson_is_int(val) && yyjson_get_sint(val) < least)
        kt_add_json(c, field, val, detail);
}

bool kt_check_most(kt_causes *causes, const char *field, yyjson_val *list, size_t most) {
    char count[32], why[64];
    if (yyjson_arr_size(list) <= most)
        return true;
    snprintf(count, sizeof count, "%zu", yyjson_arr_size(list));
    snprintf(why, sizeof why, "must have at most %zu items", most);
    kt_causes_add_value(causes, KT_CAUSE_TOO_MANY, field, ki_str_of(count), false, why);
    return false;
}

void kt_check_known(kt_causes *causes, const char *field, ki_str text, const char *known) {
    ki_str rest = ki_str_of(known);
    ki_buffer detail;
    bool is_known = false;
    ki_buffer_init(&detail, causes->text.allocator, 0);
    ki_buffer_append_string(&detail, "supported values: ");
    while (rest.size) {
        ki_str one = ki_str_split(rest, ',', &rest);
        is_known = is_known || ki_str_equal(one, text);
        ki_buffer_printf(&detail, "\"%.*s\"%s", (int)one.size, one.data, rest.size ? ", " : "");
    }
    if (detail.failed)
        causes->text.failed = detail.failed;
    else if (!is_known)
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, field, text, detail.data);
    ki_buffer_free(&detail);
}

void kt_check_one_of(kt_causes *causes, const char *field, yyjson_val *val, const char *known) {
    if (val && !yyjson_is_null(val))
        kt_check_known(causes, field, kt_json_str(val), known);
}

void kt_check_choice(kt_causes *causes, const char *path, const char *name, yyjson_val *val, const char *known) {
    char field[FIELD_SIZE];
    snprintf(field, sizeof field, "%s.%s", path, name);
    kt_check_one_of(causes, field, val, known);
}

void kt_check_stays(kt_checked *c, const char *field) {
    const char *name = field + sizeof "spec." - 1;
    yyjson_val *val = yyjson_obj_get(c->spec, name);
    if (c->old && !kt_is_same(c, yyjson_obj_get(c->old_spec, name), val))
        kt_add_json(c, field, val, KT_IMMUTABLE);
}

void kt_check_positive(kt_checked *c, const char *field, yyjson_val *val, const char *detail) {
    static const ki_quantity zero = { 0 };
    ki_quantity amount;
    char shown[KI_QUANTITY_SIZE];
    if (!yyjson_is_str(val) || !ki_quantity_parse(kt_json_str(val), &amount) || ki_quantity_compare(&amount, &zero) > 0)
        return;
    ki_quantity_write(&amount, shown);
    kt_causes_add(c->causes, KT_CAUSE_INVALID, field, ki_str_of(shown), detail);
}

void kt_check_number_or_percent(kt_checked *c, const char *field, yyjson_val *val, unsigned most) {
    ki_str text = kt_json_str(val);
    uint64_t share = 0;
    char why[64];
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    bool is_percent = digits && digits + 1 == text.size && text.data[digits] == '%';
    snprintf(why, sizeof why, "must not be greater than %u%%", most);
    kt_check_least(c, field, val, 0, KT_NOT_NEGATIVE);
    if (yyjson_is_str(val) && !is_percent)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, text,
                      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                      "'93%', regex used for validation is '[0-9]+%')");
    else if (is_percent && !ki_str_to_uint64((ki_str){ text.data, digits }, most, &share))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, text, why);
}

void kt_check_key(kt_causes *causes, const char *field, ki_str key) {
    const char *why = ki_label_check_key(key);
    bool is_bare = !key.size || key.data[key.size - 1] == '/';
    if (why)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key.size ? key : KI_STR(""), why);
    if (why && is_bare) /* has two problems; the second one is that of any wrong name */
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key.size ? key : KI_STR(""), ki_label_check_key(KI_STR("-")));
}

void kt_check_config_key(kt_causes *causes, const char *field, ki_str key) {
    bool is_valid = key.size > 0;
    for (size_t i = 0; i < key.size; i++) {
        char letter = key.data[i];
        is_valid = is_valid && ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                                (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' || letter == '.');
    }
    if (key.size > KEY_SIZE)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key, "must be no more than 253 characters");
    if (!is_valid)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key.size ? key : KI_STR(""),
                      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
                      "or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
    if (ki_str_equals(key, "."))
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key, "must not be '.'");
    else if (ki_str_equals(key, ".."))
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key, "must not be '..'");
    else if (ki_str_starts_with(key, KI_STR("..")))
        kt_causes_add(causes, KT_CAUSE_INVALID, field, key, "must not start with '..'");
}

static void check_expression(kt_causes *causes, const char *field, size_t at, yyjson_val *expression) {
    ki_str op = kt_json_get_str(expression, "operator"), key = kt_json_get_str(expression, "key");
    yyjson_val *values = yyjson_obj_get(expression, "values"), *value;
    bool is_set = ki_str_equals(op, "In") || ki_str_equals(op, "NotIn");
    bool is_presence = ki_str_equals(op, "Exists") || ki_str_equals(op, "DoesNotExist");
    const char *why;
    char place[FIELD_SIZE];
    size_t index, count;
    snprintf(place, sizeof place, "%s.matchExpressions[%zu].key", field, at);
    if (is_set && !yyjson_arr_size(values))
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, KT_VALUES_NEEDED,
                        "%s.matchExpressions[%zu].values", field, at);
    else if (is_presence && yyjson_arr_size(values))
        kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, KT_VALUES_FORBIDDEN,
                        "%s.matchExpressions[%zu].values", field, at);
    else if (!is_set && !is_presence)
        kt_validate_add(causes, KT_CAUSE_INVALID, op, true, KT_NOT_AN_OPERATOR, "%s.matchExpressions[%zu].operator",
                        field, at);
    kt_check_key(causes, place, key);
    yyjson_arr_foreach(values, index, count, value) {
        if ((why = ki_label_check_value(kt_json_str(value))) != NULL)
            kt_validate_add(causes, KT_CAUSE_INVALID, kt_json_str(value), true, why,
                            "%s.matchExpressions[%zu].values[%zu]", field, at, index);
    }
}

void kt_check_selector(kt_causes *causes, const char *field, yyjson_val *selector) {
    yyjson_val *key, *val;
    size_t index, count;
    const char *why;
    char place[FIELD_SIZE];
    snprintf(place, sizeof place, "%s.matchLabels", field);
    yyjson_obj_foreach(yyjson_obj_get(selector, "matchLabels"), index, count, key, val) {
        kt_check_key(causes, place, kt_json_str(key));
        if ((why = ki_label_check_value(kt_json_str(val))) != NULL)
            kt_validate_add(causes, KT_CAUSE_INVALID, kt_json_str(val), true, why, "%s.matchLabels", field);
    }
    yyjson_arr_foreach(yyjson_obj_get(selector, "matchExpressions"), index, count, val) {
        check_expression(causes, field, index, val);
    }
}

/* checked.c: see checked.h. */
#include "testing/validation/checked.h"

#include "testing/values/equal.h"
#include "testing/values/json.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 512
};

static const ki_str nothing = { NULL, 0 };

bool kt_is_nothing(yyjson_val *val) {
    return !val || yyjson_is_null(val) || (yyjson_is_ctn(val) && yyjson_get_len(val) == 0);
}

bool kt_is_same(kt_checked *c, yyjson_val *a, yyjson_val *b) {
    return kt_is_nothing(a) || kt_is_nothing(b) ? kt_is_nothing(a) == kt_is_nothing(b) : kt_equal(&c->arena, a, b);
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
    kt_causes_add(c->causes, KT_CAUSE_REQUIRED, field, nothing, "");
}

void kt_add_json(kt_checked *c, const char *field, yyjson_val *val, const char *detail) {
    ki_buffer shown;
    ki_buffer_init(&shown, c->causes->text.allocator, 0);
    if (val ? kt_json_append(&shown, val) : ki_buffer_append_string(&shown, "null"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_INVALID, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

void kt_check_least(kt_checked *c, const char *field, yyjson_val *val, int64_t least, const char *detail) {
    if (yyjson_is_int(val) && yyjson_get_sint(val) < least)
        kt_add_json(c, field, val, detail);
}

void kt_check_choice(kt_causes *causes, const char *path, const char *name, yyjson_val *val, const char *known) {
    ki_str value = kt_json_str(val), rest = ki_str_of(known);
    ki_buffer detail;
    bool is_known = !val || yyjson_is_null(val);
    ki_buffer_init(&detail, causes->text.allocator, 0);
    ki_buffer_append_string(&detail, "supported values: ");
    while (rest.size) {
        ki_str one = ki_str_split(rest, ',', &rest);
        is_known = is_known || ki_str_equal(one, value);
        ki_buffer_printf(&detail, "\"%.*s\"%s", (int)one.size, one.data, rest.size ? ", " : "");
    }
    if (detail.failed)
        causes->text.failed = detail.failed;
    else if (!is_known)
        kt_validate_add(causes, KT_CAUSE_NOT_SUPPORTED, value, true, detail.data, "%s.%s", path, name);
    ki_buffer_free(&detail);
}

void kt_check_stays(kt_checked *c, const char *field) {
    const char *name = field + sizeof "spec." - 1;
    yyjson_val *val = yyjson_obj_get(c->spec, name);
    if (c->old && !kt_is_same(c, yyjson_obj_get(c->old_spec, name), val))
        kt_add_json(c, field, val, KT_IMMUTABLE);
}

/* spec.c: see spec.h. */
#include "testing/values/spec.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdio.h>

enum {
    DURATION_MAX_MS = 24 * 60 * 60 * 1000
};

static bool is_known(const char *const *known, ki_str name) {
    for (; *known; known++) {
        if (ki_str_equals(name, *known))
            return true;
    }
    return false;
}

static ki_status fail_unknown_field(const char *what, const char *const *known, ki_str name, ki_error *err) {
    char all[256] = "";
    size_t size = 0;
    for (size_t i = 0; known[i] && size < sizeof all; i++)
        size += (size_t)snprintf(all + size, sizeof all - size, "%s%s", i ? ", " : "", known[i]);
    return ki_error_set(err, KI_ERR_INVALID, "%s has no field '%.*s'; it has %s", what,
                        (int)(name.size < 64 ? name.size : 64), name.data ? name.data : "", all);
}

static ki_status add_field(kt_spec *spec, const char *what, const char *const *known, ki_str field, ki_error *err) {
    ki_str value, name = ki_str_split(field, '=', &value);
    if (!value.data || !is_known(known, name))
        return fail_unknown_field(what, known, name, err);
    if (spec->count == KT_SPEC_FIELDS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "%s has at most %d fields", what, (int)KT_SPEC_FIELDS_MAX);
    for (size_t i = 0; i < spec->count; i++) {
        if (ki_str_equal(spec->fields[i].name, name))
            return ki_error_set(err, KI_ERR_INVALID, "%s has '%.*s' twice", what, (int)name.size, name.data);
    }
    spec->fields[spec->count++] = (kt_spec_field){ name, value };
    return KI_OK;
}

ki_status kt_spec_parse(const ki_allocator *allocator, const char *what, const char *const *known, const char *line,
                        kt_spec *ret_spec, ki_error *err) {
    if (strlen(line) > KT_SPEC_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "%s is longer than %d bytes", what, (int)KT_SPEC_MAX);
    kt_spec spec = { .allocator = allocator, .text = ki_strdup(allocator, line) };
    if (!spec.text)
        return ki_error_no_memory(err, "reading a line");
    ki_status status = KI_OK;
    ki_str rest = ki_str_of(spec.text);
    for (bool first = true; rest.size && !status; first = false) {
        ki_str field = ki_str_split(rest, ',', &rest);
        if (first && field.size && !memchr(field.data, '=', field.size))
            spec.kind = field;
        else
            status = add_field(&spec, what, known, field, err);
    }
    if (status) {
        kt_spec_free(&spec);
        return status;
    }
    *ret_spec = spec;
    return KI_OK;
}

void kt_spec_free(kt_spec *spec) {
    if (!spec->allocator)
        return;
    if (spec->text)
        ki_wipe(spec->text, strlen(spec->text)); /* the line can contain a token */
    ki_free(spec->allocator, spec->text);
    *spec = (kt_spec){ 0 };
}

ki_str kt_spec_get(const kt_spec *spec, const char *name) {
    for (size_t i = 0; i < spec->count; i++) {
        if (ki_str_equals(spec->fields[i].name, name))
            return spec->fields[i].value;
    }
    return (ki_str){ NULL, 0 };
}

ki_status kt_spec_number(const kt_spec *spec, const char *name, int64_t min, int64_t max, int64_t *ret_value,
                         ki_error *err) {
    ki_str text = kt_spec_get(spec, name);
    uint64_t value;
    if (!text.data)
        return KI_OK;
    if (!ki_str_to_uint64(text, (uint64_t)max, &value) || (int64_t)value < min) {
        return ki_error_set(err, KI_ERR_INVALID, "%s=%.*s is no whole number from %lld to %lld", name, (int)text.size,
                            text.data, (long long)min, (long long)max);
    }
    *ret_value = (int64_t)value;
    return KI_OK;
}

bool kt_duration_ms(ki_str text, int64_t *ret_ms) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = { { "", 1 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    ki_str unit = { text.data + digits, text.size - digits };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        uint64_t value;
        if (!ki_str_equals(unit, units[i].name))
            continue;
        if (!ki_str_to_uint64((ki_str){ text.data, digits }, DURATION_MAX_MS / units[i].ms, &value))
            return false;
        *ret_ms = (int64_t)(value * units[i].ms);
        return true;
    }
    return false;
}

ki_status kt_spec_duration_ms(const kt_spec *spec, const char *name, int64_t *ret_ms, ki_error *err) {
    ki_str text = kt_spec_get(spec, name);
    if (!text.data || kt_duration_ms(text, ret_ms))
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "%s=%.*s is no time up to 24h, such as 250ms or 2s", name, (int)text.size,
                        text.data);
}

bool kt_spec_list_has(ki_str list, ki_str value) {
    if (!list.data)
        return true;
    while (list.size) {
        ki_str one = ki_str_split(list, '+', &list);
        if (one.size && one.data[one.size - 1] == '*') {
            if (ki_str_starts_with(value, (ki_str){ one.data, one.size - 1 }))
                return true;
        } else if (ki_str_equal(one, value)) {
            return true;
        }
    }
    return false;
}

/* cells.c: cells of many kinds, and the helpers of all cells. */
#include "print/cells.h"

#include "src/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- paths ---- */

/* Returns the value at the path up to `end`. */
static yyjson_val *at_names(yyjson_val *root, const char *path, const char *end) {
    while (root && path < end) {
        const char *dot = memchr(path, '.', (size_t)(end - path));
        size_t size = (size_t)((dot ? dot : end) - path);
        root = yyjson_obj_getn(root, path, size);
        path += size + (dot != NULL);
    }
    return root;
}

yyjson_val *ki_cell_at(yyjson_val *root, const char *path) {
    for (;;) {
        size_t size = strcspn(path, "|?");
        yyjson_val *val = at_names(root, path, path + size);
        if ((val && !yyjson_is_null(val)) || path[size] != '|')
            return yyjson_is_null(val) ? NULL : val;
        path += size + 1;
    }
}

ki_str ki_cell_str(yyjson_val *val) {
    return yyjson_is_str(val) ? (ki_str){ yyjson_get_str(val), yyjson_get_len(val) } : (ki_str){ NULL, 0 };
}

ki_str ki_cell_str_at(yyjson_val *root, const char *path) {
    return ki_cell_str(ki_cell_at(root, path));
}

int64_t ki_cell_int_at(yyjson_val *root, const char *path) {
    return yyjson_get_sint(ki_cell_at(root, path));
}

void ki_cell_append_or(ki_buffer *out, ki_str text, const char *other) {
    ki_buffer_append_view(out, text.size ? text : ki_str_of(other));
}

static const char *other_of(const char *path) {
    const char *mark = strchr(path, '?');
    return mark ? mark + 1 : "";
}

yyjson_val *ki_cell_condition(yyjson_val *root, const char *type) {
    yyjson_val *one;
    size_t index, count;
    yyjson_arr_foreach(ki_cell_at(root, "status.conditions"), index, count, one) {
        if (ki_str_equals(ki_cell_str_at(one, "type"), type))
            return one;
    }
    return NULL;
}

bool ki_cell_is_true(yyjson_val *condition) {
    return ki_str_equals(ki_cell_str_at(condition, "status"), "True");
}

/* ---- times ---- */

/* Parses `count` digits. */
static bool digits(const char **text, int count, int *ret_number) {
    int number = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        number = number * 10 + (**text - '0');
    }
    *ret_number = number;
    return true;
}

static bool sign(const char **text, char c) {
    return *(*text)++ == c;
}

bool ki_cell_time(ki_str text, int64_t *ret_ms) {
    int year, month, day, hour, minute, second, digit, zone_hour = 0, zone_minute = 0;
    int64_t ms = 0, unit = 100;
    const char *at = text.data;
    if (text.size < sizeof "2006-01-02T15:04:05Z" - 1) /* parsing stops at the closing zero */
        return false;
    if (!digits(&at, 4, &year) || !sign(&at, '-') || !digits(&at, 2, &month) || !sign(&at, '-') ||
        !digits(&at, 2, &day) || !sign(&at, 'T') || !digits(&at, 2, &hour) || !sign(&at, ':') ||
        !digits(&at, 2, &minute) || !sign(&at, ':') || !digits(&at, 2, &second) || month < 1 || month > 12)
        return false;
    if (*at == '.') {
        for (at++; digits(&at, 1, &digit); unit /= 10)
            ms += digit * unit;
    }
    if (*at == '+' || *at == '-') {
        int direction = *at++ == '-' ? -1 : 1;
        if (!digits(&at, 2, &zone_hour) || !sign(&at, ':') || !digits(&at, 2, &zone_minute))
            return false;
        zone_hour *= direction;
        zone_minute *= direction;
    } else if (*at != 'Z') {
        return false;
    }
    int64_t shifted_year = month <= 2 ? year - 1 : year;
    int64_t era = (shifted_year < 0 ? shifted_year - 399 : shifted_year) / 400, of_era = shifted_year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
    *ret_ms = (((days * 24 + hour - zone_hour) * 60 + minute - zone_minute) * 60 + second) * 1000 + ms;
    return true;
}

void ki_cell_append_duration(ki_buffer *out, int64_t ms) {
    int64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60, days = hours / 24, years = days / 365;
    int64_t whole, part = 0;
    char unit, part_unit = 's';
    if (seconds < -1) { /* clocks can differ by a second */
        ki_buffer_append_string(out, "<invalid>");
        return;
    }
    if (seconds < 120) {
        whole = seconds < 0 ? 0 : seconds, unit = 's';
    } else if (minutes < 180) {
        whole = minutes, unit = 'm';
        part = minutes < 10 ? seconds % 60 : 0;
    } else if (hours < 48) {
        whole = hours, unit = 'h', part_unit = 'm';
        part = hours < 8 ? minutes % 60 : 0;
    } else if (days < 730) {
        whole = days, unit = 'd', part_unit = 'h';
        part = hours < 192 ? hours % 24 : 0;
    } else {
        whole = years, unit = 'y', part_unit = 'd';
        part = years < 8 ? days % 365 : 0;
    }
    ki_buffer_printf(out, "%" PRId64 "%c", whole, unit);
    if (part)
        ki_buffer_printf(out, "%" PRId64 "%c", part, part_unit);
}

void ki_cell_age(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    const char *other = other_of(path);
    int64_t then;
    if (ki_cell_time(ki_cell_str_at(root, path), &then))
        ki_cell_append_duration(out, now_ms - then);
    else
        ki_buffer_append_string(out, *other ? other : "<unknown>");
}

/* ---- plain fields ---- */

void ki_cell_text(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *val = ki_cell_at(root, path);
    (void)now_ms;
    if (yyjson_is_int(val)) /* an IntOrString */
        ki_buffer_printf(out, "%" PRId64, yyjson_get_sint(val));
    else
        ki_cell_append_or(out, ki_cell_str(val), other_of(path));
}

void ki_cell_integer(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    (void)now_ms;
    ki_buffer_printf(out, "%" PRId64, ki_cell_int_at(root, path));
}

void ki_cell_count(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    size_t total = 0;
    (void)now_ms;
    for (const char *end;; path = end + 1) {
        end = path + strcspn(path, "+");
        yyjson_val *val = at_names(root, path, end);
        total += yyjson_is_obj(val) ? yyjson_obj_size(val) : yyjson_arr_size(val);
        if (!*end)
            break;
    }
    ki_buffer_printf(out, "%zu", total);
}

void ki_cell_bool(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    (void)now_ms;
    ki_buffer_append_string(out, yyjson_get_bool(ki_cell_at(root, path)) ? "true" : "false");
}

void ki_cell_bool_text(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *val = ki_cell_at(root, path);
    (void)now_ms;
    ki_buffer_append_string(out, !val ? "<unset>" : yyjson_get_bool(val) ? "True" : "False");
}

void ki_cell_join(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    const char *colon = strchr(path, ':');
    yyjson_val *element;
    size_t index, count;
    (void)now_ms;
    yyjson_arr_foreach(at_names(root, path, colon), index, count, element) {
        ki_buffer_append_string(out, index ? "," : "");
        ki_buffer_append_view(out, ki_cell_str(yyjson_obj_get(element, colon + 1)));
    }
}

void ki_cell_list(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *list = ki_cell_at(root, path), *element;
    size_t index, count;
    (void)now_ms;
    if (!yyjson_arr_size(list))
        ki_buffer_append_string(out, other_of(path));
    yyjson_arr_foreach(list, index, count, element) {
        ki_buffer_append_string(out, index ? "," : "");
        ki_buffer_append_view(out, ki_cell_str(element));
    }
}

/* ---- labels and selectors ---- */

static int by_name(const void *a, const void *b) {
    const ki_cell_member *left = a, *right = b;
    return ki_str_order(left->name, right->name);
}

ki_cell_member *ki_cell_sorted(ki_buffer *out, yyjson_val *object, size_t *ret_count) {
    size_t count = yyjson_obj_size(object), index, max;
    ki_cell_member *members = count ? ki_alloc_array(out->allocator, count, sizeof *members) : NULL;
    yyjson_val *key, *value;
    *ret_count = 0;
    if (!members) {
        if (count)
            out->failed = KI_ERR_NO_MEMORY;
        return NULL;
    }
    yyjson_obj_foreach(object, index, max, key, value) {
        members[(*ret_count)++] = (ki_cell_member){ ki_cell_str(key), value };
    }
    qsort(members, count, sizeof *members, by_name);
    return members;
}

void ki_cell_labels(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    size_t count;
    ki_cell_member *members = ki_cell_sorted(out, ki_cell_at(root, path), &count);
    (void)now_ms;
    for (size_t i = 0; i < count; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_view(out, members[i].name);
        ki_buffer_append_char(out, '=');
        ki_buffer_append_view(out, ki_cell_str(members[i].value));
    }
    if (!count)
        ki_buffer_append_string(out, other_of(path));
    ki_free(out->allocator, members);
}

/* Appends the texts of an array, sorted, with commas between them. */
static void append_sorted(ki_buffer *out, yyjson_val *values) {
    size_t count = yyjson_arr_size(values), index, max;
    ki_cell_member *all = count ? ki_alloc_array(out->allocator, count, sizeof *all) : NULL;
    yyjson_val *value;
    if (count && !all)
        out->failed = KI_ERR_NO_MEMORY;
    if (!all)
        return;
    yyjson_arr_foreach(values, index, max, value) {
        all[index] = (ki_cell_member){ ki_cell_str(value), value };
    }
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 0; i < count; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_view(out, all[i].name);
    }
    ki_free(out->allocator, all);
}

static void append_requirement(ki_buffer *out, const ki_cell_member *one) {
    ki_str operation = ki_cell_str_at(one->value, "operator");
    if (yyjson_is_str(one->value)) { /* from matchLabels */
        ki_buffer_append_view(out, one->name);
        ki_buffer_append_char(out, '=');
        ki_buffer_append_view(out, ki_cell_str(one->value));
        return;
    }
    bool is_absent = ki_str_equals(operation, "DoesNotExist");
    ki_buffer_append_string(out, is_absent ? "!" : "");
    ki_buffer_append_view(out, one->name);
    if (is_absent || ki_str_equals(operation, "Exists"))
        return;
    ki_buffer_append_string(out, ki_str_equals(operation, "In") ? " in (" : " notin (");
    append_sorted(out, yyjson_obj_get(one->value, "values"));
    ki_buffer_append_char(out, ')');
}

/* Appends the requirements of a LabelSelector, sorted by name. */
void ki_cell_selector(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *selector = ki_cell_at(root, path), *key, *value;
    yyjson_val *labels = yyjson_obj_get(selector, "matchLabels");
    yyjson_val *expressions = yyjson_obj_get(selector, "matchExpressions");
    size_t count = yyjson_obj_size(labels) + yyjson_arr_size(expressions), used = 0, index, max;
    ki_cell_member *all = count ? ki_alloc_array(out->allocator, count, sizeof *all) : NULL;
    (void)now_ms;
    if (!count)
        ki_buffer_append_string(out, other_of(path));
    else if (!all)
        out->failed = KI_ERR_NO_MEMORY;
    if (!all)
        return;
    yyjson_obj_foreach(labels, index, max, key, value) {
        all[used++] = (ki_cell_member){ ki_cell_str(key), value };
    }
    yyjson_arr_foreach(expressions, index, max, value) {
        all[used++] = (ki_cell_member){ ki_cell_str_at(value, "key"), value };
    }
    qsort(all, used, sizeof *all, by_name);
    for (size_t i = 0; i < used; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        append_requirement(out, &all[i]);
    }
    ki_free(out->allocator, all);
}

/* Appends the served versions of a definition: v1(storage),v1beta1. */
void ki_cell_served_versions(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *versions = ki_cell_at(root, "spec.versions"), *version;
    size_t count = yyjson_arr_size(versions), used = 0, index, max;
    ki_cell_member *all = count ? ki_alloc_array(out->allocator, count, sizeof *all) : NULL;
    (void)path, (void)now_ms;
    if (count && !all)
        out->failed = KI_ERR_NO_MEMORY;
    if (!all)
        return;
    yyjson_arr_foreach(versions, index, max, version) {
        if (yyjson_get_bool(yyjson_obj_get(version, "served")))
            all[used++] = (ki_cell_member){ ki_cell_str_at(version, "name"), version };
    }
    qsort(all, used, sizeof *all, by_name);
    for (size_t i = 0; i < used; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_view(out, all[i].name);
        ki_buffer_append_string(out, yyjson_get_bool(yyjson_obj_get(all[i].value, "storage")) ? "(storage)" : "");
    }
    ki_free(out->allocator, all);
}

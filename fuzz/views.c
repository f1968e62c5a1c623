/* views.c: lines of a letter and a path, an empty line, and an object's JSON. The letter is a type of a view's member.
 * Each member is what ki_object_field returns for its path, whether or not the rest of the JSON is parsed. */
#include "fuzz/fuzz.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    FIELDS_MAX = 8,
    DIGITS_MAX = 24
};

/* A member of any type. */
typedef union member {
    const char *string;
    bool boolean;
    int32_t int32;
    int64_t int64;
    uint32_t uint32;
    uint64_t uint64;
    double number;
    ki_string_list strings;
    ki_string_map map;
    ki_list list;
} member;

typedef struct view {
    member members[FIELDS_MAX];
} view;

/* The structs of a list. */
struct element {
    const char *name;
    int64_t number;
    ki_string_list list;
};

static const ki_field element_fields[] = {
    KI_FIELD(struct element, name, "name"),
    KI_FIELD(struct element, number, "n"),
    KI_FIELD(struct element, list, "l"),
    KI_FIELD_END,
};

/* Returns the type of a letter. */
static ki_field_type type_of(char letter) {
    static const char letters[] = "sbiIuUdtqmpSML";
    static const ki_field_type types[] = { KI_FIELD_TYPE_STRING,     KI_FIELD_TYPE_BOOL,    KI_FIELD_TYPE_INT32,
                                           KI_FIELD_TYPE_INT64,      KI_FIELD_TYPE_UINT32,  KI_FIELD_TYPE_UINT64,
                                           KI_FIELD_TYPE_DOUBLE,     KI_FIELD_TYPE_TIME,    KI_FIELD_TYPE_QUANTITY,
                                           KI_FIELD_TYPE_MILLI,      KI_FIELD_TYPE_PRESENT, KI_FIELD_TYPE_STRING_LIST,
                                           KI_FIELD_TYPE_STRING_MAP, KI_FIELD_TYPE_LIST };
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? types[at - letters] : KI_FIELD_TYPE_TEXT;
}

/* --- members that are one value ----------------------------------------------------------------------------------- */

static bool is_string(const char *text, const ki_value *value) {
    if (value->type != KI_VALUE_STRING)
        return text == NULL;
    return text && strcmp(text, value->text) == 0; /* both end at a zero character */
}

/* Returns the integer, or 0 if it is none or out of range. */
static int64_t integer_of(const ki_value *value, int64_t min, int64_t max) {
    return value->type == KI_VALUE_INT && value->integer >= min && value->integer <= max ? value->integer : 0;
}

static int64_t time_of(const ki_value *value) {
    int64_t unix_ms = 0;
    if (value->type == KI_VALUE_STRING && strlen(value->text) == value->text_size)
        (void)!ki_time_read(value->text, &unix_ms, NULL);
    return unix_ms;
}

static int64_t quantity_of(const ki_value *value, bool is_milli) {
    char digits[DIGITS_MAX];
    int64_t units = 0, milli = 0;
    snprintf(digits, sizeof digits, "%" PRId64, value->integer);
    const char *text = value->type == KI_VALUE_INT ? digits : value->text;
    if (value->type == KI_VALUE_INT || (value->type == KI_VALUE_STRING && strlen(value->text) == value->text_size))
        return !ki_quantity_read(text, &units, is_milli ? &milli : NULL, NULL) ? (is_milli ? milli : units) : 0;
    return 0;
}

/* A number beyond int64_t is a double in a ki_value: integers above that are not compared. */
static bool is_large(const ki_value *value) {
    return value->type == KI_VALUE_DOUBLE && fabs(value->number) >= 9e18;
}

static void check_value(ki_field_type type, const member *m, const ki_value *value) {
    char digits[DIGITS_MAX];
    switch (type) {
    case KI_FIELD_TYPE_STRING:
        fuzz_check(is_string(m->string, value));
        break;
    case KI_FIELD_TYPE_TEXT:
        snprintf(digits, sizeof digits, "%" PRId64, value->integer);
        if (value->type == KI_VALUE_INT)
            fuzz_check(m->string && strcmp(m->string, digits) == 0);
        else
            fuzz_check(is_large(value) || is_string(m->string, value));
        break;
    case KI_FIELD_TYPE_BOOL:
        fuzz_check(m->boolean == (value->type == KI_VALUE_BOOL && value->boolean));
        break;
    case KI_FIELD_TYPE_PRESENT:
        fuzz_check(m->boolean == (value->type != KI_VALUE_NULL));
        break;
    case KI_FIELD_TYPE_INT32:
        fuzz_check(m->int32 == integer_of(value, INT32_MIN, INT32_MAX));
        break;
    case KI_FIELD_TYPE_UINT32:
        fuzz_check(m->uint32 == integer_of(value, 0, UINT32_MAX));
        break;
    case KI_FIELD_TYPE_INT64:
        fuzz_check(m->int64 == integer_of(value, INT64_MIN, INT64_MAX));
        break;
    case KI_FIELD_TYPE_UINT64:
        fuzz_check(is_large(value) || m->uint64 == (uint64_t)integer_of(value, 0, INT64_MAX));
        break;
    case KI_FIELD_TYPE_DOUBLE:
        fuzz_check(fabs(m->number - value->number) <= 0);
        break;
    case KI_FIELD_TYPE_TIME:
        fuzz_check(m->int64 == time_of(value));
        break;
    default:
        fuzz_check(is_large(value) || m->int64 == quantity_of(value, type == KI_FIELD_TYPE_MILLI));
    }
}

/* --- members that are many values --------------------------------------------------------------------------------- */

/* The items of a list or map, compared one by one. */
typedef struct items {
    ki_field_type type;
    const member *m;
    size_t count;
} items;

static void check_element(const struct element *element, const ki_value *value) {
    ki_value copy = *value, each;
    const char *name;
    bool has_name = false, has_number = false, has_list = false;
    /* An element that is no object is a struct of zeros. */
    while (copy.type == KI_VALUE_OBJECT && ki_value_next(&copy, &name, &each)) {
        /* The first of a name counts. A name with a zero character ends there, and is not compared. */
        if (!has_name && strcmp(name, "name") == 0)
            fuzz_check(is_string(element->name, &each));
        else if (!has_number && strcmp(name, "n") == 0)
            fuzz_check(element->number == integer_of(&each, INT64_MIN, INT64_MAX));
        else if (!has_list && strcmp(name, "l") == 0 && each.type != KI_VALUE_ARRAY)
            fuzz_check(element->list.count == 0);
        has_name |= strcmp(name, "name") == 0;
        has_number |= strcmp(name, "n") == 0;
        has_list |= strcmp(name, "l") == 0;
    }
    fuzz_check(has_name || !element->name);
    fuzz_check(has_number || !element->number);
    fuzz_check(has_list || (!element->list.count && !element->list.items));
}

static void check_item(items *all, const char *name, const ki_value *value) {
    if (all->type == KI_FIELD_TYPE_LIST) {
        fuzz_check(all->count < all->m->list.count);
        check_element((const struct element *)all->m->list.items + all->count, value);
    } else if (value->type != KI_VALUE_STRING) {
        return;
    } else if (all->type == KI_FIELD_TYPE_STRING_MAP) {
        const char *item_name = NULL, *item = NULL;
        fuzz_check(ki_string_map_at(&all->m->map, all->count, &item_name, &item) && strcmp(item_name, name) == 0);
        fuzz_check(is_string(item, value));
    } else {
        fuzz_check(all->count < all->m->strings.count && is_string(all->m->strings.items[all->count], value));
    }
    all->count++;
}

/* Checks the items of one value at the path. */
static void check_items(items *all, ki_value *value, bool has_all) {
    bool is_map = all->type == KI_FIELD_TYPE_STRING_MAP;
    ki_value each;
    const char *name;
    if (value->type == (is_map ? KI_VALUE_OBJECT : KI_VALUE_ARRAY)) {
        while (ki_value_next(value, &name, &each))
            check_item(all, name, &each);
    } else if (has_all && !is_map &&
               value->type == (all->type == KI_FIELD_TYPE_LIST ? KI_VALUE_OBJECT : KI_VALUE_STRING)) {
        check_item(all, NULL, value);
    }
}

/* --- all members -------------------------------------------------------------------------------------------------- */

static bool is_many(ki_field_type type) {
    return type == KI_FIELD_TYPE_STRING_LIST || type == KI_FIELD_TYPE_STRING_MAP || type == KI_FIELD_TYPE_LIST;
}

static void check_field(const ki_object *obj, const ki_field *field, const member *m) {
    ki_path *path = NULL;
    ki_value value = KI_VALUE_INIT, each, *first = &value;
    items all = { field->type, m, 0 };
    fuzz_check(!ki_path_parse(&ki_allocator_default, field->path, &path, NULL));
    bool has_all = ki_path_has_all(path);
    ki_path_free(&ki_allocator_default, path);
    if (ki_object_field(obj, field->path, &value, NULL))
        fuzz_check(!has_all);
    if (is_many(field->type)) {
        /* A map is the first object at its path. */
        bool is_done = !has_all;
        while (has_all && !is_done && ki_value_next(&value, NULL, &each)) {
            is_done = field->type == KI_FIELD_TYPE_STRING_MAP;
            check_items(&all, &each, true);
        }
        if (!has_all)
            check_items(&all, &value, false);
        fuzz_check(m->list.count == all.count && (m->list.items != NULL) == (all.count > 0));
    } else {
        ki_value none = KI_VALUE_INIT;
        if (has_all)
            first = ki_value_next(&value, NULL, &each) ? &each : &none;
        check_value(field->type, m, first);
    }
    ki_value_clear(&value);
}

static void check_fields(const ki_field *fields, const ki_object *obj) {
    const view *filled = ki_object_view(obj);
    for (size_t i = 0; fields[i].path; i++)
        check_field(obj, &fields[i], &filled->members[i]);
}

static void check_view(const ki_field *fields, ki_str json) {
    ki_object_format *format = NULL;
    ki_object *obj = NULL, *from_server = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = fields, .keep_managed_fields = true);
    if (ki_object_format_new(NULL, &options, &format, &err)) {
        fuzz_check(err.message[0] && err.code == KI_ERR_PARSE);
        return;
    }
    ki_status status = ki_object_from_json(format, json, "v1", "Thing", &obj, NULL);
    uint64_t mismatches = ki_object_format_mismatches(format);
    if (!status)
        check_fields(fields, obj);
    /* Of a server's text only what the view reads is parsed. */
    ki_status server_status = ki_object_from_server(format, json, "v1", "Thing", NULL, &from_server, NULL);
    fuzz_check(server_status == status || server_status == KI_ERR_LIMIT); /* the limit of nesting */
    if (!server_status) {
        check_fields(fields, from_server);
        fuzz_check(ki_object_memory(from_server) == ki_object_memory(obj));
        fuzz_check(ki_object_format_mismatches(format) == 2 * mismatches);
    }
    ki_object_unref(obj);
    ki_object_unref(from_server);
    ki_object_format_unref(format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str rest = { (const char *)data, size };
    ki_field fields[FIELDS_MAX + 1];
    char *paths[FIELDS_MAX];
    size_t count = 0;
    while (count < FIELDS_MAX && rest.size && *rest.data != '\n') {
        ki_str line = ki_str_split(rest, '\n', &rest);
        ki_field_type type = type_of(*line.data);
        paths[count] = ki_strndup(&ki_allocator_default, line.data + 1, line.size - 1);
        fields[count] = (ki_field){ .path = paths[count],
                                    .offset = offsetof(view, members) + count * sizeof(member),
                                    .struct_size = sizeof(view),
                                    .type = type,
                                    .elements = type == KI_FIELD_TYPE_LIST ? element_fields : NULL };
        count++;
    }
    fields[count] = (ki_field)KI_FIELD_END;
    /* ki_value_next cuts a name with a zero character: the name would equal another one. */
    if (count && rest.size && !memmem(rest.data, rest.size, "\\u0000", 6))
        check_view(fields, rest);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    return 0;
}

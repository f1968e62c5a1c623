/* view.c: see view.h. Values are measured first, so that the object stays one allocation; then they are written. */
#include "src/object/view.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/quantity.h"
#include "src/base/rfc3339.h"
#include "src/object/group.h"
#include "src/object/path.h"
#include "src/object/string_map.h"

#include <inttypes.h>
#include <stdio.h>

/* What the header has of a member. */
typedef enum shared {
    SHARED_NONE,
    SHARED_LABELS, /* all of it: the labels */
    SHARED_LABEL   /* the value of a label; the path's third step is the name */
} shared;

typedef struct member {
    ki_path *path;
    const char *text; /* of the path; the program's */
    uint64_t bit;     /* of ki_view_room; 0: the view has too many fields */
    size_t offset;
    ki_field_type type;
    shared shared;
    bool is_alone;     /* a string whose place is no other member's */
    ki_view *elements; /* of a list; owned; else NULL */
} member;

struct ki_view {
    size_t size;
    size_t count;
    member members[];
};

/* --- parsing ------------------------------------------------------------------------------------------------------ */

static size_t size_of_type(ki_field_type type) {
    switch (type) {
    case KI_FIELD_TYPE_STRING:
    case KI_FIELD_TYPE_TEXT:
        return sizeof(const char *);
    case KI_FIELD_TYPE_BOOL:
    case KI_FIELD_TYPE_PRESENT:
        return sizeof(bool);
    case KI_FIELD_TYPE_INT32:
    case KI_FIELD_TYPE_UINT32:
        return 4;
    case KI_FIELD_TYPE_INT64:
    case KI_FIELD_TYPE_UINT64:
    case KI_FIELD_TYPE_TIME:
    case KI_FIELD_TYPE_QUANTITY:
    case KI_FIELD_TYPE_MILLI:
        return 8;
    case KI_FIELD_TYPE_DOUBLE:
        return sizeof(double);
    case KI_FIELD_TYPE_STRING_LIST:
    case KI_FIELD_TYPE_STRING_MAP:
    case KI_FIELD_TYPE_LIST:
        return sizeof(ki_list); /* all three are a pointer and a count, in this order */
    case KI_FIELD_TYPE_END:
        break;
    }
    return 0;
}

static bool is_step(const ki_path *path, size_t number, const char *name) {
    if (number >= ki_path_step_count(path))
        return false;
    const ki_path_step *step = ki_path_step_at(path, number);
    return step->name && ki_str_equals((ki_str){ step->name, step->name_size }, name);
}

static bool is_text(ki_field_type type) {
    return type == KI_FIELD_TYPE_STRING || type == KI_FIELD_TYPE_TEXT;
}

static bool is_many(ki_field_type type) {
    return type == KI_FIELD_TYPE_STRING_LIST || type == KI_FIELD_TYPE_STRING_MAP || type == KI_FIELD_TYPE_LIST;
}

static bool overlap(const member *a, const member *b) {
    return a->offset < b->offset + size_of_type(b->type) && b->offset < a->offset + size_of_type(a->type);
}

/* `depth`: 1 for the object's own members. */
static shared shared_of(const member *m, int depth) {
    size_t steps = ki_path_step_count(m->path);
    if (depth > 1 || !is_step(m->path, 0, "metadata") || !is_step(m->path, 1, "labels"))
        return SHARED_NONE;
    if (m->type == KI_FIELD_TYPE_STRING_MAP)
        return steps == 2 ? SHARED_LABELS : SHARED_NONE;
    return is_text(m->type) && steps == 3 && ki_path_step_at(m->path, 2)->name ? SHARED_LABEL : SHARED_NONE;
}

static ki_status new_view(const ki_allocator *allocator, const ki_field *fields, int depth, ki_view **ret_view,
                          ki_error *err);

static ki_status check_member(const ki_view *view, const ki_field *field, ki_error *err) {
    if (view->count == KI_VIEW_MAX_FIELDS)
        return ki_error_set(err, KI_ERR_LIMIT, "a view has at most %d fields", KI_VIEW_MAX_FIELDS);
    if (field->struct_size > KI_VIEW_MAX_SIZE)
        return ki_error_set(err, KI_ERR_LIMIT, "a view's struct has at most %d bytes, this one has %zu",
                            KI_VIEW_MAX_SIZE, field->struct_size);
    if (view->count && field->struct_size != view->size)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" is of another struct than the first", field->path);
    size_t size = size_of_type(field->type);
    if (!size)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" has no such type: %d", field->path,
                            (int)field->type);
    if ((field->type == KI_FIELD_TYPE_LIST) != (field->elements && field->elements->path))
        return ki_error_set(err, KI_ERR_INVALID,
                            "view field \"%s\": a list of structs, and nothing else, has fields of its own",
                            field->path);
    /* Some 32-bit ABIs align 8-byte members to 4 bytes. */
    size_t alignment = size < sizeof(void *) ? size : sizeof(void *);
    if (field->struct_size < size || field->offset > field->struct_size - size || field->offset % alignment)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" is not inside its struct", field->path);
    return KI_OK;
}

static ki_status add_member(const ki_allocator *allocator, ki_view *view, const ki_field *field, int depth,
                            ki_error *err) {
    ki_status status = check_member(view, field, err);
    if (status)
        return status;
    member *added = &view->members[view->count];
    *added = (member){ .text = field->path, .offset = field->offset, .type = field->type };
    for (const member *m = view->members; m < added; m++) /* a list would take the other's bytes for its pointer */
        if ((is_many(m->type) || is_many(added->type)) && overlap(m, added))
            return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" is in the place of \"%s\"", field->path,
                                m->text);
    status = ki_path_parse(allocator, field->path, &added->path, err);
    if (status)
        return status;
    added->shared = shared_of(added, depth);
    view->count++;
    view->size = field->struct_size;
    if (!field->elements)
        return KI_OK;
    status = new_view(allocator, field->elements, depth + 1, &added->elements, err);
    if (status)
        ki_error_prefix(err, "%s", field->path);
    return status;
}

static ki_status new_view(const ki_allocator *allocator, const ki_field *fields, int depth, ki_view **ret_view,
                          ki_error *err) {
    if (depth > KI_VIEW_MAX_DEPTH)
        return ki_error_set(err, KI_ERR_LIMIT, "a view has at most %d structs in each other", KI_VIEW_MAX_DEPTH);
    size_t count = 0;
    while (fields[count].path && count <= KI_VIEW_MAX_FIELDS)
        count++;
    ki_view *view = ki_alloc_zero(allocator, sizeof *view + count * sizeof(member));
    if (!view)
        return ki_error_no_memory(err, "making a view");
    for (size_t i = 0; i < count; i++) {
        ki_status status = add_member(allocator, view, &fields[i], depth, err);
        if (status) {
            ki_view_free(allocator, view);
            return status;
        }
    }
    *ret_view = view;
    return KI_OK;
}

static void find_alone(ki_view *view) {
    for (size_t i = 0; i < view->count; i++) {
        member *m = &view->members[i];
        m->is_alone = is_text(m->type);
        for (size_t other = 0; other < view->count; other++)
            m->is_alone &= other == i || !overlap(m, &view->members[other]);
    }
}

/* Gives the next bits to the members, each before those of its elements. */
static void give_bits(ki_view *view, uint64_t *next) {
    for (size_t i = 0; i < view->count; i++) {
        member *m = &view->members[i];
        m->bit = *next;
        *next <<= 1;
        if (m->elements)
            give_bits(m->elements, next);
    }
}

ki_status ki_view_new(const ki_allocator *allocator, const ki_field *fields, ki_view **ret_view, ki_error *err) {
    uint64_t first = 1;
    ki_status status = new_view(allocator, fields, 1, ret_view, err);
    if (status)
        return status;
    find_alone(*ret_view);
    give_bits(*ret_view, &first);
    return KI_OK;
}

void ki_view_free(const ki_allocator *allocator, ki_view *view) {
    if (!view)
        return;
    for (size_t i = 0; i < view->count; i++) {
        ki_path_free(allocator, view->members[i].path);
        ki_view_free(allocator, view->members[i].elements);
    }
    ki_free(allocator, view);
}

bool ki_view_reads(const ki_view *view, const char *outer, const char *name) {
    for (size_t i = 0; i < view->count; i++)
        if (is_step(view->members[i].path, 0, outer) && is_step(view->members[i].path, 1, name))
            return true;
    return false;
}

/* Returns true if the step can lead to the member `name`. */
static bool can_lead_to(const ki_path *path, size_t number, ki_str name) {
    if (number >= ki_path_step_count(path) || !name.size)
        return true;
    const ki_path_step *step = ki_path_step_at(path, number);
    return !step->name || ki_str_equal((ki_str){ step->name, step->name_size }, name);
}

bool ki_view_enters(const ki_view *view, ki_str outer, ki_str name) {
    for (size_t i = 0; i < view->count; i++)
        if (can_lead_to(view->members[i].path, 0, outer) && can_lead_to(view->members[i].path, 1, name))
            return true;
    return false;
}

bool ki_view_has_labels(const ki_view *view) {
    for (size_t i = 0; i < view->count; i++)
        if (view->members[i].shared == SHARED_LABELS)
            return true;
    return false;
}

size_t ki_view_size(const ki_view *view) {
    return view->size;
}

/* --- one value ---------------------------------------------------------------------------------------------------- */

/* Returns the value that is given for a member of the object itself; NULL: none. */
static yyjson_val *find_given(const ki_path *path, const ki_view_given *given) {
    const ki_path_step *step = ki_path_step_at(path, 0);
    if (ki_path_step_count(path) != 1 || !step->name)
        return NULL;
    ki_str name = { step->name, step->name_size };
    yyjson_val *found = NULL; /* nothing is written through it: yyjson reads from pointers that are not const */
    if (ki_str_equals(name, "apiVersion"))
        found = (yyjson_val *)(uintptr_t)&given->api_version;
    else if (ki_str_equals(name, "kind"))
        found = (yyjson_val *)(uintptr_t)&given->kind;
    return yyjson_is_str(found) ? found : NULL;
}

/* Returns the value of a member; NULL: none. `given` is NULL in the structs of a list. */
static yyjson_val *find_value(const member *m, yyjson_val *root, const ki_view_given *given) {
    yyjson_val *found = given ? find_given(m->path, given) : NULL;
    return found ? found : ki_path_find(m->path, root);
}

/* --- strings of the header ---------------------------------------------------------------------------------------- */

/* Returns the string of the header that `value` is; KI_VIEW_TEXT_COUNT: none. */
static size_t find_text(const ki_view_given *given, yyjson_val *value) {
    size_t i = 0;
    while (i < KI_VIEW_TEXT_COUNT && given->texts[i] != yyjson_get_str(value))
        i++;
    return i;
}

/* Returns true if the header has the string of a member. `given` is NULL in the structs of a list. */
static bool is_shared(const member *m, yyjson_val *value, const ki_view_given *given) {
    return given && is_text(m->type) && yyjson_is_str(value) &&
           (m->shared == SHARED_LABEL ? given->has_labels : find_text(given, value) < KI_VIEW_TEXT_COUNT);
}

/* Returns the string of the header; NULL: the header has none. */
static const char *shared_text(const member *m, yyjson_val *value, const ki_view_given *given,
                               const ki_view_room *room) {
    if (m->shared != SHARED_LABEL) {
        size_t i = find_text(given, value);
        return i < KI_VIEW_TEXT_COUNT ? room->texts[i] : NULL;
    }
    const ki_path_step *name = ki_path_step_at(m->path, 2);
    const char *label, *text;
    for (size_t i = 0; ki_object_label_at(room->obj, i, &label, NULL); i++) {
        /* A name can be there twice: without what follows its zero character. Values of the object are searched for:
         * only of this name. */
        if (ki_str_equals((ki_str){ name->name, name->name_size }, label) &&
            ki_object_label_at(room->obj, i, NULL, &text) && strcmp(text, yyjson_get_str(value)) == 0)
            return text;
    }
    return NULL; /* does not happen: the header has all labels */
}

/* --- walking lists ------------------------------------------------------------------------------------------------ */

/* A walk over the items of a list or map. */
typedef struct items {
    const member *of;
    void (*visit)(yyjson_val *name, yyjson_val *value, void *user); /* `name` is NULL in a list */
    void *user;
    size_t mismatches;
} items;

/* Returns true if `value`, which "[*]" led to, is an item itself. */
static bool is_item(const member *of, yyjson_val *value) {
    if (!ki_path_has_all(of->path))
        return false;
    return of->type == KI_FIELD_TYPE_LIST ? yyjson_is_obj(value) : yyjson_is_str(value);
}

static bool visit_items(yyjson_val *value, void *user) {
    items *all = user;
    bool is_map = all->of->type == KI_FIELD_TYPE_STRING_MAP;
    size_t index, count;
    yyjson_val *name, *item;
    if (is_map && yyjson_is_obj(value)) {
        yyjson_obj_foreach(value, index, count, name, item) all->visit(name, item, all->user);
    } else if (!is_map && yyjson_is_arr(value)) {
        yyjson_arr_foreach(value, index, count, item) all->visit(NULL, item, all->user);
    } else if (!is_map && is_item(all->of, value)) {
        all->visit(NULL, value, all->user);
    } else if (!yyjson_is_null(value)) {
        all->mismatches++;
    }
    return !is_map; /* a map is the first object */
}

/* Calls `visit` with each item of a list: the elements of the arrays at its path, and what "[*]" leads to; or with each
 * member of a map. Returns the number of values of another type. */
static size_t walk_items(const member *of, yyjson_val *root, void (*visit)(yyjson_val *, yyjson_val *, void *),
                         void *user) {
    items all = { of, visit, user, 0 };
    ki_path_walk(of->path, root, visit_items, &all);
    return all.mismatches;
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/* Returns the size up to the first zero character: the strings are handed out as C strings. */
static size_t cut_size(yyjson_val *text) {
    return strlen(yyjson_get_str(text));
}

enum {
    DIGITS_MAX = 21 /* bytes of an integer as text, with its zero */
};

/* Writes an integer in decimal digits. Returns its size without the zero. */
static size_t write_integer(yyjson_val *value, char text[DIGITS_MAX]) {
    bool is_negative = yyjson_is_sint(value) && yyjson_get_sint(value) < 0;
    int size = is_negative ? snprintf(text, DIGITS_MAX, "%" PRId64, yyjson_get_sint(value))
                           : snprintf(text, DIGITS_MAX, "%" PRIu64, yyjson_get_uint(value));
    return (size_t)size;
}

/* Returns the bytes of a string member with its zero; 0 if the value is no text. */
static size_t text_size(ki_field_type type, yyjson_val *value) {
    char digits[DIGITS_MAX];
    if (!is_text(type))
        return 0;
    if (yyjson_is_str(value))
        return cut_size(value) + 1;
    return type == KI_FIELD_TYPE_TEXT && yyjson_is_int(value) ? write_integer(value, digits) + 1 : 0;
}

static size_t round_up(size_t size) {
    return (size + 7) / 8 * 8;
}

typedef struct measuring {
    const member *of;
    ki_view_needs *needs;
    size_t count;
} measuring;

static void measure_members(const ki_view *view, yyjson_val *root, ki_view_needs *needs, yyjson_val **found);

static void measure_item(yyjson_val *name, yyjson_val *value, void *user) {
    measuring *m = user;
    if (m->of->type != KI_FIELD_TYPE_LIST) {
        if (!yyjson_is_str(value))
            return;
        m->needs->strings += (name ? cut_size(name) + 1 : 0) + cut_size(value) + 1;
    } else if (m->needs->items + m->count < KI_VIEW_MAX_ITEMS) {
        measure_members(m->of->elements, value, m->needs, NULL);
    }
    m->count++;
}

static size_t item_size(const member *m) {
    switch (m->type) {
    case KI_FIELD_TYPE_STRING_LIST:
        return sizeof(const char *);
    case KI_FIELD_TYPE_STRING_MAP:
        return sizeof(ki_string_pair);
    default:
        return m->elements->size;
    }
}

static void measure_list(const member *of, yyjson_val *root, ki_view_needs *needs) {
    measuring m = { of, needs, 0 };
    walk_items(of, root, measure_item, &m);
    needs->items += m.count;
    needs->arrays += round_up(m.count * item_size(of));
}

static void measure_members(const ki_view *view, yyjson_val *root, ki_view_needs *needs, yyjson_val **found) {
    for (size_t i = 0; i < view->count; i++) {
        const member *m = &view->members[i];
        if (m->shared == SHARED_LABELS) {
            needs->items += yyjson_obj_size(ki_path_find(m->path, root));
            continue;
        }
        if (is_many(m->type)) {
            measure_list(m, root, needs);
            continue;
        }
        const ki_view_given *given = found ? &needs->given : NULL;
        yyjson_val *value = find_value(m, root, given);
        if (found && i < KI_VIEW_FOUND_MAX)
            found[i] = value;
        if (!is_shared(m, value, given))
            needs->strings += text_size(m->type, value);
    }
}

ki_status ki_view_measure(const ki_view *view, yyjson_val *root, ki_view_needs *needs, ki_error *err) {
    needs->arrays = needs->strings = needs->items = 0;
    measure_members(view, root, needs, needs->found);
    if (needs->items > KI_VIEW_MAX_ITEMS)
        return ki_error_set(err, KI_ERR_LIMIT, "the view's lists have %zu items, more than %d", needs->items,
                            KI_VIEW_MAX_ITEMS);
    return KI_OK;
}

/* --- strings of several objects ----------------------------------------------------------------------------------- */

void ki_view_share(const ki_view *view, ki_view_needs *needs, ki_object_format *format, ki_str name) {
    for (size_t i = 0; i < view->count && i < KI_VIEW_FOUND_MAX; i++) {
        const member *m = &view->members[i];
        yyjson_val *value = needs->found[i];
        if (!m->is_alone || !yyjson_is_str(value) || is_shared(m, value, &needs->given))
            continue;
        ki_str text = { yyjson_get_str(value), cut_size(value) };
        needs->texts[i] = ki_text_get(format, text, name);
        needs->strings -= needs->texts[i] ? text.size + 1 : 0;
    }
}

void ki_view_unshare(ki_view_needs *needs) {
    for (size_t i = 0; i < KI_VIEW_FOUND_MAX; i++)
        if (needs->texts[i])
            ki_text_unref(needs->texts[i]);
}

size_t ki_view_member_count(const ki_view *view) {
    return view->count;
}

const char *ki_view_string(const ki_view *view, size_t number, const void *from) {
    const char *text = NULL;
    if (view->members[number].is_alone)
        memcpy(&text, (const char *)from + view->members[number].offset, sizeof text);
    return text;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static const char *put_bytes(ki_view_room *room, const char *text, size_t size) {
    char *to = room->strings;
    memcpy(to, text, size);
    to[size] = '\0';
    room->strings += size + 1;
    return to;
}

static const char *put_text(ki_view_room *room, yyjson_val *text) {
    return put_bytes(room, yyjson_get_str(text), cut_size(text));
}

static const char *put_integer(ki_view_room *room, yyjson_val *integer) {
    char digits[DIGITS_MAX];
    return put_bytes(room, digits, write_integer(integer, digits));
}

static ki_str text_of(yyjson_val *value) {
    return (ki_str){ yyjson_get_str(value), yyjson_get_len(value) };
}

static bool fill_integer(ki_field_type type, yyjson_val *value, void *to) {
    if (!yyjson_is_int(value))
        return false;
    bool is_negative = yyjson_is_sint(value) && yyjson_get_sint(value) < 0;
    int64_t integer = yyjson_get_sint(value);
    uint64_t natural = yyjson_get_uint(value);
    switch (type) {
    case KI_FIELD_TYPE_INT32:
        if (is_negative ? integer < INT32_MIN : natural > INT32_MAX)
            return false;
        *(int32_t *)to = (int32_t)integer;
        return true;
    case KI_FIELD_TYPE_UINT32:
        if (is_negative || natural > UINT32_MAX)
            return false;
        *(uint32_t *)to = (uint32_t)natural;
        return true;
    case KI_FIELD_TYPE_INT64:
        if (!is_negative && natural > INT64_MAX)
            return false;
        memcpy(to, &integer, sizeof integer);
        return true;
    default:
        if (is_negative)
            return false;
        memcpy(to, &natural, sizeof natural);
        return true;
    }
}

static bool fill_time(yyjson_val *value, void *to) {
    int64_t seconds, nanoseconds;
    if (!yyjson_is_str(value) || !ki_rfc3339_parse(text_of(value), &seconds, &nanoseconds))
        return false;
    int64_t unix_ms = seconds * 1000 + nanoseconds / 1000000;
    memcpy(to, &unix_ms, sizeof unix_ms);
    return true;
}

/* Kubernetes also accepts quantities as JSON integers. */
static bool read_quantity(yyjson_val *value, ki_quantity *ret_quantity) {
    if (yyjson_is_str(value))
        return ki_quantity_parse(text_of(value), ret_quantity);
    if (!yyjson_is_int(value))
        return false;
    int64_t integer = yyjson_get_sint(value);
    bool is_negative = yyjson_is_sint(value) && integer < 0;
    uint64_t amount = is_negative ? 0 - (uint64_t)integer : yyjson_get_uint(value);
    *ret_quantity = (ki_quantity){ .is_negative = is_negative, .whole = amount < INT64_MAX ? amount : INT64_MAX };
    return true;
}

static bool fill_quantity(ki_field_type type, yyjson_val *value, void *to) {
    ki_quantity quantity;
    int64_t amount;
    if (!read_quantity(value, &quantity))
        return false;
    if (type == KI_FIELD_TYPE_QUANTITY)
        amount = ki_quantity_units(&quantity);
    else if (!ki_quantity_milli(&quantity, &amount))
        return false;
    memcpy(to, &amount, sizeof amount);
    return true;
}

/* Writes a value that is not null. Returns false if it has another type or is out of range: the member stays zero. */
static bool fill_value(ki_field_type type, yyjson_val *value, void *to, ki_view_room *room) {
    switch (type) {
    case KI_FIELD_TYPE_STRING:
    case KI_FIELD_TYPE_TEXT:
        if (!text_size(type, value))
            return false;
        const char *text = yyjson_is_str(value) ? put_text(room, value) : put_integer(room, value);
        memcpy(to, &text, sizeof text);
        return true;
    case KI_FIELD_TYPE_BOOL:
        *(bool *)to = yyjson_get_bool(value);
        return yyjson_is_bool(value);
    case KI_FIELD_TYPE_PRESENT:
        *(bool *)to = true;
        return true;
    case KI_FIELD_TYPE_DOUBLE:
        if (!yyjson_is_num(value))
            return false;
        double number = yyjson_get_num(value);
        memcpy(to, &number, sizeof number);
        return true;
    case KI_FIELD_TYPE_TIME:
        return fill_time(value, to);
    case KI_FIELD_TYPE_QUANTITY:
    case KI_FIELD_TYPE_MILLI:
        return fill_quantity(type, value, to);
    default:
        return fill_integer(type, value, to);
    }
}

/* Counts values of another type than their member, or out of range. */
static void note_misfits(ki_view_room *room, const member *m, size_t count) {
    room->mismatches += count;
    if (count)
        room->misfits |= m->bit;
}

typedef struct filling {
    const member *of;
    ki_view_room *room;
    char *items;
    size_t count;
} filling;

static void fill_members(const ki_view *view, yyjson_val *root, const ki_view_needs *needs, char *to,
                         ki_view_room *room);

static void fill_item(yyjson_val *name, yyjson_val *value, void *user) {
    filling *f = user;
    char *to = f->items + f->count * item_size(f->of);
    if (f->of->type == KI_FIELD_TYPE_LIST) {
        if (yyjson_is_obj(value)) {
            fill_members(f->of->elements, value, NULL, to, f->room);
            f->room->fits |= f->of->bit;
        } else {
            note_misfits(f->room, f->of, 1);
        }
    } else if (!yyjson_is_str(value)) {
        note_misfits(f->room, f->of, 1);
        return;
    } else if (name) {
        ki_string_pair pair = { .name = put_text(f->room, name) };
        pair.value = put_text(f->room, value);
        memcpy(to, &pair, sizeof pair);
    } else {
        const char *text = put_text(f->room, value);
        memcpy(to, &text, sizeof text);
    }
    f->count++;
}

static void count_item(yyjson_val *name, yyjson_val *value, void *user) {
    (void)name;
    filling *f = user;
    f->count += f->of->type == KI_FIELD_TYPE_LIST || yyjson_is_str(value);
}

static void fill_list(const member *of, yyjson_val *root, char *to, ki_view_room *room) {
    filling f = { of, room, room->arrays, 0 };
    walk_items(of, root, count_item, &f);
    /* Reserves the array first: the arrays of its structs come behind it. */
    memset(f.items, 0, f.count * item_size(of));
    room->arrays += round_up(f.count * item_size(of));
    ki_list list = { f.count ? f.items : NULL, f.count };
    memcpy(to, &list, sizeof list);
    f.count = 0;
    note_misfits(room, of, walk_items(of, root, fill_item, &f));
    if (of->type != KI_FIELD_TYPE_LIST && f.count)
        room->fits |= of->bit;
}

static void fill_labels(const member *of, yyjson_val *root, char *to, ki_view_room *room) {
    yyjson_val *labels = ki_path_find(of->path, root);
    const ki_string_map map = ki_string_map_of_labels(room->obj);
    if (yyjson_is_obj(labels)) {
        room->fits |= of->bit;
        note_misfits(room, of, yyjson_obj_size(labels) - map.count);
    } else {
        note_misfits(room, of, labels && !yyjson_is_null(labels));
    }
    memcpy(to, &map, sizeof map);
}

/* `needs` is NULL in the structs of a list. */
static void fill_members(const ki_view *view, yyjson_val *root, const ki_view_needs *needs, char *to,
                         ki_view_room *room) {
    for (size_t i = 0; i < view->count; i++) {
        const member *m = &view->members[i];
        if (m->shared == SHARED_LABELS) {
            fill_labels(m, root, to + m->offset, room);
            continue;
        }
        if (is_many(m->type)) {
            fill_list(m, root, to + m->offset, room);
            continue;
        }
        const ki_view_given *given = needs ? &needs->given : NULL;
        yyjson_val *value = needs && i < KI_VIEW_FOUND_MAX ? needs->found[i] : find_value(m, root, given);
        const char *text = needs && i < KI_VIEW_FOUND_MAX ? needs->texts[i] : NULL;
        if (!text && is_shared(m, value, given))
            text = shared_text(m, value, given, room);
        if (text)
            memcpy(to + m->offset, &text, sizeof text);
        else if (!value)
            continue;
        else if (!yyjson_is_null(value) && !fill_value(m->type, value, to + m->offset, room)) {
            note_misfits(room, m, 1);
            continue;
        }
        room->fits |= m->bit;
    }
}

void ki_view_fill(const ki_view *view, yyjson_val *root, const ki_view_needs *needs, void *to, ki_view_room *room) {
    fill_members(view, root, needs, to, room);
}

/* --- naming ------------------------------------------------------------------------------------------------------- */

typedef struct naming {
    uint64_t wanted, inside; /* bits of members that are named, and of lists whose structs are looked at */
    char *text;
    size_t size, used, named;
} naming;

/* `outer`: the path of the list that has the structs; "": of the object. */
static void name_members(const ki_view *view, const char *outer, naming *n, const char *before) {
    for (size_t i = 0; i < view->count && n->used < n->size; i++) {
        const member *m = &view->members[i];
        char path[KI_PATH_MAX_LENGTH];
        snprintf(path, sizeof path, "%s%s%s", outer, *outer && !strchr(".[", *m->text) ? "." : "", m->text);
        if (m->bit & n->wanted)
            n->used += (size_t)snprintf(n->text + n->used, n->size - n->used, "%s%s", n->named++ ? ", " : before, path);
        if (!m->elements || !(m->bit & n->inside))
            continue;
        size_t size = strlen(path);
        bool has_all = size >= 3 && strcmp(path + size - 3, "[*]") == 0;
        if (!has_all)
            snprintf(path + size, sizeof path - size, "[*]");
        name_members(m->elements, path, n, before);
    }
}

void ki_view_describe(const ki_view *view, uint64_t fits, uint64_t misfits, uint64_t elsewhere, char *text,
                      size_t size) {
    *text = '\0';
    naming n = { .wanted = ~(fits | misfits | elsewhere), .inside = fits, .text = text, .size = size };
    name_members(view, "", &n, "; none has ");
    n.wanted = misfits & ~fits;
    n.named = 0;
    name_members(view, "", &n, "; of another type or out of range: ");
}

/* --- moving ------------------------------------------------------------------------------------------------------- */

typedef struct moving {
    const char *from, *base;
    size_t size;
} moving;

/* Moves the pointer at `at`. NULL, and pointers to elsewhere, stay. */
static void *move_pointer(const moving *m, char *at) {
    const char *pointer;
    memcpy(&pointer, at, sizeof pointer);
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)m->from;
    if (offset < m->size) {
        pointer = m->base + offset;
        memcpy(at, &pointer, sizeof pointer);
    }
    return (void *)(uintptr_t)pointer; /* the arrays of a copy may be written to */
}

static void move_members(const moving *m, const ki_view *view, char *to);

static void move_list(const moving *m, const member *of, char *to) {
    char *item = move_pointer(m, to + offsetof(ki_list, items));
    size_t count, size = item_size(of);
    memcpy(&count, to + offsetof(ki_list, count), sizeof count);
    for (size_t i = 0; i < count; i++, item += size) {
        if (of->type == KI_FIELD_TYPE_LIST) {
            move_members(m, of->elements, item);
            continue;
        }
        (void)move_pointer(m, item);
        if (of->type == KI_FIELD_TYPE_STRING_MAP)
            (void)move_pointer(m, item + offsetof(ki_string_pair, value));
    }
}

static void move_members(const moving *m, const ki_view *view, char *to) {
    for (size_t i = 0; i < view->count; i++) {
        const member *of = &view->members[i];
        if (of->shared == SHARED_LABELS)
            (void)move_pointer(m, to + of->offset); /* to the object */
        else if (is_many(of->type))
            move_list(m, of, to + of->offset);
        else if (is_text(of->type))
            (void)move_pointer(m, to + of->offset);
    }
}

void ki_view_move(const ki_view *view, void *to, const char *from, const char *base, size_t size) {
    move_members(&(moving){ from, base, size }, view, to);
}

/* diff.c: see diff.h. Members are matched by sorting, because an array can have a hundred thousand of them. Any
 * thread. */
#include <kinformer/diff.h>

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/json.h"
#include "src/object/value.h"

#include <stdlib.h>

typedef struct diff {
    const ki_allocator *allocator;
    ki_buffer path; /* ends with a zero */
    bool (*visit)(const ki_field_difference *difference, void *user);
    void *user;
    ki_status failed;
    bool is_ended; /* by `visit`, or by a failure */
    int depth;
} diff;

enum {
    DEPTH_MAX = 1000 /* what lies deeper is compared as a whole */
};

static void fail_no_memory(diff *d) {
    d->failed = KI_ERR_NO_MEMORY;
    d->is_ended = true;
}

/* --- the path ----------------------------------------------------------------------------------------------------- */

/* Each returns the size before, for `leave`. */
static size_t enter_member(diff *d, ki_str name) {
    size_t size = d->path.size;
    bool is_bare = name.size > 0;
    for (size_t i = 0; i < name.size && is_bare; i++)
        is_bare = !memchr("./[]'\" ", name.data[i], 7);
    if (is_bare && size)
        ki_buffer_append_char(&d->path, '.');
    if (!is_bare)
        ki_buffer_append_string(&d->path, "['");
    ki_buffer_append_view(&d->path, name);
    if (!is_bare)
        ki_buffer_append_string(&d->path, "']");
    return size;
}

static size_t enter_element(diff *d, ki_str name, size_t place) {
    size_t size = d->path.size;
    if (name.data)
        ki_buffer_printf(&d->path, "[%.*s]", (int)name.size, name.data);
    else
        ki_buffer_printf(&d->path, "[%zu]", place);
    return size;
}

static void leave(diff *d, size_t size) {
    d->path.size = size;
}

/* --- one difference ----------------------------------------------------------------------------------------------- */

/* Returns a value that is borrowed from the document, except the text of arrays and objects. */
static bool open_value(diff *d, yyjson_val *from, ki_value *value) {
    ki_value_set_scalar(from, value);
    if (yyjson_is_str(from)) {
        value->text = (char *)(uintptr_t)yyjson_get_str(from);
        value->text_size = yyjson_get_len(from);
    } else if (yyjson_is_ctn(from)) {
        yyjson_alc alc = ki_json_allocator(d->allocator);
        value->text = yyjson_val_write_opts(from, YYJSON_WRITE_NOFLAG, &alc, &value->text_size, NULL);
        return value->text != NULL;
    }
    return true;
}

static void report(diff *d, yyjson_val *before, yyjson_val *after) {
    ki_value values[2] = { KI_VALUE_INIT, KI_VALUE_INIT };
    bool is_open = open_value(d, before, &values[0]) && open_value(d, after, &values[1]);
    if (!is_open || ki_buffer_append_char(&d->path, '\0')) {
        fail_no_memory(d);
    } else {
        const ki_field_difference difference = { d->path.data, before ? &values[0] : NULL, after ? &values[1] : NULL };
        d->is_ended = !d->visit(&difference, d->user);
        d->path.size--;
    }
    if (yyjson_is_ctn(before))
        ki_free(d->allocator, values[0].text);
    if (yyjson_is_ctn(after))
        ki_free(d->allocator, values[1].text);
}

/* --- matching members --------------------------------------------------------------------------------------------- */

typedef struct member {
    ki_str name; /* data is NULL: none */
    yyjson_val *value;
    size_t place;
    const struct member *other; /* its match in the other state; NULL: none */
} member;

/* The members of both states of an object or array, each in its own order. */
typedef struct pairing {
    member *before, *after; /* one block */
    size_t before_count, after_count;
} pairing;

static ki_str text_of(yyjson_val *text) {
    return (ki_str){ yyjson_get_str(text), yyjson_get_len(text) };
}

static ki_str name_of(yyjson_val *element) {
    static const char *const names[] = { "type", "name", "ip", "key", "uid" };
    if (yyjson_is_str(element))
        return text_of(element);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ki_str name = ki_json_string(element, names[i]);
        if (name.data)
            return name;
    }
    return (ki_str){ NULL, 0 };
}

static size_t take_members(yyjson_val *from, member *to) {
    size_t index, count;
    yyjson_val *name, *value;
    if (yyjson_is_obj(from)) {
        yyjson_obj_foreach(from, index, count, name, value) to[index] = (member){ text_of(name), value, index, NULL };
    } else {
        yyjson_arr_foreach(from, index, count, value) to[index] = (member){ name_of(value), value, index, NULL };
    }
    return count;
}

static int compare_names(const member *a, const member *b) {
    if (!a->name.data || !b->name.data)
        return (a->name.data != NULL) - (b->name.data != NULL);
    return ki_str_order(a->name, b->name);
}

static int by_name_and_place(const void *a, const void *b) {
    const member *const *left = a;
    const member *const *right = b;
    int order = compare_names(*left, *right);
    return order ? order : ((*left)->place > (*right)->place) - ((*left)->place < (*right)->place);
}

/* Matches members of the same name, the first with the first and the second with the second. */
static bool match(const ki_allocator *allocator, pairing *p) {
    member **sorted = ki_alloc(allocator, (p->before_count + p->after_count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    member **before = sorted, **after = sorted + p->before_count;
    for (size_t i = 0; i < p->before_count; i++)
        before[i] = &p->before[i];
    for (size_t i = 0; i < p->after_count; i++)
        after[i] = &p->after[i];
    qsort(before, p->before_count, sizeof *before, by_name_and_place);
    qsort(after, p->after_count, sizeof *after, by_name_and_place);
    for (size_t i = 0, j = 0; i < p->before_count && j < p->after_count;) {
        int order = compare_names(before[i], after[j]);
        if (order == 0) {
            before[i]->other = after[j];
            after[j]->other = before[i];
        }
        i += order <= 0;
        j += order >= 0;
    }
    ki_free(allocator, sorted);
    return true;
}

static size_t count_of(yyjson_val *container) {
    return yyjson_is_obj(container) ? yyjson_obj_size(container) : yyjson_arr_size(container);
}

static bool open_pairing(const ki_allocator *allocator, pairing *p, yyjson_val *before, yyjson_val *after) {
    p->before = ki_alloc(allocator, (count_of(before) + count_of(after) + 1) * sizeof *p->before);
    if (!p->before)
        return false;
    p->before_count = take_members(before, p->before);
    p->after = p->before + p->before_count;
    p->after_count = take_members(after, p->after);
    if (match(allocator, p))
        return true;
    ki_free(allocator, p->before);
    return false;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static void compare(diff *d, yyjson_val *before, yyjson_val *after);

/* Compares one member of an object or array with its match. An element without a match is one difference. */
static void compare_member(diff *d, const member *m, bool is_object, bool is_new) {
    size_t up = is_object ? enter_member(d, m->name) : enter_element(d, m->name, m->place);
    d->depth++;
    yyjson_val *other = m->other ? m->other->value : NULL;
    if (!is_object && !other)
        report(d, is_new ? NULL : m->value, is_new ? m->value : NULL);
    else
        compare(d, is_new ? other : m->value, is_new ? m->value : other);
    d->depth--;
    leave(d, up);
}

static void compare_members(diff *d, yyjson_val *before, yyjson_val *after) {
    bool is_object = yyjson_is_obj(after ? after : before);
    pairing p;
    if (!open_pairing(d->allocator, &p, before, after)) {
        fail_no_memory(d);
        return;
    }
    for (size_t i = 0; i < p.after_count && !d->is_ended; i++) {
        if (is_object || p.after[i].other)
            compare_member(d, &p.after[i], is_object, true);
    }
    for (size_t i = 0; i < p.after_count && !d->is_ended; i++) {
        if (!is_object && !p.after[i].other)
            compare_member(d, &p.after[i], is_object, true);
    }
    for (size_t i = 0; i < p.before_count && !d->is_ended; i++) {
        if (!p.before[i].other)
            compare_member(d, &p.before[i], is_object, false);
    }
    ki_free(d->allocator, p.before);
}

/* Returns true for an object or array that can be compared member by member with `other`, and for a missing value. */
static bool can_be_entered(yyjson_val *value, yyjson_val *other) {
    if (!value)
        return true;
    if (!other && count_of(value) == 0)
        return false;
    return yyjson_is_ctn(value);
}

/* Compares two values; NULL: missing. yyjson_equals is for scalars only: it looks up each name of an object
 * linearly. */
static void compare(diff *d, yyjson_val *before, yyjson_val *after) {
    bool is_alike = !before || !after || yyjson_get_type(before) == yyjson_get_type(after);
    bool is_removed = !after && yyjson_is_obj(before);
    if (d->path.failed)
        fail_no_memory(d);
    else if (is_alike && !is_removed && can_be_entered(before, after) && can_be_entered(after, before) &&
             d->depth < DEPTH_MAX)
        compare_members(d, before, after);
    else if (!before || !after || yyjson_is_ctn(before) || yyjson_is_ctn(after) || !yyjson_equals(before, after))
        report(d, before, after);
}

ki_status ki_object_diff(const ki_object *before, const ki_object *after,
                         bool (*visit)(const ki_field_difference *difference, void *user) KI_NOEXCEPT, void *user,
                         ki_error *err) {
    if (!before || !after || !visit)
        return ki_error_missing(err, "ki_object_diff");
    if (ki_object_check_content(before, err) || ki_object_check_content(after, err))
        return KI_ERR_STATE;
    if (before->is_partial != after->is_partial)
        return ki_error_set(err, KI_ERR_STATE, "%s: one of two states has metadata alone, so they are not compared",
                            ki_object_key(after));
    const ki_allocator *allocator = &ki_format_of(after)->allocator;
    yyjson_doc *old_doc = NULL, *new_doc = NULL;
    ki_status status = ki_body_parse(before, allocator, &old_doc, err);
    if (!status)
        status = ki_body_parse(after, allocator, &new_doc, err);
    if (!status) {
        diff d = { .allocator = allocator, .visit = visit, .user = user };
        ki_buffer_init(&d.path, allocator, 0);
        compare(&d, yyjson_doc_get_root(old_doc), yyjson_doc_get_root(new_doc));
        ki_buffer_free(&d.path);
        if (d.failed)
            status = ki_error_no_memory(err, "comparing objects");
    }
    yyjson_doc_free(old_doc);
    yyjson_doc_free(new_doc);
    return status;
}

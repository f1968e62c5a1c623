/* format.c: what all objects of one informer share: allocator, view, interned names. */
#include "src/object/format.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/object.h"

struct ki_interned {
    ki_interned *next;
    size_t depth; /* number of entries from here to the end */
    size_t size;
    char text[];
};

static size_t size_of_type(ki_field_type type) {
    switch (type) {
    case KI_FIELD_TYPE_STRING:
        return sizeof(const char *);
    case KI_FIELD_TYPE_BOOL:
        return sizeof(bool);
    case KI_FIELD_TYPE_INT32:
    case KI_FIELD_TYPE_UINT32:
        return 4;
    case KI_FIELD_TYPE_INT64:
    case KI_FIELD_TYPE_UINT64:
        return 8;
    case KI_FIELD_TYPE_DOUBLE:
        return sizeof(double);
    case KI_FIELD_TYPE_END:
        break;
    }
    return 0;
}

static ki_status add_field(ki_object_format *format, const ki_field *field, ki_error *err) {
    size_t number = format->field_count;
    if (number == KI_VIEW_MAX_FIELDS)
        return ki_error_set(err, KI_ERR_LIMIT, "a view has at most %d fields", KI_VIEW_MAX_FIELDS);
    if (field->struct_size > KI_VIEW_MAX_SIZE)
        return ki_error_set(err, KI_ERR_LIMIT, "a view's struct has at most %d bytes, this one has %zu",
                            KI_VIEW_MAX_SIZE, field->struct_size);
    if (number && field->struct_size != format->view_size)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" is of another struct than the first", field->path);
    size_t size = size_of_type(field->type);
    if (!size)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" has no such type: %d", field->path,
                            (int)field->type);
    /* Some 32-bit ABIs align 8-byte members to 4 bytes. */
    size_t alignment = size < sizeof(void *) ? size : sizeof(void *);
    if (field->struct_size < size || field->offset > field->struct_size - size || field->offset % alignment)
        return ki_error_set(err, KI_ERR_INVALID, "view field \"%s\" is not inside its struct", field->path);
    ki_path *path;
    ki_status status = ki_path_parse(&format->allocator, field->path, &path, err);
    if (status)
        return status;
    format->fields[format->field_count++] = (ki_view_field){ path, field->offset, field->type };
    format->view_size = field->struct_size;
    return KI_OK;
}

ki_status ki_object_format_new(const ki_allocator *allocator, const ki_object_format_options *options,
                               ki_object_format **ret_format, ki_error *err) {
    ki_object_format *format = ki_alloc_zero(allocator, sizeof *format);
    if (!format)
        return ki_error_no_memory(err, "making an object format");
    format->allocator = *allocator;
    format->keep_managed_fields = options && options->keep_managed_fields;
    ki_refcount_init(&format->refs);
    atomic_init(&format->interned, NULL);
    const ki_field *field = options ? options->view : NULL;
    for (; field && field->path; field++) {
        ki_status status = add_field(format, field, err);
        if (status) {
            ki_object_format_unref(format);
            return status;
        }
    }
    *ret_format = format;
    return KI_OK;
}

ki_object_format *ki_object_format_ref(ki_object_format *format) {
    ki_refcount_inc(&format->refs);
    return format;
}

void ki_object_format_unref(ki_object_format *format) {
    if (!format || !ki_refcount_dec(&format->refs))
        return;
    ki_allocator allocator = format->allocator;
    for (size_t i = 0; i < format->field_count; i++)
        ki_path_free(&allocator, format->fields[i].path);
    ki_interned *interned = atomic_load(&format->interned);
    while (interned) {
        ki_interned *next = interned->next;
        ki_free(&allocator, interned);
        interned = next;
    }
    ki_free(&allocator, format);
}

bool ki_object_format_has_view(const ki_object_format *format) {
    return format->view_size > 0;
}

bool ki_object_format_same_view(const ki_object_format *a, const ki_object_format *b) {
    bool same = a->view_size == b->view_size && a->field_count == b->field_count;
    for (size_t i = 0; same && i < a->field_count; i++) {
        const ki_view_field *one = &a->fields[i], *other = &b->fields[i];
        same = one->offset == other->offset && one->type == other->type && ki_path_equal(one->path, other->path);
    }
    return same;
}

const ki_allocator *ki_object_format_allocator(const ki_object_format *format) {
    return &format->allocator;
}

static const ki_interned *find(const ki_interned *list, ki_str text) {
    while (list && !ki_str_equal((ki_str){ list->text, list->size }, text))
        list = list->next;
    return list;
}

const char *ki_object_format_intern(ki_object_format *format, ki_str text) {
    ki_interned *head = atomic_load_explicit(&format->interned, memory_order_acquire);
    const ki_interned *found = find(head, text);
    if (found)
        return found->text;
    if (head && head->depth >= KI_OBJECT_FORMAT_MAX_NAMES)
        return NULL;
    ki_interned *added = ki_alloc(&format->allocator, sizeof *added + text.size + 1);
    if (!added)
        return NULL;
    added->size = text.size;
    memcpy(added->text, text.data, text.size);
    added->text[text.size] = '\0';
    do {
        added->next = head;
        added->depth = head ? head->depth + 1 : 1;
        /* Two threads can add the same name at once; the duplicate only costs some bytes. */
    } while (!atomic_compare_exchange_weak_explicit(&format->interned, &head, added, memory_order_release,
                                                    memory_order_acquire));
    return added->text;
}

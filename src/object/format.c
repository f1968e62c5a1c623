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

ki_status ki_object_format_new(const ki_allocator *allocator, const ki_object_format_options *options,
                               ki_object_format **ret_format, ki_error *err) {
    ki_object_format *format = ki_alloc_zero(allocator, sizeof *format);
    if (!format)
        return ki_error_no_memory(err, "making an object format");
    format->allocator = *allocator;
    format->keep_managed_fields = options && options->keep_managed_fields;
    ki_refcount_init(&format->refs);
    atomic_init(&format->interned, NULL);
    atomic_init(&format->mismatches, 0);
    if (options && options->view && options->view->path) {
        ki_status status = ki_view_new(allocator, options->view, &format->view, err);
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
    ki_view_free(&allocator, format->view);
    ki_interned *interned = atomic_load(&format->interned);
    while (interned) {
        ki_interned *next = interned->next;
        ki_free(&allocator, interned);
        interned = next;
    }
    ki_free(&allocator, format);
}

bool ki_object_format_has_view(const ki_object_format *format) {
    return format->view != NULL;
}

bool ki_object_format_same_view(const ki_object_format *a, const ki_object_format *b) {
    return ki_view_equal(a->view, b->view);
}

uint64_t ki_object_format_mismatches(const ki_object_format *format) {
    return atomic_load_explicit(&format->mismatches, memory_order_relaxed);
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

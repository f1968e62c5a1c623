/* format.c: what all objects of one informer share: allocator, view, groups. */
#include "src/object/format.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/object/object.h"

#include <stdio.h>
#include <string.h>

static ki_object_format *new_format(const ki_allocator *allocator, bool keep_managed_fields) {
    ki_object_format *format = ki_alloc_zero(allocator, sizeof *format);
    if (!format)
        return NULL;
    format->allocator = *allocator;
    format->keep_managed_fields = format->reads_managed_fields = keep_managed_fields;
    ki_refcount_init(&format->refs);
    atomic_flag_clear(&format->groups.lock);
    atomic_init(&format->groups.bytes, 0);
    atomic_init(&format->mismatches, 0);
    atomic_init(&format->fits, 0);
    atomic_init(&format->misfits, 0);
    ki_group_table_init(&format->groups);
    ki_body_packer_init(&format->packer, &format->allocator, NULL, 0);
    return format;
}

ki_status ki_object_format_new(const ki_allocator *allocator, const ki_object_format_options *options,
                               ki_object_format **ret_format, ki_error *err) {
    if (!ret_format)
        return ki_error_missing(err, "ki_object_format_new");
    ki_object_format_options given;
    if (KI_OPTIONS_TAKE(options, &given, "KI_OBJECT_FORMAT_OPTIONS", err))
        return KI_ERR_INVALID;
    if (!allocator)
        allocator = &ki_allocator_default;
    ki_object_format *format = new_format(allocator, given.keep_managed_fields);
    if (!format)
        return ki_error_no_memory(err, "making an object format");
    if (given.view && given.view->path) {
        ki_status status = ki_view_new(allocator, given.view, &format->view, err);
        if (status) {
            ki_object_format_unref(format);
            return status;
        }
        format->reads_managed_fields |= ki_view_reads(format->view, "metadata", "managedFields");
    }
    *ret_format = format;
    return KI_OK;
}

static bool has_fields(const ki_field *fields) {
    return fields && fields->path;
}

bool ki_fields_are_same(const ki_field *a, const ki_field *b) {
    if (a == b)
        return true;
    for (; has_fields(a) && has_fields(b); a++, b++)
        if (strcmp(a->path, b->path) != 0 || a->offset != b->offset || a->struct_size != b->struct_size ||
            a->type != b->type || !ki_fields_are_same(a->elements, b->elements))
            return false;
    return !has_fields(a) && !has_fields(b);
}

const char *ki_fields_name(const ki_field *fields, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, has_fields(fields) ? "a view of " : "no view");
    for (const ki_field *field = fields; has_fields(field) && used < size; field++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", field == fields ? "" : ", ", field->path);
    if (used >= size)
        memcpy(text + size - sizeof "...", "...", sizeof "...");
    return text;
}

ki_object_format *ki_object_format_ref(ki_object_format *format) {
    ki_refcount_inc(&format->refs);
    return format;
}

void ki_object_format_unref(ki_object_format *format) {
    if (!format || !ki_refcount_dec(&format->refs))
        return;
    ki_allocator allocator = format->allocator;
    ki_body_packer_free(&format->packer);
    ki_view_free(&allocator, format->view);
    ki_free(&allocator, format);
}

void ki_object_format_set_keep(ki_object_format *format, ki_keep keep) {
    format->keep = keep;
}

void ki_object_format_set_seed(ki_object_format *format, uint64_t seed) {
    format->groups.seed = seed;
}

void ki_object_format_set_transform(ki_object_format *format) {
    atomic_store(&format->is_for_transform, true);
}

bool ki_object_format_has_view(const ki_object_format *format) {
    return format->view != NULL;
}

bool ki_object_format_has_labels(const ki_object_format *format) {
    return format->view && ki_view_has_labels(format->view);
}

uint64_t ki_object_format_mismatches(const ki_object_format *format) {
    return atomic_load_explicit(&format->mismatches, memory_order_relaxed);
}

uint64_t ki_object_format_seen_fields(const ki_object_format *format) {
    return atomic_load_explicit(&format->fits, memory_order_relaxed) |
           atomic_load_explicit(&format->misfits, memory_order_relaxed);
}

bool ki_object_format_describe_fields(const ki_object_format *format, uint64_t elsewhere, char *text, size_t size) {
    uint64_t fits = atomic_load_explicit(&format->fits, memory_order_relaxed);
    uint64_t misfits = atomic_load_explicit(&format->misfits, memory_order_relaxed);
    *text = '\0';
    if (format->view)
        ki_view_describe(format->view, fits, misfits, elsewhere, text, size);
    return misfits & ~fits;
}

const ki_allocator *ki_object_format_allocator(const ki_object_format *format) {
    return &format->allocator;
}

size_t ki_object_format_base_bytes(const ki_object_format *format) {
    return atomic_load_explicit(&format->packer.bases.bytes, memory_order_relaxed);
}

size_t ki_object_format_group_bytes(const ki_object_format *format) {
    return atomic_load_explicit(&format->groups.bytes, memory_order_relaxed);
}

/* format.c: what all objects of one informer share: allocator, view, groups. */
#include "src/object/format.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/object.h"
#include "src/object/pack.h"

static size_t count_fields(const ki_field *fields) {
    size_t count = 0;
    while (fields[count].path && count <= KI_VIEW_MAX_FIELDS)
        count++;
    return count;
}

/* Adds the fields of a part behind `*count` ones, for a struct that begins at `offset` in one of `size` bytes. */
static void append_fields(ki_field *all, size_t *count, const ki_view_part *part, size_t size) {
    for (size_t i = 0; i < part->count; i++) {
        ki_field *field = &all[(*count)++];
        *field = part->fields[i];
        field->offset += part->offset;
        field->struct_size = size;
    }
}

/* Makes the view of all parts: one struct that has theirs one behind the other. */
static ki_status make_view(ki_object_format *format, ki_error *err) {
    const ki_view_part *last = &format->parts[format->part_count - 1];
    size_t count = 0;
    ki_field *all = ki_alloc_array(&format->allocator, last->first + last->count + 1, sizeof *all);
    if (!all)
        return ki_error_no_memory(err, "making a view");
    for (size_t i = 0; i < format->part_count; i++)
        append_fields(all, &count, &format->parts[i], last->offset + last->size);
    all[count] = (ki_field)KI_FIELD_END;
    ki_status status = ki_view_new(&format->allocator, all, &format->view, err);
    ki_free(&format->allocator, all);
    if (!status)
        format->reads_managed_fields |= ki_view_reads(format->view, "metadata", "managedFields");
    return status;
}

static void add_part(ki_object_format *format, const ki_field *fields) {
    size_t number = format->part_count++;
    ki_view_part *part = &format->parts[number];
    *part = (ki_view_part){ .fields = fields, .count = count_fields(fields), .size = fields->struct_size };
    if (number == 0)
        return;
    const ki_view_part *before = part - 1;
    part->first = before->first + before->count;
    part->offset = (before->offset + before->size + 7) / 8 * 8;
}

/* The format has room for `part_count` parts, and none yet. */
static ki_object_format *new_format(const ki_allocator *allocator, bool keep_managed_fields, size_t part_count) {
    size_t size = sizeof(ki_object_format) + part_count * sizeof(ki_view_part);
    size_t seen_size = part_count ? KI_TEXT_SEEN * sizeof(_Atomic uint32_t) : 0;
    ki_object_format *format = ki_alloc_zero(allocator, size + seen_size);
    if (!format)
        return NULL;
    if (part_count)
        format->groups.seen = (_Atomic uint32_t *)(format->parts + part_count);
    format->allocator = *allocator;
    format->keep_managed_fields = format->reads_managed_fields = keep_managed_fields;
    ki_refcount_init(&format->refs);
    atomic_init(&format->wider, NULL);
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
    ki_object_format_options given = { .size = sizeof given };
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID,
                            "ki_object_format_options without a size: use KI_OBJECT_FORMAT_OPTIONS()");
    if (options)
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    if (!allocator)
        allocator = &ki_allocator_default;
    bool has_view = given.view && given.view->path;
    ki_object_format *format = new_format(allocator, given.keep_managed_fields, has_view);
    if (!format)
        return ki_error_no_memory(err, "making an object format");
    if (has_view) {
        ki_status status = ki_view_new(allocator, given.view, &format->view, err);
        if (status) {
            ki_object_format_unref(format);
            return status;
        }
        format->reads_managed_fields |= ki_view_reads(format->view, "metadata", "managedFields");
        add_part(format, given.view);
    }
    *ret_format = format;
    return KI_OK;
}

ki_object_format *ki_object_format_newest(ki_object_format *format) {
    ki_object_format *wider;
    while ((wider = atomic_load_explicit(&format->wider, memory_order_acquire)) != NULL)
        format = wider;
    return format;
}

ki_status ki_object_format_add_view(ki_object_format *format, const ki_field *fields, ki_object_format **ret_format,
                                    ki_error *err) {
    format = ki_object_format_newest(format);
    if (format->part_count == KI_OBJECT_FORMAT_MAX_VIEWS)
        return ki_error_set(err, KI_ERR_LIMIT, "at most %d views of one informer", KI_OBJECT_FORMAT_MAX_VIEWS);
    ki_object_format *wider = new_format(&format->allocator, format->keep_managed_fields, format->part_count + 1);
    if (!wider)
        return ki_error_no_memory(err, "making an object format");
    wider->keep = format->keep;
    wider->groups.seed = format->groups.seed;
    ki_object_format_set_pack(wider, format->packer.contexts, format->packer.pack_from);
    atomic_store(&wider->is_for_transform, atomic_load(&format->is_for_transform));
    wider->narrower = ki_object_format_ref(format);
    if (format->part_count)
        memcpy(wider->parts, format->parts, format->part_count * sizeof *format->parts);
    wider->part_count = format->part_count;
    add_part(wider, fields);
    ki_status status = make_view(wider, err);
    if (status) {
        ki_object_format_unref(wider);
        return status;
    }
    atomic_store_explicit(&format->wider, wider, memory_order_release);
    *ret_format = wider;
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
    ki_body_packer_free(&format->packer);
    ki_view_free(&allocator, format->view);
    ki_object_format_unref(format->narrower);
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

static bool are_same_fields(const ki_field *a, const ki_field *b) {
    if (a == b)
        return true;
    for (; a && b && a->path && b->path; a++, b++)
        if (strcmp(a->path, b->path) != 0 || a->offset != b->offset || a->struct_size != b->struct_size ||
            a->type != b->type || !are_same_fields(a->elements, b->elements))
            return false;
    return a && b && !a->path && !b->path;
}

int ki_object_format_find_view(const ki_object_format *format, const ki_field *fields) {
    for (size_t i = 0; i < format->part_count; i++)
        if (are_same_fields(format->parts[i].fields, fields))
            return (int)i;
    return -1;
}

uint64_t ki_object_format_mismatches(const ki_object_format *format) {
    uint64_t mismatches = 0;
    for (; format; format = format->narrower)
        mismatches += atomic_load_explicit(&format->mismatches, memory_order_relaxed);
    return mismatches;
}

typedef struct seen_fields {
    uint64_t fits, misfits;
} seen_fields;

static seen_fields seen_of(const ki_object_format *format) {
    seen_fields seen = { 0, 0 };
    for (; format; format = format->narrower) {
        seen.fits |= atomic_load_explicit(&format->fits, memory_order_relaxed);
        seen.misfits |= atomic_load_explicit(&format->misfits, memory_order_relaxed);
    }
    return seen;
}

uint64_t ki_object_format_seen_fields(const ki_object_format *format) {
    seen_fields seen = seen_of(format);
    return seen.fits | seen.misfits;
}

void ki_object_format_describe_fields(const ki_object_format *format, uint64_t elsewhere, char *text, size_t size) {
    seen_fields seen = seen_of(format);
    *text = '\0';
    if (format->view)
        ki_view_describe(format->view, seen.fits, seen.misfits, elsewhere, text, size);
}

const ki_allocator *ki_object_format_allocator(const ki_object_format *format) {
    return &format->allocator;
}

size_t ki_object_format_group_bytes(const ki_object_format *format) {
    size_t bytes = 0;
    for (; format; format = format->narrower)
        bytes += atomic_load_explicit(&format->groups.bytes, memory_order_relaxed);
    return bytes;
}

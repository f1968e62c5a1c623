/* strict.c: reads a custom resource by its schema: notes unknown and duplicate fields (fieldValidation), keeps the
 * last duplicate, and reads metadata by its type. Recursive: json.h limits the depth of bodies. */
#include "testing/schema/strict.h"
#include "testing/crd/custom.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <stdlib.h>

#define MOST_WHOLE 9007199254740992.0 /* 2^53: all whole numbers up to it are doubles */

typedef struct reader {
    kt_strict *out;
    ki_buffer path;
    ki_str *unknown; /* paths; sorted at the end */
    size_t unknown_count;
    const kt_structural *structural;
} reader;

static void note(reader *r, const char *what, ki_str path) {
    ki_buffer *notes = &r->out->notes;
    if (r->out->note_count++ >= KT_STRICT_NOTES_MAX)
        return;
    ki_buffer_printf(notes, "%s%s ", notes->size ? "\n" : "", what);
    ki_buffer_append_json_string(notes, path);
    if (notes->failed)
        r->out->arena->failed = true;
}

static void note_unknown(reader *r) {
    if (r->unknown_count < KT_STRICT_NOTES_MAX)
        r->unknown[r->unknown_count++] = kt_arena_copy(r->out->arena, (ki_str){ r->path.data, r->path.size });
}

static int compare(const void *a, const void *b) {
    const ki_str *left = a, *right = b;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = size ? memcmp(left->data, right->data, size) : 0;
    return order ? order : (left->size > right->size) - (left->size < right->size);
}

static yyjson_mut_val *checked(reader *r, yyjson_mut_val *val) {
    if (!val)
        r->out->arena->failed = true;
    return val;
}

static bool is_type_meta(ki_str name) {
    return ki_str_equals(name, "apiVersion") || ki_str_equals(name, "kind") || ki_str_equals(name, "metadata");
}

/* Returns the schema of a member; NULL if the member can have any value. */
static yyjson_val *schema_of(reader *r, yyjson_val *schema, ki_str name, bool is_root, bool *ret_known) {
    yyjson_val *more = yyjson_obj_get(schema, "additionalProperties");
    bool is_embedded = is_root || yyjson_get_bool(yyjson_obj_get(schema, "x-kubernetes-embedded-resource"));
    *ret_known = true;
    if (!schema || (is_embedded && is_type_meta(name)))
        return NULL;
    yyjson_val *known = kt_structural_property(r->structural, schema, name);
    if (known || yyjson_is_obj(more))
        return known ? known : more;
    *ret_known =
        yyjson_get_bool(more) || yyjson_get_bool(yyjson_obj_get(schema, "x-kubernetes-preserve-unknown-fields"));
    return NULL;
}

static yyjson_mut_val *read_value(reader *r, yyjson_val *schema, yyjson_val *val, bool is_root);

static yyjson_mut_val *read_object(reader *r, yyjson_val *schema, yyjson_val *obj, bool is_root) {
    yyjson_mut_doc *doc = r->out->doc;
    yyjson_mut_val *made = checked(r, yyjson_mut_obj(doc));
    size_t start = r->path.size;
    kt_index index;
    kt_index_members(r->out->arena, obj, &index);
    for (size_t i = 0; i < index.count && !r->out->arena->failed; i++) {
        const kt_entry *one = &index.entries[i];
        bool is_known;
        yyjson_val *below = schema_of(r, schema, one->name, is_root, &is_known);
        ki_buffer_append_string(&r->path, start ? "." : "");
        ki_buffer_append_view(&r->path, one->name);
        if (!is_known)
            note_unknown(r);
        if (index.has_duplicates && kt_index_find(&index, one->name) != one)
            note(r, "duplicate field", (ki_str){ r->path.data, r->path.size });
        if (!index.has_duplicates || kt_index_find_last(&index, one->name) == one) {
            yyjson_mut_val *key = checked(r, yyjson_mut_strncpy(doc, one->name.data, one->name.size));
            yyjson_mut_val *val = read_value(r, below, one->val, false);
            if (!key || !val || !yyjson_mut_obj_add(made, key, val))
                r->out->arena->failed = true;
        }
        r->path.size = start;
    }
    return made;
}

/* Returns true for 1E3 and 1.0, which Go writes as 1000 and 1. */
static bool is_whole(double number) {
    return number >= -MOST_WHOLE && number <= MOST_WHOLE && (double)(int64_t)number == number;
}

static yyjson_mut_val *read_value(reader *r, yyjson_val *schema, yyjson_val *val, bool is_root) {
    size_t start = r->path.size, index, count;
    yyjson_val *items = yyjson_obj_get(schema, "items"), *element;
    if (yyjson_is_obj(val))
        return read_object(r, schema, val, is_root);
    if (yyjson_is_real(val) && is_whole(yyjson_get_real(val)))
        return checked(r, yyjson_mut_sint(r->out->doc, (int64_t)yyjson_get_real(val)));
    if (!yyjson_is_arr(val))
        return checked(r, yyjson_val_mut_copy(r->out->doc, val));
    yyjson_mut_val *made = checked(r, yyjson_mut_arr(r->out->doc));
    yyjson_arr_foreach(val, index, count, element) {
        if (r->out->arena->failed)
            return NULL;
        ki_buffer_printf(&r->path, "[%zu]", index);
        yyjson_mut_val *one = read_value(r, items, element, false);
        if (!one || !yyjson_mut_arr_append(made, one))
            r->out->arena->failed = true;
        r->path.size = start;
    }
    return made;
}

/* Reads metadata by its type, which is the same in every built-in kind. NULL on a value of the wrong type or without
 * memory. */
static yyjson_mut_val *read_metadata(reader *r, yyjson_val *meta) {
    const kt_type *type = kt_schema_kind(KI_STR(""), KI_STR("v1"), KI_STR("Pod"));
    const ki_allocator *allocator = r->out->arena->allocator;
    yyjson_mut_val *made = NULL;
    yyjson_doc *doc = NULL;
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    ki_buffer_append_string(&text, "{\"metadata\":");
    kt_json_append(&text, meta);
    ki_buffer_append_char(&text, '}');
    if (text.failed || kt_json_read_trusted(allocator, (ki_str){ text.data, text.size }, &doc, NULL))
        r->out->arena->failed = true;
    else
        made = kt_strict_read(r->out, kt_schema_builtin(), type, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    ki_buffer_free(&text);
    return made ? yyjson_mut_obj_get(made, "metadata") : NULL;
}

/* Replaces metadata by its typed copy. */
static void type_metadata(reader *r, yyjson_mut_val *made, yyjson_val *meta) {
    yyjson_mut_val *typed = read_metadata(r, meta);
    if (!typed || r->out->error.size)
        return;
    yyjson_mut_val *key = checked(r, yyjson_mut_str(r->out->doc, "metadata"));
    if (key && !yyjson_mut_obj_put(made, key, typed))
        r->out->arena->failed = true;
}

yyjson_mut_val *kt_custom_read(kt_strict *strict, const kt_custom *custom, yyjson_val *root) {
    reader r = { .out = strict, .structural = &custom->structural };
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    r.unknown = kt_arena_alloc(strict->arena, KT_STRICT_NOTES_MAX * sizeof *r.unknown);
    if (!r.unknown)
        return NULL;
    ki_buffer_init(&r.path, strict->arena->allocator, 0);
    yyjson_mut_val *made = read_value(&r, custom->preserves ? NULL : custom->schema, root, true);
    if (r.path.failed)
        strict->arena->failed = true;
    if (!strict->arena->failed && yyjson_is_obj(meta))
        type_metadata(&r, made, meta);
    qsort(r.unknown, r.unknown_count, sizeof *r.unknown, compare);
    for (size_t i = 0; i < r.unknown_count && !strict->arena->failed; i++)
        note(&r, "unknown field", r.unknown[i]);
    ki_buffer_free(&r.path);
    return strict->arena->failed || strict->error.size ? NULL : made;
}

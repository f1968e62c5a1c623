/* secret.c: see secret.h. */
#include "testing/schema/secret.h"

#include "testing/values/base64.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <string.h>

/* Adds a member. `val` NULL: an allocation failed. */
static void add_member(kt_arena *arena, yyjson_mut_doc *doc, yyjson_mut_val *obj, ki_str name, yyjson_mut_val *val) {
    yyjson_mut_val *key = yyjson_mut_strncpy(doc, name.data, name.size);
    if (!key || !val || !yyjson_mut_obj_add(obj, key, val))
        arena->failed = true;
}

static yyjson_mut_val *encode(kt_arena *arena, yyjson_mut_doc *doc, ki_str plain) {
    ki_buffer text;
    ki_buffer_init(&text, arena->allocator, 0);
    kt_base64_append(&text, plain);
    yyjson_mut_val *val =
        text.failed ? NULL : yyjson_mut_strncpy(doc, text.data + 1, text.size - 2); /* without its quotes */
    ki_buffer_free(&text);
    return val;
}

static yyjson_mut_val *data_of(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *data, yyjson_val *strings) {
    yyjson_mut_val *made = yyjson_mut_obj(doc);
    kt_index old, given;
    kt_index_members(arena, data, &old);
    kt_index_members(arena, strings, &given);
    for (size_t i = 0; made && i < old.count && !arena->failed; i++) {
        const kt_entry *one = &old.entries[i], *other = kt_index_find(&given, one->name);
        if (!other || !yyjson_is_str(other->val))
            add_member(arena, doc, made, one->name, yyjson_val_mut_copy(doc, one->val));
    }
    for (size_t i = 0; made && i < given.count && !arena->failed; i++) {
        const kt_entry *one = &given.entries[i];
        if (yyjson_is_str(one->val))
            add_member(arena, doc, made, one->name, encode(arena, doc, kt_json_str(one->val)));
    }
    return made;
}

static yyjson_mut_val *fold(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *root) {
    yyjson_mut_val *made = yyjson_mut_obj(doc);
    size_t index, count;
    yyjson_val *key, *val;
    if (!made)
        return NULL;
    yyjson_val *strings = yyjson_obj_get(root, "stringData"), *data = yyjson_obj_get(root, "data");
    yyjson_obj_foreach(root, index, count, key, val) {
        if (!yyjson_equals_str(key, "stringData") && !yyjson_equals_str(key, "data"))
            add_member(arena, doc, made, kt_json_str(key), yyjson_val_mut_copy(doc, val));
    }
    if (yyjson_obj_size(strings) || yyjson_obj_size(data))
        add_member(arena, doc, made, KI_STR("data"), data_of(arena, doc, data, strings));
    return made;
}

ki_status kt_secret_merge_string_data(const ki_allocator *allocator, yyjson_doc **doc) {
    yyjson_val *root = yyjson_doc_get_root(*doc);
    if (!yyjson_obj_get(root, "stringData"))
        return KI_OK;
    yyjson_alc alc = kt_json_alc(allocator);
    yyjson_mut_doc *made = yyjson_mut_doc_new(&alc);
    if (!made)
        return KI_ERR_NO_MEMORY;
    kt_arena arena;
    yyjson_doc *folded = NULL;
    kt_arena_init(&arena, allocator);
    yyjson_mut_val *val = fold(&arena, made, root);
    ki_status status = arena.failed ? KI_ERR_NO_MEMORY : kt_json_freeze(allocator, val, &folded);
    if (!status) {
        yyjson_doc_free(*doc);
        *doc = folded;
    }
    kt_arena_free(&arena);
    yyjson_mut_doc_free(made);
    return status;
}

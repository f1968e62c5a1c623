/* index.c: see index.h. */
#include "testing/values/index.h"

#include "testing/values/json.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const kt_entry *left = *(kt_entry *const *)a, *right = *(kt_entry *const *)b;
    int order = ki_str_order(left->name, right->name);
    return order ? order : (left->position > right->position) - (left->position < right->position);
}

static void allocate(kt_arena *arena, size_t count, kt_index *ret_index) {
    *ret_index = (kt_index){ .count = 0 };
    if (!count)
        return;
    ret_index->entries = kt_arena_alloc(arena, count * sizeof *ret_index->entries);
    ret_index->sorted = kt_arena_alloc(arena, count * sizeof *ret_index->sorted);
    if (ret_index->entries && ret_index->sorted)
        ret_index->count = count;
}

static void sort(kt_index *index) {
    for (size_t i = 0; i < index->count; i++)
        index->sorted[i] = &index->entries[i];
    if (index->count > 1)
        qsort(index->sorted, index->count, sizeof *index->sorted, compare);
    for (size_t i = 1; i < index->count; i++) {
        kt_entry *before = index->sorted[i - 1], *one = index->sorted[i];
        if (ki_str_equal(before->name, one->name))
            before->is_last = one->is_first = false;
    }
}

void kt_index_members(kt_arena *arena, yyjson_val *obj, kt_index *ret_index) {
    size_t index, max;
    yyjson_val *key, *val;
    allocate(arena, yyjson_obj_size(obj), ret_index);
    if (!ret_index->count)
        return;
    yyjson_obj_foreach(obj, index, max, key, val) {
        const ki_str name = { unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key) }; /* a key is a string */
        ret_index->entries[index] = (kt_entry){ name, key, val, index, true, true };
    }
    sort(ret_index);
}

/* Appends k:{"containerPort":80,"protocol":"TCP"}, with the keys in alphabetical order, as builtin.inc has them.
 * Returns false if the element lacks a key. "protocol" is the one key with a default. */
static bool append_keys(ki_buffer *out, yyjson_val *element, const char *keys) {
    ki_str rest = ki_str_of(keys);
    const char *comma = "";
    bool complete = true;
    ki_buffer_append_string(out, "k:{");
    while (rest.size) {
        ki_str key = ki_str_split(rest, ',', &rest);
        yyjson_val *val = yyjson_obj_getn(element, key.data, key.size);
        ki_buffer_append_string(out, comma);
        ki_buffer_append_json_string(out, key);
        ki_buffer_append_char(out, ':');
        if (val && !yyjson_is_null(val))
            kt_json_append(out, val);
        else if (ki_str_equals(key, "protocol"))
            ki_buffer_append_string(out, "\"TCP\"");
        else
            complete = false;
        comma = ",";
    }
    ki_buffer_append_char(out, '}');
    return complete;
}

void kt_index_elements(kt_arena *arena, yyjson_val *list, const char *keys, kt_index *ret_index) {
    size_t index, max;
    yyjson_val *element;
    ki_buffer text;
    allocate(arena, yyjson_arr_size(list), ret_index);
    if (!ret_index->count)
        return;
    ki_buffer_init(&text, arena->allocator, 0);
    yyjson_arr_foreach(list, index, max, element) {
        ki_buffer_reset(&text, SIZE_MAX);
        if (keys) {
            ret_index->has_nameless |= !append_keys(&text, element, keys);
        } else {
            ki_buffer_append_string(&text, "v:");
            kt_json_append(&text, element);
        }
        if (text.failed)
            arena->failed = true;
        ki_str name = kt_arena_copy(arena, (ki_str){ text.data, text.size });
        ret_index->entries[index] = (kt_entry){ name, NULL, element, index, true, true };
    }
    ki_buffer_free(&text);
    sort(ret_index);
}

/* Returns the index of the first sorted entry whose name is not less than `name` (`after`: is greater than `name`). */
static size_t bound(const kt_index *index, ki_str name, bool after) {
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = ki_str_order(index->sorted[middle]->name, name);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const kt_entry *kt_index_find(const kt_index *index, ki_str name) {
    size_t at = bound(index, name, false);
    return at < index->count && ki_str_equal(index->sorted[at]->name, name) ? index->sorted[at] : NULL;
}

const kt_entry *kt_index_find_last(const kt_index *index, ki_str name) {
    size_t at = bound(index, name, true);
    return at > 0 && ki_str_equal(index->sorted[at - 1]->name, name) ? index->sorted[at - 1] : NULL;
}

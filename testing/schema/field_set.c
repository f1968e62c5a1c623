/* field_set.c: see field_set.h. Operations walk two sorted trees at the same time. json.h limits the depth of bodies
 * and so of sets. */
#include "testing/schema/field_set.h"

#include "testing/values/json.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    return ki_str_order(((const kt_set_entry *)a)->element, ((const kt_set_entry *)b)->element);
}

kt_set *kt_set_new(kt_arena *arena) {
    kt_set *set = kt_arena_alloc(arena, sizeof *set);
    if (set)
        *set = (kt_set){ .count = 0 };
    return set;
}

/* Appends an empty entry. NULL on failure, or for a NULL set (the arena failed earlier). */
static kt_set_entry *push(kt_arena *arena, kt_set *set) {
    if (!set)
        return NULL;
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 4;
        kt_set_entry *entries = kt_arena_alloc(arena, capacity * sizeof *entries);
        if (!entries)
            return NULL;
        if (set->count)
            memcpy(entries, set->entries, set->count * sizeof *entries);
        set->entries = entries;
        set->capacity = capacity;
    }
    kt_set_entry *entry = &set->entries[set->count++];
    *entry = (kt_set_entry){ .member = false };
    return entry;
}

kt_set_entry *kt_set_put(kt_arena *arena, kt_set *set, const char *prefix, ki_str name) {
    size_t size = strlen(prefix);
    char *text = kt_arena_alloc(arena, size + name.size + 1);
    kt_set_entry *entry = text ? push(arena, set) : NULL;
    if (!entry)
        return NULL;
    memcpy(text, prefix, size);
    if (name.size)
        memcpy(text + size, name.data, name.size);
    text[size + name.size] = '\0';
    entry->element = (ki_str){ text, size + name.size };
    return entry;
}

void kt_set_sort(kt_arena *arena, kt_set *set) {
    if (!set || set->count < 2)
        return;
    bool sorted = true;
    for (size_t i = 1; i < set->count && sorted; i++)
        sorted = ki_str_order(set->entries[i - 1].element, set->entries[i].element) < 0;
    if (sorted)
        return;
    qsort(set->entries, set->count, sizeof *set->entries, compare);
    size_t kept = 0;
    for (size_t i = 1; i < set->count; i++) {
        kt_set_entry *last = &set->entries[kept], *one = &set->entries[i];
        if (!ki_str_equal(last->element, one->element)) {
            set->entries[++kept] = *one;
            continue;
        }
        last->member = last->member || one->member;
        last->below = last->below && one->below ? kt_set_union(arena, last->below, one->below)
                      : last->below             ? last->below
                                                : one->below;
    }
    set->count = kept + 1;
}

bool kt_set_is_empty(const kt_set *set) {
    for (size_t i = 0; set && i < set->count; i++) {
        if (set->entries[i].member || !kt_set_is_empty(set->entries[i].below))
            return false;
    }
    return true;
}

/* Compares the concatenation of `prefix` and `name` with `element`. */
static int order_of_parts(const char *prefix, ki_str name, ki_str element) {
    size_t size = strlen(prefix);
    ki_str head = { element.data, element.size < size ? element.size : size };
    int order = ki_str_order((ki_str){ prefix, size }, head);
    if (order || element.size < size)
        return order;
    return ki_str_order(name, (ki_str){ element.data + size, element.size - size });
}

const kt_set_entry *kt_set_find(const kt_set *set, const char *prefix, ki_str name) {
    size_t low = 0, high = set ? set->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = order_of_parts(prefix, name, set->entries[middle].element);
        if (order == 0)
            return &set->entries[middle];
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

typedef enum operation {
    UNION,
    INTERSECTION,
    DIFFERENCE
} operation;

static bool member_of(operation what, bool in_a, bool in_b) {
    return what == UNION ? in_a || in_b : what == INTERSECTION ? in_a && in_b : in_a && !in_b;
}

/* Combines two sets in one pass. NULL if the result is empty. */
static kt_set *combine(kt_arena *arena, operation what, const kt_set *a, const kt_set *b) {
    size_t i = 0, k = 0, a_count = a ? a->count : 0, b_count = b ? b->count : 0;
    kt_set *made = NULL;
    while ((i < a_count || k < b_count) && !arena->failed) {
        int order = i == a_count ? 1 : k == b_count ? -1 : ki_str_order(a->entries[i].element, b->entries[k].element);
        ki_str element = order <= 0 ? a->entries[i].element : b->entries[k].element;
        const kt_set_entry *left = order <= 0 ? &a->entries[i++] : NULL;
        const kt_set_entry *right = order >= 0 ? &b->entries[k++] : NULL;
        kt_set *below = combine(arena, what, left ? left->below : NULL, right ? right->below : NULL);
        bool member = member_of(what, left && left->member, right && right->member);
        if (!member && !below)
            continue;
        if (!made)
            made = kt_set_new(arena);
        kt_set_entry *entry = push(arena, made);
        if (entry)
            *entry = (kt_set_entry){ element, member, below };
    }
    return made;
}

kt_set *kt_set_union(kt_arena *arena, kt_set *a, kt_set *b) {
    if (!a || !a->count || !b || !b->count)
        return a && a->count ? a : b;
    return combine(arena, UNION, a, b);
}

kt_set *kt_set_intersection(kt_arena *arena, const kt_set *a, const kt_set *b) {
    return combine(arena, INTERSECTION, a, b);
}

kt_set *kt_set_difference(kt_arena *arena, kt_set *a, const kt_set *b) {
    if (!a || !a->count || !b || !b->count)
        return a;
    return combine(arena, DIFFERENCE, a, b);
}

bool kt_set_equal(const kt_set *a, const kt_set *b) {
    size_t a_count = a ? a->count : 0, b_count = b ? b->count : 0;
    if (a_count != b_count)
        return kt_set_is_empty(a) && kt_set_is_empty(b);
    for (size_t i = 0; i < a_count; i++) {
        const kt_set_entry *left = &a->entries[i], *right = &b->entries[i];
        if (!ki_str_equal(left->element, right->element) || left->member != right->member ||
            !kt_set_equal(left->below, right->below))
            return false;
    }
    return true;
}

kt_set *kt_set_with_parents(kt_arena *arena, const kt_set *set) {
    kt_set *made = set ? kt_set_new(arena) : NULL;
    for (size_t i = 0; set && i < set->count; i++) {
        kt_set_entry *entry = push(arena, made);
        if (entry)
            *entry = (kt_set_entry){ set->entries[i].element, true, kt_set_with_parents(arena, set->entries[i].below) };
    }
    return made;
}

kt_set *kt_set_read(kt_arena *arena, yyjson_val *fields) {
    size_t index, count;
    yyjson_val *key, *val;
    kt_set *set = NULL;
    yyjson_obj_foreach(fields, index, count, key, val) {
        ki_str element = kt_json_str(key);
        if (ki_str_equals(element, "."))
            continue;
        if (!set)
            set = kt_set_new(arena);
        kt_set_entry *entry = kt_set_put(arena, set, "", element);
        if (!entry)
            return NULL;
        entry->member = yyjson_obj_size(val) == 0 || yyjson_obj_get(val, ".") != NULL;
        entry->below = kt_set_read(arena, val);
    }
    kt_set_sort(arena, set);
    return set;
}

void kt_set_append(ki_buffer *out, const kt_set *set, bool is_member) {
    const char *comma = is_member && set && set->count ? "{\".\":{}," : "{";
    for (size_t i = 0; set && i < set->count; i++, comma = ",") {
        const kt_set_entry *entry = &set->entries[i];
        ki_buffer_append_string(out, comma);
        ki_buffer_append_json_string(out, entry->element);
        ki_buffer_append_char(out, ':');
        kt_set_append(out, entry->below, entry->member);
    }
    ki_buffer_append_string(out, set && set->count ? "}" : "{}");
}

/* Appends one path element: .spec, [name="c",…] or [="x"]. */
static void append_step(ki_buffer *path, ki_str element) {
    ki_str rest = { element.data + 2, element.size - 2 };
    if (element.data[0] == 'f') {
        ki_buffer_append_char(path, '.');
        ki_buffer_append_view(path, rest);
    } else if (element.data[0] == 'v') {
        ki_buffer_append_string(path, "[=");
        ki_buffer_append_view(path, rest);
        ki_buffer_append_char(path, ']');
    } else if (element.data[0] == 'i') {
        ki_buffer_append_char(path, '[');
        ki_buffer_append_view(path, rest);
        ki_buffer_append_char(path, ']');
    } else {
        yyjson_doc *doc = NULL;
        size_t index, count;
        yyjson_val *key, *val;
        if (kt_json_read(path->allocator, rest, &doc, NULL) == KI_ERR_NO_MEMORY)
            path->failed = KI_ERR_NO_MEMORY;
        ki_buffer_append_char(path, '[');
        yyjson_obj_foreach(yyjson_doc_get_root(doc), index, count, key, val) {
            ki_buffer_append_string(path, index ? "," : "");
            ki_buffer_append_view(path, kt_json_str(key));
            ki_buffer_append_char(path, '=');
            kt_json_append(path, val);
        }
        ki_buffer_append_char(path, ']');
        yyjson_doc_free(doc);
    }
}

void kt_set_paths(const kt_set *set, ki_buffer *path, void (*each)(void *user, ki_str path), void *user) {
    for (size_t i = 0; set && i < set->count; i++) {
        const kt_set_entry *entry = &set->entries[i];
        size_t start = path->size;
        if (entry->element.size >= 2)
            append_step(path, entry->element);
        if (path->failed)
            return;
        if (entry->member)
            each(user, (ki_str){ path->data, path->size });
        kt_set_paths(entry->below, path, each, user);
        ki_buffer_truncate(path, start);
    }
}

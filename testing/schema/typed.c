/* typed.c: see typed.h. Walks one object, or two at the same time. */
#include "testing/schema/typed.h"

#include "testing/values/equal.h"
#include "testing/values/go_text.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

/* How a value is walked: not at all, as an object by its members, or as a list by its elements' names. */
typedef enum walk {
    WALK_LEAF,
    WALK_MEMBERS,
    WALK_ELEMENTS
} walk;

static walk walk_of(const kt_spot *spot, yyjson_val *val) {
    switch (spot->layout) {
    case KT_LAYOUT_SCALAR:
    case KT_LAYOUT_ATOMIC:
        return WALK_LEAF;
    case KT_LAYOUT_SET:
    case KT_LAYOUT_KEYED:
        return yyjson_is_arr(val) ? WALK_ELEMENTS : WALK_LEAF;
    case KT_LAYOUT_STRUCT:
    case KT_LAYOUT_MAP:
    case KT_LAYOUT_ANY:
        break;
    }
    return yyjson_is_obj(val) ? WALK_MEMBERS : WALK_LEAF;
}

/* Returns the comma-separated fields that identify a list's elements; NULL if their values do. For a custom
 * resource, builds the text in the arena, in alphabetical order as in the table of built-in types. */
static const char *keys_of(kt_arena *arena, const kt_spot *spot) {
    if (spot->layout != KT_LAYOUT_KEYED || !spot->node)
        return spot->layout == KT_LAYOUT_KEYED ? spot->field->list_keys : NULL;
    yyjson_val *list = yyjson_obj_get(spot->node, "x-kubernetes-list-map-keys"), *key;
    size_t index, count, size = 1;
    ki_str last = KI_STR("");
    yyjson_arr_foreach(list, index, count, key) size += yyjson_get_len(key) + 1;
    char *names = kt_arena_alloc(arena, size), *at = names;
    for (size_t taken = 0; names && taken < yyjson_arr_size(list); taken++) {
        ki_str next = { NULL, 0 }; /* the smallest key above the last one; lists have few keys */
        yyjson_arr_foreach(list, index, count, key) {
            ki_str name = kt_json_str(key);
            if (name.data && strcmp(name.data, last.data) > 0 && (!next.data || strcmp(name.data, next.data) < 0))
                next = name;
        }
        if (!next.size)
            break;
        if (at != names)
            *at++ = ',';
        memcpy(at, next.data, next.size);
        at += next.size;
        last = next;
    }
    if (names)
        *at = '\0';
    return names ? names : "";
}

static void index_of(kt_arena *arena, const kt_spot *spot, walk how, yyjson_val *val, kt_index *ret_index) {
    if (how == WALK_ELEMENTS)
        kt_index_elements(arena, val, keys_of(arena, spot), ret_index);
    else
        kt_index_members(arena, val, ret_index);
}

/* Returns the end of the sorted entries that have the name of the one at `from`. A list can have several of a name:
 * their manager owns them as a whole. */
static size_t end_of_name(const kt_index *index, size_t from) {
    while (!index->sorted[from]->is_last)
        from++;
    return from + 1;
}

/* ---- fields ---- */

static bool is_empty_object(yyjson_val *val) {
    return yyjson_is_obj(val) && yyjson_obj_size(val) == 0;
}

kt_set *kt_typed_fields(kt_arena *arena, const kt_spot *spot, yyjson_val *val) {
    walk how = walk_of(spot, val);
    kt_index index;
    if (how == WALK_LEAF || arena->failed)
        return NULL;
    kt_set *set = kt_set_new(arena);
    index_of(arena, spot, how, val, &index);
    for (size_t i = 0, end; i < index.count; i = end) {
        const kt_entry *one = index.sorted[i];
        end = end_of_name(&index, i);
        kt_spot inner = how == WALK_MEMBERS ? kt_spot_member(spot, one->name, NULL) : kt_spot_element(spot);
        bool is_repeated = how == WALK_ELEMENTS && end - i > 1;
        bool is_leaf = is_repeated || walk_of(&inner, one->val) == WALK_LEAF;
        bool is_named = how == WALK_MEMBERS && spot->layout == KT_LAYOUT_STRUCT;
        kt_set_entry *entry = kt_set_put(arena, set, how == WALK_MEMBERS ? "f:" : "", one->name);
        if (!entry)
            return set;
        entry->member = is_leaf || !is_named || is_empty_object(one->val);
        entry->below = is_leaf ? NULL : kt_typed_fields(arena, &inner, one->val);
    }
    return set;
}

/* ---- comparison ---- */

/* Returns true for null, and for a zero that the type omits (omitempty). Both count as absent. */
static bool is_not_written(const kt_spot *spot, yyjson_val *val) {
    const kt_field *field = spot->field;
    if (yyjson_is_null(val))
        return true;
    if (!field || field->flags & KT_FIELD_POINTER || !(field->flags & KT_FIELD_OMIT_EMPTY))
        return false;
    if (field->wrap != KT_WRAP_ONE)
        return kt_json_is_nothing(val);
    return (yyjson_is_str(val) && yyjson_get_len(val) == 0) || yyjson_is_false(val) ||
           (yyjson_is_int(val) && yyjson_get_uint(val) == 0 && field->kind != KT_VALUE_INT_OR_STRING);
}

static void note(kt_arena *arena, kt_set **set, const char *prefix, ki_str name, bool member, kt_set *below) {
    if (!*set)
        *set = kt_set_new(arena);
    kt_set_entry *entry = kt_set_put(arena, *set, prefix, name);
    if (entry) {
        entry->member = member;
        entry->below = below;
    }
}

static void compare_one(kt_arena *arena, const kt_spot *spot, const char *prefix, ki_str name, yyjson_val *old,
                        yyjson_val *val, bool is_new, kt_comparison *out) {
    const kt_field *field = spot->field;
    /* Go always writes a struct that is no pointer, and fields without omitempty. */
    bool always =
        field && !is_new && !(field->flags & KT_FIELD_POINTER) &&
        ((field->wrap == KT_WRAP_ONE && field->kind == KT_VALUE_OBJECT) || !(field->flags & KT_FIELD_OMIT_EMPTY));
    if (old && is_not_written(spot, old))
        old = NULL;
    if (val && is_not_written(spot, val))
        val = NULL;
    if (!old && !val)
        return;
    bool is_nothing = kt_json_is_nothing(old) && kt_json_is_nothing(val);
    if (always && is_nothing)
        return;
    bool leaf =
        is_nothing || walk_of(spot, old ? old : val) == WALK_LEAF || (old && val && walk_of(spot, val) == WALK_LEAF);
    if (leaf) {
        if (!old)
            note(arena, &out->added, prefix, name, true, NULL);
        else if (!val)
            note(arena, &out->removed, prefix, name, true, NULL);
        else if (!kt_equal(arena, old, val))
            note(arena, &out->modified, prefix, name, true, NULL);
        return;
    }
    kt_comparison below = { NULL, NULL, NULL };
    kt_typed_compare(arena, spot, old, val, is_new || (!old && !always), &below);
    if (below.added || (!old && !always))
        note(arena, &out->added, prefix, name, !old && !always, below.added);
    if (below.modified)
        note(arena, &out->modified, prefix, name, false, below.modified);
    if (below.removed || (!val && !always))
        note(arena, &out->removed, prefix, name, !val && !always, below.removed);
}

/* Returns true if both have equal values in the same order. */
static bool has_same_values(kt_arena *arena, kt_entry **a, size_t a_count, kt_entry **b, size_t b_count) {
    bool is_same = a_count == b_count;
    for (size_t i = 0; i < a_count && is_same; i++)
        is_same = kt_equal(arena, a[i]->val, b[i]->val);
    return is_same;
}

void kt_typed_compare(kt_arena *arena, const kt_spot *spot, yyjson_val *old, yyjson_val *val, bool is_new,
                      kt_comparison *ret) {
    kt_index before, now;
    *ret = (kt_comparison){ NULL, NULL, NULL };
    walk how = walk_of(spot, old ? old : val);
    if (how == WALK_LEAF || arena->failed)
        return;
    index_of(arena, spot, how, old, &before);
    index_of(arena, spot, how, val, &now);
    const char *prefix = how == WALK_MEMBERS ? "f:" : "";
    for (size_t i = 0, k = 0, i_end, k_end; (i < before.count || k < now.count) && !arena->failed;
         i = i_end, k = k_end) {
        int order = i == before.count ? 1
                    : k == now.count  ? -1
                                      : ki_str_order(before.sorted[i]->name, now.sorted[k]->name);
        const kt_entry *left = order <= 0 ? before.sorted[i] : NULL, *right = order >= 0 ? now.sorted[k] : NULL;
        ki_str name = order <= 0 ? before.sorted[i]->name : now.sorted[k]->name;
        kt_spot inner = how == WALK_MEMBERS ? kt_spot_member(spot, name, NULL) : kt_spot_element(spot);
        i_end = left ? end_of_name(&before, i) : i;
        k_end = right ? end_of_name(&now, k) : k;
        if (how == WALK_MEMBERS || (i_end - i < 2 && k_end - k < 2))
            compare_one(arena, &inner, prefix, name, left ? left->val : NULL, right ? right->val : NULL, is_new, ret);
        else if (!left)
            note(arena, &ret->added, prefix, name, true, NULL);
        else if (!right)
            note(arena, &ret->removed, prefix, name, true, NULL);
        else if (!has_same_values(arena, before.sorted + i, i_end - i, now.sorted + k, k_end - k))
            note(arena, &ret->modified, prefix, name, true, NULL);
    }
}

/* ---- merging ---- */

static yyjson_mut_val *checked(kt_arena *arena, yyjson_mut_val *val) {
    if (!val)
        arena->failed = true;
    return val;
}

static void add_member(kt_arena *arena, yyjson_mut_doc *doc, yyjson_mut_val *obj, ki_str name, yyjson_mut_val *val) {
    yyjson_mut_val *key = val ? yyjson_mut_strncpy(doc, name.data, name.size) : NULL;
    if (val && (!key || !yyjson_mut_obj_add(obj, key, val)))
        arena->failed = true;
}

static yyjson_mut_val *merge_members(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                     yyjson_val *config) {
    yyjson_mut_val *merged = checked(arena, yyjson_mut_obj(doc));
    kt_index before, now;
    kt_index_members(arena, old, &before);
    kt_index_members(arena, config, &now);
    for (size_t i = 0; i < before.count && !arena->failed; i++) {
        const kt_entry *one = &before.entries[i], *other = kt_index_find(&now, one->name);
        kt_spot inner = kt_spot_member(spot, one->name, NULL);
        add_member(arena, doc, merged, one->name,
                   kt_typed_merge(arena, doc, &inner, one->val, other ? other->val : NULL));
    }
    for (size_t i = 0; i < now.count && !arena->failed; i++) {
        const kt_entry *one = &now.entries[i];
        kt_spot inner = kt_spot_member(spot, one->name, NULL);
        if (!kt_index_find(&before, one->name))
            add_member(arena, doc, merged, one->name, kt_typed_merge(arena, doc, &inner, NULL, one->val));
    }
    return merged;
}

/* Returns the index of the next element of `now` that is also in `before`. */
static size_t next_shared(const kt_index *before, const kt_index *now, size_t from) {
    while (from < now->count && !kt_index_find(before, now->entries[from].name))
        from++;
    return from;
}

/* Merges two lists. Elements have the order of `config`. Elements that only `old` has stay between their neighbours. */
static yyjson_mut_val *merge_elements(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                      yyjson_val *config) {
    yyjson_mut_val *merged = checked(arena, yyjson_mut_arr(doc));
    kt_spot inner = kt_spot_element(spot);
    kt_index before, now;
    kt_index_elements(arena, old, keys_of(arena, spot), &before);
    kt_index_elements(arena, config, keys_of(arena, spot), &now);
    size_t i = 0, k = 0, shared = next_shared(&before, &now, 0);
    while ((i < before.count || k < now.count) && !arena->failed) {
        const kt_entry *left = i < before.count ? &before.entries[i] : NULL;
        const kt_entry *right = k < now.count ? &now.entries[k] : NULL;
        bool both = left && kt_index_find(&now, left->name) != NULL, same = false;
        yyjson_val *old_val = NULL, *new_val = NULL;
        if (left && right) {
            same = ki_str_equal(left->name, right->name);
            if (!same && both && (shared == now.count || !ki_str_equal(now.entries[shared].name, left->name))) {
                i++; /* the element has its place in `config` */
                continue;
            }
        }
        if (left && !both) {
            old_val = left->val;
            i++;
        } else if (right) {
            const kt_entry *match = kt_index_find(&before, right->name);
            old_val = match ? match->val : NULL;
            new_val = right->val;
            if (k == shared)
                shared = next_shared(&before, &now, shared + 1);
            i += same;
            k++;
        } else { /* already merged */
            i++;
            continue;
        }
        yyjson_mut_val *element = kt_typed_merge(arena, doc, &inner, old_val, new_val);
        if (element && !yyjson_mut_arr_append(merged, element))
            arena->failed = true;
    }
    return merged;
}

yyjson_mut_val *kt_typed_merge(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                               yyjson_val *config) {
    if (arena->failed)
        return NULL;
    if (yyjson_is_null(config) && old && walk_of(spot, old) != WALK_LEAF)
        config = NULL; /* an object or list that is null in the configuration has no members there */
    if (!config || !old)
        return checked(arena, yyjson_val_mut_copy(doc, config ? config : old));
    walk how = walk_of(spot, config);
    if (how == WALK_LEAF || walk_of(spot, old) != how)
        return checked(arena, yyjson_val_mut_copy(doc, config));
    return how == WALK_MEMBERS ? merge_members(arena, doc, spot, old, config)
                               : merge_elements(arena, doc, spot, old, config);
}

/* ---- removal ---- */

yyjson_mut_val *kt_typed_remove(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *val,
                                const kt_set *set) {
    walk how = walk_of(spot, val);
    if (arena->failed)
        return NULL;
    if (how == WALK_LEAF || kt_set_is_empty(set))
        return checked(arena, yyjson_val_mut_copy(doc, val));
    kt_index index;
    index_of(arena, spot, how, val, &index);
    yyjson_mut_val *left = checked(arena, how == WALK_MEMBERS ? yyjson_mut_obj(doc) : yyjson_mut_arr(doc));
    bool any = false;
    for (size_t i = 0; i < index.count && !arena->failed; i++) {
        const kt_entry *one = &index.entries[i];
        const kt_set_entry *entry = kt_set_find(set, how == WALK_MEMBERS ? "f:" : "", one->name);
        kt_spot inner = how == WALK_MEMBERS ? kt_spot_member(spot, one->name, NULL) : kt_spot_element(spot);
        if (entry && entry->member)
            continue;
        yyjson_mut_val *kept = entry && entry->below ? kt_typed_remove(arena, doc, &inner, one->val, entry->below)
                                                     : checked(arena, yyjson_val_mut_copy(doc, one->val));
        if (!kept)
            continue;
        if (how == WALK_MEMBERS)
            add_member(arena, doc, left, one->name, kept);
        else if (!yyjson_mut_arr_append(left, kept))
            arena->failed = true;
        any = true;
    }
    return any && !arena->failed ? left : NULL;
}

/* ---- type check ---- */

enum {
    ERRORS_SIZE_MAX = 64 * 1024 /* bytes of messages after which no further value is checked */
};

void kt_type_errors_init(kt_type_errors *errors, const ki_allocator *allocator) {
    errors->count = 0;
    ki_buffer_init(&errors->list, allocator, 0);
    ki_buffer_init(&errors->path, allocator, 0);
    ki_buffer_init(&errors->field, allocator, 0);
    ki_buffer_init(&errors->missing_key, allocator, 0);
}

void kt_type_errors_free(kt_type_errors *errors) {
    ki_buffer_free(&errors->list);
    ki_buffer_free(&errors->path);
    ki_buffer_free(&errors->field);
    ki_buffer_free(&errors->missing_key);
}

/* Begins an error with the path of the value, and returns the buffer for the rest of its message. */
static ki_buffer *add_error(kt_type_errors *out) {
    if (out->count++)
        ki_buffer_append_string(&out->list, "\n  ");
    ki_buffer_append(&out->list, out->path.data, out->path.size);
    ki_buffer_append_string(&out->list, ": ");
    return &out->list;
}

/* Appends an element's name as messages show it: [name="a"] for k:{"name":"a"}, [="x"] for v:"x". */
static void append_element(ki_buffer *out, ki_str name) {
    bool in_key = false, in_text = false, is_keyed = name.size > 1 && name.data[0] == 'k';
    size_t end = name.size - (is_keyed ? 1 : 0);
    ki_buffer_append_string(out, is_keyed ? "[" : "[=");
    for (size_t i = is_keyed ? 3 : 2; i < end; i++) {
        char c = name.data[i];
        bool after_key = is_keyed && !in_text && c == ':';
        if (is_keyed && !in_text && c == '"' && (i == 3 || name.data[i - 1] == ',')) {
            in_key = true;
        } else if (in_key && c == '"') {
            in_key = false;
        } else {
            ki_buffer_append_char(out, after_key ? '=' : c);
            if (!in_key && c == '\\' && i + 1 < end)
                ki_buffer_append_char(out, name.data[++i]);
            else if (!in_key && c == '"')
                in_text = !in_text;
        }
    }
    ki_buffer_append_char(out, ']');
}

/* Returns why an element cannot be told from others; NULL if it can. */
static const char *bad_element(const kt_spot *spot, yyjson_val *element) {
    if (spot->layout == KT_LAYOUT_KEYED)
        return yyjson_is_null(element)   ? "associative list with keys may not have a null element"
               : !yyjson_is_obj(element) ? "associative list with keys may not have non-map elements"
                                         : NULL;
    return yyjson_is_obj(element)    ? "associative list without keys has an element that's a map type"
           : yyjson_is_arr(element)  ? "not supported: associative list with lists as elements"
           : yyjson_is_null(element) ? "associative list without keys has an element that's an explicit null"
                                     : NULL;
}

/* Returns true for an element that lacks a key. */
static bool is_nameless(const kt_spot *spot, const char *keys, yyjson_val *element, size_t index, kt_type_errors *out) {
    ki_str rest = ki_str_of(keys ? keys : ""), all = rest;
    const char *blank = "";
    while (rest.size) {
        ki_str key = ki_str_split(rest, ',', &rest);
        yyjson_val *val = yyjson_obj_getn(element, key.data, key.size);
        if ((val && !yyjson_is_null(val)) || ki_str_equals(key, "protocol"))
            continue;
        if (!spot->node) { /* the real server's validation finds it */
            if (!out->missing_key.size)
                ki_buffer_printf(&out->missing_key, "%.*s[%zu].%.*s", (int)out->field.size, out->field.data, index,
                                 (int)key.size, key.data);
            return true;
        }
        ki_buffer *list = add_error(out);
        ki_buffer_printf(list, "element %zu: associative list with keys has an element that omits all key fields [",
                         index);
        for (; all.size; blank = " ") {
            ki_buffer_append_string(list, blank);
            ki_buffer_append_json_string(list, ki_str_split(all, ',', &all));
        }
        ki_buffer_append_string(list, "] (and doesn't have default values for any key fields)");
        return true;
    }
    return false;
}

/* Checks a value without schema below it. */
static void check_scalar(kt_arena *arena, kt_value_kind kind, yyjson_val *val, kt_type_errors *out) {
    if (kind == KT_VALUE_STRING || kind == KT_VALUE_BYTES || kind == KT_VALUE_TIME || kind == KT_VALUE_MICRO_TIME) {
        if (yyjson_is_str(val))
            return;
        ki_buffer_append_string(add_error(out), "expected string, got &value.valueUnstructured{Value:");
        kt_go_print_syntax(arena, &out->list, val);
        ki_buffer_append_char(&out->list, '}');
    } else if (kind == KT_VALUE_INT32 || kind == KT_VALUE_INT64 || kind == KT_VALUE_DOUBLE) {
        if (!yyjson_is_num(val))
            ki_buffer_printf(add_error(out), "expected numeric (int or float), got %s", kt_go_type(val));
    } else if (kind == KT_VALUE_BOOL ? !yyjson_is_bool(val) : yyjson_is_ctn(val)) {
        ki_buffer_printf(add_error(out), "expected %s, got &{", kind == KT_VALUE_BOOL ? "boolean" : "any scalar");
        kt_go_print(arena, &out->list, val);
        ki_buffer_append_char(&out->list, '}');
    }
}

static void check_members(kt_arena *arena, const kt_spot *spot, walk how, yyjson_val *val, kt_type_errors *out) {
    kt_index index;
    index_of(arena, spot, how, val, &index);
    const char *keys = how == WALK_ELEMENTS ? keys_of(arena, spot) : NULL;
    for (size_t i = 0; i < index.count && !arena->failed && out->list.size < ERRORS_SIZE_MAX; i++) {
        const kt_entry *one = &index.entries[i];
        bool is_known = true;
        size_t start = out->path.size, field_start = out->field.size;
        kt_spot inner = how == WALK_MEMBERS ? kt_spot_member(spot, one->name, &is_known) : kt_spot_element(spot);
        if (how == WALK_MEMBERS) {
            ki_buffer_append_char(&out->path, '.');
            ki_buffer_append_view(&out->path, one->name);
            ki_buffer_append_string(&out->field, field_start ? "." : "");
            ki_buffer_append_view(&out->field, one->name);
        } else {
            const char *why = bad_element(spot, one->val);
            if (why)
                ki_buffer_printf(add_error(out), "element %zu: %s", i, why);
            if (why || (index.has_nameless && is_nameless(spot, keys, one->val, i, out)))
                return;
            if (!one->is_first) {
                ki_buffer_append_string(add_error(out), "duplicate entries for key ");
                append_element(&out->list, one->name);
            }
            append_element(&out->path, one->name);
            ki_buffer_printf(&out->field, "[%zu]", i);
        }
        if (!is_known)
            ki_buffer_append_string(add_error(out), "field not declared in schema");
        else if (inner.layout == KT_LAYOUT_SCALAR && !yyjson_is_null(one->val))
            check_scalar(arena, kt_spot_kind(inner.field || inner.node ? &inner : spot), one->val, out);
        else
            kt_typed_check(arena, &inner, one->val, out);
        ki_buffer_truncate(&out->path, start);
        ki_buffer_truncate(&out->field, field_start);
        if (!is_known)
            return;
    }
}

void kt_typed_check(kt_arena *arena, const kt_spot *spot, yyjson_val *val, kt_type_errors *out) {
    bool is_list = spot->layout == KT_LAYOUT_SET || spot->layout == KT_LAYOUT_KEYED;
    bool is_struct =
        spot->layout == KT_LAYOUT_ATOMIC && spot->type && (!spot->field || spot->field->wrap == KT_WRAP_ONE);
    bool is_map = spot->layout == KT_LAYOUT_STRUCT || spot->layout == KT_LAYOUT_MAP || is_struct;
    walk how = is_struct ? WALK_MEMBERS : walk_of(spot, val);
    if (yyjson_is_null(val))
        return;
    if ((is_list && !yyjson_is_arr(val)) || (is_map && !yyjson_is_obj(val))) {
        ki_buffer_printf(add_error(out), "expected %s, got &{", is_list ? "list" : "map");
        kt_go_print(arena, &out->list, val);
        ki_buffer_append_char(&out->list, '}');
    } else if (how != WALK_LEAF) {
        check_members(arena, spot, how, val, out);
    }
}

/* patch.c: see patch.h. Recursive: json.h limits the depth of bodies. Finds members and elements by index, to avoid
 * quadratic time for large objects. */
#include "testing/rest/patch.h"

#include "testing/values/index.h"
#include "testing/values/json.h"

#include <stdlib.h>

#define DELETE_FROM_LIST "$deleteFromPrimitiveList/"
#define SET_ORDER "$setElementOrder/"
#define RETAIN_KEYS "$retainKeys"

enum {
    RETAINED_MAX = 1024 /* names; every field of the object searches them */
};

typedef struct patching {
    kt_arena *arena;
    yyjson_mut_doc *doc;
    const char *why; /* the error in the patch, static; NULL: none */
    ki_str unknown;  /* a member of which the real server has no type */
} patching;

static bool has_failed(const patching *in) {
    return in->why || in->unknown.data || in->arena->failed;
}

static void add_member(patching *in, yyjson_mut_val *obj, ki_str name, yyjson_mut_val *val) {
    yyjson_mut_val *key = val ? yyjson_mut_strncpy(in->doc, name.data, name.size) : NULL;
    if (val && (!key || !yyjson_mut_obj_add(obj, key, val)))
        in->arena->failed = true;
}

static yyjson_mut_val *checked(patching *in, yyjson_mut_val *val) {
    if (!val)
        in->arena->failed = true;
    return val;
}

/* ---- RFC 7396 ---- */

static yyjson_mut_val *merge(patching *in, yyjson_val *old, yyjson_val *patch) {
    kt_index before, now;
    if (!yyjson_is_obj(patch))
        return checked(in, yyjson_val_mut_copy(in->doc, patch));
    yyjson_mut_val *merged = checked(in, yyjson_mut_obj(in->doc));
    kt_index_members(in->arena, old, &before);
    kt_index_members(in->arena, patch, &now);
    for (size_t i = 0; i < before.count && !has_failed(in); i++) {
        const kt_entry *one = &before.entries[i], *change = kt_index_find(&now, one->name);
        if (!change)
            add_member(in, merged, one->name, checked(in, yyjson_val_mut_copy(in->doc, one->val)));
        else if (!yyjson_is_null(change->val))
            add_member(in, merged, one->name, merge(in, one->val, change->val));
    }
    for (size_t i = 0; i < now.count && !has_failed(in); i++) {
        const kt_entry *one = &now.entries[i];
        if (!yyjson_is_null(one->val) && !kt_index_find(&before, one->name))
            add_member(in, merged, one->name, merge(in, NULL, one->val));
    }
    return merged;
}

yyjson_mut_val *kt_patch_merge(kt_arena *arena, yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *patch) {
    patching in = { .arena = arena, .doc = doc };
    yyjson_mut_val *merged = merge(&in, old, patch);
    return arena->failed ? NULL : merged;
}

/* ---- strategic merge patch ---- */

static bool is_directive(ki_str key) {
    return ki_str_equals(key, "$patch") || ki_str_equals(key, RETAIN_KEYS) ||
           ki_str_starts_with(key, KI_STR(DELETE_FROM_LIST)) || ki_str_starts_with(key, KI_STR(SET_ORDER));
}

/* Returns a copy of the patch without directives and nulls, for a place where the object has nothing. */
static yyjson_mut_val *plain(patching *in, yyjson_val *val) {
    size_t index, count;
    yyjson_val *key, *inner;
    if (has_failed(in) || !yyjson_is_ctn(val))
        return checked(in, yyjson_val_mut_copy(in->doc, val));
    yyjson_mut_val *made = checked(in, yyjson_is_obj(val) ? yyjson_mut_obj(in->doc) : yyjson_mut_arr(in->doc));
    yyjson_arr_foreach(val, index, count, inner) {
        if (yyjson_is_obj(inner) && yyjson_obj_get(inner, "$patch"))
            continue;
        yyjson_mut_val *copy = plain(in, inner);
        if (made && copy && !yyjson_mut_arr_append(made, copy))
            in->arena->failed = true;
    }
    yyjson_obj_foreach(val, index, count, key, inner) {
        if (!is_directive(kt_json_str(key)) && !yyjson_is_null(inner) && !has_failed(in))
            add_member(in, made, kt_json_str(key), plain(in, inner));
    }
    return made;
}

static yyjson_mut_val *merge_object(patching *in, const kt_spot *spot, yyjson_val *old, yyjson_val *patch);

/* An element of a merged list. */
typedef struct item {
    ki_str name;
    yyjson_mut_val *val;
    size_t before; /* index in the old list; SIZE_MAX: none */
    size_t wanted; /* index in the order that the patch requests; SIZE_MAX: none */
} item;

typedef struct list_change {
    const char *key;     /* the merge key; NULL: a list of plain values */
    yyjson_val *old;     /* the old list; NULL: none */
    yyjson_val *patch;   /* elements to merge; NULL: none */
    yyjson_val *deleted; /* values to remove; NULL: none */
    yyjson_val *order;   /* the requested order of the elements that the client knows; NULL: none */
} list_change;

static bool has_directive(yyjson_val *element, const char *directive) {
    return yyjson_is_obj(element) && ki_str_equals(kt_json_get_str(element, "$patch"), directive);
}

static int compare_wanted(const void *a, const void *b) {
    const item *left = a, *right = b;
    return (left->wanted > right->wanted) - (left->wanted < right->wanted);
}

static yyjson_mut_val *merge_element(patching *in, const kt_spot *spot, const kt_entry *old, const kt_entry *change) {
    if (!change || !yyjson_is_obj(change->val))
        return checked(in, yyjson_val_mut_copy(in->doc, old->val));
    return merge_object(in, spot, old->val, change->val);
}

/* Collects the merged old elements, then the new ones. Returns their number. */
static size_t collect(patching *in, const kt_spot *spot, const list_change *change, item *items) {
    kt_spot inner = kt_spot_element(spot);
    kt_index before, now, deleted;
    size_t count = 0;
    kt_index_elements(in->arena, change->old, change->key, &before);
    kt_index_elements(in->arena, change->patch, change->key, &now);
    kt_index_elements(in->arena, change->deleted, NULL, &deleted);
    if (change->key && now.has_nameless) {
        bool by_directive = true; /* {"$patch":"replace"} needs no key */
        for (size_t i = 0; i < now.count; i++)
            by_directive = by_directive && (yyjson_obj_get(now.entries[i].val, change->key) ||
                                            has_directive(now.entries[i].val, "replace"));
        if (!by_directive)
            in->why = "map: an element does not contain its declared merge key";
    }
    for (size_t i = 0; i < before.count && !has_failed(in); i++) {
        const kt_entry *one = &before.entries[i], *other = kt_index_find_last(&now, one->name);
        if ((other && change->key && has_directive(other->val, "delete")) || kt_index_find(&deleted, one->name))
            continue;
        items[count++] = (item){ one->name, merge_element(in, &inner, one, other), i, SIZE_MAX };
    }
    for (size_t i = 0; i < now.count && !has_failed(in); i++) { /* the last of several elements with one name counts */
        const kt_entry *one = &now.entries[i];
        if (kt_index_find(&before, one->name) || (yyjson_is_obj(one->val) && yyjson_obj_get(one->val, "$patch")) ||
            !one->is_last)
            continue;
        items[count++] = (item){ one->name, plain(in, one->val), SIZE_MAX, SIZE_MAX };
    }
    return count;
}

/* Orders the elements: those that the patch names in its order, the others between them in their old order. */
static yyjson_mut_val *ordered(patching *in, const list_change *change, item *items, size_t count) {
    kt_index order;
    kt_index_elements(in->arena, change->order ? change->order : change->patch, change->key, &order);
    item *known = kt_arena_alloc(in->arena, (count + 1) * sizeof *known), *others = items;
    yyjson_mut_val *list = checked(in, yyjson_mut_arr(in->doc));
    size_t known_count = 0, other_count = 0;
    for (size_t i = 0; i < count && known; i++) {
        const kt_entry *place = kt_index_find(&order, items[i].name);
        items[i].wanted = place ? place->position : SIZE_MAX;
        if (place)
            known[known_count++] = items[i];
        else
            others[other_count++] = items[i];
    }
    if (known && known_count > 1)
        qsort(known, known_count, sizeof *known, compare_wanted);
    for (size_t i = 0, k = 0; (i < other_count || k < known_count) && !has_failed(in);) {
        bool stood_before = i < other_count && k < known_count && others[i].before != SIZE_MAX &&
                            known[k].before != SIZE_MAX && others[i].before < known[k].before;
        bool take_other = k == known_count || (i < other_count && stood_before);
        const item *next = take_other ? &others[i++] : &known[k++];
        if (next->val && !yyjson_mut_arr_append(list, next->val))
            in->arena->failed = true;
    }
    return list;
}

static yyjson_mut_val *merge_list(patching *in, const kt_spot *spot, const list_change *change) {
    size_t index, count;
    yyjson_val *element;
    yyjson_arr_foreach(change->patch, index, count, element) {
        if (change->key && !yyjson_is_obj(element)) {
            in->why = "invalid JSON document";
            return NULL;
        }
        if (change->key && has_directive(element, "replace"))
            return plain(in, change->patch);
        if (change->key && yyjson_obj_get(element, "$patch") && !has_directive(element, "delete") &&
            !has_directive(element, "merge")) {
            in->why = "unknown patch type found";
            return NULL;
        }
    }
    size_t most = yyjson_arr_size(change->old) + yyjson_arr_size(change->patch);
    item *items = kt_arena_alloc(in->arena, (most + 1) * sizeof *items);
    size_t made = items ? collect(in, spot, change, items) : 0;
    return has_failed(in) ? NULL : ordered(in, change, items, made);
}

static yyjson_val *directive_for(patching *in, const kt_index *now, const char *directive, ki_str name) {
    char *text = kt_arena_alloc(in->arena, strlen(directive) + name.size + 1);
    if (!text)
        return NULL;
    size_t size = strlen(directive);
    memcpy(text, directive, size);
    if (name.size)
        memcpy(text + size, name.data, name.size);
    const kt_entry *found = kt_index_find(now, (ki_str){ text, size + name.size });
    if (found && !yyjson_is_arr(found->val))
        in->why = directive[1] == 'd' ? "invalid patch format of primitive list"
                                      : "invalid patch format of setElementOrder list";
    return found ? found->val : NULL;
}

/* Merges an existing member. NULL: the patch removes it. */
static yyjson_mut_val *merge_member(patching *in, const kt_spot *parent, const kt_entry *old, const kt_index *now,
                                    bool has_directives) {
    const kt_entry *change = kt_index_find(now, old->name);
    kt_spot spot = kt_spot_member(parent, old->name, NULL);
    bool merges = spot.field && spot.field->wrap == KT_WRAP_LIST && spot.field->flags & KT_FIELD_MERGE;
    bool replaces = spot.field && spot.field->wrap == KT_WRAP_ONE && spot.field->flags & KT_FIELD_REPLACE;
    if (change && yyjson_is_null(change->val))
        return NULL;
    if (parent->field && parent->field->kind == KT_VALUE_RAW && change && yyjson_is_ctn(change->val) &&
        yyjson_get_type(change->val) == yyjson_get_type(old->val)) {
        in->unknown = old->name;
        return NULL;
    }
    if (yyjson_is_arr(old->val) && merges && (!change || yyjson_is_arr(change->val))) {
        list_change list = { .key = spot.field->merge_key, .old = old->val, .patch = change ? change->val : NULL };
        if (has_directives) {
            list.deleted = directive_for(in, now, DELETE_FROM_LIST, old->name);
            list.order = directive_for(in, now, SET_ORDER, old->name);
        }
        if (has_failed(in))
            return NULL;
        if (list.patch || list.deleted || list.order)
            return merge_list(in, &spot, &list);
    }
    if (!change)
        return checked(in, yyjson_val_mut_copy(in->doc, old->val));
    if (yyjson_is_obj(change->val) && yyjson_is_obj(old->val) && !replaces)
        return merge_object(in, &spot, old->val, change->val);
    return plain(in, change->val);
}

static bool check_retained(patching *in, const kt_index *now, const kt_index *retained) {
    for (size_t i = 0; i < now->count; i++) {
        const kt_entry *one = &now->entries[i];
        if (is_directive(one->name) || yyjson_is_null(one->val))
            continue;
        bool found = false;
        for (size_t k = 0; k < retained->count && !found; k++)
            found = ki_str_equal(kt_json_str(retained->entries[k].val), one->name);
        if (!found)
            in->why = "invalid patch format of retainKeys";
    }
    return !in->why;
}

static bool is_retained(const kt_index *retained, ki_str name) {
    for (size_t i = 0; i < retained->count; i++) {
        if (ki_str_equal(kt_json_str(retained->entries[i].val), name))
            return true;
    }
    return false;
}

static yyjson_mut_val *merge_object(patching *in, const kt_spot *spot, yyjson_val *old, yyjson_val *patch) {
    kt_index before, now, retained = { .count = 0 };
    kt_index_members(in->arena, patch, &now);
    const kt_entry *directive = kt_index_find(&now, KI_STR("$patch")),
                   *retain = kt_index_find(&now, KI_STR(RETAIN_KEYS));
    bool has_directives = false;
    for (size_t i = 0; i < now.count; i++)
        has_directives = has_directives || (now.entries[i].name.size && now.entries[i].name.data[0] == '$');
    if (directive && has_directive(patch, "delete"))
        return checked(in, yyjson_mut_obj(in->doc));
    if (directive && has_directive(patch, "replace"))
        return plain(in, patch);
    if (directive && !has_directive(patch, "merge"))
        in->why = "unknown patch type found";
    if (retain) { /* few names: the fields of one object */
        if (!yyjson_is_arr(retain->val))
            in->why = "invalid patch format of retainKeys";
        else if (yyjson_arr_size(retain->val) > RETAINED_MAX)
            in->why = "too many names in retainKeys";
        if (!has_failed(in))
            kt_index_elements(in->arena, retain->val, NULL, &retained);
        if (!has_failed(in))
            check_retained(in, &now, &retained);
    }
    if (has_failed(in))
        return NULL;
    yyjson_mut_val *merged = checked(in, yyjson_mut_obj(in->doc));
    kt_index_members(in->arena, old, &before);
    for (size_t i = 0; i < before.count && !has_failed(in); i++) {
        const kt_entry *one = &before.entries[i];
        if (!retain || is_retained(&retained, one->name))
            add_member(in, merged, one->name, merge_member(in, spot, one, &now, has_directives));
    }
    for (size_t i = 0; i < now.count && !has_failed(in); i++) {
        const kt_entry *one = &now.entries[i];
        if (!is_directive(one->name) && !yyjson_is_null(one->val) && !kt_index_find(&before, one->name))
            add_member(in, merged, one->name, plain(in, one->val));
    }
    return merged;
}

yyjson_mut_val *kt_patch_strategic(kt_arena *arena, yyjson_mut_doc *doc, const kt_spot *spot, yyjson_val *old,
                                   yyjson_val *patch, const char **ret_why, ki_str *ret_unknown) {
    patching in = { .arena = arena, .doc = doc };
    yyjson_mut_val *merged = merge_object(&in, spot, old, patch);
    *ret_why = in.why;
    *ret_unknown = in.unknown;
    return has_failed(&in) ? NULL : merged;
}

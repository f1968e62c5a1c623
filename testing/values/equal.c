/* equal.c: see equal.h. Compares members in document order where both sides have the same order, otherwise sorted by
 * name. Recursive: json.h limits the depth of values. */
#include "testing/values/equal.h"

#include "testing/values/index.h"

/* Returns true if two objects of the same size have the same keys in the same order. */
static bool has_same_order(yyjson_val *a, yyjson_val *b) {
    yyjson_obj_iter left = yyjson_obj_iter_with(a), right = yyjson_obj_iter_with(b);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&left)) != NULL) {
        if (!yyjson_equals(key, yyjson_obj_iter_next(&right)))
            return false;
    }
    return true;
}

static bool equal_in_order(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    yyjson_obj_iter left = yyjson_obj_iter_with(a), right = yyjson_obj_iter_with(b);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&left)) != NULL) {
        yyjson_val *other = yyjson_obj_iter_next(&right);
        if (!kt_equal(arena, yyjson_obj_iter_get_val(key), yyjson_obj_iter_get_val(other)))
            return false;
    }
    return true;
}

static bool equal_sorted(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    kt_index left, right;
    kt_index_members(arena, a, &left);
    kt_index_members(arena, b, &right);
    for (size_t i = 0; i < left.count && !arena->failed; i++) {
        const kt_entry *one = left.sorted[i], *other = right.sorted[i];
        if (!ki_str_equal(one->name, other->name) || !kt_equal(arena, one->val, other->val))
            return false;
    }
    return !arena->failed;
}

static bool equal_elements(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    yyjson_arr_iter left = yyjson_arr_iter_with(a), right = yyjson_arr_iter_with(b);
    yyjson_val *one;
    while ((one = yyjson_arr_iter_next(&left)) != NULL) {
        if (!kt_equal(arena, one, yyjson_arr_iter_next(&right)))
            return false;
    }
    return true;
}

bool kt_equal(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    if (a == b)
        return true;
    if (!a || !b || yyjson_get_type(a) != yyjson_get_type(b))
        return false;
    if (!yyjson_is_ctn(a))
        return yyjson_equals(a, b);
    if (yyjson_get_len(a) != yyjson_get_len(b))
        return false;
    if (yyjson_is_arr(a))
        return equal_elements(arena, a, b);
    return has_same_order(a, b) ? equal_in_order(arena, a, b) : equal_sorted(arena, a, b);
}

/* structural_index.c: see structural.h. One index for each long object in the schema. */
#include "testing/schema/structural.h"

static void collect(kt_structural *s, yyjson_val *val, kt_structural_node **list) {
    size_t index, count;
    yyjson_val *key, *inner;
    if (yyjson_obj_size(val) > KT_STRUCTURAL_FEW) { /* indexes every long object; only "properties" are looked up */
        kt_structural_node *node = kt_arena_alloc(&s->arena, sizeof *node);
        if (!node)
            return;
        *node = (kt_structural_node){ .properties = val, .next = *list };
        kt_index_members(&s->arena, val, &node->index);
        *list = node;
        s->count++;
    }
    if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, index, count, key, inner) collect(s, inner, list);
    } else {
        yyjson_arr_foreach(val, index, count, inner) collect(s, inner, list);
    }
}

ki_status kt_structural_init(kt_structural *structural, const ki_allocator *allocator, yyjson_val *root) {
    kt_structural_node *list = NULL;
    *structural = (kt_structural){ .count = 0 };
    kt_arena_init(&structural->arena, allocator);
    collect(structural, root, &list);
    if (structural->count)
        structural->nodes = kt_arena_alloc(&structural->arena, structural->count * sizeof(kt_structural_node *));
    if (structural->arena.failed)
        return KI_ERR_NO_MEMORY;
    /* yyjson stores values in document order, and `list` begins with the last one. So this sorts the nodes by
     * address. */
    for (size_t i = structural->count; list; list = list->next)
        structural->nodes[--i] = list;
    return KI_OK;
}

void kt_structural_free(kt_structural *structural) {
    kt_arena_free(&structural->arena);
}

yyjson_val *kt_structural_property(const kt_structural *structural, yyjson_val *node, ki_str name) {
    yyjson_val *properties = yyjson_obj_get(node, "properties");
    if (!structural || yyjson_obj_size(properties) <= KT_STRUCTURAL_FEW)
        return yyjson_obj_getn(properties, name.data, name.size);
    size_t low = 0, high = structural->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)structural->nodes[middle]->properties < (uintptr_t)properties)
            low = middle + 1;
        else
            high = middle;
    }
    const kt_entry *found = low < structural->count && structural->nodes[low]->properties == properties
                                ? kt_index_find(&structural->nodes[low]->index, name)
                                : NULL;
    return found ? found->val : NULL;
}

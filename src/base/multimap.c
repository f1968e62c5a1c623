/* multimap.c: see multimap.h. The key in the map is that of the first node, which lives as long. */
#include "src/base/multimap.h"

#include "src/base/assert.h"

/* Is this the first node of a list? Not the whole list is looked at. */
static bool is_list(const ki_multimap_node *first) {
    const ki_multimap_node *last = first->previous;
    return last && !last->next && (first->next ? first->next->previous == first : last == first);
}

ki_multimap_node *ki_multimap_first(const ki_map *map, ki_str key) {
    return ki_map_get(map, key);
}

ki_status ki_multimap_add(ki_map *map, ki_multimap_node *node, ki_str key) {
    ki_map_slot *slot = ki_map_slot_of(map, key);
    if (!slot)
        return KI_ERR_NO_MEMORY;
    ki_multimap_node *first = slot->value;
    *node = (ki_multimap_node){ .key = key, .previous = first ? first->previous : node };
    if (first) {
        first->previous->next = node;
        first->previous = node;
    } else {
        slot->value = node;
    }
    KI_ASSERT(is_list(slot->value) && slot->value == ki_multimap_first(map, key));
    return KI_OK;
}

void ki_multimap_remove(ki_map *map, ki_multimap_node *node) {
    ki_multimap_node *next = node->next, *previous = node->previous;
    if (!previous)
        return;
    KI_ASSERT(is_list(ki_multimap_first(map, node->key)));
    KI_ASSERT(previous->next == node || ki_multimap_first(map, node->key) == node);
    KI_ASSERT(!next || next->previous == node);
    if (previous == node) {
        (void)ki_map_remove(map, node->key);
    } else if (previous->next == node) {
        ki_multimap_node *first = next ? next : ki_map_get(map, node->key);
        previous->next = next;
        first->previous = previous;
    } else { /* the first of several */
        next->previous = previous;
        (void)ki_map_put(map, next->key, next, NULL); /* cannot fail: the key is there */
    }
    node->previous = NULL;
}

/* multimap.c: see multimap.h. The key in the map is that of the first node, which lives as long. */
#include "src/base/multimap.h"

#include "src/base/list.h"

ki_multimap_node *ki_multimap_first(const ki_map *map, ki_str key) {
    return ki_map_get(map, key);
}

ki_status ki_multimap_add(ki_map *map, ki_multimap_node *node, ki_str key) {
    ki_map_slot *slot = ki_map_slot_of(map, key);
    if (!slot)
        return KI_ERR_NO_MEMORY;
    ki_multimap_node *first = slot->value;
    *node = (ki_multimap_node){ .key = key };
    KI_LIST_APPEND(first, node);
    slot->value = first;
    return KI_OK;
}

void ki_multimap_remove(ki_map *map, ki_multimap_node *node) {
    if (!KI_LIST_HAS(node))
        return;
    ki_multimap_node *first = ki_map_get(map, node->key), *before = first;
    KI_LIST_REMOVE(first, node);
    if (!first)
        (void)ki_map_remove(map, node->key);
    else if (first != before)
        (void)ki_map_put(map, first->key, first, NULL); /* cannot fail: the key is there */
}

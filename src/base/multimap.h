/* multimap.h: structs that are found by a key which several can have. Each embeds a node; the map (map.h) has the first
 * node of a key, and the nodes of a key are a list in the order of their adding. One thread.
 *
 * The caller makes and frees the map, when it is empty, and keeps a key alive and unchanged while its node is in. */
#ifndef KI_BASE_MULTIMAP_H
#define KI_BASE_MULTIMAP_H

#include "src/base/map.h"

/* A zeroed node is in no map. */
typedef struct ki_multimap_node {
    ki_str key;
    struct ki_multimap_node *next, *previous; /* list of those with the same key (list.h) */
} ki_multimap_node;

/* Returns a pointer as a key. The key lives as long as the variable that holds the pointer. */
static inline ki_str ki_multimap_pointer_key(void *const *pointer) {
    return (ki_str){ (const char *)pointer, sizeof *pointer };
}
/* Returns the first node of a key; NULL: there is none. */
ki_multimap_node *ki_multimap_first(const ki_map *map, ki_str key);
/* Errors: KI_ERR_NO_MEMORY. */
ki_status ki_multimap_add(ki_map *map, ki_multimap_node *node, ki_str key);
void ki_multimap_remove(ki_map *map, ki_multimap_node *node); /* does nothing for a node outside the map */

#endif

/* item_map.h: the newest versions of objects by key. */
#ifndef CLI_ROWS_ITEM_MAP_H
#define CLI_ROWS_ITEM_MAP_H

#include "item.h"

typedef struct item_map {
    item **chains;
    size_t size; /* a power of two */
    size_t count;
} item_map;

/* Returns false if out of memory. */
bool item_map_open(item_map *map);
/* Frees the map, not the items. */
void item_map_close(item_map *map);
/* Returns where the item with this key is linked; where NULL is linked if there is none. Valid until the next
 * item_map_put. */
item **item_map_find(const item_map *map, const char *key);
/* Puts an item in the place of another version, or of none, which item_map_find has returned. */
void item_map_put(item_map *map, item **place, item *it);
void item_map_remove(item_map *map, item **place);

#endif

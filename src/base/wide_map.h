/* wide_map.h: a ki_map for very many keys: it grows a part at a time, so that no single call moves more than one of its parts. One thread.
 * Keys are borrowed, as in map.h. */
#ifndef KI_BASE_WIDE_MAP_H
#define KI_BASE_WIDE_MAP_H

#include "src/base/map.h"

enum {
    KI_WIDE_MAP_PARTS = 64
};

typedef struct ki_wide_map {
    const ki_allocator *allocator;
    uint64_t seed;
    size_t count;
    ki_map *parts; /* NULL before the first key */
} ki_wide_map;

void ki_wide_map_init(ki_wide_map *map, const ki_allocator *allocator, uint64_t seed);
/* Frees the tables, not what is in them. */
void ki_wide_map_free(ki_wide_map *map);
void *ki_wide_map_get(const ki_wide_map *map, ki_str key); /* NULL where it is not in */
bool ki_wide_map_has(const ki_wide_map *map, ki_str key);
/* As ki_map_put. */
ki_status ki_wide_map_put(ki_wide_map *map, ki_str key, void *value, void **ret_old);
void *ki_wide_map_remove(ki_wide_map *map, ki_str key);

#endif

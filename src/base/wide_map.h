/* wide_map.h: a ki_map for very many keys. Each part grows on its own, so that no call moves more than one part. One
 * thread. Keys are borrowed, as in map.h. */
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
/* Frees the tables, not their keys and values. */
void ki_wide_map_free(ki_wide_map *map);
void *ki_wide_map_get(const ki_wide_map *map, ki_str key); /* NULL if `key` is missing */
bool ki_wide_map_has(const ki_wide_map *map, ki_str key);
/* As ki_map_put. */
ki_status ki_wide_map_put(ki_wide_map *map, ki_str key, void *value, void **ret_old);
void *ki_wide_map_remove(ki_wide_map *map, ki_str key);
/* Frees the table of the part that `key` belongs to if the part is empty and its table has room for more than `keep`
 * keys. Returns true if so. */
bool ki_wide_map_shrink(ki_wide_map *map, ki_str key, size_t keep);

#endif

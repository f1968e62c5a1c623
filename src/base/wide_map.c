/* wide_map.c: see wide_map.h. The hash that selects a key's part has another seed than the hash that selects its
 * slot. */
#include "src/base/wide_map.h"

#include "src/base/memory.h"

static ki_map *part_of(const ki_wide_map *map, ki_str key) {
    uint64_t hash = ki_hash(key.data, key.size, ~map->seed);
    return &map->parts[(hash >> 32) % KI_WIDE_MAP_PARTS];
}

static ki_status make_parts(ki_wide_map *map) {
    map->parts = ki_alloc_array(map->allocator, KI_WIDE_MAP_PARTS, sizeof *map->parts);
    for (size_t i = 0; map->parts && i < KI_WIDE_MAP_PARTS; i++)
        ki_map_init(&map->parts[i], map->allocator, map->seed);
    return map->parts ? KI_OK : KI_ERR_NO_MEMORY;
}

void ki_wide_map_init(ki_wide_map *map, const ki_allocator *allocator, uint64_t seed) {
    *map = (ki_wide_map){ .allocator = allocator, .seed = seed };
}

void ki_wide_map_free(ki_wide_map *map) {
    if (!map->parts)
        return;
    for (size_t i = 0; i < KI_WIDE_MAP_PARTS; i++)
        ki_map_free(&map->parts[i]);
    ki_free(map->allocator, map->parts);
    ki_wide_map_init(map, map->allocator, map->seed);
}

void *ki_wide_map_get(const ki_wide_map *map, ki_str key) {
    return map->count ? ki_map_get(part_of(map, key), key) : NULL;
}

bool ki_wide_map_has(const ki_wide_map *map, ki_str key) {
    return map->count && ki_map_has(part_of(map, key), key);
}

ki_status ki_wide_map_put(ki_wide_map *map, ki_str key, void *value, void **ret_old) {
    if (!map->parts && make_parts(map))
        return KI_ERR_NO_MEMORY;
    ki_map *part = part_of(map, key);
    size_t before = part->count;
    ki_status status = ki_map_put(part, key, value, ret_old);
    map->count += part->count - before;
    return status;
}

bool ki_wide_map_shrink(ki_wide_map *map, ki_str key, size_t keep) {
    ki_map *part = map->parts ? part_of(map, key) : NULL;
    if (!part || part->count || part->capacity <= keep)
        return false;
    ki_map_free(part);
    return true;
}

void *ki_wide_map_remove(ki_wide_map *map, ki_str key) {
    if (map->count == 0)
        return NULL;
    ki_map *part = part_of(map, key);
    size_t before = part->count;
    void *value = ki_map_remove(part, key);
    map->count -= before - part->count;
    return value;
}

/* map.h: hash table from byte strings to pointers, open addressing. One thread.
 * Keys are borrowed: the caller keeps them alive and unchanged while they are in (they usually live in the value). */
#ifndef KI_BASE_MAP_H
#define KI_BASE_MAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <stdbool.h>

typedef struct ki_map_slot {
    const char *key; /* NULL: empty */
    uint32_t key_size;
    uint32_t hash; /* the low bits of ki_hash: compared before the key is */
    void *value;
} ki_map_slot;

typedef struct ki_map {
    const ki_allocator *allocator;
    ki_map_slot *slots;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
    uint64_t seed;
} ki_map;

void ki_map_init(ki_map *map, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not what is in it. */
void ki_map_free(ki_map *map);
void *ki_map_get(const ki_map *map, ki_str key); /* NULL where it is not in */
bool ki_map_has(const ki_map *map, ki_str key);
/* Sets `key`; what was there before goes to `*ret_old` (may be NULL) and the new key replaces the old pointer. */
ki_status ki_map_put(ki_map *map, ki_str key, void *value, void **ret_old);
/* Takes it out and returns it; NULL where it was not in. */
void *ki_map_remove(ki_map *map, ki_str key);
void ki_map_clear(ki_map *map); /* keeps the table */
ki_status ki_map_reserve(ki_map *map, size_t count);
/* Walks all entries: start with *cursor 0; false at the end. Removing during a walk is not allowed. */
bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value);

#endif

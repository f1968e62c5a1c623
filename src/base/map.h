/* map.h: a hash table from byte strings to pointers, open addressing. One thread. Keys are borrowed: the caller keeps
 * them alive and unchanged (usually they are part of the value). */
#ifndef KI_BASE_MAP_H
#define KI_BASE_MAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <stdbool.h>

typedef struct ki_map_slot {
    const char *key; /* NULL: empty */
    uint32_t key_size;
    uint32_t hash; /* low bits of ki_hash, compared before the key */
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
/* Frees the table, not its keys and values. */
void ki_map_free(ki_map *map);
void *ki_map_get(const ki_map *map, ki_str key); /* NULL if `key` is missing */
bool ki_map_has(const ki_map *map, ki_str key);
/* Sets `key`. The old value goes to `*ret_old` (may be NULL); the new key's pointer replaces the old one. */
ki_status ki_map_put(ki_map *map, ki_str key, void *value, void **ret_old);
/* Removes `key` and returns its value; NULL if it is missing. */
void *ki_map_remove(ki_map *map, ki_str key);
void ki_map_clear(ki_map *map); /* keeps the memory */
ki_status ki_map_reserve(ki_map *map, size_t count);
/* Iterates over all entries. Start with *cursor 0; returns false at the end. Do not remove entries meanwhile. */
bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value);

#endif

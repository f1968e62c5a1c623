/* map.h: a hash table from byte strings to pointers. One thread. Keys are borrowed: the caller keeps them alive and
 * unchanged (usually they are part of the value).
 *
 * A map with many keys is in parts, and grows by one part at a time: a put moves a thousand entries at most, however
 * large the map is. */
#ifndef KI_BASE_MAP_H
#define KI_BASE_MAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/internal_api.h"
#include "src/base/string_view.h"

#include <stdbool.h>

typedef struct ki_map_slot {
    const char *key; /* NULL: empty */
    uint32_t key_size;
    uint32_t hash; /* low bits of ki_hash, compared before the key */
    void *value;
} ki_map_slot;

typedef struct ki_map_part {
    size_t count;
    size_t capacity; /* a multiple of 8 */
    size_t stride;   /* a power of two: the part is at each stride-th place of `parts` */
    ki_map_slot slots[];
} ki_map_part;

typedef struct ki_map {
    const ki_allocator *allocator;
    uint64_t seed;
    size_t count;
    ki_map_part **parts; /* NULL before the first key; an empty part is NULL, except the only one */
    size_t part_count;   /* a power of two, or 0 */
} ki_map;

KI_INTERNAL_API void ki_map_init(ki_map *map, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not its keys and values. */
KI_INTERNAL_API void ki_map_free(ki_map *map);
/* Frees one part: freeing a large map can take many calls. Returns false once all is freed; nothing else may be called
 * before. */
bool ki_map_free_part(ki_map *map);
KI_INTERNAL_API void *ki_map_get(const ki_map *map, ki_str key); /* NULL if `key` is missing */
bool ki_map_has(const ki_map *map, ki_str key);
/* Returns the slot of `key`, which is made with the value NULL if the key is missing; NULL without memory. The caller
 * may then set the slot's value, and a key pointer that lasts. Valid until the next change of the map. */
KI_INTERNAL_API ki_map_slot *ki_map_slot_of(ki_map *map, ki_str key);
/* Sets `key`. The old value goes to `*ret_old` (may be NULL); the new key's pointer replaces the old one.
 * Errors: KI_ERR_NO_MEMORY. */
KI_INTERNAL_API ki_status ki_map_put(ki_map *map, ki_str key, void *value, void **ret_old);
/* Removes `key` and returns its value; NULL if it is missing. Memory of a map in parts is freed as the parts empty. */
KI_INTERNAL_API void *ki_map_remove(ki_map *map, ki_str key);
void ki_map_clear(ki_map *map); /* keeps the memory of a small map */
/* Makes room, so that puts up to `count` keys in total cannot fail before the next removal. Each part gets the room. */
ki_status ki_map_reserve(ki_map *map, size_t count);
/* Returns the bytes of the table, without its keys and values. */
size_t ki_map_memory(const ki_map *map);

/* Iterates over all entries. Start with *cursor 0; returns false at the end. Where entries are added or removed
 * meanwhile, some may be passed over, or come twice. */
KI_INTERNAL_API bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value);

#endif

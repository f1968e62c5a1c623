/* map.c: linear probing. A removal shifts the following entries back, so that there are no tombstones and lookups stay
 * fast. */
#include "src/base/map.h"

#include "src/base/memory.h"

enum {
    MAP_FIRST_CAPACITY = 8
};

void ki_map_init(ki_map *map, const ki_allocator *allocator, uint64_t seed) {
    *map = (ki_map){ .allocator = allocator, .seed = seed };
}

void ki_map_free(ki_map *map) {
    ki_free(map->allocator, map->slots);
    ki_map_init(map, map->allocator, map->seed);
}

static bool slot_is(const ki_map_slot *slot, ki_str key, uint32_t hash) {
    return slot->hash == hash && slot->key_size == key.size &&
           (key.size == 0 || memcmp(slot->key, key.data, key.size) == 0);
}

static uint32_t hash_of(const ki_map *map, ki_str key) {
    return (uint32_t)ki_hash(key.data, key.size, map->seed);
}

/* Returns the slot of `key`, or the empty slot for it. The capacity is not 0, and at least one slot is empty. */
static size_t probe(const ki_map *map, ki_str key, uint32_t hash) {
    size_t mask = map->capacity - 1;
    size_t at = hash & mask;
    while (map->slots[at].key && !slot_is(&map->slots[at], key, hash))
        at = (at + 1) & mask;
    return at;
}

static const ki_map_slot *find(const ki_map *map, ki_str key) {
    if (map->count == 0 || key.size > UINT32_MAX)
        return NULL;
    const ki_map_slot *slot = &map->slots[probe(map, key, hash_of(map, key))];
    return slot->key ? slot : NULL;
}

void *ki_map_get(const ki_map *map, ki_str key) {
    const ki_map_slot *slot = find(map, key);
    return slot ? slot->value : NULL;
}

bool ki_map_has(const ki_map *map, ki_str key) {
    return find(map, key) != NULL;
}

static ki_status resize(ki_map *map, size_t capacity) {
    ki_map_slot *slots = ki_alloc_array(map->allocator, capacity, sizeof *slots);
    if (!slots)
        return KI_ERR_NO_MEMORY;
    memset(slots, 0, capacity * sizeof *slots);
    size_t mask = capacity - 1;
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->slots[i].key)
            continue;
        size_t at = map->slots[i].hash & mask;
        while (slots[at].key)
            at = (at + 1) & mask;
        slots[at] = map->slots[i];
    }
    ki_free(map->allocator, map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return KI_OK;
}

ki_status ki_map_reserve(ki_map *map, size_t count) {
    if (count > SIZE_MAX / 4 / sizeof(ki_map_slot))
        return KI_ERR_NO_MEMORY;
    size_t capacity = map->capacity ? map->capacity : MAP_FIRST_CAPACITY;
    while (count > capacity / 8 * 7)
        capacity *= 2;
    return capacity == map->capacity ? KI_OK : resize(map, capacity);
}

ki_status ki_map_put(ki_map *map, ki_str key, void *value, void **ret_old) {
    if (key.size > UINT32_MAX)
        return KI_ERR_LIMIT;
    uint32_t hash = hash_of(map, key);
    size_t at = 0;
    bool is_new = true;
    if (map->capacity) {
        at = probe(map, key, hash);
        is_new = !map->slots[at].key;
    }
    if (is_new && map->count + 1 > map->capacity / 8 * 7) {
        ki_status status = ki_map_reserve(map, map->count + 1);
        if (status)
            return status;
        at = probe(map, key, hash);
    }
    ki_map_slot *slot = &map->slots[at];
    if (ret_old)
        *ret_old = is_new ? NULL : slot->value;
    /* The data of an empty key can be NULL, but NULL marks an empty slot. */
    *slot = (ki_map_slot){ key.data ? key.data : "", (uint32_t)key.size, hash, value };
    map->count += is_new;
    return KI_OK;
}

void *ki_map_remove(ki_map *map, ki_str key) {
    const ki_map_slot *found = find(map, key);
    if (!found)
        return NULL;
    void *value = found->value;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(found - map->slots);
    for (size_t at = (hole + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
        size_t home = map->slots[at].hash & mask;
        /* The entry moves into the hole unless its home slot lies between the hole and itself. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (ki_map_slot){ 0 };
    map->count--;
    return value;
}

void ki_map_clear(ki_map *map) {
    if (map->slots)
        memset(map->slots, 0, map->capacity * sizeof *map->slots);
    map->count = 0;
}

bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value) {
    for (size_t i = *cursor; i < map->capacity; i++) {
        const ki_map_slot *slot = &map->slots[i];
        if (!slot->key)
            continue;
        if (ret_key)
            *ret_key = (ki_str){ slot->key, slot->key_size };
        if (ret_value)
            *ret_value = slot->value;
        *cursor = i + 1;
        return true;
    }
    *cursor = map->capacity;
    return false;
}

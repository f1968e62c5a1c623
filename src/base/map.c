/* map.c: open addressing with linear probing in each part. A removal shifts the following entries back, so that there
 * are no tombstones and lookups stay fast.
 *
 * Extendible hashing: the last bits of a hash are the index of its part, the first bits the slot. A full part is
 * divided in two. A part that was divided less often than others is in the array at each `stride`-th place. */
#include "src/base/map.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

enum {
    FIRST_ROOM = 7,   /* keys */
    SLOTS = 8,        /* slots for each FULL keys */
    FULL = 7,         /* keys */
    PART_KEYS = 1792, /* a full part with so many is divided; a full part with fewer grows */
    PARTS_MAX = 1 << 16
};

/* --- one part ----------------------------------------------------------------------------------------------------- */

static size_t home_of(const ki_map_part *part, uint32_t hash) {
    KI_ASSERT(part->capacity > 0 && part->capacity % SLOTS == 0);
    return (size_t)((uint64_t)hash * part->capacity >> 32);
}

static size_t after(const ki_map_part *part, size_t at) {
    return at + 1 < part->capacity ? at + 1 : 0;
}

static size_t steps(const ki_map_part *part, size_t from, size_t to) {
    return to >= from ? to - from : to + part->capacity - from;
}

static bool has_room(const ki_map_part *part, size_t more) {
    return part->count + more <= part->capacity / SLOTS * FULL;
}

static bool slot_is(const ki_map_slot *slot, ki_str key, uint32_t hash) {
    return slot->hash == hash && slot->key_size == key.size &&
           (key.size == 0 || memcmp(slot->key, key.data, key.size) == 0);
}

/* Returns the slot of `key`, or the empty slot for it. At least one slot is empty. */
static ki_map_slot *probe(ki_map_part *part, ki_str key, uint32_t hash) {
    KI_ASSERT(part->count < part->capacity);
    size_t at = home_of(part, hash);
    while (part->slots[at].key && !slot_is(&part->slots[at], key, hash))
        at = after(part, at);
    return &part->slots[at];
}

/* Makes a part for `count` keys, at least one. Returns NULL without memory. */
static ki_map_part *new_part(const ki_map *map, size_t count, size_t stride) {
    if (count > SIZE_MAX / 2 / sizeof(ki_map_slot))
        return NULL;
    size_t capacity = (count + FULL - 1) / FULL * SLOTS;
    ki_map_part *part = ki_alloc_zero(map->allocator, sizeof *part + capacity * sizeof *part->slots);
    if (!part)
        return NULL;
    part->capacity = capacity;
    part->stride = stride;
    return part;
}

/* Adds a key that is not in the part, which has room. */
static void add(ki_map_part *part, ki_map_slot slot) {
    KI_ASSERT(slot.key && has_room(part, 1));
    size_t at = home_of(part, slot.hash);
    while (part->slots[at].key)
        at = after(part, at);
    part->slots[at] = slot;
    part->count++;
}

/* Moves the keys of a part to one of two parts, by a bit of their hashes, and frees the part. */
static void move_keys(const ki_map *map, ki_map_part *from, size_t bit, ki_map_part *to, ki_map_part *to_other) {
    for (size_t i = 0; i < from->capacity; i++)
        if (from->slots[i].key)
            add(from->slots[i].hash & bit ? to_other : to, from->slots[i]);
    ki_free(map->allocator, from);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Returns NULL if there is none. Only of a map with an array. */
static ki_map_part *part_of(const ki_map *map, uint32_t hash) {
    KI_ASSERT(map->part_count > 0 && (map->part_count & (map->part_count - 1)) == 0);
    return map->parts[hash & (map->part_count - 1)];
}

/* Returns the part at `index` if this is the first of the part's places; else NULL. */
static ki_map_part *first_at(const ki_map *map, size_t index) {
    ki_map_part *part = map->parts[index];
    return part && index < part->stride ? part : NULL;
}

static void set_part(ki_map *map, uint32_t hash, size_t stride, ki_map_part *part) {
    KI_ASSERT(stride > 0 && stride <= map->part_count && (!part || part->stride % stride == 0));
    for (size_t i = hash & (stride - 1); i < map->part_count; i += stride)
        map->parts[i] = part;
}

/* Doubles the array, or makes the first one. */
static ki_status grow_array(ki_map *map) {
    size_t count = map->part_count;
    if (count == PARTS_MAX)
        return KI_ERR_LIMIT;
    ki_map_part **parts = ki_realloc_array(map->allocator, map->parts, count ? count * 2 : 1, sizeof(ki_map_part *));
    if (!parts)
        return KI_ERR_NO_MEMORY;
    if (count)
        memcpy(parts + count, parts, count * sizeof(ki_map_part *));
    else
        parts[0] = NULL;
    map->parts = parts;
    map->part_count = count ? count * 2 : 1;
    return KI_OK;
}

/* Gives the part of a hash room for `count` keys in total. */
static ki_status resize(ki_map *map, uint32_t hash, size_t count) {
    ki_map_part *part = part_of(map, hash);
    size_t stride = part ? part->stride : map->part_count;
    ki_map_part *larger = new_part(map, count, stride);
    if (!larger)
        return KI_ERR_NO_MEMORY;
    if (part)
        move_keys(map, part, 0, larger, NULL);
    set_part(map, hash, stride, larger);
    return KI_OK;
}

/* Divides the part of a hash in two, by one more bit of the hashes. */
static ki_status divide(ki_map *map, uint32_t hash) {
    ki_map_part *part = part_of(map, hash);
    size_t bit = part->stride;
    if (bit == map->part_count && grow_array(map))
        return KI_ERR_NO_MEMORY;
    /* Room for all keys in each: their hashes can have the same bit. */
    ki_map_part *half = new_part(map, part->count, bit * 2), *other = new_part(map, part->count, bit * 2);
    if (!half || !other) {
        ki_free(map->allocator, half);
        ki_free(map->allocator, other);
        return KI_ERR_NO_MEMORY;
    }
    size_t count = part->count;
    move_keys(map, part, bit, half, other);
    KI_ASSERT(half->count + other->count == count);
    (void)count;
    set_part(map, hash, bit, half);
    set_part(map, hash | (uint32_t)bit, bit * 2, other);
    return KI_OK;
}

/* Makes room for a new key and returns its part; NULL without memory. */
static ki_map_part *make_room(ki_map *map, uint32_t hash) {
    if (map->part_count == 0 && grow_array(map))
        return NULL;
    ki_map_part *part = part_of(map, hash);
    /* A part that cannot be divided grows instead. */
    if (part && part->count >= PART_KEYS && divide(map, hash) == KI_OK)
        part = part_of(map, hash);
    if (part && has_room(part, 1))
        return part;
    return resize(map, hash, part && part->count ? part->count * 2 : FIRST_ROOM) == KI_OK ? part_of(map, hash) : NULL;
}

/* Frees an empty part, and the array of a map that is empty. A map of one part keeps its memory. */
static void free_empty(ki_map *map, ki_map_part *part, uint32_t hash) {
    if (map->part_count == 1 || part->count > 0)
        return;
    set_part(map, hash, part->stride, NULL);
    ki_free(map->allocator, part);
    if (map->count == 0)
        ki_map_free(map);
}

/* --- the map ------------------------------------------------------------------------------------------------------ */

void ki_map_init(ki_map *map, const ki_allocator *allocator, uint64_t seed) {
    *map = (ki_map){ .allocator = allocator, .seed = seed };
}

bool ki_map_free_part(ki_map *map) {
    while (map->part_count > 0) {
        ki_map_part *part = first_at(map, --map->part_count); /* a part's first place comes last */
        ki_free(map->allocator, part);
        if (part)
            return true;
    }
    ki_free(map->allocator, map->parts);
    ki_map_init(map, map->allocator, map->seed);
    return false;
}

void ki_map_free(ki_map *map) {
    while (ki_map_free_part(map))
        continue;
}

static uint32_t hash_of(const ki_map *map, ki_str key) {
    return (uint32_t)ki_hash(key.data, key.size, map->seed);
}

static ki_map_slot *find(const ki_map *map, ki_str key, uint32_t hash) {
    ki_map_part *part = map->count ? part_of(map, hash) : NULL;
    if (!part)
        return NULL;
    ki_map_slot *slot = probe(part, key, hash);
    KI_ASSERT(!slot->key || slot->hash == hash);
    return slot->key ? slot : NULL;
}

void *ki_map_get(const ki_map *map, ki_str key) {
    const ki_map_slot *slot = find(map, key, hash_of(map, key));
    return slot ? slot->value : NULL;
}

bool ki_map_has(const ki_map *map, ki_str key) {
    return find(map, key, hash_of(map, key)) != NULL;
}

ki_status ki_map_reserve(ki_map *map, size_t count) {
    if (count <= map->count)
        return KI_OK;
    size_t more = count - map->count;
    ki_status status = map->part_count ? KI_OK : grow_array(map);
    for (size_t i = 0; !status && i < map->part_count; i++) {
        const ki_map_part *part = map->parts[i];
        if (!part || (first_at(map, i) && !has_room(part, more)))
            status = resize(map, (uint32_t)i, (part ? part->count : 0) + more);
    }
    return status;
}

ki_map_slot *ki_map_slot_of(ki_map *map, ki_str key) {
    uint32_t hash = hash_of(map, key);
    ki_map_part *part = map->part_count ? part_of(map, hash) : NULL;
    if (key.size > UINT32_MAX)
        return NULL;
    if (!part || !has_room(part, 1)) {
        ki_map_slot *found = find(map, key, hash);
        part = found ? NULL : make_room(map, hash);
        if (!part)
            return found;
    }
    ki_map_slot *slot = probe(part, key, hash);
    if (slot->key)
        return slot;
    /* The data of an empty key can be NULL, but NULL marks an empty slot. */
    *slot = (ki_map_slot){ .key = key.data ? key.data : "", .key_size = (uint32_t)key.size, .hash = hash };
    part->count++;
    map->count++;
    KI_ASSERT(part->count <= map->count && part->count < part->capacity);
    KI_ASSERT(find(map, key, hash) == slot);
    return slot;
}

ki_status ki_map_put(ki_map *map, ki_str key, void *value, void **ret_old) {
    ki_map_slot *slot = ki_map_slot_of(map, key);
    if (!slot)
        return KI_ERR_NO_MEMORY;
    if (ret_old)
        *ret_old = slot->value;
    if (key.data)
        slot->key = key.data;
    slot->value = value;
    return KI_OK;
}

void *ki_map_remove(ki_map *map, ki_str key) {
    uint32_t hash = hash_of(map, key);
    const ki_map_slot *found = find(map, key, hash);
    if (!found)
        return NULL;
    void *value = found->value;
    ki_map_part *part = part_of(map, hash);
    size_t hole = (size_t)(found - part->slots);
    for (size_t at = after(part, hole); part->slots[at].key; at = after(part, at)) {
        /* The entry moves into the hole unless its home slot lies between the hole and itself. */
        if (steps(part, home_of(part, part->slots[at].hash), at) >= steps(part, hole, at)) {
            part->slots[hole] = part->slots[at];
            hole = at;
        }
    }
    KI_ASSERT(part->count > 0 && map->count >= part->count);
    part->slots[hole] = (ki_map_slot){ 0 };
    part->count--;
    map->count--;
    KI_ASSERT(!find(map, key, hash));
    free_empty(map, part, hash);
    return value;
}

void ki_map_clear(ki_map *map) {
    if (map->part_count > 1)
        ki_map_free(map);
    if (map->count == 0)
        return;
    ki_map_part *part = map->parts[0];
    KI_ASSERT(part && part->count == map->count);
    memset(part->slots, 0, part->capacity * sizeof *part->slots);
    map->count = part->count = 0;
}

size_t ki_map_memory(const ki_map *map) {
    size_t bytes = map->part_count * sizeof(ki_map_part *);
    for (size_t i = 0; i < map->part_count; i++) {
        const ki_map_part *part = first_at(map, i);
        bytes += part ? sizeof *part + part->capacity * sizeof *part->slots : 0;
    }
    return bytes;
}

bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value) {
    /* The last bits of the cursor are the part, the first bits the slot. */
    size_t index = *cursor % PARTS_MAX, at = *cursor / PARTS_MAX;
    for (; index < map->part_count; index++, at = 0) {
        const ki_map_part *part = first_at(map, index);
        while (part && at < part->capacity && !part->slots[at].key)
            at++;
        if (!part || at >= part->capacity) /* it can be another one, with fewer slots, than at the call before */
            continue;
        if (ret_key)
            *ret_key = (ki_str){ part->slots[at].key, part->slots[at].key_size };
        if (ret_value)
            *ret_value = part->slots[at].value;
        *cursor = (at + 1) * PARTS_MAX + index;
        return true;
    }
    *cursor = index;
    return false;
}

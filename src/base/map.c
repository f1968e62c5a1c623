/* map.c: open addressing with linear probing in each part. A removal shifts the following entries back, so that there
 * are no tombstones and lookups stay fast.
 *
 * The parts grow in number by linear hashing: the last bits of a hash select the part, its first bits the slot. Part
 * p + level holds what part p held before its split. */
#include "src/base/map.h"

#include "src/base/memory.h"

enum {
    SLOTS = 8,        /* a capacity is a multiple of this */
    SLOTS_FULL = 7,   /* used slots of so many, at most */
    PART_KEYS = 1024, /* keys of a part on average; above, parts are split */
    SPLITS = 2,       /* at most, for one put */
    PARTS_MAX = 1 << 16
};

/* --- one part ----------------------------------------------------------------------------------------------------- */

static size_t home_of(const ki_map_part *part, uint32_t hash) {
    return (size_t)((uint64_t)hash * part->capacity >> 32);
}

static size_t after(const ki_map_part *part, size_t at) {
    return at + 1 < part->capacity ? at + 1 : 0;
}

static size_t steps(const ki_map_part *part, size_t from, size_t to) {
    return to >= from ? to - from : to + part->capacity - from;
}

static bool has_room(const ki_map_part *part, size_t more) {
    return part->count + more <= part->capacity / SLOTS * SLOTS_FULL;
}

static bool slot_is(const ki_map_slot *slot, ki_str key, uint32_t hash) {
    return slot->hash == hash && slot->key_size == key.size &&
           (key.size == 0 || memcmp(slot->key, key.data, key.size) == 0);
}

/* Returns the slot of `key`, or the empty slot for it. At least one slot is empty. */
static ki_map_slot *probe(const ki_map_part *part, ki_str key, uint32_t hash) {
    size_t at = home_of(part, hash);
    while (part->slots[at].key && !slot_is(&part->slots[at], key, hash))
        at = after(part, at);
    return &part->slots[at];
}

static void free_slots(const ki_map *map, ki_map_part *part) {
    ki_free(map->allocator, part->slots);
    *part = (ki_map_part){ .slots = NULL };
}

/* Makes the slots of an empty part for `count` keys. */
static ki_status make_slots(const ki_map *map, ki_map_part *part, size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(ki_map_slot))
        return KI_ERR_NO_MEMORY;
    size_t capacity = count / SLOTS_FULL * SLOTS + SLOTS;
    part->slots = ki_alloc_zero(map->allocator, capacity * sizeof *part->slots);
    if (!part->slots)
        return KI_ERR_NO_MEMORY;
    part->capacity = capacity;
    return KI_OK;
}

/* Returns the number of keys to make room for when `count` are in a part that grows. */
static size_t with_reserve(size_t count) {
    return count + count / 2 + 1;
}

/* Adds a key that is not in the part, which has room, and returns its slot. */
static ki_map_slot *add(ki_map_part *part, ki_map_slot slot) {
    size_t at = home_of(part, slot.hash);
    while (part->slots[at].key)
        at = after(part, at);
    part->slots[at] = slot;
    part->count++;
    return &part->slots[at];
}

/* Makes room for `count` keys in total. */
static ki_status resize(const ki_map *map, ki_map_part *part, size_t count) {
    ki_map_part larger = { .slots = NULL };
    if (make_slots(map, &larger, count))
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < part->capacity; i++)
        if (part->slots[i].key)
            (void)add(&larger, part->slots[i]);
    ki_free(map->allocator, part->slots);
    *part = larger;
    return KI_OK;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Only of a map that has parts. */
static ki_map_part *part_of(const ki_map *map, uint32_t hash) {
    size_t index = hash & (map->level * 2 - 1);
    return &map->parts[index < map->part_count ? index : index - map->level];
}

/* Makes a place in the array for one more part. */
static ki_status make_place(ki_map *map) {
    size_t count = map->part_count;
    if (count & (count - 1))
        return KI_OK; /* the array's capacity is the next power of two */
    ki_map_part *parts = ki_realloc_array(map->allocator, map->parts, count ? count * 2 : 1, sizeof *parts);
    if (!parts)
        return KI_ERR_NO_MEMORY;
    map->parts = parts;
    return KI_OK;
}

static void append_part(ki_map *map, ki_map_part part) {
    map->parts[map->part_count++] = part;
    if (map->part_count >= map->level * 2)
        map->level = map->part_count;
}

static ki_status make_first_part(ki_map *map) {
    if (map->part_count > 0)
        return KI_OK;
    if (make_place(map))
        return KI_ERR_NO_MEMORY;
    append_part(map, (ki_map_part){ .slots = NULL });
    return KI_OK;
}

/* Divides the part whose turn it is into two. */
static ki_status split(ki_map *map) {
    size_t bit = map->level, counts[2] = { 0, 0 };
    ki_map_part *part = &map->parts[map->part_count - bit], halves[2] = { { .slots = NULL } };
    if (map->part_count == PARTS_MAX)
        return KI_ERR_LIMIT;
    for (size_t i = 0; i < part->capacity; i++)
        if (part->slots[i].key)
            counts[(part->slots[i].hash & bit) != 0]++;
    if (make_slots(map, &halves[0], with_reserve(counts[0])) || make_slots(map, &halves[1], with_reserve(counts[1])) ||
        make_place(map)) {
        free_slots(map, &halves[0]);
        free_slots(map, &halves[1]);
        return KI_ERR_NO_MEMORY;
    }
    part = &map->parts[map->part_count - bit];
    for (size_t i = 0; i < part->capacity; i++)
        if (part->slots[i].key)
            (void)add(&halves[(part->slots[i].hash & bit) != 0], part->slots[i]);
    free_slots(map, part);
    *part = halves[0];
    append_part(map, halves[1]);
    return KI_OK;
}

/* Makes room for a new key and returns its part; NULL without memory. */
static ki_map_part *make_room(ki_map *map, uint32_t hash) {
    if (make_first_part(map))
        return NULL;
    ki_map_part *part = part_of(map, hash);
    if (has_room(part, 1))
        return part;
    /* A failed split is no failure: the part grows instead. */
    for (int i = 0; i < SPLITS && map->count >= map->part_count * PART_KEYS && split(map) == KI_OK; i++)
        continue;
    part = part_of(map, hash);
    return has_room(part, 1) || resize(map, part, with_reserve(part->count)) == KI_OK ? part : NULL;
}

/* Frees the memory of an empty part, and of a map that is empty. A map of one part keeps its memory. */
static void free_empty(ki_map *map, ki_map_part *part) {
    if (map->part_count == 1 || part->count > 0)
        return;
    free_slots(map, part);
    if (map->count == 0)
        ki_map_free(map);
}

/* --- the map ------------------------------------------------------------------------------------------------------ */

void ki_map_init(ki_map *map, const ki_allocator *allocator, uint64_t seed) {
    *map = (ki_map){ .allocator = allocator, .seed = seed, .level = 1 };
}

void ki_map_free(ki_map *map) {
    for (size_t i = 0; i < map->part_count; i++)
        ki_free(map->allocator, map->parts[i].slots);
    ki_free(map->allocator, map->parts);
    ki_map_init(map, map->allocator, map->seed);
}

static uint32_t hash_of(const ki_map *map, ki_str key) {
    return (uint32_t)ki_hash(key.data, key.size, map->seed);
}

static ki_map_slot *find(const ki_map *map, ki_str key, uint32_t hash) {
    const ki_map_part *part = map->count ? part_of(map, hash) : NULL;
    if (!part || part->count == 0)
        return NULL;
    ki_map_slot *slot = probe(part, key, hash);
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
    size_t more = count > map->count ? count - map->count : 0;
    ki_status status = make_first_part(map);
    for (size_t i = 0; !status && i < map->part_count; i++) {
        ki_map_part *part = &map->parts[i];
        if (!has_room(part, more))
            status = resize(map, part, part->count + more);
    }
    return status;
}

ki_map_slot *ki_map_slot_of(ki_map *map, ki_str key) {
    uint32_t hash = hash_of(map, key);
    ki_map_slot *found = find(map, key, hash);
    ki_map_part *part = found || key.size > UINT32_MAX ? NULL : make_room(map, hash);
    if (!part)
        return found;
    map->count++;
    /* The data of an empty key can be NULL, but NULL marks an empty slot. */
    return add(part, (ki_map_slot){ .key = key.data ? key.data : "", .key_size = (uint32_t)key.size, .hash = hash });
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
    part->slots[hole] = (ki_map_slot){ 0 };
    part->count--;
    map->count--;
    free_empty(map, part);
    return value;
}

void ki_map_clear(ki_map *map) {
    if (map->part_count > 1)
        ki_map_free(map);
    if (map->count == 0)
        return;
    memset(map->parts->slots, 0, map->parts->capacity * sizeof *map->parts->slots);
    map->count = map->parts->count = 0;
}

bool ki_map_next(const ki_map *map, size_t *cursor, ki_str *ret_key, void **ret_value) {
    /* The last bits of the cursor are the part, the first bits the slot. */
    size_t index = *cursor % PARTS_MAX, at = *cursor / PARTS_MAX;
    for (; index < map->part_count; index++, at = 0) {
        const ki_map_part *part = &map->parts[index];
        while (at < part->capacity && !part->slots[at].key)
            at++;
        if (at == part->capacity)
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

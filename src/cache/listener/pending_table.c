/* pending_table.c: open addressing with linear probing. A removal moves later entries back, so there are no tombstones.
 * The first bits of a hash select the part, the last bits the slot. */
#include "src/cache/listener/pending_table.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

enum {
    FIRST_CAPACITY = 16,
    PARTS = 64,
    PART_SHIFT = 26,
    WHOLE_MAX = 4096 /* keys; a larger table is in parts */
};

_Static_assert(PARTS == 1 << (32 - PART_SHIFT), "the first bits of a hash select the part");

void ki_pending_table_init(ki_pending_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_pending_table){ .allocator = allocator, .seed = seed };
}

static void free_parts(const ki_allocator *allocator, ki_pending_part *parts) {
    for (size_t i = 0; parts && i < PARTS; i++)
        ki_free(allocator, parts[i].slots);
    ki_free(allocator, parts);
}

void ki_pending_table_free(ki_pending_table *table) {
    ki_free(table->allocator, table->whole.slots);
    free_parts(table->allocator, table->parts);
    ki_pending_table_init(table, table->allocator, table->seed);
}

static uint32_t hash_of(const ki_pending_table *table, const char *key) {
    return (uint32_t)ki_hash(key, strlen(key), table->seed);
}

static ki_pending_part *part_of(ki_pending_table *table, uint32_t hash) {
    return table->parts ? &table->parts[hash >> PART_SHIFT] : &table->whole;
}

static void put(ki_pending_part *part, ki_pending_entry *entry) {
    size_t at = entry->hash & (part->capacity - 1);
    while (part->slots[at])
        at = (at + 1) & (part->capacity - 1);
    part->slots[at] = entry;
    part->count++;
}

static ki_status reserve(const ki_allocator *allocator, ki_pending_part *part, size_t more) {
    ki_pending_part grown = { .capacity = part->capacity ? part->capacity : FIRST_CAPACITY };
    while (part->count + more > grown.capacity / 8 * 7)
        grown.capacity *= 2;
    if (grown.capacity == part->capacity)
        return KI_OK;
    grown.slots = ki_alloc_array(allocator, grown.capacity, sizeof(ki_pending_entry *));
    if (!grown.slots)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < grown.capacity; i++)
        grown.slots[i] = NULL;
    for (size_t i = 0; i < part->capacity; i++)
        if (part->slots[i])
            put(&grown, part->slots[i]);
    ki_free(allocator, part->slots);
    *part = grown;
    return KI_OK;
}

/* Reserves room for `more` entries in each part, since any key can belong to any part. */
static ki_status reserve_in_each(const ki_allocator *allocator, ki_pending_part *parts, size_t more) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < PARTS; i++)
        status = reserve(allocator, &parts[i], more);
    return status;
}

/* Divides the table into parts. */
static ki_status divide(ki_pending_table *table) {
    ki_pending_part *parts = ki_alloc_zero(table->allocator, PARTS * sizeof *parts);
    if (!parts)
        return KI_ERR_NO_MEMORY;
    size_t counts[PARTS] = { 0 };
    for (size_t i = 0; i < table->whole.capacity; i++)
        if (table->whole.slots[i])
            counts[table->whole.slots[i]->hash >> PART_SHIFT]++;
    for (size_t i = 0; i < PARTS; i++) {
        if (!reserve(table->allocator, &parts[i], counts[i]))
            continue;
        free_parts(table->allocator, parts);
        return KI_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < table->whole.capacity; i++)
        if (table->whole.slots[i])
            put(&parts[table->whole.slots[i]->hash >> PART_SHIFT], table->whole.slots[i]);
    ki_free(table->allocator, table->whole.slots);
    table->whole = (ki_pending_part){ .slots = NULL };
    table->parts = parts;
    return KI_OK;
}

ki_status ki_pending_table_reserve(ki_pending_table *table, size_t more) {
    if (!table->parts && table->count + more <= WHOLE_MAX)
        return reserve(table->allocator, &table->whole, more);
    ki_status status = table->parts ? KI_OK : divide(table);
    return status ? status : reserve_in_each(table->allocator, table->parts, more);
}

ki_pending_entry *ki_pending_table_get(const ki_pending_table *table, const char *key) {
    if (table->count == 0)
        return NULL;
    uint32_t hash = hash_of(table, key);
    const ki_pending_part *part = table->parts ? &table->parts[hash >> PART_SHIFT] : &table->whole;
    if (part->count == 0)
        return NULL;
    size_t at = hash & (part->capacity - 1);
    ki_pending_entry *entry;
    while ((entry = part->slots[at]) && (entry->hash != hash || strcmp(ki_object_key(entry->obj), key) != 0))
        at = (at + 1) & (part->capacity - 1);
    return entry;
}

void ki_pending_table_put(ki_pending_table *table, ki_pending_entry *entry) {
    entry->hash = hash_of(table, ki_object_key(entry->obj));
    put(part_of(table, entry->hash), entry);
    table->count++;
}

void ki_pending_table_remove(ki_pending_table *table, const ki_pending_entry *entry) {
    ki_pending_part *part = part_of(table, entry->hash);
    size_t mask = part->capacity - 1;
    size_t hole = entry->hash & mask;
    while (part->slots[hole] != entry)
        hole = (hole + 1) & mask;
    for (size_t at = (hole + 1) & mask; part->slots[at]; at = (at + 1) & mask) {
        size_t home = part->slots[at]->hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its home lies behind the hole */
        part->slots[hole] = part->slots[at];
        hole = at;
    }
    part->slots[hole] = NULL;
    part->count--;
    table->count--;
}

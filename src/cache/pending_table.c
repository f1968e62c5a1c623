/* pending_table.c: open addressing, linear; taking out moves back what comes after, so there are no tombstones. */
#include "src/cache/pending_table.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

enum {
    FIRST_CAPACITY = 16
};

void ki_pending_table_init(ki_pending_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_pending_table){ .allocator = allocator, .seed = seed };
}

void ki_pending_table_free(ki_pending_table *table) {
    ki_free(table->allocator, table->slots);
    ki_pending_table_init(table, table->allocator, table->seed);
}

static uint32_t hash_of(const ki_pending_table *table, const char *key) {
    return (uint32_t)ki_hash(key, strlen(key), table->seed);
}

static void put(ki_pending_entry **slots, size_t capacity, ki_pending_entry *entry) {
    size_t at = entry->hash & (capacity - 1);
    while (slots[at])
        at = (at + 1) & (capacity - 1);
    slots[at] = entry;
}

ki_status ki_pending_table_reserve(ki_pending_table *table, size_t count) {
    size_t capacity = table->capacity ? table->capacity : FIRST_CAPACITY;
    while (count > capacity / 8 * 7)
        capacity *= 2;
    if (capacity == table->capacity)
        return KI_OK;
    ki_pending_entry **slots = ki_alloc_array(table->allocator, capacity, sizeof(ki_pending_entry *));
    if (!slots)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < capacity; i++)
        slots[i] = NULL;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i])
            put(slots, capacity, table->slots[i]);
    ki_free(table->allocator, table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return KI_OK;
}

ki_pending_entry *ki_pending_table_get(const ki_pending_table *table, const char *key) {
    if (table->count == 0)
        return NULL;
    uint32_t hash = hash_of(table, key);
    size_t at = hash & (table->capacity - 1);
    ki_pending_entry *entry;
    while ((entry = table->slots[at]) && (entry->hash != hash || strcmp(ki_object_key(entry->obj), key) != 0))
        at = (at + 1) & (table->capacity - 1);
    return entry;
}

void ki_pending_table_put(ki_pending_table *table, ki_pending_entry *entry) {
    entry->hash = hash_of(table, ki_object_key(entry->obj));
    put(table->slots, table->capacity, entry);
    table->count++;
}

void ki_pending_table_remove(ki_pending_table *table, const ki_pending_entry *entry) {
    size_t mask = table->capacity - 1;
    size_t hole = entry->hash & mask;
    while (table->slots[hole] != entry)
        hole = (hole + 1) & mask;
    for (size_t at = (hole + 1) & mask; table->slots[at]; at = (at + 1) & mask) {
        size_t home = table->slots[at]->hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* its home lies behind the hole */
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = NULL;
    table->count--;
}

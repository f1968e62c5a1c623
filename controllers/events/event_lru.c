/* event_lru.c: entries in a map, and in a list from least to most recently used. */
#include "controllers/events/event_lru.h"

#include "src/base/list.h"
#include "src/base/memory.h"

ki_event_key ki_event_key_of(uint64_t seed, const char *const *texts, size_t count) {
    ki_event_key key = { { seed, ~seed } };
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(texts[i]) + 1; /* the zero separates texts: "ab" "c" differs from "a" "bc" */
        key.halves[0] = ki_hash(texts[i], size, key.halves[0]);
        key.halves[1] = ki_hash(texts[i], size, key.halves[1]);
    }
    return key;
}

bool ki_event_key_equal(const ki_event_key *a, const ki_event_key *b) {
    return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1];
}

static ki_str key_text(const ki_event_key *key) {
    return (ki_str){ (const char *)key, sizeof *key };
}

void ki_event_lru_init(ki_event_lru *lru, const ki_allocator *allocator, size_t entry_size, size_t max, uint64_t seed) {
    *lru = (ki_event_lru){ .allocator = allocator, .entry_size = entry_size, .max = max };
    ki_map_init(&lru->map, allocator, seed);
}

void ki_event_lru_remove(ki_event_lru *lru, void *entry) {
    ki_event_lru_node *node = entry;
    ki_map_remove(&lru->map, key_text(&node->key));
    KI_LIST_REMOVE(lru->oldest, node);
    if (lru->drop)
        lru->drop(entry, lru->allocator);
    ki_free(lru->allocator, entry);
}

void ki_event_lru_free(ki_event_lru *lru) {
    while (lru->oldest)
        ki_event_lru_remove(lru, lru->oldest);
    ki_map_free(&lru->map);
}

void *ki_event_lru_get(ki_event_lru *lru, const ki_event_key *key) {
    ki_event_lru_node *node = ki_map_get(&lru->map, key_text(key));
    if (!node)
        return NULL;
    KI_LIST_REMOVE(lru->oldest, node);
    KI_LIST_APPEND(lru->oldest, node);
    return node;
}

void *ki_event_lru_add(ki_event_lru *lru, const ki_event_key *key) {
    if (lru->map.count >= lru->max)
        ki_event_lru_remove(lru, lru->oldest);
    ki_event_lru_node *node = ki_alloc_zero(lru->allocator, lru->entry_size);
    if (!node)
        return NULL;
    node->key = *key;
    if (ki_map_put(&lru->map, key_text(&node->key), node, NULL)) {
        ki_free(lru->allocator, node);
        return NULL;
    }
    KI_LIST_APPEND(lru->oldest, node);
    return node;
}

/* event_lru.h: a cache of entries of one size by key. An add to a full cache removes the least recently used entry.
 * Loop only.
 * A key is a 128-bit hash of texts: an entry's size does not depend on their length. */
#ifndef KI_EVENTS_EVENT_LRU_H
#define KI_EVENTS_EVENT_LRU_H

#include "src/base/map.h"

typedef struct ki_event_key {
    uint64_t halves[2];
} ki_event_key;

/* Returns the key of a sequence of texts, none of them NULL. Without knowing `seed` a client cannot choose texts whose
 * keys collide. */
ki_event_key ki_event_key_of(uint64_t seed, const char *const *texts, size_t count);
bool ki_event_key_equal(const ki_event_key *a, const ki_event_key *b);

/* The first member of each entry. */
typedef struct ki_event_lru_node {
    struct ki_event_lru_node *next, *previous; /* the next one was used later */
    ki_event_key key;
} ki_event_lru_node;

typedef struct ki_event_lru {
    const ki_allocator *allocator;
    size_t entry_size;
    size_t max;
    void (*drop)(void *entry, const ki_allocator *allocator); /* frees what an entry owns; NULL: nothing */
    ki_map map;
    ki_event_lru_node *oldest;
} ki_event_lru;

void ki_event_lru_init(ki_event_lru *lru, const ki_allocator *allocator, size_t entry_size, size_t max, uint64_t seed);
void ki_event_lru_free(ki_event_lru *lru);
/* Returns the entry and marks it as used; NULL if there is none. */
void *ki_event_lru_get(ki_event_lru *lru, const ki_event_key *key);
/* Adds an entry, zero except for its node, and returns it; NULL on lack of memory. The key must not be in the cache. */
void *ki_event_lru_add(ki_event_lru *lru, const ki_event_key *key);
/* Removes an entry and frees it with everything that it owns. */
void ki_event_lru_remove(ki_event_lru *lru, void *entry);

#endif

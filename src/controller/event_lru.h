/* event_lru.h: entries of one size by key; beyond a number, the one that was used longest ago goes. Loop only.
 * A key is a hash of 128 bits over the texts that it stands for: an entry takes the same few bytes however long they are. */
#ifndef KI_CONTROLLER_EVENT_LRU_H
#define KI_CONTROLLER_EVENT_LRU_H

#include "src/base/map.h"

typedef struct ki_event_key {
    uint64_t halves[2];
} ki_event_key;

/* Returns the key of texts, one after the other; none of them is NULL. Whoever does not know `seed` cannot choose texts with one key. */
ki_event_key ki_event_key_of(uint64_t seed, const char *const *texts, size_t count);
bool ki_event_key_equal(const ki_event_key *a, const ki_event_key *b);

/* The first member of each entry. */
typedef struct ki_event_lru_node {
    struct ki_event_lru_node *older, *newer;
    ki_event_key key;
} ki_event_lru_node;

typedef struct ki_event_lru {
    const ki_allocator *allocator;
    size_t entry_size;
    size_t max;
    void (*drop)(void *entry, const ki_allocator *allocator); /* frees what an entry holds; NULL: nothing */
    ki_map map;
    ki_event_lru_node *oldest, *newest;
} ki_event_lru;

void ki_event_lru_init(ki_event_lru *lru, const ki_allocator *allocator, size_t entry_size, size_t max, uint64_t seed);
void ki_event_lru_free(ki_event_lru *lru);
/* Returns the entry, which counts as used, or NULL. */
void *ki_event_lru_get(ki_event_lru *lru, const ki_event_key *key);
/* Returns a new entry, zero but for its node, or NULL where there is no memory. The key must not be in. */
void *ki_event_lru_add(ki_event_lru *lru, const ki_event_key *key);
void ki_event_lru_remove(ki_event_lru *lru, void *entry);

#endif

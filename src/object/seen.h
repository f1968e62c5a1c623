/* seen.h: what objects had lately, and how many of them: labels, texts, names of owners. A table with few places, which
 * forgets: something else with the same place begins a new count. Any thread. */
#ifndef KI_OBJECT_SEEN_H
#define KI_OBJECT_SEEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    KI_SEEN_PLACES = 48,
    KI_SEEN_OBJECTS_MAX = 4
};

/* Zeros: nothing was seen. */
typedef struct ki_seen {
    _Atomic uint32_t places[KI_SEEN_PLACES]; /* parts of both hashes, and a count of objects */
} ki_seen;

/* Counts an object that has something; both are hashes. Returns true with the `objects`th one, 2 to
 * KI_SEEN_OBJECTS_MAX, and begins again. The same object twice in a row counts once. */
bool ki_seen_count(ki_seen *seen, uint64_t what, uint64_t object, unsigned objects);

#endif

/* wait_table.h: who waits for which resource version, of the whole copy or of one key's object, and until when. Under the caller's lock; calls
 * nobody.
 *
 * Waits of one kind are a group: those for the copy, those for one key. In a group the smallest version is first, so that a change looks at
 * the waits that it ends and at one more. Versions that are no decimal integers are seen only where they are the same: each is a group of
 * its own. Deadlines are one heap over all. What is decided is handed out in the order of asking. */
#ifndef KI_CACHE_WAIT_TABLE_H
#define KI_CACHE_WAIT_TABLE_H

#include <kinformer/informer.h>

#include "src/base/heap.h"
#include "src/base/map.h"
#include "src/engine/thread.h"

typedef struct ki_version_wait ki_version_wait;
typedef struct ki_wait_group ki_wait_group;
typedef struct ki_wait_table ki_wait_table;

/* A wait's place in a heap: of a group, or of the table (then `group` is NULL). */
typedef struct ki_wait_place {
    ki_heap_node node; /* first */
    ki_version_wait *wait;
    ki_wait_group *group;
} ki_wait_place;

enum {
    KI_WAIT_OF_COPY,    /* until the copy is at its version */
    KI_WAIT_OF_KEY,     /* until the key's object is at its version, or is there at all */
    KI_WAIT_OF_HANDLER, /* to be found by handler and user */
    KI_WAIT_GROUPS
};

struct ki_version_wait {
    /* By who waits, until it is decided. */
    const char *key;            /* NULL: any object */
    const char *version;        /* "": any, with a key */
    int64_t deadline;           /* INT64_MAX: none */
    ki_version_handler handler; /* else `changed` is signalled */
    void *user;
    ki_cond *changed;
    /* By the table. */
    bool is_decided;
    ki_status status;  /* once it is decided */
    uint64_t sequence; /* of asking */
    ki_version_wait *next_kept;
    ki_wait_place groups[KI_WAIT_GROUPS];
    ki_wait_place by_deadline, decided, held;
};

struct ki_wait_table {
    const ki_allocator *allocator;
    ki_map groups;
    ki_heap deadlines;
    ki_heap decided; /* those with a handler that were not handed out yet */
    ki_heap held;    /* their version is reached, and the copy may lack its state; in no group of the copy */
    /* May a copy at the wait's version lack its state? NULL: never. */
    bool (*may_lack)(const ki_version_wait *wait, void *user);
    void *may_lack_user;
    size_t count; /* in the table: undecided, or not handed out yet */
    size_t undecided;
    size_t keyed; /* of them with a key */
    uint64_t next_sequence;
    char *scratch; /* for a group's name; as long as the longest there has been */
    size_t scratch_size;
    uint64_t comparisons; /* of versions: what the work is measured by */
};

void ki_wait_table_init(ki_wait_table *table, const ki_allocator *allocator, uint64_t seed);
/* Nobody may be left in it. */
void ki_wait_table_free(ki_wait_table *table);

/* The wait stays where it is until it is decided and handed out, or removed. KI_ERR_NO_MEMORY: it is not in. */
ki_status ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait);
/* Takes it out, decided or not. */
void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait);

/* The copy is at `version`; with a key: its object was there at `version`, and `is_gone` tells whether that is its end. */
void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_gone);
/* Decides those that are held and need not be any more. */
void ki_wait_table_look_at_held(ki_wait_table *table);
/* Decides what has no more time. */
void ki_wait_table_expire(ki_wait_table *table, int64_t now);
/* INT64_MAX: none. */
int64_t ki_wait_table_next_deadline(const ki_wait_table *table);
/* Decides those of this handler and user; were there any? */
bool ki_wait_table_cancel(ki_wait_table *table, ki_version_handler handler, void *user);
void ki_wait_table_cancel_all(ki_wait_table *table);

bool ki_wait_table_has_decided(const ki_wait_table *table);
/* Takes the next one out; NULL: none. It is the caller's to free. */
ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table);

#endif

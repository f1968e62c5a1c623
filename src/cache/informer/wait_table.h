/* wait_table.h: the waits for a resource version, of the whole cache or of one key's object, or for the deletion of a
 * key's object, each with a deadline.
 * Under the caller's lock. Calls no handler.
 *
 * A change costs steps for the waits that it ends, and for those that are held or whose version is no decimal number:
 * the others are in heaps by version and by deadline, and in maps by key and by user (`./dev bench waits`). */
#ifndef KI_CACHE_WAIT_TABLE_H
#define KI_CACHE_WAIT_TABLE_H

#include <kinformer/informer.h>

#include "src/base/heap.h"
#include "src/base/multimap.h"
#include "src/engine/thread.h"

typedef struct ki_version_wait ki_version_wait;

/* A place in a list; zeroed: in none. */
typedef struct ki_wait_link ki_wait_link;
struct ki_wait_link {
    ki_wait_link *next, **at;
};

/* The waits that the same versions of the cache end. */
typedef struct ki_wait_group {
    ki_heap by_version;   /* waits for a decimal number */
    ki_wait_link *others; /* waits for another version */
    size_t namespace_size;
    char namespace_name[]; /* "": of all namespaces; without a closing zero */
} ki_wait_group;

struct ki_version_wait {
    /* Set by the caller before the wait is added. */
    const char *key;            /* NULL: any object */
    const char *version;        /* "": any version of the key */
    const char *uid;            /* of a deletion; "": of whatever the key has; NULL: the wait is for a version */
    int64_t deadline;           /* INT64_MAX: none */
    ki_version_handler handler; /* NULL: `changed` is signalled */
    void *user;
    ki_cond *changed;
    /* Set by the table. */
    bool is_decided;
    bool is_held;      /* the cache reached the version but can lack the state: see `may_lack` */
    ki_status status;  /* once decided */
    uint64_t number;   /* the version; 0: not a decimal integer of 64 bits */
    uint64_t sequence; /* order of arrival */
    ki_wait_group *group;
    ki_heap_node due;     /* by deadline; of a decided wait with a handler: by arrival */
    ki_heap_node reached; /* in `by_version` of its group */
    ki_multimap_node of_key, of_user;
    ki_wait_link listed; /* in `others`, `held` or `deletions` */
    ki_wait_link keyed;  /* in `keyed` */
};

typedef struct ki_wait_maps {
    ki_map by_key, by_user; /* undecided waits with a key; those with a handler */
    ki_map groups;          /* by namespace; those of earlier waits stay until the table is empty */
} ki_wait_maps;

typedef struct ki_wait_table {
    const ki_allocator *allocator;
    ki_heap due;             /* undecided waits */
    ki_heap decided;         /* decided waits with a handler, not handed out yet */
    ki_wait_maps *maps;      /* NULL: no wait was added yet, or all were cancelled */
    ki_wait_link *held;      /* see `may_lack` */
    ki_wait_link *deletions; /* undecided waits for a deletion */
    ki_wait_link *keyed;     /* undecided waits for a version of a key's object */
    size_t count;            /* undecided waits */
    uint64_t seed, next_sequence;
    bool is_set; /* each namespace has a version of its own. Set by the caller before the first wait */
    /* Returns true if a cache at the wait's version can lack the wait's state. NULL: never. */
    bool (*may_lack)(const ki_version_wait *wait, void *user);
    void *may_lack_user;
} ki_wait_table;

void ki_wait_table_init(ki_wait_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees an empty table's memory. The table may be used again. */
void ki_wait_table_free(ki_wait_table *table);

/* Adds a wait, which must stay valid until it is decided and handed out, or removed. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait);
/* Removes a wait, decided or not. */
void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait);
/* Decides one wait if it is undecided, and a version ends it: that of the key's object, or that of the cache or of the
 * key's namespace. */
void ki_wait_table_check(ki_wait_table *table, ki_version_wait *wait, const char *version, bool is_of_object);
/* Decides an undecided wait. */
void ki_wait_table_decide(ki_wait_table *table, ki_version_wait *wait, ki_status status);

/* Decides the waits that a version ends. `key` NULL: the cache is at `version`. Else the key's object was at `version`,
 * and `is_deleted` says whether it was deleted then. */
void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_deleted);
/* Decides the waits with a key in a namespace of a set: the cache has all of the namespace at `version`. */
void ki_wait_table_seen_in(ki_wait_table *table, const char *namespace_name, const char *version);
/* Decides the waits that the versions of their keys' objects end. `version_of` returns NULL for a key without one.
 * Returns the number of waits that it has looked at. */
size_t ki_wait_table_check_objects(ki_wait_table *table, const char *(*version_of)(const char *key, void *user),
                                   void *user);
/* Decides the waits for a deletion of which `has_seen` returns true: those of a key, or all (NULL). Returns the number
 * of waits that it has looked at. */
size_t ki_wait_table_check_deletions(ki_wait_table *table, const char *key,
                                     bool (*has_seen)(const ki_version_wait *wait, void *user), void *user);
/* Decides the held waits whose state the cache can no longer lack. */
void ki_wait_table_check_held(ki_wait_table *table);
/* Decides the waits whose deadline has passed: KI_ERR_TIMEOUT. */
void ki_wait_table_expire(ki_wait_table *table, int64_t now);
/* Returns the earliest deadline; INT64_MAX: none. */
int64_t ki_wait_table_next_deadline(const ki_wait_table *table);
/* Decides the waits with this handler and user: KI_ERR_CANCELLED. Returns true if there were any. */
bool ki_wait_table_cancel(ki_wait_table *table, ki_version_handler handler, void *user);
/* Decides all waits: KI_ERR_CANCELLED. */
void ki_wait_table_cancel_all(ki_wait_table *table);

bool ki_wait_table_has_decided(const ki_wait_table *table);
/* Returns the next decided wait with a handler, in the order of arrival; NULL: none. Ownership: the caller frees it. */
ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table);

#endif

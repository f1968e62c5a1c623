/* wait_table.h: the waits for a resource version, of the whole cache or of one key's object, or for the deletion of a
 * key's object, each with a deadline.
 * Under the caller's lock. Calls no handler.
 *
 * The table is a list in order of arrival, and each change walks it: with a thousand waits a change takes some
 * microseconds longer (`./dev bench waits`). Adding a wait allocates nothing. */
#ifndef KI_CACHE_WAIT_TABLE_H
#define KI_CACHE_WAIT_TABLE_H

#include <kinformer/informer.h>

#include "src/engine/thread.h"

typedef struct ki_version_wait ki_version_wait;

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
    uint64_t key_hash; /* 0: no key */
    uint64_t sequence; /* order of arrival */
    ki_version_wait *before, *after;
};

/* In order of arrival. */
typedef struct ki_wait_list {
    ki_version_wait *first, *last;
} ki_wait_list;

typedef struct ki_wait_table {
    ki_wait_list waiting;
    ki_wait_list decided; /* decided waits with a handler, not handed out yet */
    size_t count;         /* undecided waits */
    size_t keyed;         /* undecided waits with a key */
    size_t deletions;     /* undecided waits for a deletion */
    uint64_t seed, next_sequence;
    /* Returns true if a cache at the wait's version can lack the wait's state. NULL: never. */
    bool (*may_lack)(const ki_version_wait *wait, void *user);
    void *may_lack_user;
} ki_wait_table;

void ki_wait_table_init(ki_wait_table *table, uint64_t seed);

/* Adds a wait. The wait must stay valid until it is decided and handed out, or removed. */
void ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait);
/* Removes a wait, decided or not. */
void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait);

/* Decides the waits that a version ends. `key` NULL: the cache is at `version`. Else the key's object was at `version`,
 * and `is_deleted` says whether it was deleted then. */
void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_deleted);
/* Decides the waits with a key in a namespace: the cache has all of the namespace at `version`. */
void ki_wait_table_seen_in(ki_wait_table *table, const char *namespace_name, const char *version);
/* Decides the waits for a deletion of which `has_seen` returns true. */
void ki_wait_table_check_deletions(ki_wait_table *table, bool (*has_seen)(const ki_version_wait *wait, void *user),
                                   void *user);
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
/* Returns the next decided wait with a handler; NULL: none. Ownership: the caller frees it. */
ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table);

#endif

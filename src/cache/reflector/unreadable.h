/* unreadable.h: the objects of one informer whose present state could not be read (malformed, over the limit, transform
 * failed). A mark holds the reason, from the event that was skipped until the object is readable, replaced or deleted.
 *
 * The cache keeps the last state that it could read. So it may lack the versions of a mark: those newer than `since`
 * and not newer than `until`. A wait for such a version is held (wait_for.c).
 *
 * ki_unreadable_marks is plain data on the loop: the marks of the list in progress. ki_unreadable belongs to the
 * informer: the loop writes it, any thread reads it. It has its own lock and takes no other under it. */
#ifndef KI_CACHE_UNREADABLE_H
#define KI_CACHE_UNREADABLE_H

#include <kinformer/informer.h>

#include "src/base/heap.h"
#include "src/base/map.h"
#include "src/cache/queue/queue.h"
#include "src/engine/thread.h"

enum {
    KI_UNREADABLE_MAX = 10000, /* marks; further objects share one mark without a key, and are remembered by key */
    KI_UNREADABLE_KEYS_MAX = 1000000, /* keys of such objects; further ones are not known until the next list */
    KI_UNREADABLE_REASON_MAX = 192,   /* bytes of a reason with the closing zero */
    KI_UNREADABLE_VERSION_MAX = 128   /* bytes of a version with the closing zero */
};

/* The lists of marks in which something is due. */
enum {
    KI_UNREADABLE_OPEN,    /* `until` is not known yet */
    KI_UNREADABLE_SETTLED, /* to be removed */
    KI_UNREADABLE_LISTS
};

typedef struct ki_unreadable_mark ki_unreadable_mark;

struct ki_unreadable_mark {
    ki_heap_node node; /* in `first` while it is not settled; private, as the next member */
    struct {
        ki_unreadable_mark *next, **at;    /* `at` NULL: not in the list */
    } links[KI_UNREADABLE_LISTS];          /* of the informer's marks */
    uint64_t sequence;                     /* in the order of events, or of the items of a list */
    char since[KI_UNREADABLE_VERSION_MAX]; /* the cache has everything up to here; "": nothing */
    char until[KI_UNREADABLE_VERSION_MAX]; /* the version that could not be read, or a later one; "": not known yet */
    char past[KI_UNREADABLE_VERSION_MAX];  /* lists kept states of up to this version at most; "": not from a list */
    bool is_version_known;                 /* `until` is the version of the unreadable state */
    bool is_settled;                       /* readable again, or deleted; the store may lack that change */
    char reason[KI_UNREADABLE_REASON_MAX];
    char key[]; /* "": the object is not known */
};

typedef struct ki_unreadable_marks {
    ki_map by_key;     /* of marks, owned */
    uint64_t sequence; /* of the next mark */
    ki_map beyond;     /* keys of the objects that share the mark without a key: copies, owned */
    bool has_nameless; /* that mark also stands for objects whose keys are not known */
} ki_unreadable_marks;

typedef struct ki_unreadable {
    const ki_allocator *allocator;
    ki_mutex mutex;
    ki_unreadable_marks marks; /* under `mutex` */
    size_t shown;              /* marks that are not settled */
    ki_heap first;             /* these */
    ki_unreadable_mark *lists[KI_UNREADABLE_LISTS];
} ki_unreadable;

void ki_unreadable_marks_init(ki_unreadable_marks *marks, const ki_allocator *allocator, uint64_t seed);
void ki_unreadable_marks_clear(ki_unreadable_marks *marks);
/* Adds a mark, or changes the mark of `key`. `version`: of the unreadable state; "": not known. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_marks_put(ki_unreadable_marks *marks, const char *key, const char *version,
                                  const ki_error *reason);
/* Removes the mark of `key`, if any, unless `version` is older than the unreadable state. `version` "": the object was
 * deleted. */
void ki_unreadable_marks_remove(ki_unreadable_marks *marks, const char *key, const char *version);
bool ki_unreadable_marks_has(const ki_unreadable_marks *marks, const char *key);
/* Returns the keys of all marks that have one, in an array that the caller frees. NULL: there is no mark. Valid until
 * the marks change. */
ki_status ki_unreadable_marks_keys(const ki_unreadable_marks *marks, const char ***ret_keys, size_t *ret_count);

ki_status ki_unreadable_init(ki_unreadable *unreadable, const ki_allocator *allocator, uint64_t seed, ki_error *err);
void ki_unreadable_destroy(ki_unreadable *unreadable);

/* --- on the loop --- */

/* Marks the object of a watch event that could not be read. `since`: the version of the last good event. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_add(ki_unreadable *unreadable, const char *key, const char *version, const char *since,
                            const ki_error *reason);
bool ki_unreadable_has(ki_unreadable *unreadable, const char *key);
/* Settles the mark of `key`: the object was read at `version`, or deleted (""). No effect if `version` is older than
 * the unreadable state. */
void ki_unreadable_settle(ki_unreadable *unreadable, const char *key, const char *version);
/* Sets `until` of marks without a known version: the watch has reached `version`. */
void ki_unreadable_advance(ki_unreadable *unreadable, const char *version);
/* Reserves room for the marks of a list, so that taking them cannot fail. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_reserve(ki_unreadable *unreadable, const ki_unreadable_marks *listed);
/* Takes the marks of a list at `version`, and empties `listed`. Settles all other marks. `since`: the version before
 * the list. */
void ki_unreadable_take_list(ki_unreadable *unreadable, ki_unreadable_marks *listed, const char *since,
                             const char *version);
/* Returns true if marks are settled. Loop. */
bool ki_unreadable_has_settled(const ki_unreadable *unreadable);
/* Removes the settled marks, once the store has everything that was read. */
void ki_unreadable_catch_up(ki_unreadable *unreadable);

/* --- any thread --- */

/* Returns true if a cache at `version` or later can lack the state of that version: of `key`, or of any object
 * (NULL). */
bool ki_unreadable_may_lack(ki_unreadable *unreadable, const char *key, const char *version);
/* Returns true for an event that the cache drops: it repeats the known state of its object, or an older one. A state
 * that a list kept although it is newer than the unreadable state of the list gives way to each other one: the server
 * was restored from a backup. `unreadable` NULL: no list kept anything. */
bool ki_unreadable_drops(ki_unreadable *unreadable, const ki_change *change, const ki_object *known);
/* Returns the number of unreadable objects. Writes the one that became unreadable first, with its reason, to `message`;
 * "" if there is none. */
size_t ki_unreadable_describe(ki_unreadable *unreadable, char *message, size_t size);

#endif

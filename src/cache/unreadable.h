/* unreadable.h: the objects of one informer whose present state could not be read (malformed, over the limit, transform failed): each with the
 * reason, from the moment that it was skipped until it is readable, replaced or deleted.
 *
 * The cache keeps the last state that it could read. So it does not have the versions of a mark: those newer than `since` and not newer than
 * `until`. A wait for one of them is held (wait_for.c).
 *
 * ki_unreadable_marks is plain data on the loop: what a list under way has met. ki_unreadable is the informer's: the loop writes, any thread
 * reads; it has a lock of its own, with nothing inside. */
#ifndef KI_CACHE_UNREADABLE_H
#define KI_CACHE_UNREADABLE_H

#include <kinformer/informer.h>

#include "src/base/map.h"
#include "src/engine/thread.h"

enum {
    KI_UNREADABLE_MAX = 10000,      /* marks; objects beyond it count as one without a key */
    KI_UNREADABLE_REASON_MAX = 192, /* bytes of a reason with the closing zero */
    KI_UNREADABLE_VERSION_MAX = 128 /* bytes of a version with the closing zero */
};

typedef struct ki_unreadable_mark {
    char since[KI_UNREADABLE_VERSION_MAX]; /* the cache has everything up to here; "": nothing */
    char until[KI_UNREADABLE_VERSION_MAX]; /* the version that could not be read, or one after it; "": not known yet */
    char past
        [KI_UNREADABLE_VERSION_MAX]; /* a list that went back to before a restore kept states up to this version; "": none did */
    bool is_version_known;           /* `until` is the version of the state that could not be read */
    bool is_settled;                 /* it is readable again, or gone; the store may not know yet */
    char reason[KI_UNREADABLE_REASON_MAX];
    char key[]; /* "": not known whose state it is */
} ki_unreadable_mark;

typedef struct ki_unreadable_marks {
    ki_map by_key; /* of marks, owned */
} ki_unreadable_marks;

typedef struct ki_unreadable {
    const ki_allocator *allocator;
    ki_mutex mutex;
    ki_unreadable_marks marks; /* under it */
    size_t shown;              /* marks that are not settled */
    bool has_open, has_settled;
} ki_unreadable;

void ki_unreadable_marks_init(ki_unreadable_marks *marks, const ki_allocator *allocator, uint64_t seed);
void ki_unreadable_marks_clear(ki_unreadable_marks *marks);
/* Adds a mark, or changes the one of `key`. `version`: of the state that could not be read; "": not known. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_marks_put(ki_unreadable_marks *marks, const char *key, const char *version,
                                  const ki_error *reason);
/* Removes the mark of `key`, where there is one: a state that is not older than the mark was read, or the object is gone (`version` ""). */
void ki_unreadable_marks_remove(ki_unreadable_marks *marks, const char *key, const char *version);
bool ki_unreadable_marks_has(const ki_unreadable_marks *marks, const char *key);
/* Gives the keys of all marks that have one, in an array that the caller frees. NULL: there is no mark. Valid until the marks change. */
ki_status ki_unreadable_marks_keys(const ki_unreadable_marks *marks, const char ***ret_keys, size_t *ret_count);

ki_status ki_unreadable_init(ki_unreadable *unreadable, const ki_allocator *allocator, uint64_t seed, ki_error *err);
void ki_unreadable_destroy(ki_unreadable *unreadable);

/* --- on the loop --- */

/* A watch event could not be read and is skipped. `since`: the version of the last good event. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_add(ki_unreadable *unreadable, const char *key, const char *version, const char *since,
                            const ki_error *reason);
bool ki_unreadable_has(ki_unreadable *unreadable, const char *key);
/* The object under `key` was read at `version`, or is gone (""). */
void ki_unreadable_settle(ki_unreadable *unreadable, const char *key, const char *version);
/* The watch has got to `version`: marks whose version is not known are not newer. */
void ki_unreadable_advance(ki_unreadable *unreadable, const char *version);
/* Makes room for the marks of a list, so that taking them cannot fail. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_unreadable_reserve(ki_unreadable *unreadable, const ki_unreadable_marks *listed);
/* Takes the marks of a list at `version` and leaves `listed` empty; all other marks are settled. `since`: the version before the list. */
void ki_unreadable_take_list(ki_unreadable *unreadable, ki_unreadable_marks *listed, const char *since,
                             const char *version);
/* The store has everything that was read: forgets what is settled. */
void ki_unreadable_catch_up(ki_unreadable *unreadable);

/* --- any thread --- */

/* Returns true where a cache that says it is at `version` or later may lack the state of that version: of `key`, or (NULL) of any object. */
bool ki_unreadable_may_lack(ki_unreadable *unreadable, const char *key, const char *version);
/* Returns true where a list kept the known state of `key`, at `version`, although that is newer than the list: the server was restored from a backup
 * and gives versions a second time. What comes now is newer, whatever its version. */
bool ki_unreadable_is_past(ki_unreadable *unreadable, const char *key, const char *version);
/* Returns the number of unreadable objects, and in `words` ("" where there is none) the first of them with its reason. */
size_t ki_unreadable_describe(ki_unreadable *unreadable, char *words, size_t size);

#endif

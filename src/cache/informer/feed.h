/* feed.h: what lists and watches an informer's objects. An informer has one feed; one of a set of namespaces has a feed
 * for each namespace (namespace_set.c). All feeds put their changes into the informer's one queue.
 *
 * Loop, unless stated. `feeds.lock` guards what other threads read: the list of feeds, and `stored_version`. */
#ifndef KI_CACHE_FEED_H
#define KI_CACHE_FEED_H

#include "src/cache/informer/health.h"
#include "src/cache/reflector/metrics.h"
#include "src/cache/reflector/reflector.h"
#include "src/cache/reflector/unreadable.h"
#include "src/object/selection.h"

enum {
    KI_NAMESPACE_MAX = 63 /* bytes of a namespace's name */
};

typedef struct ki_feed {
    /* Constant. */
    ki_informer *informer;
    ki_selection *selection; /* owned reference: with the feed's namespace */
    ki_list_watch *own;      /* of a set: owned; else NULL, and the source is the informer's */

    /* Loop. */
    ki_list_watch *source; /* borrowed */
    ki_reflector reflector;
    bool is_held;            /* its watch is paused: see `is_held` of the informer */
    bool is_blocked;         /* its last attempt was blocked, also while it tries again */
    bool asks_for_namespace; /* the next watch asks whether the namespace exists */
    bool has_new_version;    /* `stored_version` has changed since the waits were last checked */
    bool is_initial; /* constant; of a set: the informer has synced only once the feed's first list is applied */
    size_t listed;   /* objects of its current list */

    /* Any thread. */
    ki_health_record health; /* of the reflector; without what is stuck, and what is skipped */
    ki_freshness freshness;
    ki_unreadable unreadable;
    _Atomic bool is_namespace_missing; /* the server said that there is no such namespace */

    /* Under `feeds.lock`; written on the loop. */
    char stored_version[KI_RESOURCE_VERSION_MAX + 1]; /* the store has all of the namespace at this version */
} ki_feed;

/* ---- on the loop ---- */

/* Makes a feed and adds it to the informer's feeds; its reflector is not open yet. Any thread before the start. Errors:
 * KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
ki_status ki_feed_add(ki_informer *informer, ki_selection *selection, ki_feed **ret_feed, ki_error *err);
/* Removes a feed from the informer's feeds and frees it. */
void ki_feed_remove(ki_feed *feed);
/* Opens the reflector on a source. */
void ki_feed_open(ki_feed *feed, ki_list_watch *source);

/* Returns the feed that a key's object comes from; NULL: none. Any thread that holds `feeds.lock`, or the loop. */
ki_feed *ki_feed_of_key(const ki_informer *informer, const char *key);
/* Returns the feed of a namespace of a set; NULL: none. As ki_feed_of_key. */
ki_feed *ki_feed_find(const ki_informer *informer, const char *namespace_name);
/* Pauses the watches, or lets them continue. Lists have deadlines and are not paused. */
void ki_feeds_hold(ki_informer *informer, bool is_much);
/* Shows the state of the feed with the worst one as the informer's. Returns true if that changed. */
bool ki_feeds_show_state(ki_informer *informer);
/* Notes whether all feeds are listed but those that are blocked. */
void ki_feeds_note_blocked(ki_informer *informer);
/* Closes the reflectors. */
void ki_feeds_close(ki_informer *informer);
/* Writes the version that all feeds have reached in the queue; "" while one has none. */
void ki_feeds_version(const ki_informer *informer, char to[KI_RESOURCE_VERSION_MAX + 1]);
/* Writes the version of the first lists; "" while one has none. */
void ki_feeds_initial(const ki_informer *informer, char to[KI_RESOURCE_VERSION_MAX + 1]);
/* Returns true once the queue has had the first list of each feed. */
bool ki_feeds_are_listed(const ki_informer *informer);
/* The store has the first list of each feed. */
void ki_feeds_note_listed(ki_informer *informer);
/* The queue is empty: the store has what each feed has read. */
void ki_feeds_catch_up(ki_informer *informer);
/* The same, of the age alone: nothing is queued. */
void ki_feeds_note_stored(ki_informer *informer);

/* ---- any thread ---- */

/* Returns the age of the oldest feed (ki_freshness_age); KI_NEVER without feeds, or if one has no list in the store. */
int64_t ki_feeds_age(const ki_informer *informer, int64_t now);
/* What is known of a namespace. */
typedef enum ki_feed_found {
    KI_FEED_NONE,   /* not watched, or not any more */
    KI_FEED_COMING, /* of a set that is not applied yet */
    KI_FEED_FOUND
} ki_feed_found;
/* Finds the feed of a namespace. Writes its age. `ret_health` (may be NULL) gets what is the feed's own, with its
 * message. */
ki_feed_found ki_feeds_read(const ki_informer *informer, const char *namespace_name, int64_t now, int64_t *ret_age,
                            ki_health *ret_health);
/* The most consecutive failures of a feed. */
uint64_t ki_feeds_failures(const ki_informer *informer);
/* As ki_unreadable_may_lack and ki_unreadable_describe, over all feeds. */
bool ki_feeds_may_lack(const ki_informer *informer, const char *key, const char *version);
size_t ki_feeds_describe_unreadable(const ki_informer *informer, char *message, size_t size);
/* Returns true for a set without a namespace that waits for no other. */
bool ki_feeds_are_none(const ki_informer *informer);
/* Writes the name of the first namespace that is missing. Returns false if none is. */
bool ki_feeds_missing_namespace(const ki_informer *informer, char *name, size_t size);
/* Writes the name of a key's namespace, and the version at which the store has it. Returns false for an informer
 * without a set, for a namespace that is not in it, and before its first list. */
bool ki_feeds_stored_version(const ki_informer *informer, const char *key, char name[KI_NAMESPACE_MAX + 1],
                             char version[KI_RESOURCE_VERSION_MAX + 1]);
/* Frees all feeds, when the informer has ended. */
void ki_feeds_free(ki_informer *informer);

#endif

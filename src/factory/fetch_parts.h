/* fetch_parts.h: the members of a fetcher, for the files that implement it: fetch.c (who asks), fetch_items.c (what is
 * asked for and remembered), fetch_requests.c (the requests), fetch_result.c (what a response means).
 *
 * One item for each key that was asked for. Its life:
 *
 *     WANTED ──► FLYING ──result──► KNOWN ──its time is over──────► PAST ──► dropped
 *        ▲          │ failure                                         ▲
 *        ├────── WAITING ──the next attempt is due, nobody waits──────┘
 *        └────── KNOWN, PAST: somebody asks
 *
 * Any thread adds items and waits under the mutex. Only the loop sends, ends and drops items that are KNOWN, WAITING or
 * PAST. Each run of the loop's task does one thing of each kind. */
#ifndef KI_FACTORY_FETCH_PARTS_H
#define KI_FACTORY_FETCH_PARTS_H

#include "src/factory/fetch.h"

#include "src/base/backoff.h"
#include "src/base/heap.h"
#include "src/base/kept_error.h"
#include "src/base/multimap.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/reflector/reflector.h"
#include "src/client/client.h"

typedef struct ki_fetch_item ki_fetch_item;

/* What is to be done at a time, its rank: the wait is to be timed out, or the item's state ends. */
typedef struct ki_fetch_due {
    ki_heap_node node; /* in `due` of the fetcher */
    bool is_wait;
} ki_fetch_due;

/* Somebody who asks. */
typedef struct ki_fetch_wait {
    struct ki_fetch_wait *next, *previous;           /* of its item, or of the decided waits */
    ki_fetch_item *item;                             /* NULL once it is decided */
    struct ki_fetch_wait *next_wait, *previous_wait; /* of all undecided ones; the latest first */
    bool has_joined;  /* a request that was sent before: its response can be older than what the cache has seen */
    int64_t deadline; /* on the engine's clock; INT64_MAX: none */
    ki_fetch_due due; /* with a handler */
    ki_cond *changed; /* of a thread that waits; NULL: `handler` is called */
    ki_fetch_handler handler;
    void *user;
    ki_multimap_node of_user; /* with a handler, until it is decided */
    ki_object *obj;           /* once decided: owned, or NULL with `err` */
    ki_error err;
    char key[]; /* with a handler */
} ki_fetch_wait;

typedef enum ki_fetch_state {
    KI_FETCH_WANTED,
    KI_FETCH_FLYING,
    KI_FETCH_WAITING, /* an attempt failed: the failure is the answer until the next one is due */
    KI_FETCH_KNOWN,
    KI_FETCH_PAST /* no answer; what is left of earlier ones */
} ki_fetch_state;

struct ki_fetch_item {
    ki_fetch_item **list; /* `wanted`, or `kept` if nobody waits for it; NULL: none */
    ki_fetch_item *next, *previous;
    ki_fetch_due due; /* WAITING, KNOWN, PAST */
    ki_fetcher *fetcher;
    ki_fetch_wait *waits;
    ki_fetch_state state;
    bool is_overtaken; /* the cache has seen a deletion since the request began */
    int64_t since;     /* WANTED, FLYING: the time at which the attempt was wanted; KNOWN: that of the result */
    int64_t sent_at;   /* FLYING */
    ki_backoff backoff;
    char as_of[KI_RESOURCE_VERSION_MAX + 1]; /* FLYING: the cache's version when the request was sent; "": none yet */
    ki_object *obj;                          /* the state that was fetched last; NULL: none. KNOWN: the result */
    ki_error err;                            /* KNOWN: the result, without `obj`; else the last failure */
    char key[];
};

struct ki_fetcher {
    /* Constant. */
    ki_informer *informer;
    const ki_shared_informer_options *made_with; /* the informer */
    ki_client *client;
    const ki_allocator *allocator;
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_map by_key;
    ki_map by_user;               /* undecided waits with a handler, by their `user` */
    ki_fetch_item *wanted, *kept; /* the oldest first */
    ki_fetch_wait *waits;
    ki_heap due; /* of ki_fetch_due */
    uint64_t sequence;
    size_t kept_count;
    ki_fetch_wait *decided; /* with handlers, in order */
    unsigned flying;
    bool is_closed;
    int64_t not_before;   /* no request is sent before: the server is away */
    ki_kept_error away;   /* why */
    ki_backoff backoff;   /* while the server is away */
    int64_t responded_at; /* the last response of any kind */
    _Atomic size_t count; /* items */
    /* Loop. */
    ki_task task;
    ki_timer timer;
};

/* --- fetch_items.c: caller holds the mutex ------------------------------------------------------------------------ */

/* Returns the item of a key, which is made if necessary: WANTED. NULL: no memory. */
ki_fetch_item *ki_fetch_item_of(ki_fetcher *fetcher, const char *key);
/* Drops an item that nobody waits for and whose request has ended. */
void ki_fetch_item_drop(ki_fetch_item *item);
/* Sets the state. `until`: its end, of WAITING, KNOWN and PAST. An item of these states that nobody waits for is kept;
 * above the limit the oldest one is dropped, which is another. */
void ki_fetch_item_set(ki_fetch_item *item, ki_fetch_state state, int64_t until);
/* Returns true if a KNOWN item's result still counts, by its age. */
bool ki_fetch_item_is_fresh(const ki_fetch_item *item, int64_t now);
/* The item's result counts no longer: keeps what is left of it for a while, or drops the item. */
void ki_fetch_item_outlive(ki_fetch_item *item, int64_t now);
void ki_fetch_item_want(ki_fetch_item *item);
void ki_fetch_wait_add(ki_fetch_item *item, ki_fetch_wait *wait);
/* Gives a wait its result: an object, or NULL and an error. Its item may be dropped. */
void ki_fetch_decide(ki_fetcher *fetcher, ki_fetch_wait *wait, ki_object *obj, const ki_error *err);
/* The same for the waits of an item that end by `last`; without `also_joined` for those that began before the
 * request. */
void ki_fetch_decide_waits(ki_fetch_item *item, int64_t last, bool also_joined, ki_object *obj, const ki_error *err);
/* The wait has ended without a result. Its item may be dropped. */
void ki_fetch_forget(ki_fetch_wait *wait);
/* Returns KI_ERR_TIMEOUT with the cause. */
ki_error ki_fetch_unknown(const ki_fetch_item *item);

/* --- fetch_requests.c --------------------------------------------------------------------------------------------- */

/* The loop's task: sends, ends and forgets. */
void ki_fetch_run(ki_task *task, void *user);
/* Calls one handler whose wait is decided. Returns false if there is none. Loop; not under the mutex. */
bool ki_fetch_call_next(ki_fetcher *fetcher);

/* --- fetch_result.c ----------------------------------------------------------------------------------------------- */

/* Makes the result of a response, or of a failure: an object, or an error. It is the cache's state if that is newer. */
void ki_fetch_result(const ki_fetch_item *item, const ki_response *response, const ki_error *failure,
                     ki_object **ret_obj, ki_error *ret_err);
/* Returns true for the failure of a request without a result: a later attempt can have another result. */
bool ki_fetch_is_retriable(const ki_error *err);
/* Returns true if the cache lacks the object of a result (NULL: none), and can have seen its deletion. */
bool ki_fetch_is_behind_cache(const ki_informer *informer, const char *key, const ki_object *obj);

#endif

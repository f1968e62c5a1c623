/* parts/queue.h: the queues between a reflector and a process loop: changes that wait to be processed. A building
 * block of an informer, with the weaker promise of store.h.
 *
 * The in-order queue keeps all changes in the order of their arrival (client-go's RealFIFO). The DeltaFIFO keeps a list
 * of changes for each key, keys in the order of their first change (client-go's DeltaFIFO). Both take a list of many
 * objects at once and process it in parts; later changes wait behind it. Both pass the deletions of a list before its
 * objects. A pop never blocks.
 *
 * Threads: all functions on the loop, or while nothing drives the engine. Without an engine: one thread at a time. */
#ifndef KINFORMER_PARTS_QUEUE_H
#define KINFORMER_PARTS_QUEUE_H

#include <kinformer/informer.h>
#include <kinformer/parts/store.h>

KI_BEGIN_DECLS

typedef struct ki_queue ki_queue;

/* One change of one object (client-go's Delta). In a queue it has no `old`: a listed object and one of a resync are
 * updates there, and who processes them looks whether the object is new. */
typedef struct ki_change {
    ki_object *obj; /* the new state; of a deletion the last known state */
    ki_object *old; /* the state before; NULL for an add, and in the queue */
    ki_event_type type;
    bool is_listed;           /* from a list (client-go's Replaced) */
    bool is_resync;           /* from a resync (client-go's Sync), or a listed object that has not changed */
    bool is_in_initial_list;  /* part of the first list */
    bool final_state_unknown; /* a tombstone (client-go's DeletedFinalStateUnknown): the deletion was not seen */
} ki_change;

/* What a pop passes to `process`: changes, oldest first. Those of one key follow each other. Borrowed during the call.
 *
 * The DeltaFIFO passes the changes of one key. The in-order queue passes a list or resync in parts, of which the last
 * has `is_part` false and can have no changes: that of an empty list has none. */
typedef struct ki_deltas {
    const ki_change *items;
    size_t count;
    bool is_part;                 /* of a list or resync; the next pop passes more of it; false with the DeltaFIFO */
    const char *resource_version; /* of a list in the in-order queue; else NULL */
} ki_deltas;

/* Processes changes. A watch can repeat events: drop a change that is neither listed nor a resync nor a tombstone if
 * ki_resource_version_compare says that its object is older than the known one, as the informers do.
 * `*ret_requeue` is false at the call. If `process` fails and has set `*ret_requeue`, the changes
 * are retried behind all others, unless a newer change of their key or a list has arrived: a bad key blocks no other,
 * as with the RetryOnError that client-go had. Of a batch none counts as processed: the in-order queue passes its
 * changes one by one, and retries those that fail. Changes stay first with KI_ERR_NO_MEMORY, because all others would
 * fail, too: a list or resync starts over. If a part of a list fails otherwise with `*ret_requeue`, its changes are
 * passed one by one, as parts, and those that fail wait for their retry. A last part without changes is retried.
 * Change the known objects last: a list finds deletions by them. Must not change the queue or pop from it. */
typedef ki_status (*ki_process)(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) KI_NOEXCEPT;

/* A whole list, of all objects or of one namespace. Borrowed during the call, except `objects`. Known objects that are
 * neither in the list nor kept are deleted. */
typedef struct ki_listing {
    ki_object **objects; /* references, in a block of the queue's allocator; may be NULL if there are none */
    size_t count;
    const char *const *kept; /* keys in the list whose object could not be read: their known objects stay */
    size_t kept_count;
    bool keeps_all; /* the list contains an object without a readable key: no known object is deleted */
    const char *resource_version;
    const char *namespace_name; /* the list is of one namespace: no other known object is deleted; NULL: of all */
    bool is_initial;            /* part of the first lists (ki_queue_has_synced), as the first list of all objects is */
} ki_listing;

typedef struct ki_queue_options {
    size_t size;                   /* sizeof(ki_queue_options); set by the macro */
    ki_queue_kind kind;            /* informer.h; 0: the in-order queue */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    uint64_t seed;                 /* of the key hashes; 0 is a seed, too. Random where others choose the keys */
    ki_known_objects known;        /* `get` NULL: only the queued objects are known; `next` NULL: no known objects */
    size_t batch_size;             /* in-order queue: maximum changes of one pop; 0: 1000 */
} ki_queue_options;

#define KI_QUEUE_OPTIONS(...) KI_SIZED_(ki_queue_options, __VA_ARGS__)

/* Makes an empty queue. `options` may be NULL.
 * Ownership: the caller frees the queue with ki_queue_free. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_queue_new(const ki_queue_options *options, ki_queue **ret_queue, ki_error *err);
/* Frees a queue and what is in it. NULL is accepted. */
KI_API void ki_queue_free(ki_queue *queue);

/* Adds a change. The DeltaFIFO drops a deletion of an object that is neither queued nor known.
 * Ownership: the queue takes a reference to `obj`. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_CLOSED, KI_ERR_NO_MEMORY; the queue is then unchanged. */
KI_API KI_MUST_CHECK ki_status ki_queue_put(ki_queue *queue, const ki_change *change, ki_error *err);
/* Adds a list (client-go's Replace). Ownership: with KI_OK the queue owns `objects`. Blocks, Errors: as
 * ki_queue_put. */
KI_API KI_MUST_CHECK ki_status ki_queue_replace(ki_queue *queue, const ki_listing *list, ki_error *err);
/* Adds a resync: an update of each known object. Blocks, Errors: as ki_queue_put. */
KI_API KI_MUST_CHECK ki_status ki_queue_resync(ki_queue *queue, ki_error *err);
/* Passes one item, or a part of a list, to `process`. Most programs leave that to a process loop (process_loop.h).
 * Blocks: no.
 * Errors: KI_ERR_NOT_FOUND (the queue is empty), KI_ERR_CLOSED (empty and closed), KI_ERR_NO_MEMORY (call it again),
 * KI_ERR_STATE (inside `process`), else the status of `process`; but KI_OK for a batch of several changes that failed
 * and is to be requeued: the next calls pass its changes one by one. */
KI_API KI_MUST_CHECK ki_status ki_queue_pop(ki_queue *queue, ki_process process, void *user, ki_error *err);
/* Rejects further changes. Queued items are still passed on. NULL is accepted. */
KI_API void ki_queue_close(ki_queue *queue);
/* Returns true once the first list is processed, and each list of a namespace that is initial; at once if the first
 * that is put is a change (as client-go's HasSynced). Returns false before, and for NULL. */
KI_API bool ki_queue_has_synced(const ki_queue *queue);
/* Returns the number of queued keys or changes, with those that have failed and will be retried, without the one being
 * processed; 0 for NULL. */
KI_API size_t ki_queue_length(const ki_queue *queue);

KI_END_DECLS

#endif

/* change_log.h: the changes of an informer on their way to its listeners: one log, in which each listener has a place.
 *
 * The process step appends changes while the store's next snapshot is staged. With the snapshot it publishes them, or
 * drops them. A reader takes the published changes from its place on; a change leaves the log when the last reader has
 * taken it. So a change is kept once, however many wait for it, and the step does the same for one reader and for many.
 *
 * Append, publish and drop: the loop, under the informer's change lock. The rest: any thread; `mutex` guards the list
 * of readers and what is published. No lock is taken inside it. */
#ifndef KI_CACHE_CHANGE_LOG_H
#define KI_CACHE_CHANGE_LOG_H

#include <kinformer/parts/queue.h>

#include "src/engine/engine.h"
#include "src/engine/thread.h"

typedef struct ki_change_block ki_change_block;
typedef struct ki_change_reader ki_change_reader;

/* A place in the log. A zeroed one is in none. */
struct ki_change_reader {
    ki_change_reader *next, *previous;
    ki_change_block *block;    /* has the change before the place, or the one behind it; NULL: there was none */
    _Atomic uint64_t position; /* number of the next change to take */
    bool has_resyncs;          /* set under the change lock, before the first take */
    /* Under the log's `mutex`; `resync_end` is written on the loop. */
    uint64_t resync_end; /* number after the last change of the last resync for this reader; UINT64_MAX: not over */
    size_t resyncs;      /* published changes of resyncs for this reader that it has not taken */
    size_t unwanted;     /* published changes of resyncs for other readers alone that it has not passed over */
};

typedef struct ki_change_log {
    ki_engine *engine;
    /* The loop's. */
    ki_change_block *tail;
    uint64_t end;             /* number after the last change; from `published` on they are staged */
    size_t staged_bytes;      /* of `bytes`, not published */
    size_t staged_resyncs;    /* staged changes of a resync */
    size_t staged_repeats;    /* staged changes that are a resync because a listed object has not changed */
    ki_change_block *dropped; /* blocks of staged changes that `release` takes apart */
    ki_task release;          /* releases what no reader needs, a slice in each run */
    /* Under `mutex`; `first` and `published` are read without it. */
    ki_mutex mutex;
    ki_change_reader *readers;
    ki_change_block *head, *published_tail;
    _Atomic uint64_t first;     /* number of the oldest change in the log */
    _Atomic uint64_t published; /* number after the last published change */
    size_t bytes;               /* memory of the new states of published changes */
    uint64_t resync_end;        /* number after the last published change of a resync */
} ki_change_log;

static inline void ki_change_release(const ki_change *change) {
    ki_object_unref(change->obj);
    ki_object_unref(change->old);
}

/* Errors: KI_ERR_SYSTEM. */
ki_status ki_change_log_init(ki_change_log *log, ki_engine *engine, ki_error *err);
/* Releases everything. Nothing is staged, and no reader is left. Loop, or any thread once `release` is cancelled. */
void ki_change_log_free(ki_change_log *log);

/* Appends a staged change, with references to its objects. Errors: KI_ERR_NO_MEMORY, which changes nothing. */
ki_status ki_change_log_append(ki_change_log *log, const ki_change *change);
/* Publishes the staged changes. Wakes nobody. Returns false if there are none. */
bool ki_change_log_publish(ki_change_log *log);
/* Drops the staged changes. */
void ki_change_log_drop(ki_change_log *log);

/* Adds a reader behind all published changes. Caller holds the change lock. */
void ki_change_log_attach(ki_change_log *log, ki_change_reader *reader);
/* Takes the reader out: it gets no more changes, and none is kept for it. Does nothing for one that is in no log. */
void ki_change_log_detach(ki_change_log *log, ki_change_reader *reader);
/* Takes the reader's next change, which the caller releases. Returns false if there is none, or if the next changes
 * are not for the reader: it has then passed over `*ret_skipped` of them, 64 at most. One thread for each reader. */
bool ki_change_log_take(ki_change_log *log, ki_change_reader *reader, ki_change *ret_change, size_t *ret_skipped);

/* Returns true if the reader has something to take or to pass over. */
static inline bool ki_change_log_has_next(const ki_change_log *log, const ki_change_reader *reader) {
    return atomic_load(&log->published) != atomic_load(&reader->position);
}
/* Returns how many published changes for the reader it has not taken. */
size_t ki_change_log_pending(ki_change_log *log, const ki_change_reader *reader);
/* Returns how many of these are not of a resync, for a reader on the loop: only the loop writes what it reads. Loop. */
size_t ki_change_log_load(const ki_change_log *log, const ki_change_reader *reader);

/* A resync begins, of which nothing is staged, and the one before it is published. Returns true if it is for the
 * reader: `is_due`, and the reader has taken all of the one before. Loop. */
bool ki_change_log_begin_resync(ki_change_log *log, ki_change_reader *reader, bool is_due);
/* Returns true unless the change, with this number, is of a resync that is not for the reader. Loop; other threads hold
 * the mutex. */
bool ki_change_reader_wants(const ki_change_reader *reader, const ki_change *change, uint64_t number);

/* Returns true if no change waits for a reader, and none is staged. The loop. */
static inline bool ki_change_log_is_empty(const ki_change_log *log) {
    return atomic_load(&log->first) == log->end;
}

/* Returns the memory of the waiting changes, with that of their new states. */
size_t ki_change_log_bytes(ki_change_log *log);

#endif

/* published.h: the snapshot that readers see now, and those before it until no reader reads them any more.
 *
 * Readers share no lock and no counter: a reader occupies one of several stripes, that of its thread, for as long as it
 * reads. If another thread has the stripe, the reader takes a reference under the lock instead. So each stripe becomes
 * free as soon as its one reader leaves, however many threads read. The writer swaps a pointer. It never waits for
 * readers: a reader that leaves its stripe notes that, and the one that notes the last stripe releases the snapshot.
 *
 * Guards: one writer at a time; any number of readers. */
#ifndef KI_CACHE_PUBLISHED_H
#define KI_CACHE_PUBLISHED_H

#include "src/cache/store/snapshot.h"
#include "src/engine/thread.h"

enum {
    KI_PUBLISHED_STRIPE_BITS = 4,
    KI_PUBLISHED_STRIPES = 1 << KI_PUBLISHED_STRIPE_BITS,
    KI_CACHE_LINE = 64
};

/* Two stripes, or the first one and the pointer, are never in one cache line. */
typedef struct ki_published_stripe {
    char apart[KI_CACHE_LINE - sizeof(uint32_t)];
    _Atomic uint32_t is_read;
} ki_published_stripe;

/* A short reading. */
typedef struct ki_reading {
    ki_snapshot *held; /* owned reference; NULL: the reading occupies `stripe` */
    unsigned stripe;
} ki_reading;

typedef struct ki_published {
    _Atomic(ki_snapshot *) now; /* owned reference; the writer borrows it until the next swap */
    /* The stripes that may still have a reader of `retiring`, as bits, and above them the number of this list. */
    _Atomic uint64_t pending;
    ki_mutex lock;         /* of the lists, of a change of `now` and of the number in `pending` */
    ki_snapshot *retiring; /* a list that waits for its readers; NULL: none */
    ki_snapshot *retired;  /* the next such list */
    uint32_t number;
    ki_published_stripe stripes[KI_PUBLISHED_STRIPES];
} ki_published;

/* Takes the first snapshot over with KI_OK. */
ki_status ki_published_init(ki_published *published, ki_snapshot *first, ki_error *err);
/* Releases the snapshot. No thread may read. */
void ki_published_destroy(ki_published *published);

/* Returns the present snapshot, valid until ki_published_leave with `*ret_reading`. Between the two the thread must not
 * block or call the program. Any thread. */
const ki_snapshot *ki_published_enter(ki_published *published, ki_reading *ret_reading);
void ki_published_leave(ki_published *published, ki_reading reading);
/* Returns a reference to the present snapshot. Any thread. */
ki_snapshot *ki_published_take(ki_published *published);

/* Publishes a snapshot and takes it over. Writer. */
void ki_published_swap(ki_published *published, ki_snapshot *next);

#endif

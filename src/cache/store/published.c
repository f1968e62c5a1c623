/* published.c: see published.h.
 *
 * A snapshot that was swapped out has no reader once each stripe was free at some time after the swap: a reader that
 * enters later gets the new snapshot. Snapshots retire in lists, one list after the other. When a list begins, the
 * writer looks at all stripes, and notes the stripes with a reader in `pending`. A reader that leaves its stripe looks
 * whether the stripe is pending. Writer and reader both write before they look (sequentially consistent), so one of
 * them sees what the other wrote. `pending` also has the number of the list: a late note for an earlier list fails. */
#include "src/cache/store/published.h"

#include "src/base/assert.h"

static const uint64_t all_stripes = ((uint64_t)1 << KI_PUBLISHED_STRIPES) - 1;

ki_status ki_published_init(ki_published *published, ki_snapshot *first, ki_error *err) {
    ki_status status = ki_mutex_init(&published->lock, err);
    if (status)
        return status;
    for (unsigned i = 0; i < KI_PUBLISHED_STRIPES; i++)
        atomic_init(&published->stripes[i].is_read, 0);
    atomic_init(&published->pending, 0);
    atomic_init(&published->now, first);
    published->retiring = published->retired = NULL;
    published->number = 0;
    return KI_OK;
}

/* Releases a list, which begins with the newest snapshot, from its end. From the newest on, a node that all of them
 * have would move from each snapshot to the one before it (snapshot.h). */
static void release(ki_snapshot *list) {
    ki_snapshot *oldest = NULL;
    for (ki_snapshot *next; list; list = next) {
        next = list->next_deferred;
        list->next_deferred = oldest;
        oldest = list;
    }
    for (ki_snapshot *next; oldest; oldest = next) {
        next = oldest->next_deferred;
        ki_snapshot_unref(oldest);
    }
}

void ki_published_destroy(ki_published *published) {
    release(published->retiring);
    release(published->retired);
    ki_snapshot_unref(atomic_load(&published->now));
    ki_mutex_destroy(&published->lock);
}

/* Notes that a stripe has no reader of the list, if that is so. Returns true if it was the last one: the caller calls
 * end_list. */
static bool note_idle(ki_published *published, unsigned stripe) {
    KI_ASSERT(stripe < KI_PUBLISHED_STRIPES);
    const uint64_t bit = (uint64_t)1 << stripe;
    uint64_t before = atomic_load(&published->pending);
    while (before & bit) {
        if (atomic_load(&published->stripes[stripe].is_read))
            return false; /* that reader notes it */
        if (atomic_compare_exchange_weak(&published->pending, &before, before & ~bit))
            return (before & all_stripes) == bit;
    }
    return false;
}

/* Begins to retire what was swapped out, unless a list retires already. Returns the list if nobody reads it, else
 * NULL. */
static ki_snapshot *begin_list(ki_published *published) {
    KI_HELD(&published->lock);
    ki_snapshot *list = published->retired;
    if (!list || published->retiring)
        return NULL;
    uint64_t idle = 0;
    published->retired = NULL;
    published->number++;
    atomic_store(&published->pending, (uint64_t)published->number << 32 | all_stripes);
    for (unsigned i = 0; i < KI_PUBLISHED_STRIPES; i++)
        if (atomic_load(&published->stripes[i].is_read) == 0)
            idle |= (uint64_t)1 << i;
    uint64_t before = atomic_fetch_and(&published->pending, ~idle) & all_stripes;
    if (before && !(before & ~idle))
        return list;
    published->retiring = list; /* also if no stripe is left: a reader has noted the last one, and ends the list */
    return NULL;
}

static void end_list(ki_published *published) {
    ki_mutex_lock(&published->lock);
    ki_snapshot *list = published->retiring;
    published->retiring = NULL;
    ki_snapshot *next = begin_list(published);
    ki_mutex_unlock(&published->lock);
    release(list); /* outside the lock: this can take long */
    release(next);
}

static ki_snapshot *take_under_lock(ki_published *published) {
    ki_mutex_lock(&published->lock);
    ki_snapshot *now = ki_snapshot_ref(atomic_load(&published->now));
    ki_mutex_unlock(&published->lock);
    return now;
}

const ki_snapshot *ki_published_enter(ki_published *published, ki_reading *ret_reading) {
    uint32_t unread = 0;
    /* Most threads have different stripes: the golden ratio spreads their ids. */
    uint64_t spread = (uint64_t)(uintptr_t)pthread_self() * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    *ret_reading = (ki_reading){ .stripe = (unsigned)(spread >> (64 - KI_PUBLISHED_STRIPE_BITS)) };
    if (atomic_compare_exchange_strong(&published->stripes[ret_reading->stripe].is_read, &unread, 1))
        return atomic_load(&published->now);
    ret_reading->held = take_under_lock(published);
    return ret_reading->held;
}

void ki_published_leave(ki_published *published, ki_reading reading) {
    if (reading.held) {
        ki_snapshot_unref(reading.held);
        return;
    }
    atomic_store(&published->stripes[reading.stripe].is_read, 0);
    if (note_idle(published, reading.stripe))
        end_list(published);
}

ki_snapshot *ki_published_take(ki_published *published) {
    ki_reading reading;
    (void)ki_published_enter(published, &reading);
    ki_snapshot *now = ki_snapshot_ref(reading.held ? reading.held : atomic_load(&published->now));
    ki_published_leave(published, reading);
    return now;
}

void ki_published_swap(ki_published *published, ki_snapshot *next) {
    ki_mutex_lock(&published->lock);
    ki_snapshot *before = atomic_exchange(&published->now, next);
    KI_ASSERT(before != next && !before->next_deferred);
    before->next_deferred = published->retired;
    published->retired = before;
    ki_snapshot *unread = begin_list(published);
    ki_mutex_unlock(&published->lock);
    release(unread);
}

/* list_memory.c: what the lists that arrive, or wait in the queue, will take once the store has them. Above a limit
 * their objects lose content as they arrive: a first list takes no more than the limit at any time. Loop. */
#include "src/cache/informer/informer_parts.h"

/* Counts what the store has, and what is expected, at the informer and its account. */
static void count(ki_informer *informer, size_t stored, size_t arriving, size_t queued) {
    ki_memory_account *account = informer->options.account;
    if (account) { /* may wrap */
        account->bytes += stored - informer->checked_bytes;
        account->expected += arriving + queued - ki_informer_expected_bytes(informer);
    }
    informer->checked_bytes = stored;
    informer->arriving = arriving;
    informer->queued = queued;
}

/* An object of a later list takes the place of one in the store. */
static void note_arriving(ki_feed *feed, size_t bytes, size_t stored) {
    ki_informer *informer = feed->informer;
    size_t more = feed->reflector.has_initial_version ? ki_memory_above(bytes, stored) : bytes, before = feed->arriving;
    feed->arriving = more;
    count(informer, informer->checked_bytes, informer->arriving - before + more, informer->queued);
}

/* Returns what all informers take too much. The informer's next step notes whether that is new, or over: the others
 * then drop contents, too, or need not. */
static size_t excess_of_all(ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    if (!account || !account->limit)
        return 0;
    if (ki_memory_account_pressure(account) != atomic_load(&account->pressure) && informer->step_loop.is_open)
        ki_step_loop_wake(&informer->step_loop);
    return ki_memory_above(ki_memory_account_bytes(account), account->limit);
}

size_t ki_feed_list_excess(ki_feed *feed, size_t bytes) {
    ki_informer *informer = feed->informer;
    size_t limit = informer->options.given.memory_limit, stored = ki_informer_object_bytes(informer);
    note_arriving(feed, bytes, stored);
    size_t own = limit ? ki_memory_above(stored + ki_informer_expected_bytes(informer), limit) : 0;
    size_t all = excess_of_all(informer);
    return !ki_informer_may_drop(informer) ? 0 : own > all ? own : all;
}

void ki_feed_list_queued(ki_feed *feed) {
    ki_informer *informer = feed->informer;
    size_t more = feed->arriving;
    feed->arriving = 0;
    count(informer, informer->checked_bytes, informer->arriving - more, informer->queued + more);
}

/* What the store grows by was queued. No more is expected than the objects that the queue still has take. */
void ki_informer_note_stored(ki_informer *informer, size_t stored) {
    size_t left = informer->queue ? informer->queue->ops->listed_bytes(informer->queue) : 0;
    size_t queued = ki_memory_above(informer->queued, ki_memory_above(stored, informer->checked_bytes));
    count(informer, stored, informer->arriving, queued < left ? queued : left);
}

void ki_informer_clear_account(ki_informer *informer) {
    ki_informer_leave_account(informer);
    count(informer, 0, 0, 0);
}

/* list_memory.c: what the lists that arrive, or wait in the queue, will take once the store has them. Above a limit
 * their objects lose content as they arrive: a first list takes no more than the limit at any time. Loop. */
#include "src/cache/informer/informer_parts.h"

static size_t above(size_t bytes, size_t limit) {
    return bytes > limit ? bytes - limit : 0;
}

/* Counts what is expected, at the informer and its account. */
static void update(ki_informer *informer, size_t stored) {
    ki_memory_account *account = informer->options.account;
    size_t expected = informer->arriving + above(informer->stored_later, stored);
    if (account)
        account->expected += expected - informer->expected; /* may wrap */
    informer->expected = expected;
}

/* An object of a later list takes the place of one in the store. */
static void note_arriving(ki_feed *feed, size_t bytes, size_t stored) {
    size_t more = feed->reflector.has_initial_version ? above(bytes, stored) : bytes;
    feed->informer->arriving += more - feed->arriving; /* may wrap */
    feed->arriving = more;
    update(feed->informer, stored);
}

/* Returns what all informers take too much. The informer's next step notes whether that is new, or over: the others
 * then drop contents, too, or need not. */
static size_t excess_of_all(ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    if (!account || !account->limit)
        return 0;
    if (ki_memory_account_pressure(account) != atomic_load(&account->pressure) && informer->step_loop.is_open)
        ki_step_loop_wake(&informer->step_loop);
    return above(ki_memory_account_bytes(account), account->limit);
}

size_t ki_feed_list_excess(ki_feed *feed, size_t bytes) {
    ki_informer *informer = feed->informer;
    size_t limit = informer->options.given.memory_limit, stored = ki_informer_object_bytes(informer);
    note_arriving(feed, bytes, stored);
    size_t own = limit ? above(stored + informer->expected, limit) : 0, all = excess_of_all(informer);
    return !ki_informer_may_drop(informer) ? 0 : own > all ? own : all;
}

void ki_feed_list_queued(ki_feed *feed) {
    ki_informer *informer = feed->informer;
    size_t stored = ki_informer_object_bytes(informer);
    if (informer->stored_later < stored)
        informer->stored_later = stored;
    informer->stored_later += feed->arriving;
    note_arriving(feed, 0, stored);
}

void ki_informer_note_stored(ki_informer *informer, size_t stored, bool is_all) {
    if (is_all || stored >= informer->stored_later)
        informer->stored_later = 0;
    update(informer, stored);
}

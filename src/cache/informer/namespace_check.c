/* namespace_check.c: whether the namespace of a feed exists. A list in a namespace that does not exist succeeds and is
 * empty, so an informer with a misspelt namespace would sync and say nothing. After an empty list the server is
 * asked once, beside the watch; after a namespace was missing, again with each new watch. The result changes only what
 * health and log say. Loop. */
#include "src/cache/informer/informer_parts.h"

static void note_missing(ki_feed *feed, bool is_missing) {
    feed->asks_for_namespace = is_missing;
    if (atomic_exchange(&feed->is_namespace_missing, is_missing) == is_missing)
        return;
    feed->informer->feeds.missing += is_missing ? 1 : SIZE_MAX;
    ki_informer_note_state(feed->informer, true, false);
}

static void on_found(ki_namespace_found found, void *user) {
    ki_feed *feed = user;
    bool was_missing = atomic_load(&feed->is_namespace_missing);
    note_missing(feed, found == KI_NAMESPACE_UNCERTAIN ? was_missing : found == KI_NAMESPACE_MISSING);
}

void ki_feed_check_namespace(ki_feed *feed) {
    ki_list_watch *source = feed->source;
    if (feed->asks_for_namespace && feed->selection->namespace_name[0] && source->ops->find_namespace) {
        ki_error err = KI_ERROR_INIT; /* a question that cannot be sent waits for the next watch */
        (void)!source->ops->find_namespace(source, on_found, feed, &err);
    }
}

void ki_informer_doubt_missing(ki_informer *informer, const ki_deltas *deltas) {
    for (size_t i = 0; i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        ki_feed *feed = ki_feed_of_key(informer, ki_object_key(delta->obj));
        if (feed && delta->type != KI_EVENT_DELETE &&
            atomic_load_explicit(&feed->is_namespace_missing, memory_order_relaxed))
            note_missing(feed, false);
    }
}

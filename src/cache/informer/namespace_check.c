/* namespace_check.c: whether the namespace of an informer exists. A list in a namespace that does not exist succeeds
 * and is empty, so an informer with a misspelt namespace would sync and say nothing. After an empty list the server is
 * asked once, beside the watch; after a namespace was missing, again with each new watch. The result changes only what
 * health and log say. Loop. */
#include "src/cache/informer/informer_parts.h"

static void note_missing(ki_informer *informer, bool is_missing) {
    informer->asks_for_namespace = is_missing;
    if (atomic_exchange(&informer->is_namespace_missing, is_missing) == is_missing)
        return;
    ki_informer_log_state(informer, false);
    ki_informer_report_state(informer);
}

static void on_found(ki_namespace_found found, void *user) {
    ki_informer *informer = user;
    bool was_missing = atomic_load(&informer->is_namespace_missing);
    note_missing(informer, found == KI_NAMESPACE_UNCERTAIN ? was_missing : found == KI_NAMESPACE_MISSING);
}

void ki_informer_note_listed(ki_informer *informer, size_t listed) {
    informer->asks_for_namespace = listed == 0;
}

void ki_informer_check_namespace(ki_informer *informer) {
    ki_list_watch *source = informer->options.list_watch;
    if (informer->asks_for_namespace && informer->selection->namespace_name[0] && source->ops->find_namespace) {
        ki_error err = KI_ERROR_INIT; /* a question that cannot be sent waits for the next watch */
        (void)!source->ops->find_namespace(source, on_found, informer, &err);
    }
}

void ki_informer_doubt_missing(ki_informer *informer) {
    if (ki_store_count(informer->store) > 0)
        note_missing(informer, false);
}

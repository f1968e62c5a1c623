/* mutant.h: deliberate bugs, one line each, which the simulation or a unit test has to find; README.md in sim/ tells how they are run.
 *
 * Only in a build with KI_MUTANTS is there any of them, and of those one at a time: that which the environment's KI_MUTANT
 * names. In all other builds KI_MUTANT(…) is false and leaves no trace. */
#ifndef KI_BASE_MUTANT_H
#define KI_BASE_MUTANT_H

#include <stdbool.h>

#ifdef KI_MUTANTS

/* X(name, what is wrong, the unit test that finds it where the simulation cannot; "") */
#define KI_MUTANT_LIST(X) \
    X(NONE, "nothing", "") \
    X(STREAM_ENDS_AT_ANY_BOOKMARK, "any bookmark ends a streaming list", "reflector") \
    X(STREAM_IGNORES_DELETES, "a deletion within a streaming list is passed over", "reflector") \
    X(STREAM_KEEPS_FIRST_STATE, "a change within a streaming list is passed over", "reflector") \
    X(STREAM_WITHOUT_DEADLINE, "a streaming list may last for ever", "") \
    X(STREAM_KEEPS_EXPIRED_VERSION, "a streaming list is asked for again at the version that was refused", "") \
    X(DROP_DELETED_EVENT, "a watch's deletions are dropped", "") \
    X(DROP_MODIFIED_EVENT, "a watch's changes are dropped", "") \
    X(ADVANCE_WITHOUT_QUEUEING, "the version moves on though the queue had no memory for the event", "") \
    X(NEVER_ADVANCE, "events do not move the version on", "reflector") \
    X(WATCH_FROM_ZERO, "a watch is opened at 0", "") \
    X(REPEATED_BRING_BACK, "a server that repeats itself brings back what was deleted", "") \
    X(NO_LIST_AFTER_EXPIRED, "an expired watch is opened again at the same version", "") \
    X(REOPEN_ALWAYS_AT_ONCE, "a watch that is closed again and again is opened at once each time", "") \
    X(SHORT_WATCH_IS_FINE, "a very short watch is opened again with no list", "reflector") \
    X(LIST_AFTER_LOST_CONNECTION, "a watch whose connection is lost is followed by a list", "reflector") \
    X(NO_IDLE_TIMEOUT, "silence is never noticed", "") \
    X(WORDLESS_WATCHES_ARE_FINE, "watches without a word are opened again and again with no check", "reflector_check") \
    X(CHECK_AFTER_ONE, "one watch without a word is enough for a check", "reflector_check") \
    X(CHECK_PASSES_ALWAYS, "what a check finds is not looked at", "reflector_check") \
    X(LOW_BOOKMARK_IS_FINE, "a bookmark from before the watch is passed over", "reflector_check") \
    X(NO_BACKOFF, "what failed is tried again at once", "") \
    X(IGNORE_RETRY_AFTER, "Retry-After is not obeyed", "") \
    X(KEEP_EXPIRED_VERSION, "a list is asked for again at the version that was refused", "") \
    X(FORGET_FURTHER_PAGES, "only the first page of a list is taken", "") \
    X(EMPTY_PAGE_ENDS_LIST, "a page with no objects is taken for the last one", "") \
    X(EXPIRED_TOKEN_ENDS_LIST, "what came before a continue token expired is taken for the list", "") \
    X(FULL_LIST_KEEPS_PAGES, "the list in one piece is added to the pages before", "") \
    X(LIST_WITHOUT_QUEUEING, "the version moves on though the queue had no memory for the list", "reflector") \
    X(GONE_TYPE_KEEPS_OBJECTS, "the objects of a resource type that is gone stay", "missing_type") \
    X(GONE_AT_FIRST_ANSWER, "one answer that a type is unknown deletes its objects", "missing_type") \
    X(BLOCKED_WAITS_LONG, "what a person has mended is seen a minute later", "missing_type") \
    X(BACKOFF_NEVER_GROWS, "each wait is as long as the first", "backoff") \
    X(NO_TOMBSTONES, "what is missing in a new list stays in the store", "") \
    X(NO_QUEUED_TOMBSTONES, "what is queued and missing in a new list stays", "delta_fifo") \
    X(KEEP_OLDEST_DELTA, "a change of a key that is queued is dropped", "delta_fifo") \
    X(FORGET_FAILED_ITEM, "an item that could not be processed is dropped", "") \
    X(SYNCED_WITH_THE_LIST, "synced once the list is queued", "") \
    X(RESYNC_QUEUED_KEYS, "a resync comes after a newer state that is queued", "delta_fifo") \
    X(RECREATED_IS_UPDATED, "another object under the same name is an update", "") \
    X(REPEATED_IS_NEW, "an older or repeated state is applied", "") \
    X(OLDER_DELETE_COUNTS, "a repeated deletion deletes a newer state", "shared_informer") \
    X(SAME_VERSION_SAME_CONTENT, "the same resource version is taken for the same state", "") \
    X(RESYNC_FOR_ALL, "all handlers hear of a resync", "") \
    X(OLD_IS_NEW, "an update's old state is the new one", "") \
    X(STORE_KEEPS_DELETED, "a deletion does not reach the store", "") \
    X(FORGET_TO_TELL_DELETES, "a deletion is not told", "") \
    X(INDEX_KEEPS_OLD_VALUE, "an object stays under its old value", "") \
    X(INDEX_FORGETS_SECOND_CHANGE, "an object with an old state is not indexed anew", "") \
    X(DELIVER_AFTER_REMOVAL, "a handler that was removed is told what was waiting", "") \
    X(NO_REPLAY, "a late handler hears only of what comes", "") \
    X(REPLAY_AND_EVENTS_OVERLAP, "a late handler's replay is told after what has changed since", "") \
    X(SYNCED_BEFORE_INITIAL, "on_synced does not wait for the initial adds", "") \
    X(LATEST_FORGETS_DELETE, "latest: a deletion after a change is dropped", "") \
    X(LATEST_TELLS_UNKNOWN_DELETE, "latest: a deletion of what the handler never knew is told", "") \
    X(LATEST_OLD_IS_SKIPPED_STATE, "latest: old is a state that was never told", "") \
    X(FILTER_FORGETS_OLD, "what stops matching a filter is not deleted", "") \
    X(ON_REMOVED_NEVER, "on_removed is not called", "") \
    X(LEAK_OLD_STATE, "an update's old state is never let go of", "") \
    X(ERROR_EVENT_IGNORED, "an ERROR event is passed over", "http_list_watch") \
    X(EXPIRED_IS_ANY_ERROR, "expired is not told from other errors", "") \
    X(TOO_LARGE_IS_ANY_ERROR, "too large is not told from other errors", "status") \
    X(CHUNK_FORGETS_STRING, "a string that two chunks share is not known as one in the second", "") \
    X(SELECTOR_NOT_SENT, "the label selector is not sent", "") \
    X(TASKS_COME_FIRST, "each step begins with tasks: small ones do nothing else", "engine") \
    X(ORDER_OF_ADDRESSES, "a seed of maps comes from an address", "factory_options") \
    X(AUDITS_IGNORE_RETRY_AFTER, "audits do not obey Retry-After", "audit") \
    X(RESYNC_OVERTAKES, "a resync begins before the one before it is through", "handler_rules") \
    X(FAILED_RESYNC_COUNTS, "a resync that had no memory is not made up for", "handler_rules") \
    X(RESYNC_ONLY_ONCE, "after the first resync there is none", "handler_rules") \
    X(STALE_LISTS_ARE_IMPATIENT, "a list at another version does not wait for a Retry-After", "reflector") \
    X(OLD_DELETE_HIDES_TOMBSTONE, "a repeated deletion takes the place of a tombstone, and is passed over", \
      "delta_fifo") \
    X(TIMERS_BY_THE_WALL_CLOCK, "time is the wall clock's", "") \
    X(ALWAYS_INITIAL, "what any list brings is said to be of the initial one", "") \
    X(REPLAY_IS_NOT_INITIAL, "what was there when a handler came is not said to be of the initial list", "") \
    X(ENDS_ARE_NEVER_KNOWN, "each deletion is said to be unseen", "") \
    X(ENDS_ARE_ALWAYS_KNOWN, "a deletion that a list tells of is said to be seen", "") \
    X(OTHER_S_DELETION_IS_NOTHING, "the deletion of another object under the name is passed over", "handler_rules") \
    X(STREAM_IS_A_WATCH, "health: a streaming list is said to watch before its end", "") \
    X(NOTHING_PLANNED, "health: when it tries again is not told", "") \
    X(NOBODY_HAS_TO_ACT, "health: lack of permission is no reason to be blocked", "") \
    X(YOUNG_BEFORE_STORED, "what is queued and not stored makes the copy young", "") \
    X(LATEST_IS_A_LIST_MORE, "metrics: the second try of a list counts as one more", "") \
    X(STREAMS_ARE_NO_WATCHES, "metrics: a watch that began as a streaming list is not counted", "") \
    X(SHORT_WATCHES_ARE_NOT_COUNTED, "metrics: very short watches are not counted", "") \
    X(ITEMS_ARE_CHANGES, "metrics: an object that was there before does not count in a list", "") \
    X(LIST_WITHOUT_DESCRIPTORS, "a watch that found no descriptor is followed by a list", "reflector") \
    X(WAITS_ARE_FORGOTTEN, "who waits for a version is not told when it comes", "wait_for") \
    X(WAITS_NEVER_EXPIRE, "who waits for a version waits for ever", "wait_for") \
    X(WAITS_END_EARLY, "who waits for a version is told at once that it is there", "wait_for") \
    X(YOUNG_BY_ANY_BYTE, "any byte makes the copy young, though its event is not whole", "metrics") \
    X(CONTINUE_FROM_THE_START, "the continue token is not sent", "")

typedef enum ki_mutant {
#define KI_MUTANT_NUMBER(name, what, test) KI_MUTANT_##name,
    KI_MUTANT_LIST(KI_MUTANT_NUMBER)
#undef KI_MUTANT_NUMBER
} ki_mutant;

/* From the environment, once. */
ki_mutant ki_mutant_now(void);
#define KI_MUTANT(name) (ki_mutant_now() == KI_MUTANT_##name)

#else

#define KI_MUTANT(name) false

#endif

#endif

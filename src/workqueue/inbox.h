/* inbox.h: added keys that no thread has moved into the queue yet. Adding to the inbox takes no lock: threads that add
 * keys and workers do not wait for each other. A thread that locks the queue empties the inbox first.
 *
 * An inbox is a lock-free stack. Its one word holds the newest item, or a mark while it is empty: empty, wake (a
 * thread sleeps; the next add must wake it), or closed. */
#ifndef KI_WORKQUEUE_INBOX_H
#define KI_WORKQUEUE_INBOX_H

#include <kinformer/error.h>

#include "src/workqueue/item.h"

#include <stdatomic.h>

typedef struct ki_inbox {
    _Atomic(ki_work_item *) newest; /* NULL or a mark: no items */
    _Atomic unsigned count;         /* approximate number of items */
} ki_inbox;

void ki_inbox_init(ki_inbox *inbox);
/* Adds an item. *ret_must_empty: the caller must lock the queue and empty the inbox, since a thread sleeps or the
 * inbox is long. Any thread. Errors: KI_ERR_CLOSED. */
ki_status ki_inbox_add(ki_inbox *inbox, ki_work_item *item, bool *ret_must_empty);
/* Returns true if the inbox has items. Any thread. */
bool ki_inbox_has_items(const ki_inbox *inbox);
/* Removes all items and returns them, oldest first, linked by `next`. Any thread. */
ki_work_item *ki_inbox_take(ki_inbox *inbox);
/* Marks the empty inbox: the next add sets *ret_must_empty. Returns false if the inbox has items. Any thread. */
bool ki_inbox_request_wake(ki_inbox *inbox);
/* Closes the inbox for adds and returns its items, as ki_inbox_take. Any thread. */
ki_work_item *ki_inbox_close(ki_inbox *inbox);

#endif

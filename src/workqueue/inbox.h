/* inbox.h: keys that were added and that nobody has looked at yet. Adding to the inbox takes no lock, so that a thread that adds keys and
 * the workers do not wait for each other; whoever takes the queue's lock looks into the inbox first.
 *
 * An inbox is a stack in one word, which also says what it is while it is empty: empty, asked for (a thread sleeps that the next add has
 * to wake), or closed. */
#ifndef KI_WORKQUEUE_INBOX_H
#define KI_WORKQUEUE_INBOX_H

#include <kinformer/error.h>

#include "src/workqueue/item.h"

#include <stdatomic.h>

typedef struct ki_inbox {
    _Atomic(ki_work_item *) newest; /* or a mark */
    _Atomic unsigned count;         /* about as many as are in it */
} ki_inbox;

void ki_inbox_init(ki_inbox *inbox);
/* Adds an item. `*ret_has_to_look`: the caller has to look into the inbox, since nobody else may do it, or not soon enough.
 * Any thread. Errors: KI_ERR_CLOSED. */
ki_status ki_inbox_add(ki_inbox *inbox, ki_work_item *item, bool *ret_has_to_look);
/* Is there an item? Any thread. */
bool ki_inbox_has_items(const ki_inbox *inbox);
/* Removes all items and returns them, oldest first, linked by `next`. Any thread. */
ki_work_item *ki_inbox_take(ki_inbox *inbox);
/* Makes the next add look. Returns false where there are items already. Any thread. */
bool ki_inbox_ask(ki_inbox *inbox);
/* Lets nothing in any more, and returns what was in it. Any thread. */
ki_work_item *ki_inbox_close(ki_inbox *inbox);

#endif

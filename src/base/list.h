/* list.h: a list of structs with the members `next` and `previous`. The list is a pointer to its first item; NULL is an
 * empty list, and a zeroed item is in no list. Nothing here allocates or can fail. One thread.
 *
 * The last item's `next` is NULL: `for (item = list; item; item = item->next)` walks the list. The first item's
 * `previous` is the last item: the list's owner needs no pointer to the end. */
#ifndef KI_BASE_LIST_H
#define KI_BASE_LIST_H

#include "src/base/assert.h"

/* Returns true if the item is in a list. */
#define KI_LIST_HAS(item) ((item)->previous != NULL)

/* The macros evaluate `list`, a variable, several times. */

/* Adds an item after the last one. */
#define KI_LIST_APPEND(list, item) \
    do { \
        __typeof__(item) added_ = (item); \
        KI_ASSERT(!KI_LIST_HAS(added_) && !added_->next); \
        added_->previous = (list) ? (list)->previous : added_; \
        *((list) ? &added_->previous->next : &(list)) = added_; \
        (list)->previous = added_; \
    } while (0)

/* Adds an item before the first one. */
#define KI_LIST_PREPEND(list, item) \
    do { \
        __typeof__(item) added_ = (item); \
        KI_ASSERT(!KI_LIST_HAS(added_) && !added_->next); \
        added_->next = (list); \
        added_->previous = (list) ? (list)->previous : added_; \
        if (list) \
            (list)->previous = added_; \
        (list) = added_; \
    } while (0)

/* Removes an item of this list. */
#define KI_LIST_REMOVE(list, item) \
    do { \
        __typeof__(item) removed_ = (item); \
        KI_ASSERT(KI_LIST_HAS(removed_) && (removed_ == (list) || removed_->previous->next == removed_)); \
        KI_ASSERT((removed_->next ? removed_->next : (list))->previous == removed_); \
        *(removed_ == (list) ? &(list) : &removed_->previous->next) = removed_->next; \
        if (list) /* of the next item; without one, of the first */ \
            (removed_->next ? removed_->next : (list))->previous = removed_->previous; \
        removed_->next = removed_->previous = NULL; \
    } while (0)

#endif

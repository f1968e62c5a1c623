/* inbox.c: a stack that is only taken as a whole: a compare-and-swap adds, an exchange takes. */
#include "src/workqueue/inbox.h"

enum {
    /* items; from here on each add empties the inbox, which bounds the memory of a key that is added repeatedly */
    EMPTY_AT = 64
};

/* Marks are compared, never dereferenced. */
static max_align_t wake_mark, closed_mark;
#define WAKE ((ki_work_item *)(void *)&wake_mark)
#define CLOSED ((ki_work_item *)(void *)&closed_mark)

static bool is_mark(const ki_work_item *item) {
    return !item || item == WAKE || item == CLOSED;
}

void ki_inbox_init(ki_inbox *inbox) {
    atomic_init(&inbox->newest, NULL);
    atomic_init(&inbox->count, 0);
}

ki_status ki_inbox_add(ki_inbox *inbox, ki_work_item *item, bool *ret_must_empty) {
    ki_work_item *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do {
        if (newest == CLOSED)
            return KI_ERR_CLOSED;
        item->next = is_mark(newest) ? NULL : newest;
    } while (!atomic_compare_exchange_weak(&inbox->newest, &newest, item));
    /* From here on another thread may own the item. */
    unsigned count = atomic_fetch_add_explicit(&inbox->count, 1, memory_order_relaxed);
    *ret_must_empty = newest == WAKE || count >= EMPTY_AT;
    return KI_OK;
}

bool ki_inbox_has_items(const ki_inbox *inbox) {
    return !is_mark(atomic_load_explicit(&inbox->newest, memory_order_relaxed));
}

static ki_work_item *oldest_first(ki_work_item *newest) {
    ki_work_item *oldest = NULL;
    while (!is_mark(newest)) {
        ki_work_item *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

ki_work_item *ki_inbox_take(ki_inbox *inbox) {
    ki_work_item *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do {
        if (is_mark(newest))
            return NULL;
    } while (!atomic_compare_exchange_weak(&inbox->newest, &newest, NULL));
    atomic_store_explicit(&inbox->count, 0, memory_order_relaxed);
    return oldest_first(newest);
}

bool ki_inbox_request_wake(ki_inbox *inbox) {
    ki_work_item *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    while (!newest)
        if (atomic_compare_exchange_weak(&inbox->newest, &newest, WAKE))
            return true;
    return is_mark(newest);
}

ki_work_item *ki_inbox_close(ki_inbox *inbox) {
    return oldest_first(atomic_exchange(&inbox->newest, CLOSED));
}

/* failures.h: the keys of a controller whose last reconcile failed. Of many, the worst are kept: the scan of the kept
 * ones is short, and their memory bounded. Caller holds the controller's mutex. */
#ifndef KI_CONTROLLER_FAILURES_H
#define KI_CONTROLLER_FAILURES_H

#include <kinformer-controllers/controller.h>

enum {
    KI_FAILURES_KEPT = 16 /* keys that are still shown after worse ones have succeeded */
};

typedef struct ki_failures {
    struct {
        ki_controller_failure shown; /* without `ago_ms` */
        int64_t failed_at;           /* engine time */
    } kept[KI_FAILURES_KEPT + 1];    /* the last place is for a new failure, until the least bad one is removed */
    size_t count;
} ki_failures;

/* Records a failure of the key, and removes the least bad one if there are too many. `requeues` is the queue's count of
 * the key; the queue forgets a key after a terminal failure. */
void ki_failures_note(ki_failures *failures, const char *key, int requeues, bool is_retried, const ki_error *cause,
                      int64_t now);
/* Removes the key, which has succeeded. */
void ki_failures_remove(ki_failures *failures, const char *key);
/* Gets the worst failure: a terminal one before one that is retried, then the most failures in a row, then the last. */
void ki_failures_worst(const ki_failures *failures, int64_t now, ki_controller_failure *ret_failure);

#endif

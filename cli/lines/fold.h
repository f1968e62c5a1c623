/* fold.h: the changes of a second on a busy cluster, as a line for each owner.
 *
 *     ~ deployment shop/cart  12 pods: 9 Ready → 11, 2 CrashLoopBackOff → 0 */
#ifndef CLI_LINES_FOLD_H
#define CLI_LINES_FOLD_H

#include "tally.h"

enum {
    OWNER_MAX = KI_OBJECT_KEY_MAX + 80,
    FOLD_LINES_MAX = 20 /* lines a second that a person can read */
};

/* ---- when changes are folded ---- */

/* {0} folds nothing. */
typedef struct fold_rate {
    size_t changes; /* in this second */
    bool is_folding;
} fold_rate;

/* Counts a change. Returns true if it is folded: it is one of more than FOLD_LINES_MAX in this second or the last. */
bool fold_rate_add(fold_rate *r);
/* Begins the next second. */
void fold_rate_tick(fold_rate *r);

/* ---- the owners ---- */

/* Writes who an object belongs to: "deployment shop/cart" (a pod's replica set is its deployment's, its job perhaps a
 * CronJob's), "job shop/reindex"; without an owner its namespace, "namespace shop", or "cluster".
 * Errors: KI_ERR_NO_MEMORY. */
ki_status fold_owner_of(const ki_object *obj, char text[OWNER_MAX], ki_error *err);

typedef struct fold fold;

/* Returns NULL if out of memory. */
fold *fold_new(void);
void fold_free(fold *f);
/* Counts an owner's object that was in the condition `before` (NULL: it was not there) and is in `after` (NULL: it is
 * no longer there). With `is_shown` the next fold_write shows the change. Returns false if out of memory. */
bool fold_change(fold *f, const char *owner, const condition *before, const condition *after, bool is_shown);

/* What the objects of a fold are called. */
typedef struct fold_words {
    const char *plural; /* "pods" */
    const char *kind;   /* "Pod" */
    bool has_ready;     /* columns_have_ready */
} fold_words;

/* Writes the changes since the last call: a line with the time and the numbers, then a line for each owner, those with
 * the most changes of a status first, at most `max` (at least 1). Writes nothing without changes. Returns false if out
 * of memory. */
bool fold_write(fold *f, const fold_words *words, const char *clock, size_t max, size_t width, FILE *out);
/* Returns true if fold_write would write. */
bool fold_has_changes(const fold *f);

#endif

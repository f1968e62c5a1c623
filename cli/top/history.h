/* history.h: the last changes of the objects of one resource, as lines of `kinformer watch`. Once they fill the limit
 * of bytes, the oldest go. */
#ifndef CLI_TOP_HISTORY_H
#define CLI_TOP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct history history;

/* A line. */
typedef struct history_line {
    const char *key;
    const char *text; /* as it was added, with its colours */
} history_line;

/* `limit` is the number of bytes of all lines together. Returns NULL if out of memory. */
history *history_new(size_t limit);
/* NULL is accepted. */
void history_free(history *h);
/* Adds the newest line; both texts are copied. A line that is larger than the limit is not kept. Returns false if out
 * of memory: older lines stay. */
bool history_add(history *h, const char *key, const char *text);
/* Returns the newest line of an object that is older than `newer` (NULL: the newest of all), a result of this function;
 * NULL if there is none. The line is borrowed until the next history_add. A NULL key is any object. */
const history_line *history_next(const history *h, const char *key, const history_line *newer);

#endif

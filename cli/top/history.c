/* history.c: see history.h. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

/* A line in the order in which they were added. */
typedef struct entry {
    history_line line; /* first: history_next finds the entry of a line */
    struct entry *older, *newer;
    size_t size;
    char texts[]; /* the key and the text */
} entry;

struct history {
    entry *oldest, *newest;
    size_t size, limit;
};

history *history_new(size_t limit) {
    history *h = calloc(1, sizeof *h);
    if (h)
        h->limit = limit;
    return h;
}

static void remove_oldest(history *h) {
    entry *e = h->oldest;
    h->oldest = e->newer;
    if (h->oldest)
        h->oldest->older = NULL;
    else
        h->newest = NULL;
    h->size -= e->size;
    free(e);
}

void history_free(history *h) {
    while (h && h->oldest)
        remove_oldest(h);
    free(h);
}

bool history_add(history *h, const char *key, const char *text) {
    size_t key_size = strlen(key) + 1, text_size = strlen(text) + 1, size = sizeof(entry) + key_size + text_size;
    if (size > h->limit)
        return true;
    entry *e = malloc(size);
    if (!e)
        return false;
    e->newer = NULL;
    e->size = size;
    e->line.key = memcpy(e->texts, key, key_size);
    e->line.text = memcpy(e->texts + key_size, text, text_size);
    while (h->oldest && h->size + size > h->limit)
        remove_oldest(h);
    e->older = h->newest;
    if (h->newest)
        h->newest->newer = e;
    else
        h->oldest = e;
    h->newest = e;
    h->size += size;
    return true;
}

const history_line *history_next(const history *h, const char *key, const history_line *newer) {
    const entry *e = newer ? ((const entry *)newer)->older : h->newest;
    while (e && key && strcmp(e->line.key, key) != 0)
        e = e->older;
    return e ? &e->line : NULL;
}

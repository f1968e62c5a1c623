/* watchers.h: the watches that are open on a storage. The cluster wakes and ends them; request/watch.h reads them. Under the cluster's guard. */
#ifndef KT_CLUSTER_WATCHERS_H
#define KT_CLUSTER_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>

struct kt_storage;

/* The head of a watch. */
typedef struct kt_watcher {
    struct kt_storage *storage;
    struct kt_watcher *next;
    struct kt_watcher *previous;
    bool closed; /* the watch ends once all that happened before has been read */
    bool ended;  /* the watch ends at once */
    bool woken;  /* since the reader last found nothing to read */
    void (*wake)(void *user);
    void *user;
} kt_watcher;

/* Adds a watch to `storage`, and takes it off again. */
void kt_watcher_open(kt_watcher *watcher, struct kt_storage *storage);
void kt_watcher_close(kt_watcher *watcher);

/* Returns how many watches of the storage are open. */
size_t kt_watchers_count(const struct kt_storage *storage);
/* Wakes the readers of a storage whose history has grown. A reader that was woken and has not read since is left alone. */
void kt_watchers_notify(struct kt_storage *storage);
/* Ends the watches of a storage: after what they still have to read, or at once. */
void kt_watchers_close_all(struct kt_storage *storage);
void kt_watchers_end_all(struct kt_storage *storage);

#endif

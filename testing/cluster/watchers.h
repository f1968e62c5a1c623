/* watchers.h: the open watches of a storage. The cluster wakes and ends them; request/watch.h is what
 * reads one. The caller holds the cluster (cluster.h). */
#ifndef KT_CLUSTER_WATCHERS_H
#define KT_CLUSTER_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kt_storage;

/* The head of a watch. */
typedef struct kt_watcher {
    struct kt_storage *storage;
    struct kt_watcher *next;
    struct kt_watcher *previous;
    bool closed;         /* the watch ends before the event `closed_seq` */
    bool ended;          /* the watch ends at once */
    bool is_cut;         /* it ends without a clean end of its response */
    uint64_t closed_seq; /* sequence number of the first event after the close */
    bool woken;          /* woken since the reader last found no event */
    void (*wake)(void *user);
    void *user;
} kt_watcher;

/* Adds a watch to `storage`; removes it. */
void kt_watcher_add(kt_watcher *watcher, struct kt_storage *storage);
void kt_watcher_remove(kt_watcher *watcher);

/* Returns the number of watches that are not ended or to be ended. */
size_t kt_watchers_count(const struct kt_storage *storage);
/* Wakes the readers of a storage whose history has grown. Skips readers that are woken already. */
void kt_watchers_notify(struct kt_storage *storage);
/* Ends all watches of a storage: after the events so far, or at once. A later change does not reach them. */
void kt_watchers_close_all(struct kt_storage *storage);
void kt_watchers_end_all(struct kt_storage *storage);
/* Ends all watches of a storage at once, without a clean end. */
void kt_watchers_cut_all(struct kt_storage *storage);

#endif

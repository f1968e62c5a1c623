/* watchers.c: see watchers.h. */
#include "testing/cluster/watchers.h"

#include "src/base/list.h"
#include "testing/cluster/cluster_state.h"

void kt_watcher_add(kt_watcher *watcher, kt_storage *storage) {
    watcher->storage = storage;
    KI_LIST_PREPEND(storage->watchers, watcher);
}

void kt_watcher_remove(kt_watcher *watcher) {
    KT_HOLDS(watcher->storage->cluster);
    KI_LIST_REMOVE(watcher->storage->watchers, watcher);
}

size_t kt_watchers_count(const kt_storage *storage) {
    size_t count = 0;
    for (const kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        count += !watcher->closed && !watcher->ended;
    return count;
}

static void wake(kt_watcher *watcher) {
    if (watcher->woken || !watcher->wake)
        return;
    watcher->woken = true;
    watcher->wake(watcher->user);
}

void kt_watchers_notify(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        wake(watcher);
}

void kt_watchers_close_all(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next) {
        if (!watcher->closed)
            watcher->closed_seq = storage->store->first_seq + storage->store->history.count;
        watcher->closed = true;
        wake(watcher);
    }
}

void kt_watchers_end_all(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next) {
        watcher->ended = true;
        wake(watcher);
    }
}

void kt_watchers_cut_all(kt_storage *storage) {
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        watcher->is_cut = true;
    kt_watchers_end_all(storage);
}

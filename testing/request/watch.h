/* watch.h: a watch: a cursor through the first objects and then through its storage's history, without a queue. A slow
 * reader uses no memory, and gets 410 once its position is compacted. The storage lists the watch until it is freed.
 * The caller holds the cluster (cluster.h). */
#ifndef KT_REQUEST_WATCH_H
#define KT_REQUEST_WATCH_H

#include "testing/cluster/storage.h"
#include "testing/request/list_options.h"
#include "testing/request/selector.h"

/* Responds with a watch. Takes ownership of the selector. Errors: KT_RESPONDED (the response is complete: call.h),
 * KI_ERR_NO_MEMORY. */
ki_status kt_watch_open(kt_call *call, const kt_list_options *options, kt_selector *selector);
void kt_watch_free(kt_watch *watch);

/* ---- reading ---- */

typedef enum kt_watch_state {
    KT_WATCH_WAITS, /* nothing to read now */
    KT_WATCH_MORE,  /* stopped at `max`; call again */
    KT_WATCH_ENDED  /* end the response: the timeout passed, an ERROR event was sent, or the cluster closed the watch */
} kt_watch_state;

/* Appends complete frames to `out`, until it has about `max` bytes more. Appends at least one frame if there is one.
 *
 * `ret_shared` is for readers that can be slow; NULL: every object is copied. `*ret_shared` is NULL before the call.
 * An object of KT_WATCH_SHARED_MIN bytes or more is not copied: `out` then ends with the beginning of its frame,
 * `*ret_shared` is a reference to the object and the state is KT_WATCH_MORE. The reader sends the object's JSON and
 * KT_WATCH_FRAME_END after `out`. So all watches share one copy of a large object. */
ki_status kt_watch_read(kt_watch *watch, int64_t now_ms, ki_buffer *out, size_t max, kt_object **ret_shared,
                        kt_watch_state *ret_state);
#define KT_WATCH_FRAME_END "}\n"
enum {
    KT_WATCH_SHARED_MIN = 32 * 1024
};
/* Returns the time of the next bookmark or of the end; the watch has nothing to do before unless the cluster
 * changes. */
int64_t kt_watch_deadline(const kt_watch *watch);
/* Returns true if the connection of the watch must be cut (kt_cluster_cut_watches). */
bool kt_watch_is_cut(const kt_watch *watch);
/* Sets `wake`, which runs inside the cluster call that makes frames readable. It must not call the cluster. */
void kt_watch_set_wake(kt_watch *watch, void (*wake)(void *user), void *user);
/* Sets `is_gone`, which says whether the client has closed its connection: such a watch is not open any more. Its user
 * is that of kt_watch_set_wake. */
void kt_watch_set_gone(kt_watch *watch, bool (*is_gone)(void *user));

#endif

/* shared_informer.h: an informer's making, start and end, for the factory and for tests; what a program may do with it is in
 * <kinformer/informer.h>. "Loop" as in engine.h: an idle engine's caller counts. */
#ifndef KI_CACHE_SHARED_INFORMER_H
#define KI_CACHE_SHARED_INFORMER_H

#include <kinformer/informer.h>
#include <kinformer/metrics.h>

#include "src/cache/list_watch.h"
#include "src/cache/store.h"
#include "src/engine/engine.h"
#include "src/object/format.h"

typedef struct ki_shared_informer_options {
    ki_engine *engine;
    ki_list_watch *list_watch;   /* the informer's own once it is made */
    const ki_resource *resource; /* copied, its strings too */
    ki_object_format *format; /* that its objects are made with; outlives the informer; NULL: it makes none by itself */
    const char *name;         /* for messages; outlives the informer; NULL: the resource's plural */
    int64_t resync_ns;        /* of the listeners that name none; 0: none */
    int64_t page_size;        /* 0: the reflector's */
    bool no_streaming_list;
    bool in_order;         /* the queue is the in-order one */
    bool detect_mutations; /* looks whether objects are changed in place */
    const void *owner;     /* of the callbacks (callback.h): the factory; NULL: the informer itself */
    uint64_t seed;         /* of key hashes */
    /* What the source selects, for health and metrics; copied; NULL: nothing. */
    const char *namespace_name, *label_selector, *field_selector;
    const ki_metrics *metrics; /* the program's library; copied; NULL: none */
    int64_t internal_error_retry_ns;
    ki_list_watch *audit_source; /* another one of the same objects, the informer's own once it is made; NULL: none */
    int64_t audit_ns;            /* 0: no audits */
    bool check_streaming_list;
} ki_shared_informer_options;

/* Any thread. */
ki_status ki_informer_new(const ki_shared_informer_options *options, ki_informer **ret_informer, ki_error *err);

/* A start is coming: what must be set before it is refused from now on. Any thread. */
void ki_informer_freeze(ki_informer *informer);
/* Begins to list and watch, and gives each listener its thread. Loop. Nothing has happened where it fails (KI_ERR_NO_MEMORY,
 * KI_ERR_SYSTEM): it may be tried again. KI_ERR_STATE where it was started or stopped before. */
ki_status ki_informer_start(ki_informer *informer, ki_error *err);
/* Ends reflector and controller, then tells the listeners to end. Loop. Repeatable. */
void ki_informer_stop(ki_informer *informer);
/* Waits until each listener's thread has ended. After stop. Any thread but theirs, one at a time. */
void ki_informer_join(ki_informer *informer);
/* After join. NULL is accepted. Each on_removed that is still owed comes here. */
void ki_informer_free(ki_informer *informer);

enum {
    KI_INFORMER_WHY_MAX = KI_HEALTH_MESSAGE_MAX + 32 /* bytes with the closing zero */
};
/* Writes how it is and why: "blocked: forbidden: list pods at cluster scope". Returns `why`. Any thread. */
const char *ki_informer_why(const ki_informer *informer, char why[KI_INFORMER_WHY_MAX]);

/* The monotonic clock's time in `timeout_ms`; INT64_MAX where that is negative or very long. */
int64_t ki_deadline_of_timeout(int64_t timeout_ms);
/* Until `deadline_ns` of the monotonic clock; else as ki_informer_wait_for_sync. */
ki_status ki_informer_wait_until_synced(ki_informer *informer, int64_t deadline_ns, ki_error *err);

#endif

/* audit.h: does the copy hold what the server holds? Lists beside the watch, with a source of its own, and compares: at intervals with the
 * store (a server may lose an event), or after a streaming list with what that gave. On the loop.
 *
 * An audit costs a page of objects at a time, eight bytes for each object, and one moment of the store while it lists. What is on its
 * way differs, too: so what differs is looked at again once the watch has come as far as the list, and counts if a second list
 * says the same. */
#ifndef KI_CACHE_AUDIT_H
#define KI_CACHE_AUDIT_H

#include "src/base/buffer.h"
#include "src/cache/list_watch.h"
#include "src/cache/metrics.h"
#include "src/cache/reflector.h"
#include "src/cache/store.h"

enum {
    KI_AUDIT_PARTS = 64,
    KI_AUDIT_SUSPECTS_MAX = 100 /* objects that differ; further ones are not looked at in this audit */
};

typedef struct ki_audit_options {
    ki_engine *engine;
    ki_list_watch *list_watch; /* borrowed; nobody else's */
    const ki_store *store;
    int64_t interval_ns; /* 0: no audits, only checks */
    ki_metrics_record *metrics;
    uint64_t seed;
    bool (*is_watching)(void *user); /* only then the store is expected to catch up */
    /* The copy is wrong; `key` is the first one, "" where it cannot be told. */
    void (*on_difference)(const ki_error *err, const char *key, bool repair, void *user);
    void (*on_failure)(const ki_error *err, void *user);  /* a list; the audit is given up */
    void (*on_wasted)(ki_snapshot *snapshot, void *user); /* takes over what is to be released */
    void *user;
} ki_audit_options;

typedef struct ki_suspect {
    ki_object *obj; /* as it was listed; or as it is in the store and should not be */
    bool is_ghost;
} ki_suspect;

typedef struct ki_suspects {
    ki_suspect items[KI_AUDIT_SUSPECTS_MAX];
    size_t count;
} ki_suspects;

/* A hash set; 0 is an empty place. */
typedef struct ki_prints {
    uint64_t *items; /* NULL: none */
    size_t count, capacity;
} ki_prints;

typedef enum ki_audit_step {
    KI_AUDIT_BEGIN,
    KI_AUDIT_PAGE,
    KI_AUDIT_WALK,  /* through the store, for what was not listed */
    KI_AUDIT_SETTLE /* has what differs arrived meanwhile? */
} ki_audit_step;

typedef struct ki_audit {
    ki_audit_options options;
    bool is_open;
    bool is_check; /* of a streaming list */
    ki_timer timer;
    ki_audit_step next;
    int passes;         /* that found something */
    int64_t not_before; /* a Retry-After */
    /* the list */
    ki_buffer continue_token;
    char version[KI_RESOURCE_VERSION_MAX + 1]; /* of the list; of a check: to be asked for */
    size_t pages;
    size_t listed;
    uint64_t digest; /* of a check: of what was listed */
    bool
        has_nameless; /* an object that cannot be used nor told by name: what is missing in the list cannot be told either */
    ki_prints prints[KI_AUDIT_PARTS]; /* of the keys that were listed, by their first bits: no part is large */
    /* the comparison */
    ki_snapshot *before; /* the store when the list began */
    ki_cursor cursor;
    int64_t settles_until;
    ki_suspects suspects, confirmed;
    uint64_t repaired; /* what differed at the last repair */
    /* of a check: what the streaming list gave */
    uint64_t streamed_digest;
    size_t streamed_count;
} ki_audit;

/* Embedded; to be closed. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_audit_open(ki_audit *audit, const ki_audit_options *options, ki_error *err);
void ki_audit_start(ki_audit *audit);
/* Returns what an object adds to the digest of a list. */
uint64_t ki_audit_digest(const ki_audit *audit, const ki_object *obj);
/* A streaming list gave `count` objects at `version`; `digest` is the sum over them. In place of an audit that is under way. */
void ki_audit_check(ki_audit *audit, const char *version, uint64_t digest, size_t count);
/* Also on one that is zeroed or closed. */
void ki_audit_close(ki_audit *audit);

#endif

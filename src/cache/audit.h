/* audit.h: the consistency check: lists beside the watch, with a source of its own, and compares. At intervals an audit compares the list with the
 * store, since a server may lose an event. After a streaming list a check compares a list with the streamed objects. On the loop.
 *
 * An audit uses memory for one page of objects, eight bytes for each listed key, and one snapshot of the store. Changes that are on their way
 * differ, too. An audit therefore compares differing objects again when the watch has reached the list's version, and reports a difference only
 * if a second list confirms it. */
#ifndef KI_CACHE_AUDIT_H
#define KI_CACHE_AUDIT_H

#include "src/base/buffer.h"
#include "src/cache/list_watch.h"
#include "src/cache/metrics.h"
#include "src/cache/reflector.h"
#include "src/cache/store.h"

enum {
    KI_AUDIT_PARTS = 64,
    KI_AUDIT_SUSPECTS_MAX = 100 /* differing objects; an audit ignores further ones */
};

typedef struct ki_audit_options {
    ki_engine *engine;
    ki_list_watch *list_watch; /* borrowed; for the audit only */
    const ki_store *store;
    int64_t interval_ns; /* 0: no audits, only checks */
    ki_metrics_record *metrics;
    uint64_t seed;
    bool (*is_watching)(void *user); /* returns true while the store is expected to catch up with the server */
    /* Called when the cache differs from the server. `key`: the first differing object's, "" if unknown. `repair`: a relist may help. */
    void (*on_difference)(const ki_error *err, const char *key, bool repair, void *user);
    void (*on_failure)(const ki_error *err, void *user);  /* a list failed, and the audit ended */
    void (*on_wasted)(ki_snapshot *snapshot, void *user); /* takes the reference over, to release it in slices */
    void *user;
} ki_audit_options;

typedef struct ki_suspect {
    ki_object *obj; /* the listed object; a ghost: the store's object */
    bool is_ghost;  /* in the store, not in the list */
} ki_suspect;

typedef struct ki_suspects {
    ki_suspect items[KI_AUDIT_SUSPECTS_MAX];
    size_t count;
} ki_suspects;

/* A hash set of key hashes; 0 is an empty place. */
typedef struct ki_prints {
    uint64_t *items; /* NULL: none */
    size_t count, capacity;
} ki_prints;

typedef enum ki_audit_step {
    KI_AUDIT_BEGIN,
    KI_AUDIT_PAGE,
    KI_AUDIT_WALK,  /* search the store for objects that were not listed */
    KI_AUDIT_SETTLE /* compare the differing objects again */
} ki_audit_step;

typedef struct ki_audit {
    ki_audit_options options;
    bool is_open;
    bool is_check; /* a check of a streaming list, not an audit */
    ki_timer timer;
    ki_audit_step next;
    int passes;         /* lists that differed from the store, in this audit */
    int64_t not_before; /* the end of a Retry-After */
    /* the list */
    ki_buffer continue_token;
    char version[KI_RESOURCE_VERSION_MAX + 1]; /* the list's; in a check: the requested version */
    size_t pages;
    size_t listed;
    uint64_t digest;                  /* in a check: the listed objects' */
    bool has_nameless;                /* the list has an unusable object without a key, so missing keys prove nothing */
    ki_prints prints[KI_AUDIT_PARTS]; /* hashes of the listed keys, in parts, so that no part is large */
    /* the comparison */
    ki_snapshot *before; /* the store when the list began */
    ki_cursor cursor;
    int64_t settles_until;
    ki_suspects suspects, confirmed; /* of the current list, and of the first list */
    uint64_t repaired;               /* digest of the differences at the last repair; 0: none */
    /* in a check: the streamed objects */
    uint64_t streamed_digest;
    size_t streamed_count;
} ki_audit;

/* Initializes an embedded audit. The caller closes it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_audit_open(ki_audit *audit, const ki_audit_options *options, ki_error *err);
/* Schedules the first audit. */
void ki_audit_start(ki_audit *audit);
/* Returns the object's part of a list's digest. */
uint64_t ki_audit_digest(const ki_audit *audit, const ki_object *obj);
/* Checks a streaming list of `count` objects at `version`; `digest` is the sum of their digests. Ends a running audit. */
void ki_audit_check(ki_audit *audit, const char *version, uint64_t digest, size_t count);
/* Cancels the list and frees everything. Also accepts a zeroed or closed audit. */
void ki_audit_close(ki_audit *audit);

#endif

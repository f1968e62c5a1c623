/* keys.h: the oracle of the work queue and the controller, for each key in each process: one worker at a time, no
 * reconcile without a cause, no retry before its delay or long after it, no change without a reconcile. */
#ifndef CTL_KEYS_H
#define CTL_KEYS_H

#include <kinformer/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ctl_process ctl_process;

enum {
    CTL_MAX_DELAYS = 64, /* of one key; if there are more, the earliest are kept */
    CTL_MAX_OWN_WRITES = 8
};

/* How a reconcile ended. */
typedef enum ctl_result {
    CTL_DONE,
    CTL_FAILED, /* an error, or requeue: the key is retried after the rate limit's delay */
    CTL_REQUEUE_AFTER,
    CTL_TERMINAL /* a terminal error: no retry */
} ctl_result;

/* A write of a reconcile that the server has accepted. */
typedef struct ctl_own_write {
    const ki_informer *informer;
    char key[64];
    bool is_deletion;
    char mark[40]; /* the version, or the uid of a deletion */
    char uid[40];  /* of an object that was not deleted */
} ctl_own_write;

/* What is known of one key. Times are true times in ns, except where noted. */
typedef struct ctl_key {
    uint64_t causes, starts; /* reconciles that may begin, at most; reconciles that began */
    bool is_running;
    int64_t cause_at, started_at, finished_at; /* the last ones */
    int64_t paused_at_cause, paused_at_start;  /* ctl_process.paused_total at those times, ns */
    int64_t first_event_at;                    /* the first event since the last start; 0: none */
    bool has_retry;                            /* a retry is due at retry_at and has not begun */
    int64_t retry_at;                          /* the process's time, ns */
    int64_t delays[CTL_MAX_DELAYS];            /* the process's time, ns: ends of the delays that can queue the key */
    unsigned delay_count;
    bool delay_passed; /* a delay had passed at the last start */
    int failures;      /* in a row */
    /* a retry that began before its delay; an event after the start before that retry can explain it */
    int64_t early_start_at; /* 0: none */
    int64_t start_before_early;
    /* for the reconcile function: since when the object has been waiting to become ready */
    uint64_t wait_value;
    int64_t wait_since;                       /* the process's time, ns */
    ctl_own_write writes[CTL_MAX_OWN_WRITES]; /* of the last reconcile */
    unsigned write_count;
    bool has_seen_writes; /* the caches have them, since writes_seen_at */
    int64_t writes_seen_at;
    int64_t writes_until; /* the process's time at the end of that reconcile, ns */
} ctl_key;

/* Returns the number of the parent in the key of a parent or child ("default/p4", "default/p4-1"); -1 for other
 * keys. */
int ctl_key_parse(const char *key);
/* Writes the key of a parent. */
void ctl_key_format(unsigned number, char *ret_text, size_t size);

/* Records an event that the program's own handler received, or another cause without a delay. */
void ctl_key_add_cause(ctl_process *process, unsigned number);
/* Records that the controller received an event that queues the key. */
void ctl_key_note_event(ctl_process *process, unsigned number);
/* Records that the program queued the key after a delay. */
void ctl_key_add_delay(ctl_process *process, unsigned number, int64_t delay_ms);
/* Record that a reconcile begins, and ends. `after_ms`: the delay of CTL_REQUEUE_AFTER. */
void ctl_key_start(ctl_process *process, unsigned number);
void ctl_key_finish(ctl_process *process, unsigned number, ctl_result result, int64_t after_ms);
/* own_writes.c */
/* Records a write of the running reconcile that was accepted, of a watched resource: of the parent, or of a child with
 * this name. */
void ctl_own_writes_add(ctl_process *process, unsigned number, const ki_response *response, const char *child);
/* Records which keys' writes the caches have. Called between steps. */
void ctl_own_writes_note_seen(ctl_process *process);
/* Fails the run if the key's next reconcile begins too early. Returns for how long the key has not waited for its
 * writes any more, ns; INT64_MAX: it did not wait. */
int64_t ctl_own_writes_start(ctl_process *process, unsigned number);
/* Checks causes and early retries once no step of the process is due: both handlers have then been called for all
 * events. */
void ctl_keys_check(ctl_process *process);
/* Fails the run if a key was not reconciled after its last cause. Called at the end of a run. */
void ctl_keys_check_final(ctl_process *process);

#endif

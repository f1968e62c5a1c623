/* keys.h: what must hold of each key in one process: one worker at a time, no reconcile without a cause, no retry before its delay or long after
 * it, no change without a reconcile. */
#ifndef CTL_KEYS_H
#define CTL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ctl_process ctl_process;

enum {
    CTL_MAX_DELAYS = 64 /* of one key, at a time; of more the earliest are known */
};

typedef enum ctl_result {
    CTL_DONE,
    CTL_FAILED, /* an error, or requeue: after the delay of the rate limits */
    CTL_AGAIN,  /* requeue_after */
    CTL_TERMINAL
} ctl_result;

typedef struct ctl_key {
    uint64_t causes, starts;
    bool is_running;
    int64_t cause_at, started_at, finished_at; /* true time */
    int64_t paused_at_cause, paused_at_start;  /* how long the process had been paused in all */
    int64_t waits_since;                       /* the first cause since the last start; 0: none */
    /* a retry that is due; the process's time */
    bool has_retry;
    int64_t retry_at;
    int64_t delays[CTL_MAX_DELAYS]; /* times that the queue may still remember */
    unsigned delay_count;
    bool has_passed; /* one of them had passed at the last start */
    int failures;    /* in a row */
    /* a start before that; true time */
    int64_t early_at;    /* 0: none */
    int64_t early_after; /* a cause since then explains it */
    /* of the reconcile function: how long the object has been waiting to be ready */
    uint64_t wait_value;
    int64_t wait_since;
} ctl_key;

/* Returns the number of a parent's key ("default/p4"); -1 for another one. */
int ctl_key_number(const char *key);
/* Writes the key of a parent. */
void ctl_key_text(unsigned number, char *ret_text, size_t size);

void ctl_key_cause(ctl_process *process, unsigned number);
/* The controller was given an event that queues the key. */
void ctl_key_wait(ctl_process *process, unsigned number);
/* Somebody else queues the key after a delay. */
void ctl_key_delay(ctl_process *process, unsigned number, int64_t delay_ms);
void ctl_key_start(ctl_process *process, unsigned number);
void ctl_key_finish(ctl_process *process, unsigned number, ctl_result result, int64_t after_ms);
/* The process has nothing to do just now: both handlers are notified of everything. */
void ctl_keys_look(ctl_process *process);
/* All is over: each key was reconciled after the last thing that happened to it. */
void ctl_keys_compare(ctl_process *process);

#endif

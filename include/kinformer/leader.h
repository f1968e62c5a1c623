/* leader.h: leader election: of several processes one at a time leads, as long as it renews a Lease.
 *
 *     ki_elector *elector = NULL;
 *     ki_elector_new(factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "my-controller", .release_on_stop = true), &elector, &err)
 *     ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.elector = elector, …), …)       works only while this process leads
 *
 * The algorithm, the Lease's fields and the default durations are those of client-go's tools/leaderelection: processes of both may compete for
 * one Lease. The Lease's times are only compared with each other, never with this machine's clock: a candidate waits until the record has not
 * changed for `lease_duration_ms` of its own monotonic time.
 *
 * What a lease can promise. ki_elector_is_leader returns true only until `renew_deadline_ms` after the last successful renewal was SENT. Another
 * process takes the Lease no earlier than `lease_duration_ms` after it saw that renewal. So two processes never return true at one moment while
 * their clocks' rates differ by less than lease_duration / renew_deadline (15 s / 10 s: 1.5; 10 % fast against 10 % slow is 1.22).
 * What no client can promise: a process may be suspended between the return of ki_elector_is_leader and what it does next. A write
 * that was decided before can arrive when another process leads. Who cannot live with that sends ki_elector_fencing_token
 * with each write, to a server that refuses lower tokens; or a resourceVersion, which the API server checks. */
#ifndef KINFORMER_LEADER_H
#define KINFORMER_LEADER_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_elector ki_elector;

enum {
    KI_LEASE_DURATION_MS = 15000,
    KI_RENEW_DEADLINE_MS = 10000,
    KI_RETRY_PERIOD_MS = 2000,
    KI_IDENTITY_MAX = 256 /* bytes of an identity */
};

typedef struct ki_elector_callbacks {
    /* This process leads from now on. */
    void (*on_started_leading)(ki_elector *elector, void *user);
    /* This process does not lead any more: its Lease was not renewed in time or was taken, or the elector was stopped. Follows each
     * on_started_leading, before another process can lead; comes once more at the stop where this process never led, as in client-go. */
    void (*on_stopped_leading)(ki_elector *elector, void *user);
    /* Another process leads, or this one (`identity` is its own). Called when the holder of the Lease changes. */
    void (*on_new_leader)(ki_elector *elector, const char *identity, void *user);
} ki_elector_callbacks; /* all on the loop; must not block; any may be NULL */

typedef struct ki_elector_options {
    size_t size;                /* sizeof(ki_elector_options); set by the macro */
    const char *namespace_name; /* of the Lease */
    const char *name;           /* of the Lease; also the label of its metrics */
    const char
        *identity; /* who this process is: must differ between any two processes. NULL: host name and a random part */
    int64_t lease_duration_ms; /* 0: KI_LEASE_DURATION_MS */
    int64_t renew_deadline_ms; /* 0: KI_RENEW_DEADLINE_MS; less than the lease duration */
    int64_t retry_period_ms;   /* 0: KI_RETRY_PERIOD_MS; 1.2 times it is less than the renew deadline */
    bool release_on_stop;      /* give the Lease up at a stop, so that another process leads at once */
    const char *labels;        /* a JSON map: labels of the Lease where the elector creates it; NULL: none */
    ki_elector_callbacks callbacks;
    void *user;
} ki_elector_options;

#define KI_ELECTOR_OPTIONS(...) ((ki_elector_options){ .size = sizeof(ki_elector_options), __VA_ARGS__ })

/* Makes an elector. It starts to compete when the factory starts. It is stopped with the factory, after the factory's controllers have ended their
 * reconciles. Its requests do not wait for the client's own limit. Ownership: the caller's, freed with ki_elector_free before the factory. Blocks: no.
 * Errors: KI_ERR_INVALID (the message names the option), KI_ERR_LIMIT, KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_elector_new(ki_factory *factory, const ki_elector_options *options,
                                              ki_elector **ret_elector, ki_error *err);

/* Frees it; where it still leads, on_stopped_leading is called first. NULL is accepted.
 * Threads: not from its callbacks. Blocks: until the loop has ended its work for it. */
KI_API void ki_elector_free(ki_elector *elector);

/* Stops competing: on_stopped_leading is called; with `release_on_stop` the Lease is given up. Repeatable. Threads: any. Blocks: no. */
KI_API void ki_elector_stop(ki_elector *elector);

/* Returns true while this process leads, by the clock at the time of the call (see the top). Threads: any. Blocks: no. */
KI_API bool ki_elector_is_leader(const ki_elector *elector);

/* Returns the number of this process's term: the Lease's leaseTransitions when it was acquired. It grows with each change of the leader, so that of
 * two leaders the later one has the higher token; -1 where this process does not lead. Where the Lease object is deleted, a candidate that
 * saw it goes on counting from there; one that never saw it starts at 0. Threads: any. Blocks: no. */
KI_API int64_t ki_elector_fencing_token(const ki_elector *elector);

/* Writes who holds the Lease, as far as is known, as text: "" where nobody does. Threads: any. Blocks: no. */
KI_API void ki_elector_leader(const ki_elector *elector, char *ret_identity, size_t size);

/* For a health check: KI_ERR_TIMEOUT where this process still calls itself leader `tolerance_ms` after its Lease expired (the loop is
 * stuck); else KI_OK. Threads: any. Blocks: no. */
KI_API KI_MUST_CHECK ki_status ki_elector_check(const ki_elector *elector, int64_t tolerance_ms, ki_error *err);

KI_END_DECLS

#endif

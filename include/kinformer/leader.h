/* leader.h: leader election: of several processes one at a time leads, as long as it renews a Lease.
 *
 *     ki_elector *elector = NULL;
 *     ki_elector_new(factory, &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "my-controller", .release_on_stop = true), &elector, &err)
 *     ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.elector = elector, …), …)       works only while this process leads
 *
 * The algorithm, the Lease's fields and the default durations are those of client-go's tools/leaderelection: processes of both may compete for
 * one Lease. The Lease's times are only compared with each other, never with this machine's clock: a candidate takes the Lease when it has seen no change
 * of it for the holder's leaseDurationSeconds, by its own clock. A role needs the verbs get, create and update for leases in the namespace.
 *
 * What a Lease can promise. ki_elector_is_leader returns true only until `renew_deadline_ms` after the last successful renewal was sent. Another
 * process takes the Lease no earlier than `lease_duration_ms` after it saw that renewal. So two processes never return true at one moment while
 * their clocks' rates differ by less than lease_duration / renew_deadline (15 s / 10 s: 1.5; 10 % fast against 10 % slow is 1.22).
 *
 * Threads of the program's own. A controller with an elector ends its reconciles before the Lease is released. Of other threads the elector
 * knows nothing. A program that has such workers, say of a ki_workqueue, uses ki_factory_start, waits for its signal (sigwait; the library's threads block
 * all signals), ends its workers (ki_workqueue_shut_down_with_drain, then join), and only then calls ki_factory_stop. Each worker asks
 * ki_elector_is_leader, or takes the fencing token, before each job.
 *
 * What it cannot promise:
 *   - A process may be suspended between the return of ki_elector_is_leader and what it does next. A write that was decided before can arrive when another
 *     process leads. A program that cannot accept that sends ki_elector_fencing_token with each write, to a server that refuses lower
 *     tokens; or a resourceVersion, which the API server checks.
 *   - The clock is the engine's. CLOCK_MONOTONIC, its default, goes on while a process is stopped, but stands still while the machine is suspended: after
 *     the resume the process may call itself leader for what was left of its renew deadline. A program for such machines gives its engine a ki_clock
 *     that reads CLOCK_BOOTTIME. No clock of a virtual machine need count the time for which the hypervisor paused it.
 *   - A Lease that is deleted or edited by hand while a process leads is free for every process that did not see it before. The leader
 *     notices at its next renewal. */
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
    void (*on_started_leading)(ki_elector *elector, void *user) KI_NOEXCEPT;
    /* This process does not lead any more: its Lease was not renewed in time or was taken, or the elector was stopped. It goes on competing unless it was
     * stopped. Called once after each on_started_leading, before another process can lead and before the Lease is released, unless the loop is held
     * up. Also called, as in client-go, where an elector is stopped that never led. */
    void (*on_stopped_leading)(ki_elector *elector, void *user) KI_NOEXCEPT;
    /* The holder of the Lease has changed: to another process, to this one (its own identity), or to nobody (""). `identity` is borrowed. */
    void (*on_new_leader)(ki_elector *elector, const char *identity, void *user) KI_NOEXCEPT;
} ki_elector_callbacks; /* all on the loop; must not block; any may be NULL */

typedef struct ki_elector_options {
    size_t size;                /* sizeof(ki_elector_options); set by the macro */
    const char *namespace_name; /* of the Lease */
    const char *name;           /* of the Lease; also the label of the elector's metrics */
    const char *
        identity; /* who this process is; no two processes may have the same. NULL: host name, "_" and 128 random bits */
    int64_t
        lease_duration_ms; /* 0: KI_LEASE_DURATION_MS; rounded up to seconds where it is written, since the Lease has no parts of them */
    int64_t renew_deadline_ms; /* 0: KI_RENEW_DEADLINE_MS; less than the lease duration */
    int64_t retry_period_ms;   /* 0: KI_RETRY_PERIOD_MS; 1.2 times it is less than the renew deadline */
    bool release_on_stop;      /* give the Lease up at a stop, so that another process leads at once */
    const char *labels;        /* a JSON map of strings: labels that the elector sets on the Lease; NULL: none */
    ki_elector_callbacks callbacks;
    void *user;
} ki_elector_options;

#define KI_ELECTOR_OPTIONS(...) ((ki_elector_options){ .size = sizeof(ki_elector_options), __VA_ARGS__ })

/* Makes an elector. It starts to compete when the factory starts, and stops with the factory, after the factory's controllers have ended their
 * reconciles. Its requests do not wait for the client's own limit. What `options` points to is copied.
 * Ownership: the caller's, freed with ki_elector_free before the factory. Threads: any. Blocks: no; with a stepped engine on another thread than the one
 * that steps: until the next step.
 * Errors: KI_ERR_INVALID and KI_ERR_LIMIT (the message names the option), KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_elector_new(ki_factory *factory, const ki_elector_options *options,
                                              ki_elector **ret_elector, ki_error *err);

/* Frees the elector. Where it still leads, on_stopped_leading is called first; the Lease is not released: stop the elector or the factory for that.
 * NULL is accepted. Threads: any, but not from a callback of the elector. Blocks: until the loop has ended its work for it. */
KI_API void ki_elector_free(ki_elector *elector);

/* Stops competing: on_stopped_leading is called; then, with `release_on_stop`, the Lease is given up within `renew_deadline_ms`, unless another
 * process has taken it. Before the call, stop everything that may work only while this process leads: this function does not wait for running
 * reconciles. A stop of the factory does. Repeatable. Threads: any. Blocks: no. */
KI_API void ki_elector_stop(ki_elector *elector);

/* Returns true while this process leads, by the clock at the time of the call (see the top). Threads: any. Blocks: no. */
KI_API bool ki_elector_is_leader(const ki_elector *elector);

/* Returns the number of this process's term: the Lease's leaseTransitions when this process acquired the Lease. Returns -1 where this process does not
 * lead. The number grows with each change of the leader: of two leaders the later one has the higher token. Where the Lease is deleted, or its
 * leaseTransitions are edited to a lower number, a process that saw the higher number counts on from there; a process that never saw it
 * counts from what it finds, or from 0. Threads: any. Blocks: no. */
KI_API int64_t ki_elector_fencing_token(const ki_elector *elector);

/* Writes the holder of the Lease, as this process saw it last, as text of at most `size` bytes with the closing zero: "" where nobody holds the Lease.
 * Threads: any. Blocks: no. */
KI_API void ki_elector_leader(const ki_elector *elector, char *ret_identity, size_t size);

/* Returns KI_ERR_TIMEOUT where this process has not noticed that its Lease expired more than `tolerance_ms` ago: its loop is stuck. Else KI_OK. For health
 * checks. Threads: any. Blocks: no. */
KI_API KI_MUST_CHECK ki_status ki_elector_check(const ki_elector *elector, int64_t tolerance_ms, ki_error *err);

KI_END_DECLS

#endif

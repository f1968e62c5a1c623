/* leader.h: leader election: of several processes at most one leads, as long as it renews a Lease.
 *
 *     ki_elector *elector = NULL;
 *     ki_elector_new(factory, &KI_ELECTOR_OPTIONS(.namespace_name = "shop", .name = "my-controller"), &elector, &err)
 *     ki_controller_new(factory, &KI_CONTROLLER_OPTIONS(.elector = elector, …), …)
 *
 * The algorithm, the fields of the Lease and the default durations are those of client-go's tools/leaderelection;
 * kinformer and client-go processes can compete for the same Lease. Times in the Lease are never compared with the
 * local clock: a candidate takes the Lease when it has seen no change of it for leaseDurationSeconds of its own clock.
 * A role needs the verbs get, create and update for leases in the namespace.
 *
 * What is guaranteed. ki_elector_is_leader returns true until at most `renew_deadline_ms` after the last successful
 * renewal was sent. Another process takes the Lease no earlier than `lease_duration_ms` after it saw that renewal. Two
 * processes therefore never return true at the same time, while the rates of their clocks differ by less than
 * lease_duration / renew_deadline (15 s / 10 s = 1.5; a clock that is 10 % fast and one that is 10 % slow: 1.22).
 *
 * What is not guaranteed:
 *   - A write that was sent before the end of a term can arrive while another process leads: the write was on the wire,
 *     or the process was suspended between ki_elector_is_leader and the write. The receiver can prevent this. The API
 *     server rejects a write with an old resourceVersion: send one with each write
 *     (ki_unstructured_set_fencing_token also compares the tokens). Send ki_elector_fencing_token to any other server,
 *     which must reject a token below the highest that it has seen. A reconcile's request that was not sent before the
 *     end of the term is never sent (controller.h).
 *   - The clock is the engine's. CLOCK_MONOTONIC, the default, continues while a process is stopped, but not while the
 *     machine is suspended: after the resume a process may consider itself the leader for the rest of its renew
 *     deadline. On such machines use a ki_clock that reads CLOCK_BOOTTIME. A clock of a virtual machine may miss the
 *     time for which the hypervisor paused the machine.
 *   - Somebody deletes or edits the Lease while a process leads. The leader notices at its next renewal, or stops
 *     leading at its renew deadline if it does not reach the server. Until then two processes can lead.
 *     After a deletion, a candidate of client-go creates the Lease at its next try. So does a candidate of kinformer
 *     that has not seen the Lease before. A candidate of kinformer that has seen the Lease waits for its
 *     leaseDurationSeconds after the last change that the candidate saw; if they are more than an hour, for its own
 *     lease_duration_ms. After somebody cleared holderIdentity, or shortened leaseDurationSeconds, any candidate can
 *     take the Lease at its next try.
 *
 * Fork: make electors after a fork. A process that is forked after the start of the factory never leads
 * (kinformer/engine.h). One elector that was made before the fork, and started in both processes, has one identity for
 * two.
 *
 * The log says who leads. It warns once, not at each try, when this process cannot read or write the Lease, as without
 * the permission.
 *
 * The program's own threads. The Lease is released only when all reconciles of controllers with this elector have
 * ended; else it expires. The elector does not know about other threads. A program with such workers, for instance of a
 * ki_workqueue, uses ki_factory_start, waits for its signal (sigwait; the library's threads block all signals), ends
 * its workers (ki_workqueue_shut_down_with_drain, then join), and only then calls ki_factory_stop. Each worker checks
 * ki_elector_is_leader, or takes the fencing token, before each job. Its requests belong to no term: one that waits for
 * the rate limit or for Retry-After can be sent after the term; timeout_ms limits that. */
#ifndef KINFORMER_CONTROLLERS_LEADER_H
#define KINFORMER_CONTROLLERS_LEADER_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_elector ki_elector;

enum {
    KI_LEASE_DURATION_MS = 15000,
    KI_RENEW_DEADLINE_MS = 10000,
    KI_RETRY_PERIOD_MS = 2000,
    KI_IDENTITY_MAX = 256 /* bytes of an identity, without the closing zero */
};

/* Functions that are called on the loop. They must not block. Each may be NULL. */
typedef struct ki_elector_callbacks {
    /* This process leads from now on. */
    void (*on_started_leading)(ki_elector *elector, void *user) KI_NOEXCEPT;
    /* This process no longer leads: the Lease was not renewed in time, another process took it, or the elector was
     * stopped. The elector continues to compete unless it was stopped. Called once after each on_started_leading,
     * before another process can lead and before the Lease is released, unless the loop is blocked. As in client-go,
     * also called when an elector that never led is stopped. */
    void (*on_stopped_leading)(ki_elector *elector, void *user) KI_NOEXCEPT;
    /* The Lease has another holder: another process, this process, or none (""). `identity` is valid in the call. */
    void (*on_new_leader)(ki_elector *elector, const char *identity, void *user) KI_NOEXCEPT;
} ki_elector_callbacks;

/* Strings are copied. */
typedef struct ki_elector_options {
    size_t size;                /* sizeof(ki_elector_options); set by the macro */
    const char *namespace_name; /* namespace of the Lease; required */
    const char *name;           /* name of the Lease, and label of the elector's metrics; required */
    const char *identity;       /* unique name of this process; NULL: host name, "_" and 128 random bits */
    int64_t lease_duration_ms;  /* 0: KI_LEASE_DURATION_MS; rounded up to seconds in the Lease */
    int64_t renew_deadline_ms;  /* 0: KI_RENEW_DEADLINE_MS; must be less than lease_duration_ms */
    int64_t retry_period_ms;    /* 0: KI_RETRY_PERIOD_MS; 1.2 times this must be less than renew_deadline_ms */
    /* Release the Lease at a stop, not while a controller reconciles. Candidates poll the Lease: another process leads
     * within 2.2 times its retry_period_ms (4.4 s). Without a release it sees the last renewal within that time, waits
     * lease_duration_ms (15 s), and tries within that time again: up to 24 s after the renewal. */
    bool release_on_stop;
    ki_elector_callbacks callbacks;
    void *user; /* of the callbacks */
} ki_elector_options;

#define KI_ELECTOR_OPTIONS(...) KI_SIZED_(ki_elector_options, __VA_ARGS__)

/* Makes an elector. It competes for the Lease from the start of the factory until the stop of the factory, when the
 * factory's controllers have ended their reconciles. The client-side rate limit does not delay its requests.
 * Ownership: the caller frees the elector with ki_elector_free before the factory; the options are copied.
 * Threads: any. Blocks: no; but with an engine that another thread steps, until the next step.
 * Errors: KI_ERR_INVALID and KI_ERR_LIMIT (the message names the option), KI_ERR_STATE (the factory is stopped),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_elector_new(ki_factory *factory, const ki_elector_options *options,
                                              ki_elector **ret_elector, ki_error *err);

/* Frees an elector. If it leads, on_stopped_leading is called first, and the Lease is not released: to release the
 * Lease, stop the elector or the factory before. NULL is accepted.
 * Threads: any, but not in a callback of the elector. Blocks: until the loop has ended its work for the elector. */
KI_API void ki_elector_free(ki_elector *elector);

/* Stops competing. The loop calls on_stopped_leading; with `release_on_stop` it then releases the Lease, unless another
 * process holds it. A conflict, or another failure that may pass, is tried again for `renew_deadline_ms`; then the log
 * has a warning, and the Lease expires. Unlike a stop of the factory, this function does not wait for reconciles: if
 * one runs, the Lease is not released, and expires. Repeatable. Threads: any. Blocks: no. */
KI_API void ki_elector_stop(ki_elector *elector);

/* Returns true while this process leads. Reads the clock at each call (see the guarantee at the top). Threads: any.
 * Blocks: no. */
KI_API bool ki_elector_is_leader(const ki_elector *elector);

/* Returns the fencing token of this process's leadership, the leaseTransitions of the Lease when this process acquired
 * it; -1 if this process does not lead. A later leader has a higher token. A leader that creates its deleted Lease
 * again raises its token within the term. If the Lease is deleted, or its leaseTransitions is lowered, a process that
 * has seen the higher number continues from the higher number. Other processes start from the number in the Lease, or
 * from 0. Nobody takes a Lease whose leaseTransitions is INT32_MAX, since a higher token does not exist: the log says
 * so. Threads: any. Blocks: no. */
KI_API int64_t ki_elector_fencing_token(const ki_elector *elector);

/* Writes the identity of the Lease's holder, as last seen by this process; "" if the Lease has no holder. Truncates to
 * `size` bytes with the closing zero.
 * Threads: any. Blocks: no. */
KI_API void ki_elector_leader(const ki_elector *elector, char *ret_identity, size_t size);

/* Checks, for health probes, that the loop is not stuck. Returns KI_ERR_TIMEOUT if the Lease of this process expired
 * more than `tolerance_ms` ago, and the loop has not ended the leadership yet; else KI_OK. Threads: any. Blocks: no. */
KI_API KI_MUST_CHECK ki_status ki_elector_check(const ki_elector *elector, int64_t tolerance_ms, ki_error *err);

KI_END_DECLS

#endif

/* election.c: an elector's work on the loop: competes for a Lease, renews it, loses it, releases it.
 *
 *     NEW ──start──► COMPETES ──acquired──► LEADS
 *                       │  ▲                 │ │
 *                       │  └───── lost ──────┘ │
 *                       └──────── stop ────────┴──► RELEASES ──► STOPPED
 *
 * Without release_on_stop, and if this process cannot hold the Lease, a stop goes to STOPPED at once.
 *
 * One attempt (client-go's tryAcquireOrRenew) is one to three requests, one after another. A leader updates the Lease
 * as last seen. If that fails, and for a candidate, the elector reads the Lease, then creates or updates it. Each
 * attempt ends with setting the retry timer.
 *
 * Why two processes never lead at once:
 * - A leader counts from before its request was sent, and stops leading renew_deadline later.
 * - A candidate counts from after the response had arrived, by the clock at that point: the bytes may have waited
 *   during a callback or while the process was suspended. The candidate takes the Lease leaseDurationSeconds later,
 *   which is not less than the leader's lease_duration.
 * - The candidate's update names the resource version that it saw. Each renewal changes the Lease, since renewTime
 *   always grows. So the server rejects an update based on a state before a renewal, and a late request has no effect
 *   once another process has taken the Lease. */
#include "controllers/election/elector_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "src/engine/callback.h"

#define JITTER 1.2        /* client-go's JitterFactor */
#define RELEASE_DELAYS 16 /* the first delay of a release that failed is this part of the retry period */
#define NANOSECONDS_OF_MICROSECOND INT64_C(1000)
#define MEANT_MAX \
    KI_SECONDS(3600) /* a longer duration in a deleted Lease is a mistake, unless this elector has a longer one */

static void send_read(ki_elector *elector, ki_elector_step step);

static void log_line(const ki_elector *elector, ki_log_level level, const char *what, const ki_error *err) {
    ki_log_write(ki_engine_log(elector->engine), level, "elector", "lease %s/%s: %s%s%s", elector->given.namespace_name,
                 elector->given.name, what, err ? ": " : "", err ? ki_error_message(err) : "");
}

static bool is_own(const ki_elector *elector, const ki_lease *lease) {
    return ki_str_equals(lease->record.holder, elector->given.identity);
}

/* --- phases ------------------------------------------------------------------------------------------------------- */

static bool can_follow(ki_elector_phase before, ki_elector_phase phase) {
    switch (phase) {
    case KI_ELECTOR_NEW:
        return false;
    case KI_ELECTOR_COMPETES:
        return before == KI_ELECTOR_NEW || before == KI_ELECTOR_LEADS;
    case KI_ELECTOR_LEADS:
        return before == KI_ELECTOR_COMPETES;
    case KI_ELECTOR_RELEASES:
        return before != KI_ELECTOR_STOPPED;
    case KI_ELECTOR_STOPPED:
        return true;
    }
    return false;
}

static void set_phase(ki_elector *elector, ki_elector_phase phase) {
    KI_ON_LOOP(elector->engine);
    KI_ASSERT(can_follow(elector->phase, phase));
    elector->phase = phase;
}

/* Does the phase make requests of this kind? */
static bool can_request(ki_elector_phase phase, ki_elector_step step) {
    switch (step) {
    case KI_ELECTOR_IDLE:
        return true;
    case KI_ELECTOR_RENEWS:
        return phase == KI_ELECTOR_LEADS;
    case KI_ELECTOR_READS:
    case KI_ELECTOR_CREATES:
    case KI_ELECTOR_UPDATES:
        return phase == KI_ELECTOR_COMPETES || phase == KI_ELECTOR_LEADS;
    case KI_ELECTOR_READS_TO_RELEASE:
    case KI_ELECTOR_WRITES_TO_RELEASE:
        return phase == KI_ELECTOR_RELEASES;
    }
    return false;
}

/* --- callbacks and hooks ------------------------------------------------------------------------------------------ */

void ki_elector_add_hook(ki_elector *elector, ki_elector_hook *hook) {
    KI_ON_LOOP(elector->engine);
    hook->next = elector->hooks;
    elector->hooks = hook;
    if (elector->phase == KI_ELECTOR_LEADS)
        hook->changed(true, hook->user);
}

void ki_elector_remove_hook(ki_elector *elector, ki_elector_hook *hook) {
    KI_ON_LOOP(elector->engine);
    ki_elector_hook **place = &elector->hooks;
    while (*place && *place != hook)
        place = &(*place)->next;
    if (elector->next_hook == hook)
        elector->next_hook = hook->next;
    if (!*place)
        return;
    *place = hook->next;
    if (elector->is_freed && !elector->hooks)
        ki_elector_release(elector);
}

static void call_hooks(ki_elector *elector, bool leads) {
    KI_ON_LOOP(elector->engine);
    KI_ASSERT(!leads || elector->phase == KI_ELECTOR_LEADS);
    ki_elector_hook *hook;
    for (elector->next_hook = elector->hooks; (hook = elector->next_hook);) {
        elector->next_hook = hook->next;
        hook->changed(leads, hook->user);
    }
}

static bool is_any_busy(const ki_elector *elector) {
    const ki_elector_hook *hook = elector->hooks;
    while (hook && !hook->is_busy(hook->user))
        hook = hook->next;
    return hook != NULL;
}

static void call_started(ki_elector *elector) {
    ki_callback callback;
    if (!elector->callbacks.on_started_leading)
        return;
    ki_callback_enter(&callback, elector->factory);
    elector->callbacks.on_started_leading(elector, elector->user);
    ki_callback_leave(&callback);
}

static void call_stopped(ki_elector *elector) {
    ki_callback callback;
    if (!elector->callbacks.on_stopped_leading)
        return;
    ki_callback_enter(&callback, elector->factory);
    elector->callbacks.on_stopped_leading(elector, elector->user);
    ki_callback_leave(&callback);
}

/* Logs the new holder if this process waits for it, and calls on_new_leader. yyjson's strings end with a zero byte, so
 * the holder is a C string. */
static void tell_new_leader(ki_elector *elector) {
    ki_callback callback;
    ki_str holder = elector->seen.lease.record.holder;
    if (elector->phase == KI_ELECTOR_COMPETES && holder.size && !is_own(elector, &elector->seen.lease))
        ki_log_write(ki_engine_log(elector->engine), KI_LOG_INFO, "elector",
                     "lease %s/%s: \"%s\" leads; this process waits", elector->given.namespace_name,
                     elector->given.name, holder.data);
    if (!elector->callbacks.on_new_leader)
        return;
    ki_callback_enter(&callback, elector->factory);
    elector->callbacks.on_new_leader(elector, holder.size ? holder.data : "", elector->user);
    ki_callback_leave(&callback);
}

/* Starts or extends the term: by the response to a request sent at `sent_at`, this process holds the Lease. */
static void lead(ki_elector *elector, int64_t sent_at) {
    KI_ASSERT(elector->phase == KI_ELECTOR_COMPETES || elector->phase == KI_ELECTOR_LEADS);
    KI_ASSERT(is_own(elector, &elector->seen.lease));
    /* before the term: a thread that sees the term sees the token */
    atomic_store(&elector->token, elector->seen.lease.record.transitions);
    ki_terms_extend(elector->terms, sent_at + elector->given.renew_ns);
    ki_timer_set(&elector->lead_timer, sent_at + elector->given.renew_ns);
    if (elector->phase == KI_ELECTOR_LEADS)
        return;
    set_phase(elector, KI_ELECTOR_LEADS);
    elector->has_led = true;
    log_line(elector, KI_LOG_INFO, "became leader", NULL);
    call_started(elector);
    call_hooks(elector, true);
}

/* Ends the term. Without a stop the Lease was lost, which somebody should look at. */
static void stop_leading(ki_elector *elector, ki_elector_phase next, const char *why) {
    KI_ASSERT(next != KI_ELECTOR_LEADS);
    ki_terms_end(elector->terms);
    ki_timer_cancel(&elector->lead_timer);
    set_phase(elector, next);
    log_line(elector, next == KI_ELECTOR_COMPETES ? KI_LOG_WARNING : KI_LOG_INFO, why, NULL);
    call_hooks(elector, false);
    call_stopped(elector);
}

/* Replaces the last seen Lease by `lease`. Ends the term if another process holds it, and calls on_new_leader for a new
 * holder. */
static void observe(ki_elector *elector, const ki_lease *lease) {
    KI_ON_LOOP(elector->engine);
    ki_lease before = elector->seen.lease;
    bool has_new_holder = !ki_str_equal(before.record.holder, lease->record.holder);
    if (!ki_lease_is_same(&before, lease))
        elector->seen.at = ki_engine_clock(elector->engine);
    ki_mutex_lock(&elector->mutex);
    elector->seen.lease = *lease;
    ki_mutex_unlock(&elector->mutex);
    ki_lease_clear(&before);
    if (lease->record.transitions > elector->seen.most_transitions)
        elector->seen.most_transitions = lease->record.transitions;
    KI_ASSERT(elector->seen.most_transitions >= elector->seen.lease.record.transitions);
    if (elector->phase == KI_ELECTOR_LEADS && !is_own(elector, lease))
        stop_leading(elector, KI_ELECTOR_COMPETES, "another process holds the Lease: stopped leading");
    if (has_new_holder)
        tell_new_leader(elector);
}

/* --- the end of an attempt ---------------------------------------------------------------------------------------- */

static void try_again(ki_elector *elector) {
    KI_ASSERT(elector->phase == KI_ELECTOR_COMPETES || elector->phase == KI_ELECTOR_LEADS);
    KI_ASSERT(elector->request.step == KI_ELECTOR_IDLE);
    int64_t delay = elector->given.retry_ns;
    if (elector->phase != KI_ELECTOR_LEADS)
        delay += (int64_t)((double)delay * JITTER * ki_engine_random(elector->engine));
    ki_timer_set(&elector->retry_timer, ki_engine_now(elector->engine) + delay);
}

static void attempt_succeeded(ki_elector *elector) {
    elector->failure = (ki_elector_failure){ 0 };
    try_again(elector);
}

/* Warns once, however often the same failure follows. That another candidate was first is no failure. */
static void attempt_failed(ki_elector *elector, const char *what, const ki_error *err) {
    const ki_elector_failure last = elector->failure;
    bool is_lost_race =
        elector->phase != KI_ELECTOR_LEADS && (ki_error_is_conflict(err) || ki_error_is_already_exists(err));
    elector->failure = (ki_elector_failure){ what, err ? err->code : KI_OK, err ? err->http_status : 0 };
    bool is_new =
        last.what != what || last.code != elector->failure.code || last.http_status != elector->failure.http_status;
    log_line(elector, is_new && !is_lost_race ? KI_LOG_WARNING : KI_LOG_DEBUG, what, err);
    try_again(elector);
}

static void finish(ki_elector *elector) {
    KI_ASSERT(elector->request.step == KI_ELECTOR_IDLE && !elector->request.pending);
    set_phase(elector, KI_ELECTOR_STOPPED);
    ki_component_stopped(&elector->component);
}

/* Returns true for a failure that a later try may not meet: a conflict, a server that is away, lack of memory. */
static bool may_pass(const ki_error *err) {
    return err->category != KI_CATEGORY_CREDENTIALS && err->category != KI_CATEGORY_REQUEST;
}

/* Tries to release again, later each time, until the renew deadline. A conflict is most likely with the last renewal:
 * the stop cancelled it, but it arrived. */
static void release_failed(ki_elector *elector, const ki_error *err) {
    KI_ASSERT(elector->phase == KI_ELECTOR_RELEASES && elector->request.step == KI_ELECTOR_IDLE);
    int64_t delay = elector->release.delay, now = ki_engine_now(elector->engine);
    if (err->retry_after_ms > delay / KI_MILLISECONDS(1))
        delay = KI_MILLISECONDS(err->retry_after_ms);
    if (err->code == KI_ERR_CANCELLED) { /* by a second signal */
        log_line(elector, KI_LOG_INFO, "not released, because the engine was stopped: the Lease expires", NULL);
        finish(elector);
    } else if (!may_pass(err) || delay >= elector->release.until - now) {
        log_line(elector, KI_LOG_WARNING, "cannot release the Lease", err);
        finish(elector);
    } else {
        log_line(elector, KI_LOG_DEBUG, "cannot release the Lease yet", err);
        elector->release.delay = delay < elector->given.retry_ns / 2 ? 2 * delay : elector->given.retry_ns;
        ki_timer_set(&elector->retry_timer, now + delay);
    }
}

/* --- responses ---------------------------------------------------------------------------------------------------- */

/* Reads the Lease of a response. */
static ki_status lease_of(const ki_elector *elector, const ki_response *response, ki_lease *ret_lease, ki_error *err) {
    size_t size;
    const char *body = ki_response_body(response, &size);
    return ki_lease_read(elector->allocator, (ki_str){ body, size }, ret_lease, err);
}

static void send_write(ki_elector *elector, ki_elector_step step);

static void on_written(ki_elector *elector, const ki_response *response) {
    ki_lease lease;
    ki_error err = KI_ERROR_INIT;
    int64_t sent_at = elector->request.sent_at;
    if (lease_of(elector, response, &lease, &err)) {
        attempt_failed(elector, "wrote the Lease, but cannot read the response", &err);
        return;
    }
    observe(elector, &lease);
    if (!is_own(elector, &elector->seen.lease)) {
        attempt_failed(elector, "the server stored another holder than the request's", NULL);
        return;
    }
    if (elector->phase == KI_ELECTOR_LEADS || ki_engine_clock(elector->engine) < sent_at + elector->given.renew_ns)
        lead(elector, sent_at);
    attempt_succeeded(elector);
}

/* Returns true if the last seen Lease has no holder, or its holder did not renew it for `duration`. */
static bool is_free(const ki_elector *elector, int64_t duration) {
    return elector->seen.lease.record.holder.size == 0 || ki_engine_now(elector->engine) - elector->seen.at >= duration;
}

/* Returns how long a deleted Lease still belongs to its last holder. */
static int64_t duration_after_deletion(const ki_elector *elector) {
    int64_t duration = KI_SECONDS(elector->seen.lease.record.duration_s);
    bool is_meant = duration <= MEANT_MAX || duration <= elector->given.lease_ns;
    return is_meant ? duration : elector->given.lease_ns;
}

static void on_read(ki_elector *elector, const ki_response *response) {
    ki_lease lease;
    ki_error err = KI_ERROR_INIT;
    if (lease_of(elector, response, &lease, &err)) {
        attempt_failed(elector, "cannot read the Lease", &err);
        return;
    }
    observe(elector, &lease);
    if (is_own(elector, &elector->seen.lease)) {
        atomic_fetch_add(&elector->slow_paths, 1);
        send_write(elector, KI_ELECTOR_UPDATES);
    } else if (is_free(elector, KI_SECONDS(elector->seen.lease.record.duration_s))) {
        send_write(elector, KI_ELECTOR_UPDATES);
    } else {
        attempt_succeeded(elector);
    }
}

/* Creates the Lease if this process was the last holder, or if that holder's lease duration has elapsed: until then the
 * holder may still work. */
static void on_not_found(ki_elector *elector) {
    if (is_own(elector, &elector->seen.lease) || is_free(elector, duration_after_deletion(elector)))
        send_write(elector, KI_ELECTOR_CREATES);
    else
        attempt_succeeded(elector);
}

static void on_read_to_release(ki_elector *elector, const ki_response *response) {
    ki_lease lease;
    ki_error err = KI_ERROR_INIT;
    if (lease_of(elector, response, &lease, &err)) {
        release_failed(elector, &err);
        return;
    }
    observe(elector, &lease);
    if (is_own(elector, &elector->seen.lease))
        send_write(elector, KI_ELECTOR_WRITES_TO_RELEASE);
    else
        finish(elector);
}

static void on_released(ki_elector *elector, const ki_response *response) {
    KI_ASSERT(elector->phase == KI_ELECTOR_RELEASES);
    ki_lease lease;
    log_line(elector, KI_LOG_INFO, "released the Lease", NULL);
    if (!lease_of(elector, response, &lease, NULL))
        observe(elector, &lease);
    finish(elector);
}

static void on_success(ki_elector *elector, ki_elector_step step, const ki_response *response) {
    switch (step) {
    case KI_ELECTOR_IDLE:
        break;
    case KI_ELECTOR_RENEWS:
    case KI_ELECTOR_CREATES:
    case KI_ELECTOR_UPDATES:
        on_written(elector, response);
        break;
    case KI_ELECTOR_READS:
        on_read(elector, response);
        break;
    case KI_ELECTOR_READS_TO_RELEASE:
        on_read_to_release(elector, response);
        break;
    case KI_ELECTOR_WRITES_TO_RELEASE:
        on_released(elector, response);
        break;
    }
}

static void on_failure(ki_elector *elector, ki_elector_step step, const ki_error *err) {
    switch (step) {
    case KI_ELECTOR_IDLE:
        break;
    case KI_ELECTOR_RENEWS:
        log_line(elector, KI_LOG_DEBUG, "cannot update the Lease as last seen, reading it again", err);
        send_read(elector, KI_ELECTOR_READS);
        break;
    case KI_ELECTOR_READS:
        if (ki_error_is_not_found(err))
            on_not_found(elector);
        else
            attempt_failed(elector, "cannot read the Lease", err);
        break;
    case KI_ELECTOR_CREATES:
    case KI_ELECTOR_UPDATES:
        attempt_failed(elector, "cannot write the Lease", err);
        break;
    case KI_ELECTOR_READS_TO_RELEASE:
    case KI_ELECTOR_WRITES_TO_RELEASE:
        if (ki_error_is_not_found(err)) /* deleted: nobody holds it */
            finish(elector);
        else
            release_failed(elector, err);
        break;
    }
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    ki_elector *elector = user;
    ki_elector_step step = elector->request.step;
    ki_pending_request *pending = elector->request.pending;
    if (step == KI_ELECTOR_IDLE)
        return; /* cancelled by abandon_request */
    KI_ASSERT(can_request(elector->phase, step));
    elector->request.step = KI_ELECTOR_IDLE;
    elector->request.pending = NULL;
    if (err)
        on_failure(elector, step, err);
    else
        on_success(elector, step, response);
    ki_pending_request_free(pending);
}

/* Cancels the request. The server may have received the request, or may still receive it. */
static void abandon_request(ki_elector *elector) {
    ki_pending_request *pending = elector->request.pending;
    elector->request.step = KI_ELECTOR_IDLE;
    elector->request.pending = NULL;
    if (pending)
        ki_pending_request_end_cancelled(pending);
    ki_pending_request_free(pending);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Returns a request's time limit: the time left, at most half of the renew deadline, so that a hanging request leaves
 * time for another one. */
static int64_t time_left_ms(const ki_elector *elector) {
    int64_t most = elector->given.renew_ns / 2, left = most, now = ki_engine_now(elector->engine);
    if (elector->phase == KI_ELECTOR_LEADS)
        left = ki_terms_until(elector->terms) - now;
    else if (elector->phase == KI_ELECTOR_RELEASES)
        left = elector->release.until - now;
    return (left < most ? left : most) / KI_MILLISECONDS(1);
}

static ki_status send_request(ki_elector *elector, ki_elector_step step, ki_client_request *request, ki_error *err) {
    KI_ON_LOOP(elector->engine);
    KI_ASSERT(elector->request.step == KI_ELECTOR_IDLE && can_request(elector->phase, step));
    int64_t timeout_ms = time_left_ms(elector);
    if (timeout_ms <= 0)
        return ki_error_set(err, KI_ERR_TIMEOUT, "no time is left for a request");
    const ki_request_options options = KI_REQUEST_OPTIONS(.timeout_ms = timeout_ms);
    request->resource = KI_LEASES;
    request->namespace_name = elector->given.namespace_name;
    request->options = &options;
    elector->request.sent_at = ki_engine_now(elector->engine);
    elector->request.step = step;
    ki_status status = ki_pending_request_start(elector->client, request, KI_REQUEST_INTERNAL, KI_LEASE_BYTES_MAX,
                                                on_response, elector, &elector->request.pending, err);
    if (status)
        elector->request.step = KI_ELECTOR_IDLE;
    return status;
}

static void not_sent(ki_elector *elector, const ki_error *err) {
    if (elector->phase == KI_ELECTOR_RELEASES)
        release_failed(elector, err);
    else
        attempt_failed(elector, "cannot send a request", err);
}

static void send_read(ki_elector *elector, ki_elector_step step) {
    ki_error err = KI_ERROR_INIT;
    ki_client_request request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .name = elector->given.name);
    if (send_request(elector, step, &request, &err))
        not_sent(elector, &err);
}

/* Returns true if the write makes this process the new holder. */
static bool takes_the_lease(const ki_elector *elector, ki_elector_step step) {
    return step == KI_ELECTOR_CREATES || (step == KI_ELECTOR_UPDATES && !is_own(elector, &elector->seen.lease));
}

/* Returns the spec to write. `now` is the time as text. leaseTransitions is never below the highest value seen, since
 * the Lease may have been deleted or edited. */
static ki_lease_record next_record(const ki_elector *elector, ki_elector_step step, ki_str now) {
    const ki_lease_record *last = &elector->seen.lease.record;
    ki_lease_record next = {
        .holder = ki_str_of(elector->given.identity),
        .duration_s = (elector->given.lease_ns + KI_SECONDS(1) - 1) / KI_SECONDS(1),
        .transitions = elector->seen.most_transitions,
        .acquire_time = now,
        .renew_time = now,
    };
    if (step == KI_ELECTOR_WRITES_TO_RELEASE) {
        next.holder = (ki_str){ NULL, 0 };
        next.duration_s = 1;
        return next;
    }
    if (takes_the_lease(elector, step))
        next.transitions++;
    else if (last->acquire_time.size)
        next.acquire_time = last->acquire_time;
    return next;
}

static ki_status write_body(ki_elector *elector, ki_elector_step step, char **ret_json, size_t *ret_size,
                            ki_error *err) {
    char text[KI_RFC3339_SIZE];
    const ki_lease_place place = { elector->given.namespace_name, elector->given.name };
    int64_t wall_us = ki_engine_wall_now(elector->engine) / NANOSECONDS_OF_MICROSECOND;
    elector->wall_us = wall_us > elector->wall_us ? wall_us : elector->wall_us + 1;
    ki_rfc3339_micros(elector->wall_us * NANOSECONDS_OF_MICROSECOND, text);
    const ki_lease_record record = next_record(elector, step, ki_str_of(text));
    const ki_lease *base = step == KI_ELECTOR_CREATES ? NULL : &elector->seen.lease;
    return ki_lease_write(elector->allocator, &place, base, &record, ret_json, ret_size, err);
}

static void send_write(ki_elector *elector, ki_elector_step step) {
    ki_error err = KI_ERROR_INIT;
    char *json = NULL;
    ki_client_request request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, .name = elector->given.name);
    if (takes_the_lease(elector, step) && elector->seen.most_transitions == INT32_MAX) {
        attempt_failed(elector,
                       "cannot take the Lease: its leaseTransitions is 2147483647, and a higher fencing token does not "
                       "exist; delete the Lease and restart all candidates",
                       NULL);
        return;
    }
    if (step == KI_ELECTOR_CREATES) {
        request.verb = KI_CLIENT_CREATE;
        request.name = NULL;
    }
    ki_status status = write_body(elector, step, &json, &request.body_size, &err);
    request.body = json;
    if (!status)
        status = send_request(elector, step, &request, &err);
    ki_free(elector->allocator, json);
    if (status)
        not_sent(elector, &err);
}

/* --- start, stop -------------------------------------------------------------------------------------------------- */

void ki_election_try(ki_timer *timer, void *user) {
    (void)timer;
    ki_elector *elector = user;
    KI_ASSERT(elector->request.step == KI_ELECTOR_IDLE);
    bool is_late = elector->phase == KI_ELECTOR_LEADS && time_left_ms(elector) <= 0; /* ki_election_expire follows */
    if (is_late)
        return;
    if (elector->phase == KI_ELECTOR_LEADS)
        send_write(elector, KI_ELECTOR_RENEWS);
    else
        send_read(elector, elector->phase == KI_ELECTOR_RELEASES ? KI_ELECTOR_READS_TO_RELEASE : KI_ELECTOR_READS);
}

void ki_election_expire(ki_timer *timer, void *user) {
    (void)timer;
    ki_elector *elector = user;
    KI_ASSERT(elector->phase == KI_ELECTOR_LEADS);
    ki_timer_cancel(&elector->retry_timer);
    abandon_request(elector);
    stop_leading(elector, KI_ELECTOR_COMPETES, "the renew deadline has passed: stopped leading");
    try_again(elector);
}

void ki_election_start(ki_component *component) {
    ki_elector *elector = (ki_elector *)(void *)component;
    if (elector->phase != KI_ELECTOR_NEW)
        return;
    set_phase(elector, KI_ELECTOR_COMPETES);
    send_read(elector, KI_ELECTOR_READS);
}

/* Cancels the retry timer and the request, enters phase `next`, and calls the program's callbacks. */
static void end(ki_elector *elector, ki_elector_phase next) {
    KI_ON_LOOP(elector->engine);
    KI_ASSERT(next == KI_ELECTOR_RELEASES || next == KI_ELECTOR_STOPPED);
    ki_elector_phase phase = elector->phase;
    ki_timer_cancel(&elector->retry_timer);
    abandon_request(elector);
    elector->phase = next;
    if (phase == KI_ELECTOR_LEADS)
        stop_leading(elector, next, "the elector was stopped: stopped leading");
    else if (phase == KI_ELECTOR_RELEASES)
        log_line(elector, KI_LOG_WARNING, "not released in time: the Lease expires", NULL);
    else if (phase == KI_ELECTOR_COMPETES && !elector->has_led)
        call_stopped(elector);
}

/* Stops the elector. May release the Lease even as a candidate: a cancelled create or update may have reached the
 * server. Never releases it while work runs that began as the leader: the Lease then runs out. */
void ki_election_stop(ki_component *component) {
    KI_ON_LOOP(((ki_elector *)(void *)component)->engine);
    ki_elector *elector = (ki_elector *)(void *)component;
    bool may_hold = elector->request.step == KI_ELECTOR_CREATES || elector->request.step == KI_ELECTOR_UPDATES ||
                    is_own(elector, &elector->seen.lease);
    if (elector->phase == KI_ELECTOR_RELEASES || elector->phase == KI_ELECTOR_STOPPED)
        return;
    bool releases = elector->given.is_releasing_on_stop && may_hold;
    end(elector, releases ? KI_ELECTOR_RELEASES : KI_ELECTOR_STOPPED);
    if (releases && is_any_busy(elector)) {
        log_line(elector, KI_LOG_WARNING, "not released, because a reconcile still runs: the Lease expires", NULL);
        releases = false;
    }
    if (!releases) {
        finish(elector);
        return;
    }
    elector->release.until = ki_engine_now(elector->engine) + elector->given.renew_ns;
    elector->release.delay = elector->given.retry_ns / RELEASE_DELAYS;
    send_read(elector, KI_ELECTOR_READS_TO_RELEASE);
}

void ki_election_cut_off(ki_component *component) {
    ki_elector *elector = (ki_elector *)(void *)component;
    end(elector, KI_ELECTOR_STOPPED);
}

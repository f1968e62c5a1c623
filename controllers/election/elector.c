/* elector.c: creates and frees an elector; functions for any thread. The work on the loop is in election.c. */
#include "controllers/election/elector_parts.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <string.h>

#define STOP_TIMEOUT KI_SECONDS(1) /* for an elector that does not release its Lease: its stop waits for nothing */

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static void stop_task(ki_task *task, void *user) {
    (void)task;
    ki_elector *elector = user;
    ki_election_stop(&elector->component);
}

static void set_up_on_loop(void *user) {
    ki_elector *elector = user;
    ki_timer_init(&elector->retry_timer, elector->engine, ki_election_try, elector);
    ki_timer_init(&elector->lead_timer, elector->engine, ki_election_expire, elector);
}

static void tear_down_on_loop(void *user) {
    ki_elector *elector = user;
    ki_election_cut_off(&elector->component);
    ki_task_cancel(&elector->stop_task);
    ki_timer_close(&elector->retry_timer);
    ki_timer_close(&elector->lead_timer);
    elector->is_freed = true;
    if (!elector->hooks)
        ki_elector_release(elector);
}

void ki_elector_release(ki_elector *elector) {
    KI_ASSERT(!elector->hooks && elector->is_freed && !elector->request.pending);
    ki_terms_close(elector->terms);
    ki_mutex_destroy(&elector->mutex);
    ki_lease_clear(&elector->seen.lease);
    ki_free(elector->allocator, elector->given.namespace_name);
    ki_free(elector->allocator, elector->given.name);
    ki_free(elector->allocator, elector->given.identity);
    ki_free(elector->allocator, elector);
}

static ki_status fill(ki_elector *elector, const ki_elector_options *given, ki_error *err) {
    ki_status status = ki_elector_set_names(elector, given, err);
    if (status)
        return status;
    elector->terms = ki_terms_new(elector->engine);
    if (!elector->terms)
        return ki_error_no_memory(err, "making an elector");
    ki_engine_call(elector->engine, set_up_on_loop, elector);
    return ki_factory_add_component(elector->factory, &elector->component, err);
}

static ki_elector *make(ki_factory *factory, const ki_elector_options *given) {
    ki_engine *engine = ki_factory_engine(factory);
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_elector *elector = ki_alloc_zero(allocator, sizeof *elector);
    if (!elector)
        return NULL;
    elector->factory = factory;
    elector->engine = engine;
    elector->client = ki_factory_client(factory);
    elector->allocator = allocator;
    elector->given.lease_ns = KI_MILLISECONDS(given->lease_duration_ms);
    elector->given.renew_ns = KI_MILLISECONDS(given->renew_deadline_ms);
    elector->given.retry_ns = KI_MILLISECONDS(given->retry_period_ms);
    elector->given.is_releasing_on_stop = given->release_on_stop;
    elector->callbacks = given->callbacks;
    elector->user = given->user;
    elector->seen.most_transitions = -1;
    ki_task_init(&elector->stop_task, engine, stop_task, elector);
    elector->component = (ki_component){
        .order = KI_COMPONENT_SERVICE,
        .stop_timeout_ns = given->release_on_stop ? elector->given.renew_ns : STOP_TIMEOUT,
        .start = ki_election_start,
        .stop = ki_election_stop,
        .cut_off = ki_election_cut_off,
        .visit_metrics = ki_elector_visit_metrics,
    };
    return elector;
}

/* Ends the elector's work. The memory stays until the last hook is removed: a controller freed inside a reconcile
 * removes its hook later. */
static void destroy(ki_elector *elector) {
    ki_engine_call(elector->engine, tear_down_on_loop, elector);
}

ki_status ki_elector_new(ki_factory *factory, const ki_elector_options *options, ki_elector **ret_elector,
                         ki_error *err) {
    ki_elector_options given;
    if (!factory || !options || !ret_elector)
        return ki_error_set(err, KI_ERR_INVALID, "ki_elector_new: factory, options or ret_elector is NULL");
    if (ki_engine_check_process(ki_factory_engine(factory), err))
        return KI_ERR_STATE;
    ki_status status = ki_elector_take_options(options, &given, err);
    if (status)
        return status;
    ki_elector *elector = make(factory, &given);
    if (!elector)
        return ki_error_no_memory(err, "making an elector");
    status = ki_mutex_init(&elector->mutex, err);
    if (status) {
        ki_free(elector->allocator, elector);
        return status;
    }
    status = fill(elector, &given, err);
    if (status) {
        destroy(elector);
        return status;
    }
    *ret_elector = elector;
    return KI_OK;
}

void ki_elector_free(ki_elector *elector) {
    if (!elector || ki_engine_is_forked(elector->engine))
        return;
    ki_component_remove(&elector->component);
    destroy(elector);
}

void ki_elector_stop(ki_elector *elector) {
    if (elector && !ki_engine_is_forked(elector->engine))
        ki_task_post(&elector->stop_task);
}

ki_engine *ki_elector_engine(const ki_elector *elector) {
    return elector->engine;
}

ki_term ki_elector_term(const ki_elector *elector) {
    return ki_terms_current(elector->terms);
}

bool ki_elector_is_leader(const ki_elector *elector) {
    if (ki_engine_is_forked(elector->engine))
        return false;
    const ki_term term = ki_elector_term(elector);
    return ki_term_lasts(&term);
}

/* Reads again if the token changes meanwhile. A new term's token is stored before ki_elector_is_leader returns true for
 * the term. */
int64_t ki_elector_fencing_token(const ki_elector *elector) {
    int64_t token;
    bool leads;
    do {
        token = atomic_load(&elector->token);
        leads = ki_elector_is_leader(elector);
    } while (token != atomic_load(&elector->token));
    return leads ? token : -1;
}

void ki_elector_leader(const ki_elector *elector, char *ret_identity, size_t size) {
    ki_elector *locked;
    memcpy(&locked, &elector, sizeof locked); /* locking needs a non-const pointer */
    if (size == 0)
        return;
    ret_identity[0] = '\0';
    if (ki_engine_is_forked(elector->engine))
        return;
    ki_mutex_lock(&locked->mutex);
    ki_str holder = locked->seen.lease.record.holder;
    size_t length = holder.size < size - 1 ? holder.size : size - 1;
    if (length)
        memcpy(ret_identity, holder.data, length);
    ret_identity[length] = '\0';
    ki_mutex_unlock(&locked->mutex);
}

ki_status ki_elector_check(const ki_elector *elector, int64_t tolerance_ms, ki_error *err) {
    if (!elector)
        return ki_error_missing(err, "ki_elector_check");
    if (ki_engine_check_process(elector->engine, err))
        return KI_ERR_STATE;
    int64_t until = ki_terms_until(elector->terms);
    if (until == KI_TERM_NONE)
        return KI_OK;
    int64_t late = ki_engine_clock(elector->engine) - (until - elector->given.renew_ns) - elector->given.lease_ns;
    if (late / KI_MILLISECONDS(1) <= tolerance_ms)
        return KI_OK;
    return ki_error_set(err, KI_ERR_TIMEOUT, "the lease %s/%s expired %lld ms ago, and the loop is blocked",
                        elector->given.namespace_name, elector->given.name, (long long)(late / KI_MILLISECONDS(1)));
}

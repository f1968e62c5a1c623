/* term.c: see term.h. */
#include "src/client/term.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"

#include <stddef.h>

static _Thread_local const ki_term *of_thread;

/* --- terms -------------------------------------------------------------------------------------------------------- */

static void unlist(ki_term_place *place) {
    KI_ON_LOOP(place->term.terms->engine);
    KI_LIST_REMOVE(place->term.terms->first, place);
}

static void end_next(ki_task *task, void *user) {
    ki_terms *terms = user;
    KI_ON_LOOP(terms->engine);
    ki_term_place *place = terms->first;
    if (!place || place->term.number == atomic_load(&terms->ended))
        return;
    ki_task_post(task);
    unlist(place);
    place->ended(place->user);
}

static void unref(ki_terms *terms) {
    if (ki_refcount_dec(&terms->refs))
        ki_free(terms->allocator, terms);
}

ki_terms *ki_terms_new(ki_engine *engine) {
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_terms *terms = ki_alloc_zero(allocator, sizeof *terms);
    if (!terms)
        return NULL;
    ki_refcount_init(&terms->refs);
    terms->engine = engine;
    terms->allocator = allocator;
    atomic_init(&terms->until, KI_TERM_NONE);
    ki_task_init(&terms->task, engine, end_next, terms);
    return terms;
}

void ki_terms_close(ki_terms *terms) {
    if (!terms)
        return;
    ki_terms_end(terms);
    ki_task_cancel(&terms->task);
    unref(terms);
}

void ki_terms_extend(ki_terms *terms, int64_t until) {
    KI_ASSERT(until != KI_TERM_NONE);
    atomic_store(&terms->until, until);
}

void ki_terms_end(ki_terms *terms) {
    atomic_store(&terms->until, KI_TERM_NONE);
    atomic_fetch_add(&terms->ended, 1);
    ki_task_post(&terms->task);
}

int64_t ki_terms_until(const ki_terms *terms) {
    return atomic_load(&terms->until);
}

ki_term ki_terms_current(ki_terms *terms) {
    return (ki_term){ .terms = terms, .number = atomic_load(&terms->ended) };
}

/* --- one term ----------------------------------------------------------------------------------------------------- */

bool ki_term_lasts(const ki_term *term) {
    if (!term || !term->terms)
        return true;
    int64_t until = atomic_load(&term->terms->until);
    return term->number == atomic_load(&term->terms->ended) && until != KI_TERM_NONE &&
           ki_engine_clock(term->terms->engine) < until;
}

bool ki_term_fits(const ki_term *term, const ki_engine *engine) {
    return !term->terms || term->terms->engine == engine;
}

const ki_term *ki_term_swap(const ki_term *term) {
    const ki_term *before = of_thread;
    of_thread = term;
    return before;
}

const ki_term *ki_term_of_thread(const ki_engine *engine) {
    return of_thread && ki_term_fits(of_thread, engine) ? of_thread : NULL;
}

/* --- a request's place -------------------------------------------------------------------------------------------- */

void ki_term_join(ki_term_place *place, const ki_term *term, const ki_engine *engine) {
    KI_ASSERT(!place->term.terms && !KI_LIST_HAS(place));
    if (!term)
        return;
    place->term = *term;
    if (term->terms)
        ki_refcount_inc(&term->terms->refs);
    if (term->log && term->log->engine == engine)
        ki_refcount_inc(&term->log->refs);
    else
        place->term.log = NULL;
}

void ki_term_watch(ki_term_place *place, void (*ended)(void *user), void *user) {
    ki_terms *terms = place->term.terms;
    if (!terms)
        return;
    KI_ON_LOOP(terms->engine);
    place->ended = ended;
    place->user = user;
    KI_LIST_APPEND(terms->first, place);
}

void ki_term_leave(ki_term_place *place) {
    if (KI_LIST_HAS(place))
        unlist(place);
    if (place->term.terms)
        unref(place->term.terms);
    ki_write_log_unref(place->term.log);
    place->term = (ki_term){ .terms = NULL };
}

/* --- the log of writes -------------------------------------------------------------------------------------------- */

void ki_write_log_unref(ki_write_log *log) {
    if (log && ki_refcount_dec(&log->refs))
        log->free(log);
}

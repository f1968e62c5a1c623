/* sampler.h: takes a sample of the factory every 10 s, by a call on the loop, and so notices a loop that does not
 * run. */
#ifndef KI_STATUS_SAMPLER_H
#define KI_STATUS_SAMPLER_H

#include "status/history.h"

typedef struct ki_sampler {
    /* ---- constant ---- */
    const ki_allocator *allocator;
    ki_factory *factory;
    ki_engine *engine;
    void (*collect)(ki_sample_visitor visit, void *visit_user, void *user); /* NULL: none */
    void *user;
    void (*tick)(void *tick_user); /* also called on the loop with each sample; NULL: none */
    void *tick_user;

    ki_history history; /* has a lock of its own */

    ki_mutex mutex; /* guards all below */
    ki_cond ended;
    bool is_posted; /* a call is queued, or runs */
    bool is_stopping;
    uint64_t post;    /* of the queued call */
    bool has_sampled; /* the loop has run */
    int64_t due_ns;   /* of the next sample, once the loop has run */
} ki_sampler;

/* Begins to sample. The caller has set the constant members. Errors: KI_ERR_STATE (the engine is stopped),
 * KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
ki_status ki_sampler_start(ki_sampler *sampler, ki_error *err);
/* Posts the next call again, if that failed for lack of memory. Any thread. */
void ki_sampler_check(ki_sampler *sampler);
/* Returns the seconds for which the loop has not run, if they are more than KI_SAMPLER_LATE_S; else 0. 0 also before
 * the loop has run. Any thread. */
double ki_sampler_late_s(ki_sampler *sampler);
/* Ends sampling and frees the history. Waits for a sample that is being taken. Any thread. */
void ki_sampler_stop(ki_sampler *sampler);

enum {
    KI_SAMPLER_LATE_S = 30
};

#endif

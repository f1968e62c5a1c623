/* term.h: terms of leadership, as requests see them. A request that belongs to a term is sent only while the term
 * lasts, and ends with the term. An elector begins, extends and ends its terms; a controller names the term of its
 * reconciles, and logs what the requests of each have written. */
#ifndef KI_CLIENT_TERM_H
#define KI_CLIENT_TERM_H

#include <kinformer/client.h>

#include "src/base/internal_api.h"
#include "src/base/refcount.h"
#include "src/engine/engine.h"

typedef struct ki_term_place ki_term_place;

/* The terms of one elector, one after the other. Shared by the elector and the requests. */
typedef struct ki_terms {
    ki_refcount refs;
    ki_engine *engine;
    const ki_allocator *allocator;
    _Atomic uint64_t ended; /* ended terms: the number of the current or next one */
    _Atomic int64_t until;  /* ki_engine_clock: the current term's end if nothing extends it; KI_TERM_NONE: no term */
    /* loop only */
    ki_term_place *first; /* waiting requests, those of earlier terms first */
    ki_task task;         /* ends the requests of ended terms, one at a time */
} ki_terms;

#define KI_TERM_NONE INT64_MIN

/* The writes of one reconcile. Shared by the reconcile and its requests. */
typedef struct ki_write ki_write;
typedef struct ki_write_log ki_write_log;
struct ki_write_log {
    ki_refcount refs;
    const ki_engine *engine; /* of the clients whose requests are logged */
    /* A request begins. Returns what `ended` is called with once; NULL: the request is not logged. Any thread. */
    ki_write *(*begin)(ki_write_log *log, const ki_client *client, const ki_client_request *request,
                       const ki_request_options *options);
    /* The request has ended. `response` NULL: without success. Loop; or the thread that began the request, if it was
     * never posted. */
    void (*ended)(ki_write *write, const ki_response *response);
    void (*free)(ki_write_log *log); /* after the last reference. Any thread */
};

struct ki_term {
    ki_terms *terms; /* NULL: no term: it always lasts */
    uint64_t number;
    ki_write_log *log; /* NULL: none */
};

/* A request's place in its term; embedded in the request. A zeroed place belongs to no term. Has a reference to the
 * terms and to the log. */
struct ki_term_place {
    ki_term term;
    ki_term_place *next, *previous;
    void (*ended)(void *user);
    void *user;
};

/* NULL: no memory. */
KI_INTERNAL_API ki_terms *ki_terms_new(ki_engine *engine);
/* Ends the current term. Requests end from now on when they would be sent. The caller's reference is released. NULL:
 * does nothing. Loop only. */
KI_INTERNAL_API void ki_terms_close(ki_terms *terms);
/* Begins a term, or extends the current one, until `until` of ki_engine_clock. Loop only. */
KI_INTERNAL_API void ki_terms_extend(ki_terms *terms, int64_t until);
/* Ends the current term: its requests end in later steps, none is sent any more. Loop only. */
KI_INTERNAL_API void ki_terms_end(ki_terms *terms);
/* Returns the end of the current term; KI_TERM_NONE between two terms. Any thread. */
KI_INTERNAL_API int64_t ki_terms_until(const ki_terms *terms);
/* Returns the current term; between two terms the next one. The caller's `terms` keeps it valid. Any thread. */
KI_INTERNAL_API ki_term ki_terms_current(ki_terms *terms);

/* Returns true while the term lasts. Reads the clock. NULL: true. Any thread. */
KI_INTERNAL_API bool ki_term_lasts(const ki_term *term);

/* Returns true if requests of a client of this engine can belong to the term. */
bool ki_term_fits(const ki_term *term, const ki_engine *engine);
/* Sets the term of the requests that the calling thread makes, and returns the one before; NULL: none. */
KI_INTERNAL_API const ki_term *ki_term_swap(const ki_term *term);
/* Returns the calling thread's term if it fits; else NULL. */
const ki_term *ki_term_of_thread(const ki_engine *engine);

/* Puts a request of a client of this engine into a term; NULL: into none. Any thread. */
void ki_term_join(ki_term_place *place, const ki_term *term, const ki_engine *engine);
/* From now on calls `ended` once if the term ends. Loop only. */
void ki_term_watch(ki_term_place *place, void (*ended)(void *user), void *user);
/* Takes the request out of its term; `ended` is not called any more. Loop only if it was watched. */
void ki_term_leave(ki_term_place *place);

/* Releases a reference. NULL is accepted. Any thread. */
KI_INTERNAL_API void ki_write_log_unref(ki_write_log *log);

#endif

/* fetches.h: a program that asks for single objects beside the caches (kinformer/fetch.h), and the oracle of what it is
 * told. */
#ifndef SIM_FETCHES_H
#define SIM_FETCHES_H

#include "sim/random.h"
#include "sim/truth.h"

#include <kinformer/informer.h>

#include <stddef.h>

typedef struct sim_exchange sim_exchange;

enum {
    SIM_FETCHES_MAX = 2048, /* of one incarnation of the client */
    SIM_GETS_MAX = 64,      /* remembered for each key */
    SIM_CACHED_MAX = 8      /* remembered for each question */
};

/* One question. */
typedef struct sim_fetch {
    sim_world *world;
    unsigned informer;
    uint32_t key;
    uint64_t cached; /* the cache's state at the question, whole; 0: none */
    /* The cache's last different states at ends of requests since the question; 0: none. The result of one request can
     * wait for its callback while others end. */
    uint64_t cached_later[SIM_CACHED_MAX];
    size_t next_cached;
    uint64_t version; /* the cache's resource version at the question; 0: none */
    uint64_t restores;
    int64_t asked_at, deadline; /* ns; INT64_MAX: none */
    bool was_blocked;           /* the informer, at the question: it remembers for longer */
    bool is_outwaited;          /* at the question, a request for the key had taken for as long as it may wait */
    bool is_cancelled, is_called;
    int64_t called_at; /* ns: when its callback was called */
    bool is_new;       /* no request that may be its own was sent since the question */
} sim_fetch;

/* A request for one object. */
typedef struct sim_get {
    uint64_t number;   /* of the exchange; 0: none */
    int64_t served_at; /* ns */
    int64_t ended_at;  /* ns; INT64_MAX: open */
    uint64_t restores; /* restores of the cluster before the response */
} sim_get;

typedef struct sim_fetches {
    sim_random random;
    sim_fetch fetches[SIM_FETCHES_MAX];
    size_t count;
    bool is_stopping;
    struct {
        uint32_t informers; /* bits of those that were asked */
        sim_get gets[SIM_GETS_MAX];
        size_t next_get;
        int64_t refused_at; /* ns: of the last error response that is a result; 0: none */
        int64_t failed_at;  /* ns: of the last request, if it certainly had no result; 0: none, or it had one */
        int64_t result_at;  /* ns: of the last request that can have had a result; 0: none */
    } keys[SIM_KEYS];
    int64_t failed_at;  /* ns: the last request that can have had no result, for any key; 0: none */
    uint32_t informers; /* bits of those that were asked for any key */
} sim_fetches;

/* Many ask at once, from now on for some seconds: a server has gone away. */
void sim_fetches_storm(sim_world *world);
/* Schedules the questions of the plan. */
void sim_fetches_start(sim_world *world);
/* Asks at random. For handlers. */
void sim_fetches_in_handler(sim_world *world);
/* Fails the run if an answer is overdue. Must be called when nothing is due. */
void sim_fetches_check(sim_world *world);
/* Returns true if all questions are answered. */
bool sim_fetches_are_answered(const sim_world *world);
/* To be called before and after the client stops. Each question must be answered in between. */
void sim_fetches_client_stops(sim_world *world);
void sim_fetches_client_stopped(sim_world *world);

/* Returns true for the target of a request for one object, and sets its key. */
bool sim_fetches_is_get(const char *target, uint32_t *ret_key);
/* Fails the run if the client may not send this request now. */
void sim_fetches_check_request(const sim_exchange *exchange);
/* Returns true if the request can be the first one since an informer was asked: it is no retry. Takes the informer's
 * new questions away, so that the next request needs another question. Which informer sends a request is not known: it
 * is the one whose question is the oldest. */
bool sim_fetches_take_new(const sim_exchange *exchange);
/* Returns true if one informer alone was asked for the request's key. */
bool sim_fetches_are_of_one(const sim_exchange *exchange);
/* Records that a request was not sent, for lack of a descriptor. */
void sim_fetches_note_unsent(sim_world *world, uint32_t key);
/* Record that a request reached the server, the status of its response, and its end. */
void sim_fetches_note_served(const sim_exchange *exchange);
void sim_fetches_note_status(const sim_exchange *exchange);
void sim_fetches_note_end(const sim_exchange *exchange, bool is_cancelled);

#endif

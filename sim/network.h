/* network.h: what lies between the client's transport and the servers: latency, chunks, cuts, silence, and answers that no
 * server gave. A connection is one request and its answer. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "sim/fault.h"
#include "sim/frame.h"
#include "src/base/buffer.h"
#include "testing/memory/transport.h"
#include "testing/rest/rest.h"

typedef struct sim_world sim_world;
typedef struct sim_connection sim_connection;

enum {
    SIM_MAX_LINES = 2 * 3, /* an informer's, and its consistency check's */
    SIM_MAX_ARMED = 16,
    SIM_MAX_CARRIERS = 64,
    SIM_MOST_STREAMS = 100, /* of one carrier */
    SIM_RATE_WINDOW = 64
};

/* The requests of one informer, or of its consistency check. */
typedef struct sim_line {
    int64_t asked_at[SIM_RATE_WINDOW]; /* a ring: the last requests */
    uint64_t asked;
    int64_t not_before;               /* a Retry-After: no request may come earlier */
    bool resumes;                     /* a watch of it fell silent: the next request is to be a watch */
    uint64_t accepted, short_watches; /* watches, without streaming lists */
    unsigned wordless;                /* consecutive ended watches without an event */
    int64_t word_at;                  /* the time of the last event, list or check */
    /* The same without events behind an unreadable one: the client can end the watch before it reads them. */
    unsigned wordless_most;
    int64_t sure_word_at;
    bool is_doubtful;   /* what comes next must not be a watch */
    bool has_bad;       /* an event could not be read, and no watch without one has told anything since */
    char *saved_page;   /* what follows an empty page; NULL: nothing */
    uint32_t announced; /* 1 + the key of the last event that was delivered after its bookmark; 0: none */
    int64_t
        announced_at; /* and when: the client may have read the bookmark, and the event not yet, or not be able to */
} sim_line;

/* A fault that waits for the requests that it is about. */
typedef struct sim_armed {
    sim_fault_kind kind;
    int64_t until;
    unsigned count; /* requests that it still hits */
    uint64_t detail;
} sim_armed;

/* A connection of the transport's, which carries the requests to one server: what the network does to it, all of them feel. */
typedef struct sim_carrier {
    unsigned server;
    unsigned streams; /* requests on it; 0: it is closed */
    bool is_silent;
    bool is_retired; /* nothing new goes on it */
} sim_carrier;

typedef struct sim_network {
    sim_world *world;
    kt_memory_server server;
    sim_random random;
    sim_connection *first;
    sim_line lines[SIM_MAX_LINES];
    sim_armed armed[SIM_MAX_ARMED];
    size_t armed_count;
    int64_t gone_until; /* the type of the objects is not there */
    int64_t slow_until, small_until, laggard_until, no_descriptors_until, few_streams_until;
    sim_carrier carriers[SIM_MAX_CARRIERS];
} sim_network;

/* The changes of a response on its way. */
typedef struct sim_connection {
    sim_world *world;
    sim_connection *next, *previous;
    kt_memory_call *call; /* NULL: over for the client */
    sim_line *line;
    sim_carrier *carrier; /* NULL: it has left it */
    unsigned informer;
    bool is_audit;
    unsigned server;
    uint64_t number;
    char *target;
    bool is_watch, is_stream, is_continuation, is_consistent, is_limited;
    bool is_check;     /* a list of one object: does the server know the version? */
    uint64_t revision; /* asked for; 0: none or "0" */
    int64_t latency;
    size_t chunk; /* bytes at most; 0: no limit */
    /* the answer */
    kt_response response;
    bool has_response, has_head, is_ended; /* ended: no more will be added to `out` */
    int status;
    int retry_after_s;
    ki_buffer out;
    size_t sent;
    sim_arrivals arrivals;
    int64_t deadline;     /* the agenda has one for it; INT64_MAX: not */
    int64_t last_at;      /* nothing arrives before what was sent earlier */
    bool pumps, delivers; /* an action of the agenda will */
    ki_status end;        /* how it ends once `out` is sent */
    /* faults */
    int64_t asked_at;
    bool is_silent;
    int64_t silent_since;
    int64_t cut_after; /* bytes; -1: never */
    bool is_unordered, has_no_end, in_initial;
    bool bookmark_ahead, lose_next, bad_next, huge_next;
    uint32_t
        ahead; /* 1 + the key of an event in `out` whose bookmark came before it: lost if this breaks now; 0: none */
    bool has_told_error; /* an ERROR event was delivered */
    ki_buffer held;      /* initial events that wait for being shuffled */
    unsigned actions;    /* of the agenda that know it */
} sim_connection;

void sim_network_make(sim_world *world);
/* Ends all without telling the client; after its transport is gone. */
void sim_network_free(sim_world *world);
/* The answer ends as if `status` (KI_OK: a clean close) had happened on the way, after what was sent already. */
void sim_connection_end(sim_connection *connection, ki_status status);
/* The server's cluster is about to go. */
void sim_network_drop_responses(sim_world *world);
void sim_network_arm(sim_world *world, sim_fault_kind kind, uint64_t detail, unsigned count, int64_t until);
void sim_network_disarm(sim_world *world);
/* Takes one count of an armed fault. */
bool sim_network_hits(sim_world *world, sim_fault_kind kind, uint64_t *ret_detail);
/* One that is open, by chance; `watch`: a watch only. NULL where there is none. */
sim_connection *sim_network_pick(sim_world *world, uint64_t detail, bool watch);
/* Whether a bookmark came before an event of this key that an open watch of the informer has not delivered yet, or that its client may not
 * have read. */
bool sim_network_owes(const sim_world *world, unsigned informer, uint32_t key);
/* Appends a frame to what the client gets. */
void sim_connection_append(sim_connection *connection, const char *text);
/* From now on nothing comes, on this connection and all that share its carrier. */
void sim_connection_silence(sim_connection *connection);
void sim_connection_wake(sim_connection *connection);
/* Something has arrived on a watch that is not from before it. */
void sim_line_hear_word(sim_connection *connection);
/* Forgets what it knows of the requests: another client begins. */
void sim_network_new_client(sim_world *world);

/* answer.c: what a request gets in place of the server's response. True: it was given one. */
bool sim_answer(sim_connection *connection);
/* tamper.c: a server's frames on their way into `out`. */
void sim_tamper_frames(sim_connection *connection, ki_buffer *frames);
void sim_tamper_list(sim_connection *connection);

#endif

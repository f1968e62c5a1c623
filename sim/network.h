/* network.h: the network between the client's transport and the servers: latency, chunks, cuts, silence, and responses
 * that no server sent. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "sim/fault.h"
#include "sim/frame.h"
#include "sim/truth.h"
#include "src/base/buffer.h"
#include "testing/memory/transport.h"
#include "testing/rest/rest.h"

typedef struct sim_world sim_world;
typedef struct sim_exchange sim_exchange;

/* Who sends requests for an informer. Each has its own Retry-After. */
typedef enum sim_sender {
    SIM_REFLECTOR, /* of a set of namespaces: SIM_REFLECTOR and the number of the namespace */
    SIM_CONSISTENCY_CHECK = SIM_REFLECTOR + SIM_NAMESPACES,
    SIM_NAMESPACE_LOOKUP,
    SIM_SENDERS
} sim_sender;

/* The number of a requester. Each request carries it as its content type (socket.c). */
enum {
    SIM_NO_REQUESTER = -1
};
static inline int sim_requester_number(unsigned informer, sim_sender sender) {
    return (int)informer * SIM_SENDERS + (int)sender;
}

/* The number of those who ask for one object (fetches.h), of whichever informer. */
static inline int sim_fetch_requester_number(uint32_t key) {
    return SIM_SLOTS_MAX * SIM_SENDERS + (int)key;
}

enum {
    SIM_REQUESTERS_MAX = SIM_SLOTS_MAX * SIM_SENDERS + SIM_KEYS, /* sim_fetch_requester_number */
    SIM_NO_INFORMER = SIM_SLOTS_MAX,
    SIM_PENDING_FAULTS_MAX = 16,
    SIM_CONNECTIONS_MAX = 64,
    SIM_STREAMS_MAX = 100, /* of one connection */
    SIM_RATE_WINDOW = 64   /* requests */
};

/* An informer, or its consistency check, as the network sees it: by its requests. */
typedef struct sim_requester {
    int64_t sent_at[SIM_RATE_WINDOW]; /* ns: the times of the last requests; a ring */
    uint64_t request_count;           /* without further pages of lists, and without first requests after a question */
    int64_t not_before;               /* ns: the end of the last Retry-After; no request may come earlier */
    bool must_resume;                 /* its watch was silent: the next request must be a watch */
    uint64_t accepted_watches;        /* without streaming lists */
    uint64_t lists_watched;           /* the informer's queued lists, at its last watch from no version */
    uint64_t short_watches;           /* closed within a second, without an event */
    unsigned eventless_watches;       /* consecutive accepted watches without an event, since version_known_at */
    int64_t version_known_at; /* ns: when the server last showed that it knows the requester's resource version */
    /* The client can end a watch at an unreadable event. These two ignore all events behind one. */
    unsigned eventless_watches_max;
    int64_t version_known_at_min;
    bool must_check;        /* the next request must be a version check or a list, not a watch */
    bool has_unreadable;    /* a watch delivered an unreadable event, and no other watch has delivered an event since */
    char *saved_page;       /* the page that follows an empty one; NULL: none */
    uint32_t overtaken_key; /* 1 + the key of the last event that arrived after its own bookmark; 0: none */
    int64_t overtaken_at;   /* ns: when that event arrived; a slow client may not have read it yet */
} sim_requester;

/* A fault that waits for the requests that it concerns. */
typedef struct sim_pending_fault {
    sim_fault_kind kind;
    int64_t until;  /* ns */
    unsigned count; /* requests left */
    uint64_t detail;
} sim_pending_fault;

/* A connection of the client's transport to one server. */
typedef struct sim_connection {
    unsigned server;
    unsigned streams; /* open exchanges on the connection; 0: it is closed */
    bool is_silent;   /* delivers nothing more */
    bool is_retired;  /* takes no new exchanges */
} sim_connection;

typedef struct sim_network {
    sim_world *world;
    kt_memory_server server;
    sim_random random;
    sim_exchange *first; /* all exchanges */
    sim_requester requesters[SIM_REQUESTERS_MAX];
    sim_pending_fault pending_faults[SIM_PENDING_FAULTS_MAX];
    size_t pending_fault_count;
    /* ns: when each of these faults ends */
    int64_t type_gone_until, slow_until, small_chunks_until, laggard_until, no_descriptors_until, few_streams_until;
    sim_connection connections[SIM_CONNECTIONS_MAX];
    uint64_t bytes_read; /* by the client, in all */
    bool has_ended;      /* a reflector's request, since the last check of the health */
} sim_network;

/* A chunk in the client's socket. */
typedef struct sim_chunk {
    size_t size;
    int64_t arrived_at; /* ns */
} sim_chunk;

/* One request and its response. */
typedef struct sim_exchange {
    sim_world *world;
    sim_exchange *next, *previous;
    kt_memory_call *call; /* the client's side; NULL: the exchange has ended for the client */
    sim_requester *requester;
    sim_connection *connection; /* NULL: none was available, or the exchange has ended */
    unsigned informer;          /* SIM_NO_INFORMER: unknown, of a request for one object */
    bool is_fetch;              /* a request for the object `fetched_key` */
    uint32_t fetched_key;
    bool is_beside; /* of a consistency check or a namespace lookup, not of the reflector */
    unsigned server;
    uint64_t number;
    char *target;
    bool is_watch; /* a watch or a streaming list */
    bool is_streaming_list, is_continuation, is_consistent, is_paged;
    bool is_version_check; /* a list of one object that asks whether the server knows the resource version */
    uint64_t revision;     /* the resource version in the request; 0: none, or "0" */
    int64_t sent_at;       /* ns */
    uint64_t restores;     /* restores of the cluster before the request */
    int64_t latency;       /* ns */
    size_t chunk;          /* bytes of a chunk at most; 0: no limit */
    /* the response */
    kt_response response;
    bool has_response; /* `response` is set: the server still has a part in the exchange */
    bool has_head;     /* the client has the status */
    bool is_ended;     /* nothing more is appended to `out` */
    int status;
    int retry_after_s; /* -1: none */
    ki_buffer out;     /* the body, as the client gets it */
    size_t sent;       /* bytes of `out` that the client has read */
    size_t arrived;    /* bytes of `out` that have arrived at the client's socket */
    sim_chunk *socket; /* what has arrived and is unread, in order; begins at `sent` */
    size_t chunk_count, chunk_capacity;
    bool is_paused;     /* the client reads nothing for now */
    int64_t reading_at; /* ns: the arrival of the chunk that the client reads, or read last */
    int64_t event_at;   /* ns: the arrival of the last event that the client read and may not have decoded; SIM_NEVER */
    bool is_reading_scheduled;
    sim_arrivals arrivals;
    int64_t deadline;         /* ns: the watch's next deadline that is in the agenda; INT64_MAX: none */
    int64_t last_delivery_at; /* ns: the next arrival is not earlier, so that chunks keep their order */
    bool is_cut;              /* the connection has broken behind what has arrived */
    bool is_read_scheduled, is_delivery_scheduled;
    ki_status end_status;     /* what the client gets after `out`; only with is_ended */
    unsigned pending_actions; /* actions in the agenda that point here */
    /* faults */
    bool is_silent;
    int64_t silent_since;                      /* ns */
    int64_t handler_time_before;               /* ns: the world's handler_time at silent_since */
    int64_t cut_after;                         /* bytes until the connection breaks; -1: never */
    bool shuffles_initial;                     /* the initial events come in another order, with old states */
    bool omits_end;                            /* the bookmark that ends the initial events never comes */
    bool in_initial_events;                    /* their end is not in `out` yet */
    bool bookmark_before_next;                 /* the next event comes after its bookmark */
    bool lose_next, damage_next, enlarge_next; /* what happens to the next event */
    bool has_older_events;                     /* the server sends events below the version of the watch */
    uint32_t overtaken_key; /* 1 + the key of an event in `out` that comes after its bookmark; 0: none */
    bool has_sent_error;    /* an ERROR event was delivered */
    ki_buffer held_events;  /* initial events that are not shuffled yet */
} sim_exchange;

void sim_network_make(sim_world *world);
/* Frees all exchanges without calling the client. The client's transport must be freed already. */
void sim_network_free(sim_world *world);
/* Ends a response after the bytes that are in `out`: with a clean end if `status` is KI_OK, otherwise with this
 * error. */
void sim_exchange_end(sim_exchange *exchange, ki_status status);
/* Ends all responses with KI_ERR_UNEXPECTED_EOF: their clusters are about to be freed. */
void sim_network_end_all(sim_world *world);
/* Adds a fault that hits the next `count` requests before `until`. Ignores the fault if too many are pending. */
void sim_network_add_fault(sim_world *world, sim_fault_kind kind, uint64_t detail, unsigned count, int64_t until);
/* Removes the pending faults, and ends those with a duration. */
void sim_network_clear_faults(sim_world *world);
/* Returns true if a fault of this kind is pending, and counts one request for it. */
bool sim_network_take_fault(sim_world *world, sim_fault_kind kind, uint64_t *ret_detail);
/* Returns an open exchange, or NULL. `detail` selects it. With `watch` it is a watch or streaming list. */
sim_exchange *sim_network_pick(sim_world *world, uint64_t detail, bool watch);
/* Returns true if a bookmark overtook an event of this key that the informer may not have read yet. */
bool sim_network_has_overtaken_event(const sim_world *world, unsigned informer, uint32_t key);
/* Returns true if the client may still read what the servers sent before the cluster was restored. */
bool sim_network_has_old_data(const sim_world *world);
/* The client pauses or resumes reading. */
void sim_exchange_pause(sim_exchange *exchange, bool is_paused);
/* Appends text to the response. */
void sim_exchange_append(sim_exchange *exchange, const char *text);
/* Loses the second half of what the client has not read. */
void sim_exchange_lose_half(sim_exchange *exchange);
/* Silences the exchange and all others on its connection, for good. */
void sim_exchange_silence(sim_exchange *exchange);
/* Reads the server's watch as soon as possible. */
void sim_exchange_wake(sim_exchange *exchange);

/* requester.c: fails the run if the client may not send this request now. */
void sim_requester_check(sim_exchange *exchange);
/* Records that a current event (frame.h) was delivered. `is_new`: of a later version than the watch started from. */
void sim_requester_note_event(sim_exchange *exchange, bool is_new);
/* Checks and records the end of an exchange: the client cancelled it, or received the end of the response. */
void sim_requester_note_end(sim_exchange *exchange, bool is_cancelled);
/* Resets all requesters: a new client starts. */
void sim_requesters_reset(sim_world *world);

/* response.c: responds in place of the server if a fault is pending for the request. Returns false if the server must
 * respond. */
bool sim_respond(sim_exchange *exchange);
/* network.c: returns the text of the object of a key, as the exchange's server has it; NULL: none. Owned by the
 * caller. */
char *sim_exchange_object(sim_exchange *exchange, uint32_t key);
/* tamper.c: an object that the watch selects leaves it and comes back at once, with its present state. */
void sim_tamper_reappear(sim_exchange *exchange, uint64_t detail);
/* tamper.c: appends the frames of a server's watch to `out`, changed as the faults require. */
void sim_tamper_frames(sim_exchange *exchange, ki_buffer *frames);
/* Changes the list in `out`. */
void sim_tamper_list(sim_exchange *exchange);

#endif

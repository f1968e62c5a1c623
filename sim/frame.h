/* frame.h: counts the complete frames that a response has delivered to the client. A frame is one event of a watch, a
 * bookmark included. */
#ifndef SIM_FRAME_H
#define SIM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_exchange sim_exchange;

/* What has arrived of one response. An event is current if it is not older than the version that the watch started
 * from. An older one may be dropped. */
typedef struct sim_arrivals {
    size_t frame_begin;          /* where the incomplete frame begins in the exchange's `out` */
    uint64_t events;             /* events and bookmarks after the initial events */
    uint64_t current_events;     /* current ones of `events`, and the end of the initial events */
    uint64_t current_events_min; /* `current_events` before the first unreadable event */
    bool is_past_initial;        /* the initial events have ended, or the request has none */
    bool has_error_event;
    bool has_unreadable; /* an event that cannot be parsed, or is too large */
    bool is_complete;    /* of a list: the last byte has arrived */
} sim_arrivals;

/* Counts the frames that the bytes from `from` to `end` of the exchange's `out` complete. */
void sim_frames_delivered(sim_exchange *exchange, size_t from, size_t end);

#endif

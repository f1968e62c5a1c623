/* stream.h: the watches of an HTTP front, and the one lock around its cluster.
 *
 * A stream is a connection whose response comes from a kt_watch, or is a body that faults send in pieces. A watch
 * without events has its connection suspended. The connection is resumed when the cluster changes, at the watch's
 * deadline, and when its client is gone. Code that changes the cluster calls kt_streams_lock before and
 * kt_streams_unlock after; the unlock resumes readable watches. */
#ifndef KT_HTTP_STREAM_H
#define KT_HTTP_STREAM_H

#include "src/engine/thread.h"
#include "testing/rest/rest.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>

enum {
    KT_STREAM_BLOCK = 64 * 1024,          /* bytes of one connection's memory: headers and the current chunk */
    KT_STREAM_KEPT = 2 * KT_STREAM_BLOCK, /* bytes of the largest buffer that a stream keeps */
    KT_STREAM_DRAIN_MS = 500,             /* time for clients to read the last events */
    KT_STREAM_LOOK_MS = 1000              /* interval of the search for clients that are gone */
};

typedef struct kt_stream kt_stream;
typedef struct kt_waiter kt_waiter; /* waiter.h */

typedef struct kt_streams {
    /* ---- constant ---- */
    const ki_allocator *allocator;
    int64_t wall_start_ms; /* CLOCK_REALTIME at the start */
    int64_t start_ns;      /* CLOCK_MONOTONIC at the same time */

    _Atomic unsigned waiting; /* threads that wait for the mutex */
    ki_mutex mutex;           /* guards the cluster and all members below */
    ki_cond changed;          /* wakes the timer thread */
    ki_cond emptied;          /* there are no streams left, or all sleeps end */
    ki_cond unlocked;         /* something may have changed, for kt_streams_wait_until */
    size_t waiters;           /* threads inside kt_streams_wait_until */
    kt_stream *first;         /* list of all streams */
    kt_stream *ready;         /* suspended streams that the cluster has woken */
    size_t count;
    kt_waiter *waiting_requests; /* list */
    int64_t look_at_ms;          /* time at which the timer thread wakes */
    bool stopping;
    bool awake;            /* all sleeps end at once */
    bool cutting;          /* all streams are cut, also new ones */
    struct pollfd *polled; /* working space of the timer thread */
    kt_stream **polled_streams;
    size_t polled_capacity;
    ki_thread timer;

    /* ---- the daemon's thread only ---- */
    ki_buffer spare; /* a free buffer that idle watches pass on */
} kt_streams;

ki_status kt_streams_init(kt_streams *streams, const ki_allocator *allocator, ki_error *err);
/* Waits for at most KT_STREAM_DRAIN_MS until clients have read everything. The caller has closed the cluster's
 * watches. */
void kt_streams_drain(kt_streams *streams);
/* Cuts every stream, so that the HTTP daemon can stop. New streams are cut too, until a call with false. */
void kt_streams_cut(kt_streams *streams, bool cut);
/* Resumes the streams whose watch is cut, so that they end. */
void kt_streams_resume_cut(kt_streams *streams);
/* Sleeps for `ms`, or until kt_streams_wake. */
void kt_streams_sleep(kt_streams *streams, int64_t ms);
/* Ends all sleeps, also future ones. */
void kt_streams_wake(kt_streams *streams);
/* Cuts all streams for good and ends the timer thread. */
void kt_streams_stop(kt_streams *streams);
/* Frees everything after the daemon has stopped. `streams` may be zeroed. */
void kt_streams_free(kt_streams *streams);

void kt_streams_lock(kt_streams *streams);
void kt_streams_unlock(kt_streams *streams);
/* Waits until another thread has unlocked, and so may have changed the cluster. Returns false if the deadline
 * (CLOCK_MONOTONIC; INT64_MAX: none) has passed. */
bool kt_streams_wait_until(kt_streams *streams, int64_t deadline_ns);
/* Unlocks, lets waiting threads run first, and locks again. For a thread that holds the lock most of the time. */
void kt_streams_yield(kt_streams *streams);
/* Returns Unix time that never goes backwards. Any thread. */
int64_t kt_streams_now_ms(const kt_streams *streams);
/* Returns CLOCK_REALTIME, for use before streams exist. */
int64_t kt_wall_ms(void);
/* Returns 0 if the system has no random source; it cannot fail once it has not. */
uint64_t kt_system_random(void);

/* Returns the HTTP response of a stream; NULL on failure. Takes ownership of `response`, also on failure, and sends
 * its watch, or its body in pieces. */
struct MHD_Response *kt_stream_start(kt_streams *streams, struct MHD_Connection *connection, kt_response *response,
                                     kt_stream **ret_stream);
/* Queues a stream's HTTP response and sends it after `delay_ms`. Takes ownership of `http_response`. The daemon's
 * thread only, without the lock. */
enum MHD_Result kt_stream_queue_late(kt_stream *stream, int status, struct MHD_Response *http_response,
                                     int64_t delay_ms);

#endif

/* stream.h: the watches that an HTTP front serves, and the one lock around its cluster.
 *
 * A stream is a connection whose response comes from a kt_watch. While the watch has nothing to say the connection is suspended;
 * it is resumed when the cluster changes, at the watch's deadline, and when its client has gone. Whoever changes the cluster does so
 * between kt_streams_lock and kt_streams_unlock; the unlock resumes what became readable. */
#ifndef KT_HTTP_STREAM_H
#define KT_HTTP_STREAM_H

#include "src/engine/thread.h"
#include "testing/rest/rest.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>

enum {
    KT_STREAM_BLOCK = 64 * 1024, /* bytes that a connection may hold at once: headers and the chunk under way */
    KT_STREAM_KEPT =
        2 * KT_STREAM_BLOCK, /* room for a block and the rest of its last frame, which is kept from one to the next */
    KT_STREAM_DRAIN_MS = 500,
    KT_STREAM_LOOK_MS = 1000 /* how often clients that have gone are looked for */
};

typedef struct kt_stream kt_stream;

typedef struct kt_streams {
    /* constant */
    const ki_allocator *allocator;
    int64_t wall_start_ms; /* CLOCK_REALTIME at the start */
    int64_t start_ns;      /* CLOCK_MONOTONIC at the same time */

    _Atomic unsigned waiting; /* threads that want the mutex */
    ki_mutex mutex;           /* guards the cluster and all below */
    ki_cond changed;          /* the timer thread's */
    ki_cond emptied;          /* there is no stream any more, or nobody sleeps any more */
    kt_stream *first;         /* all */
    kt_stream *ready;         /* suspended ones that the cluster has woken */
    size_t count;
    int64_t look_at_ms; /* when the timer thread wakes */
    bool stopping;
    bool awake;            /* sleeps end at once */
    bool cutting;          /* streams are cut, and none begins */
    struct pollfd *polled; /* the timer thread's place for descriptors */
    kt_stream **polled_streams;
    size_t polled_capacity;
    ki_thread timer;

    /* the daemon's thread only */
    ki_buffer spare; /* what a watch that has nothing to send leaves to the next one that has */
} kt_streams;

ki_status kt_streams_init(kt_streams *streams, const ki_allocator *allocator, ki_error *err);
/* Once the cluster has closed its watches: waits, for KT_STREAM_DRAIN_MS at most, until clients have got what was theirs. */
void kt_streams_drain(kt_streams *streams);
/* Cuts every stream, so that the HTTP daemon can be stopped; new ones end at once, until it is called with false. */
void kt_streams_cut(kt_streams *streams, bool cut);
/* For so long, or until kt_streams_wake. */
void kt_streams_sleep(kt_streams *streams, int64_t ms);
/* Ends all sleeps, now and in future. */
void kt_streams_wake(kt_streams *streams);
/* Cuts them for good, and ends the timer thread. */
void kt_streams_stop(kt_streams *streams);
/* After the daemon has stopped. Harmless on a zeroed one. */
void kt_streams_free(kt_streams *streams);

void kt_streams_lock(kt_streams *streams);
void kt_streams_unlock(kt_streams *streams);
/* Unlocks, lets those go first who wait, and locks again: for a thread that holds the lock most of the time. */
void kt_streams_yield(kt_streams *streams);
/* Unix time that never goes back. Any thread. */
int64_t kt_streams_now_ms(const kt_streams *streams);
/* CLOCK_REALTIME, for what is made before there are streams. */
int64_t kt_wall_ms(void);

/* The HTTP response that streams `response`, which is the stream's from now on, on failure as well: its watch, or its body bit by bit. NULL for
 * lack of memory. Called with the lock held. */
struct MHD_Response *kt_stream_start(kt_streams *streams, struct MHD_Connection *connection, kt_response *response,
                                     kt_stream **ret_stream);
/* Queues the stream's answer, to be sent in `delay_ms`. Takes `answer` over. The daemon's thread only, without the lock. */
enum MHD_Result kt_stream_queue_late(kt_stream *stream, int status, struct MHD_Response *answer, int64_t delay_ms);

#endif

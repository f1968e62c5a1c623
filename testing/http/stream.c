/* stream.c: see stream.h. The HTTP daemon's thread reads watches; the timer thread resumes connections. */
#include "testing/http/stream.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "testing/cluster/object.h"
#include "testing/faults/stream.h"
#include "testing/http/waiter.h"

#include <sched.h>
#include <sys/random.h>
#include <time.h>

struct kt_stream {
    kt_streams *streams;
    struct MHD_Connection *connection;
    kt_response response;

    /* ---- the daemon's thread only ---- */
    ki_buffer pending; /* read from the watch and not yet sent */
    size_t sent;       /* bytes sent of `pending` */
    kt_object *shared; /* a large object to send after `pending`, followed by the end of its frame; NULL: none */
    size_t shared_sent;
    bool ended; /* the response ends after `pending` */

    /* ---- under the lock ---- */
    kt_stream *previous;
    kt_stream *next;
    kt_stream *next_ready;
    int64_t deadline_ms;
    int64_t start_ms;
    bool suspended;
    bool muted;    /* changes of the cluster do not resume it */
    bool is_ready; /* in the list of ready streams */
    bool gone;     /* the client has closed the connection */
};

int64_t kt_streams_now_ms(const kt_streams *streams) {
    return streams->wall_start_ms + (ki_monotonic_now() - streams->start_ns) / 1000000;
}

void kt_streams_lock(kt_streams *streams) {
    atomic_fetch_add(&streams->waiting, 1);
    ki_mutex_lock(&streams->mutex);
    atomic_fetch_sub(&streams->waiting, 1);
}

static void resume(kt_stream *stream) {
    KI_HELD(&stream->streams->mutex);
    if (!stream->suspended)
        return;
    stream->suspended = false;
    stream->muted = false;
    MHD_resume_connection(stream->connection);
}

void kt_streams_unlock(kt_streams *streams) {
    KI_HELD(&streams->mutex);
    while (streams->ready) {
        kt_stream *stream = streams->ready;
        KI_ASSERT(stream->is_ready);
        streams->ready = stream->next_ready;
        stream->is_ready = false;
        resume(stream);
    }
    if (streams->waiting_requests)
        kt_waiters_look(streams);
    if (streams->waiters)
        ki_cond_broadcast(&streams->unlocked);
    ki_mutex_unlock(&streams->mutex);
}

bool kt_streams_wait_until(kt_streams *streams, int64_t deadline_ns) {
    KI_HELD(&streams->mutex);
    streams->waiters++;
    bool in_time = ki_cond_wait_until(&streams->unlocked, &streams->mutex, deadline_ns);
    streams->waiters--;
    return in_time;
}

void kt_streams_yield(kt_streams *streams) {
    kt_streams_unlock(streams);
    while (atomic_load(&streams->waiting))
        sched_yield(); /* otherwise this thread would nearly always get the mutex again */
    kt_streams_lock(streams);
}

/* Called when the watch becomes readable. */
static void wake_stream(void *user) {
    kt_stream *stream = user;
    KI_HELD(&stream->streams->mutex);
    if (!stream->suspended || stream->is_ready || stream->muted)
        return;
    stream->is_ready = true;
    stream->next_ready = stream->streams->ready;
    stream->streams->ready = stream;
}

/* Returns true if the client has closed the connection, which the daemon does not notice while it is suspended. */
static bool is_gone(void *user) {
    kt_stream *stream = user;
    KI_HELD(&stream->streams->mutex);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd polled = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };
    return stream->gone || (poll(&polled, 1, 0) > 0 && polled.revents);
}

static void suspend_until(kt_stream *stream, int64_t deadline_ms) {
    kt_streams *streams = stream->streams;
    KI_HELD(&streams->mutex);
    KI_ASSERT(!stream->suspended);
    stream->suspended = true;
    stream->deadline_ms = deadline_ms;
    MHD_suspend_connection(stream->connection);
    if (deadline_ms < streams->look_at_ms)
        ki_cond_signal(&streams->changed);
}

/* Returns true if the response must be cut. */
static bool must_end(const kt_stream *stream) {
    KI_HELD(&stream->streams->mutex);
    const kt_watch *watch = stream->response.watch;
    return stream->gone || stream->streams->cutting || (watch && kt_watch_is_cut(watch));
}

/* Reads more frames from the watch. Returns false if the response must be cut. */
static bool refill(kt_stream *stream, size_t max) {
    kt_streams *streams = stream->streams;
    kt_watch_state state = KT_WATCH_WAITS;
    bool fine = true;

    if (!stream->pending.data) { /* takes the free buffer: growing a new one costs more than filling it */
        stream->pending = streams->spare;
        ki_buffer_init(&streams->spare, streams->allocator, 0);
    }
    ki_buffer_reset(&stream->pending, KT_STREAM_KEPT);
    stream->sent = 0;
    kt_streams_lock(streams);
    if (must_end(stream)) {
        fine = false;
    } else if (kt_response_read(&stream->response, kt_streams_now_ms(streams), &stream->pending, max, &stream->shared,
                                &state)) {
        fine = false;
    } else if (state == KT_WATCH_ENDED) {
        stream->ended = true;
    } else if (stream->pending.size == 0) {
        if (streams->spare.data) /* an idle watch has no buffer */
            ki_buffer_free(&stream->pending);
        else
            streams->spare = stream->pending;
        ki_buffer_init(&stream->pending, streams->allocator, 0);
        suspend_until(stream, kt_watch_deadline(stream->response.watch));
    }
    kt_streams_unlock(streams);
    return fine;
}

/* Sends nothing until `until_ms`. Returns false if the stream must be cut. */
static bool pause_stream(kt_stream *stream, int64_t until_ms) {
    kt_streams *streams = stream->streams;
    kt_streams_lock(streams);
    bool fine = !must_end(stream);
    if (fine) {
        stream->muted = true;
        suspend_until(stream, until_ms);
    }
    kt_streams_unlock(streams);
    return fine;
}

/* Returns how many of `max` bytes the faults allow at `position`; 0: none now, the stream is suspended. */
static ssize_t limit(kt_stream *stream, uint64_t position, size_t max) {
    const kt_injection *injection = &stream->response.faults->injection;
    int64_t at = (int64_t)position, room = (int64_t)max;
    if (injection->cut_at >= 0 && at >= injection->cut_at)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (injection->silent_at >= 0 && at >= injection->silent_at)
        return pause_stream(stream, INT64_MAX) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
    if (injection->cut_at >= 0 && injection->cut_at - at < room)
        room = injection->cut_at - at;
    if (injection->silent_at >= 0 && injection->silent_at - at < room)
        room = injection->silent_at - at;
    if (injection->chunk && injection->chunk < room)
        room = injection->chunk;
    if (injection->bytes_a_second) {
        int64_t now_ms = kt_streams_now_ms(stream->streams);
        double allowed = (double)(now_ms - stream->start_ms) * (double)injection->bytes_a_second / 1000 - (double)at;
        if (allowed < 1) {
            double wait_ms = (1 - allowed) * 1000 / (double)injection->bytes_a_second + 1;
            return pause_stream(stream, now_ms + (int64_t)wait_ms) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
        }
        if (allowed < (double)room)
            room = (int64_t)allowed;
    }
    return (ssize_t)room;
}

/* Sends from the shared object. After its last byte, the frame's end becomes pending. */
static ssize_t read_shared(kt_stream *stream, char *block, size_t max) {
    KI_ASSERT(stream->shared_sent <= stream->shared->json.size);
    size_t size = stream->shared->json.size - stream->shared_sent;
    if (size > max) {
        memcpy(block, stream->shared->json.data + stream->shared_sent, max);
        stream->shared_sent += max;
        return (ssize_t)max;
    }
    memcpy(block, stream->shared->json.data + stream->shared_sent, size);
    kt_streams_lock(stream->streams);
    kt_object_unref(stream->shared);
    kt_streams_unlock(stream->streams);
    stream->shared = NULL;
    stream->shared_sent = stream->sent = 0;
    ki_buffer_reset(&stream->pending, KT_STREAM_KEPT);
    ki_buffer_append_string(&stream->pending, KT_WATCH_FRAME_END);
    return stream->pending.failed ? MHD_CONTENT_READER_END_WITH_ERROR : (ssize_t)size;
}

static ssize_t read_next(kt_stream *stream, uint64_t position, char *block, size_t max) {
    KI_ASSERT(stream->sent <= stream->pending.size);
    if (stream->response.faults) {
        ssize_t room = limit(stream, position, max);
        if (room <= 0)
            return room;
        max = (size_t)room;
    }
    if (stream->sent == stream->pending.size && stream->shared)
        return read_shared(stream, block, max);
    if (stream->sent == stream->pending.size) {
        if (stream->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!refill(stream, KT_STREAM_BLOCK))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->pending.size == 0)
            return stream->ended ? MHD_CONTENT_READER_END_OF_STREAM : 0;
    }
    size_t size = stream->pending.size - stream->sent;
    if (size > max)
        size = max;
    memcpy(block, stream->pending.data + stream->sent, size);
    stream->sent += size;
    return (ssize_t)size;
}

static ssize_t read_stream(void *user, uint64_t position, char *block, size_t max) {
    kt_stream *stream = user;
    ssize_t size = read_next(stream, position, block, max);
    if (size == MHD_CONTENT_READER_END_WITH_ERROR) {
        /* libmicrohttpd 0.9.75 can keep the socket of a response that ends so until the idle timeout, or until the
         * daemon stops. It looks at a resumed connection once more, and closes the socket then. */
        MHD_suspend_connection(stream->connection);
        MHD_resume_connection(stream->connection);
    }
    return size;
}

static void free_stream(void *user) {
    kt_stream *stream = user;
    kt_streams *streams = stream->streams;

    kt_streams_lock(streams);
    if (stream->is_ready) {
        kt_stream **place = &streams->ready;
        while (*place != stream)
            place = &(*place)->next_ready;
        *place = stream->next_ready;
    }
    KI_ASSERT(streams->count > 0);
    KI_LIST_REMOVE(streams->first, stream);
    if (--streams->count == 0)
        ki_cond_broadcast(&streams->emptied);
    kt_response_free(&stream->response);
    kt_object_unref(stream->shared);
    kt_streams_unlock(streams);
    ki_buffer_free(&stream->pending);
    ki_free(streams->allocator, stream);
}

struct MHD_Response *kt_stream_start(kt_streams *streams, struct MHD_Connection *connection, kt_response *response,
                                     kt_stream **ret_stream) {
    KI_HELD(&streams->mutex);
    kt_stream *stream = ki_alloc_zero(streams->allocator, sizeof *stream);
    struct MHD_Response *http_response = NULL;
    if (stream) {
        uint64_t size = response->watch ? MHD_SIZE_UNKNOWN : response->body.size;
        http_response = MHD_create_response_from_callback(size, KT_STREAM_BLOCK, read_stream, stream, free_stream);
    }
    if (!http_response) {
        kt_response_free(response);
        ki_free(streams->allocator, stream);
        return NULL;
    }
    stream->streams = streams;
    stream->connection = connection;
    stream->response = *response;
    stream->start_ms = kt_streams_now_ms(streams);
    if (response->watch) {
        ki_buffer_init(&stream->pending, streams->allocator, 0);
    } else { /* the whole body is there */
        stream->pending = stream->response.body;
        ki_buffer_init(&stream->response.body, streams->allocator, 0);
        stream->ended = true;
    }
    KI_LIST_PREPEND(streams->first, stream);
    streams->count++;
    if (response->watch) {
        kt_watch_set_wake(stream->response.watch, wake_stream, stream);
        kt_watch_set_gone(stream->response.watch, is_gone);
    }
    *ret_stream = stream;
    return http_response;
}

enum MHD_Result kt_stream_queue_late(kt_stream *stream, int status, struct MHD_Response *http_response,
                                     int64_t delay_ms) {
    kt_streams *streams = stream->streams;
    enum MHD_Result result = MHD_queue_response(stream->connection, (unsigned)status, http_response);
    if (result == MHD_YES) { /* otherwise the stream may be freed */
        kt_streams_lock(streams);
        if (!streams->cutting) {
            stream->muted = true;
            suspend_until(stream, kt_streams_now_ms(streams) + delay_ms);
        }
        kt_streams_unlock(streams);
    }
    MHD_destroy_response(http_response);
    return result;
}

/* ---- the timer thread ---- */

/* Resumes the streams whose deadline has passed. Returns the earliest deadline of the others. */
static int64_t resume_due(kt_streams *streams, int64_t now_ms) {
    KI_HELD(&streams->mutex);
    int64_t earliest = INT64_MAX;
    for (kt_stream *stream = streams->first; stream; stream = stream->next) {
        if (!stream->suspended)
            continue;
        if (stream->deadline_ms <= now_ms)
            resume(stream);
        else if (stream->deadline_ms < earliest)
            earliest = stream->deadline_ms;
    }
    return kt_waiters_resume_due(streams, now_ms, earliest);
}

/* Finds suspended connections that the client has closed; the daemon does not watch their sockets. Without memory
 * they are found later. */
static void resume_gone(kt_streams *streams) {
    KI_HELD(&streams->mutex);
    if (streams->polled_capacity < streams->count) {
        size_t capacity = streams->count * 2;
        void *polled = ki_realloc_array(streams->allocator, streams->polled, capacity, sizeof *streams->polled);
        if (!polled)
            return;
        streams->polled = polled;
        void *owners = ki_realloc_array(streams->allocator, streams->polled_streams, capacity, sizeof(kt_stream *));
        if (!owners)
            return;
        streams->polled_streams = owners;
        streams->polled_capacity = capacity;
    }
    nfds_t count = 0;
    for (kt_stream *stream = streams->first; stream; stream = stream->next) {
        const union MHD_ConnectionInfo *info =
            stream->suspended ? MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
        if (!info)
            continue;
        streams->polled[count] = (struct pollfd){ .fd = info->connect_fd, .events = POLLRDHUP };
        streams->polled_streams[count++] = stream;
    }
    if (poll(streams->polled, count, 0) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++) {
        if (!streams->polled[i].revents)
            continue;
        streams->polled_streams[i]->gone = true;
        resume(streams->polled_streams[i]);
    }
}

static void run_timer(void *user) {
    kt_streams *streams = user;
    int64_t next_look_ms = 0;

    kt_streams_lock(streams);
    while (!streams->stopping) {
        int64_t now_ms = kt_streams_now_ms(streams);
        int64_t earliest = resume_due(streams, now_ms);
        if (now_ms >= next_look_ms) {
            if (streams->count)
                resume_gone(streams);
            next_look_ms = now_ms + KT_STREAM_LOOK_MS;
        }
        streams->look_at_ms = earliest < next_look_ms ? earliest : next_look_ms;
        ki_cond_wait_until(&streams->changed, &streams->mutex,
                           streams->start_ns + (streams->look_at_ms - streams->wall_start_ms) * 1000000);
    }
    kt_streams_unlock(streams);
}

/* ---- start and end ---- */

uint64_t kt_system_random(void) {
    uint64_t number = 0;
    return getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number ? number : 0;
}

int64_t kt_wall_ms(void) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
}

ki_status kt_streams_init(kt_streams *streams, const ki_allocator *allocator, ki_error *err) {
    *streams = (kt_streams){ .allocator = allocator };
    ki_buffer_init(&streams->spare, allocator, 0);
    streams->wall_start_ms = kt_wall_ms();
    streams->start_ns = ki_monotonic_now();

    ki_status status = ki_mutex_init(&streams->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&streams->changed, err);
    if (status)
        goto without_changed;
    status = ki_cond_init(&streams->emptied, err);
    if (status)
        goto without_emptied;
    status = ki_cond_init(&streams->unlocked, err);
    if (status)
        goto without_unlocked;
    status = ki_thread_start(&streams->timer, "kt-timer", run_timer, streams, err);
    if (!status)
        return KI_OK;
    ki_cond_destroy(&streams->unlocked);
without_unlocked:
    ki_cond_destroy(&streams->emptied);
without_emptied:
    ki_cond_destroy(&streams->changed);
without_changed:
    ki_mutex_destroy(&streams->mutex);
    streams->allocator = NULL;
    return status;
}

void kt_streams_drain(kt_streams *streams) {
    const int64_t deadline_ns = ki_monotonic_now() + KT_STREAM_DRAIN_MS * (int64_t)1000000;
    kt_streams_lock(streams);
    while (streams->count && ki_cond_wait_until(&streams->emptied, &streams->mutex, deadline_ns)) {}
    kt_streams_unlock(streams);
}

void kt_streams_cut(kt_streams *streams, bool cut) {
    kt_streams_lock(streams);
    streams->cutting = cut;
    if (cut)
        kt_waiters_end_all(streams);
    for (kt_stream *stream = streams->first; cut && stream; stream = stream->next)
        resume(stream);
    kt_streams_unlock(streams);
}

void kt_streams_resume_cut(kt_streams *streams) {
    KI_HELD(&streams->mutex);
    for (kt_stream *stream = streams->first; stream; stream = stream->next) {
        if (must_end(stream))
            resume(stream);
    }
}

void kt_streams_sleep(kt_streams *streams, int64_t ms) {
    const int64_t deadline_ns = ki_monotonic_now() + ms * 1000000;
    kt_streams_lock(streams);
    while (!streams->awake && ki_cond_wait_until(&streams->emptied, &streams->mutex, deadline_ns)) {}
    kt_streams_unlock(streams);
}

void kt_streams_wake(kt_streams *streams) {
    kt_streams_lock(streams);
    streams->awake = true;
    ki_cond_broadcast(&streams->emptied);
    kt_streams_unlock(streams);
}

void kt_streams_stop(kt_streams *streams) {
    kt_streams_cut(streams, true);
    kt_streams_lock(streams);
    streams->stopping = true;
    ki_cond_signal(&streams->changed);
    kt_streams_unlock(streams);
    ki_thread_join(&streams->timer);
}

void kt_streams_free(kt_streams *streams) {
    if (!streams->allocator)
        return;
    ki_buffer_free(&streams->spare);
    ki_free(streams->allocator, streams->polled);
    ki_free(streams->allocator, streams->polled_streams);
    ki_cond_destroy(&streams->unlocked);
    ki_cond_destroy(&streams->emptied);
    ki_cond_destroy(&streams->changed);
    ki_mutex_destroy(&streams->mutex);
    streams->allocator = NULL;
}

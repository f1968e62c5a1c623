/* waiter.c: see waiter.h. */
#include "testing/http/waiter.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "testing/control/condition.h"

struct kt_waiter {
    kt_streams *streams;
    struct MHD_Connection *connection;
    kt_condition *until; /* NULL: the wait has ended */
    int64_t deadline_ms;
    kt_waited result; /* once the wait has ended */
    kt_waiter *previous;
    kt_waiter *next;
};

kt_waiter *kt_waiter_start(kt_streams *streams, struct MHD_Connection *connection, kt_response *response) {
    KI_HELD(&streams->mutex);
    kt_waiter *waiter = streams->cutting ? NULL : ki_alloc_zero(streams->allocator, sizeof *waiter);
    if (!waiter)
        return NULL;
    waiter->streams = streams;
    waiter->connection = connection;
    waiter->until = response->until;
    response->until = NULL;
    waiter->deadline_ms = kt_streams_now_ms(streams) + response->wait_ms;
    KI_LIST_PREPEND(streams->waiting_requests, waiter);
    MHD_suspend_connection(connection);
    if (waiter->deadline_ms < streams->look_at_ms)
        ki_cond_signal(&streams->changed);
    return waiter;
}

/* Evaluates the condition once. Resumes the connection if the wait is over, or after its timeout (`is_late`). */
static void end(kt_streams *streams, kt_waiter *waiter, bool is_late) {
    KI_HELD(&streams->mutex);
    KI_ASSERT(waiter->until && waiter->streams == streams);
    kt_waited *result = &waiter->result;
    if (!kt_condition_is_over(waiter->until, &result->count, &result->status, &result->why) && !is_late)
        return;
    KI_LIST_REMOVE(streams->waiting_requests, waiter);
    kt_condition_delete(waiter->until);
    waiter->until = NULL;
    MHD_resume_connection(waiter->connection);
}

const kt_waited *kt_waiter_result(const kt_waiter *waiter) {
    KI_HELD(&waiter->streams->mutex);
    KI_ASSERT(!waiter->until);
    return &waiter->result;
}

void kt_waiter_free(kt_waiter *waiter) {
    kt_streams *streams = waiter->streams;
    kt_streams_lock(streams);
    if (waiter->until) { /* the connection ends */
        KI_LIST_REMOVE(streams->waiting_requests, waiter);
        kt_condition_delete(waiter->until);
    }
    kt_streams_unlock(streams);
    ki_free(streams->allocator, waiter);
}

void kt_waiters_look(kt_streams *streams) {
    KI_HELD(&streams->mutex);
    kt_waiter *next;
    for (kt_waiter *waiter = streams->waiting_requests; waiter; waiter = next) {
        next = waiter->next;
        if (!kt_condition_is_as_seen(waiter->until))
            end(streams, waiter, false);
    }
}

int64_t kt_waiters_resume_due(kt_streams *streams, int64_t now_ms, int64_t earliest_ms) {
    KI_HELD(&streams->mutex);
    kt_waiter *next;
    for (kt_waiter *waiter = streams->waiting_requests; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->deadline_ms <= now_ms)
            end(streams, waiter, true);
        else if (waiter->deadline_ms < earliest_ms)
            earliest_ms = waiter->deadline_ms;
    }
    return earliest_ms;
}

void kt_waiters_end_all(kt_streams *streams) {
    while (streams->waiting_requests)
        end(streams, streams->waiting_requests, true);
}

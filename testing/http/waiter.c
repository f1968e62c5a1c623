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
    kt_wait outcome;
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

/* Ends the wait, and resumes the connection. */
static void end(kt_streams *streams, kt_waiter *waiter, kt_wait outcome) {
    KI_HELD(&streams->mutex);
    KI_ASSERT(waiter->until && waiter->streams == streams);
    KI_LIST_REMOVE(streams->waiting_requests, waiter);
    kt_condition_delete(waiter->until);
    waiter->until = NULL;
    waiter->outcome = outcome;
    MHD_resume_connection(waiter->connection);
}

kt_wait kt_waiter_outcome(const kt_waiter *waiter) {
    KI_HELD(&waiter->streams->mutex);
    KI_ASSERT(!waiter->until);
    return waiter->outcome;
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
        uint64_t count;
        ki_status status;
        next = waiter->next;
        if (!kt_condition_is_as_seen(waiter->until) && kt_condition_is_over(waiter->until, &count, &status, NULL))
            end(streams, waiter, status ? KT_WAIT_LATE : KT_WAIT_MET);
    }
}

int64_t kt_waiters_resume_due(kt_streams *streams, int64_t now_ms, int64_t earliest_ms) {
    KI_HELD(&streams->mutex);
    kt_waiter *next;
    for (kt_waiter *waiter = streams->waiting_requests; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->deadline_ms <= now_ms)
            end(streams, waiter, KT_WAIT_LATE);
        else if (waiter->deadline_ms < earliest_ms)
            earliest_ms = waiter->deadline_ms;
    }
    return earliest_ms;
}

void kt_waiters_end_all(kt_streams *streams) {
    while (streams->waiting_requests)
        end(streams, streams->waiting_requests, KT_WAIT_LATE);
}

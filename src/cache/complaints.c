/* complaints.c: see complaints.h. */
#include "src/cache/complaints.h"

#include "src/base/error.h"

static void report_rest(ki_complaints *complaints) {
    size_t rest = complaints->count > KI_COMPLAINTS_MAX ? complaints->count - KI_COMPLAINTS_MAX : 0;
    complaints->count = 0;
    if (rest == 0)
        return;
    ki_error err = complaints->last;
    ki_error_prefix(&err, "%zu more within a second, the last of them", rest);
    complaints->report(&err, "", complaints->user);
}

static void second_is_over(ki_timer *timer, void *user) {
    (void)timer;
    report_rest(user);
}

ki_status ki_complaints_open(ki_complaints *complaints, ki_engine *engine,
                             void (*report)(const ki_error *err, const char *key, void *user), void *user) {
    complaints->count = 0;
    complaints->report = report;
    complaints->user = user;
    return ki_timer_init(&complaints->timer, engine, second_is_over, complaints);
}

void ki_complaints_add(ki_complaints *complaints, const ki_error *err, const char *key) {
    if (complaints->count == 0)
        ki_timer_set(&complaints->timer, ki_engine_now(complaints->timer.engine) + KI_SECONDS(1));
    if (complaints->count++ < KI_COMPLAINTS_MAX)
        complaints->report(err, key, complaints->user);
    else
        complaints->last = *err;
}

void ki_complaints_close(ki_complaints *complaints) {
    if (!complaints->timer.engine)
        return;
    ki_timer_close(&complaints->timer);
    report_rest(complaints);
}

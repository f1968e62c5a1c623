/* report_limit.c: see report_limit.h. */
#include "src/cache/reflector/report_limit.h"

#include "src/base/error.h"

static void report_rest(ki_report_limit *limit) {
    size_t rest = limit->count > KI_REPORT_LIMIT_MAX ? limit->count - KI_REPORT_LIMIT_MAX : 0;
    limit->count = 0;
    if (rest == 0)
        return;
    ki_error err = ki_error_kept(&limit->last);
    ki_error_keep(limit->allocator, &limit->last, NULL);
    ki_error_prefix(&err, "%zu more within a second, the last of them", rest);
    limit->report(&err, "", limit->user);
}

static void second_is_over(ki_timer *timer, void *user) {
    (void)timer;
    report_rest(user);
}

void ki_report_limit_open(ki_report_limit *limit, ki_engine *engine,
                          void (*report)(const ki_error *err, const char *key, void *user), void *user) {
    limit->allocator = ki_engine_allocator(engine);
    limit->count = 0;
    limit->last = (ki_kept_error){ .code = KI_OK };
    limit->report = report;
    limit->user = user;
    ki_timer_init(&limit->timer, engine, second_is_over, limit);
}

void ki_report_limit_add(ki_report_limit *limit, const ki_error *err, const char *key) {
    if (limit->count == 0)
        ki_timer_set(&limit->timer, ki_engine_now(limit->timer.engine) + KI_SECONDS(1));
    if (limit->count++ < KI_REPORT_LIMIT_MAX)
        limit->report(err, key, limit->user);
    else
        ki_error_keep(limit->allocator, &limit->last, err);
}

void ki_report_limit_close(ki_report_limit *limit) {
    if (!limit->timer.engine)
        return;
    ki_timer_close(&limit->timer);
    report_rest(limit);
}

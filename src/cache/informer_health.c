/* informer_health.c: ki_informer_health and ki_informer_why, from the records of the informer's parts. Any thread. */
#include "src/cache/informer_parts.h"

#include <stdio.h>

void ki_informer_health_sized(const ki_informer *informer, ki_health *ret_health, size_t size) {
    ki_health_record *record;
    const ki_health_record *constant = &informer->health;
    const ki_metrics_record *metrics = &informer->metrics;
    int64_t now = ki_engine_now(informer->engine);
    ki_health health;
    memset(&health, 0, sizeof health);
    memcpy(&record, &constant, sizeof record); /* not const: reading takes the record's lock */
    ki_attempt failed = ki_health_read(record, now, &health);
    health.objects = ki_store_count(informer->store);
    int64_t staleness = ki_metrics_staleness(metrics, now);
    health.staleness_ms = staleness < 0 ? -1 : staleness / KI_MILLISECONDS(1);
    health.failures = atomic_load_explicit(&metrics->failures_in_row, memory_order_relaxed);
    ki_unreadable *unreadable;
    const ki_unreadable *constant_unreadable = &informer->unreadable;
    memcpy(&unreadable, &constant_unreadable, sizeof unreadable); /* not const, as above */
    health.unreadable = ki_unreadable_describe(unreadable, health.unreadable_message, sizeof health.unreadable_message);
    ki_health_describe(&health, failed, &informer->resource, informer->namespace_name);
    memcpy(ret_health, &health, size < sizeof health ? size : sizeof health);
}

const char *ki_informer_why(const ki_informer *informer, char why[KI_INFORMER_WHY_MAX]) {
    ki_health health;
    ki_informer_health(informer, &health);
    snprintf(why, KI_INFORMER_WHY_MAX, "%s%s%s", ki_state_name(health.state), health.message[0] ? ": " : "",
             health.message);
    return why;
}

/* recorder.c: the oracle of the event recorder: each recorded event is sent, filtered, dropped or failed, and the
 * cluster does not count more events than were recorded. */
#include "sim/controllers/world.h"

#include <inttypes.h>

/* Returns the sum of the counts of all Events in the cluster. An Event without a count counts once. */
static uint64_t count_events(const ctl_world *world) {
    size_t cursor = 0;
    uint64_t sum = 0;
    ki_str key, json;
    while (kt_cluster_next(world->server.cluster, KI_EVENTS, &cursor, &key, &json)) {
        int64_t count = ctl_json_number(json, "\"count\":");
        sum += count > 0 ? (uint64_t)count : 1;
    }
    return sum;
}

void ctl_recorder_check(ctl_process *process) {
    ctl_world *world = process->world;
    ki_event_recorder_counts counts;
    if (!process->recorder)
        return;
    ki_event_recorder_count(process->recorder, &counts);
    if (counts.recorded != process->recorded_events)
        ctl_fail(world, "process %u: recorded %" PRIu64 " events, but the recorder counts %" PRIu64, process->index,
                 process->recorded_events, counts.recorded);
    if (counts.queued)
        ctl_fail(world, "process %u: %zu events are still queued", process->index, counts.queued);
    if (world->plan.events_v1)
        return; /* an event that only raises the count of its series is in no other counter */
    if (counts.recorded != counts.sent + counts.dropped + counts.filtered + counts.failed)
        ctl_fail(world,
                 "process %u: %" PRIu64 " events, but %" PRIu64 " sent, %" PRIu64 " dropped, %" PRIu64
                 " filtered, %" PRIu64 " failed",
                 process->index, counts.recorded, counts.sent, counts.dropped, counts.filtered, counts.failed);
    uint64_t in_cluster = count_events(world);
    if (in_cluster > world->recorded_events)
        ctl_fail(world, "the cluster counts %" PRIu64 " events, but %" PRIu64 " were recorded", in_cluster,
                 world->recorded_events);
}

/* recorded.c: the oracle of the event recorder: each event that the program records is sent, counted in another one, or counted as lost; none is
 * counted twice. */
#include "sim/controllers/world.h"

#include <inttypes.h>

/* Adds up the counts of all Events in the cluster; an Event without a count counts once. */
static uint64_t count_events(const ctl_world *world) {
    size_t cursor = 0;
    uint64_t sum = 0;
    ki_str key, json;
    while (kt_cluster_next(world->server.cluster, KI_EVENTS, &cursor, &key, &json)) {
        int64_t count = ctl_number_in(json, "\"count\":");
        sum += count > 0 ? (uint64_t)count : 1;
    }
    return sum;
}

void ctl_recorded_compare(ctl_process *process) {
    ctl_world *world = process->world;
    ki_event_recorder_counts counts;
    if (!process->recorder)
        return;
    ki_event_recorder_count(process->recorder, &counts);
    if (counts.recorded != process->recorded)
        ctl_fail(world, "process %u: %" PRIu64 " events were recorded, %" PRIu64 " are counted", process->index,
                 process->recorded, counts.recorded);
    if (counts.queued)
        ctl_fail(world, "process %u: %zu events still wait", process->index, counts.queued);
    if (world->plan.events_v1)
        return; /* a series is told now and then */
    if (counts.recorded != counts.sent + counts.dropped + counts.filtered + counts.failed)
        ctl_fail(world,
                 "process %u: of %" PRIu64 " events %" PRIu64 " are sent, %" PRIu64 " dropped, %" PRIu64
                 " filtered, %" PRIu64 " failed",
                 process->index, counts.recorded, counts.sent, counts.dropped, counts.filtered, counts.failed);
    uint64_t in_cluster = count_events(world);
    if (in_cluster > world->recorded)
        ctl_fail(world, "the cluster has %" PRIu64 " events, and %" PRIu64 " were recorded", in_cluster,
                 world->recorded);
}

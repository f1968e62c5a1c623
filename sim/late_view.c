/* late_view.c: see late_view.h. Each view reads the number of the write, by a path in other words. */
#include "sim/late_view.h"

#include "sim/world.h"

#include <string.h>

typedef struct late_view {
    const char *n;
} late_view;

static const ki_field fields[SIM_LATE_VIEWS][2] = {
    { KI_FIELD(late_view, n, "metadata.annotations['n']"), KI_FIELD_END },
    { KI_FIELD(late_view, n, ".metadata.annotations.n"), KI_FIELD_END },
    { KI_FIELD(late_view, n, "metadata['annotations'].n"), KI_FIELD_END },
};

void sim_late_view_ask(sim_world *world, uint64_t detail) {
    sim_client *client = &world->client;
    if (!client->factory || !client->informer_count || world->is_fault_free)
        return;
    unsigned index = (unsigned)(detail % client->informer_count);
    sim_informer *informer = &client->informers[index];
    ki_informer *same = NULL;
    ki_error err = KI_ERROR_INIT;
    if (informer->is_removed || informer->plan->keep == KI_KEEP_KEYS || informer->late_views == SIM_LATE_VIEWS)
        return;
    ki_informer_options options = sim_client_informer_options(world, informer->plan);
    options.view = fields[informer->late_views];
    options.shares_view = options.relists_for_view = true;
    ki_status status = ki_factory_informer(client->factory, KI_CONFIGMAPS, &options, &same, &err);
    SIM_TRACE(world, "informer %u: asked for one more view: %s", index, ki_status_name(status));
    if (status == KI_ERR_NO_MEMORY)
        return;
    if (status || same != informer->informer)
        sim_fail(world, "informer %u: a view after the start: %s", index, ki_error_message(&err));
    informer->late_views++;
}

bool sim_late_view_gains(const ki_object *obj, const ki_object *old) {
    for (unsigned i = 0; i < SIM_LATE_VIEWS; i++)
        if (ki_object_view_of(obj, fields[i]) && !ki_object_view_of(old, fields[i]))
            return true;
    return false;
}

/* Returns true if the object has all late views, and each equals the first view. */
static bool has_views(const sim_informer *informer, const ki_object *obj) {
    const sim_view *view = ki_object_view(obj);
    for (unsigned i = 0; i < informer->late_views; i++) {
        const late_view *late = ki_object_view_of(obj, fields[i]);
        if (!late || !late->n != !view->n || (view->n && strcmp(late->n, view->n) != 0))
            return false;
    }
    return true;
}

bool sim_late_view_is_complete(const sim_informer *informer) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer->informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    bool is_complete = true;
    for (const ki_object *obj; is_complete && (obj = ki_snapshot_next(snapshot, &cursor)) != NULL;)
        is_complete = has_views(informer, obj);
    ki_snapshot_free(snapshot);
    return is_complete;
}

/* late_view.h: asks running informers for one more view, and checks that all objects of the cache get it. */
#ifndef SIM_LATE_VIEW_H
#define SIM_LATE_VIEW_H

#include <kinformer/informer.h>

#include <stdint.h>

typedef struct sim_world sim_world;
struct sim_informer;

enum {
    SIM_LATE_VIEWS = 3 /* of one informer */
};

/* Asks the informer that `detail` selects for its next view, if it can have one. */
void sim_late_view_ask(sim_world *world, uint64_t detail);
/* Returns true if `obj` has such a view that `old` lacks. */
bool sim_late_view_gains(const ki_object *obj, const ki_object *old);
/* Returns true if all objects of the informer's cache have the views that it was asked for, with the
 * values of the first view. */
bool sim_late_view_is_complete(const struct sim_informer *informer);

#endif

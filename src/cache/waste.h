/* waste.h: what nobody needs any more and may be very much: released on the loop, a part in each step. Needs no memory of its own. Loop only. */
#ifndef KI_CACHE_WASTE_H
#define KI_CACHE_WASTE_H

#include "src/cache/snapshot.h"
#include "src/engine/engine.h"

typedef struct ki_waste_block ki_waste_block;

typedef struct ki_waste {
    ki_engine *engine;
    ki_task task;
    ki_waste_block *blocks;
    ki_snapshot *snapshots; /* by `next_wasted` */
    ki_snapshot_drain drain;
} ki_waste;

void ki_waste_init(ki_waste *waste, ki_engine *engine);
/* Takes the array over, with a reference to each object in it; NULL places are accepted. Its memory is the engine's allocator's. */
void ki_waste_add_objects(ki_waste *waste, ki_object **objects, size_t count);
/* Takes the reference over; NULL is accepted. */
void ki_waste_add_snapshot(ki_waste *waste, ki_snapshot *snapshot);
/* What is left stays until free. */
void ki_waste_stop(ki_waste *waste);
/* Releases all that is left at once. Any thread, after stop. */
void ki_waste_free(ki_waste *waste);

#endif

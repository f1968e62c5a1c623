/* waste.h: releases large arrays of objects and snapshots on the loop, a part in each step. Allocates nothing. Loop
 * only. */
#ifndef KI_CACHE_WASTE_H
#define KI_CACHE_WASTE_H

#include "src/cache/snapshot.h"
#include "src/engine/engine.h"

typedef struct ki_waste_block ki_waste_block;

typedef struct ki_waste {
    ki_engine *engine;
    ki_task task;
    ki_waste_block *blocks;
    ki_snapshot *snapshots; /* linked by `next_wasted` */
    ki_snapshot_drain drain;
} ki_waste;

void ki_waste_init(ki_waste *waste, ki_engine *engine);
/* Takes the array over, with a reference to each object in it. NULL elements are accepted. The array must come from the
 * engine's allocator. */
void ki_waste_add_objects(ki_waste *waste, ki_object **objects, size_t count);
/* Takes the reference over. NULL is accepted. */
void ki_waste_add_snapshot(ki_waste *waste, ki_snapshot *snapshot);
/* Ends the task. The rest stays until free. */
void ki_waste_stop(ki_waste *waste);
/* Releases the rest at once. Any thread, after stop. */
void ki_waste_free(ki_waste *waste);

#endif

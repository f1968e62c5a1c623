/* waste.c: see waste.h. An array of objects becomes a block of a linked list: its first places hold the block's
 * head. */
#include "src/cache/waste.h"

#include "src/base/memory.h"

struct ki_waste_block {
    ki_waste_block *next;
    size_t count;         /* of `objects` */
    ki_object *objects[]; /* the rest of the array */
};

enum {
    HEAD = sizeof(ki_waste_block) / sizeof(ki_object *) /* places of the array that the block's head takes */
};

static bool is_empty(const ki_waste *waste) {
    return !waste->blocks && !waste->snapshots && !waste->drain.snapshot;
}

/* Releases one object or an empty block. Returns false once nothing is left. */
static bool release_object(ki_waste *waste) {
    ki_waste_block *block = waste->blocks;
    if (!block)
        return false;
    if (block->count > 0) {
        ki_object_unref(block->objects[--block->count]);
        return true;
    }
    waste->blocks = block->next;
    ki_free(ki_engine_allocator(waste->engine), block);
    return true;
}

static void release_some(ki_waste *waste, size_t *units) {
    while (*units > 0 && release_object(waste))
        --*units;
    while (*units > 0 && (waste->snapshots || waste->drain.snapshot)) {
        if (!ki_snapshot_drain_some(&waste->drain, units) || !waste->snapshots || *units == 0)
            continue;
        ki_snapshot *next = waste->snapshots;
        waste->snapshots = next->next_wasted;
        ki_snapshot_drain_begin(&waste->drain, next);
        --*units;
    }
}

static void run(ki_task *task, void *user) {
    ki_waste *waste = user;
    int left = ki_engine_work_left(waste->engine);
    size_t all = left > 0 ? (size_t)left : 1, units = all;
    release_some(waste, &units);
    (void)ki_engine_work(waste->engine, (int)(all - units));
    if (!is_empty(waste))
        ki_task_post(task);
}

void ki_waste_init(ki_waste *waste, ki_engine *engine) {
    *waste = (ki_waste){ .engine = engine };
    ki_task_init(&waste->task, engine, run, waste);
}

void ki_waste_add_objects(ki_waste *waste, ki_object **objects, size_t count) {
    if (count <= HEAD) {
        for (size_t i = 0; i < count; i++)
            ki_object_unref(objects[i]);
        ki_free(ki_engine_allocator(waste->engine), objects);
        return;
    }
    for (size_t i = 0; i < HEAD; i++)
        ki_object_unref(objects[i]);
    ki_waste_block *block = (ki_waste_block *)(void *)objects;
    block->next = waste->blocks;
    block->count = count - HEAD;
    waste->blocks = block;
    ki_task_post(&waste->task);
}

void ki_waste_add_snapshot(ki_waste *waste, ki_snapshot *snapshot) {
    if (!snapshot || !ki_refcount_dec(&snapshot->refs))
        return;
    ki_refcount_init(&snapshot->refs); /* the last reference: no other thread reads the snapshot */
    snapshot->next_wasted = waste->snapshots;
    waste->snapshots = snapshot;
    ki_task_post(&waste->task);
}

void ki_waste_stop(ki_waste *waste) {
    ki_task_cancel(&waste->task);
}

void ki_waste_free(ki_waste *waste) {
    size_t units = SIZE_MAX;
    release_some(waste, &units);
}

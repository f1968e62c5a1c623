/* deferred_free.c: see deferred_free.h. An array of objects becomes a block of a linked list: its first places hold the
 * block's head. */
#include "src/cache/store/deferred_free.h"

#include "src/base/memory.h"

struct ki_deferred_block {
    ki_deferred_block *next;
    size_t count;         /* of `objects` */
    ki_object *objects[]; /* the rest of the array */
};

enum {
    HEAD = sizeof(ki_deferred_block) / sizeof(ki_object *) /* places of the array that the block's head takes */
};

static bool is_empty(const ki_deferred *deferred) {
    return !deferred->blocks && !deferred->snapshots && !deferred->drain.snapshot;
}

/* Releases one object or an empty block. Returns false once nothing is left. */
static bool release_object(ki_deferred *deferred) {
    ki_deferred_block *block = deferred->blocks;
    if (!block)
        return false;
    if (block->count > 0) {
        ki_object_unref(block->objects[--block->count]);
        return true;
    }
    deferred->blocks = block->next;
    ki_free(ki_engine_allocator(deferred->engine), block);
    return true;
}

static void release_some(ki_deferred *deferred, size_t *units) {
    while (*units > 0 && release_object(deferred))
        --*units;
    while (*units > 0 && (deferred->snapshots || deferred->drain.snapshot)) {
        if (!ki_snapshot_drain_some(&deferred->drain, units) || !deferred->snapshots || *units == 0)
            continue;
        ki_snapshot *next = deferred->snapshots;
        deferred->snapshots = next->next_deferred;
        ki_snapshot_drain_begin(&deferred->drain, next);
        --*units;
    }
}

static void run_frees(ki_task *task, void *user) {
    ki_deferred *deferred = user;
    int left = ki_engine_work_left(deferred->engine);
    size_t all = left > 0 ? (size_t)left : 1, units = all;
    release_some(deferred, &units);
    (void)ki_engine_work(deferred->engine, (int)(all - units));
    if (!is_empty(deferred))
        ki_task_post(task);
}

void ki_deferred_init(ki_deferred *deferred, ki_engine *engine) {
    *deferred = (ki_deferred){ .engine = engine };
    ki_task_init(&deferred->task, engine, run_frees, deferred);
}

static void set_server(ki_versions *versions, ki_deferred *server) {
    ki_mutex_lock(&versions->lock);
    versions->deferred = server;
    ki_mutex_unlock(&versions->lock);
}

void ki_deferred_serve(ki_deferred *deferred, const ki_snapshot *of_store) {
    deferred->served = of_store->schema->versions;
    set_server(deferred->served, deferred);
}

/* Releases a reference. Returns true for the last one, which the caller then has: no other thread reads the snapshot.
 * NULL is accepted. */
static bool release_to_last(ki_snapshot *snapshot) {
    if (!snapshot || !ki_refcount_dec(&snapshot->refs))
        return false;
    ki_refcount_init(&snapshot->refs);
    return true;
}

/* Takes over the last reference. */
static void enqueue(ki_deferred *deferred, ki_snapshot *snapshot) {
    snapshot->next_deferred = NULL;
    *(deferred->snapshots ? &deferred->last_snapshot->next_deferred : &deferred->snapshots) = snapshot;
    deferred->last_snapshot = snapshot;
    ki_task_post(&deferred->task);
}

/* Returns what serves the snapshot's store, if the caller is on its loop. */
static ki_deferred *server_of(const ki_snapshot *snapshot) {
    ki_versions *versions = snapshot->schema->versions;
    ki_mutex_lock(&versions->lock); /* ki_deferred_stop takes it too: the engine still exists */
    ki_deferred *deferred = versions->deferred;
    bool is_loop = deferred && ki_engine_on_loop(deferred->engine);
    ki_mutex_unlock(&versions->lock);
    return is_loop ? deferred : NULL;
}

void ki_snapshot_free(ki_snapshot *snapshot) {
    if (!release_to_last(snapshot))
        return;
    ki_deferred *deferred = server_of(snapshot);
    if (deferred)
        enqueue(deferred, snapshot);
    else
        ki_snapshot_unref(snapshot);
}

void ki_deferred_add_objects(ki_deferred *deferred, ki_object **objects, size_t count) {
    if (count <= HEAD) {
        for (size_t i = 0; i < count; i++)
            ki_object_unref(objects[i]);
        ki_free(ki_engine_allocator(deferred->engine), objects);
        return;
    }
    for (size_t i = 0; i < HEAD; i++)
        ki_object_unref(objects[i]);
    ki_deferred_block *block = (ki_deferred_block *)(void *)objects;
    block->next = deferred->blocks;
    block->count = count - HEAD;
    deferred->blocks = block;
    ki_task_post(&deferred->task);
}

void ki_deferred_add_snapshot(ki_deferred *deferred, ki_snapshot *snapshot) {
    if (release_to_last(snapshot))
        enqueue(deferred, snapshot);
}

static void stop_serving(ki_deferred *deferred) {
    if (deferred->served)
        set_server(deferred->served, NULL);
    deferred->served = NULL;
}

void ki_deferred_stop(ki_deferred *deferred) {
    stop_serving(deferred);
    ki_task_cancel(&deferred->task);
}

void ki_deferred_free(ki_deferred *deferred) {
    size_t units = SIZE_MAX;
    stop_serving(deferred); /* of an informer that was never stopped: making it failed later */
    release_some(deferred, &units);
}

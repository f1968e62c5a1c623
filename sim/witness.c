/* witness.c: see witness.h. The rules come from the documentation of informers, not from their code. */
#include "sim/world.h"

#include "src/cache/informer/informer_parts.h"

#include <stdlib.h>
#include <string.h>

static sim_witness *witness_of(ki_queue *queue) {
    return (sim_witness *)(void *)queue;
}

/* Returns the write that created the object with the state `n`. */
static sim_write *creation_of(const sim_witness *witness, uint64_t n) {
    const sim_truth *truth = &witness->world->truth;
    return &truth->writes[truth->writes[n].creation];
}

bool sim_witness_saw_deletion(const sim_witness *witness, uint64_t n) {
    return creation_of(witness, n)->deletion_seen_in[witness->informer] == witness->world->client.incarnation;
}

bool sim_witness_inferred_deletion(const sim_witness *witness, uint64_t n) {
    return creation_of(witness, n)->deletion_inferred_in[witness->informer] == witness->world->client.incarnation;
}

/* The expected object of the key is gone, and its final state is unknown. */
static void infer_deletion(sim_witness *witness, uint32_t key) {
    creation_of(witness, witness->expected[key])->deletion_inferred_in[witness->informer] =
        witness->world->client.incarnation;
    witness->expected[key] = 0;
}

/* --- the age of the cache ----------------------------------------------------------------------------------------- */

/* Returns the store's state of the key. */
static uint64_t stored(const sim_witness *witness, uint32_t key) {
    const sim_informer *informer = &witness->world->client.informers[witness->informer];
    ki_object *obj = ki_informer_get(informer->informer, sim_key_text(key));
    uint32_t same;
    uint64_t n = obj ? sim_truth_read(witness->world, obj, &same) : 0;
    ki_object_unref(obj);
    return n;
}

/* Forgets the changes that a store with the state `present` has: all up to the last one that leads to it. */
static void settle(sim_witness *witness, uint32_t key, uint64_t present) {
    sim_pending *pending = witness->pending[key];
    size_t count = witness->pending_count[key], has = count;
    while (has > 0 && pending[has - 1].state != present)
        has--;
    if (has)
        memmove(pending, pending + has, (count - has) * sizeof *pending);
    witness->pending_count[key] = count - has;
}

/* Records that the store lacks a change of the key, which leads to the state `n`. */
static void mark_pending(sim_witness *witness, uint32_t key, uint64_t n) {
    settle(witness, key, stored(witness, key));
    size_t count = witness->pending_count[key];
    witness->pending[key] = sim_realloc(witness->pending[key], (count + 1) * sizeof **witness->pending);
    witness->pending[key][count] = (sim_pending){ n, witness->fresh_at };
    witness->pending_count[key]++;
}

void sim_witness_note_event(sim_witness *witness, int64_t arrived_at) {
    if (arrived_at > witness->fresh_at)
        witness->fresh_at = arrived_at;
}

int64_t sim_witness_fresh_at(sim_witness *witness, const uint64_t present[SIM_KEYS]) {
    int64_t fresh = witness->fresh_at;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        settle(witness, key, present[key]);
        if (witness->pending_count[key] && witness->pending[key]->fresh_before < fresh)
            fresh = witness->pending[key]->fresh_before;
    }
    return fresh;
}

void sim_witness_note_current(sim_witness *witness, int64_t arrived_at) {
    if (arrived_at > witness->current_at)
        witness->current_at = arrived_at;
}

/* The client has read a change. */
static void note_change(sim_witness *witness) {
    for (const sim_exchange *at = witness->world->network.first; at; at = at->next)
        if (at->call && at->is_watch && !at->is_beside && at->informer == witness->informer)
            sim_witness_note_current(witness, at->reading_at);
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static uint64_t version_of(const ki_object *obj) {
    return strtoull(ki_object_resource_version(obj), NULL, 10);
}

static bool is_same_object(const sim_witness *witness, uint64_t a, uint64_t b) {
    return strcmp(witness->world->truth.writes[a].uid, witness->world->truth.writes[b].uid) == 0;
}

/* Sets the expected state. Another object of the same name means that the earlier one was deleted, with an unknown
 * final state. */
static void set_expected(sim_witness *witness, uint32_t key, uint64_t n, uint64_t version) {
    if (witness->expected[key] && !is_same_object(witness, witness->expected[key], n))
        infer_deletion(witness, key);
    witness->expected[key] = n;
    witness->version[key] = version;
}

static void expect_state(sim_witness *witness, const ki_object *obj) {
    uint32_t key;
    uint64_t n = sim_truth_read(witness->world, obj, &key), version = version_of(obj);
    witness->has_queued = true;
    if (!n)
        return;
    uint64_t expected = witness->expected[key];
    if (expected && (n == expected || version < witness->version[key] ||
                     (version == witness->version[key] && is_same_object(witness, expected, n))))
        return; /* a repeated event */
    if (!expected && version <= witness->version[key])
        witness->world->truth.keys[key].may_reappear = true; /* an ADDED of an unknown key is what it says */
    mark_pending(witness, key, n);
    set_expected(witness, key, n, version);
    note_change(witness);
}

static void expect_deletion(sim_witness *witness, const ki_object *obj) {
    uint32_t key;
    uint64_t n = sim_truth_read(witness->world, obj, &key);
    witness->has_queued = true;
    if (!n)
        return;
    /* Even if a list without the object was queued before: the deletion can still be merged with it in the queue. */
    creation_of(witness, n)->deletion_seen_in[witness->informer] = witness->world->client.incarnation;
    if (!witness->expected[key] || version_of(obj) < witness->version[key])
        return;
    mark_pending(witness, key, 0);
    if (!is_same_object(witness, witness->expected[key], n))
        infer_deletion(witness, key);
    witness->expected[key] = 0;
    note_change(witness);
}

/* Returns true if the list is of the key's namespace. */
static bool is_of_list(const ki_listing *list, uint32_t key) {
    const char *text = sim_key_text(key);
    size_t size = strcspn(text, "/");
    return !list->namespace_name ||
           (strlen(list->namespace_name) == size && strncmp(text, list->namespace_name, size) == 0);
}

/* Returns true if the list has no readable state of the object: the informer keeps the cached one. */
static bool is_kept(const ki_listing *list, uint32_t key) {
    bool is_kept = list->keeps_all;
    for (size_t i = 0; !is_kept && i < list->kept_count; i++)
        is_kept = strcmp(list->kept[i], sim_key_text(key)) == 0;
    return is_kept;
}

/* Expects the objects of a list, and infers the deletion of all others. */
static void expect_list(sim_witness *witness, const ki_listing *list) {
    ki_object *const *objects = list->objects;
    size_t count = list->count;
    const sim_source *source = &witness->world->client.informers[witness->informer].source;
    uint64_t listed[SIM_KEYS] = { 0 }, versions[SIM_KEYS] = { 0 };
    for (size_t i = 0; i < count; i++) {
        uint32_t key;
        uint64_t n = sim_truth_read(witness->world, objects[i], &key);
        if (n) {
            listed[key] = n;
            versions[key] = version_of(objects[i]);
        }
    }
    bool is_set = witness->world->client.informers[witness->informer].plan->is_set;
    for (uint32_t key = 0; key < SIM_KEYS; key++) {
        if (!is_of_list(list, key))
            continue;
        if (!listed[key] && is_kept(list, key)) {
            /* The kept state is from before a restore: any further state is newer. */
            uint64_t kept = witness->expected[key];
            if (witness->version[key] > strtoull(list->resource_version, NULL, 10) ||
                (kept && witness->world->truth.writes[kept].is_lost))
                witness->version[key] = 0;
            continue;
        }
        if (listed[key] && !witness->expected[key] && !list->resource_version[0] &&
            versions[key] <= witness->version[key])
            witness->world->truth.keys[key].may_reappear = true; /* nothing shows that the server lags behind */
        if (listed[key] != witness->expected[key])
            mark_pending(witness, key, listed[key]);
        if (listed[key])
            set_expected(witness, key, listed[key], versions[key]);
        else if (witness->expected[key])
            infer_deletion(witness, key);
    }
    for (uint32_t key = 0; key < SIM_KEYS && is_set && list->is_initial; key++) {
        if (is_of_list(list, key))
            witness->first_list[key] = listed[key];
    }
    if (!witness->has_queued && !is_set)
        memcpy(witness->first_list, listed, sizeof listed);
    witness->has_queued = witness->has_list = true;
    witness->lists++;
    witness->items += count;
    witness->streaming_lists += source->is_streaming;
    if (source->list_began_at > witness->fresh_at)
        witness->fresh_at =
            source->list_began_at; /* of a streaming list, up to the arrival of its last event (frame.c) */
    sim_witness_note_current(witness, source->list_began_at);
    witness->is_uncertain = false;
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

/* A change that the queue rejected leaves the age uncertain. Returns `status`. */
static ki_status note_status(sim_witness *witness, ki_status status) {
    witness->is_uncertain = witness->is_uncertain || status;
    return status;
}

/* The deletion event was unreadable: the object is gone, and its final state is unknown. */
static void expect_unknown_deletion(sim_witness *witness, const ki_object *obj) {
    uint32_t key;
    if (!sim_truth_read(witness->world, obj, &key) || !witness->expected[key])
        return;
    mark_pending(witness, key, 0);
    infer_deletion(witness, key);
}

static ki_status witness_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    sim_witness *witness = witness_of(queue);
    ki_status status = witness->inner->ops->put(witness->inner, change, err);
    if (!status && change->type != KI_EVENT_DELETE)
        expect_state(witness, change->obj);
    else if (!status && change->final_state_unknown)
        expect_unknown_deletion(witness, change->obj);
    else if (!status)
        expect_deletion(witness, change->obj);
    return note_status(witness, status);
}

static ki_status witness_replace(ki_queue *queue, const ki_listing *list, ki_error *err) {
    sim_witness *witness = witness_of(queue);
    ki_status status = witness->inner->ops->replace(witness->inner, list, err);
    if (!status)
        expect_list(witness, list);
    return note_status(witness, status);
}

static ki_status witness_resync(ki_queue *queue, ki_error *err) {
    sim_witness *witness = witness_of(queue);
    return witness->inner->ops->resync(witness->inner, err);
}

static ki_status witness_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    sim_witness *witness = witness_of(queue);
    witness->inner->slice = queue->slice;
    ki_status status = witness->inner->ops->pop(witness->inner, process, user, err);
    queue->work = witness->inner->work;
    queue->stays_first = witness->inner->stays_first;
    queue->failed = witness->inner->failed;
    return status;
}

static bool witness_is_resyncing(const ki_queue *queue) {
    const sim_witness *witness = (const sim_witness *)(const void *)queue;
    return witness->inner->ops->is_resyncing(witness->inner);
}

static void witness_close(ki_queue *queue) {
    sim_witness *witness = witness_of(queue);
    witness->inner->ops->close(witness->inner);
    queue->is_closed = true;
}

static bool witness_has_synced(const ki_queue *queue) {
    const sim_witness *witness = (const sim_witness *)(const void *)queue;
    return witness->inner->ops->has_synced(witness->inner);
}

static size_t witness_length(const ki_queue *queue) {
    const sim_witness *witness = (const sim_witness *)(const void *)queue;
    return witness->inner->ops->length(witness->inner);
}

static void witness_free(ki_queue *queue) {
    sim_witness *witness = witness_of(queue);
    witness->inner->ops->free(witness->inner);
    for (uint32_t key = 0; key < SIM_KEYS; key++)
        free(witness->pending[key]);
}

static void on_ready(void *user) {
    sim_witness *witness = user;
    if (witness->queue.ready)
        witness->queue.ready(witness->queue.ready_user);
}

void sim_witness_init(sim_witness *witness, sim_world *world, unsigned informer, ki_queue *inner) {
    static const ki_queue_ops ops = {
        .put = witness_put,
        .replace = witness_replace,
        .resync = witness_resync,
        .is_resyncing = witness_is_resyncing,
        .pop = witness_pop,
        .close = witness_close,
        .has_synced = witness_has_synced,
        .length = witness_length,
        .free = witness_free,
    };
    *witness = (sim_witness){ .queue = { .ops = &ops },
                              .inner = inner,
                              .world = world,
                              .informer = informer,
                              .fresh_at = SIM_NEVER,
                              .current_at = SIM_NEVER };
    inner->ready = on_ready;
    inner->ready_user = witness;
}

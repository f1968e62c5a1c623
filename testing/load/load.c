/* load.c: see load.h. What changes next, and the steps of the pods. Pods between two steps wait in a queue. */
#include "testing/load/state.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster/storage.h"

#include <stdio.h>

enum {
    PODS_MAX = 5000000,
    NODES_MAX = 100000,
    PODS_OF_A_NODE = 30,
    PODS_OF_AN_EVENT = 2, /* slots of events: for each second pod */
    WEEKS_3_S = 3 * 7 * 24 * 3600,
    MOST_OF_A_START_S = 120
};

/* Chances in KT_LOAD_CHANCES: what changes. The rest are changes of pods. */
enum {
    CHANCE_SLICE = 128, /* while an EndpointSlice is out of date */
    CHANCE_NODE = 16,
    CHANCE_LEASE = 96,
    CHANCE_EVENT = 96,
    CHANCE_ADVANCE = 512 /* the next step of a pod, while one is between two steps */
};

/* Chances in KT_LOAD_CHANCES: what a ready pod does. */
enum {
    CHANCE_DELETE = 152,
    CHANCE_UNREADY = 272, /* it is ready again with its next change */
    CHANCE_CRASH = 472,
    CHANCE_LABEL = 600 /* otherwise its annotation changes */
};

/* Chances in 1000: how a pod of the initial objects is. */
enum {
    INITIAL_CRASHING = 20,
    INITIAL_UNREADY = 35,
    INITIAL_UNSCHEDULABLE = 45,
    INITIAL_WITHOUT_IMAGE = 55,
    INITIAL_EVICTED = 60,
    INITIAL_RESTARTED = 140,
    INITIAL_MARKED = 240,
    INITIAL_FAILED_JOB = 60,
    INITIAL_RUNNING_JOB = 160
};

/* ---- for the other files ---- */

uint64_t kt_load_draw(kt_load *load) {
    return kt_load_mix(load->seed, load->draws++);
}

size_t kt_load_below(kt_load *load, size_t bound) {
    return (size_t)(kt_load_draw(load) % bound);
}

void kt_load_add(const kt_load *load, ki_buffer *out, kt_load_template which, const kt_load_fields *fields) {
    kt_load_append(out, load->templates[which], fields);
}

void kt_load_begin(kt_load *load) {
    ki_buffer_reset(&load->body, KT_LOAD_TEXT_KEPT);
    ki_buffer_reset(&load->status, KT_LOAD_TEXT_KEPT);
    ki_buffer_reset(&load->managed, KT_LOAD_TEXT_KEPT);
}

/* Returns where managedFields stand in the body. */
static size_t managed_at(const kt_load *load) {
    const char *at = load->body.failed ? NULL : memmem(load->body.data, load->body.size, "`M", 2);
    return at ? (size_t)(at - load->body.data) : load->body.size;
}

ki_status kt_load_put_managed(kt_load *load, const ki_resource *resource, int64_t now_ms, ki_error *err) {
    size_t at = managed_at(load), after = at + 2 < load->body.size ? at + 2 : load->body.size;
    ki_buffer *text = &load->text;
    ki_buffer_reset(text, KT_LOAD_TEXT_KEPT);
    ki_buffer_append_char(text, '{');
    ki_buffer_append(text, load->body.data, at);
    if (load->managed.size)
        ki_buffer_printf(text, ",\"managedFields\":[%s]", load->managed.data);
    ki_buffer_append(text, load->body.data + after, load->body.size - after);
    if (load->status.size)
        ki_buffer_printf(text, ",%s", load->status.data);
    ki_buffer_append_char(text, '}');
    if (load->body.failed || load->status.failed || load->managed.failed || text->failed)
        return ki_error_no_memory(err, "making an object of the load");
    return kt_cluster_put_json(load->cluster, resource, (ki_str){ text->data, text->size }, now_ms, NULL, err);
}

ki_status kt_load_put(kt_load *load, const ki_resource *resource, const char *spec_writer, const char *status_writer,
                      int64_t now_ms, ki_error *err) {
    if (load->managed_fields && !load->body.failed && !load->status.failed) {
        size_t at = managed_at(load);
        ki_buffer spec;
        ki_buffer_init(&spec, &load->allocator, 0);
        ki_buffer_append(&spec, load->body.data, at);
        if (at < load->body.size)
            ki_buffer_append(&spec, load->body.data + at + 2, load->body.size - at - 2);
        if (spec.failed)
            load->managed.failed = spec.failed;
        else
            kt_load_add_managed(load, resource, spec_writer, "", now_ms, KI_STR(""), (ki_str){ spec.data, spec.size });
        if (status_writer)
            kt_load_add_managed(load, resource, status_writer, "status", now_ms, KI_STR(""),
                                (ki_str){ load->status.data, load->status.size });
        ki_buffer_free(&spec);
    }
    return kt_load_put_managed(load, resource, now_ms, err);
}

ki_status kt_load_delete(kt_load *load, const ki_resource *resource, const char *ns, const char *name, int64_t now_ms,
                         ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_status status = kt_cluster_delete(load->cluster, resource, ns, name, now_ms, &cause);
    if (status == KI_ERR_NOT_FOUND)
        return KI_OK; /* a client deleted it first */
    if (status && err)
        *err = cause;
    return status;
}

ki_str kt_load_uid(const kt_load *load, const ki_resource *resource, const char *ns, const char *name) {
    const kt_object *obj =
        kt_storage_get(kt_storage_of(load->cluster, resource), ns ? ki_str_of(ns) : KI_STR(""), ki_str_of(name));
    return obj ? obj->uid : KI_STR("");
}

/* ---- the steps of a pod ---- */

static bool is_of_cron_job(const kt_load *load, const kt_load_pod *p) {
    return load->workloads[p->workload].app->owner == KT_LOAD_OF_CRON_JOB;
}

static bool is_of_job(const kt_load *load, const kt_load_pod *p) {
    return is_of_cron_job(load, p) || load->workloads[p->workload].app->owner == KT_LOAD_OF_JOB;
}

static bool is_in_cluster(const kt_load *load, size_t index) {
    const kt_load_pod *p = &load->pods[index];
    char name[KT_LOAD_NAME];
    kt_load_pod_name(load, p, index, name);
    return kt_load_uid(load, KI_PODS, load->workloads[p->workload].app->namespace_name, name).size > 0;
}

/* Gives a pod a number that no other has had. Its name and digits follow from it, and the name of a CronJob's Job. */
static void renumber(kt_load *load, kt_load_pod *p) {
    p->number = load->next_number++;
}

static void start_pod(kt_load *load, kt_load_pod *p, int64_t made_s) {
    size_t index = (size_t)(p - load->pods);
    const kt_load_workload *w = &load->workloads[p->workload];
    uint32_t number = p->number;
    *p = (kt_load_pod){ .workload = p->workload, .moving = p->moving, .number = number };
    size_t nodes = load->node_count ? load->node_count : 1;
    p->node = (uint32_t)(w->app->owner == KT_LOAD_OF_DAEMON_SET ? (index - w->first_pod) % nodes
                                                                : kt_load_below(load, nodes));
    p->made_s = p->started_s = p->changed_s = made_s;
    p->step = KT_LOAD_PENDING;
}

static uint8_t seconds_since(const kt_load *load, const kt_load_pod *p) {
    int64_t seconds = load->now_s - p->made_s;
    return (uint8_t)(seconds < 0 ? 0 : seconds > UINT8_MAX ? UINT8_MAX : seconds);
}

/* Notes the times of a step. */
static void enter(kt_load *load, kt_load_pod *p, kt_load_step step) {
    bool was_ready = p->ready;
    p->step = (uint8_t)step;
    p->ready = step == KT_LOAD_READY;
    if (step == KT_LOAD_SCHEDULED)
        p->after[0] = seconds_since(load, p);
    if (step == KT_LOAD_STARTING || step == KT_LOAD_INITIALIZING)
        p->after[1] = p->after[2] = seconds_since(load, p);
    if (step == KT_LOAD_STARTED) {
        p->after[2] = seconds_since(load, p);
        p->started_s = load->now_s;
    }
    if (p->ready != was_ready || step == KT_LOAD_SUCCEEDED || step == KT_LOAD_FAILED)
        p->changed_s = load->now_s;
}

static kt_load_step next_step(const kt_load *load, const kt_load_pod *p) {
    kt_load_step next = (kt_load_step)(p->step + 1);
    return next == KT_LOAD_INITIALIZING && !load->workloads[p->workload].app->has_init ? KT_LOAD_STARTED : next;
}

/* Moves a pod that is not in the cluster to its next step. */
static ki_status replace(kt_load *load, size_t index, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    kt_load_pod *p = &load->pods[index];
    const kt_load_workload *w = &load->workloads[p->workload];
    char job[KT_LOAD_NAME];
    if (is_of_cron_job(load, p) && p->step != KT_LOAD_WITH_JOB) {
        kt_load_job_name(load, p, job);
        if (p->step != KT_LOAD_WITHOUT_JOB && kt_load_uid(load, KI_JOBS, w->app->namespace_name, job).size) {
            p->step = KT_LOAD_WITHOUT_JOB;
            return kt_load_delete(load, KI_JOBS, w->app->namespace_name, job, now_ms, err);
        }
        renumber(load, p);
        kt_load_job_name(load, p, job);
        p->step = KT_LOAD_WITH_JOB;
        return kt_load_put_job(load, w, job, 1, now_ms, err);
    }
    if (p->step != KT_LOAD_WITH_JOB)
        renumber(load, p);
    start_pod(load, p, load->now_s);
    return kt_load_put_pod(load, index, now_ms, stamp_ns, err);
}

/* Moves the pod that has waited longest to its next step. Replaces a pod that a client has deleted, as its owner
 * does. */
static ki_status advance(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    uint32_t index = 0;
    ki_status status;
    if (!ki_ring_pop(&load->moving, &index))
        return KI_OK;
    kt_load_pod *p = &load->pods[index];
    bool had_address = kt_load_has_address(p);
    p->moving = false;

    if (p->step == KT_LOAD_DELETING) {
        char name[KT_LOAD_NAME];
        kt_load_pod_name(load, p, index, name);
        p->step = KT_LOAD_GONE;
        status = kt_load_delete(load, KI_PODS, load->workloads[p->workload].app->namespace_name, name, now_ms, err);
    } else if (p->step < KT_LOAD_PENDING || !is_in_cluster(load, index)) {
        status = replace(load, index, now_ms, stamp_ns, err);
    } else {
        p->failing = false;
        enter(load, p, next_step(load, p));
        status = kt_load_put_pod(load, index, now_ms, stamp_ns, err);
    }
    p->moving = p->step != KT_LOAD_READY;
    if ((p->moving && ki_ring_push(&load->moving, &index)) ||
        ((had_address || kt_load_has_address(p)) && kt_load_outdate(load, index)))
        return ki_error_no_memory(err, "running the load");
    return status;
}

/* What happens to a pod that is ready. */
static void disturb_ready(kt_load *load, kt_load_pod *p) {
    size_t chance = kt_load_below(load, KT_LOAD_CHANCES);
    if (!p->ready) {
        enter(load, p, KT_LOAD_READY);
    } else if (chance < CHANCE_UNREADY && chance >= CHANCE_DELETE) {
        p->ready = false;
        p->changed_s = load->now_s;
    } else if (chance < CHANCE_CRASH && chance >= CHANCE_DELETE) {
        p->restarts++;
        p->failing = true;
        enter(load, p, KT_LOAD_STARTED);
    } else if (chance < CHANCE_DELETE && is_of_job(load, p)) {
        enter(load, p, chance % 8 ? KT_LOAD_SUCCEEDED : KT_LOAD_FAILED);
    } else if (chance < CHANCE_DELETE) {
        enter(load, p, KT_LOAD_DELETING);
    } else {
        p->marks++;
        p->is_labelled = p->is_labelled || chance < CHANCE_LABEL;
    }
}

/* Changes a pod that is between no two steps. */
static ki_status disturb(kt_load *load, uint32_t index, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    kt_load_pod *p = &load->pods[index];
    kt_load_step step = (kt_load_step)p->step;
    char name[KT_LOAD_NAME];
    bool is_here = is_in_cluster(load, index), was_ready = p->ready;
    ki_status status = KI_OK;

    if (!is_here) {
        p->step = KT_LOAD_GONE;
        p->failing = false;
    } else if (step == KT_LOAD_SUCCEEDED || step == KT_LOAD_FAILED) {
        kt_load_pod_name(load, p, index, name);
        p->step = KT_LOAD_GONE;
        status = kt_load_delete(load, KI_PODS, load->workloads[p->workload].app->namespace_name, name, now_ms, err);
    } else if (step == KT_LOAD_READY) {
        disturb_ready(load, p);
    } else if (step == KT_LOAD_STARTING && kt_load_below(load, 2)) {
        p->marks++; /* another message */
    } else {
        p->failing = false;
        if (step == KT_LOAD_STARTED)
            p->started_s = load->now_s;
        else
            enter(load, p, next_step(load, p));
    }
    bool rests = p->step == KT_LOAD_READY || p->step == KT_LOAD_SUCCEEDED || p->step == KT_LOAD_FAILED ||
                 (p->step == KT_LOAD_STARTING && p->failing);
    if (!rests && !p->moving) {
        p->moving = !ki_ring_push(&load->moving, &index);
        status = p->moving ? status : ki_error_no_memory(err, "running the load");
    }
    if (!status && (p->ready != was_ready || p->step != step) && kt_load_outdate(load, index))
        status = ki_error_no_memory(err, "running the load");
    if (status || (p->step == KT_LOAD_GONE && is_here))
        return status;
    return p->step == KT_LOAD_GONE ? advance(load, now_ms, stamp_ns, err)
                                   : kt_load_put_pod(load, index, now_ms, stamp_ns, err);
}

ki_status kt_load_settle(kt_load *load, int64_t now_ms, ki_error *err) {
    ki_status status = KI_OK;
    bool written;
    load->now_s = now_ms / 1000;
    while (!status && load->outdating.count)
        status = kt_load_update_slice(load, now_ms, &written, err);
    return status;
}

ki_status kt_load_change(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    size_t chance = kt_load_below(load, KT_LOAD_CHANCES);
    load->now_s = now_ms / 1000;
    if (load->outdating.count && kt_load_below(load, KT_LOAD_CHANCES) < CHANCE_SLICE) {
        bool written;
        ki_status status = kt_load_update_slice(load, now_ms, &written, err);
        if (status || written)
            return status;
    }
    if (load->node_count && (!load->pod_count || chance < CHANCE_NODE + CHANCE_LEASE)) {
        uint32_t node = (uint32_t)kt_load_below(load, load->node_count);
        return (load->pod_count ? chance < CHANCE_NODE : chance % 2) ? kt_load_put_node(load, node, now_ms, err)
                                                                     : kt_load_put_lease(load, node, now_ms, err);
    }
    if (!load->pod_count)
        return KI_OK;
    if (chance < CHANCE_NODE + CHANCE_LEASE + CHANCE_EVENT)
        return kt_load_change_event(load, now_ms, err);
    uint32_t index = (uint32_t)kt_load_below(load, load->pod_count);
    if (load->pods[index].moving || (load->moving.count && chance >= KT_LOAD_CHANCES - CHANCE_ADVANCE))
        return advance(load, now_ms, stamp_ns, err);
    return disturb(load, index, now_ms, stamp_ns, err);
}

/* ---- start ---- */

/* How a pod is that has run for a while, or fails to. */
static void set_initial(kt_load *load, kt_load_pod *p) {
    size_t chance = kt_load_below(load, 1000);
    p->after[0] = (uint8_t)kt_load_below(load, 2);
    p->after[1] = (uint8_t)(p->after[0] + 1 + kt_load_below(load, 4));
    p->after[2] = (uint8_t)(p->after[1] + kt_load_below(load, 12));
    p->started_s = p->made_s + p->after[2] + 1 + (int64_t)kt_load_below(load, 20);
    p->changed_s = p->started_s + 3 + (int64_t)kt_load_below(load, 40);
    p->step = KT_LOAD_READY;
    if (is_of_job(load, p)) {
        p->step = chance < INITIAL_FAILED_JOB    ? KT_LOAD_FAILED
                  : chance < INITIAL_RUNNING_JOB ? KT_LOAD_READY
                                                 : KT_LOAD_SUCCEEDED;
        p->ready = p->step == KT_LOAD_READY;
        return;
    }
    p->ready = chance >= INITIAL_EVICTED;
    p->failing = chance < INITIAL_CRASHING || (chance >= INITIAL_UNREADY && chance < INITIAL_WITHOUT_IMAGE);
    if (chance < INITIAL_CRASHING)
        p->step = KT_LOAD_STARTED;
    else if (chance >= INITIAL_UNREADY && chance < INITIAL_UNSCHEDULABLE)
        p->step = KT_LOAD_PENDING;
    else if (chance >= INITIAL_UNSCHEDULABLE && chance < INITIAL_WITHOUT_IMAGE)
        p->step = KT_LOAD_STARTING;
    else if (chance >= INITIAL_WITHOUT_IMAGE && chance < INITIAL_EVICTED)
        p->step = KT_LOAD_FAILED;
    else if (p->ready && chance >= INITIAL_RESTARTED && chance < INITIAL_MARKED)
        p->marks = 1 + (uint32_t)kt_load_below(load, 100);
    if (chance < INITIAL_CRASHING || (p->ready && chance < INITIAL_RESTARTED)) {
        p->restarts = 1 + (uint32_t)kt_load_below(load, 5);
        p->started_s += (int64_t)kt_load_below(load, (size_t)(load->now_s - p->started_s) + 1);
        p->changed_s = p->started_s + (int64_t)kt_load_below(load, 40);
    }
}

static ki_status make_pod(kt_load *load, size_t index, ki_error *err) {
    kt_load_pod *p = &load->pods[index];
    const kt_load_workload *w = &load->workloads[p->workload];
    int64_t age_s = load->now_s - w->made_s - MOST_OF_A_START_S, made_s = w->made_s;
    char job[KT_LOAD_NAME];
    ki_status status = KI_OK;
    if (age_s > 0 && (is_of_cron_job(load, p) || kt_load_below(load, 3) == 0))
        made_s += (int64_t)kt_load_below(load, (size_t)age_s); /* it has been replaced since */
    else if (age_s > 0)
        made_s += (int64_t)kt_load_below(load, (size_t)w->pod_count * 2 + 1) % age_s;
    renumber(load, p);
    if (is_of_cron_job(load, p)) {
        kt_load_job_name(load, p, job);
        status = kt_load_put_job(load, w, job, 1, made_s * 1000, err);
    }
    start_pod(load, p, made_s);
    set_initial(load, p);
    if (!status)
        status = kt_load_put_pod(load, index, p->made_s * 1000, 0, err);
    if (!status && p->step == KT_LOAD_STARTED && p->failing) /* its message has the pod's uid */
        status = kt_load_put_pod(load, index, p->made_s * 1000, 0, err);
    if (!status && kt_load_outdate(load, index))
        status = ki_error_no_memory(err, "making the load");
    return status;
}

static ki_status make_objects(kt_load *load, int64_t now_ms, ki_error *err) {
    ki_status status = KI_OK;
    for (uint32_t i = 0; i < load->node_count && !status; i++) {
        load->nodes[i] = (kt_load_node){ .made_s = load->now_s - (int64_t)kt_load_below(load, WEEKS_3_S) };
        status = kt_load_put_node(load, i, load->nodes[i].made_s * 1000, err);
        if (!status)
            status = kt_load_put_lease(load, i, now_ms, err);
    }
    for (size_t i = 0; i < load->workload_count && !status; i++)
        status = kt_load_make_workload(load, &load->workloads[i], err);
    for (size_t i = 0; i < load->pod_count && !status; i++)
        status = make_pod(load, i, err);
    for (size_t i = 0; i < load->event_count / 2 && !status; i++)
        status = kt_load_change_event(load, now_ms, err);
    return status ? status : kt_load_settle(load, now_ms, err);
}

static ki_status reserve(kt_load *load, const char *stamp, ki_error *err) {
    if (load->pod_count) {
        load->event_count = load->pod_count / PODS_OF_AN_EVENT + 1;
        load->pods = ki_alloc_zero(&load->allocator, load->pod_count * sizeof *load->pods);
        load->events = ki_alloc_zero(&load->allocator, load->event_count * sizeof *load->events);
        if (!load->pods || !load->events)
            return ki_error_no_memory(err, "making the load");
    }
    if (load->node_count) {
        load->nodes = ki_alloc_array(&load->allocator, load->node_count, sizeof *load->nodes);
        if (!load->nodes)
            return ki_error_no_memory(err, "making the load");
    }
    for (size_t i = 0; i < KT_LOAD_TEMPLATES; i++) {
        load->templates[i] = kt_load_compile(&load->allocator, kt_load_templates[i]);
        if (!load->templates[i])
            return ki_error_no_memory(err, "making the load");
    }
    if (stamp && !(load->stamp = ki_strdup(&load->allocator, stamp)))
        return ki_error_no_memory(err, "making the load");
    return kt_load_plan(load, err);
}

ki_status kt_load_new(const ki_allocator *allocator, kt_cluster *cluster, const kt_load_options *options,
                      int64_t now_ms, kt_load **ret_load, ki_error *err) {
    if (options->pods > PODS_MAX || options->nodes > NODES_MAX) {
        return ki_error_set(err, KI_ERR_LIMIT, "a load has at most %d pods and %d nodes", PODS_MAX, NODES_MAX);
    }
    kt_load *load = ki_alloc_zero(allocator, sizeof *load);
    if (!load)
        return ki_error_no_memory(err, "making the load");
    load->allocator = *allocator;
    load->cluster = cluster;
    load->managed_fields = options->managed_fields;
    load->seed = kt_load_mix(options->seed, 0);
    load->pod_count = options->pods;
    load->node_count = options->nodes;
    load->now_s = now_ms / 1000;
    if (!load->node_count && options->pods)
        load->node_count = options->pods / PODS_OF_A_NODE + 1;
    if (load->node_count > NODES_MAX)
        load->node_count = NODES_MAX;
    ki_ring_init(&load->moving, &load->allocator, sizeof(uint32_t));
    ki_ring_init(&load->outdating, &load->allocator, sizeof(uint32_t));
    for (ki_buffer *buffer = &load->body; buffer <= &load->text; buffer++)
        ki_buffer_init(buffer, &load->allocator, 0);

    ki_status status = reserve(load, options->stamp, err);
    if (!status)
        status = make_objects(load, now_ms, err);
    if (status) {
        kt_load_free(load);
        return status;
    }
    *ret_load = load;
    return KI_OK;
}

void kt_load_free(kt_load *load) {
    if (!load)
        return;
    const ki_allocator allocator = load->allocator;
    for (size_t i = 0; i < load->workload_count && load->workloads; i++) {
        ki_free(&allocator, load->workloads[i].pod_text);
        ki_free(&allocator, load->workloads[i].managed_text);
    }
    ki_free(&allocator, load->pods);
    ki_free(&allocator, load->workloads);
    ki_free(&allocator, load->nodes);
    ki_free(&allocator, load->events);
    ki_free(&allocator, load->stamp);
    for (size_t i = 0; i < KT_LOAD_TEMPLATES; i++)
        ki_free(&allocator, load->templates[i]);
    ki_ring_free(&load->moving);
    ki_ring_free(&load->outdating);
    ki_free(&allocator, load->outdated);
    ki_buffer_free(&load->body);
    ki_buffer_free(&load->status);
    ki_buffer_free(&load->managed);
    ki_buffer_free(&load->text);
    ki_free(&allocator, load);
}

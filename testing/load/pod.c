/* pod.c: the texts of the load's pods, at each step. See state.h. */
#include "testing/load/state.h"

#include "src/base/rfc3339.h"
#include "testing/cluster/storage.h"

#include <stdio.h>

enum {
    SUFFIX_COUNT = 27 * 27 * 27 * 27 * 27,
    SUFFIX_FACTOR = 7368787, /* prime to SUFFIX_COUNT, so that all suffixes occur in a mixed order */
    SUFFIX_FIRST = 5283016,
    FIRST_MINUTE = 29000000, /* of the names of a CronJob's Jobs: minutes since 1970 */
    RESTART_AFTER_S = 3600   /* at most, between the start of a container and its end */
};

void kt_load_write_suffix(uint32_t number, char suffix[KT_LOAD_SUFFIX + 1]) {
    kt_load_write_letters(((uint64_t)number * SUFFIX_FACTOR + SUFFIX_FIRST) % SUFFIX_COUNT, KT_LOAD_SUFFIX, suffix);
}

void kt_load_job_name(const kt_load *load, const kt_load_pod *p, char name[KT_LOAD_NAME]) {
    const kt_load_workload *w = &load->workloads[p->workload];
    if (w->app->owner == KT_LOAD_OF_CRON_JOB)
        snprintf(name, KT_LOAD_NAME, "%s-%u", w->name, FIRST_MINUTE + p->number);
    else
        snprintf(name, KT_LOAD_NAME, "%s", w->name);
}

void kt_load_pod_name(const kt_load *load, const kt_load_pod *p, size_t index, char name[KT_LOAD_NAME]) {
    const kt_load_workload *w = &load->workloads[p->workload];
    char suffix[KT_LOAD_SUFFIX + 1], job[KT_LOAD_NAME];
    kt_load_write_suffix(p->number, suffix);
    switch (w->app->owner) {
    case KT_LOAD_OF_DEPLOYMENT:
        snprintf(name, KT_LOAD_NAME, "%s-%s-%s", w->name, w->hash, suffix);
        break;
    case KT_LOAD_OF_STATEFUL_SET:
        snprintf(name, KT_LOAD_NAME, "%s-%zu", w->name, index - w->first_pod);
        break;
    case KT_LOAD_OF_JOB:
    case KT_LOAD_OF_CRON_JOB:
        kt_load_job_name(load, p, job);
        snprintf(name, KT_LOAD_NAME, "%.57s-%s", job, suffix);
        break;
    default:
        snprintf(name, KT_LOAD_NAME, "%s-%s", w->name, suffix);
        break;
    }
}

void kt_load_set_pod(const kt_load *load, const kt_load_pod *p, size_t index, kt_load_fields *f) {
    uint32_t mixed = p->number * 2654435761u;
    uint64_t block = kt_load_mix(load->seed, p->node); /* of the node's addresses */
    char name[KT_LOAD_NAME];
    kt_load_pod_name(load, p, index, name);
    kt_load_setf(f, 'n', "%s", name);
    kt_load_set_node(p->node, f);
    kt_load_setf(f, 'I', "10.%u.%u.%u", 64 + (mixed >> 16) % 64, mixed >> 8 & 255, mixed & 255);
    kt_load_setf(f, 'J', "fd00:10:244:%x:%x:%x:%x:%x", (unsigned)(block & 0xffff), (unsigned)(block >> 16 & 0xffff),
                 (unsigned)(block >> 32 & 0xffff), 0xf000u, mixed & 0xffff);
}

bool kt_load_has_address(const kt_load_pod *p) {
    return (p->step == KT_LOAD_STARTING && p->failing) || p->step == KT_LOAD_INITIALIZING ||
           p->step == KT_LOAD_STARTED || p->step == KT_LOAD_READY || p->step == KT_LOAD_DELETING;
}

static bool has_ended(const kt_load_pod *p) {
    return p->step == KT_LOAD_SUCCEEDED || p->step == KT_LOAD_FAILED;
}

/* Calico has written the pod's annotations. */
static bool has_network(const kt_load_pod *p) {
    return p->step > KT_LOAD_STARTING || kt_load_has_address(p);
}

static bool is_evicted(const kt_load *load, const kt_load_pod *p) {
    kt_load_owner owner = load->workloads[p->workload].app->owner;
    return p->step == KT_LOAD_FAILED && owner != KT_LOAD_OF_JOB && owner != KT_LOAD_OF_CRON_JOB;
}

/* ---- conditions ---- */

/* Appends a comma if something is before in its array. */
static void add_comma(ki_buffer *out) {
    if (out->size && out->data[out->size - 1] == '}')
        ki_buffer_append_char(out, ',');
}

static void add_condition(kt_load *load, ki_buffer *out, kt_load_fields *f, const char *type, bool status,
                          int64_t time_s, const char *reason) {
    size_t used = f->used;
    kt_load_set(f, '1', type);
    kt_load_set(f, '2', status ? "True" : "False");
    kt_load_set(f, '0', reason);
    kt_load_set_time(f, '3', time_s);
    add_comma(out);
    kt_load_add(load, out, KT_LOAD_CONDITION, f);
    f->used = used;
}

/* Returns why a pod is not ready. */
static const char *unready_reason(const kt_load_app *app, const kt_load_pod *p) {
    if (p->ready)
        return "";
    if (p->step == KT_LOAD_SUCCEEDED)
        return ",\"reason\":\"PodCompleted\"";
    if (p->step == KT_LOAD_FAILED)
        return ",\"reason\":\"PodFailed\"";
    if (app->has_mesh && p->step <= KT_LOAD_INITIALIZING)
        return ",\"reason\":\"ContainersNotReady\",\"message\":\"containers with unready status: [`a istio-proxy]\"";
    return ",\"reason\":\"ContainersNotReady\",\"message\":\"containers with unready status: [`a]\"";
}

/* Appends what the kubelet says of a pod that it has. */
static void add_kubelet_conditions(kt_load *load, const kt_load_pod *p, kt_load_fields *f) {
    const kt_load_app *app = load->workloads[p->workload].app;
    bool has_sandbox = kt_load_has_address(p);
    if (is_evicted(load, p))
        add_condition(load, &load->status, f, "DisruptionTarget", true, p->changed_s,
                      ",\"reason\":\"TerminationByKubelet\",\"message\":\"The node was low on resource: "
                      "ephemeral-storage.\"");
    bool initialized = !app->has_init || p->step > KT_LOAD_INITIALIZING;
    const char *why = initialized ? ""
                                  : ",\"reason\":\"ContainersNotInitialized\",\"message\":\"containers with incomplete "
                                    "status: [migrate]\"";
    int64_t sandbox_s = has_ended(p) ? p->changed_s : p->made_s + p->after[has_sandbox];
    add_condition(load, &load->status, f, "PodReadyToStartContainers", has_sandbox, sandbox_s, "");
    add_condition(load, &load->status, f, "Initialized", initialized, p->made_s + p->after[initialized ? 2 : 0],
                  p->step == KT_LOAD_SUCCEEDED ? unready_reason(app, p) : why);
    add_condition(load, &load->status, f, "Ready", p->ready, p->changed_s, unready_reason(app, p));
    add_condition(load, &load->status, f, "ContainersReady", p->ready, p->changed_s, unready_reason(app, p));
}

static void add_conditions(kt_load *load, const kt_load_pod *p, kt_load_fields *f) {
    if (p->step > KT_LOAD_SCHEDULED)
        add_kubelet_conditions(load, p, f);
    add_condition(load, &load->status, f, "PodScheduled", p->step > KT_LOAD_PENDING, p->made_s + p->after[0],
                  p->step > KT_LOAD_PENDING
                      ? ""
                      : ",\"reason\":\"Unschedulable\",\"message\":\"0/`c nodes are available: `c Insufficient memory. "
                        "preemption: 0/`c nodes are available: `c No preemption victims found for incoming pod.\"");
}

/* ---- containers ---- */

typedef enum state {
    WAITING,
    RUNNING,
    TERMINATED
} state;

typedef struct container {
    const char *name;
    enum {
        MAIN,
        MESH,
        INIT
    } which;
    state state;
    const char *reason, *message; /* of one that waits */
    int64_t started_s;
    bool ready;
} container;

/* Sets the fields of a container that has ended: its run before `restarts`, or the last one. */
static void set_ended(kt_load_fields *f, uint64_t key, uint32_t restarts, bool is_good, int64_t begin_s,
                      int64_t end_s) {
    kt_load_set_hex(f, 'X', kt_load_mix(key, restarts), 64);
    kt_load_set(f, '7', is_good ? "0" : restarts % 3 ? "1" : "137");
    kt_load_set(f, 'U', is_good ? "Completed" : restarts % 3 ? "Error" : "OOMKilled");
    kt_load_set_time(f, 'T', begin_s);
    kt_load_set_time(f, 'V', end_s);
}

static void add_container(kt_load *load, const kt_load_pod *p, const container *c, kt_load_fields *f) {
    size_t used = f->used;
    uint64_t key = kt_load_mix(kt_load_mix(load->seed, p->number), c->which);
    uint32_t restarts = c->which == MAIN ? p->restarts : 0;
    bool is_crashed = c->state == WAITING && restarts, never_ran = c->state == WAITING && !restarts;
    kt_load_setf(f, 'C', "%s", c->name);
    kt_load_set(f, 'E', c->which == MESH ? "registry.example.com/mesh/proxyv2:1.27.3" : "`i:`v");
    kt_load_set(f, 'K', c->ready ? "true" : "false");
    kt_load_set(f, 'z', c->state == RUNNING && p->step != KT_LOAD_STARTING ? "true" : "false");
    kt_load_setf(f, 'y', "%u", restarts);
    kt_load_set(f, 'G', "");
    kt_load_set(f, 'D', "");
    kt_load_set(f, 'Z', "");
    kt_load_set(f, 'R', "");
    if (!never_ran) {
        bool is_small = load->workloads[p->workload].app->is_small;
        kt_load_set(f, 'R', load->templates[is_small ? KT_LOAD_RAN_SMALL : KT_LOAD_RAN + c->which]);
        kt_load_set(f, 'G', c->which == MESH ? "registry.example.com/mesh/proxyv2@sha256:`P" : "`i@sha256:`O");
        kt_load_set_hex(f, 'Q', kt_load_mix(key, restarts - is_crashed), 64);
        kt_load_set(f, 'D', ",\"containerID\":\"containerd://`Q\"");
    }
    if (c->state == WAITING) {
        kt_load_set(f, '1', c->reason);
        kt_load_set(f, '0', c->message);
        kt_load_set(f, 'Y', load->templates[KT_LOAD_WAITING]);
    } else if (c->state == RUNNING) {
        kt_load_set_time(f, '3', c->started_s);
        kt_load_set(f, 'Y', load->templates[KT_LOAD_RUNNING]);
    } else {
        kt_load_set(f, 'Y', load->templates[KT_LOAD_TERMINATED]);
        set_ended(f, key, restarts, c->which == INIT || p->step == KT_LOAD_SUCCEEDED, c->started_s,
                  c->which == INIT ? p->made_s + p->after[2] : p->changed_s);
    }
    if (restarts && c->state != TERMINATED) {
        int64_t end_s = c->started_s - 1 - (is_crashed ? 0 : 10);
        int64_t begin_s = end_s - 1 - (int64_t)(kt_load_mix(key, restarts) % RESTART_AFTER_S);
        set_ended(f, key, restarts - 1, false, begin_s, end_s);
        kt_load_set(f, 'Z', load->templates[KT_LOAD_TERMINATED]);
    }
    add_comma(&load->status);
    kt_load_add(load, &load->status, KT_LOAD_CONTAINER_STATUS, f);
    f->used = used;
}

static void add_containers(kt_load *load, const kt_load_pod *p, kt_load_fields *f) {
    const kt_load_app *app = load->workloads[p->workload].app;
    bool starting = p->step == KT_LOAD_STARTING, initializing = p->step == KT_LOAD_INITIALIZING;
    if (app->has_init) {
        const container init = { .name = "migrate",
                                 .which = INIT,
                                 .state = starting       ? WAITING
                                          : initializing ? RUNNING
                                                         : TERMINATED,
                                 .reason = "PodInitializing",
                                 .message = "",
                                 .started_s = p->made_s + p->after[1],
                                 .ready = !starting && !initializing };
        ki_buffer_append_string(&load->status, ",\"initContainerStatuses\":[");
        add_container(load, p, &init, f);
        ki_buffer_append_char(&load->status, ']');
    }
    const char *reason = app->has_init ? "PodInitializing" : "ContainerCreating";
    container all[2] = { { app->name, MAIN, RUNNING, reason, "", p->started_s, p->ready },
                         { "istio-proxy", MESH, RUNNING, reason, "", p->made_s + p->after[2], true } };
    for (size_t i = 0; i < 2; i++) {
        if (starting || initializing)
            all[i].state = WAITING;
        else if (has_ended(p))
            all[i].state = TERMINATED;
        all[i].ready = all[i].ready && all[i].state == RUNNING;
    }
    if (starting && p->failing && p->marks % 2) {
        all[0].reason = "ErrImagePull";
        all[0].message = ",\"message\":\"failed to pull and unpack image \\\"`i:`v\\\": failed to resolve reference "
                         "\\\"`i:`v\\\": `i:`v: not found\"";
    } else if (starting && p->failing) {
        all[0].reason = "ImagePullBackOff";
        all[0].message = ",\"message\":\"Back-off pulling image \\\"`i:`v\\\": ErrImagePull: `i:`v: not found\"";
    } else if (p->step == KT_LOAD_STARTED && p->failing) {
        all[0].state = WAITING;
        all[0].reason = "CrashLoopBackOff";
        all[0].message = ",\"message\":\"back-off 5m0s restarting failed container=`a pod=`n_`s(`W)\"";
    }
    ki_buffer_append_string(&load->status, ",\"containerStatuses\":[");
    for (size_t i = 0; i < (app->has_mesh ? 2u : 1u); i++)
        add_container(load, p, &all[i], f);
    ki_buffer_append_char(&load->status, ']');
}

/* ---- the pod ---- */

static const char *phase(const kt_load_pod *p) {
    return p->step == KT_LOAD_SUCCEEDED ? "Succeeded"
           : p->step == KT_LOAD_FAILED  ? "Failed"
           : p->step < KT_LOAD_STARTED  ? "Pending"
                                        : "Running";
}

static const char *quality(const kt_load *load, const kt_load_pod *p) {
    return load->workloads[p->workload].app->is_small ? "BestEffort" : "Burstable";
}

static void write_status(kt_load *load, const kt_load_pod *p, kt_load_fields *f) {
    ki_buffer_append_string(&load->status, "\"status\":{");
    if (p->step > KT_LOAD_SCHEDULED)
        ki_buffer_append_string(&load->status, "\"observedGeneration\":1,");
    ki_buffer_printf(&load->status, "\"phase\":\"%s\"", phase(p));
    if (p->step > KT_LOAD_PENDING || p->failing) {
        ki_buffer_append_string(&load->status, ",\"conditions\":[");
        add_conditions(load, p, f);
        ki_buffer_append_char(&load->status, ']');
    }
    if (is_evicted(load, p))
        kt_load_add(load, &load->status, KT_LOAD_EVICTED, f);
    if (p->step > KT_LOAD_SCHEDULED) {
        kt_load_add(load, &load->status, KT_LOAD_HOST_ADDRESSES, f);
        if (kt_load_has_address(p) || has_ended(p))
            kt_load_add(load, &load->status, KT_LOAD_POD_ADDRESSES, f);
        ki_buffer_append_string(&load->status, ",\"startTime\":\"");
        kt_load_set_time(f, '3', p->made_s + p->after[0]);
        ki_buffer_append_view(&load->status, f->values['3']);
        ki_buffer_append_char(&load->status, '"');
        add_containers(load, p, f);
    }
    ki_buffer_printf(&load->status, ",\"qosClass\":\"%s\"%s}", quality(load, p),
                     p->step > KT_LOAD_SCHEDULED ? ",\"resources\":{}" : "");
}

/* Appends the entries of those who change a pod on its node: Calico, which gives it a network, and the kubelet, which
 * changes the status from what the scheduler left. */
static void add_managers(kt_load *load, const kt_load_pod *p, kt_load_fields *f) {
    ki_str status = { load->status.data, load->status.size };
    ki_buffer other;
    ki_buffer_init(&other, &load->allocator, 0);
    if (has_network(p)) {
        ki_buffer_append_string(&other, "\"metadata\":{\"annotations\":{");
        kt_load_append(&other, load->templates[KT_LOAD_ANNOTATIONS_NETWORK] + 1, f);
        ki_buffer_append_string(&other, "}}");
        if (!other.failed)
            kt_load_add_managed(load, KI_PODS, "calico", "status", (p->made_s + p->after[1]) * 1000, KI_STR(""),
                                (ki_str){ other.data, other.size });
        ki_buffer_truncate(&other, 0);
    }
    ki_buffer_append_string(&other, "\"status\":{\"phase\":\"Pending\",\"conditions\":[");
    add_condition(load, &other, f, "PodScheduled", true, p->made_s + p->after[0], "");
    ki_buffer_printf(&other, "],\"qosClass\":\"%s\"}", quality(load, p));
    if (other.failed || load->status.failed)
        load->managed.failed = KI_ERR_NO_MEMORY;
    else
        kt_load_add_managed(load, KI_PODS, "kubelet", "status", p->changed_s * 1000, (ki_str){ other.data, other.size },
                            status);
    ki_buffer_free(&other);
}

static ki_str owner_uid(const kt_load *load, const kt_load_pod *p) {
    const kt_load_workload *w = &load->workloads[p->workload];
    char job[KT_LOAD_NAME];
    if (w->app->owner != KT_LOAD_OF_CRON_JOB)
        return ki_str_of(w->uid);
    kt_load_job_name(load, p, job);
    return kt_load_uid(load, KI_JOBS, w->app->namespace_name, job);
}

/* Sets the annotations and labels that a pod has in addition to those of its workload. */
static void set_marks(kt_load *load, const kt_load_pod *p, int64_t stamp_ns, kt_load_fields *f) {
    kt_load_set(f, 'N', has_network(p) ? load->templates[KT_LOAD_ANNOTATIONS_NETWORK] : "");
    kt_load_set(f, 'L', p->step >= KT_LOAD_SCHEDULED ? load->templates[KT_LOAD_TOPOLOGY] : "");
    if (p->marks)
        kt_load_setf(f, 'N', "%s,\"controller.kubernetes.io/pod-deletion-cost\":\"%u\"", f->values['N'].data, p->marks);
    if (load->stamp)
        kt_load_setf(f, 'N', "%s,\"%s\":\"%lld\"", f->values['N'].data, load->stamp, (long long)stamp_ns);
    if (p->is_labelled)
        kt_load_setf(f, 'L', "%s,\"load.kinformer/config-generation\":\"%u\"", f->values['L'].data, p->marks);
}

ki_status kt_load_put_pod(kt_load *load, size_t index, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    const kt_load_pod *p = &load->pods[index];
    const kt_load_workload *w = &load->workloads[p->workload];
    uint64_t key = kt_load_mix(load->seed, p->number);
    char job[KT_LOAD_NAME];
    kt_load_fields f;
    kt_load_clear(&f);
    kt_load_set_workload(load, w, &f);
    kt_load_set_pod(load, p, index, &f);
    kt_load_job_name(load, p, job);
    kt_load_set(&f, 'j', job);
    kt_load_setf(&f, 'k', "%zu", index - w->first_pod);
    f.values['u'] = owner_uid(load, p);
    kt_load_setf(&f, 'c', "%zu", load->node_count);
    kt_load_set_letters(&f, 'x', kt_load_mix(key, 100), KT_LOAD_SUFFIX);
    kt_load_set_hex(&f, '4', kt_load_mix(key, 101), 64);
    kt_load_set_time(&f, 't', p->made_s);
    kt_load_set(&f, 'd', "");
    set_marks(load, p, stamp_ns, &f);
    if (p->step == KT_LOAD_DELETING) {
        kt_load_set_time(&f, '3', p->changed_s);
        kt_load_setf(&f, 'd', ",\"deletionTimestamp\":\"%s\",\"deletionGracePeriodSeconds\":30", f.values['3'].data);
    }

    kt_load_begin(load);
    if (p->failing)
        f.values['W'] = kt_load_uid(load, KI_PODS, w->app->namespace_name, f.values['n'].data);
    write_status(load, p, &f);
    if (load->managed_fields) {
        kt_load_append(&load->managed, w->managed_text, &f);
        if (p->step > KT_LOAD_SCHEDULED)
            add_managers(load, p, &f);
    }
    kt_load_append(&load->body, w->pod_text, &f);
    if (p->step >= KT_LOAD_SCHEDULED)
        kt_load_add(load, &load->body, KT_LOAD_POD_NODE, &f);
    ki_buffer_append_char(&load->body, '}');
    return kt_load_put_managed(load, KI_PODS, now_ms, err);
}

/* workload.c: the load's workloads: how its pods are divided among them, the template of their pods, and the objects
 * that belong to them. See state.h. */
#include "testing/load/state.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster/storage.h"

#include <stdio.h>

enum {
    PODS_BEFORE_GROWTH = 20000, /* with more pods workloads are larger, not more */
    MOST_OF_A_WORKLOAD = 10,    /* a workload has at most this part of all pods */
    WEEKS_3_S = 3 * 7 * 24 * 3600,
    ROLLOUT_S = 30
};

/* Sizes of workloads, to draw from. */
static const uint32_t sizes[] = { 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 8, 12, 20, 45, 140 };
static const uint32_t job_sizes[] = { 1, 1, 3, 4, 4, 10, 30 };

#define DRAW(values, key) (values)[(key) % (sizeof(values) / sizeof *(values))]

/* ---- the plan ---- */

static uint32_t draw_size(const kt_load *load, const kt_load_app *app, size_t planned, uint64_t key) {
    size_t growth = load->pod_count / PODS_BEFORE_GROWTH + 1, most = load->pod_count / MOST_OF_A_WORKLOAD, size;
    if (app->owner == KT_LOAD_OF_DAEMON_SET)
        size = load->node_count;
    else if (app->owner == KT_LOAD_OF_JOB || app->owner == KT_LOAD_OF_CRON_JOB)
        size = DRAW(job_sizes, key) * growth;
    else
        size = DRAW(sizes, key) * growth;
    if (size > most)
        size = most;
    size_t share = (kt_load_shares[app->owner] * load->pod_count + 99) / 100;
    if (planned < share && size > share - planned)
        size = share - planned;
    if (app->most_pods && size > app->most_pods)
        size = app->most_pods;
    return (uint32_t)(size ? size : 1);
}

/* Returns the kind of owner that is furthest behind its share. */
static kt_load_owner next_owner(const kt_load *load, const size_t *planned) {
    kt_load_owner found = KT_LOAD_OF_DEPLOYMENT;
    int64_t most = INT64_MIN;
    for (kt_load_owner i = 0; i < KT_LOAD_OWNERS; i++) {
        int64_t behind = (int64_t)(kt_load_shares[i] * load->pod_count) - (int64_t)(100 * planned[i]);
        if (behind > most) {
            most = behind;
            found = i;
        }
    }
    return found;
}

/* Returns the index of the next application of an owner after `last`. */
static size_t next_app(kt_load_owner owner, size_t last) {
    do
        last = (last + 1) % kt_load_app_count;
    while (kt_load_apps[last].owner != owner);
    return last;
}

static void plan_workload(kt_load *load, size_t index, const kt_load_app *app, uint32_t number, size_t first,
                          size_t count) {
    kt_load_workload *w = &load->workloads[index];
    uint64_t key = kt_load_mix(load->seed, index);
    w->app = app;
    w->number = (uint32_t)index;
    w->first_pod = (uint32_t)first;
    w->pod_count = (uint32_t)count;
    w->made_s = load->now_s - WEEKS_3_S + (int64_t)(kt_load_mix(key, 1) % (WEEKS_3_S - ROLLOUT_S));
    if (number)
        snprintf(w->name, sizeof w->name, "%s-%u", app->name, number + 1);
    else
        snprintf(w->name, sizeof w->name, "%s", app->name);
    kt_load_write_letters(kt_load_mix(key, 2), sizeof w->hash - 1, w->hash);
    if (app->owner == KT_LOAD_OF_DEPLOYMENT || app->owner == KT_LOAD_OF_STATEFUL_SET) {
        w->first_slice = (uint32_t)load->slice_count;
        w->slice_count = (uint32_t)((count + KT_LOAD_ENDPOINTS - 1) / KT_LOAD_ENDPOINTS);
        load->slice_count += w->slice_count;
    }
    for (size_t i = first; i < first + count; i++)
        load->pods[i].workload = (uint32_t)index;
}

/* Divides the pods. Only counts the workloads as long as there is no array of them. */
static size_t divide(kt_load *load) {
    size_t planned[KT_LOAD_OWNERS] = { 0 }, last[KT_LOAD_OWNERS], count = 0, first = 0;
    uint32_t numbers[KT_LOAD_APPS_MAX] = { 0 };
    for (size_t i = 0; i < KT_LOAD_OWNERS; i++)
        last[i] = kt_load_app_count - 1;
    while (first < load->pod_count) {
        kt_load_owner owner = next_owner(load, planned);
        size_t app = last[owner] = next_app(owner, last[owner]), left = load->pod_count - first;
        size_t size = draw_size(load, &kt_load_apps[app], planned[owner], kt_load_mix(load->seed, count) >> 8);
        if (size > left)
            size = left;
        if (load->workloads)
            plan_workload(load, count, &kt_load_apps[app], numbers[app], first, size);
        numbers[app]++;
        planned[owner] += size;
        first += size;
        count++;
    }
    return count;
}

ki_status kt_load_plan(kt_load *load, ki_error *err) {
    if (!load->pod_count)
        return KI_OK;
    load->workload_count = divide(load);
    load->workloads = ki_alloc_array(&load->allocator, load->workload_count, sizeof *load->workloads);
    if (!load->workloads)
        return ki_error_no_memory(err, "making the load");
    memset(load->workloads, 0, load->workload_count * sizeof *load->workloads);
    divide(load);
    load->outdated = ki_alloc_zero(&load->allocator, load->slice_count + 1);
    return load->outdated ? KI_OK : ki_error_no_memory(err, "making the load");
}

/* ---- the template of its pods ---- */

void kt_load_set_workload(const kt_load *load, const kt_load_workload *w, kt_load_fields *f) {
    kt_load_set(f, 's', w->app->namespace_name);
    kt_load_set(f, 'w', w->name);
    kt_load_set(f, 'a', w->app->name);
    kt_load_setf(f, 'i', "registry.example.com/%s/%s", w->app->namespace_name, w->app->name);
    kt_load_set(f, 'v', w->app->version);
    kt_load_set(f, 'p', w->app->port);
    kt_load_set(f, 'h', w->hash);
    kt_load_set(f, 'f', w->app->owner == KT_LOAD_OF_JOB || w->app->owner == KT_LOAD_OF_CRON_JOB ? "Never" : "Always");
    kt_load_setf(f, 'c', "%u", w->pod_count);
    kt_load_set(f, 'l', load->templates[w->app->is_small ? KT_LOAD_LABELS_PLAIN : KT_LOAD_LABELS_HELM]);
    kt_load_set_hex(f, 'O', kt_load_mix(load->seed ^ 1, (uint64_t)(w->app - kt_load_apps)), 64);
    kt_load_set_hex(f, 'P', kt_load_mix(load->seed ^ 1, KT_LOAD_APPS_MAX), 64);
    kt_load_set_hex(f, 'g', kt_load_mix(kt_load_mix(load->seed, w->number), 3), 64);
}

static void add_variables(const kt_load *load, const kt_load_workload *w, ki_buffer *out) {
    static const unsigned numbers[] = { 5, 10, 16, 30, 60, 100, 250, 500, 1000, 2048, 3000, 5000, 30000 };
    static const char *const teams[] = { "core", "edge", "batch", "shared", "legacy" };
    char name[KT_LOAD_VARIABLE_SIZE];
    kt_load_fields f;
    kt_load_clear(&f);
    for (uint32_t i = 0; i < w->app->variables; i++) {
        uint64_t key = kt_load_mix(kt_load_mix(load->seed, w->number), 1000 + i);
        f.used = 0;
        kt_load_write_variable(i, name);
        kt_load_set(&f, '1', name);
        if (i % 3)
            kt_load_setf(&f, '2', "%u", DRAW(numbers, key));
        else
            kt_load_setf(&f, '2', "https://%s-%u.%s.svc.cluster.local:%u/v%u/%s?client=%s&region=eu-central-1&retry=%u",
                         w->app->name, i, DRAW(teams, key), 8000 + (unsigned)(key >> 32) % 8, (unsigned)(key >> 40) % 3,
                         w->app->name, w->name, (unsigned)(key >> 48) % 4);
        kt_load_add(load, out, KT_LOAD_VARIABLE, &f);
    }
}

/* The texts that the fields of a spec refer to. */
typedef struct spec_texts {
    ki_buffer variables, containers;
} spec_texts;

static void begin_texts(const kt_load *load, spec_texts *texts) {
    ki_buffer_init(&texts->variables, &load->allocator, 0);
    ki_buffer_init(&texts->containers, &load->allocator, 0);
}

static void free_texts(spec_texts *texts) {
    ki_buffer_free(&texts->variables);
    ki_buffer_free(&texts->containers);
}

/* Sets the fields of the workload and of the spec of its pods. `is_whole`: with what the API server adds to a pod.
 * Returns false if there was no memory. */
static bool set_spec(const kt_load *load, const kt_load_workload *w, bool is_whole, spec_texts *texts,
                     kt_load_fields *f) {
    const kt_load_app *app = w->app;
    kt_load_clear(f);
    kt_load_set_workload(load, w, f);
    kt_load_set(f, 'A', is_whole ? load->templates[KT_LOAD_TOKEN_MOUNT] : "");
    kt_load_set(f, 'B', is_whole ? load->templates[KT_LOAD_TOKEN_VOLUME] : "");
    kt_load_set(f, '*', "");
    kt_load_set(f, '+', load->templates[app->is_small ? KT_LOAD_VOLUMES_SMALL : KT_LOAD_VOLUMES]);
    kt_load_set(f, '-', app->is_small ? "default" : w->name);
    kt_load_set(f, '=', app->is_small ? "" : load->templates[KT_LOAD_SECURITY]);
    kt_load_set(f, '6', app->has_init ? load->templates[KT_LOAD_CONTAINER_INIT] : "");
    kt_load_setf(f, '9', "%s%s", app->is_small ? "" : load->templates[KT_LOAD_ANNOTATIONS],
                 is_whole && app->has_mesh ? load->templates[KT_LOAD_ANNOTATIONS_MESH] : "");
    ki_buffer_reset(&texts->variables, KT_LOAD_TEXT_KEPT);
    ki_buffer_reset(&texts->containers, KT_LOAD_TEXT_KEPT);
    add_variables(load, w, &texts->variables);
    kt_load_set(f, '8', texts->variables.size ? texts->variables.data : "");
    kt_load_add(load, &texts->containers, app->is_small ? KT_LOAD_CONTAINER_SMALL : KT_LOAD_CONTAINER, f);
    if (is_whole && app->has_mesh)
        kt_load_add(load, &texts->containers, KT_LOAD_CONTAINER_MESH, f);
    kt_load_set(f, '5', texts->containers.size ? texts->containers.data : "");
    return !texts->variables.failed && !texts->containers.failed;
}

static const char *writer_of(const kt_load_workload *w) {
    return w->app->is_small ? "kubectl-client-side-apply" : "helm";
}

/* Writes the body of a pod with its fields, or of what its owner has written. */
static bool write_pod_body(kt_load *load, const kt_load_workload *w, bool is_whole, spec_texts *texts) {
    kt_load_owner owner = w->app->owner;
    bool is_daemon = owner == KT_LOAD_OF_DAEMON_SET, is_stateful = owner == KT_LOAD_OF_STATEFUL_SET;
    kt_load_fields f;
    kt_load_begin(load);
    if (!set_spec(load, w, is_whole, texts, &f))
        return false;
    kt_load_set(&f, 'b', load->templates[KT_LOAD_GENERATE_NAME + owner]);
    kt_load_set(&f, 'q', load->templates[KT_LOAD_OWNER_LABELS + owner]);
    kt_load_set(&f, 'r', load->templates[KT_LOAD_OWNER_REFERENCE + owner]);
    kt_load_set(&f, '*', is_stateful ? load->templates[KT_LOAD_STATEFUL_VOLUME] : "");
    for (const char *letter = "dNLM"; *letter && !is_whole; letter++)
        kt_load_set(&f, *letter, "");
    kt_load_add(load, &load->body, KT_LOAD_POD, &f);
    kt_load_add(load, &load->body,
                is_daemon     ? KT_LOAD_DAEMON_END
                : is_stateful ? KT_LOAD_STATEFUL_END
                              : KT_LOAD_POD_END,
                &f);
    if (is_whole)
        kt_load_add(load, &load->body, is_daemon ? KT_LOAD_DAEMON_ADDED : KT_LOAD_POD_ADDED, &f);
    else
        ki_buffer_append_char(&load->body, '}');
    return !load->body.failed;
}

/* Makes the templates of a pod and of its managedFields. */
static ki_status make_pod_text(kt_load *load, kt_load_workload *w, spec_texts *texts) {
    if (!write_pod_body(load, w, true, texts) || !(w->pod_text = ki_strdup(&load->allocator, load->body.data)))
        return KI_ERR_NO_MEMORY;
    if (!load->managed_fields)
        return KI_OK;
    if (!write_pod_body(load, w, false, texts))
        return KI_ERR_NO_MEMORY;
    const char *manager = w->app->owner == KT_LOAD_OF_NOTHING ? "kubectl-run" : "kube-controller-manager";
    kt_load_add_managed(load, KI_PODS, manager, "", 0, KI_STR(""), (ki_str){ load->body.data, load->body.size });
    if (load->managed.failed)
        return KI_ERR_NO_MEMORY;
    /* The pod's time stands in the place of 1970. */
    char *time = strstr(load->managed.data, "1970-01-01T00:00:00Z");
    if (time) {
        memcpy(time, "`t", 2);
        memmove(time + 2, time + 20, strlen(time + 20) + 1);
    }
    w->managed_text = ki_strdup(&load->allocator, load->managed.data);
    return w->managed_text ? KI_OK : KI_ERR_NO_MEMORY;
}

/* ---- its objects ---- */

/* An owner: its objects in their order, the last of which owns the pods. */
static const struct owner_object {
    kt_load_owner owner;
    const ki_resource *resource;
    kt_load_template body, status;
} owner_objects[] = {
    { KT_LOAD_OF_DEPLOYMENT, KI_DEPLOYMENTS, KT_LOAD_DEPLOYMENT, KT_LOAD_DEPLOYMENT_STATUS },
    { KT_LOAD_OF_DEPLOYMENT, KI_REPLICASETS, KT_LOAD_REPLICA_SET, KT_LOAD_REPLICA_SET_STATUS },
    { KT_LOAD_OF_STATEFUL_SET, KI_STATEFULSETS, KT_LOAD_STATEFUL_SET, KT_LOAD_STATEFUL_SET_STATUS },
    { KT_LOAD_OF_DAEMON_SET, KI_DAEMONSETS, KT_LOAD_DAEMON_SET, KT_LOAD_DAEMON_SET_STATUS },
    { KT_LOAD_OF_CRON_JOB, KI_CRONJOBS, KT_LOAD_CRON_JOB, KT_LOAD_CRON_JOB_STATUS },
};

static ki_status put_owner(kt_load *load, kt_load_workload *w, const struct owner_object *one, kt_load_fields *f,
                           ki_error *err) {
    bool is_replica_set = one->body == KT_LOAD_REPLICA_SET;
    char name[KT_LOAD_NAME];
    kt_load_set(f, 'q', is_replica_set ? load->templates[KT_LOAD_OWNER_LABELS] : "");
    f->values['u'] = ki_str_of(w->uid);
    kt_load_begin(load);
    kt_load_add(load, &load->body, one->body, f);
    kt_load_add(load, &load->status, one->status, f);
    ki_status status = kt_load_put(load, one->resource, is_replica_set ? "kube-controller-manager" : writer_of(w),
                                   "kube-controller-manager", w->made_s * 1000, err);
    if (status)
        return status;
    snprintf(name, sizeof name, is_replica_set ? "%s-%s" : "%s", w->name, w->hash);
    ki_str uid = kt_load_uid(load, one->resource, w->app->namespace_name, name);
    snprintf(w->uid, sizeof w->uid, "%.*s", (int)uid.size, uid.data);
    return KI_OK;
}

/* Sets the fields of its owner with the template of its pods. */
static bool set_owner(const kt_load *load, const kt_load_workload *w, spec_texts *texts, kt_load_fields *f) {
    bool ok = set_spec(load, w, false, texts, f);
    kt_load_set(f, 'q', "");
    kt_load_set_time(f, 't', w->made_s);
    kt_load_set_time(f, '3', w->made_s + ROLLOUT_S);
    kt_load_setf(f, '7', "%u", w->number % 60);
    return ok;
}

ki_status kt_load_put_job(kt_load *load, const kt_load_workload *w, const char *name, uint32_t pods, int64_t now_ms,
                          ki_error *err) {
    bool is_cron_job = w->app->owner == KT_LOAD_OF_CRON_JOB;
    kt_load_fields f;
    spec_texts texts;
    begin_texts(load, &texts);
    bool ok = set_owner(load, w, &texts, &f);
    kt_load_set(&f, 'j', name);
    kt_load_set(&f, 'r', is_cron_job ? load->templates[KT_LOAD_CRON_JOB_REFERENCE] : "");
    kt_load_setf(&f, 'k', "%u", pods);
    f.values['u'] = ki_str_of(w->uid);
    kt_load_set_time(&f, 't', now_ms / 1000);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_JOB, &f);
    kt_load_add(load, &load->status, KT_LOAD_JOB_STATUS, &f);
    ki_status status = !ok ? ki_error_no_memory(err, "making a Job")
                           : kt_load_put(load, KI_JOBS, is_cron_job ? "kube-controller-manager" : writer_of(w),
                                         "kube-controller-manager", now_ms, err);
    free_texts(&texts);
    return status;
}

static ki_status put_service(kt_load *load, kt_load_workload *w, kt_load_fields *f, ki_error *err) {
    kt_load_setf(f, 'I', "10.%u.%u.%u", 97 + w->number / 65536, w->number / 256 % 256, w->number % 256);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_SERVICE, f);
    kt_load_add(load, &load->status, KT_LOAD_SERVICE_STATUS, f);
    ki_status status = kt_load_put(load, KI_SERVICES, writer_of(w), NULL, w->made_s * 1000, err);
    if (status)
        return status;
    ki_str uid = kt_load_uid(load, KI_SERVICES, w->app->namespace_name, w->name);
    snprintf(w->service_uid, sizeof w->service_uid, "%.*s", (int)uid.size, uid.data);
    return KI_OK;
}

static ki_status put_config(kt_load *load, const kt_load_workload *w, kt_load_fields *f, ki_error *err) {
    uint64_t key = kt_load_mix(kt_load_mix(load->seed, w->number), 4);
    char name[KT_LOAD_VARIABLE_SIZE];
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_CONFIG_MAP, f);
    ki_buffer_append_char(&load->body, '"');
    for (uint32_t i = 0; load->body.size < w->app->config_size && !load->body.failed; i++) {
        kt_load_write_variable(i, name);
        ki_buffer_printf(&load->body, "%s: %u\\n", name, (unsigned)(kt_load_mix(key, i) >> 44));
    }
    ki_buffer_append_string(&load->body, "\"}");
    return kt_load_put(load, KI_CONFIGMAPS, writer_of(w), NULL, w->made_s * 1000, err);
}

static ki_status put_secret(kt_load *load, const kt_load_workload *w, kt_load_fields *f, ki_error *err) {
    uint64_t key = kt_load_mix(kt_load_mix(load->seed, w->number), 5);
    kt_load_set_hex(f, '1', key, 32);
    kt_load_set_hex(f, '2', key + 1, 120);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_SECRET, f);
    return kt_load_put(load, KI_SECRETS, writer_of(w), NULL, w->made_s * 1000, err);
}

static ki_status make_objects(kt_load *load, kt_load_workload *w, kt_load_fields *f, ki_error *err) {
    ki_status status = put_config(load, w, f, err);
    if (!status && !w->app->is_small)
        status = put_secret(load, w, f, err);
    for (size_t i = 0; i < sizeof owner_objects / sizeof owner_objects[0] && !status; i++) {
        if (owner_objects[i].owner == w->app->owner)
            status = put_owner(load, w, &owner_objects[i], f, err);
    }
    if (!status && w->slice_count)
        status = put_service(load, w, f, err);
    if (status || w->app->owner != KT_LOAD_OF_JOB)
        return status;
    status = kt_load_put_job(load, w, w->name, w->pod_count, w->made_s * 1000, err);
    ki_str uid = kt_load_uid(load, KI_JOBS, w->app->namespace_name, w->name);
    snprintf(w->uid, sizeof w->uid, "%.*s", (int)uid.size, uid.data);
    return status;
}

ki_status kt_load_make_workload(kt_load *load, kt_load_workload *w, ki_error *err) {
    kt_load_fields f;
    spec_texts texts;
    begin_texts(load, &texts);
    ki_status status = make_pod_text(load, w, &texts);
    if (status || !set_owner(load, w, &texts, &f))
        status = ki_error_no_memory(err, "making a workload");
    else
        status = make_objects(load, w, &f, err);
    free_texts(&texts);
    return status;
}

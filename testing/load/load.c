/* load.c: see load.h. Each pod is a slot that goes through the steps again and again. Pods between two steps wait in
 * a queue. */
#include "testing/load/load.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "src/base/ring.h"
#include "testing/cluster/storage.h"
#include "testing/load/template.h"
#include "testing/load/text.h"

#include <stdio.h>
#include <yyjson.h>

enum {
    PODS_MAX = 5000000,
    NODES_MAX = 100000,
    PODS_OF_A_NODE = 30,
    PODS_OF_A_WORKLOAD = 20,
    WORKLOADS_MAX = 1000,
    ENDPOINTS_OF_A_SLICE = 100,
    SUFFIX_SIZE = 5,
    SUFFIX_COUNT = 27 * 27 * 27 * 27 * 27,
    SUFFIX_FACTOR = 7368787, /* prime to SUFFIX_COUNT, so that all suffixes occur in a mixed order */
    TEXT_MAX = 64 * 1024
};

/* Chances in 1024: what a change does. */
enum {
    CHANCE_ADVANCE = 512,
    CHANCE_NODE = 16,
    CHANCE_DELETE = 76,
    CHANCE_UNREADY = 120,
    CHANCE_SLICE = 128, /* while an EndpointSlice is out of date */
    CHANCES = 1024
};

typedef enum step {
    STEP_GONE,
    STEP_PENDING,
    STEP_SCHEDULED,
    STEP_STARTING,
    STEP_RUNNING,
    STEP_READY,
    STEP_DELETING
} step;

typedef struct pod {
    uint32_t workload;
    uint32_t node;
    uint32_t number; /* of this pod object; determines its suffix, address and digits */
    uint32_t restarts;
    int64_t made_s;
    int64_t ready_s; /* time of the last change of readiness */
    uint8_t step;
    bool ready;
} pod;

typedef struct workload {
    char name[40];
    char hash[11];
    char uid[40]; /* of its ReplicaSet */
    char service_uid[40];
    uint32_t kind;
} workload;

typedef struct load_node {
    int64_t made_s;
    uint32_t beats; /* changes so far, so that two in one second differ */
} load_node;

struct kt_load {
    ki_allocator allocator;
    kt_cluster *cluster;
    bool managed_fields;
    char *stamp;
    uint64_t random;
    uint32_t next_number;
    pod *pods;
    size_t pod_count;
    workload *workloads;
    size_t workload_count;
    load_node *nodes;
    size_t node_count;
    char *templates[KT_LOAD_TEMPLATES];
    ki_ring moving; /* of uint32_t: pods between two steps, each once */
    size_t slices_of_a_workload;
    bool *outdated;    /* for each EndpointSlice: the ring `outdating` has it */
    ki_ring outdating; /* of uint32_t: EndpointSlices that differ from their pods */
    ki_buffer text;
    int64_t now_s; /* Unix time of the current change */
};

/* The applications of the workloads, in turn. */
static const struct kind {
    const char *namespace_name, *app, *image, *version, *port;
} kinds[] = {
    { "shop", "frontend", "registry.example.com/shop/frontend", "4.12.1", "8080" },
    { "shop", "cart", "registry.example.com/shop/cart", "2.7.0", "8080" },
    { "shop", "catalog", "registry.example.com/shop/catalog", "3.1.5", "9090" },
    { "payments", "checkout", "registry.example.com/payments/checkout", "1.44.2", "8443" },
    { "payments", "ledger", "registry.example.com/payments/ledger", "0.19.3", "7000" },
    { "payments", "fraud-scoring", "registry.example.com/payments/fraud", "5.0.0", "8080" },
    { "search", "indexer", "registry.example.com/search/indexer", "2.2.9", "9200" },
    { "search", "query", "registry.example.com/search/query", "2.2.9", "9201" },
    { "data", "ingest", "registry.example.com/data/ingest", "11.3.0", "6000" },
    { "data", "stream-joiner", "registry.example.com/data/joiner", "1.8.1", "6010" },
    { "accounts", "identity", "registry.example.com/accounts/identity", "3.30.0", "8081" },
    { "accounts", "mailer", "registry.example.com/accounts/mailer", "1.2.4", "2525" },
};
enum {
    KINDS = sizeof kinds / sizeof kinds[0]
};

/* splitmix64 */
static uint64_t draw(kt_load *load) {
    uint64_t z = (load->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t draw_below(kt_load *load, size_t bound) {
    return (size_t)(draw(load) % bound);
}

/* ---- texts ---- */

typedef struct texts { /* memory for the values of one object's fields */
    kt_load_fields fields;
    char name[64], digits[9], containers[2][9], pod_address[16], node_address[16], node[16], made[KI_RFC3339_SIZE],
        changed[KI_RFC3339_SIZE], count[12], stamp[24];
} texts;

static void write_suffix(uint32_t number, char text[SUFFIX_SIZE + 1]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t rest = (uint64_t)number * SUFFIX_FACTOR % SUFFIX_COUNT;
    for (int i = 0; i < SUFFIX_SIZE; i++, rest /= 27)
        text[i] = letters[rest % 27];
    text[SUFFIX_SIZE] = '\0';
}

static void set_workload(texts *t, const workload *w) {
    const struct kind *kind = &kinds[w->kind];
    kt_load_set(&t->fields, 's', kind->namespace_name);
    kt_load_set(&t->fields, 'w', w->name);
    kt_load_set(&t->fields, 'a', kind->app);
    kt_load_set(&t->fields, 'h', w->hash);
    kt_load_set(&t->fields, 'u', w->uid);
    kt_load_set(&t->fields, 'v', kind->version);
    kt_load_set(&t->fields, 'i', kind->image);
    kt_load_set(&t->fields, 'p', kind->port);
}

static void set_node(texts *t, uint32_t node) {
    snprintf(t->node, sizeof t->node, "node-%05u", node % 100000);
    snprintf(t->node_address, sizeof t->node_address, "10.0.%u.%u", node / 250 % 256, node % 250 + 2);
    kt_load_set(&t->fields, 'o', t->node);
    kt_load_set(&t->fields, 'H', t->node_address);
}

static void set_numbers(texts *t, uint32_t number, uint32_t count) {
    uint32_t mixed = number * 2654435761u;
    snprintf(t->digits, sizeof t->digits, "%08x", mixed);
    snprintf(t->pod_address, sizeof t->pod_address, "10.%u.%u.%u", 64 + (mixed >> 16) % 64, mixed >> 8 & 255,
             mixed % 254 + 1);
    snprintf(t->count, sizeof t->count, "%u", count);
    for (uint32_t i = 0; i < 2; i++) /* a restart makes another first container */
        snprintf(t->containers[i], sizeof t->containers[i], "%08x", (i ? 1 : 2 * count) * 2654435761u + 0x5bd1e995u);
    kt_load_set(&t->fields, 'x', t->digits);
    kt_load_set(&t->fields, 'y', t->containers[0]);
    kt_load_set(&t->fields, 'z', t->containers[1]);
    kt_load_set(&t->fields, 'I', t->pod_address);
    kt_load_set(&t->fields, 'c', t->count);
}

static void set_times(texts *t, int64_t made_s, int64_t changed_s) {
    ki_rfc3339_seconds(made_s, t->made);
    ki_rfc3339_seconds(changed_s, t->changed);
    kt_load_set(&t->fields, 't', t->made);
    kt_load_set(&t->fields, 'r', t->changed);
}

static void write_pod_name(const kt_load *load, const pod *p, char *name, size_t size) {
    char suffix[SUFFIX_SIZE + 1];
    const workload *w = &load->workloads[p->workload];
    write_suffix(p->number, suffix);
    snprintf(name, size, "%s-%s-%s", w->name, w->hash, suffix);
}

static void append(kt_load *load, kt_load_template which, const texts *t) {
    kt_load_append(&load->text, load->templates[which], &t->fields);
}

static void write_pod(kt_load *load, const pod *p, int64_t stamp_ns) {
    static const kt_load_template ends[] = {
        [STEP_PENDING] = KT_LOAD_POD_PENDING,   [STEP_SCHEDULED] = KT_LOAD_POD_SCHEDULED,
        [STEP_STARTING] = KT_LOAD_POD_STARTING, [STEP_RUNNING] = KT_LOAD_POD_RUNNING,
        [STEP_READY] = KT_LOAD_POD_RUNNING,     [STEP_DELETING] = KT_LOAD_POD_RUNNING,
    };
    texts t = { 0 };

    write_pod_name(load, p, t.name, sizeof t.name);
    kt_load_set(&t.fields, 'n', t.name);
    set_workload(&t, &load->workloads[p->workload]);
    set_node(&t, p->node);
    set_numbers(&t, p->number, p->restarts);
    set_times(&t, p->made_s, p->ready_s);
    kt_load_set(&t.fields, 'k', p->ready ? "True" : "False");
    kt_load_set(&t.fields, 'K', p->ready ? "true" : "false");
    kt_load_set(&t.fields, 'M', load->managed_fields ? load->templates[KT_LOAD_POD_MANAGED] : "");
    kt_load_set(&t.fields, 'm', load->templates[KT_LOAD_POD_MANAGED_STATUS]);

    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_POD_HEAD, &t);
    if (load->stamp) {
        snprintf(t.stamp, sizeof t.stamp, "%lld", (long long)stamp_ns);
        kt_load_set(&t.fields, 'S', load->stamp);
        kt_load_set(&t.fields, 'T', t.stamp);
        append(load, KT_LOAD_POD_STAMP, &t);
    }
    ki_buffer_append_string(&load->text, "},");
    if (p->step == STEP_DELETING)
        append(load, KT_LOAD_POD_DELETING, &t);
    append(load, KT_LOAD_POD_MIDDLE, &t);
    if (p->step >= STEP_SCHEDULED)
        append(load, KT_LOAD_POD_NODE, &t);
    append(load, ends[p->step], &t);
}

/* Writes the object whose text is in `load->text`. */
static ki_status put(kt_load *load, const ki_resource *resource, int64_t now_ms, ki_error *err) {
    if (load->text.failed)
        return ki_error_no_memory(err, "making an object of the load");
    return kt_cluster_put_json(load->cluster, resource, (ki_str){ load->text.data, load->text.size }, now_ms, NULL,
                               err);
}

/* ---- EndpointSlices ---- */

static size_t slice_of(const kt_load *load, size_t index) {
    return index % load->workload_count * load->slices_of_a_workload +
           index / load->workload_count / ENDPOINTS_OF_A_SLICE;
}

/* Notes that the endpoint of a pod has changed. */
static ki_status outdate(kt_load *load, size_t index) {
    uint32_t slice = (uint32_t)slice_of(load, index);
    if (load->outdated[slice])
        return KI_OK;
    ki_status status = ki_ring_push(&load->outdating, &slice);
    load->outdated[slice] = !status;
    return status;
}

/* Appends the endpoint of a pod that has an address. */
static void append_endpoint(kt_load *load, const pod *p, const texts *of_slice, bool *is_first) {
    texts t = *of_slice;
    ki_str ns = of_slice->fields.values['s'];
    write_pod_name(load, p, t.name, sizeof t.name);
    const kt_object *obj = kt_storage_get(kt_storage_of(load->cluster, KI_PODS), ns, ki_str_of(t.name));
    if (!obj || p->step < STEP_RUNNING)
        return;
    kt_load_set(&t.fields, 'n', t.name);
    set_node(&t, p->node);
    set_numbers(&t, p->number, p->restarts);
    kt_load_set(&t.fields, 'K', p->ready ? "true" : "false");
    kt_load_set(&t.fields, 'k', p->step == STEP_DELETING ? "true" : "false");
    t.fields.values['u'] = obj->uid;
    ki_buffer_append_string(&load->text, *is_first ? "" : ",");
    *is_first = false;
    append(load, KT_LOAD_SLICE_ENDPOINT, &t);
}

/* Writes an EndpointSlice. Sets `*ret_written` to false if nothing changed: its pods are as before, or a client has
 * deleted its Service. */
static ki_status put_slice(kt_load *load, uint32_t slice, int64_t now_ms, bool *ret_written, ki_error *err) {
    size_t of = slice / load->slices_of_a_workload, first = slice % load->slices_of_a_workload * ENDPOINTS_OF_A_SLICE;
    const workload *w = &load->workloads[of];
    char suffix[SUFFIX_SIZE + 1];
    texts t = { 0 };
    bool is_first = true;
    ki_str json;
    *ret_written = kt_cluster_get(load->cluster, KI_SERVICES, kinds[w->kind].namespace_name, w->name, &json) == KI_OK;
    if (!*ret_written)
        return KI_OK;
    write_suffix(UINT32_MAX - slice, suffix);
    snprintf(t.name, sizeof t.name, "%s-%s", w->name, suffix);
    set_workload(&t, w);
    set_times(&t, load->now_s, load->now_s);
    kt_load_set(&t.fields, 'n', t.name);
    kt_load_set(&t.fields, 'u', w->service_uid);
    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_SLICE_HEAD, &t);
    for (size_t i = 0; i < ENDPOINTS_OF_A_SLICE; i++) {
        size_t index = of + (first + i) * load->workload_count;
        if (index < load->pod_count)
            append_endpoint(load, &load->pods[index], &t, &is_first);
    }
    ki_buffer_append_string(&load->text, "]}");
    uint64_t before = kt_cluster_revision(load->cluster);
    ki_status status = put(load, KI_ENDPOINTSLICES, now_ms, err);
    *ret_written = kt_cluster_revision(load->cluster) != before;
    return status;
}

/* Writes the EndpointSlice that has been out of date for longest. Sets `*ret_written` to true if there was one. */
static ki_status update_slice(kt_load *load, int64_t now_ms, bool *ret_written, ki_error *err) {
    uint32_t slice;
    ki_status status = KI_OK;
    *ret_written = false;
    while (!status && !*ret_written && ki_ring_pop(&load->outdating, &slice)) {
        load->outdated[slice] = false;
        status = put_slice(load, slice, now_ms, ret_written, err);
    }
    return status;
}

ki_status kt_load_settle(kt_load *load, int64_t now_ms, ki_error *err) {
    ki_status status = KI_OK;
    bool written;
    load->now_s = now_ms / 1000;
    while (!status && load->outdating.count)
        status = update_slice(load, now_ms, &written, err);
    return status;
}

/* ---- pods ---- */

static ki_status put_pod(kt_load *load, const pod *p, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    write_pod(load, p, stamp_ns);
    return put(load, KI_PODS, now_ms, err);
}

static void start_pod(kt_load *load, pod *p) {
    p->node = (uint32_t)draw_below(load, load->node_count ? load->node_count : 1);
    p->number = load->next_number++;
    p->restarts = 0;
    p->ready = false;
    p->made_s = load->now_s;
    p->ready_s = load->now_s;
    p->step = STEP_PENDING;
}

static bool is_in_cluster(const kt_load *load, const pod *p) {
    char name[64];
    ki_str json;
    write_pod_name(load, p, name, sizeof name);
    const char *ns = kinds[load->workloads[p->workload].kind].namespace_name;
    return kt_cluster_get(load->cluster, KI_PODS, ns, name, &json) == KI_OK;
}

static ki_status delete_pod(kt_load *load, const pod *p, int64_t now_ms, ki_error *err) {
    char name[64];
    ki_error cause = KI_ERROR_INIT;
    write_pod_name(load, p, name, sizeof name);
    const char *ns = kinds[load->workloads[p->workload].kind].namespace_name;
    ki_status status = kt_cluster_delete(load->cluster, KI_PODS, ns, name, now_ms, &cause);
    if (status == KI_ERR_NOT_FOUND)
        return KI_OK; /* a client deleted it first */
    if (status && err)
        *err = cause;
    return status;
}

/* Moves the pod that has waited longest to its next step. Replaces a pod that a client has deleted, as its owner
 * does. */
static ki_status advance(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    uint32_t index = 0;
    ki_status status;
    if (!ki_ring_pop(&load->moving, &index))
        return KI_OK;
    pod *p = &load->pods[index];
    bool had_address = p->step >= STEP_RUNNING;

    if (p->step == STEP_DELETING) {
        status = delete_pod(load, p, now_ms, err);
        p->step = STEP_GONE;
    } else {
        if (p->step == STEP_GONE || !is_in_cluster(load, p))
            start_pod(load, p);
        else
            p->step++;
        p->ready = p->step == STEP_READY;
        p->ready_s = load->now_s;
        status = put_pod(load, p, now_ms, stamp_ns, err);
    }
    if ((p->step != STEP_READY && ki_ring_push(&load->moving, &index)) ||
        ((had_address || p->step >= STEP_RUNNING) && outdate(load, index)))
        return ki_error_no_memory(err, "running the load");
    return status;
}

/* Deletes a running pod, changes its readiness, or restarts it. */
static ki_status disturb(kt_load *load, uint32_t index, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    pod *p = &load->pods[index];
    size_t chance = draw_below(load, CHANCES);
    uint32_t restarts = p->restarts;

    if (!is_in_cluster(load, p)) {
        p->step = STEP_GONE;
    } else if (chance < 2 * CHANCE_DELETE) {
        p->step = STEP_DELETING;
        p->ready = false;
        p->ready_s = load->now_s;
    } else if (!p->ready || chance < CHANCE_DELETE + CHANCE_UNREADY) {
        p->ready = !p->ready;
        p->ready_s = load->now_s;
    } else {
        p->restarts++;
    }
    if ((p->step != STEP_READY && ki_ring_push(&load->moving, &index)) ||
        (p->restarts == restarts && outdate(load, index)))
        return ki_error_no_memory(err, "running the load");
    return p->step == STEP_GONE ? advance(load, now_ms, stamp_ns, err) : put_pod(load, p, now_ms, stamp_ns, err);
}

static ki_status put_node(kt_load *load, uint32_t index, int64_t now_ms, ki_error *err) {
    load_node *n = &load->nodes[index];
    texts t = { 0 };
    set_node(&t, index);
    set_numbers(&t, index, index % 256);
    set_times(&t, n->made_s, load->now_s);
    snprintf(t.stamp, sizeof t.stamp, "%u", n->beats++);
    kt_load_set(&t.fields, 'T', t.stamp);
    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_NODE, &t);
    return put(load, KI_NODES, now_ms, err);
}

ki_status kt_load_change(kt_load *load, int64_t now_ms, int64_t stamp_ns, ki_error *err) {
    size_t chance = draw_below(load, CHANCES);
    load->now_s = now_ms / 1000;
    if (load->outdating.count && draw_below(load, CHANCES) < CHANCE_SLICE) {
        bool written;
        ki_status status = update_slice(load, now_ms, &written, err);
        if (status || written)
            return status;
    }
    if (load->node_count && (!load->pod_count || chance >= CHANCES - CHANCE_NODE)) {
        return put_node(load, (uint32_t)draw_below(load, load->node_count), now_ms, err);
    }
    if (!load->pod_count)
        return KI_OK;
    uint32_t index = (uint32_t)draw_below(load, load->pod_count);
    if (load->pods[index].step != STEP_READY || (load->moving.count && chance < CHANCE_ADVANCE)) {
        return advance(load, now_ms, stamp_ns, err);
    }
    return disturb(load, index, now_ms, stamp_ns, err);
}

/* ---- start ---- */

static ki_status read_uid(kt_load *load, const ki_resource *resource, const char *ns, const char *name, char uid[40]) {
    ki_str json = { NULL, 0 };
    ki_status status = kt_cluster_get(load->cluster, resource, ns, name, &json);
    if (status)
        return status;
    yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
    const char *text = yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/metadata/uid"));
    snprintf(uid, 40, "%s", text ? text : "");
    yyjson_doc_free(doc);
    return doc ? KI_OK : KI_ERR_NO_MEMORY;
}

/* Creates a Deployment and its ReplicaSet. */
static ki_status make_workload(kt_load *load, size_t index, size_t replicas, int64_t now_ms, ki_error *err) {
    workload *w = &load->workloads[index];
    char name[64];
    texts t = { 0 };

    w->kind = (uint32_t)(index % KINDS);
    if (index < KINDS)
        snprintf(w->name, sizeof w->name, "%s", kinds[w->kind].app);
    else
        snprintf(w->name, sizeof w->name, "%s-%zu", kinds[w->kind].app, index / KINDS + 1);
    snprintf(w->hash, sizeof w->hash, "%05x%05x", (unsigned)(draw(load) & 0xfffff), (unsigned)(draw(load) & 0xfffff));

    set_workload(&t, w);
    set_numbers(&t, 0, (uint32_t)replicas);
    set_times(&t, load->now_s, load->now_s);
    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_DEPLOYMENT, &t);
    const char *ns = kinds[w->kind].namespace_name;
    ki_status status = put(load, KI_DEPLOYMENTS, now_ms, err);
    if (!status)
        status = read_uid(load, KI_DEPLOYMENTS, ns, w->name, w->uid);
    if (status)
        return status;

    kt_load_set(&t.fields, 'u', w->uid);
    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_REPLICA_SET, &t);
    snprintf(name, sizeof name, "%s-%s", w->name, w->hash);
    status = put(load, KI_REPLICASETS, now_ms, err);
    return status ? status : read_uid(load, KI_REPLICASETS, ns, name, w->uid);
}

static ki_status make_service(kt_load *load, size_t index, int64_t now_ms, ki_error *err) {
    workload *w = &load->workloads[index];
    const char *ns = kinds[w->kind].namespace_name;
    texts t = { 0 };
    set_workload(&t, w);
    snprintf(t.pod_address, sizeof t.pod_address, "10.97.%u.%u", (unsigned)index / 250 % 256,
             (unsigned)index % 250 + 2);
    kt_load_set(&t.fields, 'I', t.pod_address);
    ki_buffer_reset(&load->text, TEXT_MAX);
    append(load, KT_LOAD_SERVICE, &t);
    ki_status status = put(load, KI_SERVICES, now_ms, err);
    return status ? status : read_uid(load, KI_SERVICES, ns, w->name, w->service_uid);
}

static ki_status make_objects(kt_load *load, int64_t now_ms, ki_error *err) {
    ki_status status = KI_OK;
    load->now_s = now_ms / 1000;
    for (size_t i = 0; i < load->node_count && !status; i++) {
        load->nodes[i] = (load_node){ .made_s = load->now_s };
        status = put_node(load, (uint32_t)i, now_ms, err);
    }
    for (size_t i = 0; i < load->workload_count && !status; i++) {
        size_t more = i < load->pod_count % load->workload_count;
        status = make_workload(load, i, load->pod_count / load->workload_count + more, now_ms, err);
        if (!status)
            status = make_service(load, i, now_ms, err);
    }
    for (size_t i = 0; i < load->pod_count && !status; i++) {
        pod *p = &load->pods[i];
        p->workload = (uint32_t)(i % load->workload_count); /* NOLINT(clang-analyzer-core.DivideZero): pods have one */
        start_pod(load, p);
        p->step = STEP_READY;
        p->ready = true;
        status = put_pod(load, p, now_ms, 0, err);
        if (!status && outdate(load, i))
            status = ki_error_no_memory(err, "making the load");
    }
    return status ? status : kt_load_settle(load, now_ms, err);
}

static ki_status reserve(kt_load *load, const char *stamp, ki_error *err) {
    if (load->pod_count) {
        load->workload_count = load->pod_count / PODS_OF_A_WORKLOAD + 1;
        if (load->workload_count > WORKLOADS_MAX)
            load->workload_count = WORKLOADS_MAX;
        load->pods = ki_alloc_array(&load->allocator, load->pod_count, sizeof *load->pods);
        load->workloads = ki_alloc_array(&load->allocator, load->workload_count, sizeof *load->workloads);
        size_t most = load->pod_count / load->workload_count + 1;
        load->slices_of_a_workload = (most + ENDPOINTS_OF_A_SLICE - 1) / ENDPOINTS_OF_A_SLICE;
        load->outdated = ki_alloc_zero(&load->allocator, load->workload_count * load->slices_of_a_workload);
        if (!load->pods || !load->workloads || !load->outdated)
            return ki_error_no_memory(err, "making the load");
        memset(load->pods, 0, load->pod_count * sizeof *load->pods);
        memset(load->workloads, 0, load->workload_count * sizeof *load->workloads);
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
    if (stamp && !(load->stamp = ki_strdup(&load->allocator, stamp))) {
        return ki_error_no_memory(err, "making the load");
    }
    return KI_OK;
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
    load->random = options->seed;
    load->pod_count = options->pods;
    load->node_count = options->nodes;
    if (!load->node_count && options->pods)
        load->node_count = options->pods / PODS_OF_A_NODE + 1;
    if (load->node_count > NODES_MAX)
        load->node_count = NODES_MAX;
    ki_ring_init(&load->moving, &load->allocator, sizeof(uint32_t));
    ki_ring_init(&load->outdating, &load->allocator, sizeof(uint32_t));
    ki_buffer_init(&load->text, &load->allocator, TEXT_MAX);

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
    ki_free(&allocator, load->pods);
    ki_free(&allocator, load->workloads);
    ki_free(&allocator, load->nodes);
    ki_free(&allocator, load->stamp);
    for (size_t i = 0; i < KT_LOAD_TEMPLATES; i++)
        ki_free(&allocator, load->templates[i]);
    ki_ring_free(&load->moving);
    ki_ring_free(&load->outdating);
    ki_free(&allocator, load->outdated);
    ki_buffer_free(&load->text);
    ki_free(&allocator, load);
}

/* node.c: the load's nodes with their Leases, and the events of its pods. See state.h. */
#include "testing/load/state.h"

#include "src/base/rfc3339.h"
#include "testing/cluster/storage.h"

#include <stdio.h>

enum {
    ADDRESSES = 1 << 17,    /* of nodes: 10.0.0.0/15 */
    ADDRESS_FACTOR = 81173, /* odd, so that all addresses occur in a mixed order */
    FIRST_ADDRESS = 2626,
    IMAGES = 50, /* of a node's status: the kubelet's default of nodeStatusMaxImages */
    ZONES = 3,
    TAGS = 40
};

void kt_load_set_node(uint32_t node, kt_load_fields *f) {
    static const char *const zones[ZONES] = { "a", "b", "c" };
    uint32_t address = (uint32_t)(((uint64_t)node * ADDRESS_FACTOR + FIRST_ADDRESS) % ADDRESSES);
    unsigned a = address >> 16, b = address >> 8 & 255, c = address & 255;
    kt_load_setf(f, 'o', "ip-10-%u-%u-%u.eu-central-1.compute.internal", a, b, c);
    kt_load_setf(f, 'H', "10.%u.%u.%u", a, b, c);
    kt_load_setf(f, 'F', "2a05:d014:8f2:%x%02x::%x", a + 1, b, c + 0x1000);
    kt_load_set(f, '/', zones[node % ZONES]);
}

static void set_uuid(kt_load_fields *f, char letter, uint64_t key) {
    uint64_t a = kt_load_mix(key, 0), b = kt_load_mix(key, 1);
    kt_load_setf(f, letter, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
                 (unsigned)(a & 0xfff), (unsigned)((b >> 48 & 0x3fff) | 0x8000),
                 (unsigned long long)(b & 0xffffffffffff));
}

/* The images that its pods have left: each node has others. */
static void add_images(kt_load *load, uint32_t node) {
    kt_load_fields f;
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint64_t key = kt_load_mix(kt_load_mix(load->seed, node), 50 + i);
        const kt_load_app *app = &kt_load_apps[(key + i) % kt_load_app_count];
        unsigned tag = (unsigned)(key >> 32) % TAGS;
        uint64_t image = kt_load_mix((uint64_t)(app - kt_load_apps), tag);
        kt_load_clear(&f);
        kt_load_setf(&f, 'i', "registry.example.com/%s/%s", app->namespace_name, app->name);
        kt_load_setf(&f, 'v', "%.2s%u.%u", app->version, tag / 8, tag % 8);
        kt_load_set_hex(&f, 'G', image, 64);
        kt_load_setf(&f, 'k', "%u", 12000000 + (unsigned)(image % 400000000));
        ki_buffer_append_string(&load->status, i ? "," : "");
        kt_load_add(load, &load->status, KT_LOAD_NODE_IMAGE, &f);
    }
    ki_buffer_append_string(&load->status, "]}");
}

ki_status kt_load_put_node(kt_load *load, uint32_t index, int64_t now_ms, ki_error *err) {
    kt_load_node *n = &load->nodes[index];
    uint64_t key = kt_load_mix(load->seed ^ 2, index);
    kt_load_fields f;
    n->beat_s = load->now_s > n->beat_s ? load->now_s : n->beat_s + 1; /* each one differs */
    kt_load_clear(&f);
    kt_load_set_node(index, &f);
    kt_load_setf(&f, 'x', "%u", index % ZONES + 1);
    kt_load_setf(&f, 'J', "10.%u.%u.0", 128 + index / 256 % 128, index % 256);
    kt_load_set_hex(&f, '1', key, 32);
    set_uuid(&f, '2', key + 1);
    kt_load_set_hex(&f, '3', key + 2, 17);
    set_uuid(&f, '4', key + 3);
    kt_load_set_hex(&f, 'g', load->seed, 32);
    kt_load_set_time(&f, 't', n->made_s);
    kt_load_set_time(&f, 'r', n->beat_s);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_NODE, &f);
    kt_load_add(load, &load->status, KT_LOAD_NODE_STATUS, &f);
    add_images(load, index);
    return kt_load_put(load, KI_NODES, "kubelet", "kubelet", now_ms, err);
}

ki_status kt_load_put_lease(kt_load *load, uint32_t index, int64_t now_ms, ki_error *err) {
    char renewed[KI_RFC3339_SIZE];
    kt_load_fields f;
    kt_load_clear(&f);
    kt_load_set_node(index, &f);
    f.values['u'] = kt_load_uid(load, KI_NODES, NULL, f.values['o'].data);
    ki_rfc3339_micros(now_ms * 1000000 + load->nodes[index].renewals++ % 1000 * 1000, renewed);
    kt_load_set(&f, 'r', renewed);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_LEASE, &f);
    return kt_load_put(load, KI_LEASES, "kubelet", NULL, now_ms, err);
}

/* ---- events ---- */

static const struct reason {
    const char *reason, *type, *component, *message;
} reasons[] = {
    { "Scheduled", "Normal", "default-scheduler", "Successfully assigned `s/`n to `o" },
    { "Pulled", "Normal", "kubelet", "Container image \\\"`i:`v\\\" already present on machine" },
    { "Created", "Normal", "kubelet", "Created container: `a" },
    { "Started", "Normal", "kubelet", "Started container `a" },
    { "Unhealthy", "Warning", "kubelet",
      "Readiness probe failed: Get \\\"http://`I:`p/readyz\\\": dial tcp `I:`p: connect: connection refused" },
    { "BackOff", "Warning", "kubelet", "Back-off restarting failed container `a in pod `n_`s(`u)" },
    { "Killing", "Normal", "kubelet", "Stopping container `a" },
};
enum {
    REASONS = sizeof reasons / sizeof reasons[0]
};

/* Sets the fields of an event's pod. */
static void set_event(const kt_load *load, const kt_load_event *e, kt_load_fields *f) {
    kt_load_clear(f);
    kt_load_set_workload(load, &load->workloads[e->pod.workload], f);
    kt_load_set_pod(load, &e->pod, e->index, f);
    kt_load_set_hex(f, 'x', kt_load_mix(load->seed ^ 3, e->number), 16);
}

static ki_status put_event(kt_load *load, const kt_load_event *e, int64_t now_ms, ki_error *err) {
    const struct reason *reason = &reasons[e->reason];
    kt_load_fields f;
    set_event(load, e, &f);
    kt_load_set(&f, 'u', e->uid);
    kt_load_set(&f, '1', reason->reason);
    kt_load_set(&f, '2', reason->message);
    kt_load_set(&f, '3', reason->type);
    kt_load_set(&f, '4', reason->component);
    kt_load_set_time(&f, 't', e->made_s);
    kt_load_set_time(&f, 'r', load->now_s);
    kt_load_setf(&f, 'k', "%u", e->count);
    kt_load_begin(load);
    kt_load_add(load, &load->body, KT_LOAD_EVENT, &f);
    return kt_load_put(load, KI_EVENTS, reason->component, NULL, now_ms, err);
}

static ki_status delete_event(kt_load *load, kt_load_event *e, int64_t now_ms, ki_error *err) {
    char name[2 * KT_LOAD_NAME];
    kt_load_fields f;
    set_event(load, e, &f);
    snprintf(name, sizeof name, "%s.%s", f.values['n'].data, f.values['x'].data);
    e->count = 0;
    return kt_load_delete(load, KI_EVENTS, f.values['s'].data, name, now_ms, err);
}

ki_status kt_load_change_event(kt_load *load, int64_t now_ms, ki_error *err) {
    kt_load_event *e = &load->events[kt_load_below(load, load->event_count)];
    if (e->count && kt_load_below(load, 2))
        return delete_event(load, e, now_ms, err);
    if (!e->count) {
        size_t index = kt_load_below(load, load->pod_count);
        *e = (kt_load_event){ .pod = load->pods[index],
                              .index = (uint32_t)index,
                              .number = load->next_event++,
                              .made_s = load->now_s,
                              .reason = (uint8_t)kt_load_below(load, REASONS) };
        char name[KT_LOAD_NAME];
        kt_load_pod_name(load, &e->pod, index, name);
        ki_str uid = kt_load_uid(load, KI_PODS, load->workloads[e->pod.workload].app->namespace_name, name);
        if (!uid.size) /* the pod is between its deletion and the next one */
            return kt_load_put_lease(load, (uint32_t)kt_load_below(load, load->node_count), now_ms, err);
        snprintf(e->uid, sizeof e->uid, "%.*s", (int)uid.size, uid.data);
    }
    e->count++;
    return put_event(load, e, now_ms, err);
}

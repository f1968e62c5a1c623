/* node.c: a node with its pods, and what they have of its resources. */
#include "amounts.h"
#include "describe.h"
#include "values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROLES_MAX = 64,
    POOLS_SHOWN = 10,
    AMOUNT_SIZE = KI_QUANTITY_SIZE + 32 /* "250m (6%)" */
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Writes the roles that the node's labels name, sorted. */
static void write_roles(sheet *s, yyjson_val *labels) {
    static const char prefix[] = "node-role.kubernetes.io/";
    const char *roles[ROLES_MAX];
    yyjson_val *key, *value;
    size_t index, max, count = 0;
    yyjson_obj_foreach(labels, index, max, key, value) {
        const char *name = text_of(key), *role = "";
        if (strncmp(name, prefix, sizeof prefix - 1) == 0)
            role = name + sizeof prefix - 1;
        else if (strcmp(name, "kubernetes.io/role") == 0)
            role = text_of(value);
        if (*role && count < ROLES_MAX)
            roles[count++] = role;
    }
    qsort(roles, count, sizeof *roles, by_text);
    sheet_write(s, 0, "Roles:\t%s", count ? "" : "<none>");
    for (size_t i = 0; i < count; i++) {
        if (!i || strcmp(roles[i], roles[i - 1]) != 0)
            sheet_write(s, 0, "%s%s", i ? "," : "", roles[i]);
    }
    sheet_write(s, 0, "\n");
}

static int by_effect_and_key(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    int order = strcmp(text_at(*left, "effect"), text_at(*right, "effect"));
    return order ? order : strcmp(text_at(*left, "key"), text_at(*right, "key"));
}

static void write_taints(sheet *s, yyjson_val *taints) {
    yyjson_val **sorted = elements_sorted(s, taints, by_effect_and_key);
    sheet_write(s, 0, "Taints:\t%s", sorted ? "" : "<none>\n");
    for (size_t i = 0; sorted && i < yyjson_arr_size(taints); i++) {
        const char *value = text_at(sorted[i], "value"), *effect = text_at(sorted[i], "effect");
        sheet_write(s, 0, "%s%s%s%s%s%s\n", i ? "\t" : "", text_at(sorted[i], "key"), *value ? "=" : "", value,
                    *effect ? ":" : "", effect);
    }
    free(sorted);
}

static void write_lease(const description *d, sheet *s) {
    static const struct {
        const char *title, *path;
    } times[] = { { "AcquireTime", "spec.acquireTime" }, { "RenewTime", "spec.renewTime" } };
    yyjson_val *holder = value_at(d->lease, "spec.holderIdentity");
    char text[TIME_SIZE];
    if (!d->lease) {
        sheet_write(s, 0, "Lease:\tFailed to get lease: %s\n", d->lease_failure);
        return;
    }
    sheet_write(s, 0, "Lease:\n");
    sheet_write(s, 1, "HolderIdentity:\t%s\n", holder ? text_of(holder) : "<unset>");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        yyjson_val *time = value_at(d->lease, times[i].path);
        sheet_write(s, 1, "%s:\t%s\n", times[i].title, time ? time_text(time, text) : "<unset>");
    }
}

static void write_conditions(sheet *s, yyjson_val *conditions) {
    yyjson_val *one;
    size_t index, count;
    char heartbeat[TIME_SIZE], transition[TIME_SIZE];
    if (!yyjson_arr_size(conditions))
        return;
    sheet_write(s, 0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n");
    sheet_write(s, 1, "----\t------\t-----------------\t------------------\t------\t-------\n");
    yyjson_arr_foreach(conditions, index, count, one) {
        sheet_write(s, 1, "%s \t%s \t%s \t%s \t%s \t%s\n", text_at(one, "type"), text_at(one, "status"),
                    time_text(value_at(one, "lastHeartbeatTime"), heartbeat),
                    time_text(value_at(one, "lastTransitionTime"), transition), text_at(one, "reason"),
                    text_at(one, "message"));
    }
}

static void write_resources(sheet *s, const char *title, yyjson_val *resources) {
    size_t count;
    named_value *sorted = members_sorted(s, resources, &count);
    char text[KI_QUANTITY_SIZE];
    if (count)
        sheet_write(s, 0, "%s:\n", title);
    for (size_t i = 0; i < count; i++)
        sheet_write(s, 1, "%s:\t%s\n", sorted[i].name, amount_text(sorted[i].value, text));
    free(sorted);
}

/* ---- resource slices ---- */

static int by_pool(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    int order = strcmp(text_at(*left, "spec.driver"), text_at(*right, "spec.driver"));
    return order ? order : strcmp(text_at(*left, "spec.pool.name"), text_at(*right, "spec.pool.name"));
}

/* Writes the pools of devices, each with the number of its slices and devices. */
static void write_slices(const description *d, sheet *s) {
    size_t count = d->slices.count, pools = 0;
    yyjson_val **all = d->slices.items;
    if (!count)
        return;
    qsort(all, count, sizeof(yyjson_val *), by_pool);
    sheet_write(s, 0, "Node-Local ResourceSlices:\n");
    sheet_write(s, 1, "Driver\tPool\tSlices\tDevices\n");
    sheet_write(s, 1, "------\t----\t------\t-------\n");
    for (size_t first = 0, end; first < count; first = end) {
        size_t devices = 0;
        for (end = first; end < count && by_pool(&all[first], &all[end]) == 0; end++)
            devices += yyjson_arr_size(value_at(all[end], "spec.devices"));
        if (pools++ < POOLS_SHOWN)
            sheet_write(s, 1, "%s\t%s\t%zu\t%zu\n", text_at(all[first], "spec.driver"),
                        text_at(all[first], "spec.pool.name"), end - first, devices);
    }
    if (pools > POOLS_SHOWN)
        sheet_write(s, 1, "...and %zu more pools\n", pools - POOLS_SHOWN);
}

static void write_system(sheet *s, yyjson_val *node) {
    static const struct {
        const char *title, *path;
    } lines[] = { { "Machine ID", "machineID" },
                  { "System UUID", "systemUUID" },
                  { "Boot ID", "bootID" },
                  { "Kernel Version", "kernelVersion" },
                  { "OS Image", "osImage" },
                  { "Operating System", "operatingSystem" },
                  { "Architecture", "architecture" },
                  { "Container Runtime Version", "containerRuntimeVersion" },
                  { "Kubelet Version", "kubeletVersion" } };
    yyjson_val *info = value_at(node, "status.nodeInfo"), *ranges = value_at(node, "spec.podCIDRs");
    sheet_write(s, 0, "System Info:\n");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        sheet_write(s, 1, "%s:\t%s\n", lines[i].title, text_at(info, lines[i].path));
    write_text(s, "PodCIDR", node, "spec.podCIDR");
    if (yyjson_arr_size(ranges)) {
        sheet_write(s, 0, "PodCIDRs:\t");
        write_joined(s, ranges, ",");
        sheet_write(s, 0, "\n");
    }
    write_text(s, "ProviderID", node, "spec.providerID");
}

/* ---- pods ---- */

/* Writes an amount and how much it is of what the node has: "250m (6%)". Returns `text`. */
static const char *share_text(const char *name, ki_quantity amount, yyjson_val *allocatable, char text[AMOUNT_SIZE]) {
    ki_quantity all = amount_of(yyjson_obj_get(allocatable, name));
    int64_t part = ki_quantity_units(&amount), whole = ki_quantity_units(&all);
    char written[KI_QUANTITY_SIZE];
    if (strcmp(name, "cpu") == 0 && (!ki_quantity_milli(&amount, &part) || !ki_quantity_milli(&all, &whole)))
        whole = 0;
    double share = whole ? (double)part / (double)whole * 100 : 0;
    ki_quantity_write(&amount, written);
    snprintf(text, AMOUNT_SIZE, "%s (%" PRId64 "%%)", written, share < 1e18 ? (int64_t)share : INT64_MAX);
    return text;
}

static void write_pod(const description *d, sheet *s, yyjson_val *pod, yyjson_val *allocatable) {
    amounts requests = pod_requests(pod, true), limits = pod_limits(pod, true);
    char texts[4][AMOUNT_SIZE], age[AGE_SIZE];
    sheet_write(s, 1, "%s\t%s\t\t%s\t%s\t%s\t%s\t%s\n", text_at(pod, "metadata.namespace"),
                text_at(pod, "metadata.name"), share_text("cpu", amounts_get(&requests, "cpu"), allocatable, texts[0]),
                share_text("cpu", amounts_get(&limits, "cpu"), allocatable, texts[1]),
                share_text("memory", amounts_get(&requests, "memory"), allocatable, texts[2]),
                share_text("memory", amounts_get(&limits, "memory"), allocatable, texts[3]),
                age_text(value_at(pod, "metadata.creationTimestamp"), d->now_ms, age));
}

static bool is_huge_page(const char *name) {
    return strncmp(name, "hugepages-", 10) == 0;
}

/* Returns true for a resource that no other line of the table has. */
static bool is_extended(const char *name) {
    static const char *const others[] = { "cpu", "memory", "ephemeral-storage", "pods" };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i]) == 0)
            return false;
    }
    return !is_huge_page(name);
}

/* The amounts of all pods of a node. */
typedef struct totals {
    amounts requests;
    amounts limits;
    yyjson_val *allocatable;
} totals;

static void write_total(const totals *t, sheet *s, const char *name) {
    char request[AMOUNT_SIZE], limit[AMOUNT_SIZE];
    sheet_write(s, 1, "%s\t%s\t%s\n", name, share_text(name, amounts_get(&t->requests, name), t->allocatable, request),
                share_text(name, amounts_get(&t->limits, name), t->allocatable, limit));
}

static void write_extended(const totals *t, sheet *s, const char *name) {
    ki_quantity requests = amounts_get(&t->requests, name), limits = amounts_get(&t->limits, name);
    char request[KI_QUANTITY_SIZE], limit[KI_QUANTITY_SIZE];
    ki_quantity_write(&requests, request);
    ki_quantity_write(&limits, limit);
    sheet_write(s, 1, "%s\t%s\t%s\n", name, request, limit);
}

static void write_totals(const description *d, sheet *s, yyjson_val *allocatable) {
    totals t = { .allocatable = allocatable };
    size_t count;
    named_value *resources = members_sorted(s, allocatable, &count);
    for (size_t i = 0; i < d->related.count; i++) {
        amounts requests = pod_requests(d->related.items[i], false), limits = pod_limits(d->related.items[i], false);
        amounts_add(&t.requests, &requests);
        amounts_add(&t.limits, &limits);
    }
    sheet_write(s, 0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n");
    sheet_write(s, 1, "Resource\tRequests\tLimits\n");
    sheet_write(s, 1, "--------\t--------\t------\n");
    write_total(&t, s, "cpu");
    write_total(&t, s, "memory");
    write_total(&t, s, "ephemeral-storage");
    for (size_t i = 0; i < count; i++) {
        if (is_huge_page(resources[i].name))
            write_total(&t, s, resources[i].name);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_extended(resources[i].name))
            write_extended(&t, s, resources[i].name);
    }
    free(resources);
}

static void write_pods(const description *d, sheet *s) {
    yyjson_val *allocatable = value_at(d->object, "status.allocatable");
    if (d->is_forbidden) {
        sheet_write(s, 0, "Pods:\tnot authorized\n");
        return;
    }
    if (!yyjson_obj_size(allocatable))
        allocatable = value_at(d->object, "status.capacity");
    sheet_write(s, 0, "Non-terminated Pods:\t(%zu in total)\n", d->related.count);
    sheet_write(s, 1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n");
    sheet_write(s, 1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n");
    for (size_t i = 0; i < d->related.count; i++)
        write_pod(d, s, d->related.items[i], allocatable);
    write_totals(d, s, allocatable);
}

void describe_node(const description *d, sheet *s) {
    yyjson_val *node = d->object, *address;
    char time[TIME_SIZE];
    size_t index, count;
    sheet_write(s, 0, "Name:\t%s\n", text_at(node, "metadata.name"));
    write_roles(s, value_at(node, "metadata.labels"));
    write_labels(s, "Labels", value_at(node, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(node, "metadata.annotations"));
    sheet_write(s, 0, "CreationTimestamp:\t%s\n", time_text(value_at(node, "metadata.creationTimestamp"), time));
    write_taints(s, value_at(node, "spec.taints"));
    sheet_write(s, 0, "Unschedulable:\t%s\n", is_true_at(node, "spec.unschedulable") ? "true" : "false");
    write_lease(d, s);
    write_conditions(s, value_at(node, "status.conditions"));
    sheet_write(s, 0, "Addresses:\n");
    yyjson_arr_foreach(value_at(node, "status.addresses"), index, count, address) {
        sheet_write(s, 1, "%s:\t%s\n", text_at(address, "type"), text_at(address, "address"));
    }
    write_resources(s, "Capacity", value_at(node, "status.capacity"));
    write_resources(s, "Allocatable", value_at(node, "status.allocatable"));
    write_slices(d, s);
    write_system(s, node);
    write_pods(d, s);
}

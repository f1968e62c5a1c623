/* table.c: the columns that the server prints for a resource, and an object's cells. */
#include "testing/table.h"

#include "testing/crd.h"
#include "testing/json.h"
#include "testing/table_cells.h"

#define NAME \
    { "Name", "string", 0, KT_CELL_NAME, NULL }
#define AGE \
    { "Age", "string", 0, KT_CELL_AGE, "metadata.creationTimestamp" }
#define TEXT(name, path) \
    { name, "string", 0, KT_CELL_TEXT, path }
#define WIDE(name, path) \
    { name, "string", 1, KT_CELL_TEXT, path }
#define INTEGER(name, path) \
    { name, "integer", 0, KT_CELL_INTEGER, path }
#define COUNT(name, path) \
    { name, "string", 0, KT_CELL_COUNT, path }
#define MADE(name, cell) \
    { name, "string", 0, cell, NULL }
#define JOIN(name, path) \
    { name, "string", 1, KT_CELL_JOIN, path }
#define SELECTOR(path) \
    { "Selector", "string", 1, KT_CELL_SELECTOR, path }
#define CONTAINERS JOIN("Containers", "spec.template.spec.containers:name")
#define IMAGES JOIN("Images", "spec.template.spec.containers:image")
#define END \
    { NULL, NULL, 0, KT_CELL_NAME, NULL }

enum {
    MAX_COLUMNS = 12
};

static const kt_column plain[] = { NAME, AGE, END };

static const struct {
    const char *group;
    const char *plural;
    kt_column columns[MAX_COLUMNS];
} tables[] = {
    { "",
      "pods",
      { NAME, MADE("Ready", KT_CELL_POD_READY), MADE("Status", KT_CELL_POD_STATUS),
        MADE("Restarts", KT_CELL_POD_RESTARTS), AGE, WIDE("IP", "status.podIP"), WIDE("Node", "spec.nodeName"),
        WIDE("Nominated Node", "status.nominatedNodeName"), WIDE("Readiness Gates", "spec.readinessGates"), END } },
    { "",
      "nodes",
      { NAME, MADE("Status", KT_CELL_NODE_STATUS), MADE("Roles", KT_CELL_NODE_ROLES), AGE,
        TEXT("Version", "status.nodeInfo.kubeletVersion"), WIDE("OS-Image", "status.nodeInfo.osImage"),
        WIDE("Kernel-Version", "status.nodeInfo.kernelVersion"),
        WIDE("Container-Runtime", "status.nodeInfo.containerRuntimeVersion"), END } },
    { "", "namespaces", { NAME, TEXT("Status", "status.phase"), AGE, END } },
    { "", "configmaps", { NAME, COUNT("Data", "data"), AGE, END } },
    { "", "secrets", { NAME, TEXT("Type", "type"), { "Data", "integer", 0, KT_CELL_COUNT, "data" }, AGE, END } },
    { "",
      "services",
      { NAME, TEXT("Type", "spec.type"), TEXT("Cluster-IP", "spec.clusterIP"), TEXT("External-IP", "spec.externalName"),
        MADE("Port(s)", KT_CELL_PORTS), AGE, SELECTOR("spec.selector"), END } },
    { "",
      "events",
      { { "Last Seen", "string", 0, KT_CELL_AGE, "lastTimestamp" },
        TEXT("Type", "type"),
        TEXT("Reason", "reason"),
        MADE("Object", KT_CELL_EVENT_OBJECT),
        TEXT("Message", "message"),
        { "Name", "string", 1, KT_CELL_NAME, NULL },
        END } },
    { "apps",
      "deployments",
      { NAME, MADE("Ready", KT_CELL_REPLICAS_READY), INTEGER("Up-to-date", "status.updatedReplicas"),
        INTEGER("Available", "status.availableReplicas"), AGE, CONTAINERS, IMAGES, SELECTOR("spec.selector"), END } },
    { "apps", "statefulsets", { NAME, MADE("Ready", KT_CELL_REPLICAS_READY), AGE, CONTAINERS, IMAGES, END } },
    { "apps",
      "replicasets",
      { NAME, INTEGER("Desired", "spec.replicas"), INTEGER("Current", "status.replicas"),
        INTEGER("Ready", "status.readyReplicas"), AGE, CONTAINERS, IMAGES, SELECTOR("spec.selector"), END } },
    { "apps",
      "daemonsets",
      { NAME,
        INTEGER("Desired", "status.desiredNumberScheduled"),
        INTEGER("Current", "status.currentNumberScheduled"),
        INTEGER("Ready", "status.numberReady"),
        INTEGER("Up-to-date", "status.updatedNumberScheduled"),
        INTEGER("Available", "status.numberAvailable"),
        { "Node Selector", "string", 0, KT_CELL_SELECTOR, "spec.template.spec.nodeSelector" },
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR("spec.selector"),
        END } },
    { "batch",
      "jobs",
      { NAME, MADE("Status", KT_CELL_JOB_STATUS), MADE("Completions", KT_CELL_JOB_COMPLETIONS),
        MADE("Duration", KT_CELL_JOB_DURATION), AGE, CONTAINERS, IMAGES, SELECTOR("spec.selector"), END } },
    { "batch",
      "cronjobs",
      { NAME,
        TEXT("Schedule", "spec.schedule"),
        TEXT("Timezone", "spec.timeZone"),
        { "Suspend", "boolean", 0, KT_CELL_BOOL, "spec.suspend" },
        { "Active", "integer", 0, KT_CELL_COUNT, "status.active" },
        { "Last Schedule", "string", 0, KT_CELL_SINCE, "status.lastScheduleTime" },
        AGE,
        JOIN("Containers", "spec.jobTemplate.spec.template.spec.containers:name"),
        JOIN("Images", "spec.jobTemplate.spec.template.spec.containers:image"),
        SELECTOR("spec.jobTemplate.spec.selector"),
        END } },
    { "rbac.authorization.k8s.io", "roles", { NAME, TEXT("Created At", "metadata.creationTimestamp"), END } },
    { "rbac.authorization.k8s.io", "clusterroles", { NAME, TEXT("Created At", "metadata.creationTimestamp"), END } },
    { "apiextensions.k8s.io",
      "customresourcedefinitions",
      { NAME, TEXT("Created At", "metadata.creationTimestamp"), END } },
    { "coordination.k8s.io", "leases", { NAME, TEXT("Holder", "spec.holderIdentity"), AGE, END } },
};

static const kt_column *columns_of(const ki_resource *resource) {
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].plural, resource->plural) == 0 && strcmp(tables[i].group, resource->group) == 0)
            return tables[i].columns;
    }
    return plain;
}

ki_status kt_table_append_columns(const ki_resource_info *info, ki_buffer *out) {
    const kt_custom *custom = kt_custom_of(info);
    if (custom)
        return kt_custom_append_columns(custom, out);
    const kt_column *first = columns_of(info->resource);
    ki_buffer_append_char(out, '[');
    for (const kt_column *column = first; column->name; column++) {
        ki_buffer_printf(out,
                         "%s{\"name\":\"%s\",\"type\":\"%s\",\"format\":\"%s\",\"description\":\"\",\"priority\":%d}",
                         column == first ? "" : ",", column->name, column->type,
                         column->cell == KT_CELL_NAME && column->priority == 0 ? "name" : "", column->priority);
    }
    return ki_buffer_append_char(out, ']');
}

ki_status kt_table_append_cells(const ki_resource_info *info, const kt_object *obj, int64_t now_ms, ki_buffer *out) {
    const kt_custom *custom = kt_custom_of(info);
    if (custom)
        return kt_custom_append_cells(custom, obj, now_ms, out);
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read(out->allocator, obj->json, &doc, NULL);
    if (status)
        return status;
    const kt_column *first = columns_of(info->resource);
    ki_buffer_append_char(out, '[');
    for (const kt_column *column = first; column->name; column++) {
        if (column != first)
            ki_buffer_append_char(out, ',');
        kt_cell_append(column, yyjson_doc_get_root(doc), now_ms, out);
    }
    yyjson_doc_free(doc);
    return ki_buffer_append_char(out, ']');
}

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
    { "", "serviceaccounts", { NAME, { "Secrets", "integer", 0, KT_CELL_COUNT, "secrets" }, AGE, END } },
    { "",
      "services",
      { NAME, TEXT("Type", "spec.type"), TEXT("Cluster-IP", "spec.clusterIP"), TEXT("External-IP", "spec.externalName"),
        MADE("Port(s)", KT_CELL_PORTS), AGE, END } },
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
        INTEGER("Available", "status.availableReplicas"), AGE, END } },
    { "apps", "statefulsets", { NAME, MADE("Ready", KT_CELL_REPLICAS_READY), AGE, END } },
    { "apps",
      "replicasets",
      { NAME, INTEGER("Desired", "spec.replicas"), INTEGER("Current", "status.replicas"),
        INTEGER("Ready", "status.readyReplicas"), AGE, END } },
    { "apps",
      "daemonsets",
      { NAME, INTEGER("Desired", "status.desiredNumberScheduled"), INTEGER("Current", "status.currentNumberScheduled"),
        INTEGER("Ready", "status.numberReady"), INTEGER("Up-to-date", "status.updatedNumberScheduled"),
        INTEGER("Available", "status.numberAvailable"), AGE, END } },
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

/* deployment.c: a deployment with its pod template and its replica sets. */
#include "describe.h"
#include "selector.h"
#include "template.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_pod_template(sheet *s, yyjson_val *template) {
    yyjson_val *spec = value_at(template, "spec"), *init = value_at(spec, "initContainers");
    yyjson_val *annotations = value_at(template, "metadata.annotations");
    sheet_write(s, 0, "Pod Template:\n");
    write_labels(s, "  Labels", value_at(template, "metadata.labels"));
    if (yyjson_obj_size(annotations))
        write_annotations(s, "  Annotations", annotations);
    if (*text_at(spec, "serviceAccountName"))
        sheet_write(s, 1, "Service Account:\t%s\n", text_at(spec, "serviceAccountName"));
    if (yyjson_arr_size(init))
        write_containers(s, "Init Containers", init, NULL, "", "  ");
    write_containers(s, "Containers", value_at(spec, "containers"), NULL, "", "  ");
    write_volumes(s, value_at(spec, "volumes"), "  ");
    write_spread_constraints(s, value_at(spec, "topologySpreadConstraints"), "  ");
    if (*text_at(spec, "priorityClassName"))
        sheet_write(s, 1, "Priority Class Name:\t%s\n", text_at(spec, "priorityClassName"));
    write_labels(s, "  Node-Selectors", value_at(spec, "nodeSelector"));
    write_tolerations(s, "  Tolerations", value_at(spec, "tolerations"));
    write_scheduling_group(s, value_at(spec, "schedulingGroup"), "  ");
}

/* ---- replica sets ---- */

static bool is_controlled_by(yyjson_val *object, yyjson_val *controller) {
    yyjson_val *owner;
    size_t index, count;
    yyjson_arr_foreach(value_at(object, "metadata.ownerReferences"), index, count, owner) {
        if (is_true_at(owner, "controller"))
            return strcmp(text_at(owner, "uid"), text_at(controller, "metadata.uid")) == 0;
    }
    return false;
}

static int by_creation(const void *a, const void *b) {
    yyjson_val *const *left = a, *const *right = b;
    int order = strcmp(text_at(*left, "metadata.creationTimestamp"), text_at(*right, "metadata.creationTimestamp"));
    return order ? order : strcmp(text_at(*left, "metadata.name"), text_at(*right, "metadata.name"));
}

/* Copies a pod template without the label that distinguishes replica sets; null without a template. Returns NULL if out
 * of memory. */
static yyjson_mut_doc *copy_template(yyjson_val *object) {
    yyjson_val *template = value_at(object, "spec.template");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = template ? yyjson_val_mut_copy(doc, template) : yyjson_mut_null(doc);
    yyjson_mut_val *labels = yyjson_mut_obj_get(yyjson_mut_obj_get(copy, "metadata"), "labels");
    if (!copy) {
        yyjson_mut_doc_free(doc);
        return NULL;
    }
    if (labels)
        (void)yyjson_mut_obj_remove_key(labels, "pod-template-hash");
    yyjson_mut_doc_set_root(doc, copy);
    return doc;
}

/* Returns true if the replica set is the one of the deployment's present template. */
static bool has_same_template(sheet *s, yyjson_val *deployment, yyjson_val *replica_set) {
    yyjson_mut_doc *wanted = copy_template(deployment), *own = copy_template(replica_set);
    s->has_failed |= !wanted || !own;
    bool is_same = wanted && own && yyjson_mut_equals(yyjson_mut_doc_get_root(wanted), yyjson_mut_doc_get_root(own));
    yyjson_mut_doc_free(wanted);
    yyjson_mut_doc_free(own);
    return is_same;
}

static void write_replica_set(sheet *s, yyjson_val *one, bool is_first) {
    sheet_write(s, 0, "%s%s (%" PRId64 "/%" PRId64 " replicas created)", is_first ? "" : ", ",
                text_at(one, "metadata.name"), integer_at(one, "status.replicas"), integer_at(one, "spec.replicas"));
}

/* Writes the deployment's replica sets: the oldest with its template is the new one. */
static void write_replica_sets(const description *d, sheet *s) {
    yyjson_val **own = d->related.count ? malloc(d->related.count * sizeof(yyjson_val *)) : NULL, *newest = NULL;
    size_t count = 0, old = 0;
    s->has_failed |= d->related.count && !own;
    for (size_t i = 0; own && i < d->related.count; i++) {
        if (is_controlled_by(d->related.items[i], d->object))
            own[count++] = d->related.items[i];
    }
    if (count) {
        qsort(own, count, sizeof(yyjson_val *), by_creation);
        for (size_t i = 0; i < count && !newest; i++)
            newest = has_same_template(s, d->object, own[i]) ? own[i] : NULL;
        sheet_write(s, 0, "OldReplicaSets:\t");
        for (size_t i = 0; i < count; i++) {
            if (own[i] != newest)
                write_replica_set(s, own[i], old++ == 0);
        }
        sheet_write(s, 0, "%s\nNewReplicaSet:\t%s", old ? "" : "<none>", newest ? "" : "<none>");
        if (newest)
            write_replica_set(s, newest, true);
        sheet_write(s, 0, "\n");
    }
    free(own);
}

/* ---- the deployment ---- */

static void write_strategy(sheet *s, yyjson_val *deployment) {
    yyjson_val *rolling = value_at(deployment, "spec.strategy.rollingUpdate");
    sheet_write(s, 0, "StrategyType:\t%s\n", text_at(deployment, "spec.strategy.type"));
    sheet_write(s, 0, "MinReadySeconds:\t%" PRId64 "\n", integer_at(deployment, "spec.minReadySeconds"));
    if (!rolling)
        return;
    sheet_write(s, 0, "RollingUpdateStrategy:\t");
    write_int_or_string(s, value_at(rolling, "maxUnavailable"));
    sheet_write(s, 0, " max unavailable, ");
    write_int_or_string(s, value_at(rolling, "maxSurge"));
    sheet_write(s, 0, " max surge\n");
}

static void write_conditions(sheet *s, yyjson_val *conditions) {
    yyjson_val *one;
    size_t index, count;
    if (!yyjson_arr_size(conditions))
        return;
    sheet_write(s, 0, "Conditions:\n  Type\tStatus\tReason\n");
    sheet_write(s, 1, "----\t------\t------\n");
    yyjson_arr_foreach(conditions, index, count, one) {
        sheet_write(s, 1, "%s \t%s\t%s\n", text_at(one, "type"), text_at(one, "status"), text_at(one, "reason"));
    }
}

void describe_deployment(const description *d, sheet *s) {
    yyjson_val *deployment = d->object, *status = value_at(deployment, "status");
    char *selector = selector_text(deployment, "spec.selector"), time[TIME_SIZE];
    s->has_failed |= !selector;
    sheet_write(s, 0, "Name:\t%s\n", text_at(deployment, "metadata.name"));
    sheet_write(s, 0, "Namespace:\t%s\n", text_at(deployment, "metadata.namespace"));
    sheet_write(s, 0, "CreationTimestamp:\t%s\n", time_text(value_at(deployment, "metadata.creationTimestamp"), time));
    write_labels(s, "Labels", value_at(deployment, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(deployment, "metadata.annotations"));
    sheet_write(s, 0, "Selector:\t%s\n", selector ? selector : "");
    sheet_write(s, 0,
                "Replicas:\t%" PRId64 " desired | %" PRId64 " updated | %" PRId64 " total | %" PRId64
                " available | %" PRId64 " unavailable\n",
                integer_at(deployment, "spec.replicas"), integer_at(status, "updatedReplicas"),
                integer_at(status, "replicas"), integer_at(status, "availableReplicas"),
                integer_at(status, "unavailableReplicas"));
    write_strategy(s, deployment);
    write_pod_template(s, value_at(deployment, "spec.template"));
    write_conditions(s, value_at(status, "conditions"));
    write_replica_sets(d, s);
    free(selector);
}

/* pod.c: a pod. */
#include "amounts.h"
#include "describe.h"
#include "template.h"

#include <inttypes.h>
#include <string.h>

static void write_status(const description *d, sheet *s) {
    const char *phase = text_at(d->object, "status.phase");
    yyjson_val *deletion = value_at(d->object, "metadata.deletionTimestamp");
    char age[AGE_SIZE];
    if (deletion && strcmp(phase, "Failed") != 0 && strcmp(phase, "Succeeded") != 0) {
        sheet_write(s, 0, "Status:\tTerminating (lasts %s)\n", age_text(deletion, d->now_ms, age));
        sheet_write(s, 0, "Termination Grace Period:\t%" PRId64 "s\n",
                    integer_at(d->object, "metadata.deletionGracePeriodSeconds"));
    } else {
        sheet_write(s, 0, "Status:\t%s\n", phase);
    }
    write_text(s, "Reason", d->object, "status.reason");
    write_text(s, "Message", d->object, "status.message");
    if (!value_at(d->object, "spec.securityContext.seccompProfile"))
        return;
    const char *type = text_at(d->object, "spec.securityContext.seccompProfile.type");
    sheet_write(s, 0, "SeccompProfile:\t%s\n", type);
    if (strcmp(type, "Localhost") == 0)
        sheet_write(s, 0, "LocalhostProfile:\t%s\n",
                    text_at(d->object, "spec.securityContext.seccompProfile.localhostProfile"));
}

static void write_addresses(yyjson_val *pod, sheet *s) {
    yyjson_val *ip, *all = value_at(pod, "status.podIPs");
    size_t index, count;
    sheet_write(s, 0, "IP:\t%s\n", text_at(pod, "status.podIP"));
    sheet_write(s, 0, "IPs:%s\n", yyjson_arr_size(all) ? "" : "\t<none>");
    yyjson_arr_foreach(all, index, count, ip) {
        sheet_write(s, 1, "IP:\t%s\n", text_at(ip, "ip"));
    }
}

static void write_head(const description *d, sheet *s) {
    yyjson_val *pod = d->object;
    const char *node = text_at(pod, "spec.nodeName");
    char time[TIME_SIZE];
    sheet_write(s, 0, "Name:\t%s\n", text_at(pod, "metadata.name"));
    sheet_write(s, 0, "Namespace:\t%s\n", text_at(pod, "metadata.namespace"));
    if (value_at(pod, "spec.priority"))
        sheet_write(s, 0, "Priority:\t%" PRId64 "\n", integer_at(pod, "spec.priority"));
    write_text(s, "Priority Class Name", pod, "spec.priorityClassName");
    write_text(s, "Runtime Class Name", pod, "spec.runtimeClassName");
    write_text(s, "Service Account", pod, "spec.serviceAccountName");
    if (*node)
        sheet_write(s, 0, "Node:\t%s/%s\n", node, text_at(pod, "status.hostIP"));
    else
        sheet_write(s, 0, "Node:\t<none>\n");
    if (value_at(pod, "status.startTime"))
        sheet_write(s, 0, "Start Time:\t%s\n", time_text(value_at(pod, "status.startTime"), time));
    write_labels(s, "Labels", value_at(pod, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(pod, "metadata.annotations"));
    write_status(d, s);
    write_addresses(pod, s);
    (void)write_controller(s, "Controlled By", pod);
    write_text(s, "NominatedNodeName", pod, "status.nominatedNodeName");
}

static void write_all_containers(yyjson_val *pod, sheet *s) {
    yyjson_val *resources = value_at(pod, "spec.resources");
    yyjson_val *init = value_at(pod, "spec.initContainers"), *ephemeral = value_at(pod, "spec.ephemeralContainers");
    if (resources)
        sheet_write(s, 0, "Resources:\n");
    write_requirements(s, 1, resources);
    if (yyjson_arr_size(init))
        write_containers(s, "Init Containers", init, pod, "initContainerStatuses", "");
    write_containers(s, "Containers", value_at(pod, "spec.containers"), pod, "containerStatuses", "");
    if (yyjson_arr_size(ephemeral))
        write_containers(s, "Ephemeral Containers", ephemeral, pod, "ephemeralContainerStatuses", "");
}

static void write_gates(sheet *s, yyjson_val *gates, yyjson_val *conditions) {
    yyjson_val *gate, *condition;
    size_t index, count, at, max;
    if (!yyjson_arr_size(gates))
        return;
    sheet_write(s, 0, "Readiness Gates:\n  Type\tStatus\n");
    yyjson_arr_foreach(gates, index, count, gate) {
        const char *type = text_at(gate, "conditionType"), *status = "<none>";
        yyjson_arr_foreach(conditions, at, max, condition) {
            if (strcmp(text_at(condition, "type"), type) != 0)
                continue;
            status = text_at(condition, "status");
            break;
        }
        sheet_write(s, 1, "%s \t%s \n", type, status);
    }
}

static void write_conditions(sheet *s, yyjson_val *conditions) {
    yyjson_val *condition;
    size_t index, count;
    if (!yyjson_arr_size(conditions))
        return;
    sheet_write(s, 0, "Conditions:\n  Type\tStatus\n");
    yyjson_arr_foreach(conditions, index, count, condition) {
        sheet_write(s, 1, "%s \t%s \n", text_at(condition, "type"), text_at(condition, "status"));
    }
}

void describe_pod(const description *d, sheet *s) {
    yyjson_val *pod = d->object;
    const char *qos = text_at(pod, "status.qosClass");
    write_head(d, s);
    write_all_containers(pod, s);
    write_gates(s, value_at(pod, "spec.readinessGates"), value_at(pod, "status.conditions"));
    write_conditions(s, value_at(pod, "status.conditions"));
    write_volumes(s, value_at(pod, "spec.volumes"), "");
    sheet_write(s, 0, "QoS Class:\t%s\n", *qos ? qos : qos_class_of(pod));
    write_labels(s, "Node-Selectors", value_at(pod, "spec.nodeSelector"));
    write_tolerations(s, "Tolerations", value_at(pod, "spec.tolerations"));
    write_spread_constraints(s, value_at(pod, "spec.topologySpreadConstraints"), "");
    write_scheduling_group(s, value_at(pod, "spec.schedulingGroup"), "");
}

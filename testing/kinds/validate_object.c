/* validate_object.c: see validate_object.h. Lists the functions that check a kind. */
#include "testing/kinds/validate_object.h"

#include "testing/kinds/kinds.h"
#include "testing/kinds/rules.h"
#include "testing/kinds/validate_ingress.h"
#include "testing/kinds/validate_service.h"
#include "testing/kinds/validate_workload.h"
#include "testing/pods/validate_pod.h"
#include "testing/values/json.h"

#include <stdio.h>

static void ingress(kt_checked *c) {
    kt_validate_ingress_spec(c->causes, c->spec);
}

static void pod(kt_checked *c) {
    kt_validate_pod_spec(c->causes, "spec", c->spec, NULL);
    if (!c->old && kt_json_get_str(c->spec, "nodeName").size &&
        yyjson_arr_size(yyjson_obj_get(c->spec, "schedulingGates")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.nodeName", KI_STR(""),
                      "cannot be set until all schedulingGates have been cleared");
    if (c->old)
        kt_validate_pod_update(c);
}

static void service(kt_checked *c) {
    kt_validate_service_spec(c->causes, c->old_spec, c->spec);
}

static void lease(kt_checked *c) {
    kt_check_least(c, "spec.leaseDurationSeconds", yyjson_obj_get(c->spec, "leaseDurationSeconds"), 1,
                   "must be greater than 0");
    kt_check_least(c, "spec.leaseTransitions", yyjson_obj_get(c->spec, "leaseTransitions"), 0,
                   "must be greater than or equal to 0");
}

typedef struct kind {
    const char *group;
    const char *plural;
    const char *what;
    void (*check)(kt_checked *c);
} kind;

static const kind kinds[] = {
    { "", "configmaps", "config map", kt_check_config_map },
    { "", "endpoints", "endpoints", kt_check_endpoints },
    { "", "events", "event", kt_check_event },
    { "", "limitranges", "limit range", kt_check_limit_range },
    { "", "nodes", "node", kt_check_node },
    { "", "persistentvolumeclaims", "persistent volume claim", kt_check_volume_claim },
    { "", "persistentvolumes", "persistent volume", kt_check_volume },
    { "", "pods", "pod", pod },
    { "", "podtemplates", "pod template", kt_check_pod_template },
    { "", "replicationcontrollers", "replication controller", kt_check_replication },
    { "", "resourcequotas", "resource quota", kt_check_resource_quota },
    { "", "secrets", "secret", kt_check_secret },
    { "", "services", "service", service },
    { "admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "mutating", kt_check_policy_binding },
    { "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "webhooks", kt_check_webhooks },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "validating", kt_check_policy_binding },
    { "admissionregistration.k8s.io", "validatingwebhookconfigurations", "webhooks", kt_check_webhooks },
    { "apiregistration.k8s.io", "apiservices", "API service", kt_check_api_service },
    { "apps", "controllerrevisions", "controller revision", kt_check_revision },
    { "apps", "daemonsets", "daemonset", kt_check_daemon_set },
    { "apps", "deployments", "deployment", kt_check_deployment },
    { "apps", "replicasets", "replica set", kt_check_replica_set },
    { "apps", "statefulsets", "statefulset", kt_check_stateful_set },
    { "autoscaling", "horizontalpodautoscalers", "autoscaler", kt_check_pod_autoscaler },
    { "batch", "cronjobs", "cron job", kt_check_cron_job },
    { "batch", "jobs", "job", kt_check_job },
    { "coordination.k8s.io", "leases", "lease", lease },
    { "discovery.k8s.io", "endpointslices", "endpoint slice", kt_check_endpoint_slice },
    { "events.k8s.io", "events", "event of events.k8s.io", kt_check_event },
    { "flowcontrol.apiserver.k8s.io", "flowschemas", "flow schema", kt_check_flow_schema },
    { "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "priority level", kt_check_priority_level },
    { "networking.k8s.io", "ingresses", "ingress", ingress },
    { "networking.k8s.io", "networkpolicies", "network policy", kt_check_network_policy },
    { "networking.k8s.io", "servicecidrs", "service CIDR", kt_check_service_cidr },
    { "policy", "poddisruptionbudgets", "disruption budget", kt_check_disruption_budget },
    { "rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", kt_check_role_binding },
    { "rbac.authorization.k8s.io", "clusterroles", "ClusterRole", kt_check_role },
    { "rbac.authorization.k8s.io", "rolebindings", "RoleBinding", kt_check_role_binding },
    { "rbac.authorization.k8s.io", "roles", "Role", kt_check_role },
    { "resource.k8s.io", "resourceclaims", "resource claim", kt_check_resource_claim },
    { "resource.k8s.io", "resourceclaimtemplates", "resource claim template", kt_check_resource_claim_template },
    { "scheduling.k8s.io", "priorityclasses", "priority class", kt_check_priority_class },
    { "storage.k8s.io", "volumeattachments", "volume attachment", kt_check_volume_attachment },
};

/* Checks of updates of the status. */
static const kind statuses[] = {
    { "", "nodes", "node", kt_check_node_status },
    { "", "pods", "pod", kt_check_pod_status },
    { "", "replicationcontrollers", "replication controller", kt_check_workload_status },
    { "", "resourcequotas", "resource quota", kt_check_resource_quota_status },
    { "apps", "daemonsets", "daemonset", kt_check_workload_status },
    { "apps", "deployments", "deployment", kt_check_workload_status },
    { "apps", "replicasets", "replica set", kt_check_workload_status },
    { "apps", "statefulsets", "statefulset", kt_check_workload_status },
    { "batch", "jobs", "job", kt_check_workload_status },
    { "resource.k8s.io", "resourceclaims", "resource claim", kt_check_resource_claim_status },
};

enum {
    KIND_COUNT = sizeof kinds / sizeof kinds[0],
    STATUS_COUNT = sizeof statuses / sizeof statuses[0]
};

/* Returns NULL if no function checks the resource. */
static const kind *find(const ki_resource *resource, bool is_status) {
    const kind *one = is_status ? statuses : kinds, *end = one + (is_status ? STATUS_COUNT : KIND_COUNT);
    while (one < end && (strcmp(resource->group, one->group) != 0 || strcmp(resource->plural, one->plural) != 0))
        one++;
    return one < end ? one : NULL;
}

bool kt_validate_knows(const ki_resource *resource) {
    return find(resource, false) || kt_rules_has(resource);
}

static void check(kt_causes *causes, const ki_allocator *allocator, const kt_validated *given, yyjson_val *old_root,
                  yyjson_val *root) {
    const kind *found = find(given->resource, given->is_status);
    kt_checked c = { .causes = causes,
                     .old = old_root,
                     .root = root,
                     .old_spec = yyjson_obj_get(old_root, "spec"),
                     .spec = yyjson_obj_get(root, "spec"),
                     .what = found ? found->what : "",
                     .ns = given->ns };
    kt_arena_init(&c.arena, allocator);
    kt_rules_check(&c, given->resource, given->is_status);
    if (found)
        found->check(&c);
    if (c.arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_arena_free(&c.arena);
}

void kt_validate_object(kt_causes *causes, const ki_allocator *allocator, const kt_validated *given,
                        yyjson_val *old_root, yyjson_val *root) {
    kt_causes before;
    kt_causes_init(&before, allocator);
    if (old_root)
        check(&before, allocator, given, NULL, old_root);
    if (before.text.failed || before.json.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    else if (!before.count) /* an invalid old object (written by the program itself) can be updated */
        check(causes, allocator, given, old_root, root);
    kt_causes_free(&before);
}

void kt_validate_namespace_status(kt_causes *causes, yyjson_val *root) {
    bool ends = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "deletionTimestamp") != NULL;
    ki_str phase = kt_json_get_str(yyjson_obj_get(root, "status"), "phase");
    if (!ki_str_equals(phase, ends ? "Terminating" : "Active"))
        kt_causes_add(causes, KT_CAUSE_INVALID, "status.Phase", phase,
                      ends ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                           : "may only be 'Active' if `deletionTimestamp` is empty");
}

static bool has_condition(yyjson_val *status, ki_str type) {
    return kt_json_list_has(yyjson_obj_get(status, "conditions"), SIZE_MAX, "type", type);
}

void kt_validate_csr_status(kt_causes *causes, yyjson_val *old_status, yyjson_val *status, bool is_approval) {
    static const char *const types[] = { "Approved", "Denied", "Failed" };
    if (has_condition(status, KI_STR("Approved")) && has_condition(status, KI_STR("Denied")))
        kt_causes_add(causes, KT_CAUSE_INVALID, "status.conditions",
                      KI_STR("{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}"),
                      "must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, "
                      "`conditions[{\"type\": \"Denied\"}]`");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        bool before = has_condition(old_status, ki_str_of(types[i])), now = has_condition(status, ki_str_of(types[i]));
        char why[80];
        snprintf(why, sizeof why, "updates may not %s a condition of type \"%s\"", now ? "add" : "remove", types[i]);
        if (before != now && (before || (!is_approval && i < 2)))
            kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.conditions", KI_STR(""), why);
    }
}

/* validate_object.c: see validate_object.h. Tables of rules for single fields, and the list of the functions that check
 * several fields of a kind together (kinds.h). */
#include "testing/kinds/validate_object.h"

#include "src/object/label.h"
#include "testing/kinds/kinds.h"
#include "testing/kinds/validate_ingress.h"
#include "testing/kinds/validate_service.h"
#include "testing/kinds/validate_workload.h"
#include "testing/pods/validate_pod.h"
#include "testing/validation/amounts.h"
#include "testing/validation/field_rules.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <stdio.h>

#define CASELESS \
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'Example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* ---- formats ---- */

static void check_segment(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, kt_validate_segment(text));
}

static void check_driver(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, kt_validate_in_lower_case(text, ki_label_check_subdomain));
}

static void check_attacher(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, kt_validate_in_lower_case(text, ki_label_check_subdomain) ? CASELESS : NULL);
}

static void check_provisioner(kt_causes *causes, const char *field, ki_str text) {
    kt_add_problem(causes, field, text, kt_validate_in_lower_case(text, ki_label_check_key));
}

/* Checks for a path behind a domain. */
static void check_domain_path(kt_causes *causes, const char *field, ki_str text) {
    ki_str path, host = ki_str_split(text, '/', &path);
    if (!host.size || !path.size)
        kt_add_problem(causes, field, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    else
        kt_add_problem(causes, field, host, ki_label_check_subdomain(host));
}

/* Checks the form of a name that is an address. */
static void check_address_name(kt_causes *causes, const char *field, ki_str text) {
    if (!kt_address_problem(text, NULL))
        kt_check_canonical_address(causes, field, text);
}

static void check_capacity(kt_causes *causes, const char *field, yyjson_val *val) {
    kt_check_amount(causes, field, KI_STR(""), val);
}

/* ---- the rules of each kind ---- */

static const kt_rule policy_bindings[] = {
    KT_REQUIRED("spec!.policyName", ""),
    KT_TEXT("spec.policyName", KT_IF_FILLED, kt_check_subdomain),
};

static const kt_rule webhooks[] = {
    KT_CHOICE("webhooks[].failurePolicy", KT_IF_GIVEN, "Fail,Ignore"),
    KT_CHOICE("webhooks[].matchPolicy", KT_IF_GIVEN, "Equivalent,Exact"),
    KT_CHOICE("webhooks[].reinvocationPolicy", KT_IF_GIVEN, "IfNeeded,Never"),
    KT_CHOICE("webhooks[].sideEffects", KT_IF_GIVEN, "None,NoneOnDryRun"),
    KT_VALUE("webhooks[].namespaceSelector", kt_check_selector),
    KT_VALUE("webhooks[].objectSelector", kt_check_selector),
};

static const kt_rule revisions[] = {
    KT_KEEP("data"),
    KT_NOT_BELOW_0("revision"),
};

static const kt_rule autoscalers[] = {
    KT_REQUIRED("spec!.maxReplicas", ""),
    KT_REQUIRED("spec!.scaleTargetRef!.kind", ""),
    KT_TEXT("spec.scaleTargetRef.kind", KT_IF_FILLED, check_segment),
    KT_REQUIRED("spec!.scaleTargetRef!.name", ""),
    KT_TEXT("spec.scaleTargetRef.name", KT_IF_FILLED, check_segment),
    KT_NOT_BELOW_0("status.currentReplicas"),
    KT_NOT_BELOW_0("status.desiredReplicas"),
};

static const kt_rule endpoint_slices[] = {
    KT_REQUIRED("addressType", ""),
    KT_CHOICE("addressType", KT_IF_GIVEN, "FQDN,IPv4,IPv6"),
    KT_KEEP_UNSHOWN("addressType"),
    KT_REQUIRED("endpoints[].addresses", ""),
};

static const kt_rule endpoints[] = {
    KT_TEXT("subsets[].addresses[].hostname", KT_IF_FILLED, kt_check_dns_label),
    KT_TEXT("subsets[].addresses[].nodeName", KT_IF_FILLED, kt_check_subdomain),
    KT_TEXT("subsets[].notReadyAddresses[].hostname", KT_IF_FILLED, kt_check_dns_label),
    KT_TEXT("subsets[].notReadyAddresses[].nodeName", KT_IF_FILLED, kt_check_subdomain),
    KT_TEXT("subsets[].ports[].name", KT_IF_FILLED, kt_check_dns_label),
    KT_NUMBER("subsets[].ports[].port", KT_ALWAYS, 1, UINT16_MAX, KT_PORT_RANGE),
    KT_CHOICE("subsets[].ports[].protocol", KT_IF_GIVEN, "SCTP,TCP,UDP"),
    KT_TEXT("subsets[].ports[].appProtocol", KT_IF_FILLED, kt_check_key),
};

static const kt_rule ingress_classes[] = {
    KT_REQUIRED("spec!.controller", ""),
    KT_TEXT("spec.controller", KT_IF_FILLED, check_domain_path),
    KT_KEEP("spec!.controller"),
    KT_REQUIRED("spec.parameters.kind", ""),
    KT_TEXT("spec.parameters.kind", KT_IF_FILLED, check_segment),
    KT_REQUIRED("spec.parameters.name", ""),
    KT_TEXT("spec.parameters.name", KT_IF_FILLED, check_segment),
    KT_TEXT("spec.parameters.apiGroup", KT_IF_FILLED, kt_check_subdomain),
    KT_CHOICE("spec.parameters.scope", KT_IF_GIVEN, "Cluster,Namespace"),
};

static const kt_rule addresses[] = {
    KT_TEXT("metadata.name", KT_IF_FILLED, check_address_name),
    KT_GIVEN("spec!.parentRef", ""),
    KT_KEEP_UNSHOWN("spec!.parentRef"),
    KT_TEXT("spec.parentRef.group", KT_IF_FILLED, kt_check_subdomain),
    KT_REQUIRED("spec.parentRef.resource", ""),
    KT_TEXT("spec.parentRef.resource", KT_IF_FILLED, check_segment),
    KT_REQUIRED("spec.parentRef.name", ""),
    KT_TEXT("spec.parentRef.name", KT_IF_FILLED, check_segment),
    KT_TEXT("spec.parentRef.namespace", KT_IF_FILLED, check_segment),
};

static const kt_rule network_policies[] = {
    KT_VALUE("spec.podSelector", kt_check_selector),
    KT_CHOICE("spec.ingress[].ports[].protocol", KT_IF_GIVEN, "TCP,UDP,SCTP"),
    KT_CHOICE("spec.egress[].ports[].protocol", KT_IF_GIVEN, "TCP,UDP,SCTP"),
    KT_CHOICE("spec.policyTypes[]", KT_IF_GIVEN, "Ingress,Egress"),
};

static const kt_rule runtime_classes[] = {
    KT_REQUIRED("handler", ""),
    KT_TEXT("handler", KT_IF_FILLED, kt_check_dns_label),
    KT_KEEP_UNSHOWN("handler"),
};

static const kt_rule volumes[] = {
    KT_REQUIRED("spec!.accessModes", ""),
    KT_REQUIRED("spec!.capacity", ""),
    KT_CHOICE("spec.persistentVolumeReclaimPolicy", KT_IF_GIVEN, "Delete,Recycle,Retain"),
    KT_CHOICE("spec.volumeMode", KT_IF_GIVEN, "Block,Filesystem"),
    KT_TEXT("spec.storageClassName", KT_IF_FILLED, kt_check_subdomain),
};

static const kt_rule disruption_budgets[] = {
    KT_VALUE("spec.selector", kt_check_selector),
    KT_CHOICE("spec.unhealthyPodEvictionPolicy", KT_IF_GIVEN, "AlwaysAllow,IfHealthyBudget"),
    KT_NOT_BELOW_0("status.disruptionsAllowed"),
    KT_NOT_BELOW_0("status.currentHealthy"),
    KT_NOT_BELOW_0("status.desiredHealthy"),
    KT_NOT_BELOW_0("status.expectedPods"),
};

static const kt_rule cluster_roles[] = {
    KT_REQUIRED("rules[].verbs", ""),
    KT_REQUIRED("aggregationRule.clusterRoleSelectors",
                "at least one clusterRoleSelector required if aggregationRule is non-nil"),
    KT_VALUE("aggregationRule.clusterRoleSelectors[]", kt_check_selector),
};

static const kt_rule roles[] = {
    KT_REQUIRED("rules[].verbs", ""),
};

static const kt_rule priority_classes[] = {
    KT_KEEP_FORBIDDEN("value", "may not be changed in an update."),
    KT_CHOICE("preemptionPolicy", KT_IF_GIVEN, "PreemptLowerPriority,Never"),
    KT_KEEP("preemptionPolicy"),
};

static const kt_rule csi_drivers[] = {
    KT_KEEP_AS("spec!.attachRequired", "spec.attachedRequired"),
    KT_CHOICE("spec.fsGroupPolicy", KT_IF_GIVEN, "File,None,ReadWriteOnceWithFSType"),
    KT_CHOICE("spec.volumeLifecycleModes<>", KT_IF_GIVEN, "Persistent,Ephemeral"),
    KT_KEEP("spec!.volumeLifecycleModes"),
    KT_NUMBER("spec.nodeAllocatableUpdatePeriodSeconds", KT_IF_GIVEN, 10, INT64_MAX,
              "must be greater than or equal to 10 seconds"),
};

static const kt_rule csi_nodes[] = {
    KT_REQUIRED("spec.drivers[].name", ""),
    KT_TEXT("spec.drivers[].name", KT_IF_FILLED, check_driver),
    KT_REQUIRED("spec.drivers[].nodeID", ""),
    KT_NOT_BELOW_0("spec.drivers[].allocatable.count"),
};

static const kt_rule storage_capacities[] = {
    KT_VALUE("nodeTopology", kt_check_selector),
    KT_KEEP("nodeTopology"),
    KT_TEXT("storageClassName", KT_ALWAYS, kt_check_subdomain),
    KT_KEEP("storageClassName"),
    KT_VALUE("capacity", check_capacity),
};

static const kt_rule storage_classes[] = {
    KT_REQUIRED("provisioner", ""),
    KT_TEXT("provisioner", KT_IF_FILLED, check_provisioner),
    KT_KEEP_UNSHOWN("provisioner"),
    KT_KEEP_UNSHOWN("parameters"),
    KT_CHOICE("reclaimPolicy", KT_IF_GIVEN, "Delete,Retain"),
    KT_KEEP_UNSHOWN("reclaimPolicy"),
    KT_CHOICE("volumeBindingMode", KT_IF_GIVEN, "Immediate,WaitForFirstConsumer"),
    KT_KEEP_UNSHOWN("volumeBindingMode"),
};

static const kt_rule attachments[] = {
    KT_REQUIRED("spec!.attacher", ""),
    KT_TEXT("spec.attacher", KT_IF_FILLED, check_attacher),
    KT_TEXT("spec!.nodeName", KT_ALWAYS, kt_check_subdomain),
    KT_KEEP_UNSHOWN("spec"),
};

static const kt_rule attributes_classes[] = {
    KT_REQUIRED("driverName", ""),
    KT_TEXT("driverName", KT_IF_FILLED, check_provisioner),
    KT_KEEP_FORBIDDEN("driverName", "updates to driverName are forbidden."),
    KT_REQUIRED("parameters", "must contain at least one key/value pair"),
    KT_KEEP_FORBIDDEN("parameters", "updates to parameters are forbidden."),
};

static const kt_rule resource_claims[] = {
    KT_KEEP_UNSHOWN("spec"),
};

/* ---- kinds ---- */

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
    void (*check)(kt_checked *c); /* NULL: rules suffice */
    const kt_rule *rules;         /* of the status too */
    size_t rule_count;
} kind;

#define RULES(rules) (rules), sizeof(rules) / sizeof((rules)[0])
#define NO_RULES NULL, 0

static const kind kinds[] = {
    { "", "configmaps", "config map", kt_check_config_map, NO_RULES },
    { "", "endpoints", "endpoints", kt_check_endpoints, RULES(endpoints) },
    { "", "events", "event", kt_check_event, NO_RULES },
    { "", "limitranges", "limit range", kt_check_limit_range, NO_RULES },
    { "", "nodes", "node", kt_check_node, NO_RULES },
    { "", "persistentvolumeclaims", "persistent volume claim", kt_check_volume_claim, NO_RULES },
    { "", "persistentvolumes", "persistent volume", kt_check_volume, RULES(volumes) },
    { "", "pods", "pod", pod, NO_RULES },
    { "", "podtemplates", "pod template", kt_check_pod_template, NO_RULES },
    { "", "replicationcontrollers", "replication controller", kt_check_replication, NO_RULES },
    { "", "resourcequotas", "resource quota", kt_check_resource_quota, NO_RULES },
    { "", "secrets", "secret", kt_check_secret, NO_RULES },
    { "", "services", "service", service, NO_RULES },
    { "admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "mutating", kt_check_policy_binding,
      RULES(policy_bindings) },
    { "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "webhooks", kt_check_webhooks, RULES(webhooks) },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings", "validating", kt_check_policy_binding,
      RULES(policy_bindings) },
    { "admissionregistration.k8s.io", "validatingwebhookconfigurations", "webhooks", kt_check_webhooks,
      RULES(webhooks) },
    { "apiregistration.k8s.io", "apiservices", "API service", kt_check_api_service, NO_RULES },
    { "apps", "controllerrevisions", "controller revision", kt_check_revision, RULES(revisions) },
    { "apps", "daemonsets", "daemonset", kt_check_daemon_set, NO_RULES },
    { "apps", "deployments", "deployment", kt_check_deployment, NO_RULES },
    { "apps", "replicasets", "replica set", kt_check_replica_set, NO_RULES },
    { "apps", "statefulsets", "statefulset", kt_check_stateful_set, NO_RULES },
    { "autoscaling", "horizontalpodautoscalers", "autoscaler", kt_check_pod_autoscaler, RULES(autoscalers) },
    { "batch", "cronjobs", "cron job", kt_check_cron_job, NO_RULES },
    { "batch", "jobs", "job", kt_check_job, NO_RULES },
    { "coordination.k8s.io", "leases", "lease", lease, NO_RULES },
    { "discovery.k8s.io", "endpointslices", "endpoint slice", kt_check_endpoint_slice, RULES(endpoint_slices) },
    { "events.k8s.io", "events", "event of events.k8s.io", kt_check_event, NO_RULES },
    { "flowcontrol.apiserver.k8s.io", "flowschemas", "flow schema", kt_check_flow_schema, NO_RULES },
    { "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "priority level", kt_check_priority_level,
      NO_RULES },
    { "networking.k8s.io", "ingressclasses", "", NULL, RULES(ingress_classes) },
    { "networking.k8s.io", "ingresses", "ingress", ingress, NO_RULES },
    { "networking.k8s.io", "ipaddresses", "", NULL, RULES(addresses) },
    { "networking.k8s.io", "networkpolicies", "network policy", kt_check_network_policy, RULES(network_policies) },
    { "networking.k8s.io", "servicecidrs", "service CIDR", kt_check_service_cidr, NO_RULES },
    { "node.k8s.io", "runtimeclasses", "", NULL, RULES(runtime_classes) },
    { "policy", "poddisruptionbudgets", "disruption budget", kt_check_disruption_budget, RULES(disruption_budgets) },
    { "rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", kt_check_role_binding, NO_RULES },
    { "rbac.authorization.k8s.io", "clusterroles", "ClusterRole", kt_check_role, RULES(cluster_roles) },
    { "rbac.authorization.k8s.io", "rolebindings", "RoleBinding", kt_check_role_binding, NO_RULES },
    { "rbac.authorization.k8s.io", "roles", "Role", kt_check_role, RULES(roles) },
    { "resource.k8s.io", "resourceclaims", "resource claim", kt_check_resource_claim, RULES(resource_claims) },
    { "resource.k8s.io", "resourceclaimtemplates", "resource claim template", kt_check_resource_claim_template,
      NO_RULES },
    { "scheduling.k8s.io", "priorityclasses", "priority class", kt_check_priority_class, RULES(priority_classes) },
    { "storage.k8s.io", "csidrivers", "", NULL, RULES(csi_drivers) },
    { "storage.k8s.io", "csinodes", "", NULL, RULES(csi_nodes) },
    { "storage.k8s.io", "csistoragecapacities", "", NULL, RULES(storage_capacities) },
    { "storage.k8s.io", "storageclasses", "", NULL, RULES(storage_classes) },
    { "storage.k8s.io", "volumeattachments", "volume attachment", kt_check_volume_attachment, RULES(attachments) },
    { "storage.k8s.io", "volumeattributesclasses", "", NULL, RULES(attributes_classes) },
};

/* Checks of updates of the status. */
static const kind statuses[] = {
    { "", "nodes", "node", kt_check_node_status, NO_RULES },
    { "", "pods", "pod", kt_check_pod_status, NO_RULES },
    { "", "replicationcontrollers", "replication controller", kt_check_workload_status, NO_RULES },
    { "", "resourcequotas", "resource quota", kt_check_resource_quota_status, NO_RULES },
    { "apps", "daemonsets", "daemonset", kt_check_workload_status, NO_RULES },
    { "apps", "deployments", "deployment", kt_check_workload_status, NO_RULES },
    { "apps", "replicasets", "replica set", kt_check_workload_status, NO_RULES },
    { "apps", "statefulsets", "statefulset", kt_check_workload_status, NO_RULES },
    { "batch", "jobs", "job", kt_check_workload_status, NO_RULES },
    { "resource.k8s.io", "resourceclaims", "resource claim", kt_check_resource_claim_status, NO_RULES },
};

enum {
    KIND_COUNT = sizeof kinds / sizeof kinds[0],
    STATUS_COUNT = sizeof statuses / sizeof statuses[0]
};

/* Returns NULL if nothing checks the resource. */
static const kind *find(const ki_resource *resource, bool is_status) {
    const kind *one = is_status ? statuses : kinds, *end = one + (is_status ? STATUS_COUNT : KIND_COUNT);
    while (one < end && (strcmp(resource->group, one->group) != 0 || strcmp(resource->plural, one->plural) != 0))
        one++;
    return one < end ? one : NULL;
}

bool kt_validate_knows(const ki_resource *resource) {
    return find(resource, false) != NULL;
}

static void check(kt_causes *causes, const ki_allocator *allocator, const kt_validated *given, yyjson_val *old_root,
                  yyjson_val *root) {
    const kind *of_object = find(given->resource, false);
    const kind *found = given->is_status ? find(given->resource, true) : of_object;
    kt_checked c = { .causes = causes,
                     .old = old_root,
                     .root = root,
                     .old_spec = yyjson_obj_get(old_root, "spec"),
                     .spec = yyjson_obj_get(root, "spec"),
                     .what = found ? found->what : "",
                     .ns = given->ns };
    kt_arena_init(&c.arena, allocator);
    for (size_t i = 0; of_object && i < of_object->rule_count; i++) {
        const kt_rule *rule = &of_object->rules[i];
        if ((strncmp(rule->path, "status.", sizeof "status." - 1) == 0) == given->is_status)
            kt_check_object_rule(&c, rule);
    }
    if (found && found->check)
        found->check(&c);
    if (c.arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_arena_free(&c.arena);
}

void kt_validate_object(kt_causes *causes, const ki_allocator *allocator, const kt_validated *given,
                        yyjson_val *old_root, yyjson_val *root) {
    bool was_valid = true;
    if (old_root) { /* an invalid old object (written by the program itself) can be updated */
        kt_causes before;
        kt_causes_init(&before, allocator);
        check(&before, allocator, given, NULL, old_root);
        was_valid = !before.count;
        if (before.text.failed || before.json.failed)
            causes->text.failed = KI_ERR_NO_MEMORY;
        kt_causes_free(&before);
    }
    if (was_valid && !causes->text.failed)
        check(causes, allocator, given, old_root, root);
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

/* rules.c: see rules.h. */
#include "testing/kinds/rules.h"

#include "src/object/label.h"
#include "testing/validation/amounts.h"
#include "testing/validation/field_rules.h"
#include "testing/validation/validate.h"

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

typedef struct kind {
    const char *group;
    const char *plural;
    const kt_rule *rules;
    size_t count;
} kind;

#define OF(group, plural, rules) \
    { (group), (plural), (rules), sizeof(rules) / sizeof((rules)[0]) }
#define ADMISSION "admissionregistration.k8s.io"
#define NETWORKING "networking.k8s.io"
#define RBAC "rbac.authorization.k8s.io"
#define STORAGE "storage.k8s.io"

static const kind kinds[] = {
    OF(ADMISSION, "mutatingadmissionpolicybindings", policy_bindings),
    OF(ADMISSION, "validatingadmissionpolicybindings", policy_bindings),
    OF(ADMISSION, "mutatingwebhookconfigurations", webhooks),
    OF(ADMISSION, "validatingwebhookconfigurations", webhooks),
    OF("apps", "controllerrevisions", revisions),
    OF("autoscaling", "horizontalpodautoscalers", autoscalers),
    OF("discovery.k8s.io", "endpointslices", endpoint_slices),
    OF("", "endpoints", endpoints),
    OF(NETWORKING, "ingressclasses", ingress_classes),
    OF(NETWORKING, "ipaddresses", addresses),
    OF(NETWORKING, "networkpolicies", network_policies),
    OF("node.k8s.io", "runtimeclasses", runtime_classes),
    OF("", "persistentvolumes", volumes),
    OF("policy", "poddisruptionbudgets", disruption_budgets),
    OF(RBAC, "clusterroles", cluster_roles),
    OF(RBAC, "roles", roles),
    OF("scheduling.k8s.io", "priorityclasses", priority_classes),
    OF(STORAGE, "csidrivers", csi_drivers),
    OF(STORAGE, "csinodes", csi_nodes),
    OF(STORAGE, "csistoragecapacities", storage_capacities),
    OF(STORAGE, "storageclasses", storage_classes),
    OF(STORAGE, "volumeattachments", attachments),
    OF(STORAGE, "volumeattributesclasses", attributes_classes),
    OF("resource.k8s.io", "resourceclaims", resource_claims),
};

enum {
    KIND_COUNT = sizeof kinds / sizeof kinds[0]
};

/* Returns NULL if no rule checks the resource. */
static const kind *find(const ki_resource *resource) {
    const kind *one = kinds, *end = kinds + KIND_COUNT;
    while (one < end && (strcmp(one->group, resource->group) != 0 || strcmp(one->plural, resource->plural) != 0))
        one++;
    return one < end ? one : NULL;
}

bool kt_rules_has(const ki_resource *resource) {
    return find(resource) != NULL;
}

void kt_rules_check(kt_checked *c, const ki_resource *resource, bool is_status) {
    const kind *found = find(resource);
    for (size_t i = 0; found && i < found->count; i++) {
        if ((strncmp(found->rules[i].path, "status.", sizeof "status." - 1) == 0) == is_status)
            kt_check_object_rule(c, &found->rules[i]);
    }
}

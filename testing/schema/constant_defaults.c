/* constant_defaults.c: see constant_defaults.h and defaults.h. Three tables of JSON: by resource, by type, and values
 * that the functions of defaults.c set. */
#include "testing/schema/constant_defaults.h"

#include "src/base/memory.h"
#include "testing/values/json.h"

#include <string.h>

static const struct {
    const char *group;
    const char *plural;
    const char *json;
} of_resources[] = {
    { "", "pods",
      "{\"spec\":{\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
      "\"serviceAccountName\":\"default\",\"serviceAccount\":\"default\",\"securityContext\":{},"
      "\"schedulerName\":\"default-scheduler\",\"priority\":0,\"enableServiceLinks\":true,"
      "\"preemptionPolicy\":\"PreemptLowerPriority\"},\"status\":{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}"
      "}" },
    { "", "namespaces", "{\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}" },
    { "", "services",
      "{\"spec\":{\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"},\"status\":{\"loadBalancer\":{}}}" },
    { "", "secrets", "{\"type\":\"Opaque\"}" },
    { "", "persistentvolumeclaims", "{\"spec\":{\"volumeMode\":\"Filesystem\"},\"status\":{\"phase\":\"Pending\"}}" },
    { "", "persistentvolumes",
      "{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\",\"volumeMode\":\"Filesystem\"},\"status\":{\"phase\":"
      "\"Pending\"}}" },
    { "", "replicationcontrollers", "{\"spec\":{\"replicas\":1},\"status\":{\"replicas\":0}}" },
    { "", "resourcequotas", "{\"status\":{}}" },
    { "storage.k8s.io", "storageclasses", "{\"reclaimPolicy\":\"Delete\",\"volumeBindingMode\":\"Immediate\"}" },
    { "scheduling.k8s.io", "priorityclasses", "{\"preemptionPolicy\":\"PreemptLowerPriority\"}" },
    { "policy", "poddisruptionbudgets",
      "{\"status\":{\"currentHealthy\":0,\"desiredHealthy\":0,\"disruptionsAllowed\":0,\"expectedPods\":0}}" },
    { "networking.k8s.io", "ingresses", "{\"status\":{\"loadBalancer\":{}}}" },
    { "autoscaling", "horizontalpodautoscalers", "{\"spec\":{\"minReplicas\":1},\"status\":{\"desiredReplicas\":0}}" },
    { "apps", "deployments",
      "{\"spec\":{\"replicas\":1,\"strategy\":{\"type\":\"RollingUpdate\"},\"revisionHistoryLimit\":10,"
      "\"progressDeadlineSeconds\":600},\"status\":{}}" },
    { "apps", "replicasets", "{\"spec\":{\"replicas\":1},\"status\":{\"replicas\":0}}" },
    { "apps", "statefulsets",
      "{\"spec\":{\"replicas\":1,\"podManagementPolicy\":\"OrderedReady\",\"revisionHistoryLimit\":10,"
      "\"updateStrategy\":"
      "{\"type\":\"RollingUpdate\"},\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"Retain\","
      "\"whenScaled\":"
      "\"Retain\"}},\"status\":{\"replicas\":0,\"availableReplicas\":0}}" },
    { "apps", "daemonsets",
      "{\"spec\":{\"revisionHistoryLimit\":10,\"updateStrategy\":{\"type\":\"RollingUpdate\"}},\"status\":"
      "{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,\"desiredNumberScheduled\":0,\"numberReady\":0}}" },
    { "batch", "jobs",
      "{\"spec\":{\"backoffLimit\":6,\"completionMode\":\"NonIndexed\",\"manualSelector\":false,\"parallelism\":1,"
      "\"completions\":1,\"podReplacementPolicy\":\"TerminatingOrFailed\",\"suspend\":false},\"status\":{}}" },
    { "batch", "cronjobs",
      "{\"spec\":{\"concurrencyPolicy\":\"Allow\",\"failedJobsHistoryLimit\":1,\"successfulJobsHistoryLimit\":3,"
      "\"suspend\":false},\"status\":{}}" },
};

#define TCP "{\"protocol\":\"TCP\"}"
#define MODE "{\"defaultMode\":420}"
#define SELECTORS "\"matchPolicy\":\"Equivalent\",\"namespaceSelector\":{},\"objectSelector\":{}"
#define WEBHOOK "\"failurePolicy\":\"Fail\",\"timeoutSeconds\":10," SELECTORS
#define ANY_SCOPE "{\"scope\":\"*\"}"
#define FAILS "{\"failurePolicy\":\"Fail\"}"
#define MESSAGES "\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\""

/* Constant defaults of the members of one type. */
static const struct {
    const char *type;
    const char *json;
} of_types[] = {
    { "Container", "{\"resources\":{}," MESSAGES "}" },
    { "EphemeralContainer", "{\"resources\":{}," MESSAGES "}" },
    { "ContainerPort", TCP },
    { "ServicePort", TCP },
    { "NetworkPolicyPort", TCP },
    { "EndpointPort", TCP },
    { "Endpoint", "{\"conditions\":{}}" },
    { "Probe", "{\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}" },
    { "HTTPGetAction", "{\"path\":\"/\",\"scheme\":\"HTTP\"}" },
    { "GRPCAction", "{\"service\":\"\"}" },
    { "ObjectFieldSelector", "{\"apiVersion\":\"v1\"}" },
    { "ResourceFieldSelector", "{\"divisor\":\"0\"}" },
    { "SecretVolumeSource", MODE },
    { "ConfigMapVolumeSource", MODE },
    { "DownwardAPIVolumeSource", MODE },
    { "ProjectedVolumeSource", MODE },
    { "ServiceAccountTokenProjection", "{\"expirationSeconds\":3600}" },
    { "HostPathVolumeSource", "{\"type\":\"\"}" },
    { "PodSpec", "{\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
                 "\"securityContext\":{},\"schedulerName\":\"default-scheduler\"}" },
    { "PodTemplateSpec", "{\"metadata\":{}}" },
    { "NamespaceStatus", "{\"phase\":\"Active\"}" },
    { "JobTemplateSpec", "{\"metadata\":{}}" },
    { "PersistentVolumeClaimSpec", "{\"volumeMode\":\"Filesystem\"}" },
    { "HPAScalingRules", "{\"selectPolicy\":\"Max\"}" },
    { "ValidatingWebhook", "{" WEBHOOK "}" },
    { "MutatingWebhook", "{\"reinvocationPolicy\":\"Never\"," WEBHOOK "}" },
    { "RuleWithOperations", ANY_SCOPE },
    { "NamedRuleWithOperations", ANY_SCOPE },
    { "MatchResources", "{" SELECTORS "}" },
    { "ValidatingAdmissionPolicySpec", FAILS },
    { "MutatingAdmissionPolicySpec", FAILS },
    { "ServiceReference", "{\"port\":443}" }, /* of a webhook or an APIService */
    { "IngressClassParametersReference", "{\"scope\":\"Cluster\"}" },
    { "ResourceClaimTemplateSpec", "{\"metadata\":{}}" },
    { "DeviceToleration", "{\"operator\":\"Equal\"}" },
    { "FlowSchemaSpec", "{\"matchingPrecedence\":1000}" },
    { "QueuingConfiguration", "{\"queues\":64,\"handSize\":8,\"queueLengthLimit\":50}" },
    { "LimitedPriorityLevelConfiguration", "{\"nominalConcurrencyShares\":30,\"lendablePercent\":0}" },
    { "CSIDriverSpec",
      "{\"attachRequired\":true,\"podInfoOnMount\":false,\"volumeLifecycleModes\":[\"Persistent\"],\"storageCapacity\":"
      "false,\"fsGroupPolicy\":\"ReadWriteOnceWithFSType\",\"requiresRepublish\":false,\"seLinuxMount\":false,"
      "\"preventPodSchedulingIfMissing\":false}" },
};

#define TOLERATES(key) \
    "{\"key\":\"node.kubernetes.io/" key \
    "\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}"
#define ALL_PODS "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}"

static const char *const others[KT_DEFAULT_COUNT] = {
    [KT_EMPTY] = "{}",
    [KT_TOLERATIONS] = "[" TOLERATES("not-ready") "," TOLERATES("unreachable") "]",
    [KT_IPV4] = "[\"IPv4\"]",
    [KT_IPV4_AND_IPV6] = "[\"IPv4\",\"IPv6\"]",
    [KT_SESSION] = "{\"clientIP\":{\"timeoutSeconds\":10800}}",
    [KT_INGRESS] = "[\"Ingress\"]",
    [KT_INGRESS_AND_EGRESS] = "[\"Ingress\",\"Egress\"]",
    [KT_PENDING] = "{\"phase\":\"Pending\"}",
    [KT_METRICS] = "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
                   "\"averageUtilization\":80}}}]",
    [KT_SCALE_UP] = "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15}," ALL_PODS "]",
    [KT_SCALE_DOWN] = "[" ALL_PODS "]",
};

enum {
    RESOURCE_RULES = sizeof of_resources / sizeof of_resources[0],
    TYPE_RULES = sizeof of_types / sizeof of_types[0],
    CONSTANTS = RESOURCE_RULES + TYPE_RULES + KT_DEFAULT_COUNT
};

static const char *constant_at(size_t i) {
    return i < RESOURCE_RULES                ? of_resources[i].json
           : i < RESOURCE_RULES + TYPE_RULES ? of_types[i - RESOURCE_RULES].json
                                             : others[i - RESOURCE_RULES - TYPE_RULES];
}

ki_status kt_defaults_new(const ki_allocator *allocator, kt_defaults **ret_defaults) {
    const kt_schema *schema = kt_schema_builtin();
    kt_defaults *made = ki_alloc_zero(allocator, sizeof *made + schema->type_count * sizeof made->of_type[0]);
    size_t index, count;
    yyjson_val *val;
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    for (size_t i = 0; i < CONSTANTS; i++) {
        ki_buffer_append_char(&text, i ? ',' : '[');
        ki_buffer_append_string(&text, constant_at(i));
    }
    ki_buffer_append_char(&text, ']');
    ki_status status = made ? text.failed : KI_ERR_NO_MEMORY;
    if (!status)
        status = kt_json_read_trusted(allocator, (ki_str){ text.data, text.size }, &made->doc, NULL);
    ki_buffer_free(&text);
    if (status) {
        ki_free(allocator, made);
        return status;
    }
    made->allocator = allocator;
    yyjson_arr_foreach(yyjson_doc_get_root(made->doc), index, count, val) {
        if (index >= RESOURCE_RULES + TYPE_RULES)
            made->others[index - RESOURCE_RULES - TYPE_RULES] = val;
        for (size_t i = 0; index >= RESOURCE_RULES && index < RESOURCE_RULES + TYPE_RULES && i < schema->type_count;
             i++) {
            if (strcmp(of_types[index - RESOURCE_RULES].type, schema->types[i].name) == 0)
                made->of_type[i] = val;
        }
    }
    *ret_defaults = made;
    return KI_OK;
}

void kt_defaults_free(kt_defaults *defaults) {
    if (!defaults)
        return;
    yyjson_doc_free(defaults->doc);
    ki_free(defaults->allocator, defaults);
}

yyjson_val *kt_defaults_of(const kt_defaults *defaults, const ki_resource *resource) {
    for (size_t i = 0; i < RESOURCE_RULES; i++) {
        if (strcmp(of_resources[i].plural, resource->plural) == 0 &&
            strcmp(of_resources[i].group, resource->group) == 0)
            return yyjson_arr_get(yyjson_doc_get_root(defaults->doc), i);
    }
    return NULL;
}

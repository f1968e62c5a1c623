/* resource_table.c: the built-in resources, as the discovery of a Kubernetes 1.37 API server lists them. */
#include "src/object/resource_table.h"

#include <string.h>

const ki_resource ki_resource_pods = { "", "v1", "pods", "Pod", true };
const ki_resource ki_resource_nodes = { "", "v1", "nodes", "Node", false };
const ki_resource ki_resource_namespaces = { "", "v1", "namespaces", "Namespace", false };
const ki_resource ki_resource_services = { "", "v1", "services", "Service", true };
const ki_resource ki_resource_endpoints = { "", "v1", "endpoints", "Endpoints", true };
const ki_resource ki_resource_endpointslices = { "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true };
const ki_resource ki_resource_configmaps = { "", "v1", "configmaps", "ConfigMap", true };
const ki_resource ki_resource_secrets = { "", "v1", "secrets", "Secret", true };
const ki_resource ki_resource_serviceaccounts = { "", "v1", "serviceaccounts", "ServiceAccount", true };
const ki_resource ki_resource_persistentvolumes = { "", "v1", "persistentvolumes", "PersistentVolume", false };
const ki_resource ki_resource_persistentvolumeclaims = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                                         true };
const ki_resource ki_resource_events = { "", "v1", "events", "Event", true };
const ki_resource ki_resource_deployments = { "apps", "v1", "deployments", "Deployment", true };
const ki_resource ki_resource_replicasets = { "apps", "v1", "replicasets", "ReplicaSet", true };
const ki_resource ki_resource_statefulsets = { "apps", "v1", "statefulsets", "StatefulSet", true };
const ki_resource ki_resource_daemonsets = { "apps", "v1", "daemonsets", "DaemonSet", true };
const ki_resource ki_resource_jobs = { "batch", "v1", "jobs", "Job", true };
const ki_resource ki_resource_cronjobs = { "batch", "v1", "cronjobs", "CronJob", true };
const ki_resource ki_resource_ingresses = { "networking.k8s.io", "v1", "ingresses", "Ingress", true };
const ki_resource ki_resource_networkpolicies = { "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true };
const ki_resource ki_resource_leases = { "coordination.k8s.io", "v1", "leases", "Lease", true };
const ki_resource ki_resource_storageclasses = { "storage.k8s.io", "v1", "storageclasses", "StorageClass", false };
const ki_resource ki_resource_customresourcedefinitions = { "apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                                            "CustomResourceDefinition", false };
const ki_resource ki_resource_bindings = { "", "v1", "bindings", "Binding", true };
const ki_resource ki_resource_componentstatuses = { "", "v1", "componentstatuses", "ComponentStatus", false };
const ki_resource ki_resource_limitranges = { "", "v1", "limitranges", "LimitRange", true };
const ki_resource ki_resource_podtemplates = { "", "v1", "podtemplates", "PodTemplate", true };
const ki_resource ki_resource_replicationcontrollers = { "", "v1", "replicationcontrollers", "ReplicationController",
                                                         true };
const ki_resource ki_resource_resourcequotas = { "", "v1", "resourcequotas", "ResourceQuota", true };
const ki_resource ki_resource_apiservices = { "apiregistration.k8s.io", "v1", "apiservices", "APIService", false };
const ki_resource ki_resource_controllerrevisions = { "apps", "v1", "controllerrevisions", "ControllerRevision", true };
const ki_resource ki_resource_events_k8s_io_events = { "events.k8s.io", "v1", "events", "Event", true };
const ki_resource ki_resource_selfsubjectreviews = { "authentication.k8s.io", "v1", "selfsubjectreviews",
                                                     "SelfSubjectReview", false };
const ki_resource ki_resource_tokenreviews = { "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false };
const ki_resource ki_resource_localsubjectaccessreviews = { "authorization.k8s.io", "v1", "localsubjectaccessreviews",
                                                            "LocalSubjectAccessReview", true };
const ki_resource ki_resource_selfsubjectaccessreviews = { "authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                                           "SelfSubjectAccessReview", false };
const ki_resource ki_resource_selfsubjectrulesreviews = { "authorization.k8s.io", "v1", "selfsubjectrulesreviews",
                                                          "SelfSubjectRulesReview", false };
const ki_resource ki_resource_subjectaccessreviews = { "authorization.k8s.io", "v1", "subjectaccessreviews",
                                                       "SubjectAccessReview", false };
const ki_resource ki_resource_horizontalpodautoscalers = { "autoscaling", "v2", "horizontalpodautoscalers",
                                                           "HorizontalPodAutoscaler", true };
const ki_resource ki_resource_horizontalpodautoscalers_v1 = { "autoscaling", "v1", "horizontalpodautoscalers",
                                                              "HorizontalPodAutoscaler", true };
const ki_resource ki_resource_certificatesigningrequests = { "certificates.k8s.io", "v1", "certificatesigningrequests",
                                                             "CertificateSigningRequest", false };
const ki_resource ki_resource_clustertrustbundles = { "certificates.k8s.io", "v1", "clustertrustbundles",
                                                      "ClusterTrustBundle", false };
const ki_resource ki_resource_podcertificaterequests = { "certificates.k8s.io", "v1", "podcertificaterequests",
                                                         "PodCertificateRequest", true };
const ki_resource ki_resource_ingressclasses = { "networking.k8s.io", "v1", "ingressclasses", "IngressClass", false };
const ki_resource ki_resource_ipaddresses = { "networking.k8s.io", "v1", "ipaddresses", "IPAddress", false };
const ki_resource ki_resource_servicecidrs = { "networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", false };
const ki_resource ki_resource_poddisruptionbudgets = { "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget",
                                                       true };
const ki_resource ki_resource_clusterrolebindings = { "rbac.authorization.k8s.io", "v1", "clusterrolebindings",
                                                      "ClusterRoleBinding", false };
const ki_resource ki_resource_clusterroles = { "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole",
                                               false };
const ki_resource ki_resource_rolebindings = { "rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true };
const ki_resource ki_resource_roles = { "rbac.authorization.k8s.io", "v1", "roles", "Role", true };
const ki_resource ki_resource_csidrivers = { "storage.k8s.io", "v1", "csidrivers", "CSIDriver", false };
const ki_resource ki_resource_csinodes = { "storage.k8s.io", "v1", "csinodes", "CSINode", false };
const ki_resource ki_resource_csistoragecapacities = { "storage.k8s.io", "v1", "csistoragecapacities",
                                                       "CSIStorageCapacity", true };
const ki_resource ki_resource_volumeattachments = { "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
                                                    false };
const ki_resource ki_resource_volumeattributesclasses = { "storage.k8s.io", "v1", "volumeattributesclasses",
                                                          "VolumeAttributesClass", false };
const ki_resource ki_resource_mutatingadmissionpolicies = { "admissionregistration.k8s.io", "v1",
                                                            "mutatingadmissionpolicies", "MutatingAdmissionPolicy",
                                                            false };
const ki_resource ki_resource_mutatingadmissionpolicybindings = { "admissionregistration.k8s.io", "v1",
                                                                  "mutatingadmissionpolicybindings",
                                                                  "MutatingAdmissionPolicyBinding", false };
const ki_resource ki_resource_mutatingwebhookconfigurations = { "admissionregistration.k8s.io", "v1",
                                                                "mutatingwebhookconfigurations",
                                                                "MutatingWebhookConfiguration", false };
const ki_resource ki_resource_validatingadmissionpolicies = { "admissionregistration.k8s.io", "v1",
                                                              "validatingadmissionpolicies",
                                                              "ValidatingAdmissionPolicy", false };
const ki_resource ki_resource_validatingadmissionpolicybindings = { "admissionregistration.k8s.io", "v1",
                                                                    "validatingadmissionpolicybindings",
                                                                    "ValidatingAdmissionPolicyBinding", false };
const ki_resource ki_resource_validatingwebhookconfigurations = { "admissionregistration.k8s.io", "v1",
                                                                  "validatingwebhookconfigurations",
                                                                  "ValidatingWebhookConfiguration", false };
const ki_resource ki_resource_priorityclasses = { "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass",
                                                  false };
const ki_resource ki_resource_runtimeclasses = { "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false };
const ki_resource ki_resource_deviceclasses = { "resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false };
const ki_resource ki_resource_devicetaintrules = { "resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule",
                                                   false };
const ki_resource ki_resource_resourceclaims = { "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true };
const ki_resource ki_resource_resourceclaimtemplates = { "resource.k8s.io", "v1", "resourceclaimtemplates",
                                                         "ResourceClaimTemplate", true };
const ki_resource ki_resource_resourceslices = { "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false };
const ki_resource ki_resource_flowschemas = { "flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema",
                                              false };
const ki_resource ki_resource_prioritylevelconfigurations = { "flowcontrol.apiserver.k8s.io", "v1",
                                                              "prioritylevelconfigurations",
                                                              "PriorityLevelConfiguration", false };
const ki_resource ki_resource_storageversionmigrations = { "storagemigration.k8s.io", "v1", "storageversionmigrations",
                                                           "StorageVersionMigration", false };

#define ALL KI_VERBS_ALL
#define GPU (KI_VERB_GET | KI_VERB_PATCH | KI_VERB_UPDATE)
#define PROXY (KI_VERB_CREATE | KI_VERB_DELETE | KI_VERB_GET | KI_VERB_PATCH | KI_VERB_UPDATE)

#define OWN(name, verbs) \
    { name, NULL, NULL, NULL, verbs } /* responds with the resource's own kind */
#define STATUS OWN("status", GPU)
#define SCALE \
    { "scale", "Scale", "autoscaling", "v1", GPU }
#define END \
    { NULL, NULL, NULL, NULL, 0 }
#define SUBRESOURCES(...) \
    (const ki_subresource_info[]) { \
        __VA_ARGS__, END \
    }

static const ki_subresource_info none[] = { END }, status[] = { STATUS, END },
                                 scale_and_status[] = { SCALE, STATUS, END };

/* Rows are small: the loader writes the pointers in them, so each process has its own copy of these pages. */
static const ki_resource_info table[] = {
    /* v1 */
    { &ki_resource_bindings, "binding", { NULL }, NULL, KI_VERB_CREATE, none },
    { &ki_resource_componentstatuses, "componentstatus", { "cs" }, NULL, KI_VERB_GET | KI_VERB_LIST, none },
    { &ki_resource_configmaps, "configmap", { "cm" }, NULL, ALL, none },
    { &ki_resource_endpoints, "endpoints", { "ep" }, NULL, ALL, none },
    { &ki_resource_events, "event", { "ev" }, NULL, ALL, none },
    { &ki_resource_limitranges, "limitrange", { "limits" }, NULL, ALL, none },
    { &ki_resource_namespaces,
      "namespace",
      { "ns" },
      NULL,
      ALL & ~(unsigned)KI_VERB_DELETECOLLECTION,
      SUBRESOURCES(OWN("finalize", KI_VERB_UPDATE), STATUS) },
    { &ki_resource_nodes,
      "node",
      { "no" },
      NULL,
      ALL,
      SUBRESOURCES({ "proxy", "NodeProxyOptions", NULL, NULL, PROXY }, STATUS) },
    { &ki_resource_persistentvolumeclaims, "persistentvolumeclaim", { "pvc" }, NULL, ALL, status },
    { &ki_resource_persistentvolumes, "persistentvolume", { "pv" }, NULL, ALL, status },
    { &ki_resource_pods,
      "pod",
      { "po" },
      "all",
      ALL,
      SUBRESOURCES({ "attach", "PodAttachOptions", NULL, NULL, KI_VERB_CREATE | KI_VERB_GET },
                   { "binding", "Binding", NULL, NULL, KI_VERB_CREATE }, OWN("ephemeralcontainers", GPU),
                   { "eviction", "Eviction", "policy", "v1", KI_VERB_CREATE },
                   { "exec", "PodExecOptions", NULL, NULL, KI_VERB_CREATE | KI_VERB_GET }, OWN("log", KI_VERB_GET),
                   { "portforward", "PodPortForwardOptions", NULL, NULL, KI_VERB_CREATE | KI_VERB_GET },
                   { "proxy", "PodProxyOptions", NULL, NULL, PROXY }, OWN("resize", GPU), STATUS) },
    { &ki_resource_podtemplates, "podtemplate", { NULL }, NULL, ALL, none },
    { &ki_resource_replicationcontrollers, "replicationcontroller", { "rc" }, "all", ALL, scale_and_status },
    { &ki_resource_resourcequotas, "resourcequota", { "quota" }, NULL, ALL, status },
    { &ki_resource_secrets, "secret", { NULL }, NULL, ALL, none },
    { &ki_resource_serviceaccounts,
      "serviceaccount",
      { "sa" },
      NULL,
      ALL,
      SUBRESOURCES({ "token", "TokenRequest", "authentication.k8s.io", "v1", KI_VERB_CREATE }) },
    { &ki_resource_services,
      "service",
      { "svc" },
      "all",
      ALL,
      SUBRESOURCES({ "proxy", "ServiceProxyOptions", NULL, NULL, PROXY }, STATUS) },

    /* apiregistration.k8s.io/v1 */
    { &ki_resource_apiservices, "apiservice", { NULL }, "api-extensions", ALL, status },

    /* apps/v1 */
    { &ki_resource_controllerrevisions, "controllerrevision", { NULL }, NULL, ALL, none },
    { &ki_resource_daemonsets, "daemonset", { "ds" }, "all", ALL, status },
    { &ki_resource_deployments, "deployment", { "deploy" }, "all", ALL, scale_and_status },
    { &ki_resource_replicasets, "replicaset", { "rs" }, "all", ALL, scale_and_status },
    { &ki_resource_statefulsets, "statefulset", { "sts" }, "all", ALL, scale_and_status },

    /* events.k8s.io/v1 */
    { &ki_resource_events_k8s_io_events, "event", { "ev" }, NULL, ALL, none },

    /* authentication.k8s.io/v1 */
    { &ki_resource_selfsubjectreviews, "selfsubjectreview", { NULL }, NULL, KI_VERB_CREATE, none },
    { &ki_resource_tokenreviews, "tokenreview", { NULL }, NULL, KI_VERB_CREATE, none },

    /* authorization.k8s.io/v1 */
    { &ki_resource_localsubjectaccessreviews, "localsubjectaccessreview", { NULL }, NULL, KI_VERB_CREATE, none },
    { &ki_resource_selfsubjectaccessreviews, "selfsubjectaccessreview", { NULL }, NULL, KI_VERB_CREATE, none },
    { &ki_resource_selfsubjectrulesreviews, "selfsubjectrulesreview", { NULL }, NULL, KI_VERB_CREATE, none },
    { &ki_resource_subjectaccessreviews, "subjectaccessreview", { NULL }, NULL, KI_VERB_CREATE, none },

    /* autoscaling/v2 */
    { &ki_resource_horizontalpodautoscalers, "horizontalpodautoscaler", { "hpa" }, "all", ALL, status },

    /* autoscaling/v1 */
    { &ki_resource_horizontalpodautoscalers_v1, "horizontalpodautoscaler", { "hpa" }, "all", ALL, status },

    /* batch/v1 */
    { &ki_resource_cronjobs, "cronjob", { "cj" }, "all", ALL, status },
    { &ki_resource_jobs, "job", { NULL }, "all", ALL, status },

    /* certificates.k8s.io/v1 */
    { &ki_resource_certificatesigningrequests,
      "certificatesigningrequest",
      { "csr" },
      NULL,
      ALL,
      SUBRESOURCES(OWN("approval", GPU), STATUS) },
    { &ki_resource_clustertrustbundles, "clustertrustbundle", { NULL }, NULL, ALL, none },
    { &ki_resource_podcertificaterequests, "podcertificaterequest", { NULL }, NULL, ALL, status },

    /* networking.k8s.io/v1 */
    { &ki_resource_ingressclasses, "ingressclass", { NULL }, NULL, ALL, none },
    { &ki_resource_ingresses, "ingress", { "ing" }, NULL, ALL, status },
    { &ki_resource_ipaddresses, "ipaddress", { "ip" }, NULL, ALL, none },
    { &ki_resource_networkpolicies, "networkpolicy", { "netpol" }, NULL, ALL, none },
    { &ki_resource_servicecidrs, "servicecidr", { NULL }, NULL, ALL, status },

    /* policy/v1 */
    { &ki_resource_poddisruptionbudgets, "poddisruptionbudget", { "pdb" }, NULL, ALL, status },

    /* rbac.authorization.k8s.io/v1 */
    { &ki_resource_clusterrolebindings, "clusterrolebinding", { NULL }, NULL, ALL, none },
    { &ki_resource_clusterroles, "clusterrole", { NULL }, NULL, ALL, none },
    { &ki_resource_rolebindings, "rolebinding", { NULL }, NULL, ALL, none },
    { &ki_resource_roles, "role", { NULL }, NULL, ALL, none },

    /* storage.k8s.io/v1 */
    { &ki_resource_csidrivers, "csidriver", { NULL }, NULL, ALL, none },
    { &ki_resource_csinodes, "csinode", { NULL }, NULL, ALL, none },
    { &ki_resource_csistoragecapacities, "csistoragecapacity", { NULL }, NULL, ALL, none },
    { &ki_resource_storageclasses, "storageclass", { "sc" }, NULL, ALL, none },
    { &ki_resource_volumeattachments, "volumeattachment", { NULL }, NULL, ALL, status },
    { &ki_resource_volumeattributesclasses, "volumeattributesclass", { "vac" }, NULL, ALL, none },

    /* admissionregistration.k8s.io/v1 */
    { &ki_resource_mutatingadmissionpolicies, "mutatingadmissionpolicy", { NULL }, "api-extensions", ALL, none },
    { &ki_resource_mutatingadmissionpolicybindings,
      "mutatingadmissionpolicybinding",
      { NULL },
      "api-extensions",
      ALL,
      none },
    { &ki_resource_mutatingwebhookconfigurations,
      "mutatingwebhookconfiguration",
      { NULL },
      "api-extensions",
      ALL,
      none },
    { &ki_resource_validatingadmissionpolicies, "validatingadmissionpolicy", { NULL }, "api-extensions", ALL, status },
    { &ki_resource_validatingadmissionpolicybindings,
      "validatingadmissionpolicybinding",
      { NULL },
      "api-extensions",
      ALL,
      none },
    { &ki_resource_validatingwebhookconfigurations,
      "validatingwebhookconfiguration",
      { NULL },
      "api-extensions",
      ALL,
      none },

    /* apiextensions.k8s.io/v1 */
    { &ki_resource_customresourcedefinitions,
      "customresourcedefinition",
      { "crd", "crds" },
      "api-extensions",
      ALL,
      status },

    /* scheduling.k8s.io/v1 */
    { &ki_resource_priorityclasses, "priorityclass", { "pc" }, NULL, ALL, none },

    /* coordination.k8s.io/v1 */
    { &ki_resource_leases, "lease", { NULL }, NULL, ALL, none },

    /* node.k8s.io/v1 */
    { &ki_resource_runtimeclasses, "runtimeclass", { NULL }, NULL, ALL, none },

    /* discovery.k8s.io/v1 */
    { &ki_resource_endpointslices, "endpointslice", { NULL }, NULL, ALL, none },

    /* resource.k8s.io/v1 */
    { &ki_resource_deviceclasses, "deviceclass", { NULL }, NULL, ALL, none },
    { &ki_resource_devicetaintrules, "devicetaintrule", { NULL }, NULL, ALL, status },
    { &ki_resource_resourceclaims, "resourceclaim", { NULL }, NULL, ALL, status },
    { &ki_resource_resourceclaimtemplates, "resourceclaimtemplate", { NULL }, NULL, ALL, none },
    { &ki_resource_resourceslices, "resourceslice", { NULL }, NULL, ALL, none },

    /* flowcontrol.apiserver.k8s.io/v1 */
    { &ki_resource_flowschemas, "flowschema", { NULL }, NULL, ALL, status },
    { &ki_resource_prioritylevelconfigurations, "prioritylevelconfiguration", { NULL }, NULL, ALL, status },

    /* storagemigration.k8s.io/v1 */
    { &ki_resource_storageversionmigrations, "storageversionmigration", { NULL }, NULL, ALL, status },
};

const ki_resource_info *ki_resource_info_at(unsigned index) {
    return index < sizeof table / sizeof *table ? &table[index] : NULL;
}

const ki_resource_info *ki_resource_info_find(const char *group, const char *version, const char *plural) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const ki_resource *resource = table[i].resource;
        if (strcmp(resource->plural, plural) == 0 && strcmp(resource->group, group) == 0 &&
            strcmp(resource->version, version) == 0)
            return &table[i];
    }
    return NULL;
}

bool ki_resource_is_built_in(ki_str group, ki_str kind) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (ki_str_equals(group, table[i].resource->group) && ki_str_equals(kind, table[i].resource->kind))
            return true;
    return false;
}

static bool is_built_in_group(const char *group) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].resource->group, group) == 0)
            return true;
    return false;
}

bool ki_resource_is_custom(const ki_resource *resource) {
    const char *dot = strchr(resource->group, '.');
    return dot && strcmp(dot, ".k8s.io") != 0 && !is_built_in_group(resource->group);
}

const char *ki_verb_name(unsigned index) {
    static const char *const names[KI_VERB_COUNT] = { "create", "delete", "deletecollection", "get",
                                                      "list",   "patch",  "update",           "watch" };
    return index < KI_VERB_COUNT ? names[index] : NULL;
}

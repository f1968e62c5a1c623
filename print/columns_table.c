/* columns_table.c: the columns of built-in resources, as in a Kubernetes 1.37 API server. */
#include "print/columns.h"

#define COLUMN(name, type, format, priority) \
    { name, type, format, "", priority }
#define END \
    { COLUMN(NULL, NULL, NULL, 0), false, NULL, NULL }
/* A text column, a column of -o wide, a number column. */
#define TEXT(name, append, path) \
    { COLUMN(name, "string", "", 0), false, append, path }
#define WIDE(name, append, path) \
    { COLUMN(name, "string", "", 1), false, append, path }
#define NUMBER(name, append, path) \
    { COLUMN(name, "integer", "", 0), true, append, path }
/* A number column whose type the server calls a string. */
#define NUMBER_TEXT(name, append, path) \
    { COLUMN(name, "string", "", 0), true, append, path }
#define BOOLEAN(name, path) \
    { COLUMN(name, "boolean", "", 0), true, ki_cell_bool, path }
#define NAMED(append, path) \
    { COLUMN("Name", "string", "name", 0), false, append, path }

#define NAME NAMED(ki_cell_text, "metadata.name")
#define AGE TEXT("Age", ki_cell_age, "metadata.creationTimestamp")
#define FIELD(name, path) TEXT(name, ki_cell_text, path)
#define INTEGER(name, path) NUMBER(name, ki_cell_integer, path)
#define CONTAINERS_AT(path) WIDE("Containers", ki_cell_join, path ":name"), WIDE("Images", ki_cell_join, path ":image")
#define CONTAINERS CONTAINERS_AT("spec.template.spec.containers")
#define SELECTOR(path) WIDE("Selector", ki_cell_selector, path)

#define CREATED \
    { COLUMN("Created At", "date", "", 0), false, ki_cell_text, "metadata.creationTimestamp" }

static const ki_cell plain[] = { NAME, CREATED, END };

static const ki_cell pods[] = { NAME,
                                TEXT("Ready", ki_cell_pod_ready, ""),
                                TEXT("Status", ki_cell_pod_status, ""),
                                TEXT("Restarts", ki_cell_pod_restarts, ""),
                                AGE,
                                WIDE("IP", ki_cell_pod_ip, ""),
                                WIDE("Node", ki_cell_text, "spec.nodeName?<none>"),
                                WIDE("Nominated Node", ki_cell_text, "status.nominatedNodeName?<none>"),
                                WIDE("Readiness Gates", ki_cell_readiness_gates, ""),
                                END };
static const ki_cell pod_templates[] = { NAME, TEXT("Containers", ki_cell_join, "template.spec.containers:name"),
                                         TEXT("Images", ki_cell_join, "template.spec.containers:image"),
                                         TEXT("Pod Labels", ki_cell_labels, "template.metadata.labels?<none>"), END };
static const ki_cell replication_controllers[] = { NAME,
                                                   INTEGER("Desired", "spec.replicas"),
                                                   INTEGER("Current", "status.replicas"),
                                                   INTEGER("Ready", "status.readyReplicas"),
                                                   AGE,
                                                   CONTAINERS,
                                                   WIDE("Selector", ki_cell_labels, "spec.selector?<none>"),
                                                   END };
static const ki_cell replica_sets[] = { NAME,
                                        INTEGER("Desired", "spec.replicas"),
                                        INTEGER("Current", "status.replicas"),
                                        INTEGER("Ready", "status.readyReplicas"),
                                        AGE,
                                        CONTAINERS,
                                        SELECTOR("spec.selector?<none>"),
                                        END };
static const ki_cell deployments[] = { NAME,
                                       TEXT("Ready", ki_cell_replicas_ready, ""),
                                       NUMBER_TEXT("Up-to-date", ki_cell_integer, "status.updatedReplicas"),
                                       NUMBER_TEXT("Available", ki_cell_integer, "status.availableReplicas"),
                                       AGE,
                                       CONTAINERS,
                                       SELECTOR("spec.selector"),
                                       END };
static const ki_cell stateful_sets[] = { NAME, TEXT("Ready", ki_cell_replicas_ready, ""), AGE, CONTAINERS, END };
static const ki_cell daemon_sets[] = { NAME,
                                       INTEGER("Desired", "status.desiredNumberScheduled"),
                                       INTEGER("Current", "status.currentNumberScheduled"),
                                       INTEGER("Ready", "status.numberReady"),
                                       INTEGER("Up-to-date", "status.updatedNumberScheduled"),
                                       INTEGER("Available", "status.numberAvailable"),
                                       TEXT("Node Selector", ki_cell_labels, "spec.template.spec.nodeSelector?<none>"),
                                       AGE,
                                       CONTAINERS,
                                       SELECTOR("spec.selector?<none>"),
                                       END };
static const ki_cell controller_revisions[] = { NAME, TEXT("Controller", ki_cell_controller, ""),
                                                NUMBER_TEXT("Revision", ki_cell_integer, "revision"), AGE, END };
static const ki_cell jobs[] = { NAME,
                                TEXT("Status", ki_cell_job_status, ""),
                                TEXT("Completions", ki_cell_job_completions, ""),
                                TEXT("Duration", ki_cell_job_duration, ""),
                                AGE,
                                CONTAINERS,
                                SELECTOR("spec.selector?<none>"),
                                END };
static const ki_cell cron_jobs[] = { NAME,
                                     FIELD("Schedule", "spec.schedule"),
                                     FIELD("Timezone", "spec.timeZone?<none>"),
                                     { COLUMN("Suspend", "boolean", "", 0), false, ki_cell_bool_text, "spec.suspend" },
                                     NUMBER("Active", ki_cell_count, "status.active"),
                                     TEXT("Last Schedule", ki_cell_age, "status.lastScheduleTime?<none>"),
                                     AGE,
                                     CONTAINERS_AT("spec.jobTemplate.spec.template.spec.containers"),
                                     SELECTOR("spec.jobTemplate.spec.selector?<none>"),
                                     END };
static const ki_cell autoscalers[] = { NAME,
                                       TEXT("Reference", ki_cell_reference, "spec.scaleTargetRef"),
                                       TEXT("Targets", ki_cell_targets, ""),
                                       FIELD("MinPods", "spec.minReplicas?<unset>"),
                                       NUMBER_TEXT("MaxPods", ki_cell_integer, "spec.maxReplicas"),
                                       NUMBER_TEXT("Replicas", ki_cell_integer, "status.currentReplicas"),
                                       AGE,
                                       END };
static const ki_cell disruption_budgets[] = { NAME,
                                              FIELD("Min Available", "spec.minAvailable?N/A"),
                                              FIELD("Max Unavailable", "spec.maxUnavailable?N/A"),
                                              INTEGER("Allowed Disruptions", "status.disruptionsAllowed"),
                                              AGE,
                                              END };

static const ki_cell nodes[] = { NAME,
                                 TEXT("Status", ki_cell_node_status, ""),
                                 TEXT("Roles", ki_cell_node_roles, ""),
                                 AGE,
                                 FIELD("Version", "status.nodeInfo.kubeletVersion"),
                                 WIDE("Internal-IP", ki_cell_node_address, "InternalIP"),
                                 WIDE("External-IP", ki_cell_node_address, "ExternalIP"),
                                 WIDE("OS-Image", ki_cell_text, "status.nodeInfo.osImage?<unknown>"),
                                 WIDE("Kernel-Version", ki_cell_node_kernel, ""),
                                 WIDE("Container-Runtime", ki_cell_text,
                                      "status.nodeInfo.containerRuntimeVersion?<unknown>"),
                                 END };
static const ki_cell namespaces[] = { NAME, FIELD("Status", "status.phase"), AGE, END };
static const ki_cell config_maps[] = { NAME, NUMBER_TEXT("Data", ki_cell_count, "data+binaryData"), AGE, END };
static const ki_cell secrets[] = { NAME, FIELD("Type", "type"), NUMBER_TEXT("Data", ki_cell_count, "data"), AGE, END };
static const ki_cell aged[] = { NAME, AGE, END };
static const ki_cell quotas[] = { NAME, TEXT("Request", ki_cell_quota, ""), TEXT("Limit", ki_cell_quota, "limits"), AGE,
                                  END };
static const ki_cell events[] = { TEXT("Last Seen", ki_cell_event_seen, "last"),
                                  FIELD("Type", "type"),
                                  FIELD("Reason", "reason"),
                                  TEXT("Object", ki_cell_event_object, ""),
                                  WIDE("Subobject", ki_cell_text, "involvedObject.fieldPath|regarding.fieldPath"),
                                  WIDE("Source", ki_cell_event_source, ""),
                                  TEXT("Message", ki_cell_event_message, ""),
                                  WIDE("First Seen", ki_cell_event_seen, "first"),
                                  { COLUMN("Count", "string", "", 1), true, ki_cell_event_count, "" },
                                  WIDE("Name", ki_cell_text, "metadata.name"),
                                  END };

static const ki_cell services[] = { NAME,
                                    FIELD("Type", "spec.type"),
                                    TEXT("Cluster-IP", ki_cell_cluster_ip, ""),
                                    TEXT("External-IP", ki_cell_external_ip, ""),
                                    TEXT("Port(s)", ki_cell_ports, ""),
                                    AGE,
                                    WIDE("Selector", ki_cell_labels, "spec.selector?<none>"),
                                    END };
static const ki_cell endpoints[] = { NAME, TEXT("Endpoints", ki_cell_endpoints, ""), AGE, END };
static const ki_cell endpoint_slices[] = { NAME,
                                           FIELD("AddressType", "addressType"),
                                           TEXT("Ports", ki_cell_slice_ports, ""),
                                           TEXT("Endpoints", ki_cell_slice_addresses, ""),
                                           AGE,
                                           END };
static const ki_cell ingresses[] = { NAME,
                                     FIELD("Class", "spec.ingressClassName?<none>"),
                                     TEXT("Hosts", ki_cell_hosts, ""),
                                     TEXT("Address", ki_cell_balancers, ""),
                                     TEXT("Ports", ki_cell_ingress_ports, ""),
                                     AGE,
                                     END };
static const ki_cell ingress_classes[] = { NAMED(ki_cell_default_name, "ingressclass.kubernetes.io/is-default-class"),
                                           FIELD("Controller", "spec.controller"),
                                           TEXT("Parameters", ki_cell_parameters, ""), AGE, END };
static const ki_cell network_policies[] = { NAME, TEXT("Pod-Selector", ki_cell_selector, "spec.podSelector?<none>"),
                                            AGE, END };
static const ki_cell api_services[] = { NAME, TEXT("Service", ki_cell_service_of_api, ""),
                                        TEXT("Available", ki_cell_available, ""), AGE, END };

static const ki_cell volumes[] = { NAME,
                                   FIELD("Capacity", "spec.capacity.storage?0"),
                                   TEXT("Access Modes", ki_cell_access_modes, "spec.accessModes"),
                                   FIELD("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
                                   TEXT("Status", ki_cell_phase, ""),
                                   TEXT("Claim", ki_cell_claim, ""),
                                   TEXT("StorageClass", ki_cell_storage_class, "spec.storageClassName"),
                                   FIELD("VolumeAttributesClass", "spec.volumeAttributesClassName?<unset>"),
                                   FIELD("Reason", "status.reason"),
                                   AGE,
                                   WIDE("VolumeMode", ki_cell_text, "spec.volumeMode?<unset>"),
                                   END };
static const ki_cell claims[] = { NAME,
                                  TEXT("Status", ki_cell_phase, ""),
                                  FIELD("Volume", "spec.volumeName"),
                                  TEXT("Capacity", ki_cell_claim_capacity, "status.capacity.storage?0"),
                                  TEXT("Access Modes", ki_cell_claim_modes, "status.accessModes"),
                                  TEXT("StorageClass", ki_cell_storage_class, "spec.storageClassName"),
                                  FIELD("VolumeAttributesClass", "spec.volumeAttributesClassName?<unset>"),
                                  AGE,
                                  WIDE("VolumeMode", ki_cell_text, "spec.volumeMode?<unset>"),
                                  END };
static const ki_cell storage_classes[] = {
    NAMED(ki_cell_default_name, "storageclass.kubernetes.io/is-default-class "
                                "storageclass.beta.kubernetes.io/is-default-class"),
    FIELD("Provisioner", "provisioner"),
    FIELD("ReclaimPolicy", "reclaimPolicy?Delete"),
    FIELD("VolumeBindingMode", "volumeBindingMode?Immediate"),
    { COLUMN("AllowVolumeExpansion", "string", "", 0), true, ki_cell_bool, "allowVolumeExpansion" },
    AGE,
    END
};
static const ki_cell attachments[] = { NAME,
                                       { COLUMN("Attacher", "string", "name", 0), false, ki_cell_text,
                                         "spec.attacher" },
                                       FIELD("PV", "spec.source.persistentVolumeName"),
                                       FIELD("Node", "spec.nodeName"),
                                       BOOLEAN("Attached", "status.attached"),
                                       AGE,
                                       END };
static const ki_cell csi_nodes[] = { NAME, NUMBER("Drivers", ki_cell_count, "spec.drivers"), AGE, END };

static const ki_cell role_bindings[] = { NAME,
                                         TEXT("Role", ki_cell_reference, "roleRef"),
                                         AGE,
                                         WIDE("Users", ki_cell_subjects, "User"),
                                         WIDE("Groups", ki_cell_subjects, "Group"),
                                         WIDE("ServiceAccounts", ki_cell_subjects, "ServiceAccount"),
                                         END };
static const ki_cell leases[] = { NAME, FIELD("Holder", "spec.holderIdentity"), AGE, END };
static const ki_cell webhooks[] = { NAME, NUMBER("Webhooks", ki_cell_count, "webhooks"), AGE, END };
static const ki_cell priority_classes[] = { NAME,
                                            INTEGER("Value", "value"),
                                            BOOLEAN("Global-Default", "globalDefault"),
                                            AGE,
                                            FIELD("PreemptionPolicy", "preemptionPolicy"),
                                            END };
static const ki_cell runtime_classes[] = { NAME, FIELD("Handler", "handler"), AGE, END };

static const ki_cell flow_schemas[] = { NAME,
                                        FIELD("PriorityLevel", "spec.priorityLevelConfiguration.name"),
                                        NUMBER_TEXT("MatchingPrecedence", ki_cell_integer, "spec.matchingPrecedence"),
                                        FIELD("DistinguisherMethod", "spec.distinguisherMethod.type?<none>"),
                                        AGE,
                                        TEXT("MissingPL", ki_cell_dangling, ""),
                                        END };
static const ki_cell priority_levels[] = {
    NAME,
    FIELD("Type", "spec.type"),
    FIELD("NominalConcurrencyShares", "spec.limited.nominalConcurrencyShares?<none>"),
    FIELD("Queues", "spec.limited.limitResponse.queuing.queues?<none>"),
    FIELD("HandSize", "spec.limited.limitResponse.queuing.handSize?<none>"),
    FIELD("QueueLengthLimit", "spec.limited.limitResponse.queuing.queueLengthLimit?<none>"),
    AGE,
    END
};
static const ki_cell signing_requests[] = { NAME,
                                            AGE,
                                            FIELD("SignerName", "spec.signerName?<none>"),
                                            FIELD("Requestor", "spec.username"),
                                            TEXT("RequestedDuration", ki_cell_requested_duration,
                                                 "spec.expirationSeconds"),
                                            TEXT("Condition", ki_cell_signing_state, ""),
                                            END };
static const ki_cell trust_bundles[] = { NAME, FIELD("SignerName", "spec.signerName?<none>"), END };
static const ki_cell certificate_requests[] = { NAME,
                                                FIELD("PodName", "spec.podName"),
                                                FIELD("ServiceAccountName", "spec.serviceAccountName"),
                                                FIELD("NodeName", "spec.nodeName"),
                                                FIELD("SignerName", "spec.signerName"),
                                                TEXT("State", ki_cell_last_condition, "Issued Denied Failed?Pending"),
                                                TEXT("UnverifiedUserAnnotations", ki_cell_labels,
                                                     "spec.unverifiedUserAnnotations?<none>"),
                                                END };
static const ki_cell definitions[] = { NAME,
                                       FIELD("Scope", "spec.scope"),
                                       TEXT("Versions", ki_cell_served_versions, ""),
                                       CREATED,
                                       WIDE("Group", ki_cell_text, "spec.group"),
                                       WIDE("Kind", ki_cell_text, "spec.names.kind"),
                                       WIDE("ShortNames", ki_cell_list, "spec.names.shortNames"),
                                       { COLUMN("Established", "boolean", "", 1), true, ki_cell_established, "" },
                                       END };
static const ki_cell migrations[] = { FIELD("Name", "metadata.name"), TEXT("Resource", ki_cell_group_resource, ""),
                                      TEXT("Status", ki_cell_last_condition, "Running Failed Succeeded?Unknown"), END };
static const ki_cell capacities[] = { NAME, FIELD("StorageClassName", "storageClassName"),
                                      FIELD("Capacity", "capacity?<unset>"), END };
static const ki_cell attributes_classes[] = { NAME, FIELD("DriverName", "driverName"), AGE, END };
static const ki_cell service_ranges[] = { NAME, TEXT("CIDRs", ki_cell_list, "spec.cidrs"), AGE, END };
static const ki_cell addresses[] = { NAME, TEXT("ParentRef", ki_cell_parent, ""), END };
static const ki_cell validating_policies[] = { NAME, NUMBER("Validations", ki_cell_count, "spec.validations"),
                                               TEXT("ParamKind", ki_cell_param_kind, "spec.paramKind"), AGE, END };
static const ki_cell mutating_policies[] = { NAME, NUMBER("Mutations", ki_cell_count, "spec.mutations"),
                                             TEXT("ParamKind", ki_cell_param_kind, "spec.paramKind"), AGE, END };
static const ki_cell resource_claims[] = { NAME, TEXT("State", ki_cell_claim_state, ""), AGE, END };
static const ki_cell resource_slices[] = {
    NAME, FIELD("Node", "spec.nodeName"), FIELD("Driver", "spec.driver"), FIELD("Pool", "spec.pool.name"), AGE, END
};
static const ki_cell taint_rules[] = { NAME,
                                       FIELD("Key", "spec.taint.key"),
                                       FIELD("Value", "spec.taint.value"),
                                       FIELD("Effect", "spec.taint.effect"),
                                       TEXT("TimeAdded", ki_cell_age, "spec.taint.timeAdded"),
                                       AGE,
                                       END };
static const ki_cell components[] = { NAME, TEXT("Status", ki_cell_health, "status"),
                                      TEXT("Message", ki_cell_health, "message"),
                                      TEXT("Error", ki_cell_health, "error"), END };

static const struct {
    const char *group;
    const char *plural;
    const ki_cell *cells;
} tables[] = {
    { "", "pods", pods },
    { "", "podtemplates", pod_templates },
    { "", "replicationcontrollers", replication_controllers },
    { "", "nodes", nodes },
    { "", "namespaces", namespaces },
    { "", "configmaps", config_maps },
    { "", "secrets", secrets },
    { "", "serviceaccounts", aged },
    { "", "resourcequotas", quotas },
    { "", "events", events },
    { "events.k8s.io", "events", events },
    { "", "services", services },
    { "", "endpoints", endpoints },
    { "", "persistentvolumes", volumes },
    { "", "persistentvolumeclaims", claims },
    { "apps", "replicasets", replica_sets },
    { "apps", "deployments", deployments },
    { "apps", "statefulsets", stateful_sets },
    { "apps", "daemonsets", daemon_sets },
    { "apps", "controllerrevisions", controller_revisions },
    { "batch", "jobs", jobs },
    { "batch", "cronjobs", cron_jobs },
    { "autoscaling", "horizontalpodautoscalers", autoscalers },
    { "policy", "poddisruptionbudgets", disruption_budgets },
    { "discovery.k8s.io", "endpointslices", endpoint_slices },
    { "networking.k8s.io", "ingresses", ingresses },
    { "networking.k8s.io", "ingressclasses", ingress_classes },
    { "networking.k8s.io", "networkpolicies", network_policies },
    { "apiregistration.k8s.io", "apiservices", api_services },
    { "storage.k8s.io", "storageclasses", storage_classes },
    { "storage.k8s.io", "volumeattachments", attachments },
    { "storage.k8s.io", "csinodes", csi_nodes },
    { "rbac.authorization.k8s.io", "rolebindings", role_bindings },
    { "rbac.authorization.k8s.io", "clusterrolebindings", role_bindings },
    { "coordination.k8s.io", "leases", leases },
    { "admissionregistration.k8s.io", "mutatingwebhookconfigurations", webhooks },
    { "admissionregistration.k8s.io", "validatingwebhookconfigurations", webhooks },
    { "scheduling.k8s.io", "priorityclasses", priority_classes },
    { "node.k8s.io", "runtimeclasses", runtime_classes },
    { "", "componentstatuses", components },
    { "flowcontrol.apiserver.k8s.io", "flowschemas", flow_schemas },
    { "flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", priority_levels },
    { "certificates.k8s.io", "certificatesigningrequests", signing_requests },
    { "certificates.k8s.io", "clustertrustbundles", trust_bundles },
    { "certificates.k8s.io", "podcertificaterequests", certificate_requests },
    { "apiextensions.k8s.io", "customresourcedefinitions", definitions },
    { "storagemigration.k8s.io", "storageversionmigrations", migrations },
    { "storage.k8s.io", "csistoragecapacities", capacities },
    { "storage.k8s.io", "volumeattributesclasses", attributes_classes },
    { "networking.k8s.io", "servicecidrs", service_ranges },
    { "networking.k8s.io", "ipaddresses", addresses },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies", validating_policies },
    { "admissionregistration.k8s.io", "mutatingadmissionpolicies", mutating_policies },
    { "resource.k8s.io", "resourceclaims", resource_claims },
    { "resource.k8s.io", "resourceslices", resource_slices },
    { "resource.k8s.io", "deviceclasses", aged },
    { "resource.k8s.io", "devicetaintrules", taint_rules },
    { "resource.k8s.io", "resourceclaimtemplates", aged },
};

const ki_cell *ki_columns_find(const ki_resource *resource) {
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].plural, resource->plural) == 0 && strcmp(tables[i].group, resource->group) == 0)
            return tables[i].cells;
    }
    return plain;
}

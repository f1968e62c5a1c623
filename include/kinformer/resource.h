/* resource.h: resource types: group, version, name and kind. */
#ifndef KINFORMER_RESOURCE_H
#define KINFORMER_RESOURCE_H

#include <kinformer/export.h>

#include <stdbool.h>

KI_BEGIN_DECLS

/* A resource type. A program writes its own for a custom resource:
 *     static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
 * Functions that keep a resource copy it, unless their comment says otherwise. The layout is final. */
typedef struct ki_resource {
    const char *group;   /* "apps"; "" for the core group */
    const char *version; /* "v1" */
    const char *plural;  /* "pods": the name in request paths */
    const char *kind;    /* "Pod" */
    bool namespaced;
} ki_resource;

/* Returns the built-in resource with this name; NULL if there is none. A name is a plural, singular, short name or
 * kind, alone, with the group, or with version and group: "pods", "po", "pod", "Pod", "deployments.apps",
 * "deployments.v1.apps". discovery.h also finds custom resources.
 * Ownership: static. Threads: any. */
KI_API const ki_resource *ki_resource_find(const char *name);

/* Returns the built-in resource number `index`, counted from 0; NULL past the last. Ownership: static. Threads: any. */
KI_API const ki_resource *ki_resource_at(unsigned index);

/* Returns the built-in resource name that is most similar to `name`, for "did you mean"; NULL if none is similar.
 * Ownership: static. Threads: any. */
KI_API const char *ki_resource_nearest(const char *name);

/* Returns true if the resource supports a verb of the API: "list", "watch", "get", "create", "update", "patch",
 * "delete" or "deletecollection". Informers need list and watch. For a resource that is not built in, the function
 * always returns true. Threads: any. */
KI_API bool ki_resource_has_verb(const ki_resource *resource, const char *verb);

/* The resources that a Kubernetes 1.37 API server has by default. Two plurals occur twice: KI_EVENTS are the events of
 * the core group, and KI_EVENTS_K8S_IO_EVENTS those of events.k8s.io; KI_HORIZONTALPODAUTOSCALERS are those of
 * autoscaling/v2, and KI_HORIZONTALPODAUTOSCALERS_V1 those of autoscaling/v1. */
KI_API extern const ki_resource ki_resource_bindings;
KI_API extern const ki_resource ki_resource_componentstatuses;
KI_API extern const ki_resource ki_resource_configmaps;
KI_API extern const ki_resource ki_resource_endpoints;
KI_API extern const ki_resource ki_resource_events;
KI_API extern const ki_resource ki_resource_limitranges;
KI_API extern const ki_resource ki_resource_namespaces;
KI_API extern const ki_resource ki_resource_nodes;
KI_API extern const ki_resource ki_resource_persistentvolumeclaims;
KI_API extern const ki_resource ki_resource_persistentvolumes;
KI_API extern const ki_resource ki_resource_pods;
KI_API extern const ki_resource ki_resource_podtemplates;
KI_API extern const ki_resource ki_resource_replicationcontrollers;
KI_API extern const ki_resource ki_resource_resourcequotas;
KI_API extern const ki_resource ki_resource_secrets;
KI_API extern const ki_resource ki_resource_serviceaccounts;
KI_API extern const ki_resource ki_resource_services;
KI_API extern const ki_resource ki_resource_apiservices;
KI_API extern const ki_resource ki_resource_controllerrevisions;
KI_API extern const ki_resource ki_resource_daemonsets;
KI_API extern const ki_resource ki_resource_deployments;
KI_API extern const ki_resource ki_resource_replicasets;
KI_API extern const ki_resource ki_resource_statefulsets;
KI_API extern const ki_resource ki_resource_events_k8s_io_events;
KI_API extern const ki_resource ki_resource_selfsubjectreviews;
KI_API extern const ki_resource ki_resource_tokenreviews;
KI_API extern const ki_resource ki_resource_localsubjectaccessreviews;
KI_API extern const ki_resource ki_resource_selfsubjectaccessreviews;
KI_API extern const ki_resource ki_resource_selfsubjectrulesreviews;
KI_API extern const ki_resource ki_resource_subjectaccessreviews;
KI_API extern const ki_resource ki_resource_horizontalpodautoscalers;
KI_API extern const ki_resource ki_resource_horizontalpodautoscalers_v1;
KI_API extern const ki_resource ki_resource_cronjobs;
KI_API extern const ki_resource ki_resource_jobs;
KI_API extern const ki_resource ki_resource_certificatesigningrequests;
KI_API extern const ki_resource ki_resource_clustertrustbundles;
KI_API extern const ki_resource ki_resource_podcertificaterequests;
KI_API extern const ki_resource ki_resource_ingressclasses;
KI_API extern const ki_resource ki_resource_ingresses;
KI_API extern const ki_resource ki_resource_ipaddresses;
KI_API extern const ki_resource ki_resource_networkpolicies;
KI_API extern const ki_resource ki_resource_servicecidrs;
KI_API extern const ki_resource ki_resource_poddisruptionbudgets;
KI_API extern const ki_resource ki_resource_clusterrolebindings;
KI_API extern const ki_resource ki_resource_clusterroles;
KI_API extern const ki_resource ki_resource_rolebindings;
KI_API extern const ki_resource ki_resource_roles;
KI_API extern const ki_resource ki_resource_csidrivers;
KI_API extern const ki_resource ki_resource_csinodes;
KI_API extern const ki_resource ki_resource_csistoragecapacities;
KI_API extern const ki_resource ki_resource_storageclasses;
KI_API extern const ki_resource ki_resource_volumeattachments;
KI_API extern const ki_resource ki_resource_volumeattributesclasses;
KI_API extern const ki_resource ki_resource_mutatingadmissionpolicies;
KI_API extern const ki_resource ki_resource_mutatingadmissionpolicybindings;
KI_API extern const ki_resource ki_resource_mutatingwebhookconfigurations;
KI_API extern const ki_resource ki_resource_validatingadmissionpolicies;
KI_API extern const ki_resource ki_resource_validatingadmissionpolicybindings;
KI_API extern const ki_resource ki_resource_validatingwebhookconfigurations;
KI_API extern const ki_resource ki_resource_customresourcedefinitions;
KI_API extern const ki_resource ki_resource_priorityclasses;
KI_API extern const ki_resource ki_resource_leases;
KI_API extern const ki_resource ki_resource_runtimeclasses;
KI_API extern const ki_resource ki_resource_endpointslices;
KI_API extern const ki_resource ki_resource_deviceclasses;
KI_API extern const ki_resource ki_resource_devicetaintrules;
KI_API extern const ki_resource ki_resource_resourceclaims;
KI_API extern const ki_resource ki_resource_resourceclaimtemplates;
KI_API extern const ki_resource ki_resource_resourceslices;
KI_API extern const ki_resource ki_resource_flowschemas;
KI_API extern const ki_resource ki_resource_prioritylevelconfigurations;
KI_API extern const ki_resource ki_resource_storageversionmigrations;

#define KI_BINDINGS (&ki_resource_bindings)
#define KI_COMPONENTSTATUSES (&ki_resource_componentstatuses)
#define KI_CONFIGMAPS (&ki_resource_configmaps)
#define KI_ENDPOINTS (&ki_resource_endpoints)
#define KI_EVENTS (&ki_resource_events)
#define KI_LIMITRANGES (&ki_resource_limitranges)
#define KI_NAMESPACES (&ki_resource_namespaces)
#define KI_NODES (&ki_resource_nodes)
#define KI_PERSISTENTVOLUMECLAIMS (&ki_resource_persistentvolumeclaims)
#define KI_PERSISTENTVOLUMES (&ki_resource_persistentvolumes)
#define KI_PODS (&ki_resource_pods)
#define KI_PODTEMPLATES (&ki_resource_podtemplates)
#define KI_REPLICATIONCONTROLLERS (&ki_resource_replicationcontrollers)
#define KI_RESOURCEQUOTAS (&ki_resource_resourcequotas)
#define KI_SECRETS (&ki_resource_secrets)
#define KI_SERVICEACCOUNTS (&ki_resource_serviceaccounts)
#define KI_SERVICES (&ki_resource_services)
#define KI_APISERVICES (&ki_resource_apiservices)
#define KI_CONTROLLERREVISIONS (&ki_resource_controllerrevisions)
#define KI_DAEMONSETS (&ki_resource_daemonsets)
#define KI_DEPLOYMENTS (&ki_resource_deployments)
#define KI_REPLICASETS (&ki_resource_replicasets)
#define KI_STATEFULSETS (&ki_resource_statefulsets)
#define KI_EVENTS_K8S_IO_EVENTS (&ki_resource_events_k8s_io_events)
#define KI_SELFSUBJECTREVIEWS (&ki_resource_selfsubjectreviews)
#define KI_TOKENREVIEWS (&ki_resource_tokenreviews)
#define KI_LOCALSUBJECTACCESSREVIEWS (&ki_resource_localsubjectaccessreviews)
#define KI_SELFSUBJECTACCESSREVIEWS (&ki_resource_selfsubjectaccessreviews)
#define KI_SELFSUBJECTRULESREVIEWS (&ki_resource_selfsubjectrulesreviews)
#define KI_SUBJECTACCESSREVIEWS (&ki_resource_subjectaccessreviews)
#define KI_HORIZONTALPODAUTOSCALERS (&ki_resource_horizontalpodautoscalers)
#define KI_HORIZONTALPODAUTOSCALERS_V1 (&ki_resource_horizontalpodautoscalers_v1)
#define KI_CRONJOBS (&ki_resource_cronjobs)
#define KI_JOBS (&ki_resource_jobs)
#define KI_CERTIFICATESIGNINGREQUESTS (&ki_resource_certificatesigningrequests)
#define KI_CLUSTERTRUSTBUNDLES (&ki_resource_clustertrustbundles)
#define KI_PODCERTIFICATEREQUESTS (&ki_resource_podcertificaterequests)
#define KI_INGRESSCLASSES (&ki_resource_ingressclasses)
#define KI_INGRESSES (&ki_resource_ingresses)
#define KI_IPADDRESSES (&ki_resource_ipaddresses)
#define KI_NETWORKPOLICIES (&ki_resource_networkpolicies)
#define KI_SERVICECIDRS (&ki_resource_servicecidrs)
#define KI_PODDISRUPTIONBUDGETS (&ki_resource_poddisruptionbudgets)
#define KI_CLUSTERROLEBINDINGS (&ki_resource_clusterrolebindings)
#define KI_CLUSTERROLES (&ki_resource_clusterroles)
#define KI_ROLEBINDINGS (&ki_resource_rolebindings)
#define KI_ROLES (&ki_resource_roles)
#define KI_CSIDRIVERS (&ki_resource_csidrivers)
#define KI_CSINODES (&ki_resource_csinodes)
#define KI_CSISTORAGECAPACITIES (&ki_resource_csistoragecapacities)
#define KI_STORAGECLASSES (&ki_resource_storageclasses)
#define KI_VOLUMEATTACHMENTS (&ki_resource_volumeattachments)
#define KI_VOLUMEATTRIBUTESCLASSES (&ki_resource_volumeattributesclasses)
#define KI_MUTATINGADMISSIONPOLICIES (&ki_resource_mutatingadmissionpolicies)
#define KI_MUTATINGADMISSIONPOLICYBINDINGS (&ki_resource_mutatingadmissionpolicybindings)
#define KI_MUTATINGWEBHOOKCONFIGURATIONS (&ki_resource_mutatingwebhookconfigurations)
#define KI_VALIDATINGADMISSIONPOLICIES (&ki_resource_validatingadmissionpolicies)
#define KI_VALIDATINGADMISSIONPOLICYBINDINGS (&ki_resource_validatingadmissionpolicybindings)
#define KI_VALIDATINGWEBHOOKCONFIGURATIONS (&ki_resource_validatingwebhookconfigurations)
#define KI_CUSTOMRESOURCEDEFINITIONS (&ki_resource_customresourcedefinitions)
#define KI_PRIORITYCLASSES (&ki_resource_priorityclasses)
#define KI_LEASES (&ki_resource_leases)
#define KI_RUNTIMECLASSES (&ki_resource_runtimeclasses)
#define KI_ENDPOINTSLICES (&ki_resource_endpointslices)
#define KI_DEVICECLASSES (&ki_resource_deviceclasses)
#define KI_DEVICETAINTRULES (&ki_resource_devicetaintrules)
#define KI_RESOURCECLAIMS (&ki_resource_resourceclaims)
#define KI_RESOURCECLAIMTEMPLATES (&ki_resource_resourceclaimtemplates)
#define KI_RESOURCESLICES (&ki_resource_resourceslices)
#define KI_FLOWSCHEMAS (&ki_resource_flowschemas)
#define KI_PRIORITYLEVELCONFIGURATIONS (&ki_resource_prioritylevelconfigurations)
#define KI_STORAGEVERSIONMIGRATIONS (&ki_resource_storageversionmigrations)

KI_END_DECLS

#endif

/* resource.h: which kind of object, as the API server names it. */
#ifndef KINFORMER_RESOURCE_H
#define KINFORMER_RESOURCE_H

#include <kinformer/export.h>

#include <stdbool.h>

KI_BEGIN_DECLS

/* A resource type. Programs may write their own for custom resources:
 *     static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
 * Ownership: the strings must outlive what is made from it; built-ins are static. The layout is final. */
typedef struct ki_resource {
    const char *group;   /* "" for the core group */
    const char *version; /* "v1" */
    const char *plural;  /* "pods": the name in paths */
    const char *kind;    /* "Pod" */
    bool namespaced;
} ki_resource;

/* The built-in resource that a person means by `name`: a plural, singular, short name or kind, optionally with its group or
 * version and group: "pods", "po", "pod", "Pod", "deployments.apps", "deployments.v1.apps". NULL where none is meant.
 * Ownership: static. Threads: any. */
KI_API const ki_resource *ki_resource_find(const char *name);

/* All built-in resources, by index from 0; NULL at the end. Ownership: static. Threads: any. */
KI_API const ki_resource *ki_resource_at(unsigned index);

/* The built-in whose name is closest to `name`, for "did you mean"; NULL where nothing is close.
 * Ownership: static. Threads: any. */
KI_API const char *ki_resource_nearest(const char *name);

KI_API extern const ki_resource ki_resource_pods;
KI_API extern const ki_resource ki_resource_nodes;
KI_API extern const ki_resource ki_resource_namespaces;
KI_API extern const ki_resource ki_resource_services;
KI_API extern const ki_resource ki_resource_endpoints;
KI_API extern const ki_resource ki_resource_endpointslices;
KI_API extern const ki_resource ki_resource_configmaps;
KI_API extern const ki_resource ki_resource_secrets;
KI_API extern const ki_resource ki_resource_serviceaccounts;
KI_API extern const ki_resource ki_resource_persistentvolumes;
KI_API extern const ki_resource ki_resource_persistentvolumeclaims;
KI_API extern const ki_resource ki_resource_events;
KI_API extern const ki_resource ki_resource_deployments;
KI_API extern const ki_resource ki_resource_replicasets;
KI_API extern const ki_resource ki_resource_statefulsets;
KI_API extern const ki_resource ki_resource_daemonsets;
KI_API extern const ki_resource ki_resource_jobs;
KI_API extern const ki_resource ki_resource_cronjobs;
KI_API extern const ki_resource ki_resource_ingresses;
KI_API extern const ki_resource ki_resource_networkpolicies;
KI_API extern const ki_resource ki_resource_leases;
KI_API extern const ki_resource ki_resource_storageclasses;
KI_API extern const ki_resource ki_resource_customresourcedefinitions;

#define KI_PODS (&ki_resource_pods)
#define KI_NODES (&ki_resource_nodes)
#define KI_NAMESPACES (&ki_resource_namespaces)
#define KI_SERVICES (&ki_resource_services)
#define KI_ENDPOINTS (&ki_resource_endpoints)
#define KI_ENDPOINTSLICES (&ki_resource_endpointslices)
#define KI_CONFIGMAPS (&ki_resource_configmaps)
#define KI_SECRETS (&ki_resource_secrets)
#define KI_SERVICEACCOUNTS (&ki_resource_serviceaccounts)
#define KI_PERSISTENTVOLUMES (&ki_resource_persistentvolumes)
#define KI_PERSISTENTVOLUMECLAIMS (&ki_resource_persistentvolumeclaims)
#define KI_EVENTS (&ki_resource_events)
#define KI_DEPLOYMENTS (&ki_resource_deployments)
#define KI_REPLICASETS (&ki_resource_replicasets)
#define KI_STATEFULSETS (&ki_resource_statefulsets)
#define KI_DAEMONSETS (&ki_resource_daemonsets)
#define KI_JOBS (&ki_resource_jobs)
#define KI_CRONJOBS (&ki_resource_cronjobs)
#define KI_INGRESSES (&ki_resource_ingresses)
#define KI_NETWORKPOLICIES (&ki_resource_networkpolicies)
#define KI_LEASES (&ki_resource_leases)
#define KI_STORAGECLASSES (&ki_resource_storageclasses)
#define KI_CUSTOMRESOURCEDEFINITIONS (&ki_resource_customresourcedefinitions)

KI_END_DECLS

#endif

/* template.h: the texts of the load's objects.
 *
 * JSON with ' in place of " (no text contains either), and fields, each a backtick and a character:
 *     of a workload   s namespace  w name  a application  i image  v version  p port  h hash of its template
 *                     g digits of its configuration  l labels  c count of its pods  5 its containers  6 init containers
 *                     +, * volumes, a StatefulSet's  - account  = security context  9 annotations  8 variables
 *                     f restart policy
 *                     O, P digits of its image and the sidecar's
 *     of a pod        n name  b generateName  q labels of the owner's  r ownerReferences  u uid of the owner  j its Job
 *                     k ordinal  o node  / zone  H, F host's addresses  I, J pod's addresses  x letters of its volume
 *                     4 digits of its sandbox  t created  d deletionTimestamp  N, L further annotations and labels
 *                     M managedFields  A, B mount and volume of the token
 *     of a status     1 type or reason  2 status  3 time  0 reason and message  C container  E image  G imageID
 *                     D containerID  R what it has once it ran  y restarts  K ready  z started  Y state  Z lastState
 *                     7, U, T, V, X of a container that has ended: exit code, reason, begin, end, digits
 * Other objects use the same characters; a comment of the template says for what. */
#ifndef KT_LOAD_TEMPLATE_H
#define KT_LOAD_TEMPLATE_H

/* What creates a pod. */
typedef enum kt_load_owner {
    KT_LOAD_OF_DEPLOYMENT,
    KT_LOAD_OF_STATEFUL_SET,
    KT_LOAD_OF_DAEMON_SET,
    KT_LOAD_OF_JOB,
    KT_LOAD_OF_CRON_JOB,
    KT_LOAD_OF_NOTHING,
    KT_LOAD_OWNERS
} kt_load_owner;

/* An object is { body, status }. A body ends after the spec, and a status is the member of that name. */
typedef enum kt_load_template {
    /* ---- what a pod has of its owner: add a kt_load_owner ---- */
    KT_LOAD_GENERATE_NAME,
    KT_LOAD_OWNER_LABELS = KT_LOAD_GENERATE_NAME + KT_LOAD_OWNERS,
    KT_LOAD_OWNER_REFERENCE = KT_LOAD_OWNER_LABELS + KT_LOAD_OWNERS,
    KT_LOAD_CRON_JOB_REFERENCE = KT_LOAD_OWNER_REFERENCE + KT_LOAD_OWNERS,
    /* ---- pods ---- */
    KT_LOAD_POD, /* up to the containers' end */
    KT_LOAD_VOLUMES,
    KT_LOAD_VOLUMES_SMALL,
    KT_LOAD_SECURITY,
    KT_LOAD_POD_END,   /* of the spec: what the owner writes */
    KT_LOAD_POD_ADDED, /* and what the API server adds */
    KT_LOAD_DAEMON_END,
    KT_LOAD_DAEMON_ADDED,
    KT_LOAD_STATEFUL_END,
    KT_LOAD_STATEFUL_VOLUME,
    KT_LOAD_TOPOLOGY, /* labels of a pod that has a node, in the zone / */
    KT_LOAD_POD_NODE, /* of a scheduled pod, after the spec's end */
    KT_LOAD_TOKEN_MOUNT,
    KT_LOAD_TOKEN_VOLUME,
    KT_LOAD_LABELS_HELM,
    KT_LOAD_LABELS_PLAIN,
    KT_LOAD_CONTAINER,
    KT_LOAD_CONTAINER_SMALL,
    KT_LOAD_CONTAINER_MESH,
    KT_LOAD_CONTAINER_INIT,
    KT_LOAD_VARIABLE, /* of a container: 1 name, 2 value */
    KT_LOAD_ANNOTATIONS,
    KT_LOAD_ANNOTATIONS_MESH,
    KT_LOAD_ANNOTATIONS_NETWORK,
    /* ---- their status ---- */
    KT_LOAD_CONDITION,
    KT_LOAD_EVICTED,
    KT_LOAD_HOST_ADDRESSES,
    KT_LOAD_POD_ADDRESSES,
    KT_LOAD_CONTAINER_STATUS,
    KT_LOAD_RAN, /* what a container has once it ran; in the order of the containers of pod.c */
    KT_LOAD_RAN_MESH,
    KT_LOAD_RAN_INIT,
    KT_LOAD_RAN_SMALL,
    KT_LOAD_WAITING,
    KT_LOAD_RUNNING,
    KT_LOAD_TERMINATED,
    /* ---- their owners: c replicas ---- */
    KT_LOAD_DEPLOYMENT,
    KT_LOAD_DEPLOYMENT_STATUS,
    KT_LOAD_REPLICA_SET,
    KT_LOAD_REPLICA_SET_STATUS,
    KT_LOAD_STATEFUL_SET,
    KT_LOAD_STATEFUL_SET_STATUS,
    KT_LOAD_DAEMON_SET,
    KT_LOAD_DAEMON_SET_STATUS,
    KT_LOAD_CRON_JOB,
    KT_LOAD_CRON_JOB_STATUS,
    KT_LOAD_JOB, /* r ownerReferences, k completions */
    KT_LOAD_JOB_STATUS,
    /* ---- what belongs to a workload ---- */
    KT_LOAD_SERVICE, /* I address */
    KT_LOAD_SERVICE_STATUS,
    KT_LOAD_SLICE,          /* up to the first endpoint */
    KT_LOAD_SLICE_ENDPOINT, /* K ready, k terminating */
    KT_LOAD_CONFIG_MAP,     /* up to the value */
    KT_LOAD_SECRET,         /* 1, 2 digits */
    /* ---- nodes and events ---- */
    KT_LOAD_NODE,        /* k octet of the pods' network, 1 machine, 2 system, 3 provider's id */
    KT_LOAD_NODE_STATUS, /* up to the first image: r heartbeat, 4 boot */
    KT_LOAD_NODE_IMAGE,  /* k size */
    KT_LOAD_LEASE,       /* r renewed */
    KT_LOAD_EVENT,       /* k count, r last time, 1 reason, 2 message, 3 type, 4 component */
    KT_LOAD_TEMPLATES
} kt_load_template;

extern const char *const kt_load_templates[KT_LOAD_TEMPLATES];

#endif

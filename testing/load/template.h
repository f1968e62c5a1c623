/* template.h: the texts of the load's objects.
 *
 * JSON with ' in place of " (no text contains either), and fields, each a backtick and a letter:
 *     n name       s namespace  w workload       a application     h pod-template-hash  u uid of the owner  v version
 *     i image      p port       o node           H node's address  I pod's address      x hexadecimal digits
 *     t created    r changed    k True or False  K true or false   c restarts or a count
 *     y, z hexadecimal digits of the pod's two containers
 *     S, T the stamp's name and value (T of a node: its heartbeats)
 *     M managedFields after a comma, or nothing; m those of the status */
#ifndef KT_LOAD_TEMPLATE_H
#define KT_LOAD_TEMPLATE_H

/* A pod is the head, an optional stamp, the rest of metadata with the spec, the node if the pod is scheduled, and
 * the status of its step. */
typedef enum kt_load_template {
    KT_LOAD_POD_HEAD, /* up to the last annotation */
    KT_LOAD_POD_STAMP,
    KT_LOAD_POD_DELETING,
    KT_LOAD_POD_MIDDLE, /* ownerReferences, managedFields, spec */
    KT_LOAD_POD_MANAGED,
    KT_LOAD_POD_MANAGED_STATUS,
    KT_LOAD_POD_NODE,
    KT_LOAD_POD_PENDING,
    KT_LOAD_POD_SCHEDULED,
    KT_LOAD_POD_STARTING,
    KT_LOAD_POD_RUNNING,
    KT_LOAD_NODE,
    KT_LOAD_DEPLOYMENT,
    KT_LOAD_REPLICA_SET,
    KT_LOAD_SERVICE,
    KT_LOAD_SLICE_HEAD,     /* up to the first endpoint */
    KT_LOAD_SLICE_ENDPOINT, /* k: true while it ends */
    KT_LOAD_TEMPLATES
} kt_load_template;

extern const char *const kt_load_templates[KT_LOAD_TEMPLATES];

#endif

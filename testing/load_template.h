/* load_template.h: the texts that the load's objects are made of.
 *
 * JSON with ' for " (no text in it has either), and fields that are filled in, each a backtick and a letter:
 *     n name       s namespace  w workload       a application     h pod-template-hash  u uid of the owner  v version
 *     i image      p port       o node           H node's address  I pod's address      x digits of its own
 *     t made at    r changed at k True or False  K true or false   c restarts or a count
 *     S, T the stamp's name and value            M managedFields with a comma before it, or nothing; m those of the status */
#ifndef KT_LOAD_TEMPLATE_H
#define KT_LOAD_TEMPLATE_H

/* A pod is its head, a stamp where it has one, "},", what deletion adds, the middle, its node once it is scheduled, and the end that goes
 * with the step of its life. */
extern const char kt_load_pod_head[]; /* until the last annotation */
extern const char kt_load_pod_stamp[];
extern const char kt_load_pod_deleting[];
extern const char kt_load_pod_middle[]; /* ownerReferences, managedFields, spec */
extern const char kt_load_pod_managed[];
extern const char kt_load_pod_managed_status[];
extern const char kt_load_pod_node[];
extern const char kt_load_pod_pending[];
extern const char kt_load_pod_scheduled[];
extern const char kt_load_pod_starting[];
extern const char kt_load_pod_running[];

extern const char kt_load_node[];
extern const char kt_load_deployment[];
extern const char kt_load_replica_set[];

#endif

/* resource_table.h: everything that discovery says about the resources a Kubernetes 1.36 API server serves
 * by default. Constant; any thread. Who needs only the name of a resource uses <kinformer/resource.h>. */
#ifndef KI_OBJECT_RESOURCE_TABLE_H
#define KI_OBJECT_RESOURCE_TABLE_H

#include <kinformer/resource.h>

#include <stdbool.h>
#include <stddef.h>

/* What may be done with a resource; a set is a sum of these. */
typedef enum ki_verb {
    KI_VERB_CREATE = 1 << 0,
    KI_VERB_DELETE = 1 << 1,
    KI_VERB_DELETECOLLECTION = 1 << 2,
    KI_VERB_GET = 1 << 3,
    KI_VERB_LIST = 1 << 4,
    KI_VERB_PATCH = 1 << 5,
    KI_VERB_UPDATE = 1 << 6,
    KI_VERB_WATCH = 1 << 7
} ki_verb;

enum {
    KI_VERB_COUNT = 8,
    KI_VERBS_ALL = (1 << KI_VERB_COUNT) - 1
};

enum {
    KI_RESOURCE_MAX_SHORT_NAMES = 2,
    KI_RESOURCE_MAX_SUBRESOURCES = 10
};

typedef struct ki_subresource_info {
    const char *name;    /* "status"; NULL ends a list */
    const char *kind;    /* NULL: that of the resource itself */
    const char *group;   /* of that kind, where it is not the resource's: "autoscaling"; else NULL */
    const char *version; /* goes with `group` */
    unsigned verbs;      /* of ki_verb */
} ki_subresource_info;

typedef struct ki_resource_info {
    const ki_resource *resource;
    const char *singular;                                     /* "pod" */
    const char *short_names[KI_RESOURCE_MAX_SHORT_NAMES + 1]; /* ended by NULL */
    const char *category;                                     /* "all", "api-extensions" or NULL */
    unsigned verbs;                                           /* of ki_verb */
    ki_subresource_info subresources[KI_RESOURCE_MAX_SUBRESOURCES + 1];
} ki_resource_info;

/* All of them, groups and resources in the order of a real server's discovery (a group's preferred version
 * first); by index from 0; NULL at the end. */
const ki_resource_info *ki_resource_info_at(unsigned index);
/* Of the built-in with this group, version and plural; NULL where there is none. */
const ki_resource_info *ki_resource_info_find(const char *group, const char *version, const char *plural);
/* Can it only be a custom resource, whose type comes and goes with its definition? False wherever it may be one of Kubernetes' own, of a
 * version to come too: those are in groups without a dot, or with one word before ".k8s.io". */
bool ki_resource_is_custom(const ki_resource *resource);
/* The verb number `index` (from 0, below KI_VERB_COUNT) as discovery writes it, in alphabetical order: its
 * bit is 1 << index. */
const char *ki_verb_name(unsigned index);

#endif

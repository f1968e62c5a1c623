/* resource_table.h: the discovery data of the resources that a Kubernetes 1.37 API server serves by default. Constant;
 * any thread. For names of resources alone include <kinformer/resource.h>. */
#ifndef KI_OBJECT_RESOURCE_TABLE_H
#define KI_OBJECT_RESOURCE_TABLE_H

#include <kinformer/resource.h>

#include "src/base/internal_api.h"
#include "src/base/string_view.h"

#include <stdbool.h>
#include <stddef.h>

/* The verbs of a resource; a set is a sum of these. */
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
    KI_RESOURCE_MAX_SHORT_NAMES = 2
};

typedef struct ki_subresource_info {
    const char *name;    /* "status"; NULL ends a list */
    const char *kind;    /* NULL: the resource's own kind */
    const char *group;   /* the kind's group if it differs from the resource's: "autoscaling"; else NULL */
    const char *version; /* the version of `group` */
    unsigned verbs;      /* of ki_verb */
} ki_subresource_info;

typedef struct ki_resource_info {
    const ki_resource *resource;
    const char *singular;                                     /* "pod" */
    const char *short_names[KI_RESOURCE_MAX_SHORT_NAMES + 1]; /* ended by NULL */
    const char *category;                                     /* "all", "api-extensions" or NULL */
    unsigned verbs;                                           /* of ki_verb */
    const ki_subresource_info *subresources;                  /* an array that ends as ki_subresource_info says */
} ki_resource_info;

/* Returns a resource by its index from 0, NULL at the end. Groups and resources have the order of a real server's
 * discovery, with a group's preferred version first. */
const ki_resource_info *ki_resource_info_at(unsigned index);
/* Returns the built-in resource of this group, version and plural; NULL if there is none. */
KI_INTERNAL_API const ki_resource_info *ki_resource_info_find(const char *group, const char *version,
                                                              const char *plural);
/* Returns true for a group and a kind of a built-in resource, in any version. */
bool ki_resource_is_built_in(ki_str group, ki_str kind);
/* Returns true if a resource of the program has all its strings: version, plural and kind are not empty, and the group
 * is "" for the core. */
KI_INTERNAL_API bool ki_resource_is_complete(const ki_resource *resource);
/* Returns true if the resource can only be a custom resource, whose type comes and goes with its definition. Returns
 * false for every resource that may be one of Kubernetes' own, also of a later version: their groups have no dot, or
 * one word before ".k8s.io". */
bool ki_resource_is_custom(const ki_resource *resource);
/* Returns the name of the verb with the bit 1 << index, as discovery writes it. The order is alphabetical. */
const char *ki_verb_name(unsigned index);

#endif

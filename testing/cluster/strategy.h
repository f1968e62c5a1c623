/* strategy.h: what the real server's registry decides for each resource, beside its schema: how generation counts,
 * what an update and a status update can change, and which updates need a version. Constant data; any thread. */
#ifndef KT_CLUSTER_STRATEGY_H
#define KT_CLUSTER_STRATEGY_H

#include "src/object/resource_table.h"

#include <yyjson.h>

typedef enum kt_counts {
    KT_COUNTS_NOTHING,    /* generation stays as the client set it at first */
    KT_COUNTS_FIRST,      /* generation is 1 */
    KT_COUNTS_SPEC,       /* generation counts changes of all but metadata and status */
    KT_COUNTS_LABELS,     /* and of labels */
    KT_COUNTS_ANNOTATIONS /* and of annotations, instead */
} kt_counts;

enum {
    KT_CREATES_ON_UPDATE = 1 << 0, /* an update of a missing object creates it */
    KT_NEEDS_VERSION = 1 << 1,     /* an update without a resourceVersion is invalid */
    KT_KEEPS_STATUS = 1 << 2,      /* a new object keeps the client's status */
    KT_STATUS_ONLY = 1 << 3,       /* a status update changes no metadata */
    KT_STATUS_NO_LABELS = 1 << 4,  /* a status update changes no labels */
    KT_STATUS_NO_OWNERS = 1 << 5,  /* a status update changes no owners and ignores deletionTimestamp */
    KT_RETURNS_DELETED = 1 << 6    /* a delete responds with the removed object */
};

typedef struct kt_strategy {
    const char *group;
    const char *plural; /* NULL: all of the group */
    kt_counts counts;
    unsigned flags;
} kt_strategy;

const kt_strategy *kt_strategy_of(const ki_resource_info *info);
/* Returns true if the resource has a status subresource. */
bool kt_has_status(const ki_resource_info *info);

#endif

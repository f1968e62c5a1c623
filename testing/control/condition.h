/* condition.h: what a test waits for: requests, watches, injections of a fault, objects. The functions of
 * kinformer-testing/requests.h and GET /_wait wait for the same. The caller holds the cluster. */
#ifndef KT_CONTROL_CONDITION_H
#define KT_CONTROL_CONDITION_H

#include <kinformer/resource.h>
#include <kinformer/selector.h>

#include "src/object/format.h"
#include "testing/cluster/cluster.h"
#include "testing/values/spec.h"

typedef enum kt_condition_kind {
    KT_UNTIL_REQUESTS, /* at least `count` requests that match were recorded */
    KT_UNTIL_WATCHES,  /* exactly `count` watches are open */
    KT_UNTIL_INJECTED, /* the fault was injected at least `count` times */
    KT_UNTIL_OBJECTS   /* exactly `count` objects match, or at least one */
} kt_condition_kind;

typedef struct kt_condition {
    kt_cluster *cluster;
    kt_condition_kind kind;
    uint64_t count;
    bool at_least;         /* of objects: more than `count` are as good */
    uint64_t since;        /* of requests: the number after which they count */
    kt_spec match;         /* of requests */
    uint64_t fault;        /* its number */
    ki_selector *selector; /* of objects; NULL: all */
    ki_object_format *format;
    uint64_t
        seen; /* of objects: the cluster's revision when the last look found that the wait goes on; 0: no look yet */

    char *texts;          /* owns the following strings, which are never NULL */
    const char *line;     /* the selection of requests */
    ki_resource resource; /* of watches and objects; no plural: all watches */
    const char *ns;       /* "": all */
    const char *name;     /* "": all */
    const char *fields;   /* the field selector */
} kt_condition;

/* Each makes a condition, which the caller frees with kt_condition_free.
 * Errors: KI_ERR_INVALID, KI_ERR_PARSE (a selector), KI_ERR_NO_MEMORY. */
ki_status kt_condition_requests(kt_cluster *cluster, const char *line, uint64_t since, uint64_t count,
                                kt_condition *ret_condition, ki_error *err);
/* `resource` NULL: all */
ki_status kt_condition_watches(kt_cluster *cluster, const ki_resource *resource, uint64_t count,
                               kt_condition *ret_condition, ki_error *err);
kt_condition kt_condition_fault(kt_cluster *cluster, uint64_t id, uint64_t count);
/* Objects of a resource; the strings may be NULL or empty: any. A name needs its namespace. */
typedef struct kt_wanted_objects {
    const ki_resource *resource;
    const char *ns;
    const char *name;
    const char *labels;
    const char *fields;
    uint64_t count;
    bool at_least;
} kt_wanted_objects;
ki_status kt_condition_objects(kt_cluster *cluster, const kt_wanted_objects *wanted, kt_condition *ret_condition,
                               ki_error *err);
void kt_condition_free(kt_condition *condition); /* may be zeroed */
/* Moves a condition to the heap. Frees it if there is no memory, and returns NULL. */
kt_condition *kt_condition_move(kt_condition *condition);
void kt_condition_delete(kt_condition *condition); /* of kt_condition_move */

/* Returns true once the wait has ended, and sets `*ret_status`: KI_OK if it is so, otherwise why it cannot become so.
 * Returns false with KI_ERR_TIMEOUT; the message says what there is instead. `*ret_count` is how many there are. */
bool kt_condition_is_over(kt_condition *condition, uint64_t *ret_count, ki_status *ret_status, ki_error *err);
/* Returns true if kt_condition_is_over would return false as the last time: no object has changed since. */
bool kt_condition_is_as_seen(const kt_condition *condition);

/* Parses a line that selects recorded requests. Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_match_parse(const ki_allocator *allocator, const char *line, kt_spec *ret_match, ki_error *err);

#endif

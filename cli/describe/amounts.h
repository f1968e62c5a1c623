/* amounts.h: quantities of resources: canonical texts, sums, and the requests and limits of pods. */
#ifndef CLI_DESCRIBE_AMOUNTS_H
#define CLI_DESCRIBE_AMOUNTS_H

#include "src/base/quantity.h"

#include <yyjson.h>

enum {
    AMOUNTS_MAX = 64 /* resources in one sum; further ones are left out */
};

/* An amount of each resource, by name. */
typedef struct amounts {
    const char *names[AMOUNTS_MAX]; /* borrowed from JSON */
    ki_quantity values[AMOUNTS_MAX];
    size_t count;
} amounts;

/* Writes the canonical form of a quantity in JSON; another value as it is. Returns `text`. */
const char *amount_text(yyjson_val *quantity, char text[KI_QUANTITY_SIZE]);
/* Reads a quantity; 0 if it is none. */
ki_quantity amount_of(yyjson_val *quantity);
/* Returns the amount of a resource; 0 without one. */
ki_quantity amounts_get(const amounts *all, const char *name);
void amounts_add(amounts *to, const amounts *from);
/* Returns what the scheduler counts for a pod. With `uses_status` also what its containers have been given. */
amounts pod_requests(yyjson_val *pod, bool uses_status);
amounts pod_limits(yyjson_val *pod, bool uses_status);
/* Returns the QoS class that follows from a pod's requests and limits. */
const char *qos_class_of(yyjson_val *pod);

#endif

/* describe.h: an object as kubectl describe shows it: pods, nodes, deployments, services, secrets and config maps in
 * layouts of their own, every other kind by its fields. Makes no requests: the caller brings what the server knows
 * beside the object. */
#ifndef CLI_DESCRIBE_DESCRIBE_H
#define CLI_DESCRIBE_DESCRIBE_H

#include "sheet.h"

#include <stdint.h>
#include <yyjson.h>

typedef enum described_kind {
    DESCRIBED_BY_FIELDS,
    DESCRIBED_POD,
    DESCRIBED_NODE,
    DESCRIBED_DEPLOYMENT,
    DESCRIBED_SERVICE,
    DESCRIBED_SECRET,
    DESCRIBED_CONFIG_MAP
} described_kind;

/* The items of a list, borrowed. */
typedef struct described_list {
    yyjson_val **items;
    size_t count;
} described_list;

typedef struct description {
    yyjson_val *object;
    int64_t now_ms; /* milliseconds since 1970; ages are relative to it */
    bool shows_events;
    described_list events;
    /* A node's pods that have not ended; a deployment's replica sets; a service's endpoint slices. */
    described_list related;
    bool is_forbidden;         /* the node's pods */
    described_list slices;     /* a node's resource slices */
    yyjson_val *lease;         /* a node's; NULL: lease_failure */
    const char *lease_failure; /* why there is none */
} description;

/* Returns the layout for an object. */
described_kind described_kind_of(yyjson_val *object);
/* Writes the description. */
void describe_object(const description *d, sheet *s);

/* Each layout, without Events. */
void describe_by_fields(const description *d, sheet *s);
void describe_pod(const description *d, sheet *s);
void describe_node(const description *d, sheet *s);
void describe_deployment(const description *d, sheet *s);
void describe_service(const description *d, sheet *s);
void describe_secret(const description *d, sheet *s);
void describe_config_map(const description *d, sheet *s);

/* Writes the table of the Events, the last one last. */
void describe_events(const description *d, sheet *s);

#endif

/* server.h: the API server of this scenario: one kt_cluster, whose lists and watches are served late, and the oracle of
 * writes. */
#ifndef CTL_SERVER_H
#define CTL_SERVER_H

#include "sim/controllers/plan.h"
#include "testing/rest/rest.h"

typedef struct ctl_world ctl_world;

enum {
    CTL_REVISIONS = 256,
    CTL_UID_SIZE = 40
};

#define CTL_GROUP "sim.example"
#define CTL_FINALIZER "sim.example/children"
#define CTL_LEASE_NAMESPACE "kube-system"
#define CTL_LEASE_NAME "controllers"

/* Values are the numbers in "v1", "v2", ...; 0: there is no value, or "v0". */
typedef struct ctl_child_state {
    bool exists;
    uint64_t value;
    char uid[CTL_UID_SIZE], owner_uid[CTL_UID_SIZE]; /* owner_uid "": no owner */
} ctl_child_state;

typedef struct ctl_parent_state {
    bool exists, is_deleting, is_ready;
    char uid[CTL_UID_SIZE];
    int64_t replicas;
    uint64_t value, observed; /* of the spec; of the status */
    ctl_child_state children[CTL_MAX_CHILDREN];
} ctl_parent_state;

/* The parents and children in the cluster, parsed. For oracles, users and the garbage collector. */
typedef struct ctl_state {
    uint64_t revision;
    ctl_parent_state parents[CTL_MAX_PARENTS];
} ctl_state;

typedef struct ctl_revision_time {
    int64_t at; /* true time of the write, ns */
    uint64_t revision;
} ctl_revision_time;

typedef struct ctl_server {
    kt_cluster *cluster;
    int64_t down_until;                         /* true time, ns: connections are refused until then */
    int64_t lag, lag_until;                     /* of CTL_LAG: ns; true time, ns */
    ctl_revision_time revisions[CTL_REVISIONS]; /* a ring */
    uint64_t revision_count;
    ctl_state state;
    uint64_t collected_revision; /* the last revision without work for the garbage collector */
} ctl_server;

void ctl_server_make(ctl_world *world);
void ctl_server_free(ctl_world *world);
/* Returns the server's clock: milliseconds since 1970. */
int64_t ctl_server_now_ms(const ctl_world *world);
/* Returns how late reads are served now, ns. */
int64_t ctl_server_lag(const ctl_world *world);
/* Returns the namespace of a parent and its children. */
const char *ctl_namespace(unsigned parent);
/* Responds to a request of the process with number `process`. Fails the run and returns false without memory. */
bool ctl_server_handle(ctl_world *world, unsigned process, const kt_request *request, kt_response *ret_response);
/* Sends a request of a user, the garbage collector or a fault. Returns the HTTP status. */
int ctl_server_request(ctl_world *world, const char *method, const char *target, const char *body);
/* Returns the current state of the cluster. Valid until the next call. */
const ctl_state *ctl_server_state(ctl_world *world);
/* Returns the Lease's JSON, borrowed. Size 0: there is no Lease. */
ki_str ctl_server_lease(const ctl_world *world);
/* Returns the decimal number after the text `field` in JSON, or -1. */
int64_t ctl_json_number(ki_str json, const char *field);
/* Copies the text after the text `field` in JSON, up to the next quote. "" if `field` is missing. */
void ctl_json_text(ki_str json, const char *field, char *ret_text, size_t size);

#endif

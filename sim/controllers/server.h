/* server.h: the API server of this scenario: one kt_cluster, whose lists and watches are served late, and the oracle of what it accepts. */
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

typedef struct ctl_child_state {
    bool is_there;
    uint64_t value;
    char uid[CTL_UID_SIZE], owner_uid[CTL_UID_SIZE]; /* "" where nobody owns it */
} ctl_child_state;

typedef struct ctl_parent_state {
    bool is_there, is_deleting, is_ready;
    char uid[CTL_UID_SIZE];
    int64_t replicas;
    uint64_t value, observed;
    ctl_child_state children[CTL_MAX_CHILDREN];
} ctl_parent_state;

/* The cluster as it is, read for oracles, users and the garbage collector. */
typedef struct ctl_state {
    uint64_t revision;
    ctl_parent_state parents[CTL_MAX_PARENTS];
} ctl_state;

typedef struct ctl_revision_at {
    int64_t at;
    uint64_t revision;
} ctl_revision_at;

typedef struct ctl_server {
    kt_cluster *cluster;
    int64_t down_until;
    int64_t lag, lag_until;                   /* of a fault */
    ctl_revision_at revisions[CTL_REVISIONS]; /* a ring */
    uint64_t revision_count;
    ctl_state state;
    uint64_t collected_at; /* the revision that the garbage collector has seen */
} ctl_server;

void ctl_server_make(ctl_world *world);
void ctl_server_free(ctl_world *world);
int64_t ctl_server_now_ms(const ctl_world *world);
/* How late reads are just now. */
int64_t ctl_server_lag(const ctl_world *world);
/* The namespace of a parent and its children. */
const char *ctl_namespace(unsigned parent);
/* Answers a process's request. `process` is its number. False: no memory, which fails the run. */
bool ctl_server_handle(ctl_world *world, unsigned process, const kt_request *request, kt_response *ret_response);
/* Somebody else's request. Returns the HTTP status. */
int ctl_server_ask(ctl_world *world, const char *method, const char *target, const char *body);
/* Reads the cluster where it has changed. */
const ctl_state *ctl_server_state(ctl_world *world);
/* Returns the Lease's JSON, borrowed; size 0 where there is none. */
ki_str ctl_server_lease(const ctl_world *world);
/* Returns a decimal number after `field` in JSON; -1 where there is none. */
int64_t ctl_number_in(ki_str json, const char *field);
/* Copies the text after `field` up to the next quote; "" where there is none. */
void ctl_text_in(ki_str json, const char *field, char *ret_text, size_t size);

/* people.c: users, hands and the garbage collector. */
void ctl_people_begin(ctl_world *world);
/* Writes once more. */
void ctl_people_write(ctl_world *world);
/* Removes what no controller can repair: children of nobody, specs that are not valid. */
void ctl_people_repair(ctl_world *world);
/* True where the cluster is as the specs ask. Writes why not. */
bool ctl_people_are_served(ctl_world *world, char *ret_why, size_t size);

/* inject.c */
void ctl_inject(ctl_world *world, const ctl_fault *fault);
void ctl_heal(ctl_world *world);

#endif

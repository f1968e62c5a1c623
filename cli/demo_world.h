/* demo_world.h: the Foos and Deployments of `kinformer demo --controller`, as the embedded server has them, and what a cluster's own
 * controllers do with them. */
#ifndef CLI_DEMO_WORLD_H
#define CLI_DEMO_WORLD_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#define DEMO_NAMESPACE "default"

extern const ki_resource demo_foos;

/* What is read of a Foo and of a Deployment. */
struct demo_view {
    const char *deployment_name; /* of a Foo */
    const char *owner_uid;       /* of a Deployment */
    int64_t replicas;
    int64_t available;
};
extern const ki_field demo_fields[];

typedef struct demo_world {
    ki_testing_server *server;
    const ki_informer *informer; /* makes objects with demo_fields of the server's JSON */
} demo_world;

/* Installs the definition of Foos. */
ki_status demo_world_install(demo_world *world, ki_error *err);

/* Does what a cluster does: one more replica of each Deployment becomes available, or all that are too many end; a Deployment whose Foo
 * is gone is deleted, and `on_collected` is called with its name. */
ki_status demo_world_step(demo_world *world, void (*on_collected)(const char *name, void *user), void *user,
                          ki_error *err);

/* Returns true where each Foo has a Deployment with the Foo's replicas and as its owner, all replicas are available, the Foo's status says
 * so, and there is no other Deployment. Writes how many Foos there are, and what is wrong first. */
bool demo_world_is_right(demo_world *world, size_t *ret_foos, char *ret_wrong, size_t size);

#endif

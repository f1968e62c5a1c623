/* demo_world.h: the Foos and Deployments of `kinformer demo --controller` on the embedded server, and the work of a
 * cluster's own controllers on them. */
#ifndef CLI_DEMO_WORLD_H
#define CLI_DEMO_WORLD_H

#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#define DEMO_NAMESPACE "default"

extern const ki_resource demo_foos;

/* The fields of a Foo and of a Deployment. */
struct demo_view {
    const char *deployment_name; /* Foo only */
    const char *owner_uid;       /* Deployment only */
    int64_t replicas;
    int64_t available;
};
extern const ki_field demo_fields[];

typedef struct demo_world {
    ki_testing_server *server;
    const ki_informer *informer; /* creates objects with demo_fields from the server's JSON */
} demo_world;

/* Installs the definition of Foos. */
ki_status demo_world_install(demo_world *world, ki_error *err);

/* Does one step of the cluster's controllers. One more replica of each Deployment becomes available, or all surplus
 * replicas end. A Deployment without its Foo is deleted, and `on_collected` is called with its name. */
ki_status demo_world_step(demo_world *world, void (*on_collected)(const char *name, void *user), void *user,
                          ki_error *err);

/* Returns true if each Foo has a Deployment with the Foo's replicas and with the Foo as its owner, all replicas are
 * available, the Foo's status is up to date, and there is no other Deployment. Writes the number of Foos and the first
 * difference. */
bool demo_world_is_right(demo_world *world, size_t *ret_foos, char *ret_wrong, size_t size);

#endif

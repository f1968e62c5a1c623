/* demo_world.c: see demo_world.h. */
#include "demo_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ki_resource demo_foos = { "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", true };

const ki_field demo_fields[] = {
    KI_FIELD(struct demo_view, deployment_name, "spec.deploymentName"),
    KI_FIELD(struct demo_view, owner_uid, "metadata.ownerReferences[0].uid"),
    KI_FIELD(struct demo_view, replicas, "spec.replicas"),
    KI_FIELD(struct demo_view, available, "status.availableReplicas"),
    KI_FIELD_END,
};

/* examples/sample-controller/crd.yaml */
static const char definition[] =
    "{\"metadata\":{\"name\":\"foos.samplecontroller.k8s.io\",\"annotations\":{\"api-approved.kubernetes.io\":"
    "\"unapproved, for a demo only\"}},\"spec\":{\"group\":\"samplecontroller.k8s.io\",\"scope\":\"Namespaced\","
    "\"names\":{\"kind\":\"Foo\",\"plural\":\"foos\"},\"versions\":[{\"name\":\"v1alpha1\",\"served\":true,"
    "\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"deploymentName\":{\"type\":\"string\"},"
    "\"replicas\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}}},\"status\":{\"type\":\"object\","
    "\"properties\":{\"availableReplicas\":{\"type\":\"integer\"}}}}}}}]}}";

ki_status demo_world_install(demo_world *world, ki_error *err) {
    return ki_testing_server_create(world->server, KI_CUSTOMRESOURCEDEFINITIONS, NULL, definition, 0, err);
}

/* ---- the server's objects ---- */

typedef struct objects {
    const ki_informer *informer;
    ki_object **items;
    size_t count;
    bool is_incomplete; /* out of memory, or an object that cannot be read */
} objects;

static bool add_object(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    objects *list = user;
    ki_object **items = realloc(list->items, (list->count + 1) * sizeof *items);
    (void)key;
    (void)key_size;
    if (items)
        list->items = items;
    list->is_incomplete = !items || ki_informer_object_from_json(list->informer, json, size, &items[list->count], NULL);
    list->count += !list->is_incomplete;
    return !list->is_incomplete;
}

static objects read_objects(demo_world *world, const ki_resource *resource) {
    objects list = { .informer = world->informer };
    ki_testing_server_each(world->server, resource, add_object, &list);
    return list;
}

static void free_objects(objects *list) {
    for (size_t i = 0; i < list->count; i++)
        ki_object_unref(list->items[i]);
    free(list->items);
}

static const ki_object *find_by_name(const objects *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(ki_object_name(list->items[i]), name) == 0)
            return list->items[i];
    }
    return NULL;
}

static const ki_object *find_owner(const objects *foos, const ki_object *deployment) {
    const struct demo_view *view = ki_object_view(deployment);
    for (size_t i = 0; view->owner_uid && i < foos->count; i++) {
        if (strcmp(ki_object_uid(foos->items[i]), view->owner_uid) == 0)
            return foos->items[i];
    }
    return NULL;
}

/* ---- what a cluster does ---- */

static ki_status set_available(demo_world *world, const ki_object *deployment, long long count, ki_error *err) {
    char target[512], json[256];
    snprintf(target, sizeof target, "/apis/apps/v1/namespaces/" DEMO_NAMESPACE "/deployments/%s/status",
             ki_object_name(deployment));
    snprintf(json, sizeof json,
             "{\"status\":{\"replicas\":%lld,\"updatedReplicas\":%lld,\"readyReplicas\":%lld,\"availableReplicas\":"
             "%lld}}",
             count, count, count, count);
    return ki_testing_server_request(world->server, "PATCH", target, "application/merge-patch+json", json, 0, NULL,
                                     err);
}

ki_status demo_world_step(demo_world *world, void (*on_collected)(const char *name, void *user), void *user,
                          ki_error *err) {
    objects foos = read_objects(world, &demo_foos);
    objects deployments = read_objects(world, KI_DEPLOYMENTS);
    ki_status status = foos.is_incomplete || deployments.is_incomplete ? KI_ERR_NO_MEMORY : KI_OK;
    for (size_t i = 0; i < deployments.count && !status; i++) {
        const ki_object *deployment = deployments.items[i];
        const struct demo_view *view = ki_object_view(deployment);
        ki_error failure = KI_ERROR_INIT;
        if (view->owner_uid && !find_owner(&foos, deployment)) {
            on_collected(ki_object_name(deployment), user);
            status = ki_testing_server_delete(world->server, KI_DEPLOYMENTS, DEMO_NAMESPACE, ki_object_name(deployment),
                                              &failure);
        } else if (view->available != view->replicas) {
            int64_t next = view->available < view->replicas ? view->available + 1 : view->replicas;
            status = set_available(world, deployment, next, &failure);
        }
        if (status && ki_error_is_not_found(&failure))
            status = KI_OK; /* deleted in between */
        if (status && err)
            *err = failure;
    }
    free_objects(&foos);
    free_objects(&deployments);
    return status;
}

/* ---- whether it is right ---- */

bool demo_world_is_right(demo_world *world, size_t *ret_foos, char *ret_wrong, size_t size) {
    objects foos = read_objects(world, &demo_foos);
    objects deployments = read_objects(world, KI_DEPLOYMENTS);
    ret_wrong[0] = '\0';
    if (foos.is_incomplete || deployments.is_incomplete)
        snprintf(ret_wrong, size, "the server's objects cannot be read");
    for (size_t i = 0; i < foos.count && !ret_wrong[0]; i++) {
        const char *name = ki_object_name(foos.items[i]);
        const struct demo_view *foo = ki_object_view(foos.items[i]);
        const ki_object *deployment = find_by_name(&deployments, foo->deployment_name ? foo->deployment_name : "");
        const struct demo_view *made = deployment ? ki_object_view(deployment) : NULL;
        if (!made)
            snprintf(ret_wrong, size, "Foo %s has no Deployment", name);
        else if (find_owner(&foos, deployment) != foos.items[i])
            snprintf(ret_wrong, size, "the Deployment of Foo %s has another owner", name);
        else if (made->replicas != foo->replicas)
            snprintf(ret_wrong, size, "Foo %s specifies %lld replicas, its Deployment %lld", name,
                     (long long)foo->replicas, (long long)made->replicas);
        else if (made->available != made->replicas || foo->available != made->available)
            snprintf(ret_wrong, size, "Foo %s has %lld available replicas, its status %lld", name,
                     (long long)made->available, (long long)foo->available);
    }
    if (!ret_wrong[0] && deployments.count != foos.count)
        snprintf(ret_wrong, size, "%zu Foos have %zu Deployments", foos.count, deployments.count);
    *ret_foos = foos.count;
    free_objects(&foos);
    free_objects(&deployments);
    return !ret_wrong[0];
}

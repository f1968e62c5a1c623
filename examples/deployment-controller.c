/* deployment-controller.c: the skeleton of a controller with three informers: Deployments, their ReplicaSets, and their
 * pods. C99.
 *
 * A change of any of them queues the key of its Deployment. A ReplicaSet names its Deployment. A pod names its
 * ReplicaSet, and the cache of ReplicaSets has the Deployment. The reconcile function prints the state; a real one
 * writes the difference. */
#include <kinformer-controllers/controller.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

struct deployment {
    int64_t replicas;
};
static const ki_field deployment_fields[] = { KI_FIELD(struct deployment, replicas, "spec.replicas"), KI_FIELD_END };

struct pod {
    const char *phase;
};
static const ki_field pod_fields[] = { KI_FIELD(struct pod, phase, "status.phase"), KI_FIELD_END };

struct informers {
    ki_informer *deployments;
    ki_informer *replicasets;
    ki_informer *pods;
};

/* ---- owners ---- */

/* Adds the Deployment of a pod's ReplicaSet. Called for each event of a pod. For a pod that was deleted during an
 * interrupted watch, the event has its last known state. A deleted ReplicaSet has queued its Deployment itself. */
static void map_pod(const ki_object *pod, ki_reconcile_keys *keys, void *user) {
    const struct informers *informers = user;
    char key[KI_OBJECT_KEY_MAX];
    if (!ki_object_controller_key(pod, KI_REPLICASETS, key, sizeof key))
        return;
    ki_object *replicaset = ki_informer_get(informers->replicasets, key);
    if (replicaset && ki_object_is_controlled_by(pod, replicaset) &&
        ki_object_controller_key(replicaset, KI_DEPLOYMENTS, key, sizeof key)) {
        (void)ki_reconcile_keys_add(keys, key); /* the controller keeps a failure */
    }
    ki_object_unref(replicaset);
}

/* Index functions: they find the objects of a Deployment without a walk over all objects. */
static ki_status index_by_deployment(const ki_object *replicaset, ki_index_values *values, void *user) {
    char key[KI_OBJECT_KEY_MAX];
    (void)user;
    return ki_object_controller_key(replicaset, KI_DEPLOYMENTS, key, sizeof key) ? ki_index_values_add(values, key)
                                                                                 : KI_OK;
}

static ki_status index_by_replicaset(const ki_object *pod, ki_index_values *values, void *user) {
    char key[KI_OBJECT_KEY_MAX];
    (void)user;
    return ki_object_controller_key(pod, KI_REPLICASETS, key, sizeof key) ? ki_index_values_add(values, key) : KI_OK;
}

/* ---- reconciling ---- */

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    const struct informers *informers = user;
    size_t sets = 0, pods = 0, running = 0;
    (void)call;
    (void)err;
    ki_object *obj = ki_informer_get(informers->deployments, key);
    if (!obj) {
        printf("%s: deleted\n", key);
        return KI_OK;
    }
    const struct deployment *deployment = ki_object_view(obj);
    ki_snapshot *all_sets = ki_informer_snapshot(informers->replicasets);
    ki_snapshot *all_pods = ki_informer_snapshot(informers->pods);
    ki_cursor at = KI_CURSOR_INIT;
    for (const ki_object *set; (set = ki_snapshot_next_by_index(all_sets, "deployment", key, &at)); sets++) {
        ki_cursor inner = KI_CURSOR_INIT;
        const char *set_key = ki_object_key(set);
        for (const ki_object *pod; (pod = ki_snapshot_next_by_index(all_pods, "replicaset", set_key, &inner)); pods++) {
            const char *phase = ((const struct pod *)ki_object_view(pod))->phase;
            running += phase && strcmp(phase, "Running") == 0;
        }
    }
    printf("%s: %lld wanted, %zu running of %zu pods in %zu ReplicaSets\n", key, (long long)deployment->replicas,
           running, pods, sets);
    ki_snapshot_free(all_pods);
    ki_snapshot_free(all_sets);
    ki_object_unref(obj);
    return KI_OK;
}

/* ---- the program ---- */

int main(void) {
    static const ki_indexer by_deployment = { .name = "deployment", .index = index_by_deployment };
    static const ki_indexer by_replicaset = { .name = "replicaset", .index = index_by_replicaset };
    const ki_log log = { .write = ki_log_stderr };
    struct informers i = { NULL, NULL, NULL };
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_controller *controller = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = pod_fields), &i.pods, &err) ||
        ki_informer_add_indexers(i.pods, &by_replicaset, 1, &err) ||
        ki_controller_new(
            factory, &KI_CONTROLLER_OPTIONS(.name = "deployment", .reconcile = reconcile, .user = &i, .workers = 2),
            &controller, &err) ||
        ki_controller_for(controller, KI_DEPLOYMENTS,
                          &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.view = deployment_fields)),
                          &i.deployments, &err) ||
        ki_controller_owns(controller, KI_REPLICASETS, NULL, &i.replicasets, &err) ||
        ki_informer_add_indexers(i.replicasets, &by_deployment, 1, &err) ||
        ki_controller_watch(controller, i.pods, &KI_CONTROLLER_WATCH(.map = map_pod, .user = &i), &err) ||
        ki_factory_run(factory, &err)) /* until SIGTERM or SIGINT */
        fprintf(stderr, "deployment-controller: %s\n", ki_error_message(&err));
    ki_controller_free(controller);
    ki_factory_free(factory);
    return err.code ? 1 : 0;
}

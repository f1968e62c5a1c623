/* sample-controller.c: keeps a Deployment for each Foo: a port of Kubernetes' own sample controller
 * (k8s.io/sample-controller). C99.
 *
 * A Foo has the name and the number of replicas of a Deployment. The controller creates the Deployment, resets its
 * replicas when they change, and writes the number of available replicas into the Foo's status. README.md in this
 * folder has a walk-through. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/events.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer-status/server.h>
#include <kinformer/kinformer.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char component[] = "sample-controller"; /* the field manager, and the source of events */

static const ki_resource foo_resource = { "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", true };

/* The fields of a Foo that the controller reads. */
struct foo {
    const char *deployment_name;
    int64_t replicas; /* 0: not set; the definition in crd.yaml allows 1 to 10 */
};

static const ki_field foo_fields[] = {
    KI_FIELD(struct foo, deployment_name, "spec.deploymentName"),
    KI_FIELD(struct foo, replicas, "spec.replicas"),
    KI_FIELD_END,
};

struct sample {
    ki_factory *factory;
    ki_informer *foos;
    ki_informer *deployments;
    ki_event_recorder *recorder;
};

/* ---- writing ---- */

static const char deployment_template[] = "apiVersion: apps/v1\n"
                                          "kind: Deployment\n"
                                          "metadata: {}\n"
                                          "spec:\n"
                                          "  selector: { matchLabels: { app: nginx } }\n"
                                          "  template:\n"
                                          "    metadata: { labels: { app: nginx } }\n"
                                          "    spec: { containers: [{ name: nginx, image: 'nginx:latest' }] }\n";

/* Returns the Deployment of a Foo. Its controller reference is the Foo: the Deployment's events queue the Foo's key,
 * and the garbage collector deletes the Deployment after the Foo. */
static ki_unstructured *new_deployment(const ki_object *foo) {
    const struct foo *wanted = ki_object_view(foo);
    ki_unstructured *deployment = ki_unstructured_new(deployment_template);
    ki_unstructured_set_string(deployment, "metadata.name", wanted->deployment_name);
    ki_unstructured_set_string(deployment, "metadata.namespace", ki_object_namespace(foo));
    ki_unstructured_set_controller(deployment, foo);
    ki_unstructured_set_string(deployment, "spec.selector.matchLabels.controller", ki_object_name(foo));
    ki_unstructured_set_string(deployment, "spec.template.metadata.labels.controller", ki_object_name(foo));
    if (wanted->replicas)
        ki_unstructured_set_int(deployment, "spec.replicas", wanted->replicas);
    return deployment;
}

static ki_status create_deployment(struct sample *s, const ki_object *foo, ki_object **ret_deployment, ki_error *err) {
    return ki_client_create(ki_factory_client(s->factory), KI_DEPLOYMENTS, new_deployment(foo),
                            &KI_REQUEST_OPTIONS(.field_manager = component), ret_deployment, err);
}

/* Updates the Deployment, and replaces `*deployment` by the server's response. */
static ki_status update_deployment(struct sample *s, const ki_object *foo, ki_object **deployment, ki_error *err) {
    ki_object *updated = NULL;
    ki_status status = ki_client_update(ki_factory_client(s->factory), KI_DEPLOYMENTS, new_deployment(foo),
                                        &KI_REQUEST_OPTIONS(.field_manager = component), &updated, err);
    if (!status) {
        ki_object_unref(*deployment);
        *deployment = updated;
    }
    return status;
}

/* Objects of the cache are shared and immutable: the status goes into a copy. The copy has the Foo's resource version,
 * so the server returns a conflict if the Foo has changed since; the controller then retries the key. */
static ki_status update_foo_status(struct sample *s, const ki_object *foo, int64_t available, ki_error *err) {
    ki_unstructured *copy = ki_unstructured_from_object(foo);
    ki_unstructured_set_int(copy, "status.availableReplicas", available);
    return ki_client_update_status(ki_factory_client(s->factory), &foo_resource, copy,
                                   &KI_REQUEST_OPTIONS(.field_manager = component), NULL, err);
}

/* ---- reconciling ---- */

/* Returns an error for a Deployment that the Foo does not control. The controller retries the key with growing
 * waits. */
static ki_status report_conflict(struct sample *s, const ki_object *foo, const ki_object *deployment, ki_error *err) {
    ki_event_recorder_record(s->recorder, foo, KI_EVENT_WARNING, "ErrResourceExists",
                             "Resource \"%s\" already exists and is not managed by Foo", ki_object_name(deployment));
    return ki_error_set(err, KI_ERR_EXISTS, "Resource \"%s\" already exists and is not managed by Foo",
                        ki_object_name(deployment));
}

static ki_status sync_foo(struct sample *s, const ki_object *foo, ki_error *err) {
    const struct foo *wanted = ki_object_view(foo);
    ki_object *deployment = NULL;

    ki_status status =
        ki_lister_get(s->deployments, ki_object_namespace(foo), wanted->deployment_name, &deployment, err);
    if (status == KI_ERR_NOT_FOUND)
        status = create_deployment(s, foo, &deployment, err);
    if (!status && !ki_object_is_controlled_by(deployment, foo))
        status = report_conflict(s, foo, deployment, err);
    if (!status && wanted->replicas && wanted->replicas != ki_object_int(deployment, "spec.replicas", 0))
        status = update_deployment(s, foo, &deployment, err);
    if (!status)
        status = update_foo_status(s, foo, ki_object_int(deployment, "status.availableReplicas", 0), err);
    if (!status)
        ki_event_recorder_record(s->recorder, foo, KI_EVENT_NORMAL, "Synced", "Foo synced successfully");
    ki_object_unref(deployment);
    return status;
}

/* Called for each key whose Foo or Deployment has changed. The controller logs a returned error and retries the key. */
static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    struct sample *s = user;
    ki_object *foo = ki_informer_get(s->foos, key);
    const struct foo *wanted = foo ? ki_object_view(foo) : NULL;
    ki_status status = KI_OK;
    (void)call;
    if (!foo) {
        fprintf(stderr, "%s: Foo %s no longer exists\n", component, key);
    } else if (!wanted->deployment_name || !*wanted->deployment_name) {
        fprintf(stderr, "%s: Foo %s has no spec.deploymentName\n", component, key);
    } else {
        status = sync_foo(s, foo, err);
        if (!status)
            fprintf(stderr, "%s: Foo %s synced\n", component, key);
    }
    ki_object_unref(foo);
    return status;
}

/* Returns true for an event of a Deployment that a Foo controls, unless it is a resync. As in the Go program, a
 * Deployment that no longer has a Foo is skipped; the Foo's next resync handles it. */
static bool is_of_foo(const ki_event *event, void *user) {
    char key[KI_OBJECT_KEY_MAX];
    return ki_predicate_resource_version_changed(event, user) &&
           ki_object_controller_key(event->obj, &foo_resource, key, sizeof key);
}

/* ---- the program ---- */

struct flags {
    bool leader_elect;
    const char *lease_namespace;
    const char *identity;
    const char *status_address; /* NULL: no status server */
    int workers;
};

static void print_usage(FILE *out) {
    fprintf(out,
            "usage: %s [--workers N] [--leader-elect [--lease-namespace NAMESPACE] [--identity ID]]\n"
            "                         [--status ADDRESS:PORT]\n",
            component);
}

/* Returns false if the command line is wrong. */
static bool read_flags(int argc, char **argv, struct flags *flags) {
    static const struct option options[] = {
        { "leader-elect", no_argument, NULL, 'l' },   { "lease-namespace", required_argument, NULL, 'n' },
        { "identity", required_argument, NULL, 'i' }, { "workers", required_argument, NULL, 'w' },
        { "status", required_argument, NULL, 's' },   { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'l')
            flags->leader_elect = true;
        else if (option == 'n')
            flags->lease_namespace = optarg;
        else if (option == 'i')
            flags->identity = optarg;
        else if (option == 'w')
            flags->workers = atoi(optarg);
        else if (option == 's')
            flags->status_address = optarg;
        else
            return false;
    }
    return optind == argc && flags->workers > 0;
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector;
    (void)user;
    if (*identity)
        fprintf(stderr, "%s: %s leads\n", component, identity);
}

int main(int argc, char **argv) {
    static const ki_rate_limit limits[] = { KI_RATE_LIMIT_EXPONENTIAL(5, 1000000), KI_RATE_LIMIT_BUCKET(50, 300) };
    const ki_log log = { .write = ki_log_stderr };
    struct flags flags = { .lease_namespace = "default", .workers = 2 };
    struct sample s = { NULL, NULL, NULL, NULL };
    ki_error err = KI_ERROR_INIT;
    ki_elector *elector = NULL;
    ki_controller *controller = NULL;
    ki_status_server *status_server = NULL;

    if (!read_flags(argc, argv, &flags)) {
        print_usage(stderr);
        return 2;
    }
    if (ki_factory_new_default(
            &KI_FACTORY_OPTIONS(.log = &log, .resync_ms = 30000, .requests_per_second = 50, .request_burst = 300),
            &s.factory, &err) ||
        ki_factory_informer(s.factory, KI_DEPLOYMENTS, NULL, &s.deployments, &err) ||
        ki_event_recorder_new(s.factory, &KI_EVENT_RECORDER_OPTIONS(.component = component), &s.recorder, &err) ||
        (flags.leader_elect &&
         ki_elector_new(s.factory,
                        &KI_ELECTOR_OPTIONS(.namespace_name = flags.lease_namespace, .name = component,
                                            .identity = flags.identity, .release_on_stop = true,
                                            .callbacks = { .on_new_leader = on_new_leader }),
                        &elector, &err)) ||
        ki_controller_new(s.factory,
                          &KI_CONTROLLER_OPTIONS(.name = "foo", .reconcile = reconcile, .user = &s,
                                                 .workers = flags.workers, .rate_limits = limits, .rate_limit_count = 2,
                                                 .elector = elector),
                          &controller, &err) ||
        ki_controller_for(controller, &foo_resource,
                          &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.view = foo_fields)), &s.foos,
                          &err) ||
        ki_controller_watch(controller, s.deployments,
                            &KI_CONTROLLER_WATCH(.owner = &foo_resource, .predicate = is_of_foo), &err) ||
        (flags.status_address &&
         ki_status_server_new(s.factory, &KI_STATUS_SERVER_OPTIONS(.address = flags.status_address, .title = component),
                              &status_server, &err)) ||
        ki_factory_run(s.factory, &err)) /* until SIGTERM or SIGINT */
        fprintf(stderr, "%s: %s\n", component, ki_error_message(&err));
    ki_status_server_free(status_server);
    ki_controller_free(controller);
    ki_elector_free(elector);
    ki_event_recorder_free(s.recorder);
    ki_factory_free(s.factory);
    return err.code ? 1 : 0;
}

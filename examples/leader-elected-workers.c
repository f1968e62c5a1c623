/* leader-elected-workers.c: jobs that only the leader's workers run, each with the leader's fencing token. C99.
 * usage: leader-elected-workers [IDENTITY]
 *
 * Jobs are the ConfigMaps of the namespace with the label job=todo. Start the program twice: one process leads and
 * marks the jobs as done. End it, and the other one leads. A process that was suspended while it led can resume and
 * write although another process leads now. Two checks prevent that: the API server compares the resource version, and
 * the library compares the token of that version and never overwrites a higher one. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer/kinformer.h>

#include <stdio.h>

static const char token_annotation[] = "example.com/fencing-token";

struct program {
    ki_factory *factory;
    ki_informer *jobs;
    ki_elector *elector;
};

/* Marks the job as done, unless it has changed since it was read, or a later leader has written it. */
static ki_status finish_job(struct program *p, const ki_object *job, ki_error *err) {
    char leader[KI_IDENTITY_MAX + 1];
    long long token = (long long)ki_elector_fencing_token(p->elector);
    ki_elector_leader(p->elector, leader, sizeof leader);
    ki_unstructured *copy = ki_unstructured_from_object(job); /* has the resource version */
    ki_unstructured_set_string(copy, "metadata.labels.job", "done");
    ki_unstructured_set_string(copy, "data.by", leader);
    ki_unstructured_set_fencing_token(copy, token_annotation, token);
    ki_status status = ki_client_update(ki_factory_client(p->factory), KI_CONFIGMAPS, copy, NULL, NULL, err);
    if (!status)
        printf("%s: done by %s with token %lld\n", ki_object_key(job), leader, token);
    return status;
}

/* Runs only while this process leads, because the controller has the elector. */
static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    struct program *p = user;
    ki_object *job = ki_informer_get(p->jobs, key);
    ki_status status = job ? finish_job(p, job, err) : KI_OK; /* otherwise it is done and has another label */
    if (status == KI_ERR_CANCELLED) { /* the next leader gets the job, or a later one was here */
        printf("%s: %s\n", key, ki_error_message(err));
        ki_reconcile_set_terminal(call);
    }
    ki_object_unref(job);
    return status;
}

static void on_started(ki_elector *elector, void *user) {
    (void)user;
    printf("this process leads, with token %lld\n", (long long)ki_elector_fencing_token(elector));
}

static void on_stopped(ki_elector *elector, void *user) {
    (void)elector;
    (void)user;
    printf("this process does not lead\n");
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector;
    (void)user;
    printf("the leader is %s\n", *identity ? identity : "nobody");
}

int main(int argc, char **argv) {
    const ki_log log = { .write = ki_log_stderr };
    const ki_elector_callbacks callbacks = { on_started, on_stopped, on_new_leader };
    struct program p = { NULL, NULL, NULL };
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_controller *controller = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (ki_config_new_default(NULL, &config, &err) || /* in-cluster, else kubeconfig */
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.log = &log, .namespace_name = ki_config_namespace(config)),
                       &p.factory, &err) ||
        ki_elector_new(p.factory,
                       &KI_ELECTOR_OPTIONS(.namespace_name = ki_config_namespace(config), .name = "jobs",
                                           .identity = argc > 1 ? argv[1] : NULL, .release_on_stop = true,
                                           .callbacks = callbacks),
                       &p.elector, &err) ||
        ki_controller_new(p.factory,
                          &KI_CONTROLLER_OPTIONS(.name = "jobs", .reconcile = reconcile, .user = &p, .workers = 2,
                                                 .elector = p.elector),
                          &controller, &err) ||
        ki_controller_for(controller, KI_CONFIGMAPS,
                          &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.label_selector = "job=todo")),
                          &p.jobs, &err) ||
        ki_factory_run(p.factory, &err)) /* until SIGTERM or SIGINT */
        fprintf(stderr, "leader-elected-workers: %s\n", ki_error_message(&err));
    ki_controller_free(controller);
    ki_elector_free(p.elector);
    ki_factory_free(p.factory);
    ki_config_free(config);
    return err.code ? 1 : 0;
}

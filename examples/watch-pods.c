/* watch-pods.c: prints each change of a pod: a minimal program. C99. Uses the cluster that it runs in, else the
 * kubeconfig's. Ends with SIGINT or SIGTERM. */
#include <kinformer/kinformer.h>

#include <stdio.h>

struct pod { /* the fields that the program reads */
    const char *node;
    const char *phase;
    int64_t generation;
};

static const ki_field pod_fields[] = {
    KI_FIELD(struct pod, node, "spec.nodeName"),
    KI_FIELD(struct pod, phase, "status.phase"),
    KI_FIELD(struct pod, generation, "metadata.generation"),
    KI_FIELD_END,
};

static void on_add(const ki_event *e, void *user) {
    const struct pod *p = ki_object_view(e->obj);
    (void)user;
    printf("+ %s on %s\n", ki_object_key(e->obj), p->node ? p->node : "(no node)");
}

static void on_update(const ki_event *e, void *user) {
    const struct pod *was = ki_object_view(e->old), *is = ki_object_view(e->obj);
    (void)user;
    printf("~ %s %s -> %s\n", ki_object_key(e->obj), was->phase ? was->phase : "?", is->phase ? is->phase : "?");
}

static void on_delete(const ki_event *e, void *user) {
    (void)user;
    printf("- %s\n", ki_object_key(e->obj));
}

int main(void) {
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    ki_handler handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log), &factory, &err) || /* in-cluster, else kubeconfig */
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = pod_fields), &pods, &err) ||
        ki_informer_add_handler(pods, &handler, NULL, NULL, NULL, &err) ||
        ki_factory_run(factory, &err)) /* until ki_factory_stop, or a signal */
        fprintf(stderr, "watch-pods: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    return err.code ? 1 : 0;
}

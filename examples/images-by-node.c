/* images-by-node.c: prints which images run on which node. C99. `kinformer gen` made the header of the view from the
 * schema of pods; its first lines say how. */
#include "images-by-node.h"

#include <kinformer/kinformer.h>

#include <stdio.h>

static void on_add(const ki_event *e, void *user) {
    const struct pod *pod = pod_view(e->obj);
    const struct pod_spec_container *containers = pod->spec.containers.items;
    (void)user;
    for (size_t i = 0; i < pod->spec.containers.count; i++)
        printf("%s %s %s %lldm\n", pod->spec.node_name ? pod->spec.node_name : "-", ki_object_key(e->obj),
               containers[i].image, (long long)containers[i].resources.requests.cpu_milli);
}

int main(void) {
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    ki_handler handler = { .on_add = on_add };

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = pod_fields), &pods, &err) ||
        ki_informer_add_handler(pods, &handler, NULL, NULL, NULL, &err) || ki_factory_run(factory, &err))
        fprintf(stderr, "images-by-node: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    return err.code ? 1 : 0;
}

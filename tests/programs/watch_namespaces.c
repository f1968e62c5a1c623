/* watch_namespaces.c: an informer of the ConfigMaps of a set of namespaces, until SIGTERM. Prints a line for each event
 * and one at on_synced, with the namespaces whose list is in the cache then:
 *
 *     MODIFIED default/a@6, listed: default
 *     SYNCED, listed: default hidden */
#include <kinformer/kinformer.h>

#include <stdio.h>

typedef struct program {
    const char *const *namespaces;
    size_t count;
} program;

static void end_line(const ki_informer *informer, const program *self) {
    printf(", listed:");
    for (size_t i = 0; i < self->count; i++)
        if (ki_informer_namespace_health(informer, self->namespaces[i], NULL))
            printf(" %s", self->namespaces[i]);
    puts("");
    fflush(stdout);
}

static void on_event(const ki_event *event, void *user) {
    static const char *const names[] = {
        [KI_EVENT_ADD] = "ADDED", [KI_EVENT_UPDATE] = "MODIFIED", [KI_EVENT_DELETE] = "DELETED"
    };
    printf("%s %s@%s", names[event->type], ki_object_key(event->obj), ki_object_resource_version(event->obj));
    end_line(event->informer, user);
}

static void on_synced(ki_informer *informer, void *user) {
    printf("SYNCED");
    end_line(informer, user);
}

static const ki_handler handler = {
    .on_add = on_event, .on_update = on_event, .on_delete = on_event, .on_synced = on_synced
};

static ki_status run(ki_factory *factory, program *self, ki_error *err) {
    ki_informer *informer = NULL;
    ki_status status =
        ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_set = "given"), &informer, err);
    if (!status)
        status = ki_informer_set_namespaces(informer, self->namespaces, self->count, err);
    if (!status)
        status = ki_informer_add_handler(informer, &handler, self, NULL, NULL, err);
    return status ? status : ki_factory_run(factory, err);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: watch_namespaces SERVER NAMESPACE...\n");
        return 2;
    }
    program self = { .namespaces = (const char *const *)argv + 2, .count = (size_t)argc - 2 };
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.server = argv[1]), &config, &err);
    if (!status)
        status = ki_factory_new(config, NULL, &factory, &err);
    if (!status)
        status = run(factory, &self, &err);
    if (status)
        fprintf(stderr, "watch_namespaces: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    ki_config_free(config);
    return status ? 1 : 0;
}

/* dump_caches.c: an informer of each resource that the arguments name, in the cluster of KUBECONFIG. With --metadata
 * they keep metadata alone, with --managed-fields managedFields, too. Once all have synced it prints for each a line
 * "resource NAME" and the JSON of its objects, one a line. The last line is "memory BYTES OBJECTS": by how much the
 * process's private memory has grown since before the start, and the bytes of all the JSON. */
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

enum {
    MAX_RESOURCES = 200,
    TIMEOUT_MS = 60000
};

/* Returns the memory that this process alone has and has written; 0 if unknown. */
static long private_bytes(void) {
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "Private_Dirty: %ld kB", &kilobytes) != 1) {}
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

static ki_status print_objects(const ki_informer *informer, long *bytes, ki_error *err) {
    ki_snapshot *now = ki_informer_snapshot(informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    ki_status status = KI_OK;
    const ki_object *obj;
    while (!status && (obj = ki_snapshot_next(now, &cursor))) {
        ki_value json = KI_VALUE_INIT;
        status = ki_object_json(obj, &json, err);
        if (!status)
            puts(json.text);
        *bytes += (long)json.text_size;
        ki_value_clear(&json);
    }
    ki_snapshot_free(now);
    return status;
}

static ki_status run(ki_factory *factory, const ki_informer_options *options, int count, char **names, ki_error *err) {
    ki_informer *informers[MAX_RESOURCES];
    ki_status status = KI_OK;
    long before = private_bytes(), bytes = 0;
    for (int i = 0; !status && i < count; i++)
        status = ki_factory_informer_by_name(factory, names[i], options, &informers[i], err);
    if (!status)
        status = ki_factory_start(factory, err);
    if (!status)
        status = ki_factory_wait_for_sync(factory, TIMEOUT_MS, NULL, err);
    long grown = private_bytes() - before;
    for (int i = 0; !status && i < count; i++) {
        printf("resource %s\n", names[i]);
        status = print_objects(informers[i], &bytes, err);
    }
    if (!status)
        printf("memory %ld %ld\n", grown, bytes);
    return status;
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_informer_options options = KI_INFORMER_OPTIONS(.keep = KI_KEEP_OBJECT);
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "--metadata") == 0)
        options.keep = KI_KEEP_METADATA;
    options.keep_managed_fields = argc > 1 && strcmp(argv[1], "--managed-fields") == 0;
    if (options.keep == KI_KEEP_METADATA || options.keep_managed_fields)
        first = 2;
    if (argc <= first || argc - first > MAX_RESOURCES) {
        fprintf(stderr, "usage: dump_caches [--metadata | --managed-fields] RESOURCE...\n");
        return 2;
    }
    ki_status status = ki_factory_new_default(NULL, &factory, &err);
    if (!status)
        status = run(factory, &options, argc - first, argv + first, &err);
    if (status)
        fprintf(stderr, "dump_caches: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    return status ? 1 : 0;
}

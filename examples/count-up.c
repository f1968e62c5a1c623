/* count-up.c: requests without an informer: creates a ConfigMap, increments a number in it without losing other
 * programs' changes, and deletes it. C99. Starts no loop and no thread: the calls block. */
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <stdlib.h>

/* Reads the number, adds 1, writes it. Repeats after a conflict with another writer. */
static ki_status count_up(ki_client *client, const char *namespace_name, int *ret_count, ki_error *err) {
    ki_status status;
    do {
        ki_object *map = NULL;
        char text[16];
        status = ki_client_get(client, KI_CONFIGMAPS, namespace_name, "counter", NULL, &map, err);
        if (!status) {
            ki_unstructured *next = ki_unstructured_from_object(map); /* with its resource version */
            *ret_count = atoi(ki_object_string(map, "data.n", "0", text, sizeof text)) + 1;
            snprintf(text, sizeof text, "%d", *ret_count);
            ki_unstructured_set_string(next, "data.n", text);
            status = ki_client_update(client, KI_CONFIGMAPS, next, NULL, NULL, err);
        }
        ki_object_unref(map);
    } while (status && ki_error_is_conflict(err));
    return status;
}

int main(void) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_client *client = NULL;
    int count = 0;

    ki_status status = ki_config_new_default(NULL, &config, &err); /* in-cluster, else kubeconfig */
    if (!status)
        status = ki_client_new(config, NULL, &client, &err);
    const char *namespace_name = status ? NULL : ki_config_namespace(config);
    if (!status) {
        ki_unstructured *counter = ki_unstructured_for(KI_CONFIGMAPS, namespace_name, "counter");
        ki_unstructured_set_string(counter, "data.n", "0");
        status = ki_client_create(client, KI_CONFIGMAPS, counter, NULL, NULL, &err);
        if (ki_error_is_already_exists(&err))
            status = KI_OK; /* left by an earlier run: continue with it */
    }
    for (int i = 0; i < 3 && !status; i++) {
        status = count_up(client, namespace_name, &count, &err);
        if (!status)
            printf("%d\n", count);
    }
    if (!status)
        status = ki_client_delete(client, KI_CONFIGMAPS, namespace_name, "counter", NULL, NULL, &err);
    if (status)
        fprintf(stderr, "count-up: %s\n", ki_error_message(&err));
    ki_client_free(client);
    ki_config_free(config);
    return status ? 1 : 0;
}

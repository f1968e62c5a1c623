/* write_objects.c: what the library makes of conditions, of creating or updating, and of claims. Works on the cluster
 * of KUBECONFIG. Each question is a record of standard input that ends with \x1e, with fields between \x1f; each answer
 * on standard output ends with \x1e:
 *     condition OBJECT TYPE STATUS REASON MESSAGE WALL_NS    changed JSON, same JSON, or error MESSAGE
 *     write NAMESPACE NAME [PATH JSON]...                    created, updated or unchanged, for a ConfigMap whose
 *                                                            fields are set, or removed if JSON is "-"; or error
 *                                                            MESSAGE
 *     claim NAMESPACE REPLICASET SELECTOR                    names of the claimed pods with a space before each, or
 *                                                            error MESSAGE */
#include <kinformer-controllers/controller.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELDS_MAX = 32,
    PATIENCE_MS = 60000
};

static ki_factory *factory;
static ki_informer *maps, *pods, *replicasets;

static void answer_error(const ki_error *err) {
    printf("error %s\x1e", ki_error_message(err));
}

static void answer_condition(char **fields) {
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *object = ki_unstructured_new(fields[0]);
    bool is_changed =
        ki_unstructured_set_condition(object, fields[1], fields[2], fields[3], fields[4], strtoll(fields[5], NULL, 10));
    const char *json = ki_unstructured_json(object, &err);
    if (json)
        printf("%s %s\x1e", is_changed ? "changed" : "same", json);
    else
        answer_error(&err);
    ki_unstructured_free(object);
}

static ki_status set_fields(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    (void)current;
    (void)err;
    for (char **fields = user; fields[0] && fields[1]; fields += 2) {
        if (strcmp(fields[1], "-") == 0)
            ki_unstructured_remove(object, fields[0]);
        else
            ki_unstructured_set_json(object, fields[0], fields[1]);
    }
    return KI_OK;
}

static void answer_write(char **fields) {
    static const char *const results[] = { "", "created", "updated", "unchanged" };
    ki_error err = KI_ERROR_INIT;
    ki_write_result result;
    ki_object *obj = NULL;
    if (ki_client_create_or_update(ki_factory_client(factory), maps,
                                   ki_unstructured_for(KI_CONFIGMAPS, fields[0], fields[1]), set_fields, fields + 2,
                                   &KI_REQUEST_OPTIONS(.ret_result = &result), &obj, &err) ||
        ki_informer_wait_for_version(maps, ki_object_key(obj), ki_object_resource_version(obj), PATIENCE_MS, &err))
        answer_error(&err);
    else
        printf("%s\x1e", results[result]);
    ki_object_unref(obj);
}

static void answer_claim(char **fields) {
    ki_error err = KI_ERROR_INIT;
    ki_object *owner = NULL;
    ki_object_list list = { NULL, 0, NULL };
    if (ki_lister_get(replicasets, fields[0], fields[1], &owner, &err) ||
        ki_client_claim(ki_factory_client(factory), KI_REPLICASETS, owner, pods, fields[2], NULL, &list, &err)) {
        answer_error(&err);
    } else {
        for (size_t i = 0; i < list.count; i++)
            printf(" %s", ki_object_name(list.objects[i]));
        fputs("\x1e", stdout);
    }
    ki_object_list_free(&list);
    ki_object_unref(owner);
}

/* Splits a record at \x1f. Returns the number of fields. */
static int split(char *record, char **ret_fields) {
    int count = 0;
    for (char *at = record; at && count < FIELDS_MAX; count++) {
        ret_fields[count] = at;
        at = strchr(at, '\x1f');
        if (at)
            *at++ = '\0';
    }
    return count;
}

static bool answer(char *record) {
    char *fields[FIELDS_MAX + 1] = { NULL };
    int count = split(record, fields);
    if (count == 7 && strcmp(fields[0], "condition") == 0)
        answer_condition(fields + 1);
    else if (count >= 3 && strcmp(fields[0], "write") == 0)
        answer_write(fields + 1);
    else if (count == 4 && strcmp(fields[0], "claim") == 0)
        answer_claim(fields + 1);
    else
        return false;
    return fflush(stdout) == 0;
}

int main(void) {
    char *record = NULL;
    size_t size = 0;
    ssize_t length;
    ki_error err = KI_ERROR_INIT;
    bool good = !ki_factory_new_default(NULL, &factory, &err) &&
                !ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &maps, &err) &&
                !ki_factory_informer(factory, KI_PODS, NULL, &pods, &err) &&
                !ki_factory_informer(factory, KI_REPLICASETS, NULL, &replicasets, &err) &&
                !ki_factory_start(factory, &err) && !ki_factory_wait_for_sync(factory, PATIENCE_MS, NULL, &err);
    while (good && (length = getdelim(&record, &size, '\x1e', stdin)) > 0) {
        record[length - 1] = '\0';
        good = answer(record);
    }
    if (!good)
        fprintf(stderr, "write_objects: %s\n", err.code ? ki_error_message(&err) : "an unknown question");
    free(record);
    ki_factory_free(factory);
    return good ? 0 : 1;
}

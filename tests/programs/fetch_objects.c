/* fetch_objects.c: asks for pods by ki_informer_get_or_fetch, in the cluster of KUBECONFIG: once while the informer is
 * blocked, and once after it has synced. For each key, threads and the loop ask at the same time. Prints
 *
 *     blocked MESSAGE          the informer's health
 *     fetched KEY ANSWER       an object's JSON, "absent", "forbidden", or an error; one line if all got the same
 *     synced
 *     fetched KEY ANSWER       again */
#include <kinformer/kinformer.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASKERS = 20, /* threads; as many ask without a thread */
    ANSWER_MAX = 65536,
    TIMEOUT_MS = 60000
};

typedef struct question {
    ki_informer *pods;
    const char *key;
    pthread_mutex_t mutex;
    char answer[ANSWER_MAX]; /* the first one */
    unsigned others;         /* that differ from it */
    sem_t answered;
} question;

static void note(question *q, const char *answer) {
    pthread_mutex_lock(&q->mutex);
    if (!q->answer[0])
        snprintf(q->answer, sizeof q->answer, "%s", answer);
    else
        q->others += strcmp(q->answer, answer) != 0;
    pthread_mutex_unlock(&q->mutex);
    sem_post(&q->answered);
}

static void answer(ki_informer *pods, const char *key, const ki_object *obj, const ki_error *err, void *user) {
    (void)pods;
    (void)key;
    ki_value json = KI_VALUE_INIT;
    if (obj && ki_object_json(obj, &json, NULL) == KI_OK)
        note(user, json.text);
    else if (err && err->code == KI_ERR_NOT_FOUND)
        note(user, "absent");
    else
        note(user, err && ki_error_is_forbidden(err) ? "forbidden" : err ? ki_error_message(err) : "no memory");
    ki_value_clear(&json);
}

static void *ask(void *user) {
    question *q = user;
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = NULL;
    ki_status status = ki_informer_get_or_fetch(q->pods, q->key, TIMEOUT_MS, &obj, &err);
    answer(q->pods, q->key, obj, status ? &err : NULL, q);
    ki_object_unref(obj);
    return NULL;
}

static int ask_all(ki_informer *pods, const char *key, ki_error *err) {
    question *q = calloc(1, sizeof *q);
    pthread_t threads[ASKERS];
    int failed = !q;
    if (failed)
        return failed;
    q->pods = pods;
    q->key = key;
    pthread_mutex_init(&q->mutex, NULL);
    sem_init(&q->answered, 0, 0);
    for (int i = 0; i < ASKERS; i++) {
        failed |= pthread_create(&threads[i], NULL, ask, q);
        failed |= ki_informer_get_or_fetch_async(pods, key, TIMEOUT_MS, answer, q, err) != KI_OK;
    }
    for (int i = 0; !failed && i < 2 * ASKERS; i++)
        sem_wait(&q->answered);
    for (int i = 0; !failed && i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    printf("fetched %s %s\n", key, q->others ? "more than one answer" : q->answer);
    fflush(stdout);
    if (!failed)
        free(q);
    return failed;
}

static void on_state(ki_informer *pods, const ki_health *health, void *user) {
    (void)pods;
    (void)user;
    if (health->state == KI_STATE_BLOCKED)
        printf("blocked %s\n", health->message);
    fflush(stdout);
}

static ki_status run(ki_factory *factory, int count, char **keys, ki_error *err) {
    ki_informer *pods;
    int failed = 0;
    ki_status status = ki_factory_informer(factory, KI_PODS, NULL, &pods, err);
    if (!status)
        status = ki_informer_set_state_handler(pods, on_state, NULL, err);
    if (!status)
        status = ki_factory_start(factory, err);
    for (int i = 0; !status && !failed && i < count; i++)
        failed = ask_all(pods, keys[i], err);
    if (!status)
        status = ki_factory_wait_for_sync(factory, TIMEOUT_MS, NULL, err);
    if (!status)
        puts("synced");
    for (int i = 0; !status && !failed && i < count; i++)
        failed = ask_all(pods, keys[i], err);
    return failed ? KI_ERR_SYSTEM : status;
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: fetch_objects NAMESPACE/NAME...\n");
        return 2;
    }
    ki_status status = ki_factory_new_default(NULL, &factory, &err);
    if (!status)
        status = run(factory, argc - 1, argv + 1, &err);
    if (status)
        fprintf(stderr, "fetch_objects: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    return status ? 1 : 0;
}

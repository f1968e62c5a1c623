/* by-hand.c: an informer put together by hand from its parts, in the steps of the write-ups on client-go:
 * source -> reflector -> queue -> process loop -> store and handlers. Prints the changes of all pods until SIGINT or
 * SIGTERM, then the pods of each node. With --own the pods come from the program itself, without an API server. */
#include <kinformer/kinformer.h>
#include <kinformer/parts/object_format.h>
#include <kinformer/parts/process_loop.h>
#include <kinformer/parts/reflector.h>
#include <stdio.h>
#include <string.h>

/* ---- Step 1: the source (ListerWatcher). This one is the program's own: a list of two pods, then three events, of
 * which one repeats an older state, as a watch of an API server can ---- */
#define POD(name, version, node) \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"},\"spec\":{\"nodeName\":\"" node "\"}}"
static const char *const texts[] = { POD("web", "1", "n1"), POD("db", "2", "n1"), POD("web", "3", "n2"),
                                     POD("db", "4", "n1") };
static ki_object *pods[4];

static ki_status make_pods(ki_error *err) {
    ki_object_format *format = NULL;
    ki_status status = ki_object_format_new(NULL, NULL, &format, err);
    for (int i = 0; !status && i < 4; i++)
        status = ki_object_format_read(format, texts[i], strlen(texts[i]), &pods[i], err);
    ki_object_format_unref(format);
    return status;
}
static ki_status own_list(ki_list_watch *source, const ki_list_options *options, const ki_list_handler *handler,
                          ki_error *err) {
    (void)source, (void)options, (void)err;
    handler->on_object(pods[0], handler->user);
    handler->on_object(pods[1], handler->user);
    handler->on_end(&(ki_list_result){ .resource_version = "2", .continue_token = "" }, NULL, handler->user);
    return KI_OK;
}
static ki_status own_watch(ki_list_watch *source, const ki_watch_options *options, const ki_watch_handler *handler,
                           ki_error *err) {
    (void)source, (void)options, (void)err;
    handler->on_open(handler->user);
    handler->on_event(KI_EVENT_UPDATE, pods[2], handler->user);
    handler->on_event(KI_EVENT_UPDATE, pods[0], handler->user);
    handler->on_event(KI_EVENT_DELETE, pods[3], handler->user);
    return KI_OK; /* the watch stays open */
}
static void nothing_to_do(ki_list_watch *source) {
    (void)source;
}
static const ki_list_watch_ops own_ops = {
    .list = own_list, .watch = own_watch, .cancel = nothing_to_do, .free = nothing_to_do, .no_streaming_list = true
};

/* Returns true for an event that repeats a state before the known one: time must not go backwards. */
static bool is_repeated(const ki_change *delta, const ki_object *known) {
    return known && !delta->is_listed && !delta->final_state_unknown &&
           ki_resource_version_compare(ki_object_resource_version(delta->obj), ki_object_resource_version(known)) ==
               KI_ORDER_OLDER;
}

/* ---- Step 5: Process, called with changes of keys, or a part of a list ---- */
static ki_status process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    ki_store *store = user;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < deltas->count; i++) {
        const ki_change *delta = &deltas->items[i];
        const char *key = ki_object_key(delta->obj);
        bool is_deleted = delta->type == KI_EVENT_DELETE;
        ki_object *old = ki_store_get(store, key);
        bool is_dropped = is_repeated(delta, old);
        if (!is_dropped)
            status = is_deleted ? ki_store_delete(store, key, NULL, err) : ki_store_put(store, delta->obj, NULL, err);
        if (!status && !is_dropped) /* the place of the handlers: OnAdd, OnUpdate, OnDelete */
            printf("%s %s\n", is_deleted ? "-" : old ? "~" : "+", key);
        ki_object_unref(old);
    }
    fflush(stdout);
    *ret_requeue = status != KI_OK; /* again later, behind the others */
    return status;
}

int main(int argc, char **argv) {
    const ki_indexer by_node = { .name = "node", .path = "spec.nodeName" };
    bool is_own = argc > 1 && strcmp(argv[1], "--own") == 0;
    ki_list_watch own_source = { &own_ops }, *source = &own_source;
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = NULL;
    ki_config *config = NULL;
    ki_client *client = NULL;
    ki_store *store = NULL;
    ki_queue *queue = NULL;
    ki_reflector *reflector = NULL;
    ki_process_loop *loop = NULL;
    if (ki_engine_new(NULL, &engine, &err) ||
        /* 1. the source: the API server's pods, or the program's own */
        (is_own && make_pods(&err)) ||
        (!is_own && (ki_config_new_default(NULL, &config, &err) ||
                     ki_client_new(config, &KI_CLIENT_OPTIONS(.engine = engine), &client, &err) ||
                     ki_list_watch_new(client, KI_PODS, NULL, &source, &err))) ||
        /* 2. the Indexer: a store with an index */
        ki_store_new(&KI_STORE_OPTIONS(.namespaced = true), &store, &err) ||
        ki_store_add_indexers(store, &by_node, 1, &err) ||
        /* 3. the queue, which knows what the store has: so it finds out what a new list no longer has */
        ki_queue_new(&KI_QUEUE_OPTIONS(.known = ki_store_known_objects(store)), &queue, &err) ||
        /* 4. the Reflector, from the source to the queue */
        ki_reflector_new(&KI_REFLECTOR_OPTIONS(.engine = engine, .list_watch = source, .queue = queue, .name = "pods"),
                         &reflector, &err) ||
        /* 5. the process loop, client-go's Controller: from the queue to the store and the handlers */
        ki_process_loop_new(
            &KI_PROCESS_LOOP_OPTIONS(.engine = engine, .queue = queue, .process = process, .user = store), &loop, &err))
        goto end;
    ki_reflector_start(reflector);
    if (ki_engine_run(engine, KI_RUN_UNTIL_SIGNAL, &err))
        goto end;
    ki_snapshot *now = ki_store_snapshot(store);
    ki_cursor nodes = KI_CURSOR_INIT;
    for (const char *node; (node = ki_snapshot_next_index_value(now, "node", &nodes));)
        printf("%s: %zu\n", node, ki_snapshot_count_by_index(now, "node", node));
    ki_snapshot_free(now);
end:
    if (err.code)
        fprintf(stderr, "by-hand: %s\n", ki_error_message(&err));
    ki_process_loop_free(loop);
    ki_reflector_free(reflector);
    ki_queue_free(queue);
    ki_store_free(store);
    ki_list_watch_free(source);
    ki_client_free(client);
    ki_config_free(config);
    for (int i = 0; i < 4; i++)
        ki_object_unref(pods[i]);
    ki_engine_free(engine);
    return err.code ? 1 : 0;
}

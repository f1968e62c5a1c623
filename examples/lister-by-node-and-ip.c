/* lister-by-node-and-ip.c: finds pods by their node and by their IP, from the cache, without a request. C99. The
 * informer runs in the background. Each line of standard input is a node's name or a pod's IP; the program ends with
 * its input. */
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

struct pod {
    const char *node;
    const char *ip;
};

static const ki_field pod_fields[] = {
    KI_FIELD(struct pod, node, "spec.nodeName"),
    KI_FIELD(struct pod, ip, "status.podIP"),
    KI_FIELD_END,
};

/* Prints the pods under one value of an index. Returns their number. */
static size_t print_pods(const ki_snapshot *snapshot, const char *index, const char *value) {
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t count = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor)); count++) {
        const struct pod *p = ki_object_view(obj);
        printf("%s on %s with %s\n", ki_object_key(obj), p->node ? p->node : "no node", p->ip ? p->ip : "no IP");
    }
    return count;
}

/* A snapshot is immutable, and costs no more than a reference. */
static void look_up(ki_informer *pods, const char *line) {
    ki_snapshot *snapshot = ki_informer_snapshot(pods);
    if (print_pods(snapshot, "node", line) + print_pods(snapshot, "ip", line) == 0)
        printf("no pod is on %s or has that IP\n", line);
    ki_snapshot_free(snapshot);
}

int main(void) {
    static const ki_indexer indexers[] = { { .name = "node", .path = "spec.nodeName" },
                                           { .name = "ip", .path = "status.podIPs[*].ip" } };
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    char line[1024];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = pod_fields), &pods, &err) ||
        ki_informer_add_indexers(pods, indexers, sizeof indexers / sizeof indexers[0], &err) ||
        ki_factory_start(factory, &err) ||                      /* on a thread of its own */
        ki_factory_wait_for_sync(factory, 30000, NULL, &err)) { /* until the cache is complete */
        fprintf(stderr, "lister-by-node-and-ip: %s\n", ki_error_message(&err));
    } else {
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\n")] = '\0';
            look_up(pods, line);
        }
    }
    ki_factory_free(factory);
    return err.code ? 1 : 0;
}

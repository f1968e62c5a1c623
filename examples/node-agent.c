/* node-agent.c: which pod does a container belong to? For an agent on each node that reads the containers' logs. C99.
 *
 * The program has its own epoll loop and one thread. NODE_NAME names its node; the server sends only that node's pods.
 * Each line of standard input is a container's ID, such as "containerd://5e1f…"; the answer is the pod, the container
 * and the pod's labels. Log lines arrive after their pod is gone, so deleted pods are found for another minute. SIGTERM
 * and the end of the input end the program. */
#include <kinformer/kinformer.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ---- what the agent needs of a pod ---- */

struct container {
    const char *name;
    const char *id;
    int64_t restarts;
};

struct pod {
    ki_list containers;
    int64_t memory_limit; /* bytes, of the first container that has one; 0: none */
};

static const ki_field container_fields[] = {
    KI_FIELD(struct container, name, "name"),
    KI_FIELD(struct container, id, "containerID"),
    KI_FIELD(struct container, restarts, "restartCount"),
    KI_FIELD_END,
};

static const ki_field pod_fields[] = {
    KI_FIELD_LIST(struct pod, containers, container_fields, "status.containerStatuses"),
    KI_FIELD_QUANTITY(struct pod, memory_limit, "spec.containers[*].resources.limits.memory"),
    KI_FIELD_END,
};

static const ki_indexer by_container = { .name = "container", .path = "status.containerStatuses[*].containerID" };

/* ---- answers ---- */

static void print_pod(const ki_object *obj, const char *id, bool is_deleted) {
    const struct pod *pod = ki_object_view(obj);
    const struct container *containers = pod->containers.items;
    const char *name, *value;
    for (size_t i = 0; i < pod->containers.count; i++) {
        if (!containers[i].id || strcmp(containers[i].id, id) != 0)
            continue;
        printf("%s: %s%s, container %s, %lld restarts, memory limit %lld", id, ki_object_key(obj),
               is_deleted ? " (deleted)" : "", containers[i].name ? containers[i].name : "?",
               (long long)containers[i].restarts, (long long)pod->memory_limit);
    }
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++)
        printf(", %s=%s", name, value);
    putchar('\n');
}

static void answer(const ki_informer *pods, const char *id) {
    ki_object *obj = NULL;
    bool is_deleted = false;
    ki_error err = KI_ERROR_INIT;
    if (!ki_informer_get_by_index_or_deleted(pods, "container", id, &obj, &is_deleted, &err))
        print_pod(obj, id, is_deleted);
    else
        printf("%s: %s\n", id, ki_informer_has_synced(pods) ? ki_error_message(&err) : "not synced yet");
    ki_object_unref(obj);
}

/* ---- the program's own loop ---- */

enum {
    LINE_SIZE = 256
};

typedef struct agent {
    ki_engine *engine;
    ki_informer *pods;
    int signals;
    char line[LINE_SIZE]; /* the beginning of a line of input */
    size_t size;
    bool is_done;
} agent;

static void read_input(agent *a) {
    ssize_t count = read(STDIN_FILENO, a->line + a->size, sizeof a->line - 1 - a->size);
    if (count <= 0) {
        a->is_done = count == 0 || errno != EINTR;
        return;
    }
    a->size += (size_t)count;
    a->line[a->size] = '\0';
    char *begin = a->line, *end;
    while ((end = strchr(begin, '\n')) != NULL) {
        *end = '\0';
        answer(a->pods, begin);
        begin = end + 1;
    }
    a->size -= (size_t)(begin - a->line);
    memmove(a->line, begin, a->size);
    if (a->size == sizeof a->line - 1)
        a->size = 0; /* no ID is as long */
}

static bool add_to_loop(int loop, int fd) {
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Waits until the input has a line, a signal has come, or the engine has work. */
static ki_status run(agent *a, ki_error *err) {
    int loop = epoll_create1(EPOLL_CLOEXEC);
    ki_status status = KI_OK;
    if (loop < 0 || !add_to_loop(loop, a->signals) || !add_to_loop(loop, ki_engine_fd(a->engine)) ||
        !add_to_loop(loop, STDIN_FILENO)) {
        perror("node-agent");
        a->is_done = true;
    }
    while (!a->is_done && !status) {
        struct epoll_event event;
        int count = epoll_wait(loop, &event, 1, -1);
        if (count == 1 && event.data.fd == STDIN_FILENO)
            read_input(a);
        else if (count == 1 && event.data.fd == a->signals)
            a->is_done = true;
        else if (count == 1)
            status = ki_engine_step(a->engine, 0, err);
    }
    close(loop);
    return status;
}

int main(void) {
    const char *node = getenv("NODE_NAME");
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    agent a = { .size = 0 };
    char selector[512];
    sigset_t ends;

    setvbuf(stdout, NULL, _IOLBF, 0);
    snprintf(selector, sizeof selector, "%s%s", node ? "spec.nodeName=" : "", node ? node : "");
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    a.signals = signalfd(-1, &ends, SFD_CLOEXEC);

    const ki_informer_options options =
        KI_INFORMER_OPTIONS(.field_selector = selector, .view = pod_fields, .keep_deleted_ms = 60000);
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.log = &log), &a.engine, &err) ||
        ki_factory_new_default(&KI_FACTORY_OPTIONS(.engine = a.engine), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, &options, &a.pods, &err) ||
        ki_informer_add_indexers(a.pods, &by_container, 1, &err) || ki_factory_start(factory, &err) || run(&a, &err))
        fprintf(stderr, "node-agent: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    ki_engine_free(a.engine);
    return err.code ? 1 : 0;
}

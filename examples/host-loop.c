/* host-loop.c: kinformer inside a program that has its own event loop. Starts no thread: everything, also the handlers,
 * runs inside ki_engine_step, which the host calls after its poll. This host also reads its standard input: for each
 * line "namespace/name" it prints the pod's phase from the informer's cache. The end of the input, SIGINT or SIGTERM
 * end the program. C99. */
#define _POSIX_C_SOURCE 200809L /* declares sigaction with -std=c99 */

#include <kinformer/kinformer.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_requested;

static void on_signal(int number) {
    (void)number;
    stop_requested = 1;
}

static void on_change(const ki_event *e, void *user) {
    unsigned long *changes = user;
    (void)e;
    ++*changes;
}

static void on_synced(ki_informer *pods, void *user) {
    ki_snapshot *now = ki_informer_snapshot(pods);
    (void)user;
    printf("synced: %zu pods at %s\n", ki_snapshot_count(now), ki_snapshot_resource_version(now));
    ki_snapshot_free(now);
}

/* Handles one line of input. */
static void look_up(ki_informer *pods, const char *key) {
    ki_object *pod = ki_informer_get(pods, key);
    char phase[32];
    printf("%s: %s\n", key, pod ? ki_object_string(pod, "status.phase", "no phase", phase, sizeof phase) : "not found");
    ki_object_unref(pod);
}

/* Reads input. Returns false at its end. */
static bool read_input(ki_informer *pods) {
    char text[1024];
    ssize_t size = read(STDIN_FILENO, text, sizeof text - 1);
    if (size <= 0)
        return size < 0 && errno == EINTR;
    text[size] = '\0';
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        look_up(pods, line);
        line = end;
    }
    return true;
}

int main(void) {
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    unsigned long changes = 0;
    ki_handler handler = {
        .on_add = on_change, .on_update = on_change, .on_delete = on_change, .on_synced = on_synced
    };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);

    if (ki_engine_new(&KI_ENGINE_OPTIONS(.log = &log), &engine, &err) ||
        ki_factory_new_default(&KI_FACTORY_OPTIONS(.engine = engine), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, NULL, &pods, &err) ||
        ki_informer_add_handler(pods, &handler, &changes, NULL, NULL, &err) || ki_factory_start(factory, &err))
        goto out;

    while (!stop_requested) {
        struct pollfd fds[2] = { { .fd = ki_engine_fd(engine), .events = POLLIN },
                                 { .fd = STDIN_FILENO, .events = POLLIN } };
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents && ki_engine_step(engine, 0, &err))
            break;
        if ((fds[1].revents & (POLLIN | POLLHUP)) && !read_input(pods))
            break;
    }
    printf("%lu changes\n", changes);
out:
    if (err.code)
        fprintf(stderr, "host-loop: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    ki_engine_free(engine);
    return err.code ? 1 : 0;
}

/* daemon.c: a program that forks into the background, has a loop that knows nothing but descriptors, and reloads on
 * SIGHUP. It reads its configuration before it forks, so that a mistake is printed where it was started; engine and
 * factory come after. A reload makes a second factory on the same engine. The first one serves until the second has all
 * objects, so that no lookup finds an empty cache. C99. */
#define _POSIX_C_SOURCE 200809L

#include <kinformer/kinformer.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* What a reload replaces. */
typedef struct generation {
    ki_factory *factory;
    ki_informer *pods;
    bool is_ready;
} generation;

static void on_synced(ki_informer *pods, void *user) {
    generation *self = user;
    (void)pods;
    self->is_ready = true; /* the loop replaces the older one: a handler cannot free a factory */
}

static void end(generation *old) {
    ki_factory_free(old->factory);
    *old = (generation){ .factory = NULL };
}

static ki_status begin(generation *next, ki_engine *engine, const ki_config *config, ki_error *err) {
    static const ki_handler handler = { .on_synced = on_synced };
    *next = (generation){ .factory = NULL };
    ki_status status = ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine), &next->factory, err);
    if (!status)
        status = ki_factory_informer(next->factory, KI_PODS, NULL, &next->pods, err);
    if (!status)
        status = ki_informer_add_handler(next->pods, &handler, next, NULL, NULL, err);
    if (!status)
        status = ki_factory_start(next->factory, err);
    if (status)
        end(next);
    return status;
}

static ki_status read_config(ki_config **ret_config, ki_error *err) {
    return ki_config_new_default(NULL, ret_config, err); /* a daemon's own file, in earnest */
}

/* Reads the configuration again. After a mistake everything stays as it is. */
static void reload(generation *next, ki_engine *engine) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    end(next); /* of an earlier reload that is not ready */
    if (read_config(&config, &err) || begin(next, engine, config, &err))
        printf("not reloaded: %s\n", ki_error_message(&err));
    ki_config_free(config);
}

/* Forks twice: the daemon has no terminal, and init is its parent. */
static bool become_daemon(void) {
    pid_t child = fork();
    if (child > 0)
        _exit(0);
    if (child < 0 || setsid() < 0)
        return false;
    child = fork();
    if (child > 0)
        _exit(0);
    return child == 0;
}

/* Runs until SIGTERM. `serving` answers lookups, `next` takes its place once it is ready. */
static ki_status run(ki_engine *engine, generation *slots, int signals, ki_error *err) {
    generation *serving = &slots[0], *next = &slots[1];
    bool was_ready = false;
    for (;;) {
        struct pollfd fds[2] = { { .fd = ki_engine_fd(engine), .events = POLLIN },
                                 { .fd = signals, .events = POLLIN } };
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return KI_OK;
        if (fds[1].revents && read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo != SIGHUP)
                return KI_OK;
            reload(next, engine);
        }
        if (fds[0].revents && ki_engine_step(engine, 0, err))
            return err->code;
        if (next->is_ready) {
            generation *old = serving;
            serving = next;
            next = old;
            end(next);
        } else if (serving->is_ready == was_ready) {
            continue;
        }
        was_ready = serving->is_ready;
        ki_snapshot *now = ki_informer_snapshot(serving->pods);
        printf("process %ld serves %zu pods\n", (long)getpid(), ki_snapshot_count(now));
        ki_snapshot_free(now);
    }
}

int main(void) {
    const ki_log log = { .write = ki_log_stderr };
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_engine *engine = NULL;
    generation slots[2] = { { .factory = NULL }, { .factory = NULL } };
    sigset_t handled;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (read_config(&config, &err)) {
        fprintf(stderr, "daemon: %s\n", ki_error_message(&err));
        return 1;
    }
    if (!become_daemon()) {
        perror("daemon");
        return 1;
    }
    sigemptyset(&handled);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGHUP);
    sigprocmask(SIG_BLOCK, &handled, NULL);
    int signals = signalfd(-1, &handled, SFD_CLOEXEC);
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.log = &log), &engine, &err) || begin(&slots[0], engine, config, &err) ||
        run(engine, slots, signals, &err))
        fprintf(stderr, "daemon: %s\n", ki_error_message(&err));
    printf("process %ld ends\n", (long)getpid());
    end(&slots[0]);
    end(&slots[1]);
    ki_config_free(config);
    ki_engine_free(engine);
    return err.code ? 1 : 0;
}

/* elect.c: competes for a Lease, which it releases at SIGTERM, and tells on standard output what happens: "leader NAME
 * TIME" ("-": nobody), "started TIME", "stopped TIME", and every 50 ms while it leads "leading TIME". A line is one
 * write; TIME is nanoseconds of CLOCK_MONOTONIC, read before the elector is asked. For tests of several processes. */
#include <kinformer-controllers/leader.h>
#include <kinformer/kinformer.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY_NS 50000000

/* Guards all below, and a line together with what it tells. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* `is_over` */
static bool is_term, has_told_term, is_over;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Writes a line if the process leads at its time. */
static void tell_term(const ki_elector *elector) {
    int64_t time = now();
    if (!is_term || !ki_elector_is_leader(elector))
        return;
    printf("%s %" PRId64 "\n", has_told_term ? "leading" : "started", time);
    has_told_term = true;
}

static void on_started(ki_elector *elector, void *user) {
    (void)user;
    pthread_mutex_lock(&lock);
    is_term = true;
    tell_term(elector);
    pthread_mutex_unlock(&lock);
}

static void on_stopped(ki_elector *elector, void *user) {
    (void)elector, (void)user;
    pthread_mutex_lock(&lock);
    if (has_told_term)
        printf("stopped %" PRId64 "\n", now());
    is_term = has_told_term = false;
    pthread_mutex_unlock(&lock);
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector, (void)user;
    pthread_mutex_lock(&lock);
    printf("leader %s %" PRId64 "\n", identity[0] ? identity : "-", now());
    pthread_mutex_unlock(&lock);
}

static void *look(void *user) {
    const ki_elector *elector = user;
    pthread_mutex_lock(&lock);
    while (!is_over) {
        struct timespec next;
        tell_term(elector);
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += LOOK_EVERY_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ended, &lock, &next);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* --name value */
static bool take_flag(ki_config_options *config, ki_elector_options *options, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } flags[] = {
        { "--kubeconfig", &config->kubeconfig, NULL },
        { "--namespace", &options->namespace_name, NULL },
        { "--name", &options->name, NULL },
        { "--identity", &options->identity, NULL },
        { "--lease-duration", NULL, &options->lease_duration_ms },
        { "--renew-deadline", NULL, &options->renew_deadline_ms },
        { "--retry-period", NULL, &options->retry_period_ms },
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(name, flags[i].name) != 0)
            continue;
        if (flags[i].text)
            *flags[i].text = value;
        else
            *flags[i].number = strtoll(value, NULL, 10);
        return true;
    }
    return false;
}

/* Starts the thread without signals: they are for the thread that runs the factory. */
static bool start_looking(pthread_t *ret_thread, ki_elector *elector) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool looks = pthread_create(ret_thread, NULL, look, elector) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return looks;
}

static bool compete(ki_factory *factory, const ki_elector_options *options, ki_error *err) {
    ki_elector *elector = NULL;
    pthread_t looking;
    if (ki_elector_new(factory, options, &elector, err))
        return false;
    bool looks = start_looking(&looking, elector);
    bool is_good = looks && ki_factory_run(factory, err) == KI_OK;
    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
    if (looks)
        pthread_join(looking, NULL);
    ki_elector_free(elector);
    return is_good;
}

int main(int argc, char **argv) {
    ki_config_options config_options = KI_CONFIG_OPTIONS(.kubeconfig = NULL);
    ki_elector_options options =
        KI_ELECTOR_OPTIONS(.release_on_stop = true, .callbacks = { on_started, on_stopped, on_new_leader });
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && take_flag(&config_options, &options, argv[i], argv[i + 1]))
            continue;
        fprintf(stderr, "elect: %s: no such flag, or no value\n", argv[i]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool is_good = ki_config_new(&config_options, &config, &err) == KI_OK &&
                   ki_factory_new(config, NULL, &factory, &err) == KI_OK && compete(factory, &options, &err);
    if (!is_good)
        fprintf(stderr, "elect: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    ki_config_free(config);
    return is_good ? 0 : 1;
}

/* elect.c: competes for a Lease and tells on standard output what happens, a line each, with nanoseconds of CLOCK_MONOTONIC: "TIME started",
 * "TIME stopped", "TIME leader ID", and every 20 ms while it leads "TIME leading TOKEN". Ends with SIGTERM. For tests of several processes. */
#include <kinformer/kinformer.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY_NS 20000000

static _Atomic bool is_over;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void on_started(ki_elector *elector, void *user) {
    (void)elector, (void)user;
    printf("%" PRId64 " started\n", now());
}

static void on_stopped(ki_elector *elector, void *user) {
    (void)elector, (void)user;
    printf("%" PRId64 " stopped\n", now());
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    (void)elector, (void)user;
    printf("%" PRId64 " leader %s\n", now(), identity);
}

/* The process leads at a time when it led before and afterwards in the same term. */
static void *look(void *user) {
    const ki_elector *elector = user;
    const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
    while (!atomic_load(&is_over)) {
        int64_t token = ki_elector_fencing_token(elector), time = now();
        if (token >= 0 && ki_elector_fencing_token(elector) == token)
            printf("%" PRId64 " leading %" PRId64 "\n", time, token);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* --name value; --release alone. */
static bool take_flag(ki_elector_options *options, const char *name, const char *value, bool *ret_took_value) {
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } flags[] = {
        { "--namespace", &options->namespace_name, NULL },   { "--name", &options->name, NULL },
        { "--identity", &options->identity, NULL },          { "--lease-ms", NULL, &options->lease_duration_ms },
        { "--renew-ms", NULL, &options->renew_deadline_ms }, { "--retry-ms", NULL, &options->retry_period_ms },
    };
    *ret_took_value = false;
    if (strcmp(name, "--release") == 0)
        return options->release_on_stop = true;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(name, flags[i].name) != 0 || !value)
            continue;
        if (flags[i].text)
            *flags[i].text = value;
        else
            *flags[i].number = strtoll(value, NULL, 10);
        return *ret_took_value = true;
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
    atomic_store(&is_over, true);
    if (looks)
        pthread_join(looking, NULL);
    ki_elector_free(elector);
    return is_good;
}

int main(int argc, char **argv) {
    ki_elector_options options = KI_ELECTOR_OPTIONS(.callbacks = { on_started, on_stopped, on_new_leader });
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    for (int i = 1; i < argc; i++) {
        bool took_value;
        if (!take_flag(&options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &took_value)) {
            fprintf(stderr, "elect: %s: no such flag, or no value\n", argv[i]);
            return 2;
        }
        i += took_value;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool is_good = ki_factory_new_default(NULL, &factory, &err) == KI_OK && compete(factory, &options, &err);
    if (!is_good)
        fprintf(stderr, "elect: %s\n", ki_error_message(&err));
    ki_factory_free(factory);
    return is_good ? 0 : 1;
}

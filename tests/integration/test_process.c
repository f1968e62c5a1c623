/* test_process.c: what a program does to a process that uses the library: forks, closes descriptors, ignores SIGCHLD,
 * sends SIGTERM twice, unloads the library. Over TLS, so that a child that said anything on its parent's connection
 * would break it. The server is a process of its own: a thread that is inside the allocator at a fork leaves the child
 * an allocator's lock that is never released. */

#include <kinformer/kinformer.h>

#include "src/auth/config.h"
#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS ((int64_t)PATIENCE_S * 1000)

typedef struct stage {
    ki_process server;
    ki_config *config;
    ki_factory *factory;
    ki_informer *pods;
    sem_t states;  /* posted for each state after the first watch */
    sem_t is_held; /* posted by the loop when it begins to wait for `released` */
    sem_t released;
} stage;

static stage set;

static void check(ki_status status, const ki_error *err) {
    if (status)
        fail_msg("%s", ki_error_message(err));
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    (void)health;
    (void)user;
    sem_post(&set.states);
}

/* Starts the server with these arguments; NULL ends them. Returns its URL, which is valid until its next line. */
static const char *serve(const char *const *argv) {
    assert_true(ki_process_start(&set.server, argv, NULL, false));
    const char *line = ki_process_expect(&set.server, "serving ");
    assert_non_null(line);
    return strchr(line, ' ') + 1;
}

static int open_stage(void **state) {
    folder_open(state);
    ki_error err = KI_ERROR_INIT;
    sem_init(&set.states, 0, 0);
    sem_init(&set.is_held, 0, 0);
    sem_init(&set.released, 0, 0);
    const char *path = folder_file("config");
    serve((const char *const[]){ KI_TEST_PROGRAM, "serve", "--until-eof", "--tls", "--pods", "5", "--write-kubeconfig",
                                 path, NULL });
    check(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &set.config, &err), &err);
    check(ki_factory_new(set.config, NULL, &set.factory, &err), &err);
    check(ki_factory_informer(set.factory, KI_PODS, NULL, &set.pods, &err), &err);
    return 0;
}

static int close_stage(void **state) {
    sem_post(&set.released); /* a test that failed may have left the loop held */
    ki_factory_free(set.factory);
    ki_config_free(set.config);
    ki_process_free(&set.server);
    sem_destroy(&set.states);
    sem_destroy(&set.is_held);
    sem_destroy(&set.released);
    return folder_close(state);
}

#define PROCESS_TEST(name) TEST_WITH(open_stage, close_stage, name)

static void start(void) {
    ki_error err = KI_ERROR_INIT;
    check(ki_factory_start(set.factory, &err), &err);
    check(ki_factory_wait_for_sync(set.factory, PATIENCE_MS, NULL, &err), &err);
}

/* Runs `body` in a child. Returns the number that `body` returned. ctest limits the time. */
static int in_child(int (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void hold(const ki_response *response, const ki_error *err, void *user) {
    (void)response;
    (void)err;
    (void)user;
    sem_post(&set.is_held);
    await_semaphore(&set.released);
}

/* The same when the factory has been started: at the fork its loop waits in `hold`, outside the allocator. */
static int in_child_of_started(int (*body)(void)) {
    ki_error err = KI_ERROR_INIT;
    const ki_client_request version = KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version");
    check(ki_client_send(ki_factory_client(set.factory), &version, hold, NULL, NULL, &err), &err);
    await_semaphore(&set.is_held);
    int result = in_child(body);
    sem_post(&set.released);
    return result;
}

/* Creates a pod and waits until the informer has it, on the watch that it has had so far. */
static void the_watch_goes_on(const char *name) {
    char json[200], key[100];
    ki_error err = KI_ERROR_INIT;
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             name);
    snprintf(key, sizeof key, "default/%s", name);
    check(ki_client_create(ki_factory_client(set.factory), KI_PODS, ki_unstructured_new(json), NULL, NULL, &err), &err);
    check(ki_informer_wait_for_version(set.pods, key, NULL, PATIENCE_MS, &err), &err);
}

/* ---- fork ---- */

enum {
    GOOD = 7 /* what a child returns that found everything as it should be */
};

static int start_in_child(void) {
    ki_error err = KI_ERROR_INIT;
    if (ki_factory_start(set.factory, &err) || ki_factory_wait_for_sync(set.factory, PATIENCE_MS, NULL, &err)) {
        fprintf(stderr, "%s\n", ki_error_message(&err));
        return 1;
    }
    ki_factory_free(set.factory);
    return GOOD;
}

/* The child begins first: with the parent's descriptors it would take its events. */
PROCESS_TEST(a_factory_that_was_made_before_a_fork_starts_in_both_processes) {
    assert_int_equal(in_child(start_in_child), GOOD);
    start();
    the_watch_goes_on("after");
    assert_int_equal(in_child_of_started(start_in_child), 1); /* now it is the parent's */
}

static int use_in_child(void) {
    ki_error err = KI_ERROR_INIT;
    ki_health health;
    ki_object *obj = NULL;
    ki_informer_health(set.pods, &health);
    bool is_good =
        !ki_factory_has_synced(set.factory) && !ki_informer_has_synced(set.pods) && health.state == KI_STATE_STOPPED &&
        health.staleness_ms == -1 && strstr(health.message, "forked") && health.cause.code == KI_ERR_STATE &&
        ki_lister_get(set.pods, "default", "before", &obj, &err) == KI_ERR_STATE &&
        strstr(ki_error_message(&err), "forked") && !ki_informer_snapshot(set.pods) &&
        ki_factory_start(set.factory, &err) == KI_ERR_STATE && ki_factory_shutdown(set.factory, &err) == KI_ERR_STATE &&
        ki_client_get(ki_factory_client(set.factory), KI_PODS, "default", "before", NULL, NULL, &err) == KI_ERR_STATE;
    ki_factory_stop(set.factory);
    ki_factory_free(set.factory);
    return is_good ? GOOD : 1;
}

/* A factory of the child's own works beside it. */
static int begin_anew_in_child(void) {
    ki_error err = KI_ERROR_INIT;
    ki_factory_free(set.factory);
    if (ki_factory_new(set.config, NULL, &set.factory, &err) ||
        ki_factory_informer(set.factory, KI_PODS, NULL, &set.pods, &err)) {
        fprintf(stderr, "%s\n", ki_error_message(&err));
        return 1;
    }
    return start_in_child();
}

PROCESS_TEST(a_child_of_a_started_factory_can_use_nothing_and_disturbs_nothing) {
    ki_error err = KI_ERROR_INIT;
    check(ki_informer_set_state_handler(set.pods, on_state, NULL, &err), &err);
    start();
    the_watch_goes_on("before");
    while (sem_trywait(&set.states) == 0) {}
    assert_int_equal(in_child_of_started(use_in_child), GOOD);
    the_watch_goes_on("between");
    assert_int_equal(in_child_of_started(begin_anew_in_child), GOOD);
    the_watch_goes_on("after");
    assert_int_not_equal(sem_trywait(&set.states), 0);
}

static int fork_and_step(void) {
    ki_engine *engine = ki_factory_engine(set.factory);
    ki_error err = KI_ERROR_INIT;
    return ki_engine_step(engine, 0, &err) == KI_ERR_STATE && ki_engine_timeout(engine) == -1 ? GOOD : 1;
}

PROCESS_TEST(a_child_of_a_program_that_steps_cannot_step) {
    ki_error err = KI_ERROR_INIT;
    ki_engine *engine = NULL;
    ki_factory *factory = NULL, *whole = set.factory;
    check(ki_engine_new(NULL, &engine, &err), &err);
    check(ki_factory_new(set.config, &KI_FACTORY_OPTIONS(.engine = engine), &factory, &err), &err);
    check(ki_engine_step(engine, 0, &err), &err);
    set.factory = factory;
    assert_int_equal(in_child(fork_and_step), GOOD);
    set.factory = whole;
    check(ki_engine_step(engine, 0, &err), &err);
    ki_factory_free(factory);
    ki_engine_free(engine);
}

/* ---- descriptors ---- */

static int close_before_the_start(void) {
    ki_error err = KI_ERROR_INIT;
    ki_factory *factory = NULL;
    check(ki_factory_new(set.config, NULL, &factory, &err), &err);
    closefrom(3);
    bool is_named = ki_factory_start(factory, &err) == KI_ERR_SYSTEM && strstr(ki_error_message(&err), "descriptor") &&
                    strstr(ki_error_message(&err), "Bad file descriptor");
    ki_factory_free(factory);
    return is_named ? GOOD : 1;
}

PROCESS_TEST(descriptors_closed_before_the_start_are_an_error_of_the_start) {
    assert_int_equal(in_child(close_before_the_start), GOOD);
}

static sem_t has_stopped;

static void report_stop(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    (void)user;
    if (health->state == KI_STATE_STOPPED && strstr(health->message, "Bad file descriptor"))
        sem_post(&has_stopped);
}

/* The loop waits for events: it looks at its descriptors every few seconds. */
static int close_in_a_running_loop(void) {
    ki_error err = KI_ERROR_INIT;
    ki_health health;
    sem_init(&has_stopped, 0, 0);
    check(ki_informer_set_state_handler(set.pods, report_stop, NULL, &err), &err);
    start();
    closefrom(3);
    await_semaphore(&has_stopped);
    ki_informer_health(set.pods, &health);
    bool is_named = health.state == KI_STATE_STOPPED && strstr(health.message, "Bad file descriptor") &&
                    ki_factory_start(set.factory, &err) == KI_ERR_STATE &&
                    strstr(ki_error_message(&err), "Bad file descriptor");
    ki_factory_free(set.factory);
    return is_named ? GOOD : 1;
}

PROCESS_TEST(descriptors_closed_after_the_start_stop_the_informer_with_the_reason) {
    assert_int_equal(in_child(close_in_a_running_loop), GOOD);
}

/* ---- what a host may have done before ---- */

static int sync_with_a_plugin(void) {
    signal(SIGCHLD, SIG_IGN);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    int result = 1;
    if (!ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("plugin")), &config, &err) &&
        !ki_factory_new(config, NULL, &factory, &err) && !ki_factory_informer(factory, KI_PODS, NULL, &pods, &err) &&
        !ki_factory_start(factory, &err) && !ki_factory_wait_for_sync(factory, PATIENCE_MS, NULL, &err))
        result = GOOD;
    ki_factory_free(factory);
    ki_config_free(config);
    return result;
}

/* The engine's descriptors and the credential plugin's pipes then have the numbers 0 to 2. */
PROCESS_TEST(without_standard_descriptors_and_with_sigchld_ignored_all_works) {
    char text[2000];
    folder_write("ca.pem", set.config->ca.data);
    snprintf(text, sizeof text,
             "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
             "clusters: [{name: c, cluster: {server: \"%s\", certificate-authority: ca.pem}}]\n"
             "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
             "users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
             "      command: /bin/sh\n      interactiveMode: Never\n      args:\n      - -c\n"
             "      - \"echo "
             "'{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":\\\"ExecCredential\\\","
             "\\\"status\\\":{\\\"token\\\":\\\"%s\\\"}}'\"\n",
             ki_config_server(set.config), set.config->token.data);
    folder_write("plugin", text);
    assert_int_equal(in_child(sync_with_a_plugin), GOOD);
}

static int close_plain_server(void **state) {
    ki_process_free(&set.server);
    return folder_close(state);
}

TEST_WITH(folder_open, close_plain_server, a_library_that_is_loaded_and_unloaded_leaves_nothing_behind) {
    ki_process host;
    folder_write("pods.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default}\n---\n"
                              "apiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: default}\n");
    const char *url = serve(
        (const char *const[]){ KI_TEST_PROGRAM, "serve", "--until-eof", "--load", folder_file("pods.yaml"), NULL });
    const char *const words[] = { KI_TEST_HOST, KI_TEST_LIBRARY, url, NULL };
    assert_true(ki_process_start(&host, words, NULL, false));
    for (int i = 0; i < 3; i++) {
        const char *line = ki_process_line(&host);
        assert_non_null(line);
        assert_string_equal(line, "2");
    }
    assert_string_equal(ki_process_line(&host), "done");
    assert_int_equal(ki_process_wait(&host), 0);
    ki_process_free(&host);
}

/* ---- signals ---- */

static void say_ready(ki_informer *informer, void *user) {
    (void)informer;
    (void)user;
    ssize_t size = write(1, "r", 1);
    (void)size;
}

/* Runs a factory until a signal, then writes what a program would have buffered. */
static int run_until_signal(void) {
    ki_error err = KI_ERROR_INIT;
    const ki_handler handler = { .on_synced = say_ready };
    if (ki_informer_add_handler(set.pods, &handler, NULL, NULL, NULL, &err) || ki_factory_run(set.factory, &err))
        return 1;
    return write(1, "end", 3) == 3 ? GOOD : 1;
}

enum {
    TRIES = 100
};

/* Both signals wait when the loop goes on: it reads one, which ends it, and the other one is left. */
PROCESS_TEST(a_second_signal_right_after_the_first_does_not_kill_the_program) {
    int killed = 0;
    for (int i = 0; i < TRIES; i++) {
        int ends[2], status = 0;
        char byte, rest[4] = "";
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            dup2(ends[1], 1);
            close(ends[0]);
            close(ends[1]);
            _exit(run_until_signal());
        }
        close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        kill(child, SIGSTOP);
        assert_int_equal(waitpid(child, &status, WUNTRACED), child);
        kill(child, SIGTERM);
        kill(child, SIGINT);
        kill(child, SIGCONT);
        assert_int_equal(waitpid(child, &status, 0), child);
        bool is_whole = read(ends[0], rest, 3) == 3 && strcmp(rest, "end") == 0;
        killed += !WIFEXITED(status) || WEXITSTATUS(status) != GOOD || !is_whole;
        close(ends[0]);
    }
    assert_int_equal(killed, 0);
}

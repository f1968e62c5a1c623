/* test_restored_server.c: a server goes back to an older state, as from a backup, under an informer with all defaults,
 * over real sockets: what the restore undid is undone in the copy, with no audit. The engine is stepped; its clock is
 * the machine's, put forward where the informer would only wait for silence. */
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#include <poll.h>
#include <time.h>

enum {
    PATIENCE_S = 90,
    IDLE_S = 91 /* a little more than what a watch may be silent */
};

static ki_testing_server *server;
static ki_engine *engine;
static ki_factory *factory;
static ki_informer *maps;
static int64_t put_forward; /* ns */
static int watches;         /* times that it has begun to watch */
static char notes[400];

/* --- the clock and the loop --------------------------------------------------------------------------------------- */

static int64_t machine_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t engine_now(void *user) {
    (void)user;
    return machine_now() + put_forward;
}

static void must(ki_status status, const ki_error *err) {
    if (status)
        fail_msg("%s", ki_error_message(err));
}

static void run_until(bool (*is_so)(const void *user), const void *user, const char *what) {
    int64_t deadline = machine_now() + (int64_t)PATIENCE_S * 1000000000;
    ki_error err = KI_ERROR_INIT;
    while (!is_so(user)) {
        int timeout = ki_engine_timeout(engine);
        struct pollfd fd = { .fd = ki_engine_fd(engine), .events = POLLIN };
        if (machine_now() > deadline)
            fail_msg("%d s, and not yet: %s; it heard \"%s\"", PATIENCE_S, what, notes);
        (void)poll(&fd, 1, timeout < 0 || timeout > 100 ? 100 : timeout);
        must(ki_engine_step(engine, 0, &err), &err);
    }
}

/* --- its notes ---------------------------------------------------------------------------------------------------- */

static void add_note(const char *sign, const ki_event *e) {
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%s%s%s ", sign, ki_object_name(e->obj),
             e->final_state_unknown ? "?" : "");
}

static void on_add(const ki_event *e, void *user) {
    (void)user;
    add_note("+", e);
}

static void on_update(const ki_event *e, void *user) {
    (void)user;
    add_note("~", e);
}

static void on_delete(const ki_event *e, void *user) {
    (void)user;
    add_note("-", e);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    (void)user;
    watches += health->state == KI_STATE_WATCHING;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

static bool has_watched(const void *user) {
    const int *times = user;
    return watches >= *times;
}

static bool has_notes(const void *user) {
    return strcmp(notes, user) == 0;
}

/* In any order. */
static bool has_heard_of_the_end(const void *user) {
    (void)user;
    return strstr(notes, "-ghost? ") && strstr(notes, "-another? ");
}

/* Until it watches once more than before. */
static void run_until_it_watches_anew(int before) {
    int times = before + 1;
    run_until(has_watched, &times, "it watches anew");
}

/* Nothing comes for as long as a watch may be silent. */
static void silence(void) {
    int before = watches;
    put_forward += (int64_t)IDLE_S * 1000000000;
    run_until_it_watches_anew(before);
}

static void expect(const char *text) {
    run_until(has_notes, text, text);
    notes[0] = '\0';
}

static unsigned long relists(void) {
    static const char name[] = "informer_relists_total{";
    char *text = NULL;
    unsigned long sum = 0;
    must(ki_factory_metrics_text(factory, &text, NULL), NULL);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += sizeof name) {
        unsigned long value = 0;
        const char *end = strstr(at, "} ");
        assert_non_null(end);
        assert_int_equal(sscanf(end + 2, "%lu", &value), 1);
        sum += value;
    }
    ki_metrics_text_free(text);
    return sum;
}

/* --- the stage ---------------------------------------------------------------------------------------------------- */

static void put(const char *name) {
    char json[200];
    ki_error err = KI_ERROR_INIT;
    int size = snprintf(json, sizeof json,
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                        "\"default\"}}",
                        name);
    must(ki_testing_server_put(server, KI_CONFIGMAPS, json, (size_t)size, &err), &err);
}

static void begin(bool streams) {
    static const ki_handler handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };
    static const ki_clock clock = { .now = engine_now, .user = NULL };
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    watches = 0;
    notes[0] = '\0';
    must(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.no_streaming_list = !streams), &server, &err), &err);
    put("a");
    put("b");
    must(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &engine, &err), &err);
    must(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = "/dev/null", .server = ki_testing_server_url(server)), &config,
                       &err),
         &err);
    must(ki_factory_new(config, &KI_FACTORY_OPTIONS(.engine = engine), &factory, &err), &err);
    ki_config_free(config);
    must(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &maps, &err), &err);
    must(ki_informer_set_state_handler(maps, on_state, NULL, &err), &err);
    must(ki_informer_add_handler(maps, &handler, NULL, NULL, NULL, &err), &err);
    must(ki_factory_start(factory, &err), &err);
    run_until_it_watches_anew(0);
    notes[0] = '\0';
}

static int tear_down(void **state) {
    (void)state;
    ki_factory_free(factory);
    ki_engine_free(engine);
    ki_testing_server_free(server);
    factory = NULL;
    engine = NULL;
    server = NULL;
    return 0;
}

#define RESTORED_SERVER_TEST(name) TEST_WITH(NULL, tear_down, name)

/* --- plays -------------------------------------------------------------------------------------------------------- */

RESTORED_SERVER_TEST(the_cache_follows_a_restored_server) {
    for (int streams = 0; streams < 2; streams++) {
        begin(streams);
        put("ghost");
        put("another");
        expect("+ghost +another ");
        int before = watches;
        ki_error err = KI_ERROR_INIT;
        must(ki_testing_server_rewind(server, 2, &err), &err);
        run_until_it_watches_anew(before); /* from a version that is still to come */
        silence();
        assert_string_equal(notes, "");
        silence(); /* and what follows is no third watch but a check, and then a list */
        run_until(has_heard_of_the_end, NULL, "what the restore undid is gone");
        assert_int_equal(relists(), 1); /* also if the server rejects the streaming list first */
        notes[0] = '\0';
        put("later");
        expect("+later ");
        tear_down(NULL);
    }
}

RESTORED_SERVER_TEST(a_quiet_server_is_not_listed_again) {
    begin(true);
    for (unsigned times = 0; times < 6; times++)
        silence();
    assert_int_equal(relists(), 0);
    put("later");
    expect("+later ");
    assert_int_equal(relists(), 0);
}

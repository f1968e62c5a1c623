/* test_socket_faults.c: informers with threads, real sockets, and a proxy between them and the embedded server that does what a
 * network does. After each fault the server goes on; then the informer's copy, and what its handler was told, must add up to what the
 * server has, and few requests must have been made. Each test begins anew: waits after failures grow within an informer.
 * A connection on which nothing comes and that stays open is found after 90 s: that, the simulation shows; here one ends in time. */
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/proxy.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <yyjson.h>

enum {
    PATIENCE_MS = 60000, /* only what is broken reaches it */
    WORLDS = 24,
    OBJECTS = 64, /* at most, at any time */
    KEY_MAX = 64,
    VERSION_MAX = 24
};

#define UMLAUTS "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" /* of two, three and four bytes */

typedef struct told {
    char key[KEY_MAX], uid[KEY_MAX], version[VERSION_MAX];
} told;

/* One informer, its proxy, and what its handler was told. */
typedef struct world {
    proxy *proxy;
    ki_factory *factory;
    ki_informer *informer;
    size_t requests_before; /* the fault */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t news;
    told objects[OBJECTS];
    size_t count;
    size_t errors; /* told to the error handler */
    ki_error last_error;
    char words[KI_HEALTH_WORDS_MAX]; /* of its last state "blocked" */
    bool unknown_delete;
    char violation[256]; /* the first change that did not follow from the ones before */
} world;

static ki_testing_server *server;
static world worlds[WORLDS];
static size_t world_count;

/* ---- the handler: a replay ---- */

static told *find_told(told *objects, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(objects[i].key, key) == 0)
            return &objects[i];
    }
    return NULL;
}

static void violate(world *self, const char *what, const ki_object *obj) {
    if (!self->violation[0])
        snprintf(self->violation, sizeof self->violation, "%s %s at %s", what, ki_object_key(obj),
                 ki_object_resource_version(obj));
}

static void note(told *one, const ki_object *obj) {
    snprintf(one->key, sizeof one->key, "%s", ki_object_key(obj));
    snprintf(one->uid, sizeof one->uid, "%s", ki_object_uid(obj));
    snprintf(one->version, sizeof one->version, "%s", ki_object_resource_version(obj));
}

static void on_add(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    if (find_told(self->objects, self->count, ki_object_key(event->obj)) || self->count == OBJECTS)
        violate(self, "added twice:", event->obj);
    else
        note(&self->objects[self->count++], event->obj);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_update(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    told *one = find_told(self->objects, self->count, ki_object_key(event->obj));
    if (!one || strcmp(one->version, ki_object_resource_version(event->old)) != 0)
        violate(self, "an update from another state:", event->obj);
    else if (strcmp(one->uid, ki_object_uid(event->obj)) != 0)
        violate(self, "an update between two identities:", event->obj);
    else if (ki_resource_version_compare(ki_object_resource_version(event->obj), one->version) != KI_ORDER_NEWER)
        violate(self, "an update to what is not newer:", event->obj);
    else
        note(one, event->obj);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_delete(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    told *one = find_told(self->objects, self->count, ki_object_key(event->obj));
    if (!one || strcmp(one->uid, ki_object_uid(event->obj)) != 0)
        violate(self, "deleted without being there:", event->obj);
    else
        *one = self->objects[--self->count];
    self->unknown_delete |= event->final_state_unknown;
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    world *self = user;
    (void)informer;
    (void)key;
    pthread_mutex_lock(&self->lock);
    self->errors++;
    self->last_error = *cause;
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    world *self = user;
    (void)informer;
    if (health->state != KI_STATE_BLOCKED)
        return;
    pthread_mutex_lock(&self->lock);
    snprintf(self->words, sizeof self->words, "%s", health->words);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

/* ---- what the server has ---- */

static struct {
    told objects[OBJECTS];
    yyjson_doc *docs[OBJECTS];
    size_t count;
} expected;

static const char *metadata_text(yyjson_val *object, const char *name) {
    const char *text = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(object, "metadata"), name));
    return text ? text : "";
}

static yyjson_doc *read_json(const char *json, size_t size) {
    yyjson_doc *doc = yyjson_read(json, size, 0);
    assert_non_null(doc);
    yyjson_mut_doc *changed = yyjson_doc_mut_copy(doc, NULL);
    assert_non_null(changed);
    yyjson_mut_obj_remove_key(yyjson_mut_obj_get(yyjson_mut_doc_get_root(changed), "metadata"), "managedFields");
    yyjson_doc_free(doc);
    doc = yyjson_mut_doc_imut_copy(changed, NULL);
    yyjson_mut_doc_free(changed);
    assert_non_null(doc);
    return doc;
}

static bool expect_one(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    (void)user;
    if (expected.count == OBJECTS)
        return false;
    told *one = &expected.objects[expected.count];
    yyjson_doc *doc = expected.docs[expected.count++] = read_json(json, size);
    snprintf(one->key, sizeof one->key, "%.*s", (int)key_size, key);
    snprintf(one->uid, sizeof one->uid, "%s", metadata_text(yyjson_doc_get_root(doc), "uid"));
    snprintf(one->version, sizeof one->version, "%s", metadata_text(yyjson_doc_get_root(doc), "resourceVersion"));
    return true;
}

static void forget_expected(void) {
    for (size_t i = 0; i < expected.count; i++)
        yyjson_doc_free(expected.docs[i]);
    expected.count = 0;
}

static void read_expected(void) {
    forget_expected();
    ki_testing_server_each(server, KI_CONFIGMAPS, expect_one, NULL);
    assert_int_equal(expected.count, ki_testing_server_count(server, KI_CONFIGMAPS));
}

/* What differs, or NULL; the world's lock is held. */
static const char *difference(world *self) {
    static char text[512];
    for (size_t i = 0; i < expected.count; i++) {
        const told *want = &expected.objects[i], *have = find_told(self->objects, self->count, want->key);
        if (!have || strcmp(have->version, want->version) != 0 || strcmp(have->uid, want->uid) != 0) {
            snprintf(text, sizeof text, "%s at %s, not %s", want->key, have ? have->version : "none", want->version);
            return text;
        }
    }
    if (self->count == expected.count)
        return NULL;
    snprintf(text, sizeof text, "%zu objects, not %zu", self->count, expected.count);
    return text;
}

static struct timespec in_a_while(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    return until;
}

static void wait_for_replay(world *self) {
    struct timespec until = in_a_while();
    char why[1024] = "";
    const char *differs;
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while ((differs = difference(self)) && !self->violation[0] && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    if (differs || self->violation[0])
        snprintf(why, sizeof why, "%s; %s", self->violation, differs ? differs : "");
    pthread_mutex_unlock(&self->lock);
    if (why[0])
        fail_msg("informer %zu: %s", (size_t)(self - worlds), why);
}

static void wait_for_errors(world *self, size_t least) {
    struct timespec until = in_a_while();
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (self->errors < least && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    size_t errors = self->errors;
    pthread_mutex_unlock(&self->lock);
    if (errors < least)
        fail_msg("informer %zu: %zu errors, not %zu", (size_t)(self - worlds), errors, least);
}

static size_t errors_of(world *self) {
    pthread_mutex_lock(&self->lock);
    size_t errors = self->errors;
    pthread_mutex_unlock(&self->lock);
    return errors;
}

static bool has_unknown_delete(world *self) {
    pthread_mutex_lock(&self->lock);
    bool has = self->unknown_delete;
    pthread_mutex_unlock(&self->lock);
    return has;
}

static void assert_copy_is_the_servers(world *self) {
    ki_snapshot *snapshot = ki_informer_snapshot(self->informer);
    assert_int_equal(ki_snapshot_count(snapshot), expected.count);
    for (size_t i = 0; i < expected.count; i++) {
        const ki_object *obj = ki_snapshot_get(snapshot, expected.objects[i].key);
        ki_value value = KI_VALUE_INIT;
        if (!obj)
            fail_msg("informer %zu has no %s", (size_t)(self - worlds), expected.objects[i].key);
        assert_int_equal(ki_object_json(obj, &value, NULL), KI_OK);
        yyjson_doc *doc = read_json(value.text, value.text_size);
        if (!yyjson_equals(yyjson_doc_get_root(doc), yyjson_doc_get_root(expected.docs[i])))
            fail_msg("informer %zu: %s", (size_t)(self - worlds), value.text);
        yyjson_doc_free(doc);
        ki_value_clear(&value);
    }
    ki_snapshot_free(snapshot);
}

/* ---- changes ---- */

static void put(const char *name, unsigned round) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"data\":{\"round\":\"%u\",\"text\":\"" UMLAUTS
             " \\u00e9\\\\ \\\"}\\n\"}}",
             name, round);
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
}

static void patch(const char *name, unsigned round) {
    char json[64];
    snprintf(json, sizeof json, "{\"data\":{\"round\":\"%u\"}}", round);
    assert_int_equal(ki_testing_server_patch(server, KI_CONFIGMAPS, "default", name, json, 0, NULL), KI_OK);
}

static void drop(const char *name) {
    assert_int_equal(ki_testing_server_delete(server, KI_CONFIGMAPS, "default", name, NULL), KI_OK);
}

/* Of each kind: changed, made, deleted, deleted and made again under its name; a last one that is new in each round. */
static void churn(void) {
    static unsigned round;
    char name[32];
    round++;
    put("changed", round);
    patch("changed", round + 1000);
    snprintf(name, sizeof name, "made-%u", round % 8);
    put(name, round);
    put("deleted", round);
    put("short-lived", round);
    drop("short-lived");
    drop("again");
    put("again", round);
    drop("deleted");
    put("deleted", round + 1000);
    if (round % 2)
        drop("deleted");
    put("zz-marker", round);
}

/* ---- worlds ---- */

static void open_world(world *self) {
    const ki_handler handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };
    ki_config *config = NULL;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->news, NULL);
    self->proxy = proxy_start(ki_testing_server_url(server));
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = proxy_url(self->proxy)), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, NULL, &self->factory, NULL), KI_OK);
    ki_config_free(config);
    assert_int_equal(ki_factory_informer(self->factory, KI_CONFIGMAPS, NULL, &self->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(self->informer, &handler, self, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(self->informer, on_error, self, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(self->informer, on_state, self, NULL), KI_OK);
}

static void start_world(world *self) {
    assert_int_equal(ki_factory_start(self->factory, NULL), KI_OK);
}

/* A server with some objects, and informers that are about to start. */
static void open_worlds(size_t count) {
    assert_true(count <= WORLDS);
    assert_int_equal(ki_testing_server_new(NULL, &server, NULL), KI_OK);
    put("again", 0);
    churn();
    read_expected();
    memset(worlds, 0, sizeof worlds);
    while (world_count < count)
        open_world(&worlds[world_count++]);
}

/* …that watch. */
static void start_worlds(size_t count) {
    open_worlds(count);
    for (size_t i = 0; i < count; i++)
        start_world(&worlds[i]);
    for (size_t i = 0; i < count; i++) {
        wait_for_replay(&worlds[i]);
        assert_int_equal(ki_factory_wait_for_sync(worlds[i].factory, PATIENCE_MS, NULL), KI_OK);
        worlds[i].requests_before = proxy_requests(worlds[i].proxy);
        assert_int_equal(errors_of(&worlds[i]), 0);
    }
}

static void assert_few_requests(world *self, size_t at_most) {
    size_t requests = proxy_requests(self->proxy);
    if (requests - self->requests_before <= at_most)
        return;
    for (size_t i = self->requests_before; i < requests; i++) {
        char target[256];
        proxy_target(self->proxy, i, target, sizeof target);
        print_error("%s\n", target);
    }
    fail_msg("informer %zu: %zu requests, more than %zu", (size_t)(self - worlds), requests - self->requests_before,
             at_most);
}

/* After the fault: everyone comes to what the server has, follows it on, and has not asked too often. */
static void assert_all_recover(size_t requests_at_most) {
    for (int i = 0; i < 2; i++) {
        read_expected();
        for (size_t j = 0; j < world_count; j++) {
            wait_for_replay(&worlds[j]);
            assert_copy_is_the_servers(&worlds[j]);
            assert_few_requests(&worlds[j], requests_at_most);
        }
        churn();
    }
    read_expected();
    for (size_t j = 0; j < world_count; j++)
        wait_for_replay(&worlds[j]);
}

static int close_worlds(void **state) {
    (void)state;
    while (world_count) {
        world *self = &worlds[--world_count];
        ki_factory_free(self->factory);
        proxy_free(self->proxy);
        pthread_mutex_destroy(&self->lock);
        pthread_cond_destroy(&self->news);
    }
    forget_expected();
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

/* ---- the stream ---- */

static void a_stream_cut_at_any_byte_goes_on_where_it_was(void **state) {
    (void)state;
    static const size_t offsets[] = { 0, 1, 2, 4, 5, 12, 40, 97, 210, 333, 500, 900 };
    const size_t count = sizeof offsets / sizeof offsets[0];
    start_worlds(2 * count);
    for (size_t i = 0; i < 2 * count; i++)
        proxy_strike_at(worlds[i].proxy, NULL, offsets[i / 2], i % 2 ? PROXY_RESET : PROXY_CLOSE, NULL);
    churn();
    for (size_t i = 0; i < 2 * count; i++)
        proxy_wait_struck(worlds[i].proxy);
    assert_all_recover(2);
}

static void a_first_list_cut_at_any_byte_is_listed_again(void **state) {
    (void)state;
    static const size_t offsets[] = { 0, 9, 30, 200, 260, 700, 1500 };
    const size_t count = sizeof offsets / sizeof offsets[0];
    open_worlds(2 * count);
    for (size_t i = 0; i < 2 * count; i++) {
        proxy_strike_at(worlds[i].proxy, NULL, offsets[i / 2], i % 2 ? PROXY_RESET : PROXY_CLOSE, NULL);
        start_world(&worlds[i]);
    }
    for (size_t i = 0; i < 2 * count; i++)
        proxy_wait_struck(worlds[i].proxy);
    churn();
    assert_all_recover(4);
}

static void a_character_may_come_in_two_parts_or_never_whole(void **state) {
    (void)state;
    const size_t size = sizeof UMLAUTS - 1;
    start_worlds(2 * (size - 1));
    for (size_t i = 0; i < world_count; i++)
        proxy_strike_at(worlds[i].proxy, UMLAUTS, 1 + i / 2, i % 2 ? PROXY_STALL : PROXY_CLOSE, NULL);
    churn();
    for (size_t i = 0; i < world_count; i++) {
        proxy_wait_struck(worlds[i].proxy);
        proxy_release(worlds[i].proxy);
    }
    assert_all_recover(2);
    for (size_t i = 1; i < world_count; i += 2) {
        assert_few_requests(&worlds[i], 0);
        assert_int_equal(errors_of(&worlds[i]), 0);
    }
}

static void bytes_may_come_one_by_one(void **state) {
    (void)state;
    open_worlds(1);
    proxy_set_segment(worlds[0].proxy, 1);
    start_world(&worlds[0]);
    churn();
    assert_all_recover(1);
    assert_int_equal(errors_of(&worlds[0]), 0);
}

static void many_events_may_come_in_one_segment(void **state) {
    (void)state;
    start_worlds(1);
    proxy_hold(worlds[0].proxy);
    for (int i = 0; i < 4; i++)
        churn();
    proxy_wait_held(worlds[0].proxy, 4096);
    proxy_release(worlds[0].proxy);
    assert_all_recover(0);
    assert_int_equal(errors_of(&worlds[0]), 0);
}

static void what_a_silent_connection_has_swallowed_is_asked_for_again(void **state) {
    (void)state;
    start_worlds(2);
    for (size_t i = 0; i < 2; i++)
        proxy_hold(worlds[i].proxy);
    churn();
    churn();
    for (size_t i = 0; i < 2; i++) {
        proxy_wait_held(worlds[i].proxy, 2048);
        proxy_cut_all(worlds[i].proxy, i ? PROXY_RESET : PROXY_CLOSE);
        proxy_release(worlds[i].proxy);
    }
    assert_all_recover(3);
}

static void garbage_in_the_stream_costs_no_object(void **state) {
    (void)state;
    static const struct {
        const char *needle;
        size_t offset;
        proxy_strike what;
        const char *text;
    } rows[] = {
        { NULL, 0, PROXY_INSERT, "HTTP/1.1 200 OK\r\n\r\n" }, /* where a chunk's length should be */
        { NULL, 0, PROXY_INSERT, "zzzz\r\n" },
        { NULL, 0, PROXY_INSERT, "ffffffffffffffffffffff\r\n" },
        { "{\"type\":", 8, PROXY_INSERT, "\xff\xfe" }, /* the chunk's length is wrong from there on */
        { "{\"type\":", 8, PROXY_OVERWRITE, "}}}}" },
        { "\"object\":", 9, PROXY_OVERWRITE, "\\u0000]" },
        { "\"metadata\":", 11, PROXY_OVERWRITE, "\xc3\x28" },
        { UMLAUTS, 1, PROXY_OVERWRITE, "\"" },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    start_worlds(count);
    for (size_t i = 0; i < count; i++)
        proxy_strike_at(worlds[i].proxy, rows[i].needle, rows[i].offset, rows[i].what, rows[i].text);
    churn();
    for (size_t i = 0; i < count; i++) {
        proxy_wait_struck(worlds[i].proxy);
        wait_for_errors(&worlds[i], 1);
    }
    assert_all_recover(3);
}

/* ---- connections ---- */

static void wait_for_error_code(world *self, ki_status code) {
    struct timespec until = in_a_while();
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (self->last_error.code != code && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    ki_status last = self->last_error.code;
    size_t errors = self->errors;
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(last, code);
    assert_in_range(errors, 1, 3); /* no tight loop */
}

/* Cut off, and nobody listens any more. */
static void put_out_of_reach(world *self, proxy_strike how) {
    proxy_refuse(self->proxy, true);
    proxy_cut_all(self->proxy, how);
}

static void a_server_out_of_reach_is_found_again(void **state) {
    (void)state;
    start_worlds(2);
    put_out_of_reach(&worlds[0], PROXY_CLOSE);
    put_out_of_reach(&worlds[1], PROXY_RESET);
    churn();
    for (size_t i = 0; i < 2; i++) {
        wait_for_error_code(&worlds[i], KI_ERR_CONNECT);
        proxy_refuse(worlds[i].proxy, false);
    }
    assert_all_recover(2);
    assert_false(has_unknown_delete(&worlds[0]) || has_unknown_delete(&worlds[1])); /* the history was there */
}

static void what_was_compacted_meanwhile_is_found_by_comparing(void **state) {
    (void)state;
    start_worlds(1);
    put("gone", 1);
    read_expected();
    wait_for_replay(&worlds[0]);
    put_out_of_reach(&worlds[0], PROXY_RESET);
    wait_for_error_code(&worlds[0], KI_ERR_CONNECT);
    drop("gone");
    churn();
    ki_testing_server_compact(server);
    proxy_refuse(worlds[0].proxy, false);
    assert_all_recover(3);
    assert_true(has_unknown_delete(&worlds[0]));
}

static void a_watch_that_is_closed_again_and_again_is_opened_no_faster_than_it_backs_off(void **state) {
    (void)state;
    start_worlds(1);
    for (size_t i = 1; i <= 3; i++) {
        churn();
        read_expected();
        wait_for_replay(&worlds[0]); /* so the watch is open, and has had events */
        ki_testing_server_close_watches(server);
        proxy_wait_requests(worlds[0].proxy, worlds[0].requests_before + i);
    }
    churn();
    assert_all_recover(3);
}

/* ---- answers ---- */

#define STATUS(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"no\",\"reason\":" \
    "\"" reason "\",\"code\":" code "}"

#define ANSWER(status_line, body) \
    "HTTP/1.1 " status_line "\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body

#define TOO_LARGE \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":" \
    "\"Too large resource version: 99, current: 9\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":" \
    "\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}]},\"code\":504}"

/* Whatever the first request is answered with, the copy comes. */
static void a_first_answer_that_is_an_error_is_no_end(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t times;
    } rows[] = {
        { ANSWER("400 Bad Request", STATUS("400", "BadRequest")), 1 }, /* streaming lists are new to it */
        { ANSWER("422 Unprocessable Entity", STATUS("422", "Invalid")), 1 },
        { ANSWER("410 Gone", STATUS("410", "Expired")), 1 },
        { ANSWER("504 Gateway Timeout", TOO_LARGE), 1 },
        { ANSWER("200 OK", "{\"type\":\"ERROR\",\"object\":" TOO_LARGE "}\n"), 1 },
        { ANSWER("200 OK", "{\"type\":\"ERROR\",\"object\":" STATUS("500", "InternalError") "}\n"), 1 },
        { "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\n\r\n", 1 },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", 2 },
        { ANSWER("200 OK", "{\"kind\":\"Status\"}"), 2 },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    open_worlds(count);
    for (size_t i = 0; i < count; i++) {
        proxy_answer(worlds[i].proxy, rows[i].text, rows[i].times);
        start_world(&worlds[i]);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_factory_wait_for_sync(worlds[i].factory, PATIENCE_MS, NULL), KI_OK);
    assert_all_recover(6);
    for (size_t i = 0; i < count; i++)
        assert_true(errors_of(&worlds[i]) >= 1);
}

static void wait_for_words(world *self, const char *words) {
    struct timespec until = in_a_while();
    char last[KI_HEALTH_WORDS_MAX];
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (strcmp(self->words, words) != 0 && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    snprintf(last, sizeof last, "%s", self->words);
    pthread_mutex_unlock(&self->lock);
    assert_string_equal(last, words);
}

/* At the start the streaming list and the list are refused; later a watch that is opened again. */
static void what_a_person_has_to_mend_is_said_and_found_mended(void **state) {
    (void)state;
    static const struct {
        const char *text, *list_words, *watch_words;
    } rows[] = {
        { ANSWER("401 Unauthorized", STATUS("401", "Unauthorized")),
          "unauthorized: the server does not accept the credentials",
          "unauthorized: the server does not accept the credentials" },
        { ANSWER("403 Forbidden", STATUS("403", "Forbidden")), "forbidden: list configmaps at cluster scope",
          "forbidden: watch configmaps at cluster scope" },
        { "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n404 page not found\n",
          "the server has no configmaps in version v1", "the server has no configmaps in version v1" },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    open_worlds(count);
    for (size_t i = 0; i < count; i++) {
        proxy_answer(worlds[i].proxy, rows[i].text, 2);
        start_world(&worlds[i]);
    }
    for (size_t i = 0; i < count; i++) {
        wait_for_words(&worlds[i], rows[i].list_words);
        wait_for_replay(&worlds[i]);
        pthread_mutex_lock(&worlds[i].lock);
        worlds[i].words[0] = '\0';
        pthread_mutex_unlock(&worlds[i].lock);
        proxy_answer(worlds[i].proxy, rows[i].text, 1);
        proxy_cut_all(worlds[i].proxy, PROXY_CLOSE);
    }
    churn();
    for (size_t i = 0; i < count; i++)
        wait_for_words(&worlds[i], rows[i].watch_words);
    assert_all_recover(8);
}

static void an_answer_that_is_no_watch_is_no_end(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at_most; /* requests */
    } rows[] = {
        { "HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" STATUS("410", "Expired"),
          3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
          "{\"type\":\"ERROR\",\"object\":" STATUS("410", "Expired") "}\n",
          3 },
        { "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
          "Connection: close\r\n\r\n" STATUS("429", "TooManyRequests"),
          3 },
        { ANSWER("504 Gateway Timeout", TOO_LARGE), 3 },
        { ANSWER("200 OK", "{\"type\":\"ERROR\",\"object\":" TOO_LARGE "}\n"), 3 },
        { ANSWER("200 OK", "{\"type\":\"ERROR\",\"object\":" STATUS("500", "InternalError") "}\n"), 3 },
        { "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n", 3 },
        { "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>", 3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>log in</html>", 3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 3 },
        { "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 4 },
        { "SSH-2.0-OpenSSH_9.2\r\n", 3 },
        { "", 3 },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    start_worlds(count);
    for (size_t i = 0; i < count; i++) {
        proxy_answer(worlds[i].proxy, rows[i].text, 1);
        proxy_cut_all(worlds[i].proxy, PROXY_CLOSE);
    }
    churn();
    for (size_t i = 0; i < count; i++)
        wait_for_errors(&worlds[i], 1);
    assert_all_recover(4);
    for (size_t i = 0; i < count; i++)
        assert_few_requests(&worlds[i], rows[i].at_most);
}

#define FAULT(name) cmocka_unit_test_teardown(name, close_worlds)

int main(void) {
    const struct CMUnitTest tests[] = {
        FAULT(a_stream_cut_at_any_byte_goes_on_where_it_was),
        FAULT(a_first_list_cut_at_any_byte_is_listed_again),
        FAULT(a_character_may_come_in_two_parts_or_never_whole),
        FAULT(bytes_may_come_one_by_one),
        FAULT(many_events_may_come_in_one_segment),
        FAULT(what_a_silent_connection_has_swallowed_is_asked_for_again),
        FAULT(garbage_in_the_stream_costs_no_object),
        FAULT(a_server_out_of_reach_is_found_again),
        FAULT(what_was_compacted_meanwhile_is_found_by_comparing),
        FAULT(a_watch_that_is_closed_again_and_again_is_opened_no_faster_than_it_backs_off),
        FAULT(a_first_answer_that_is_an_error_is_no_end),
        FAULT(what_a_person_has_to_mend_is_said_and_found_mended),
        FAULT(an_answer_that_is_no_watch_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

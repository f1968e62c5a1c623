/* world.c: see world.h. */
#include "tests/support/world.h"

#include <kinformer-testing/faults.h>

#include "src/engine/engine.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yyjson.h>

ki_testing_server *world_server;
world worlds[WORLDS];
size_t world_count;

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

/* Caller holds the lock. */
static void stick(world *self) {
    while (self->is_stuck)
        pthread_cond_wait(&self->news, &self->lock);
}

static void note(told *one, const ki_object *obj) {
    snprintf(one->key, sizeof one->key, "%s", ki_object_key(obj));
    snprintf(one->uid, sizeof one->uid, "%s", ki_object_uid(obj));
    snprintf(one->version, sizeof one->version, "%s", ki_object_resource_version(obj));
}

static void on_add(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    stick(self);
    self->changes.adds++;
    if (find_told(self->objects, self->count, ki_object_key(event->obj)) || self->count == WORLD_OBJECTS)
        violate(self, "added twice:", event->obj);
    else
        note(&self->objects[self->count++], event->obj);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_update(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    stick(self);
    self->changes.updates++;
    told *one = find_told(self->objects, self->count, ki_object_key(event->obj));
    if (!one || strcmp(one->version, ki_object_resource_version(event->old)) != 0)
        violate(self, "an update from another state:", event->obj);
    else if (strcmp(one->uid, ki_object_uid(event->obj)) != 0)
        violate(self, "an update between two identities:", event->obj);
    else if (!self->may_go_back &&
             ki_resource_version_compare(ki_object_resource_version(event->obj), one->version) != KI_ORDER_NEWER)
        violate(self, "an update to what is not newer:", event->obj);
    else
        note(one, event->obj);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

static void on_delete(const ki_event *event, void *user) {
    world *self = user;
    pthread_mutex_lock(&self->lock);
    stick(self);
    self->changes.deletes++;
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
    pthread_mutex_lock(&self->lock);
    self->state = health->state;
    if (health->state == KI_STATE_BLOCKED)
        snprintf(self->words, sizeof self->words, "%s", health->message);
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

/* ---- what the server has ---- */

static struct {
    told objects[WORLD_OBJECTS];
    yyjson_doc *docs[WORLD_OBJECTS];
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
    if (expected.count == WORLD_OBJECTS)
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

void world_read_expected(void) {
    forget_expected();
    ki_testing_server_each(world_server, KI_CONFIGMAPS, expect_one, NULL);
    assert_int_equal(expected.count, ki_testing_server_count(world_server, KI_CONFIGMAPS));
}

size_t world_expected(told *ret_objects) {
    memcpy(ret_objects, expected.objects, expected.count * sizeof *ret_objects);
    return expected.count;
}

/* Returns the first difference; NULL: none. Caller holds the world's lock. */
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
    until.tv_sec += WORLD_PATIENCE_MS / 1000;
    return until;
}

void world_wait_for_replay(world *self) {
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

void world_wait_for_errors(world *self, size_t least) {
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

size_t world_errors(world *self) {
    pthread_mutex_lock(&self->lock);
    size_t errors = self->errors;
    pthread_mutex_unlock(&self->lock);
    return errors;
}

told_changes world_changes(world *self) {
    pthread_mutex_lock(&self->lock);
    told_changes changes = self->changes;
    pthread_mutex_unlock(&self->lock);
    return changes;
}

static bool wait_until(world *self, bool (*holds)(const world *self), const struct timespec *until) {
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (!holds(self) && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, until);
    bool held = holds(self);
    pthread_mutex_unlock(&self->lock);
    return held;
}

void world_wait_until(world *self, bool (*holds)(const world *self)) {
    struct timespec until = in_a_while();
    assert_true(wait_until(self, holds, &until));
}

bool world_has_unknown_delete(world *self) {
    pthread_mutex_lock(&self->lock);
    bool has = self->unknown_delete;
    pthread_mutex_unlock(&self->lock);
    return has;
}

void world_assert_copy_is_the_servers(world *self) {
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

void world_put(const char *name, unsigned round) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"data\":{\"round\":\"%u\",\"text\":\"" UMLAUTS
             " \\u00e9\\\\ \\\"}\\n\"}}",
             name, round);
    assert_int_equal(ki_testing_server_put(world_server, KI_CONFIGMAPS, json, 0, NULL), KI_OK);
}

void world_patch(const char *name, unsigned round) {
    char json[64];
    snprintf(json, sizeof json, "{\"data\":{\"round\":\"%u\"}}", round);
    assert_int_equal(ki_testing_server_patch(world_server, KI_CONFIGMAPS, "default", name, json, 0, NULL), KI_OK);
}

void world_drop(const char *name) {
    assert_int_equal(ki_testing_server_delete(world_server, KI_CONFIGMAPS, "default", name, NULL), KI_OK);
}

void world_churn(void) {
    static unsigned round;
    char name[32];
    round++;
    world_put("changed", round);
    world_patch("changed", round + 1000);
    snprintf(name, sizeof name, "made-%u", round % 8);
    world_put(name, round);
    world_put("deleted", round);
    world_put("short-lived", round);
    world_drop("short-lived");
    world_drop("again");
    world_put("again", round);
    world_drop("deleted");
    world_put("deleted", round + 1000);
    if (round % 2)
        world_drop("deleted");
    world_put("zz-marker", round);
}

void world_fault(const char *line) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_add_fault(world_server, line, NULL, &err))
        fail_msg("%s", ki_error_message(&err));
}

void world_assert_faults_injected(void) {
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    assert_int_equal(ki_testing_server_faults(world_server, &text, NULL), KI_OK);
    if (strstr(text.data, "\"injected\":0"))
        fail_msg("never struck: %s", text.data);
    ki_testing_text_clear(&text);
}

void world_stick(world *self, bool is_stuck) {
    pthread_mutex_lock(&self->lock);
    self->is_stuck = is_stuck;
    pthread_cond_broadcast(&self->news);
    pthread_mutex_unlock(&self->lock);
}

/* ---- time ---- */

static int64_t own_now(void *user) {
    world *self = user;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return KI_SECONDS(now.tv_sec) + now.tv_nsec + atomic_load(&self->skipped_ns);
}

typedef struct leap {
    world *world;
    int64_t ms;
} leap;

/* Runs on the loop, which checks its timers next. */
static void take_leap(void *user) {
    const leap *one = user;
    atomic_fetch_add(&one->world->skipped_ns, KI_MILLISECONDS(one->ms));
}

void world_skip(world *self, int64_t ms) {
    leap one = { self, ms };
    ki_engine_call(self->engine, take_leap, &one);
}

void world_skip_until(world *self, int64_t step_ms, bool (*holds)(const world *self)) {
    enum {
        STEPS = 300,
        NEWS_NS = 200000000 /* bytes can arrive for this long after a step */
    };
    struct timespec until;
    for (int i = 0; i < STEPS; i++) {
        world_skip(self, step_ms);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += NEWS_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (wait_until(self, holds, &until))
            return;
    }
    fail_msg("informer %zu: nothing has come of %d times %lld ms", (size_t)(self - worlds), STEPS, (long long)step_ms);
}

/* ---- worlds ---- */

static void open_world(world *self, const world_plan *plan) {
    const ki_handler handler = { .on_add = on_add, .on_update = on_update, .on_delete = on_delete };
    const ki_clock clock = { .now = own_now, .user = self };
    ki_config *config = NULL;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->news, NULL);
    self->may_go_back = plan->may_go_back;
    self->proxy = proxy_start(ki_testing_server_url(world_server));
    if (plan->has_own_time)
        assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &clock), &self->engine, NULL), KI_OK);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = proxy_url(self->proxy)), &config, NULL), KI_OK);
    assert_int_equal(
        ki_factory_new(config,
                       &KI_FACTORY_OPTIONS(.engine = self->engine, .no_streaming_list = plan->no_streaming_list),
                       &self->factory, NULL),
        KI_OK);
    ki_config_free(config);
    assert_int_equal(ki_factory_informer(self->factory, KI_CONFIGMAPS, plan->informer.size ? &plan->informer : NULL,
                                         &self->informer, NULL),
                     KI_OK);
    assert_int_equal(ki_informer_add_handler(self->informer, &handler, self, NULL, NULL, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(self->informer, on_error, self, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(self->informer, on_state, self, NULL), KI_OK);
}

void world_start(world *self) {
    assert_int_equal(ki_factory_start(self->factory, NULL), KI_OK);
    if (self->engine)
        assert_int_equal(ki_engine_start(self->engine, NULL), KI_OK);
}

void worlds_open(size_t count, const world_plan *given) {
    const world_plan plan = given ? *given : (world_plan){ .has_own_time = false };
    assert_true(count <= WORLDS);
    assert_int_equal(ki_testing_server_new(NULL, &world_server, NULL), KI_OK);
    world_put("again", 0);
    world_churn();
    world_read_expected();
    memset(worlds, 0, sizeof worlds);
    while (world_count < count)
        open_world(&worlds[world_count++], &plan);
}

void worlds_start(size_t count, const world_plan *plan) {
    worlds_open(count, plan);
    for (size_t i = 0; i < count; i++)
        world_start(&worlds[i]);
    for (size_t i = 0; i < count; i++) {
        world_wait_for_replay(&worlds[i]);
        assert_int_equal(ki_factory_wait_for_sync(worlds[i].factory, WORLD_PATIENCE_MS, NULL, NULL), KI_OK);
        worlds[i].requests_before = proxy_requests(worlds[i].proxy);
        assert_int_equal(world_errors(&worlds[i]), 0);
    }
}

void world_assert_few_requests(world *self, size_t at_most) {
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

size_t world_requests_with(world *self, const char *text) {
    size_t count = 0;
    for (size_t i = self->requests_before; i < proxy_requests(self->proxy); i++) {
        char target[256];
        proxy_target(self->proxy, i, target, sizeof target);
        count += strstr(target, text) != NULL;
    }
    return count;
}

void worlds_assert_all_recover(size_t requests_at_most) {
    for (int i = 0; i < 2; i++) {
        world_read_expected();
        for (size_t j = 0; j < world_count; j++) {
            world_wait_for_replay(&worlds[j]);
            world_assert_copy_is_the_servers(&worlds[j]);
            world_assert_few_requests(&worlds[j], requests_at_most);
        }
        world_churn();
    }
    world_read_expected();
    for (size_t j = 0; j < world_count; j++)
        world_wait_for_replay(&worlds[j]);
}

int worlds_close(void **state) {
    (void)state;
    while (world_count) {
        world *self = &worlds[--world_count];
        world_stick(self, false);
        ki_factory_free(self->factory);
        ki_engine_free(self->engine);
        proxy_free(self->proxy);
        pthread_mutex_destroy(&self->lock);
        pthread_cond_destroy(&self->news);
    }
    forget_expected();
    ki_testing_server_free(world_server);
    world_server = NULL;
    return 0;
}

/* Returns the most errors within a time: the lost watch, and failures to connect. The first waits between those are at
 * least 0.1, 0.2 and 0.4 s, then 0.8 s, 1.6 s, … */
static size_t most_errors(int64_t elapsed_ns) {
    size_t most = 2;
    for (int64_t wait = KI_MILLISECONDS(100); elapsed_ns >= wait; wait *= 2) {
        elapsed_ns -= wait;
        most++;
    }
    return most;
}

void world_wait_for_error_code(world *self, ki_status code) {
    struct timespec until = in_a_while();
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (self->last_error.code != code && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    ki_status last = self->last_error.code;
    size_t errors = self->errors - self->errors_before;
    int64_t elapsed_ns = ki_monotonic_now() - self->out_since;
    pthread_mutex_unlock(&self->lock);
    assert_int_equal(last, code);
    assert_in_range(errors, 1, most_errors(elapsed_ns)); /* no tight loop */
}

static bool is_out_of_reach(const world *self) {
    return self->last_error.code == KI_ERR_CONNECT;
}

void world_wait_out_of_reach(world *self) {
    world_wait_until(self, is_out_of_reach);
}

void world_put_out_of_reach(world *self, proxy_fault how) {
    self->errors_before = world_errors(self);
    self->out_since = ki_monotonic_now();
    proxy_refuse(self->proxy, true);
    proxy_cut_all(self->proxy, how);
}

void world_wait_for_words(world *self, const char *words) {
    struct timespec until = in_a_while();
    char last[KI_HEALTH_MESSAGE_MAX];
    int late = 0;
    pthread_mutex_lock(&self->lock);
    while (strcmp(self->words, words) != 0 && !late)
        late = pthread_cond_timedwait(&self->news, &self->lock, &until);
    snprintf(last, sizeof last, "%s", self->words);
    pthread_mutex_unlock(&self->lock);
    assert_string_equal(last, words);
}

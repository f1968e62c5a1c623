/* informer_stage.c: see informer_stage.h. */
#include "tests/support/informer_stage.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Asserts that the store has this state of the object; NULL: that it has none. */
static void check_store(const observer *self, const ki_object *obj, const char *version) {
    if (!self->reads_the_store)
        return;
    ki_object *stored = ki_informer_get(self->stage->informer, ki_object_key(obj));
    assert_int_equal(stored != NULL, version != NULL);
    if (stored)
        assert_string_equal(notation_version(stored).text, version);
    ki_object_unref(stored);
}

static void add_note(observer *self, const char *text) {
    assert_int_equal(self->removed, 0);
    notation_add(self->notes, " ", text);
    if (self->store_size) {
        ki_snapshot *snapshot = ki_informer_snapshot(self->stage->informer);
        assert_int_equal(ki_snapshot_count(snapshot), self->store_size);
        ki_snapshot_free(snapshot);
    }
    ki_error err = KI_ERROR_INIT;
    if (self->removes_itself) {
        self->removes_itself = false;
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->registration, &err), KI_OK);
    }
    if (self->removes.informer) {
        assert_int_equal(ki_informer_remove_handler(self->stage->informer, self->removes, &err), KI_OK);
        self->removes = (ki_registration){ NULL, 0 };
    }
}

static void on_add(const ki_event *e, void *user) {
    const observer *self = user;
    assert_null(e->old);
    if (e->is_in_initial_list && self->registration.informer)
        assert_false(ki_registration_has_synced(self->registration));
    check_store(self, e->obj, notation_version(e->obj).text);
    add_note(user, notation_change('+', NULL, e->obj, e->is_in_initial_list ? "i" : "").text);
}

static void on_update(const ki_event *e, void *user) {
    check_store(user, e->obj, notation_version(e->obj).text);
    add_note(user, notation_change('~', e->old, e->obj, e->is_resync ? "r" : "").text);
}

static void on_delete(const ki_event *e, void *user) {
    assert_null(e->old);
    check_store(user, e->obj, NULL);
    add_note(user, notation_change(e->final_state_unknown ? '?' : '-', NULL, e->obj, "").text);
}

static void on_synced(ki_informer *informer, void *user) {
    const observer *self = user;
    assert_ptr_equal(informer, self->stage->informer);
    if (self->registration.informer)
        assert_false(ki_registration_has_synced(self->registration));
    add_note(user, "synced");
}

static void on_removed(void *user) {
    observer *self = user;
    add_note(self, "removed");
    self->removed++;
}

const ki_handler observing = {
    .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .on_synced = on_synced, .on_removed = on_removed
};

/* --- stage -------------------------------------------------------------------------------------------------------- */

ki_queue_kind queue_kind;

int use_delta_fifo(void **state) {
    (void)state;
    queue_kind = KI_QUEUE_DELTA_FIFO;
    return 0;
}

int use_in_order_queue(void **state) {
    (void)state;
    queue_kind = KI_QUEUE_IN_ORDER;
    return 0;
}

const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    stage *s = user;
    (void)informer;
    char text[NOTATION_WORD];
    snprintf(text, sizeof text, "%s:%s", ki_status_name(cause->code), notation_key(key));
    notation_add(s->errors, " ", text);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    stage *s = user;
    (void)informer;
    notation_add(s->states, ", ", ki_state_name(health->state));
}

static void note_log_line(ki_log_level level, const char *component, const char *message, void *user) {
    stage *s = user;
    size_t used = strlen(s->log);
    snprintf(s->log + used, sizeof s->log - used, "%c %s: %s\n", "-EWID"[level], component, message);
}

ki_status open_stage_of(stage *s, const ki_resource *resource, ki_shared_informer_options options,
                        const ki_allocator *allocator) {
    memset(s, 0, sizeof *s);
    const ki_log log = { .write = note_log_line, .user = s };
    if (!test_engine_open_logged(&s->engine, allocator, 1, &log))
        return KI_ERR_NO_MEMORY;
    fake_init(&s->source);
    s->source.engine = s->engine.engine;
    options.engine = s->engine.engine;
    options.list_watch = &s->source.base;
    options.given.queue = queue_kind;
    settle(s); /* the informer is stepped from here on */
    ki_status status = informer_of(resource, options, &s->informer);
    if (status) {
        test_engine_close(&s->engine);
        return status;
    }
    assert_int_equal(ki_informer_set_watch_error_handler(s->informer, on_error, s, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(s->informer, on_state, s, NULL), KI_OK);
    return KI_OK;
}

ki_status open_stage_with(stage *s, ki_shared_informer_options options, const ki_allocator *allocator) {
    return open_stage_of(s, &configmaps, options, allocator);
}

void open_stage(stage *s, int64_t resync_ms) {
    const ki_shared_informer_options options = { .given.resync_ms = resync_ms, .factory = streaming_if(false) };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
}

void open_streaming_stage(stage *s) {
    assert_int_equal(open_stage_with(s, (ki_shared_informer_options){ .given.resync_ms = 0 }, NULL), KI_OK);
}

void start_stage(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    settle(s);
}

void open_observed_stage(stage *s, observer *h, const ki_registration_options *options) {
    open_stage(s, 0);
    add_observer(h, s, options);
    start_stage(s);
}

void open_transformed_stage(stage *s, observer *h, ki_transform transform, void *user) {
    open_stage(s, 0);
    assert_int_equal(ki_informer_set_transform(s->informer, transform, user, NULL), KI_OK);
    add_observer(h, s, NULL);
    start_stage(s);
}

void open_listed_stage(stage *s, observer *h) {
    open_observed_stage(s, h, NULL);
    play_each(s, LISTED "\n> +a=5i +b=6i synced");
}

void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    assert_true(s->source.freed);
    test_engine_close(&s->engine);
}

/* --- scripts ------------------------------------------------------------------------------------------------------ */

static void check_version(const stage *s, const char *step, const char *version) {
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    version = strcmp(version, "-") == 0 ? "" : version;
    if (strcmp(ki_snapshot_resource_version(snapshot), version) != 0)
        fail_msg("at \"%s\": it is \"%s\"", step, ki_snapshot_resource_version(snapshot));
    ki_snapshot_free(snapshot);
}

static void check_objects(const stage *s, const char *step, const char *objects) {
    noted_change changes[NOTATION_LIST];
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    size_t count = notation_read_changes(strcmp(objects, "-") == 0 ? "" : objects, changes);
    for (size_t i = 0; i < count; i++) {
        const ki_object *obj = ki_snapshot_get(snapshot, changes[i].key);
        if (!obj || strcmp(notation_version(obj).text, changes[i].version) != 0)
            fail_msg("at \"%s\": %s is at \"%s\"", step, changes[i].key, obj ? notation_version(obj).text : "");
    }
    assert_int_equal(ki_snapshot_count(snapshot), count);
    ki_snapshot_free(snapshot);
}

static void check_unreadable(const stage *s, const char *step, const char *expected) {
    const ki_health health = health_of(s);
    char found[TEXT];
    snprintf(found, sizeof found, "%zu %s", (size_t)health.unreadable, health.unreadable_message);
    notation_expect(step, found, expected);
}

static void play_step(const char *step, void *user) {
    stage *s = user;
    const char *rest;
    if (strcmp(step, "settle") == 0) {
        settle(s);
    } else if ((rest = notation_after(step, "> "))) {
        notation_expect(step, s->observers[0]->notes, rest);
    } else if ((rest = notation_after(step, ">> "))) {
        notation_expect(step, s->observers[1]->notes, rest);
    } else if ((rest = notation_after(step, "errors "))) {
        notation_expect(step, s->errors, rest);
    } else if ((rest = notation_after(step, "at "))) {
        check_version(s, step, rest);
    } else if ((rest = notation_after(step, "store "))) {
        check_objects(s, step, rest);
    } else if ((rest = notation_after(step, "unreadable "))) {
        check_unreadable(s, step, rest);
    } else {
        fake_step(&s->source, &s->engine, step);
    }
}

static void play_step_and_settle(const char *step, void *user) {
    play_step(step, user);
    settle(user);
}

void settle(stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

void play(stage *s, const char *script) {
    notation_play(script, play_step, s);
}

void play_each(stage *s, const char *script) {
    notation_play(script, play_step_and_settle, s);
}

void play_all(stage *s, const char *script) {
    play(s, script);
    settle(s);
}

void play_informer(const char *script) {
    stage s;
    observer h;
    open_observed_stage(&s, &h, NULL);
    play_each(&s, script);
    close_stage(&s);
}

/* --- observers ---------------------------------------------------------------------------------------------------- */

void add_observer_of(observer *h, stage *s, const ki_handler *handler, const ki_registration_options *options) {
    memset(h, 0, sizeof *h);
    h->stage = s;
    for (size_t i = 0; i < OBSERVERS; i++)
        if (!s->observers[i]) {
            s->observers[i] = h;
            break;
        }
    assert_int_equal(ki_informer_add_handler(s->informer, handler, h, options, &h->registration, NULL), KI_OK);
}

void add_observer(observer *h, stage *s, const ki_registration_options *options) {
    add_observer_of(h, s, &observing, options);
}

void expect(observer *h, const char *notes) {
    assert_string_equal(h->notes, notes);
    h->notes[0] = '\0';
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void expect_any_order(observer *h, const char *notes) {
    char copy[TEXT];
    char *words[64];
    size_t count = 0;
    char *rest = NULL;
    strcpy(copy, h->notes);
    char sorted[TEXT] = "";
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    qsort(words, count, sizeof *words, by_text);
    for (size_t i = 0; i < count; i++) {
        strcat(sorted, i ? " " : "");
        strcat(sorted, words[i]);
    }
    assert_string_equal(sorted, notes);
    h->notes[0] = '\0';
}

ki_health health_of(const stage *s) {
    ki_health health;
    ki_informer_health(s->informer, &health);
    return health;
}

ki_status reject_sevens(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    const char *version = ki_object_resource_version(obj);
    if (version[strlen(version) - 1] == '7')
        return KI_ERR_INVALID;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

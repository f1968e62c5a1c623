/* informer_stage.c: see informer_stage.h. */
#include "tests/support/informer_stage.h"
#include "tests/support/selected.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shown {
    char text[64];
} shown;

static shown version_of(const ki_object *obj) {
    shown v;
    ki_value seen = KI_VALUE_INIT;
    bool is_marked = ki_object_field(obj, "data.seen", &seen, NULL) == KI_OK;
    snprintf(v.text, sizeof v.text, "%s%s%s%s", ki_object_resource_version(obj), is_marked ? "(" : "",
             is_marked ? seen.text : "", is_marked ? ")" : "");
    ki_value_clear(&seen);
    return v;
}

/* Asserts that the store has this state of the object; NULL: that it has none. */
static void check_store(const observer *self, const ki_object *obj, const char *version) {
    if (!self->reads_the_store)
        return;
    ki_object *stored = ki_informer_get(self->stage->informer, ki_object_key(obj));
    assert_int_equal(stored != NULL, version != NULL);
    if (stored)
        assert_string_equal(version_of(stored).text, version);
    ki_object_unref(stored);
}

static void add_note(observer *self, const char *text) {
    size_t used = strlen(self->notes);
    assert_int_equal(self->removed, 0);
    snprintf(self->notes + used, sizeof self->notes - used, "%s%s", used ? " " : "", text);
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
    char text[TEXT];
    const observer *self = user;
    assert_null(e->old);
    if (e->is_in_initial_list && self->registration.informer)
        assert_false(ki_registration_has_synced(self->registration));
    check_store(self, e->obj, version_of(e->obj).text);
    snprintf(text, sizeof text, "+%s=%s%s", ki_object_name(e->obj), version_of(e->obj).text,
             e->is_in_initial_list ? "i" : "");
    add_note(user, text);
}

static void on_update(const ki_event *e, void *user) {
    char text[TEXT];
    check_store(user, e->obj, version_of(e->obj).text);
    snprintf(text, sizeof text, "~%s=%s>%s%s", ki_object_name(e->obj), version_of(e->old).text, version_of(e->obj).text,
             e->is_resync ? "r" : "");
    add_note(user, text);
}

static void on_delete(const ki_event *e, void *user) {
    char text[TEXT];
    assert_null(e->old);
    check_store(user, e->obj, NULL);
    snprintf(text, sizeof text, "-%s=%s%s", ki_object_name(e->obj), version_of(e->obj).text,
             e->final_state_unknown ? "?" : "");
    add_note(user, text);
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

bool in_order;

const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    stage *s = user;
    (void)informer;
    size_t used = strlen(s->errors);
    snprintf(s->errors + used, sizeof s->errors - used, "%s%s:%s", used ? " " : "", ki_status_name(cause->code), key);
}

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    stage *s = user;
    (void)informer;
    size_t used = strlen(s->states);
    snprintf(s->states + used, sizeof s->states - used, "%s%s", used ? ", " : "", ki_state_name(health->state));
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
    options.given.in_order = in_order;
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
    const ki_shared_informer_options options = { .given.resync_ms = resync_ms, .given.no_streaming_list = true };
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

static const char *after(const char *line, const char *word) {
    size_t size = strlen(word);
    return strncmp(line, word, size) == 0 ? line + size : NULL;
}

static void check_text(const char *line, char *is, const char *should_be) {
    if (strcmp(is, strcmp(should_be, "-") == 0 ? "" : should_be) != 0)
        fail_msg("at \"%s\": it is \"%s\"", line, is);
    is[0] = '\0';
}

static void check_version(const stage *s, const char *line, const char *version) {
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    if (strcmp(ki_snapshot_resource_version(snapshot), version) != 0)
        fail_msg("at \"%s\": it is \"%s\"", line, ki_snapshot_resource_version(snapshot));
    ki_snapshot_free(snapshot);
}

static void check_objects(const stage *s, const char *line, const char *objects) {
    char copy[TEXT];
    char *rest = NULL;
    size_t count = 0;
    ki_snapshot *snapshot = ki_informer_snapshot(s->informer);
    strcpy(copy, strcmp(objects, "-") == 0 ? "" : objects);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest), count++) {
        char key[TEXT];
        char *version = strchr(word, '=');
        snprintf(key, sizeof key, "default/%.*s", (int)(version - word), word);
        const ki_object *obj = ki_snapshot_get(snapshot, key);
        if (!obj || strcmp(version_of(obj).text, version + 1) != 0)
            fail_msg("at \"%s\": %s is at \"%s\"", line, key, obj ? version_of(obj).text : "");
    }
    assert_int_equal(ki_snapshot_count(snapshot), count);
    ki_snapshot_free(snapshot);
}

static void check_unreadable(const stage *s, const char *line, const char *expected) {
    const ki_health health = health_of(s);
    char found[TEXT];
    snprintf(found, sizeof found, "%zu %s", (size_t)health.unreadable, health.unreadable_message);
    check_text(line, found, expected);
}

static void play_line(stage *s, const char *line) {
    const char *rest;
    if ((rest = after(line, "wait "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
    } else if (strcmp(line, "settle") == 0) {
        settle(s);
    } else if ((rest = after(line, "quiet "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
        check_text(line, s->source.trace, "-");
    } else if ((rest = after(line, "? "))) {
        check_text(line, s->source.trace, rest);
    } else if ((rest = after(line, "> "))) {
        check_text(line, s->observers[0]->notes, rest);
    } else if ((rest = after(line, ">> "))) {
        check_text(line, s->observers[1]->notes, rest);
    } else if ((rest = after(line, "errors "))) {
        check_text(line, s->errors, rest);
    } else if ((rest = after(line, "at "))) {
        check_version(s, line, rest);
    } else if ((rest = after(line, "store "))) {
        check_objects(s, line, rest);
    } else if ((rest = after(line, "unreadable "))) {
        check_unreadable(s, line, rest);
    } else if (!fake_play(&s->source, line)) {
        fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
}

static void play_lines(stage *s, const char *lines, bool settles) {
    char copy[TEXT];
    char *rest = NULL;
    assert_true(strlen(lines) < sizeof copy);
    strcpy(copy, lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        play_line(s, line);
        if (settles)
            settle(s);
    }
}

void play(stage *s, const char *lines) {
    play_lines(s, lines, false);
}

void settle(stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

void play_each(stage *s, const char *lines) {
    play_lines(s, lines, true);
}

void play_all(stage *s, const char *lines) {
    play_lines(s, lines, false);
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
    assert_int_equal(ki_informer_register(s->informer, handler, h, options, &h->registration, NULL), KI_OK);
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

ki_status reject_sevens(ki_object *obj, ki_object **ret_obj, void *user) {
    (void)user;
    const char *version = ki_object_resource_version(obj);
    if (version[strlen(version) - 1] == '7')
        return KI_ERR_INVALID;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

/* informer_stage.c: see informer_stage.h. */
#include "tests/support/informer_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *short_key(const ki_object *obj) {
    return ki_object_name(obj);
}

static void add_note(observer *self, const char *text) {
    size_t used = strlen(self->notes);
    assert_int_equal(self->removed, 0);
    snprintf(self->notes + used, sizeof self->notes - used, "%s%s", used ? " " : "", text);
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
    assert_null(e->old);
    snprintf(text, sizeof text, "+%s=%s%s", short_key(e->obj), ki_object_resource_version(e->obj),
             e->is_in_initial_list ? "i" : "");
    add_note(user, text);
}

static void on_update(const ki_event *e, void *user) {
    char text[TEXT];
    snprintf(text, sizeof text, "~%s=%s>%s%s", short_key(e->obj), ki_object_resource_version(e->old),
             ki_object_resource_version(e->obj), e->is_resync ? "r" : "");
    add_note(user, text);
}

static void on_delete(const ki_event *e, void *user) {
    char text[TEXT];
    assert_null(e->old);
    snprintf(text, sizeof text, "-%s=%s%s", short_key(e->obj), ki_object_resource_version(e->obj),
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

/* --- stage --------------------------------------------------------------------------------------------------------------------------- */

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

static void open_stage_as(stage *s, int64_t resync_ms, bool streams) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    ki_shared_informer_options options = {
        .engine = s->engine.engine,
        .list_watch = &s->source.base,
        .resource = &configmaps,
        .resync_ns = KI_MILLISECONDS(resync_ms),
        .no_streaming_list = !streams,
        .in_order = in_order,
    };
    assert_int_equal(ki_informer_new(&options, &s->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(s->informer, on_error, s, NULL), KI_OK);
    assert_int_equal(ki_informer_set_state_handler(s->informer, on_state, s, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine)); /* the informer is stepped from here on */
}

void open_stage(stage *s, int64_t resync_ms) {
    open_stage_as(s, resync_ms, false);
}

void open_streaming_stage(stage *s) {
    open_stage_as(s, 0, true);
}

void start_stage(stage *s) {
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
}

void close_stage(stage *s) {
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    assert_true(s->source.freed);
    test_engine_close(&s->engine);
}

void play(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "wait ", 5) == 0)
            assert_true(test_engine_advance(&s->engine, atoi(line + 5)));
        else if (!fake_play(&s->source, line))
            fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
}

void settle(stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

void play_each(stage *s, const char *lines) {
    char copy[TEXT];
    char *rest = NULL;
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        play(s, line);
        settle(s);
    }
}

void add_observer(observer *h, stage *s, const ki_registration_options *options) {
    memset(h, 0, sizeof *h);
    h->stage = s;
    assert_int_equal(ki_informer_register(s->informer, &observing, h, options, &h->registration, NULL), KI_OK);
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

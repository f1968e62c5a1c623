/* reflector_stage.c: see reflector_stage.h. */

#include "tests/support/reflector_stage.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the queue, which records its calls --- */

static reflector_stage *stage_of(ki_queue *queue) {
    return (reflector_stage *)(void *)((char *)queue - offsetof(reflector_stage, queue));
}

static ki_status queue_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    static const char signs[] = { [KI_EVENT_ADD] = '+', [KI_EVENT_UPDATE] = '~', [KI_EVENT_DELETE] = '-' };
    reflector_stage *s = stage_of(queue);
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    assert_true(!change->final_state_unknown || change->type == KI_EVENT_DELETE);
    fake_note(&s->source,
              notation_change(change->final_state_unknown ? '?' : signs[change->type], NULL, change->obj, "").text);
    return KI_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

static ki_status queue_replace(ki_queue *queue, const ki_listing *list, ki_error *err) {
    reflector_stage *s = stage_of(queue);
    const char *version = list->resource_version;
    noted_word words[NOTATION_LIST];
    size_t count = 0;
    char text[NOTATION_TEXT];
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    if (version[0])
        assert_string_not_equal(s->reflector.resource_version, version); /* changes after the queue */
    assert_true(list->count + list->kept_count <= NOTATION_LIST);
    for (size_t i = 0; i < list->count; i++)
        words[count++] = notation_change('\0', NULL, list->objects[i], "");
    for (size_t i = 0; i < list->kept_count; i++)
        snprintf(words[count++].text, sizeof words->text, "%s=!", notation_key(list->kept[i]));
    qsort(words, count, sizeof *words, by_text);
    snprintf(text, sizeof text, "{%s:", version[0] ? version : "-");
    for (size_t i = 0; i < count; i++)
        notation_add(text, " ", words[i].text);
    strcat(text, list->keeps_all ? " ?=!}" : "}");
    fake_note(&s->source, text);
    for (size_t i = 0; i < list->count; i++)
        ki_object_unref(list->objects[i]);
    ki_free(ki_engine_allocator(s->engine.engine), list->objects);
    return KI_OK;
}

static const ki_queue_ops queue_ops = { .put = queue_put, .replace = queue_replace };

/* --- the reflector's callbacks --- */

static void on_state(ki_state state, const ki_error *cause, int64_t retry_at, void *user) {
    reflector_stage *s = user;
    bool waits = state == KI_STATE_BACKING_OFF || state == KI_STATE_BLOCKED;
    bool is_silent = cause && cause->code == KI_ERR_TIMEOUT && state == KI_STATE_LISTING;
    assert_true(waits == (cause != NULL) || is_silent ||
                state == KI_STATE_CONNECTING); /* it may be CONNECTING with a cause: a watch that returns nothing */
    assert_int_equal(waits, retry_at >= 0);
    s->state = state;
}

static void on_listed(size_t listed, int64_t total, void *user) {
    reflector_stage *s = user;
    s->listed = listed;
    s->list_total = total;
}

static void on_error(const ki_error *err, void *user) {
    reflector_stage *s = user;
    size_t used = strlen(s->reports);
    if (err->http_status)
        snprintf(s->reports + used, sizeof s->reports - used, "%s%d", used ? " " : "", err->http_status);
    else
        snprintf(s->reports + used, sizeof s->reports - used, "%s%s", used ? ", " : "", ki_status_name(err->code));
}

static void on_bad_object(const ki_error *err, const char *key, void *user) {
    reflector_stage *s = user;
    (void)err;
    (void)key;
    s->bad_objects++;
}

/* The store has default/a at version 5. */
static ki_object *known(const char *key, void *user) {
    (void)user;
    return strcmp(key, "default/a") == 0 ? noted_object(key, "5", NULL) : NULL;
}

static void on_progress(void *user) {
    (void)user;
}

/* --- scripts --- */

void reflector_stage_open(reflector_stage *s, ki_reflector_options options, uint64_t seed) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, seed));
    fake_init(&s->source);
    s->source.engine = s->engine.engine;
    s->queue.ops = &queue_ops;
    options.engine = s->engine.engine;
    options.list_watch = &s->source.base;
    options.queue = &s->queue;
    options.name = "configmaps";
    options.known = (ki_known_objects){ .get = known };
    assert_int_equal(ki_unreadable_init(&s->unreadable, ki_engine_allocator(s->engine.engine), 1, NULL), KI_OK);
    options.on_state = on_state;
    options.on_listed = on_listed;
    options.on_error = on_error;
    options.on_bad_object = on_bad_object;
    options.on_progress = on_progress;
    options.user = s;
    ki_reflector_open(&s->reflector, &options, &(ki_reflector_shared){ .unreadable = &s->unreadable });
    ki_reflector_start(&s->reflector);
    assert_true(test_engine_settle(&s->engine));
}

void reflector_stage_close(reflector_stage *s) {
    ki_reflector_close(&s->reflector);
    ki_reflector_close(&s->reflector);
    assert_false(s->source.lists || s->source.watches);
    ki_unreadable_destroy(&s->unreadable);
    test_engine_close(&s->engine);
}

static void play_step(const char *step, void *user) {
    reflector_stage *s = user;
    const char *rest;
    char found[NOTATION_TEXT];
    if ((rest = notation_after(step, "state "))) {
        snprintf(found, sizeof found, "%s", ki_state_name(s->state));
        notation_expect(step, found, rest);
    } else if ((rest = notation_after(step, "rv "))) {
        snprintf(found, sizeof found, "%s", s->reflector.resource_version);
        notation_expect(step, found, rest);
    } else if ((rest = notation_after(step, "reports "))) {
        notation_expect(step, s->reports, rest);
    } else if ((rest = notation_after(step, "unreadable "))) {
        ki_unreadable_describe(&s->unreadable, found, sizeof found);
        notation_expect(step, found, rest);
    } else if (strcmp(step, "queue fails") == 0) {
        s->queue_fails = KI_ERR_NO_MEMORY;
    } else if (strcmp(step, "refuse") == 0) {
        s->source.refuse = KI_ERR_NO_MEMORY;
    } else if (strcmp(step, "no descriptor") == 0) {
        s->source.refuse = KI_ERR_SYSTEM;
    } else {
        fake_step(&s->source, &s->engine, step);
    }
    assert_true(test_engine_settle(&s->engine));
}

void reflector_stage_play(reflector_stage *s, const char *script) {
    notation_play(script, play_step, s);
}

/* Jitter must not matter, so the script runs with several seeds. */
void play_reflector(const char *script, ki_reflector_options options) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        reflector_stage s;
        reflector_stage_open(&s, options, seed);
        reflector_stage_play(&s, script);
        reflector_stage_close(&s);
    }
}

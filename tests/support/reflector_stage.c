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
    static const char *const verbs[] = {
        [KI_EVENT_ADD] = "add", [KI_EVENT_UPDATE] = "update", [KI_EVENT_DELETE] = "remove"
    };
    reflector_stage *s = stage_of(queue);
    char text[REFLECTOR_TEXT];
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    assert_true(!change->final_state_unknown || change->type == KI_EVENT_DELETE);
    snprintf(text, sizeof text, "%s %s=%s", change->final_state_unknown ? "lose" : verbs[change->type],
             ki_object_key(change->obj), ki_object_resource_version(change->obj));
    fake_note(&s->source, text);
    return KI_OK;
}

static int by_key(const void *a, const void *b) {
    const ki_object *const *left = a, *const *right = b;
    return strcmp(ki_object_key(*left), ki_object_key(*right));
}

static int by_name(const void *a, const void *b) {
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

static ki_status queue_replace(ki_queue *queue, const ki_listing *list, ki_error *err) {
    reflector_stage *s = stage_of(queue);
    const char *version = list->resource_version, *kept[16];
    size_t count = list->count;
    const ki_object *sorted[16];
    char text[REFLECTOR_TEXT];
    ki_status status = s->queue_fails;
    s->queue_fails = KI_OK;
    if (status)
        return ki_error_set(err, status, "the queue fails");
    assert_true(count <= 16);
    if (version[0])
        assert_string_not_equal(s->reflector.resource_version, version); /* changes after the queue */
    for (size_t i = 0; i < count; i++)
        sorted[i] = list->objects[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    size_t used = (size_t)snprintf(text, sizeof text, "replace %s:", version);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=%s", ki_object_key(sorted[i]),
                                 ki_object_resource_version(sorted[i]));
    assert_true(list->kept_count <= 16);
    for (size_t i = 0; i < list->kept_count; i++)
        kept[i] = list->kept[i];
    qsort(kept, list->kept_count, sizeof *kept, by_name);
    for (size_t i = 0; i < list->kept_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=?", kept[i]);
    if (list->keeps_all)
        snprintf(text + used, sizeof text - used, " ?");
    fake_note(&s->source, text);
    for (size_t i = 0; i < count; i++)
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
    return strcmp(key, "default/a") == 0 ? fake_object(key, "5", NULL) : NULL;
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
    options.unreadable = &s->unreadable;
    options.known = known;
    assert_int_equal(ki_unreadable_init(&s->unreadable, ki_engine_allocator(s->engine.engine), 1, NULL), KI_OK);
    options.on_state = on_state;
    options.on_listed = on_listed;
    options.on_error = on_error;
    options.on_bad_object = on_bad_object;
    options.on_progress = on_progress;
    options.user = s;
    assert_int_equal(ki_reflector_open(&s->reflector, &options, NULL), KI_OK);
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

static const char *after(const char *line, const char *word) {
    size_t size = strlen(word);
    return strncmp(line, word, size) == 0 ? line + size : NULL;
}

static void expect(const char *line, const char *is, const char *should_be) {
    if (strcmp(is, should_be) != 0)
        fail_msg("at \"%s\": it is \"%s\"", line, is);
}

static void play_line(reflector_stage *s, const char *line) {
    const char *rest;
    if ((rest = after(line, "? "))) {
        expect(line, s->source.trace, strcmp(rest, "-") == 0 ? "" : rest);
        s->source.trace[0] = '\0';
    } else if ((rest = after(line, "quiet "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
        expect(line, s->source.trace, "");
    } else if ((rest = after(line, "wait "))) {
        assert_true(test_engine_advance(&s->engine, atoi(rest)));
    } else if ((rest = after(line, "state "))) {
        expect(line, ki_state_name(s->state), rest);
    } else if ((rest = after(line, "rv "))) {
        expect(line, s->reflector.resource_version, strcmp(rest, "-") == 0 ? "" : rest);
    } else if ((rest = after(line, "reports "))) {
        expect(line, s->reports, strcmp(rest, "-") == 0 ? "" : rest);
        s->reports[0] = '\0';
    } else if ((rest = after(line, "unreadable "))) {
        char words[REFLECTOR_TEXT];
        ki_unreadable_describe(&s->unreadable, words, sizeof words);
        expect(line, words, strcmp(rest, "-") == 0 ? "" : rest);
    } else if (strcmp(line, "queue fails") == 0) {
        s->queue_fails = KI_ERR_NO_MEMORY;
    } else if (strcmp(line, "refuse") == 0) {
        s->source.refuse = KI_ERR_NO_MEMORY;
    } else if (strcmp(line, "no descriptor") == 0) {
        s->source.refuse = KI_ERR_SYSTEM;
    } else if (!fake_play(&s->source, line)) {
        fail_msg("the source cannot do \"%s\" now; it was asked: %s", line, s->source.trace);
    }
    assert_true(test_engine_settle(&s->engine));
}

void reflector_stage_play(reflector_stage *s, const char *script) {
    char copy[4096];
    char *rest = NULL;
    assert_true(strlen(script) < sizeof copy);
    strcpy(copy, script);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        play_line(s, line);
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

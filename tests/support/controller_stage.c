/* controller_stage.c: see controller_stage.h. */
#include "tests/support/controller_stage.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/factory/factory.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t start_ms = 1750000000000;

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static int64_t clock_now(void *user) {
    return ((test_engine *)user)->now;
}

static void note_line(ki_log_level level, const char *component, const char *message, void *user) {
    controller_stage *s = user;
    size_t used = strlen(s->logged), of_synced = strlen(s->synced);
    if (strcmp(component, "informer") == 0)
        snprintf(s->synced + of_synced, sizeof s->synced - of_synced, "%s\n", message);
    if (strcmp(component, "controller") != 0 || level > KI_LOG_WARNING)
        return;
    s->logged_level = level;
    snprintf(s->logged + used, sizeof s->logged - used, "%s\n", message);
}

static bool connect_stage(controller_stage *s) {
    const kt_cluster_options options = { .seed = 1, .start_ms = start_ms };
    ki_engine *engine = s->engine.engine;
    assert_int_equal(kt_cluster_new(&ki_allocator_default, &options, &s->cluster, NULL), KI_OK);
    return !kt_memory_adapter_new(engine, s->cluster, start_ms, &s->adapter, NULL) &&
           !kt_memory_transport_new(engine, kt_memory_adapter_server(s->adapter), &s->transport, NULL) &&
           stage_make_factory(s, KI_FACTORY_OPTIONS(.engine = NULL));
}

bool stage_make_factory(controller_stage *s, ki_factory_options options) {
    ki_factory_free(s->factory);
    s->factory = NULL;
    options.engine = s->engine.engine;
    return !ki_factory_new_on(NULL, s->transport, &options, &s->factory, NULL) &&
           !ki_factory_informer(s->factory, KI_CONFIGMAPS, NULL, &s->configmaps, NULL) &&
           !ki_factory_informer(s->factory, KI_SECRETS, NULL, &s->secrets, NULL);
}

bool stage_open(controller_stage *s, const ki_allocator *allocator) {
    memset(s, 0, sizeof *s);
    s->engine.now = KI_SECONDS(1000);
    const ki_clock clock = { .now = clock_now, .user = &s->engine };
    const ki_log log = { note_line, s, KI_LOG_INFO };
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator, .clock = &clock, .log = &log, .seed = 1),
                      &s->engine.engine, NULL))
        return false;
    return connect_stage(s);
}

void stage_open_threaded(controller_stage *s, const ki_allocator *allocator) {
    memset(s, 0, sizeof *s);
    s->is_threaded = true;
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator), &s->engine.engine, NULL), KI_OK);
    assert_true(connect_stage(s));
}

static void free_transport(void *user) {
    controller_stage *s = user;
    ki_transport_free(s->transport);
    kt_memory_adapter_free(s->adapter);
}

void stage_close(controller_stage *s) {
    ki_controller_free(s->controller);
    ki_factory_free(s->factory);
    if (s->engine.engine)
        ki_engine_call(s->engine.engine, free_transport, s);
    ki_engine_free(s->engine.engine);
    kt_cluster_free(s->cluster);
}

ki_status stage_control(controller_stage *s, ki_controller_options options) {
    if (!options.reconcile) {
        options.reconcile = stage_reconcile;
        options.user = s;
    }
    return ki_controller_new(s->factory, &options, &s->controller, NULL);
}

void stage_start(controller_stage *s) {
    assert_int_equal(ki_factory_start(s->factory, NULL), KI_OK);
    if (s->is_threaded)
        assert_int_equal(ki_engine_start(s->engine.engine, NULL), KI_OK);
    else
        stage_settle(s);
}

void stage_settle(controller_stage *s) {
    assert_true(test_engine_settle(&s->engine));
}

void stage_advance(controller_stage *s, int64_t ms) {
    assert_true(test_engine_advance(&s->engine, ms));
}

/* --- the cluster -------------------------------------------------------------------------------------------------- */

typedef struct change {
    controller_stage *stage;
    const ki_resource *resource;
    const char *key, *more;
    ki_status status;
} change;

/* Splits "namespace/name"; the namespace is "" without a slash. */
static const char *split(const char *key, char *ret_namespace, size_t size) {
    const char *slash = strchr(key, '/');
    snprintf(ret_namespace, size, "%.*s", slash ? (int)(slash - key) : 0, key);
    return slash ? slash + 1 : key;
}

static void put_on_loop(void *user) {
    change *self = user;
    char json[STAGE_TEXT], namespace_name[256];
    const char *name = split(self->key, namespace_name, sizeof namespace_name);
    snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s%s}}", name, namespace_name,
             self->more[0] ? "," : "", self->more);
    self->status = kt_cluster_put_json(self->stage->cluster, self->resource, (ki_str){ json, strlen(json) },
                                       kt_memory_adapter_now_ms(self->stage->adapter), NULL, NULL);
}

static void delete_on_loop(void *user) {
    change *self = user;
    char namespace_name[256];
    const char *name = split(self->key, namespace_name, sizeof namespace_name);
    self->status = kt_cluster_delete(self->stage->cluster, self->resource, namespace_name[0] ? namespace_name : NULL,
                                     name, kt_memory_adapter_now_ms(self->stage->adapter), NULL);
}

void stage_put(controller_stage *s, const ki_resource *resource, const char *key, const char *more) {
    change self = { s, resource, key, more, KI_OK };
    ki_engine_call(s->engine.engine, put_on_loop, &self);
    assert_int_equal(self.status, KI_OK);
}

void stage_delete(controller_stage *s, const ki_resource *resource, const char *key) {
    change self = { s, resource, key, "", KI_OK };
    ki_engine_call(s->engine.engine, delete_on_loop, &self);
    assert_int_equal(self.status, KI_OK);
}

typedef struct hold {
    kt_memory_adapter *adapter;
    const char *text;
} hold;

static void hold_on_loop(void *user) {
    hold *self = user;
    kt_memory_adapter_hold(self->adapter, self->text);
}

void stage_hold(controller_stage *s, const char *text) {
    hold self = { s->adapter, text };
    ki_engine_call(s->engine.engine, hold_on_loop, &self);
}

/* --- the reconcile function --------------------------------------------------------------------------------------- */

void stage_note(controller_stage *s, const char *word) {
    size_t used = strlen(s->notes);
    assert_true(used + strlen(word) + 2 < sizeof s->notes);
    snprintf(s->notes + used, sizeof s->notes - used, "%s ", word);
}

static ki_status give_error(ki_error *err) {
    return ki_error_set(err, KI_ERR_HTTP, "it did not work");
}

ki_status stage_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    controller_stage *s = user;
    ki_error cause = KI_ERROR_INIT;
    char act = s->script && *s->script ? *s->script++ : '.';
    assert_string_equal(ki_reconcile_key(call), key);
    stage_note(s, key);
    switch (act) {
    case 'f':
        return give_error(err);
    case 't':
        ki_reconcile_set_terminal(call);
        return give_error(err);
    case 'l':
        ki_reconcile_set_logged(call);
        return give_error(err);
    case 'r':
        ki_reconcile_requeue(call);
        break;
    case 'a':
        ki_reconcile_requeue_after(call, s->requeue_after);
        break;
    case 'b':
        ki_reconcile_requeue_after(call, s->requeue_after);
        return give_error(err);
    case 'd':
        ki_reconcile_defer(call);
        s->deferred[s->deferred_count++] = call;
        break;
    case 'D':
        ki_reconcile_defer(call);
        ki_reconcile_finish(call, NULL);
        break;
    case 'F':
        ki_reconcile_defer(call);
        give_error(&cause);
        ki_reconcile_finish(call, &cause);
        break;
    case 's':
        ki_controller_stop(ki_reconcile_controller(call));
        assert_true(ki_reconcile_is_cancelled(call));
        break;
    case 'x':
        ki_controller_free(s->controller);
        s->controller = NULL;
        break;
    case 'S':
        assert_int_equal(ki_factory_shutdown(s->factory, NULL), KI_ERR_DEADLOCK);
        ki_factory_stop(s->factory);
        break;
    default:
        break;
    }
    return KI_OK;
}

/* --- assertions --- */

void stage_expect(controller_stage *s, const char *notes) {
    size_t size = strlen(s->notes);
    if (size > 0)
        s->notes[size - 1] = '\0';
    assert_string_equal(s->notes, notes);
    s->notes[0] = '\0';
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the words of a text. */
static void sort_words(char *text) {
    char copy[STAGE_TEXT], *words[STAGE_TEXT / 2], *rest = NULL;
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    qsort(words, count, sizeof *words, compare);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(text, words[i]);
        strcat(text, " ");
    }
}

void stage_expect_any_order(controller_stage *s, const char *notes) {
    char sorted[STAGE_TEXT];
    snprintf(sorted, sizeof sorted, "%s ", notes);
    sort_words(sorted);
    sort_words(s->notes);
    if (sorted[0])
        sorted[strlen(sorted) - 1] = '\0';
    stage_expect(s, sorted);
}

double stage_metric(controller_stage *s, const char *name) {
    char *text = NULL;
    if (ki_factory_metrics_text(s->factory, &text, NULL))
        return -1;
    char begin[256];
    snprintf(begin, sizeof begin, "\n%s", name);
    char *line = strstr(text, begin), *end = line ? strchr(line + 1, '\n') : NULL;
    double value = -1;
    if (end) {
        *end = '\0';
        value = strtod(strrchr(line, ' '), NULL);
    }
    ki_metrics_text_free(text);
    return value;
}

void stage_pack_from(ki_informer *informer, size_t bytes) {
    ki_object_format *format = informer->options.format;
    ki_object_format_set_pack(format, format->packer.contexts, bytes);
}

/* --- the stage of the test that runs ------------------------------------------------------------------------------ */

controller_stage stage;

int stage_set_up(void **state) {
    (void)state;
    return !stage_open(&stage, NULL);
}

int stage_tear_down(void **state) {
    (void)state;
    stage_close(&stage);
    return 0;
}

void stage_run(ki_controller_options options) {
    assert_int_equal(stage_control(&stage, options), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    stage_start(&stage);
}

void stage_add(const char *key) {
    assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), key), KI_OK);
}

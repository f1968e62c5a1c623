/* test_memory.c: ki_informer_memory says where each byte is, as an allocator that counts sees it; a limit is reported
 * once, and packing comes before it. On the embedded API server, in the engine's time. */
#include <kinformer/memory.h>

#include "src/cache/informer/informer_parts.h"
#include "src/factory/factory.h"
#include "src/object/object.h"
#include "tests/support/controller_stage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PODS = 200
};

/* --- an allocator that counts the bytes that were requested ------------------------------------------------------- */

typedef struct counting_memory {
    _Atomic size_t bytes;
} counting_memory;

typedef union head {
    size_t size;
    max_align_t align;
} head;

static void *count_alloc(size_t size, void *user) {
    head *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    atomic_fetch_add(&((counting_memory *)user)->bytes, size);
    return block + 1;
}

static void count_free(void *memory, void *user) {
    if (!memory)
        return;
    head *block = (head *)memory - 1;
    atomic_fetch_sub(&((counting_memory *)user)->bytes, block->size);
    free(block);
}

static void *count_realloc(void *memory, size_t size, void *user) {
    void *moved = count_alloc(size, user);
    if (!moved || !memory)
        return moved;
    const head *block = (const head *)memory - 1;
    memcpy(moved, memory, block->size < size ? block->size : size);
    count_free(memory, user);
    return moved;
}

/* --- what the cache takes ----------------------------------------------------------------------------------------- */

struct entry {
    const char *text;
};
static const ki_field fields[] = { KI_FIELD(struct entry, text, "metadata.annotations.text"), KI_FIELD_END };

static unsigned put_count; /* of all objects that are put */

static void put(controller_stage *s, unsigned number) {
    char key[64], more[512];
    snprintf(key, sizeof key, "shop/pod-%u", number);
    snprintf(
        more, sizeof more,
        "\"labels\":{\"app\":\"web-%u\"},\"annotations\":{\"text\":\"a text of some length, number %u in state %u\","
        "\"more\":\"the quick brown fox jumps over the lazy dog, the quick brown fox jumps again\"}",
        number % 7, number * 7919, put_count);
    stage_put(s, KI_PODS, key, more);
}

static ki_informer *ask(controller_stage *s, const ki_informer_options *options) {
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_factory_informer(s->factory, KI_PODS, options, &informer, &err))
        fail_msg("%s", ki_error_message(&err));
    return informer;
}

static ki_memory memory_of(ki_informer *informer) {
    ki_memory memory;
    ki_informer_memory(informer, &memory);
    assert_int_equal(memory.total, memory.fields + memory.shared + memory.plain_bodies + memory.packed_bodies +
                                       memory.dictionaries + memory.indexes + memory.waiting + memory.deleted);
    return memory;
}

static ki_health health_of(ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health;
}

/* Objects of three kinds with 1 KB of JSON each. */
static void put_large(controller_stage *s, unsigned count) {
    static const ki_resource *const resources[] = { KI_PODS, KI_CONFIGMAPS, KI_SERVICES };
    char key[64], more[1024];
    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "shop/o-%u", i);
        snprintf(more, sizeof more, "\"annotations\":{\"text\":\"number %u\",\"more\":\"%0800u\"}", i * 7919, i);
        for (unsigned kind = 0; kind < 3; kind++)
            stage_put(s, resources[kind], key, more);
    }
    stage_advance(s, 1000);
}

static void put_all(controller_stage *s) {
    for (unsigned i = 0; i < PODS; i++)
        put(s, i);
    stage_advance(s, 1000);
}

static void delete_all(controller_stage *s) {
    for (unsigned i = 0; i < PODS; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/pod-%u", i);
        stage_delete(s, KI_PODS, key);
    }
    stage_advance(s, 1000);
}

static void compare_with_allocator(int64_t pack_from) {
    static const ki_indexer by_label = { .name = "app", .path = "metadata.labels.app" };
    counting_memory counted = { 0 };
    const ki_allocator allocator = { count_alloc, count_realloc, count_free, &counted };
    controller_stage s;
    assert_true(stage_open(&s, &allocator));
    ki_informer *pods = ask(&s, &KI_INFORMER_OPTIONS(.view = fields, .pack_from = pack_from));
    assert_int_equal(ki_informer_add_indexers(pods, &by_label, 1, NULL), KI_OK);
    stage_start(&s);
    put_all(&s); /* everything that grows with a burst has its size now */
    delete_all(&s);
    ki_memory empty = memory_of(pods);
    assert_int_equal(empty.objects, 0);
    size_t before = atomic_load(&counted.bytes);
    put_all(&s);
    ki_memory full = memory_of(pods);
    assert_int_equal(full.objects, PODS);
    assert_int_equal(full.packed_objects, pack_from < 0 ? 0 : PODS);
    /* The dictionary was there before, made of objects that are deleted. */
    assert_int_equal(full.dictionaries, empty.dictionaries);
    assert_int_equal(atomic_load(&counted.bytes) - before, full.total - empty.total);
    if (pack_from < 0)
        assert_true(full.packed_bodies == 0 && full.dictionaries == 0 && full.plain_bodies > (size_t)PODS * 200);
    else
        assert_true(full.plain_bodies == 0 && full.dictionaries && full.packed_json > full.packed_bodies * 2);
    stage_close(&s);
    assert_int_equal(atomic_load(&counted.bytes), 0);
}

TEST(each_byte_of_plain_objects_is_counted) {
    compare_with_allocator(-1);
}

TEST(each_byte_of_packed_objects_is_counted) {
    compare_with_allocator(1);
}

CONTROLLER_TEST(a_dictionary_is_counted_before_an_object_in_the_cache_is_packed_with_it) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.keep = KI_KEEP_KEYS, .pack_from = 1));
    for (unsigned i = 0; i < PODS; i++)
        put(&stage, i);
    stage_start(&stage);
    stage_advance(&stage, 1000);
    ki_memory memory = memory_of(pods);
    assert_int_equal(memory.objects, PODS);
    assert_int_equal(memory.packed_objects, 0);
    assert_true(memory.dictionaries > 10000);
}

CONTROLLER_TEST(a_dictionary_is_counted_once_also_after_another_view_was_asked_for) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.pack_from = 1));
    stage_start(&stage);
    put_all(&stage);
    delete_all(&stage);
    size_t dictionaries = memory_of(pods).dictionaries;
    assert_true(dictionaries > 10000);
    ki_informer *same = ask(&stage, &KI_INFORMER_OPTIONS(.pack_from = 1, .view = fields, .relists_for_view = true));
    assert_int_equal(memory_of(same).dictionaries, dictionaries);
}

/* Returns the bytes of a factory with informers that have synced, after some of them were removed. */
static size_t bytes_of_informers(size_t count, size_t removed) {
    const ki_resource *const resources[] = { KI_PODS, KI_SERVICES, KI_NODES };
    counting_memory counted = { 0 };
    const ki_allocator allocator = { count_alloc, count_realloc, count_free, &counted };
    controller_stage s;
    ki_informer *informers[3] = { NULL };
    assert_true(stage_open(&s, &allocator));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_factory_informer(s.factory, resources[i], NULL, &informers[i], NULL), KI_OK);
    stage_start(&s);
    stage_advance(&s, 1000);
    for (size_t i = 0; i < removed; i++)
        assert_int_equal(ki_factory_remove_informer(s.factory, informers[i], NULL), KI_OK);
    stage_advance(&s, 1000);
    size_t bytes = atomic_load(&counted.bytes);
    stage_close(&s);
    return bytes;
}

TEST(an_informer_without_objects_takes_at_most_15_kb) {
    assert_in_range(bytes_of_informers(3, 0) - bytes_of_informers(2, 0), 5000, 15 * 1024);
}

TEST(a_removed_informer_leaves_at_most_11_kb) {
    assert_in_range(bytes_of_informers(3, 1) - bytes_of_informers(2, 0), 5000, 11 * 1024);
}

/* Who chooses labels does not choose who shares a bucket with whom. */
CONTROLLER_TEST(what_objects_share_is_found_with_a_seed_of_the_engine) {
    const ki_informer *pods = ask(&stage, NULL);
    assert_true(pods->options.seed != 0);
    assert_true(pods->options.format->groups.seed == pods->options.seed);
}

CONTROLLER_TEST(deleted_and_waiting_objects_are_counted) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.keep_deleted_ms = 1000000));
    stage_start(&stage);
    put(&stage, 1);
    put(&stage, 2);
    stage_advance(&stage, 1000);
    ki_memory before = memory_of(pods);
    assert_int_equal(before.deleted, 0);
    assert_int_equal(before.waiting, 0);
    stage_delete(&stage, KI_PODS, "shop/pod-1");
    stage_advance(&stage, 1000);
    ki_memory after = memory_of(pods);
    assert_int_equal(after.objects, 1);
    assert_true(after.deleted >= before.fields / 2);
    ki_memory first = { .total = 1, .fields = 1 };
    ki_informer_memory_sized(pods, &first, offsetof(ki_memory, fields));
    assert_int_equal(first.total, after.total);
    assert_int_equal(first.fields, 1);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static char reports[4096];

static void note_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    (void)key;
    (void)user;
    size_t used = strlen(reports);
    const char *text = ki_error_message(cause), *end = strstr(text, " take "), *effect = strstr(text, ": ");
    snprintf(reports + used, sizeof reports - used, "%d %.*s%s; ", (int)cause->code, end ? (int)(end - text) : 0, text,
             effect ? effect : "");
}

static bool is_over(ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health.is_over_memory_limit;
}

CONTROLLER_TEST(a_limit_is_reported_once_until_a_tenth_is_free) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 10000, .pack_from = -1));
    reports[0] = '\0';
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    stage_start(&stage);
    for (unsigned i = 0; i < 6; i++)
        put(&stage, i);
    stage_advance(&stage, 1000);
    assert_string_equal(reports, "");
    assert_false(is_over(pods));
    for (unsigned i = 6; i < 40; i++)
        put(&stage, i);
    stage_advance(&stage, 1000);
    assert_string_equal(reports, "5 the cache's objects; ");
    assert_true(is_over(pods));
    ki_memory memory = memory_of(pods);
    assert_int_equal(memory.objects, 40); /* it continues */
    assert_true(memory.fields + memory.plain_bodies > 10000);
    assert_true(stage_metric(&stage, "informer_over_memory_limit") > 0.5);
    for (unsigned i = 0; i < 36; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/pod-%u", i);
        stage_delete(&stage, KI_PODS, key);
    }
    stage_advance(&stage, 1000);
    assert_false(is_over(pods));
    assert_true(stage_metric(&stage, "informer_over_memory_limit") < 0.5);
    put_all(&stage);
    assert_string_equal(reports, "5 the cache's objects; 5 the cache's objects; ");
}

CONTROLLER_TEST(what_is_compared_with_the_limits_can_be_read) {
    ki_factory *factory = NULL;
    ki_informer *pods = NULL, *config_maps = NULL;
    assert_int_equal(ki_factory_new_on(NULL, stage.transport,
                                       &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .memory_limit = 10000000),
                                       &factory, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &config_maps, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    put_all(&stage);
    stage_put(&stage, KI_CONFIGMAPS, "shop/c", "\"labels\":{\"app\":\"web\"}");
    stage_advance(&stage, 1000);
    ki_memory of_pods = memory_of(pods), of_config_maps = memory_of(config_maps);
    size_t bytes = of_pods.fields + of_pods.shared + of_pods.plain_bodies + of_pods.packed_bodies;
    size_t others = of_config_maps.fields + of_config_maps.shared + of_config_maps.plain_bodies;
    ki_health health;
    ki_informer_health(pods, &health);
    assert_true(of_pods.shared > 0 && of_config_maps.shared > 0);
    assert_int_equal(health.object_bytes, bytes);
    assert_int_equal(health.factory_object_bytes, bytes + others);
    char *text = NULL, line[64];
    assert_int_equal(ki_factory_metrics_text(factory, &text, NULL), KI_OK);
    snprintf(line, sizeof line, "keep=\"object\"} %zu\n", bytes + others);
    assert_non_null(strstr(strstr(text, "\ninformer_factory_object_bytes{"), line));
    snprintf(line, sizeof line, "keep=\"object\"} %zu\n", bytes);
    assert_non_null(strstr(strstr(text, "\ninformer_object_bytes{"), line));
    ki_metrics_text_free(text);
    ki_factory_free(factory);
}

CONTROLLER_TEST(labels_count_for_the_limit) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 10000));
    char extra[6000], key[64];
    stage_start(&stage);
    for (int i = 0; i < 4; i++) {
        int used = snprintf(extra, sizeof extra, "\"labels\":{");
        for (int label = 0; label < 80; label++)
            used += snprintf(extra + used, sizeof extra - (size_t)used, "%s\"example.com/label-%d-%d\":\"value\"",
                             label ? "," : "", i, label);
        snprintf(extra + used, sizeof extra - (size_t)used, "}");
        snprintf(key, sizeof key, "shop/pod-%d", i);
        stage_put(&stage, KI_PODS, key, extra);
    }
    stage_advance(&stage, 1000);
    ki_memory memory = memory_of(pods);
    assert_true(memory.shared > 4 * 80 * 20);
    assert_true(is_over(pods));
}

/* Puts a pod with some 3 KB of labels that no other state has. */
static void put_labelled(controller_stage *s, unsigned number) {
    char more[4096];
    int used = snprintf(more, sizeof more, "\"labels\":{");
    for (unsigned label = 0; label < 60; label++)
        used += snprintf(more + used, sizeof more - (size_t)used, "%s\"example.com/label-%u-%u\":\"value-%u\"",
                         label ? "," : "", number, label, label);
    snprintf(more + used, sizeof more - (size_t)used, "}");
    stage_put(s, KI_PODS, "shop/labelled", more);
    stage_advance(s, 1000);
}

static void ignore_event(const ki_event *event, void *user) {
    (void)event;
    (void)user;
}

/* The labels of the state before count until the handler has returned; nothing happens on the loop afterwards. */
CONTROLLER_TEST(what_a_handler_has_released_is_not_above_a_limit) {
    enum {
        LIMIT = 6500
    };
    static const ki_handler handler = { .on_update = ignore_event };
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = LIMIT));
    assert_int_equal(ki_informer_add_handler(pods, &handler, NULL, NULL), KI_OK);
    stage_start(&stage);
    put_labelled(&stage, 1);
    put_labelled(&stage, 2);
    ki_health health = health_of(pods);
    assert_true(health.object_bytes < LIMIT * 9 / 10);
    assert_false(health.is_over_memory_limit);
    assert_true(stage_metric(&stage, "informer_over_memory_limit") < 0.5);
}

CONTROLLER_TEST(what_a_handler_on_the_loop_has_released_is_not_above_the_factorys_limit) {
    static const ki_handler handler = { .on_update = ignore_event };
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    assert_int_equal(ki_factory_new_on(NULL, stage.transport,
                                       &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .memory_limit = 6500),
                                       &factory, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(pods, &handler, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    put_labelled(&stage, 1);
    put_labelled(&stage, 2);
    ki_health health = health_of(pods);
    assert_int_equal(health.factory_object_bytes, health.object_bytes);
    assert_false(health.is_over_factory_limit);
    ki_factory_free(factory);
}

CONTROLLER_TEST(a_cache_packs_before_its_limit) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 20000));
    stage_start(&stage);
    put_large(&stage, PODS);
    put_large(&stage, PODS);
    ki_memory memory = memory_of(pods);
    assert_true(memory.packed_objects > PODS / 2);
    assert_true(memory.packed_bodies + memory.dictionaries < memory.packed_json);
}

CONTROLLER_TEST(no_limit_makes_a_small_cache_larger) {
    size_t total[2] = { 0 };
    put_large(&stage, 110);
    for (unsigned is_limited = 0; is_limited < 2; is_limited++) {
        static const ki_resource *const resources[] = { KI_PODS, KI_CONFIGMAPS, KI_SERVICES };
        ki_factory *factory = NULL;
        ki_informer *informers[3] = { NULL };
        assert_int_equal(
            ki_factory_new_on(NULL, stage.transport,
                              &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .memory_limit = is_limited ? 1 : 0),
                              &factory, NULL),
            KI_OK);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(ki_factory_informer(factory, resources[i], NULL, &informers[i], NULL), KI_OK);
        assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        stage_advance(&stage, 1000);
        for (unsigned i = 0; i < 3; i++)
            total[is_limited] += memory_of(informers[i]).total;
        assert_int_equal(health_of(informers[0]).is_over_factory_limit, is_limited);
        ki_factory_free(factory);
    }
    assert_true(total[1] <= total[0]);
}

/* --- what is dropped at a limit ----------------------------------------------------------------------------------- */

static void put_some(controller_stage *s, unsigned from, unsigned to) {
    put_count++;
    for (unsigned i = from; i < to; i++)
        put(s, i);
    stage_advance(s, 1000);
}

/* Returns the number of objects with content. Fails if one lacks more. */
static size_t whole_of(ki_informer *informer) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t count = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)) != NULL;) {
        const struct entry *view = ki_object_view(obj);
        ki_value json = KI_VALUE_INIT;
        ki_status status = ki_object_json(obj, &json, NULL);
        assert_true(status == KI_OK || status == KI_ERR_STATE);
        assert_non_null(strstr(view->text, "a text of some length"));
        assert_non_null(ki_object_label(obj, "app"));
        count += !status;
        ki_value_clear(&json);
    }
    ki_snapshot_free(snapshot);
    return count;
}

static void expect_within(ki_informer *informer, size_t limit, size_t objects) {
    ki_memory memory = memory_of(informer);
    ki_health health = health_of(informer);
    assert_true(memory.fields + memory.shared + memory.plain_bodies + memory.packed_bodies <= limit);
    assert_int_equal(memory.objects, objects);
    assert_int_equal(whole_of(informer), objects - health.without_content);
}

static void delete_some(controller_stage *s, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/pod-%u", i);
        stage_delete(s, KI_PODS, key);
    }
    stage_advance(s, 1000);
}

#define DROPS "5 the cache's objects: objects lose their content; "

CONTROLLER_TEST(above_its_limit_a_cache_drops_contents_and_gets_them_back) {
    enum {
        LIMIT = 20000
    };
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = LIMIT, .view = fields,
                                                         .keep_at_limit = KI_KEEP_VIEW, .pack_from = -1));
    reports[0] = '\0';
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    stage_start(&stage);
    put_some(&stage, 0, 20);
    expect_within(pods, LIMIT, 20);
    assert_int_equal(health_of(pods).without_content, 0);
    assert_int_equal(stage_metric(&stage, "informer_objects_without_content"), 0);
    put_some(&stage, 20, 60);
    expect_within(pods, LIMIT, 60);
    size_t without = health_of(pods).without_content;
    assert_true(without > 0 && without < 60);
    assert_int_equal(stage_metric(&stage, "informer_objects_without_content"), without);
    assert_string_equal(reports, DROPS); /* once, not whenever it drops */
    put_some(&stage, 0, 60);
    expect_within(pods, LIMIT, 60);
    assert_string_equal(reports, DROPS);
    delete_some(&stage, 10, 60);
    put_some(&stage, 0, 10); /* they change, and there is room */
    expect_within(pods, LIMIT, 10);
    assert_int_equal(health_of(pods).without_content, 0);
    put_some(&stage, 10, 60);
    expect_within(pods, LIMIT, 60);
    assert_string_equal(reports, DROPS DROPS);
}

CONTROLLER_TEST(a_list_above_the_limit_loses_content_before_it_is_stored) {
    enum {
        LIMIT = 40000
    };
    ki_informer *pods =
        ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = LIMIT, .view = fields, .keep_at_limit = KI_KEEP_VIEW));
    reports[0] = '\0';
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    for (unsigned i = 0; i < PODS; i++)
        put(&stage, i);
    stage_start(&stage);
    stage_advance(&stage, 1000);
    expect_within(pods, LIMIT, PODS);
    assert_true(health_of(pods).without_content > 0);
    assert_true(memory_of(pods).plain_bodies < LIMIT / 2);
    assert_string_equal(reports, DROPS);
}

static unsigned events[4];
static unsigned whole_events;

static void count_event(const ki_event *event, void *user) {
    ki_value json = KI_VALUE_INIT;
    (void)user;
    events[event->type]++;
    whole_events += ki_object_json(event->obj, &json, NULL) == KI_OK;
    assert_true(!event->old || strcmp(ki_object_label(event->old, "app"), ki_object_label(event->obj, "app")) == 0);
    ki_value_clear(&json);
}

#define NOTHING_LEFT "5 the cache's objects: no object of this informer has content any more; "

CONTROLLER_TEST(a_limit_that_is_too_small_for_any_content_is_said_too) {
    const ki_handler handler = { .on_add = count_event, .on_update = count_event, .on_delete = count_event };
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 1, .view = fields,
                                                         .keep_at_limit = KI_KEEP_VIEW, .resync_ms = -1));
    reports[0] = '\0';
    memset(events, 0, sizeof events);
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(pods, &handler, NULL, NULL), KI_OK);
    stage_start(&stage);
    put_some(&stage, 0, 40);
    assert_int_equal(whole_of(pods), 0);
    assert_int_equal(health_of(pods).without_content, 40);
    assert_true(is_over(pods));
    assert_string_equal(reports, DROPS NOTHING_LEFT);
    put_some(&stage, 0, 40);
    delete_some(&stage, 0, 20);
    assert_int_equal(whole_of(pods), 0);
    assert_int_equal(events[KI_EVENT_ADD], 40);
    assert_int_equal(events[KI_EVENT_UPDATE], 40);
    assert_int_equal(events[KI_EVENT_DELETE], 20);
    assert_string_equal(reports, DROPS NOTHING_LEFT);
}

CONTROLLER_TEST(dropping_contents_is_no_change_for_handlers_nor_for_a_relist) {
    const ki_handler handler = { .on_add = count_event, .on_update = count_event, .on_delete = count_event };
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 10000, .view = fields,
                                                         .keep_at_limit = KI_KEEP_VIEW, .resync_ms = -1));
    memset(events, 0, sizeof events);
    assert_int_equal(ki_informer_add_handler(pods, &handler, NULL, NULL), KI_OK);
    stage_start(&stage);
    put_some(&stage, 0, 60);
    size_t without = health_of(pods).without_content;
    assert_true(without > 0);
    assert_int_equal(events[KI_EVENT_ADD], 60);
    ki_informer_list_again(pods);
    stage_advance(&stage, 60000);
    assert_int_equal(events[KI_EVENT_ADD], 60);
    assert_int_equal(events[KI_EVENT_UPDATE] + events[KI_EVENT_DELETE], 0);
    assert_int_equal(health_of(pods).without_content, without);
}

static ki_factory *limited_factory(controller_stage *s, size_t limit) {
    ki_factory *factory = NULL;
    assert_int_equal(ki_factory_new_on(NULL, s->transport,
                                       &KI_FACTORY_OPTIONS(.engine = s->engine.engine, .memory_limit = limit), &factory,
                                       NULL),
                     KI_OK);
    return factory;
}

CONTROLLER_TEST(at_half_of_the_factorys_limit_its_informers_pack) {
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        ki_informer *pods = NULL;
        ki_factory *factory = limited_factory(&stage, is_limited ? 100000 : 10000000);
        assert_int_equal(ki_factory_informer(factory, KI_PODS, NULL, &pods, NULL), KI_OK);
        assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        put_large(&stage, PODS);
        put_large(&stage, PODS);
        assert_int_equal(memory_of(pods).packed_objects > PODS / 2, is_limited);
        ki_factory_free(factory);
    }
}

CONTROLLER_TEST(above_the_factorys_limit_the_informers_that_may_drop_contents) {
    enum {
        LIMIT = 30000
    };
    ki_informer *pods = NULL, *config_maps = NULL;
    ki_factory *factory = limited_factory(&stage, LIMIT);
    const ki_informer_options options =
        KI_INFORMER_OPTIONS(.view = fields, .keep_at_limit = KI_KEEP_VIEW, .pack_from = -1);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, &options, &pods, NULL), KI_OK);
    assert_int_equal(
        ki_factory_informer(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.pack_from = -1), &config_maps, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    put_some(&stage, 0, 30);
    assert_int_equal(health_of(pods).without_content, 0);
    assert_false(health_of(pods).is_over_factory_limit);
    for (unsigned i = 0; i < 60; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/c-%u", i);
        stage_put(&stage, KI_CONFIGMAPS, key,
                  "\"annotations\":{\"text\":\"the quick brown fox jumps over the lazy dog, and again, and again\"}");
    }
    stage_advance(&stage, 1000);
    put_some(&stage, 30, 31);
    assert_true(health_of(pods).without_content > 0);
    assert_int_equal(health_of(config_maps).without_content, 0);
    assert_false(health_of(config_maps).is_over_memory_limit);
    ki_factory_free(factory);
}

CONTROLLER_TEST(the_factorys_limit_is_reported_by_an_informer_that_has_nothing_left_to_drop) {
    ki_informer *pods = NULL;
    ki_factory *factory = limited_factory(&stage, 10000);
    const ki_informer_options options =
        KI_INFORMER_OPTIONS(.view = fields, .memory_limit = 1, .keep_at_limit = KI_KEEP_VIEW);
    reports[0] = '\0';
    assert_int_equal(ki_factory_informer(factory, KI_PODS, &options, &pods, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    put_some(&stage, 0, 10);
    assert_string_equal(reports, DROPS NOTHING_LEFT);
    put_some(&stage, 10, 100);
    assert_true(health_of(pods).is_over_factory_limit);
    assert_string_equal(reports, DROPS NOTHING_LEFT "5 the objects of all informers; ");
    ki_factory_free(factory);
}

TEST(a_factory_has_a_limit_for_all_its_informers) {
    controller_stage s;
    assert_true(stage_open(&s, NULL));
    const ki_informer_options options = KI_INFORMER_OPTIONS(.pack_from = -1);
    ki_informer *pods = NULL, *config_maps = NULL;
    ki_factory *factory = limited_factory(&s, 4000);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, &options, &pods, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_CONFIGMAPS, &options, &config_maps, NULL), KI_OK);
    reports[0] = '\0';
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_error, NULL, NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(config_maps, note_error, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    for (unsigned i = 0; i < 5; i++)
        put(&s, i);
    stage_advance(&s, 1000);
    assert_string_equal(reports, "");
    char key[64];
    for (unsigned i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "shop/c-%u", i);
        stage_put(&s, KI_CONFIGMAPS, key, "");
    }
    stage_advance(&s, 1000);
    assert_string_equal(reports, "5 the objects of all informers; ");
    assert_true(health_of(pods).is_over_factory_limit);
    assert_true(health_of(config_maps).is_over_factory_limit);
    assert_false(health_of(config_maps).is_over_memory_limit);
    ki_factory_free(factory);
    stage_close(&s);
}

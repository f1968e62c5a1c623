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

static void compare_with_allocator(bool is_plain) {
    static const ki_indexer by_label = { .name = "app", .path = "metadata.labels.app" };
    counting_memory counted = { 0 };
    const ki_allocator allocator = { count_alloc, count_realloc, count_free, &counted };
    controller_stage s;
    assert_true(stage_open(&s, &allocator));
    ki_informer *pods = ask(&s, &KI_INFORMER_OPTIONS(.view = fields, .plain = is_plain));
    if (!is_plain)
        stage_pack_from(pods, 1);
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
    assert_int_equal(full.packed_objects, is_plain ? 0 : PODS);
    /* The dictionary was there before, made of objects that are deleted; their bases were freed with them. */
    assert_true(is_plain || empty.dictionaries > 10000);
    assert_int_equal(atomic_load(&counted.bytes) - before, full.total - empty.total);
    if (is_plain)
        assert_true(full.packed_bodies == 0 && full.dictionaries == 0 && full.plain_bodies > (size_t)PODS * 200);
    else
        assert_true(full.plain_bodies == 0 && full.dictionaries && full.packed_json > full.packed_bodies * 2);
    stage_close(&s);
    assert_int_equal(atomic_load(&counted.bytes), 0);
}

TEST(each_byte_of_plain_objects_is_counted) {
    compare_with_allocator(true);
}

TEST(each_byte_of_packed_objects_is_counted) {
    compare_with_allocator(false);
}

CONTROLLER_TEST(a_dictionary_is_counted_before_an_object_in_the_cache_is_packed_with_it) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.keep = KI_KEEP_KEYS));
    stage_pack_from(pods, 1);
    for (unsigned i = 0; i < PODS; i++)
        put(&stage, i);
    stage_start(&stage);
    stage_advance(&stage, 1000);
    ki_memory memory = memory_of(pods);
    assert_int_equal(memory.objects, PODS);
    assert_int_equal(memory.packed_objects, 0);
    assert_true(memory.dictionaries > 10000);
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
    assert_true(pods->options.format->packer.bases.by_name.seed == pods->options.seed);
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
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 10000, .plain = true));
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

CONTROLLER_TEST(what_is_compared_with_the_limit_can_be_read) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 10000000));
    stage_start(&stage);
    put_all(&stage);
    ki_memory of_pods = memory_of(pods);
    size_t bytes = of_pods.fields + of_pods.shared + of_pods.plain_bodies + of_pods.packed_bodies;
    assert_true(of_pods.shared > 0);
    assert_int_equal(health_of(pods).object_bytes, bytes);
    assert_int_equal(
        stage_metric(&stage, "informer_object_bytes{name=\"\",group=\"\",version=\"v1\",resource=\"pods\""), bytes);
}

/* Puts pods that are not like each other: each is its own base. */
static void put_unlike(controller_stage *s, unsigned count) {
    unsigned random = 1;
    for (unsigned i = 0; i < count; i++) {
        char key[64], more[2100];
        size_t used = (size_t)snprintf(more, sizeof more, "\"annotations\":{\"text\":\"");
        while (used < 2000)
            used += (size_t)snprintf(more + used, sizeof more - used, "%08x", random = random * 1664525 + 1013904223);
        snprintf(more + used, sizeof more - used, "\"}");
        snprintf(key, sizeof key, "shop/pod%u", i);
        stage_put(s, KI_PODS, key, more);
        if (i == 0)
            stage_advance(s, 1000); /* the next ones are packed with a dictionary of this one */
    }
    stage_advance(s, 1000);
}

CONTROLLER_TEST(packed_objects_that_are_not_alike_count_for_the_limit) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.memory_limit = 150000));
    stage_pack_from(pods, 1);
    stage_start(&stage);
    put_unlike(&stage, 300);
    assert_true(memory_of(pods).packed_objects > 290);
    assert_true(memory_of(pods).total > 300 * 900);
    assert_true(health_of(pods).object_bytes > 300 * 900);
    assert_true(is_over(pods));
}

CONTROLLER_TEST(packed_objects_that_are_deleted_count_with_what_only_they_have) {
    ki_informer *pods = ask(&stage, &KI_INFORMER_OPTIONS(.keep_deleted_ms = 1000000));
    stage_pack_from(pods, 1);
    stage_start(&stage);
    put_unlike(&stage, 300);
    for (unsigned i = 0; i < 300; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/pod%u", i);
        stage_delete(&stage, KI_PODS, key);
    }
    stage_advance(&stage, 1000);
    assert_int_equal(pods->deleted.objects.queue.count, 300);
    assert_true(pods->deleted.objects.bytes > 300 * 900);
}

CONTROLLER_TEST(an_empty_cache_keeps_no_bases_of_objects_that_were_deleted) {
    ki_informer *pods = ask(&stage, NULL);
    stage_pack_from(pods, 1);
    stage_start(&stage);
    put_unlike(&stage, 300);
    assert_true(memory_of(pods).dictionaries > 300 * 900);
    for (unsigned i = 0; i < 300; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/pod%u", i);
        stage_delete(&stage, KI_PODS, key);
    }
    stage_advance(&stage, 1000);
    assert_int_equal(memory_of(pods).objects, 0);
    assert_true(memory_of(pods).dictionaries < 250 * 900); /* zstd's dictionary, and a few bases */
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

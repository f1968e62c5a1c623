/* test_keep_at_limit.c: contents that are dropped above a limit: of a list as it arrives, of an informer that nothing
 * else happens to, after all have packed, by the factory's default, and when memory runs out. On the embedded API
 * server, in the engine's time. */
#include "src/cache/informer/informer_parts.h"
#include "src/factory/factory.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

struct entry {
    const char *text;
};
static const ki_field fields[] = { KI_FIELD(struct entry, text, "metadata.annotations.text"), KI_FIELD_END };

#define DROPPING .view = fields, .keep_at_limit = KI_KEEP_VIEW

static ki_factory *limited_factory(controller_stage *s, ki_factory_options options) {
    ki_factory *factory = NULL;
    options.engine = s->engine.engine;
    assert_int_equal(ki_factory_new_on(NULL, s->transport, &options, &factory, NULL), KI_OK);
    return factory;
}

static ki_informer *ask(ki_factory *factory, const ki_resource *resource, const ki_informer_options *options) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(factory, resource, options, &informer, NULL), KI_OK);
    return informer;
}

static unsigned put_count; /* of all objects that are put: each has another content */

/* Objects of some 600 bytes, of which 450 are content. */
static void put_from_to(controller_stage *s, const ki_resource *resource, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        char key[64], more[640];
        snprintf(key, sizeof key, "shop/o-%u", i);
        snprintf(more, sizeof more, "\"annotations\":{\"text\":\"a text, number %u\",\"more\":\"%0400u\"}", i * 7919,
                 put_count++);
        stage_put(s, resource, key, more);
    }
}

static void delete_from_to(controller_stage *s, const ki_resource *resource, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        char key[64];
        snprintf(key, sizeof key, "shop/o-%u", i);
        stage_delete(s, resource, key);
    }
}

static ki_health health_of(ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health;
}

/* Fails unless each object has its view, and exactly those that the health counts lack the rest. */
static void expect_consistent(ki_informer *informer, size_t objects) {
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t without = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor)) != NULL;) {
        const struct entry *view = ki_object_view(obj);
        assert_non_null(strstr(view->text, "a text, number"));
        without += !ki_object_has_content(obj);
    }
    assert_int_equal(ki_snapshot_count(snapshot), objects);
    ki_snapshot_free(snapshot);
    assert_int_equal(health_of(informer).without_content, without);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

enum {
    LISTED = 3000,
    LIST_LIMIT = 800000
};

typedef struct list_memory {
    size_t peak;    /* of the objects while the lists arrive, with all else that exists only then */
    size_t objects; /* at the end */
} list_memory;

static list_memory list_all(const ki_factory_options *of_factory, ki_informer_options options, unsigned kinds) {
    static const ki_resource *const resources[] = { KI_PODS, KI_SERVICES, KI_ENDPOINTS };
    scarce_memory memory = { .round = 0 };
    controller_stage s;
    ki_informer *informers[3];
    list_memory found = { .objects = 0 };
    scarce_memory_init(&memory, SIZE_MAX);
    assert_true(stage_open(&s, &memory.allocator));
    for (unsigned i = 0; i < kinds; i++)
        put_from_to(&s, resources[i], 0, LISTED);
    ki_factory *factory = limited_factory(&s, *of_factory);
    options.pack_from = -1;
    for (unsigned i = 0; i < kinds; i++)
        informers[i] = ask(factory, resources[i], &options);
    scarce_memory_begin_peak(&memory);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&s, 1000);
    size_t end = atomic_load(&memory.bytes) - memory.before;
    for (unsigned i = 0; i < kinds; i++) {
        expect_consistent(informers[i], LISTED);
        found.objects += ki_informer_object_bytes(informers[i]);
    }
    found.peak = scarce_memory_peak(&memory) - (end - found.objects);
    ki_factory_free(factory);
    stage_close(&s);
    return found;
}

/* `least`: with a limit of 1 byte, so that each object loses its content before the next one arrives. */
static void expect_near(size_t limit, list_memory least, list_memory found) {
    size_t beside = least.peak - least.objects;
    if (found.peak > limit + limit / 10 + beside || found.objects > limit || found.objects < limit / 100 * 98)
        fail_msg("limit %zu: %zu bytes at the peak, %zu at the end, %zu of anything else", limit, found.peak,
                 found.objects, beside);
}

TEST(a_first_list_above_the_limit_is_never_a_tenth_above_it) {
    const ki_factory_options without_limit = KI_FACTORY_OPTIONS(.engine = NULL);
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        ki_informer_options options = KI_INFORMER_OPTIONS(DROPPING, .no_streaming_list = is_plain, .memory_limit = 1);
        list_memory least = list_all(&without_limit, options, 1);
        options.memory_limit = LIST_LIMIT;
        expect_near(LIST_LIMIT, least, list_all(&without_limit, options, 1));
    }
}

TEST(first_lists_that_arrive_together_share_the_factorys_limit) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        ki_informer_options options = KI_INFORMER_OPTIONS(DROPPING, .no_streaming_list = is_plain);
        list_memory least = list_all(&KI_FACTORY_OPTIONS(.memory_limit = 1), options, 3);
        expect_near(3 * LIST_LIMIT, least, list_all(&KI_FACTORY_OPTIONS(.memory_limit = 3 * LIST_LIMIT), options, 3));
    }
}

/* As put_from_to, with 3 KB, of which 200 bytes do not pack. */
static void put_large(controller_stage *s, const ki_resource *resource, unsigned from, unsigned to) {
    static const char words[] = "the quick brown fox jumps over the lazy dog; ";
    char more[4096];
    for (unsigned i = from; i < to; i++) {
        char key[64];
        int used = snprintf(more, sizeof more, "\"annotations\":{\"text\":\"a text, number %u\",\"more\":\"", i);
        for (unsigned k = 0; k < 64; k++)
            used += snprintf(more + used, sizeof more - (size_t)used, "%s", words);
        uint32_t noise = i + 1;
        for (unsigned k = 0; k < 200; k++) {
            noise = noise * 1664525 + 1013904223;
            more[used++] = (char)('a' + (noise >> 24) % 26);
        }
        snprintf(more + used, sizeof more - (size_t)used, "\"}");
        snprintf(key, sizeof key, "shop/o-%u", i);
        stage_put(s, resource, key, more);
    }
}

static size_t bytes_at_rest(const ki_factory_options *options, bool is_plain, size_t *ret_without) {
    controller_stage s;
    assert_true(stage_open(&s, NULL));
    put_large(&s, KI_PODS, 0, LISTED);
    ki_factory *factory = limited_factory(&s, *options);
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .no_streaming_list = is_plain));
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&s, 1000);
    expect_consistent(pods, LISTED);
    size_t bytes = ki_informer_object_bytes(pods);
    *ret_without = health_of(pods).without_content;
    ki_factory_free(factory);
    stage_close(&s);
    return bytes;
}

/* The first objects of the list arrive before there is a dictionary: they take 256 KB more for a while. */
TEST(a_list_that_is_below_the_limit_once_it_is_packed_loses_nothing) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        size_t without, rest = bytes_at_rest(&KI_FACTORY_OPTIONS(.memory_limit = 100000000), is_plain, &without);
        assert_int_equal(without, 0);
        size_t limit = rest + rest / 50;
        assert_true(bytes_at_rest(&KI_FACTORY_OPTIONS(.memory_limit = limit), is_plain, &without) <= limit);
        assert_int_equal(without, 0);
        limit = rest / 2;
        assert_true(bytes_at_rest(&KI_FACTORY_OPTIONS(.memory_limit = limit), is_plain, &without) <= limit);
        assert_true(without > LISTED / 4 && without < LISTED);
    }
}

CONTROLLER_TEST(a_list_that_is_counted_is_not_counted_any_more_once_it_is_stored_or_failed) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 10000000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING));
    const ki_memory_account *account = pods->options.account;
    put_from_to(&stage, KI_PODS, 0, 20);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&stage, 1000);
    assert_int_equal(health_of(pods).objects, 20);
    assert_int_equal(account->expected, 0);
    assert_true(atomic_load(&account->bytes) > 20 * 400);
    ki_informer_list_again(pods);
    stage_advance(&stage, 1000);
    assert_int_equal(account->expected, 0);
    assert_int_equal(ki_factory_remove_informer(factory, pods, NULL), KI_OK);
    stage_advance(&stage, 1000);
    assert_int_equal(account->expected, 0);
    assert_null(account->first);
    ki_factory_free(factory);
}

/* --- idle informers ----------------------------------------------------------------------------------------------- */

typedef struct pair {
    ki_factory *factory;
    ki_informer *pods, *config_maps; /* pods may lose their content; nothing happens to them */
} pair;

static pair open_pair(controller_stage *s, size_t limit) {
    pair made = { .factory = limited_factory(s, KI_FACTORY_OPTIONS(.memory_limit = limit)) };
    made.pods = ask(made.factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
    made.config_maps = ask(made.factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.pack_from = -1));
    put_from_to(s, KI_PODS, 0, 20);
    assert_int_equal(ki_factory_start(made.factory, NULL), KI_OK);
    stage_settle(s);
    assert_int_equal(health_of(made.pods).without_content, 0);
    return made;
}

CONTROLLER_TEST(an_idle_informer_drops_contents_when_another_one_grows) {
    pair p = open_pair(&stage, 20000);
    put_from_to(&stage, KI_CONFIGMAPS, 0, 14);
    stage_settle(&stage); /* no time passes: no bookmark */
    size_t without = health_of(p.pods).without_content;
    assert_true(without > 0 && without < 20);
    assert_false(health_of(p.pods).is_over_factory_limit);
    expect_consistent(p.pods, 20);
    put_from_to(&stage, KI_CONFIGMAPS, 14, 60);
    stage_settle(&stage); /* it has nothing left, and rests */
    assert_int_equal(health_of(p.pods).without_content, 20);
    assert_true(health_of(p.pods).is_over_factory_limit);
    put_from_to(&stage, KI_CONFIGMAPS, 0, 60);
    stage_settle(&stage);
    ki_factory_free(p.factory);
}

CONTROLLER_TEST(an_idle_informers_object_that_changes_once_there_is_room_has_its_content) {
    pair p = open_pair(&stage, 20000);
    put_from_to(&stage, KI_CONFIGMAPS, 0, 60);
    stage_settle(&stage);
    assert_int_equal(health_of(p.pods).without_content, 20);
    delete_from_to(&stage, KI_CONFIGMAPS, 0, 60);
    stage_settle(&stage);
    put_from_to(&stage, KI_PODS, 0, 1);
    stage_settle(&stage);
    assert_int_equal(health_of(p.pods).without_content, 19);
    ki_factory_free(p.factory);
}

CONTROLLER_TEST(an_informer_that_was_removed_is_not_called_any_more) {
    pair p = open_pair(&stage, 20000);
    assert_int_equal(ki_factory_remove_informer(p.factory, p.pods, NULL), KI_OK);
    put_from_to(&stage, KI_CONFIGMAPS, 0, 60);
    stage_settle(&stage);
    assert_true(health_of(p.config_maps).is_over_factory_limit);
    ki_factory_free(p.factory);
}

CONTROLLER_TEST(an_informer_that_was_removed_counts_no_more_whatever_its_objects_shared) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 10000000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING));
    const ki_memory_account *account = pods->options.account;
    for (unsigned i = 0; i < 500; i++) {
        char key[64], more[640];
        snprintf(key, sizeof key, "shop/o-%u", i);
        snprintf(more, sizeof more,
                 "\"labels\":{\"number\":\"%0200u\"},\"annotations\":{\"text\":\"a text, number 1\"}", i);
        stage_put(&stage, KI_PODS, key, more);
    }
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&stage, 1000);
    assert_true(atomic_load(&account->bytes) > 500 * 200);
    assert_int_equal(ki_factory_remove_informer(factory, pods, NULL), KI_OK);
    stage_advance(&stage, 1000);
    assert_int_equal(atomic_load(&account->bytes), 0);
    assert_int_equal(account->expected, 0);
    ki_factory_free(factory);
}

static size_t packed_of(ki_informer *informer) {
    ki_memory memory;
    ki_informer_memory(informer, &memory);
    return memory.packed_objects;
}

CONTROLLER_TEST(at_half_of_the_factorys_limit_idle_informers_pack_before_anybody_drops_contents) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 1200000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING));
    ki_informer *services = ask(factory, KI_SERVICES, &KI_INFORMER_OPTIONS(.needs_content = true));
    ki_informer *config_maps = ask(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
    ki_informer *endpoints = ask(factory, KI_ENDPOINTS, &KI_INFORMER_OPTIONS(DROPPING));
    put_large(&stage, KI_PODS, 0, 70);
    put_large(&stage, KI_SERVICES, 0, 70);
    put_large(&stage, KI_ENDPOINTS, 0, 2);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(packed_of(pods) + packed_of(services), 0);
    put_large(&stage, KI_CONFIGMAPS, 0, 70);
    stage_settle(&stage); /* no time passes: no bookmark */
    assert_int_equal(packed_of(pods), 70);
    assert_int_equal(packed_of(services), 70);
    assert_int_equal(packed_of(endpoints), 0); /* a dictionary would take more */
    put_large(&stage, KI_CONFIGMAPS, 70, 250);
    stage_settle(&stage);
    assert_int_equal(health_of(pods).without_content + health_of(config_maps).without_content, 0);
    assert_true(health_of(pods).factory_object_bytes > 700000);
    put_large(&stage, KI_CONFIGMAPS, 250, 450);
    stage_settle(&stage);
    assert_true(health_of(config_maps).without_content > 0);
    assert_int_equal(health_of(services).without_content, 0);
    ki_factory_free(factory);
}

CONTROLLER_TEST(a_store_is_packed_in_one_walk_of_few_steps) {
    enum {
        COUNT = 300
    };
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 10000000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING));
    put_from_to(&stage, KI_PODS, 0, COUNT);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(packed_of(pods), 0);
    pods->options.account->limit = 300000;
    ki_informer_check_memory(pods);
    unsigned steps = 1;
    while (ki_informer_shrink(pods, 64, NULL) == KI_OK)
        steps++;
    assert_int_equal(packed_of(pods), COUNT);
    assert_true(steps < COUNT / 4);
    ki_factory_free(factory);
}

CONTROLLER_TEST(what_arrives_without_content_left_while_another_informer_packs_loses_its_content_afterwards) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 1));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
    ki_informer *services = ask(factory, KI_SERVICES, &KI_INFORMER_OPTIONS(.pack_from = -1));
    put_from_to(&stage, KI_PODS, 0, 20);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(health_of(pods).without_content, 20);
    services->packing = KI_PACKS_STORE;
    put_from_to(&stage, KI_PODS, 10, 30);
    stage_settle(&stage);
    assert_int_equal(health_of(pods).without_content, 10);
    ki_informer_check_memory(services); /* no dictionary: nothing is left to be packed */
    stage_settle(&stage);
    assert_int_equal(health_of(pods).without_content, 30);
    expect_consistent(pods, 30);
    ki_factory_free(factory);
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

typedef struct reports {
    unsigned drops, none, totals;
    bool is_false; /* a report said what was not so */
} reports;

static void note_report(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    reports *of = user;
    ki_health health = health_of(informer);
    const char *text = ki_error_message(cause);
    size_t used = 0, limit = 0;
    (void)key;
    assert_int_equal(cause->code, KI_ERR_LIMIT);
    assert_non_null(strstr(text, "the objects of all informers take "));
    assert_int_equal(sscanf(strstr(text, " take ") + 6, "%zu", &used), 1);
    assert_int_equal(sscanf(strstr(text, "memory_limit of ") + 16, "%zu", &limit), 1);
    of->is_false |= used != health.factory_object_bytes || (used > limit) != (strstr(text, "more than the") != NULL);
    if (strstr(text, "objects lose their content")) {
        of->drops++;
        of->is_false |= health.without_content == 0;
    } else if (strstr(text, "no object of this informer has content any more")) {
        of->none++;
        of->is_false |= health.objects == 0 || health.without_content < health.objects;
        of->is_false |= !health.is_over_factory_limit;
    } else {
        of->totals++;
        of->is_false |= !health.is_over_factory_limit || health.without_content > 0;
    }
}

CONTROLLER_TEST(each_informer_reports_at_most_twice_until_it_has_recovered) {
    static const ki_resource *const resources[] = { KI_PODS, KI_SERVICES, KI_ENDPOINTS, KI_CONFIGMAPS };
    enum {
        KINDS = 4,
        COUNT = 30
    };
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 60000));
    ki_informer *informers[KINDS];
    reports found[KINDS] = { { .drops = 0 } };
    unsigned totals = 0;
    for (unsigned i = 0; i < KINDS; i++) {
        informers[i] = ask(factory, resources[i], &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
        assert_int_equal(ki_informer_set_watch_error_handler(informers[i], note_report, &found[i], NULL), KI_OK);
        put_from_to(&stage, resources[i], 0, i == KINDS - 1 ? 0 : COUNT);
    }
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    for (unsigned round = 1; round <= 2; round++) {
        stage_advance(&stage, 1000);
        for (unsigned i = 0; i < KINDS - 1; i++) {
            if (round == 2)
                put_from_to(&stage, resources[i], 0, COUNT);
            stage_settle(&stage);
        }
        put_from_to(&stage, KI_CONFIGMAPS, 0, 400); /* views alone take more than the limit */
        stage_settle(&stage);
        put_from_to(&stage, KI_CONFIGMAPS, 0, 400);
        put_from_to(&stage, KI_PODS, 0, COUNT);
        stage_settle(&stage);
        delete_from_to(&stage, KI_CONFIGMAPS, 390, 400);
        put_from_to(&stage, KI_CONFIGMAPS, 390, 400);
        stage_settle(&stage);
        for (unsigned i = 0; i < KINDS; i++) {
            assert_int_equal(health_of(informers[i]).without_content, health_of(informers[i]).objects);
            assert_int_equal(found[i].drops, round);
            assert_int_equal(found[i].none, round);
            assert_false(found[i].is_false);
            totals += found[i].totals;
        }
        assert_int_equal(totals, 0); /* that none has content says so */
        for (unsigned i = 0; i < KINDS; i++)
            delete_from_to(&stage, resources[i], 0, i == KINDS - 1 ? 400 : COUNT);
        stage_settle(&stage);
    }
    ki_factory_free(factory);
}

CONTROLLER_TEST(of_a_list_it_is_reported_in_order_what_is_so) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 100000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
    reports found = { .drops = 0 };
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_report, &found, NULL), KI_OK);
    put_from_to(&stage, KI_PODS, 0, 500);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&stage, 1000);
    expect_consistent(pods, 500);
    assert_true(health_of(pods).without_content > 0 && health_of(pods).without_content < 500);
    assert_int_equal(found.drops, 1);
    assert_int_equal(found.none + found.totals, 0);
    assert_false(found.is_false);
    ki_factory_free(factory);
}

CONTROLLER_TEST(the_total_is_reported_only_if_nobody_can_drop_contents) {
    ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.memory_limit = 20000));
    ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .pack_from = -1));
    ki_informer *config_maps = ask(factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.pack_from = -1));
    reports found[2] = { { .drops = 0 } };
    assert_int_equal(ki_informer_set_watch_error_handler(pods, note_report, &found[0], NULL), KI_OK);
    assert_int_equal(ki_informer_set_watch_error_handler(config_maps, note_report, &found[1], NULL), KI_OK);
    put_from_to(&stage, KI_PODS, 0, 20);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_settle(&stage);
    put_from_to(&stage, KI_CONFIGMAPS, 0, 14);
    stage_settle(&stage);
    assert_int_equal(found[0].drops, 1);
    assert_int_equal(found[0].none + found[0].totals + found[1].totals, 0);
    put_from_to(&stage, KI_CONFIGMAPS, 14, 60);
    stage_settle(&stage);
    assert_int_equal(found[0].drops, 1);
    assert_int_equal(found[0].none, 1);
    assert_int_equal(found[0].totals + found[1].totals, 0); /* the last one that could drop has said it */
    for (unsigned round = 1; round <= 3; round++) {
        delete_from_to(&stage, KI_CONFIGMAPS, 0, 60);
        stage_settle(&stage);
        assert_false(health_of(pods).is_over_factory_limit);
        put_from_to(&stage, KI_CONFIGMAPS, 0, 60);
        stage_settle(&stage);
        assert_int_equal(found[0].drops + found[0].none, 2); /* pods have not recovered */
        assert_int_equal(found[0].totals, 0);
        assert_int_equal(found[1].totals, round);
    }
    assert_false(found[0].is_false);
    ki_factory_free(factory);
}

/* --- the factory's default ---------------------------------------------------------------------------------------- */

static void without_services(const ki_resource *resource, ki_informer_options *options, void *user) {
    (void)user;
    if (strcmp(resource->plural, "services") == 0)
        options->needs_content = true;
}

CONTROLLER_TEST(the_factorys_default_is_for_informers_that_have_a_view_and_content) {
    static const struct {
        const ki_resource *resource;
        ki_informer_options options;
        ki_keep expected;
    } cases[] = {
#define OPTIONS(...) { .size = sizeof(ki_informer_options), __VA_ARGS__ }
        { KI_PODS, OPTIONS(.view = fields), KI_KEEP_VIEW },
        { KI_PODS, OPTIONS(.view = fields, .keep = KI_KEEP_METADATA), KI_KEEP_VIEW },
        { KI_PODS, OPTIONS(.view = fields, .keep_at_limit = KI_KEEP_VIEW), KI_KEEP_VIEW },
        { KI_PODS, OPTIONS(.view = fields, .needs_content = true), KI_KEEP_OBJECT },
        { KI_PODS, OPTIONS(.view = fields, .keep = KI_KEEP_VIEW), KI_KEEP_OBJECT },
        { KI_PODS, OPTIONS(.keep = KI_KEEP_KEYS), KI_KEEP_OBJECT },
        { KI_CONFIGMAPS, OPTIONS(.keep = KI_KEEP_OBJECT), KI_KEEP_OBJECT },
        { KI_SERVICES, OPTIONS(.view = fields), KI_KEEP_OBJECT }, /* by `tweak` */
    };
    ki_factory *factory = limited_factory(
        &stage, KI_FACTORY_OPTIONS(.memory_limit = 1, .keep_at_limit = KI_KEEP_VIEW, .tweak = without_services));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ki_informer *informer = ask(factory, cases[i].resource, &cases[i].options);
        assert_int_equal(informer->options.given.keep_at_limit, cases[i].expected);
    }
    ki_informer *dropping = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = fields));
    ki_informer *whole = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = fields, .needs_content = true));
    put_from_to(&stage, KI_PODS, 0, 3);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    stage_advance(&stage, 1000);
    assert_int_equal(health_of(dropping).without_content, 3);
    assert_int_equal(health_of(whole).without_content, 0);
    ki_factory_free(factory);
}

CONTROLLER_TEST(another_default_than_the_view_is_an_error) {
    ki_factory *factory = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(
        ki_factory_new_on(NULL, stage.transport,
                          &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .keep_at_limit = KI_KEEP_KEYS), &factory,
                          &err),
        KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "ki_factory_options: .keep_at_limit 3: only KI_KEEP_VIEW");
}

CONTROLLER_TEST(an_informer_that_keeps_no_content_cannot_need_it) {
    static const ki_keep keeps[] = { KI_KEEP_VIEW, KI_KEEP_KEYS };
    for (size_t i = 0; i < 2; i++) {
        ki_informer *informer = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_informer_options options = KI_INFORMER_OPTIONS(.keep = keeps[i], .needs_content = true);
        options.view = keeps[i] == KI_KEEP_VIEW ? fields : NULL;
        assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, &options, &informer, &err), KI_ERR_INVALID);
        assert_string_equal(ki_error_message(&err),
                            "ki_informer_options: .needs_content beside a .keep without content");
    }
}

/* Returns the number of objects with a value in the index "app". */
static size_t count_of(ki_informer *informer, const char *app) {
    ki_object_list list;
    assert_int_equal(ki_lister_list_by_index(informer, "app", app, &list, NULL), KI_OK);
    size_t count = list.count;
    ki_object_list_free(&list);
    return count;
}

/* Labels whose value is not a string are skipped by each reader of labels: what an index has must not depend on the
 * content. */
CONTROLLER_TEST(an_index_by_a_label_needs_no_content) {
    static const ki_indexer by_label = { .name = "app", .path = "metadata.labels['app']" };
    for (size_t limit = 1; limit <= 1000000; limit *= 1000000) {
        ki_factory *factory = limited_factory(&stage, KI_FACTORY_OPTIONS(.engine = NULL));
        ki_informer *pods = ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .memory_limit = limit));
        assert_int_equal(ki_informer_add_indexers(pods, &by_label, 1, NULL), KI_OK);
        stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{\"app\":\"web\"}");
        stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"app\":\"web\"}");
        assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
        stage_advance(&stage, 1000);
        assert_int_equal(health_of(pods).without_content, limit == 1 ? 2 : 0);
        assert_int_equal(count_of(pods, "web"), 2);
        stage_put(&stage, KI_PODS, "shop/b", "\"labels\":{\"app\":\"db\"}");
        stage_delete(&stage, KI_PODS, "shop/a");
        stage_advance(&stage, 1000);
        assert_int_equal(count_of(pods, "web"), 0);
        assert_int_equal(count_of(pods, "db"), 1);
        ki_factory_free(factory);
    }
}

/* --- without memory ----------------------------------------------------------------------------------------------- */

enum {
    SOME = 12
};

TEST(an_idle_informer_without_memory_drops_contents_later) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        controller_stage s;
        assert_true(stage_open(&s, &memory.allocator));
        pair p = open_pair(&s, 20000);
        put_from_to(&s, KI_CONFIGMAPS, 0, 14);
        scarce_memory_begin(&memory);
        stage_advance(&s, 120000);
        assert_int_equal(health_of(p.config_maps).objects, 14);
        assert_true(health_of(p.pods).without_content > 0);
        assert_false(health_of(p.pods).is_over_factory_limit);
        expect_consistent(p.pods, 20);
        ki_factory_free(p.factory);
        stage_close(&s);
    }
}

TEST(the_walk_alone_without_memory_leaves_the_cache_as_it_was_and_tries_later) {
    for (int drops = 0; drops < 2; drops++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            controller_stage s;
            assert_true(stage_open(&s, &memory.allocator));
            ki_factory *factory = limited_factory(&s, KI_FACTORY_OPTIONS(.memory_limit = 1000000));
            ki_informer_options options = KI_INFORMER_OPTIONS(.view = fields, .pack_from = 3000);
            options.keep_at_limit = drops ? KI_KEEP_VIEW : KI_KEEP_OBJECT;
            ki_informer *pods = ask(factory, KI_PODS, &options);
            ki_memory_account *account = pods->options.account;
            assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
            stage_settle(&s);
            put_from_to(&s, KI_PODS, 0, SOME / 2);
            stage_settle(&s);
            put_from_to(&s, KI_PODS, SOME / 2, SOME);
            stage_settle(&s);
            size_t before = atomic_load(&account->bytes);
            assert_true(packed_of(pods) > 0 && packed_of(pods) < SOME); /* the first ones came before the dictionary */
            account->limit = 1;                                         /* as if another informer had all the room */
            scarce_memory_begin(&memory);
            ki_informer_note_progress(pods);
            stage_settle(&s);
            expect_consistent(pods, SOME);
            stage_advance(&s, 120000);
            expect_consistent(pods, SOME);
            assert_int_equal(health_of(pods).without_content, drops ? SOME : 0);
            assert_int_equal(packed_of(pods), drops ? 0 : SOME);
            assert_true(atomic_load(&account->bytes) <= before);
            put_from_to(&s, KI_PODS, SOME, SOME + 1);
            stage_advance(&s, 60000);
            expect_consistent(pods, SOME + 1);
            ki_factory_free(factory);
            stage_close(&s);
        }
    }
}

TEST(a_list_without_memory_drops_contents_all_the_same) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            controller_stage s;
            enum {
                LIMIT = 4000
            };
            assert_true(stage_open(&s, &memory.allocator));
            put_from_to(&s, KI_PODS, 0, SOME);
            ki_factory *factory = limited_factory(&s, KI_FACTORY_OPTIONS(.memory_limit = LIMIT));
            ki_informer *pods =
                ask(factory, KI_PODS, &KI_INFORMER_OPTIONS(DROPPING, .no_streaming_list = is_plain, .pack_from = -1));
            scarce_memory_begin(&memory);
            ki_status status = ki_factory_start(factory, NULL);
            if (status)
                assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
            stage_advance(&s, 120000);
            expect_consistent(pods, SOME);
            assert_true(health_of(pods).without_content > 0);
            assert_true(atomic_load(&pods->options.account->bytes) <= LIMIT);
            ki_factory_free(factory);
            stage_close(&s);
        }
    }
}

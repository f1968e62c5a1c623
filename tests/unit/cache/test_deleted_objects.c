/* test_deleted_objects.c: objects that can be read for a while after their deletion: by key and by index, marked; the
 * oldest go first. */

#include "src/base/memory.h"
#include "src/cache/store/deleted_objects.h"
#include "tests/support/informer_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEEP_MS = 60000
};

static const ki_indexer by_uid = { .name = "uid", .path = "metadata.uid" };

static void open_keeping(stage *s, observer *h) {
    ki_shared_informer_options options = { .factory = streaming_if(false),
                                           .given = KI_INFORMER_OPTIONS(.keep_deleted_ms = KEEP_MS) };
    assert_int_equal(open_stage_with(s, options, NULL), KI_OK);
    assert_int_equal(ki_informer_add_indexers(s->informer, &by_uid, 1, NULL), KI_OK);
    add_observer(h, s, NULL);
    start_stage(s);
}

/* Asserts what a lookup finds: "a=5", "a=5 deleted", or "-". */
static void assert_found(ki_object *obj, bool is_deleted, const char *expected) {
    char found[NOTATION_WORD * 2 + 16] = "-";
    if (obj)
        snprintf(found, sizeof found, "%s%s", notation_change(0, NULL, obj, "").text, is_deleted ? " deleted" : "");
    assert_string_equal(found, expected);
    ki_object_unref(obj);
}

static void assert_key(const stage *s, const char *key, const char *expected) {
    bool is_deleted = true;
    ki_object *obj = ki_informer_get_or_deleted(s->informer, key, &is_deleted);
    assert_found(obj, is_deleted, expected);
}

static void assert_uid(const stage *s, const char *uid, const char *expected) {
    ki_object *obj = NULL;
    bool is_deleted = true;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_informer_get_by_index_or_deleted(s->informer, "uid", uid, &obj, &is_deleted, &err);
    assert_int_equal(status, obj ? KI_OK : KI_ERR_NOT_FOUND);
    assert_found(obj, is_deleted, expected);
}

TEST(a_deleted_object_is_found_by_key_and_by_index_until_its_time) {
    static const struct {
        const char *script;          /* after LISTED */
        const char *by_key, *by_uid; /* of a */
    } cases[] = {
        { "", "a=5", "a=5" },
        { "-a=17", "a=17 deleted", "a=17 deleted" },
        { "~a=18; -a=19", "a=19 deleted", "a=19 deleted" },
        { "-a=17; wait 59999", "a=17 deleted", "a=17 deleted" },
        { "-a=17; wait 60000", "-", "-" },
        /* a list without it: its last state */
        { "error 410; wait 60000; {20: b=6}", "a=5 deleted", "a=5 deleted" },
        /* one of the same name: it comes first, and the deleted one is found by what it had */
        { "-a=17; +a=18#new", "a=18", "a=17 deleted" },
        { "-a=17; +a=18#new; wait 60000", "a=18", "-" },
        { "-a=17; +a=18#new; -a=19#new", "a=19 deleted", "-" },
        { "~a=18#new", "a=18", "a=5 deleted" },
        /* the same object is there again, as after a restore */
        { "-a=17; +a=18", "a=18", "a=18" },
        { "-a=17; wait 30000; +a=18; -a=19; wait 30000", "a=19 deleted", "a=19 deleted" },
        { "-a=17; wait 30000; +a=18; -a=19; wait 60000", "-", "-" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_keeping(&s, &h);
        play_each(&s, LISTED);
        play_each(&s, cases[i].script);
        assert_key(&s, "default/a", cases[i].by_key);
        assert_uid(&s, "default/a-uid", cases[i].by_uid);
        close_stage(&s);
    }
}

TEST(what_came_and_went_in_one_step_is_found) {
    stage s;
    observer h;
    open_keeping(&s, &h);
    play_each(&s, LISTED);
    play_all(&s, "+c=17; -c=18");
    expect(&h, "+a=5i +b=6i synced +c=17 -c=18");
    assert_key(&s, "default/c", "c=18 deleted");
    close_stage(&s);
}

TEST(nothing_else_shows_a_deleted_object) {
    stage s;
    observer h;
    ki_object_list list = { NULL, 0, NULL };
    ki_object *obj = NULL;
    open_keeping(&s, &h);
    play_each(&s, LISTED);
    play_each(&s, "-a=17; store b=6");
    assert_null(ki_informer_get(s.informer, "default/a"));
    assert_int_equal(ki_informer_get_by_index(s.informer, "uid", "default/a-uid", &obj, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_lister_get(s.informer, "default", "a", &obj, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_lister_list(s.informer, NULL, NULL, NULL, &list, NULL), KI_OK);
    assert_int_equal(list.count, 1);
    ki_object_list_free(&list);
    close_stage(&s);
}

TEST(without_the_option_nothing_is_kept) {
    stage s;
    observer h;
    bool is_deleted = true;
    ki_object *obj = NULL;
    open_listed_stage(&s, &h);
    play_each(&s, "-a=17");
    assert_null(ki_informer_get_or_deleted(s.informer, "default/a", &is_deleted));
    assert_false(is_deleted);
    assert_int_equal(ki_informer_get_by_index_or_deleted(s.informer, KI_NAMESPACE_INDEX, "none", &obj, NULL, NULL),
                     KI_ERR_NOT_FOUND);
    obj = ki_informer_get_or_deleted(s.informer, "default/b", NULL);
    assert_non_null(obj);
    ki_object_unref(obj);
    assert_null(ki_informer_get_or_deleted(NULL, "default/b", NULL));
    assert_null(ki_informer_get_or_deleted(s.informer, NULL, NULL));
    close_stage(&s);
}

TEST(an_index_that_comes_later_has_the_deleted_objects) {
    static const ki_indexer late = { .name = "late", .path = "metadata.resourceVersion" };
    stage s;
    observer h;
    ki_object *obj = NULL;
    bool is_deleted = false;
    open_keeping(&s, &h);
    play_each(&s, LISTED);
    play_each(&s, "-a=17");
    assert_int_equal(ki_informer_get_by_index_or_deleted(s.informer, "late", "17", &obj, &is_deleted, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_informer_add_indexers(s.informer, &late, 1, NULL), KI_OK);
    assert_int_equal(ki_informer_get_by_index_or_deleted(s.informer, "late", "17", &obj, &is_deleted, NULL), KI_OK);
    assert_found(obj, is_deleted, "a=17 deleted");
    close_stage(&s);
}

/* --- the limits --------------------------------------------------------------------------------------------------- */

static void open_objects(ki_deleted_objects *deleted, const ki_allocator *allocator) {
    const ki_store_options options = KI_STORE_OPTIONS(.allocator = allocator, .seed = 3, .namespaced = true);
    assert_int_equal(ki_deleted_objects_init(deleted, &options, 1000, NULL), KI_OK);
}

static ki_status stage_and_publish(ki_deleted_objects *deleted, ki_object *obj, int64_t now) {
    ki_status status = ki_deleted_objects_stage(deleted, obj);
    ki_deleted_objects_publish(deleted, now);
    return status;
}

static bool has(const ki_deleted_objects *deleted, const char *key) {
    ki_object *obj = ki_store_get(deleted->store, key);
    ki_object_unref(obj);
    return obj != NULL;
}

TEST(above_the_number_the_oldest_go_first) {
    ki_deleted_objects deleted;
    open_objects(&deleted, &ki_allocator_default);
    for (int i = 0; i < KI_DELETED_MAX_COUNT + 2; i++) {
        char key[32];
        snprintf(key, sizeof key, "ns/k%d", i);
        ki_object *obj = make_object(key, "1", NULL);
        assert_int_equal(stage_and_publish(&deleted, obj, i / 100), KI_OK);
        ki_object_unref(obj);
    }
    size_t units = 1;
    assert_int_equal(ki_deleted_objects_next_trim(&deleted, 5), 5);
    assert_int_equal(ki_deleted_objects_trim(&deleted, 5, &units), KI_OK);
    assert_int_equal(units, 0);
    assert_false(has(&deleted, "ns/k0"));
    assert_true(has(&deleted, "ns/k1"));
    units = 10;
    assert_int_equal(ki_deleted_objects_trim(&deleted, 5, &units), KI_OK);
    assert_int_equal(units, 9);
    assert_false(has(&deleted, "ns/k1"));
    assert_true(has(&deleted, "ns/k2"));
    assert_int_equal(ki_deleted_objects_next_trim(&deleted, 5), 1000);
    units = 200; /* the first hundred, less the two */
    assert_int_equal(ki_deleted_objects_trim(&deleted, 1000, &units), KI_OK);
    assert_int_equal(units, 200 - 98);
    ki_deleted_objects_free(&deleted);
}

TEST(the_time_begins_with_the_publication) {
    ki_deleted_objects deleted;
    open_objects(&deleted, &ki_allocator_default);
    ki_object *obj = make_object("ns/a", "1", NULL);
    size_t units = 10;
    assert_int_equal(ki_deleted_objects_stage(&deleted, obj), KI_OK);
    assert_true(has(&deleted, "ns/a"));
    assert_int_equal(ki_deleted_objects_trim(&deleted, 5000, &units), KI_OK);
    assert_int_equal(ki_deleted_objects_stage(&deleted, obj), KI_OK); /* what was staged was dropped */
    assert_int_equal(deleted.queue.count, 1);
    ki_deleted_objects_publish(&deleted, 6000);
    ki_object_unref(obj);
    assert_int_equal(ki_deleted_objects_next_trim(&deleted, 6000), 7000);
    assert_int_equal(ki_deleted_objects_trim(&deleted, 6999, &units), KI_OK);
    assert_true(has(&deleted, "ns/a"));
    assert_int_equal(ki_deleted_objects_trim(&deleted, 7000, &units), KI_OK);
    assert_false(has(&deleted, "ns/a"));
    assert_int_equal(ki_deleted_objects_next_trim(&deleted, 7000), INT64_MAX);
    ki_deleted_objects_free(&deleted);
}

TEST(each_deletion_of_a_key_has_its_time_also_of_the_same_object) {
    ki_deleted_objects deleted;
    open_objects(&deleted, &ki_allocator_default);
    ki_object *obj = make_object("ns/a", "1", NULL), *other = make_object("ns/a", "2", NULL);
    size_t units = 10;
    assert_int_equal(stage_and_publish(&deleted, obj, 0), KI_OK);
    assert_int_equal(stage_and_publish(&deleted, obj, 600), KI_OK);
    assert_int_equal(ki_deleted_objects_trim(&deleted, 1599, &units), KI_OK);
    assert_true(has(&deleted, "ns/a"));
    assert_int_equal(ki_deleted_objects_trim(&deleted, 1600, &units), KI_OK);
    assert_false(has(&deleted, "ns/a"));
    assert_int_equal(deleted.queue.count, 0);

    assert_int_equal(stage_and_publish(&deleted, obj, 2000), KI_OK);
    assert_int_equal(stage_and_publish(&deleted, other, 2100), KI_OK);
    assert_int_equal(stage_and_publish(&deleted, obj, 2200), KI_OK);
    assert_int_equal(ki_deleted_objects_trim(&deleted, 3199, &units), KI_OK);
    assert_ptr_equal(ki_store_known(deleted.store, "ns/a"), obj);
    assert_int_equal(ki_deleted_objects_trim(&deleted, 3200, &units), KI_OK);
    assert_false(has(&deleted, "ns/a"));
    ki_deleted_objects_free(&deleted);
    ki_object_unref(obj);
    ki_object_unref(other);
}

TEST(above_the_memory_the_oldest_go_first) {
    ki_deleted_objects deleted;
    open_objects(&deleted, &ki_allocator_default);
    char *json = malloc(KI_DELETED_MAX_BYTES / 3);
    int size = sprintf(json, "{\"metadata\":{\"name\":\"?\",\"namespace\":\"ns\"},\"text\":\"");
    memset(json + size, 'x', KI_DELETED_MAX_BYTES / 3 - (size_t)size);
    memcpy(json + KI_DELETED_MAX_BYTES / 3 - 3, "\"}", 3);
    for (int name = 'a'; name <= 'd'; name++) {
        *strpbrk(json + 20, "?abc") = (char)name;
        ki_object *obj = make_object_from_json(json);
        assert_int_equal(stage_and_publish(&deleted, obj, 0), KI_OK);
        ki_object_unref(obj);
    }
    free(json);
    size_t units = 10;
    assert_int_equal(ki_deleted_objects_trim(&deleted, 0, &units), KI_OK);
    assert_true(deleted.bytes <= KI_DELETED_MAX_BYTES);
    assert_false(has(&deleted, "ns/a"));
    assert_true(has(&deleted, "ns/d"));
    ki_deleted_objects_free(&deleted);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static ki_status keep_two_and_drop_one(const ki_allocator *allocator) {
    const ki_store_options options = KI_STORE_OPTIONS(.allocator = allocator, .seed = 3, .namespaced = true);
    ki_deleted_objects deleted = { .store = NULL };
    ki_object *a = make_object("ns/a", "1", NULL), *b = make_object("ns/b", "2", NULL);
    ki_status status = ki_deleted_objects_init(&deleted, &options, 1000, NULL);
    bool is_open = !status, has_a = false;
    if (!status)
        status = stage_and_publish(&deleted, a, 0);
    has_a = !status;
    if (!status)
        status = stage_and_publish(&deleted, b, 1);
    if (!status)
        status = stage_and_publish(&deleted, b, 2);
    size_t units = 10;
    if (!status)
        status = ki_deleted_objects_trim(&deleted, 1000, &units);
    if (is_open) {
        assert_int_equal(has(&deleted, "ns/a"), has_a && status);
        assert_int_equal(deleted.bytes == 0, deleted.queue.count == 0);
    }
    ki_deleted_objects_free(&deleted);
    ki_object_unref(a);
    ki_object_unref(b);
    return status;
}

TEST(lack_of_memory_changes_nothing) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_status status = keep_two_and_drop_one(&memory.allocator);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
    }
}

TEST(a_deleted_object_is_kept_and_dropped_whatever_allocation_fails) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        stage s;
        ki_shared_informer_options options = { .factory = streaming_if(false),
                                               .given = KI_INFORMER_OPTIONS(.keep_deleted_ms = KEEP_MS) };
        assert_int_equal(open_stage_with(&s, options, &memory.allocator), KI_OK);
        start_stage(&s);
        play_each(&s, LISTED);
        play(&s, "+z=16"); /* the queue keeps the entry: a deletion that it cannot take is lost until the next list */
        settle(&s);
        scarce_memory_begin(&memory);
        play(&s, "-a=17");
        settle(&s);
        play(&s, "wait 5000"); /* the retry */
        ki_object *still = ki_informer_get(s.informer, "default/a");
        if (still)
            play_each(&s, "{17: b=6}"); /* the event was not queued: a list follows */
        assert_key(&s, "default/a", still ? "a=5 deleted" : "a=17 deleted");
        ki_object_unref(still);
        play(&s, "wait 62000");
        assert_key(&s, "default/a", "-");
        close_stage(&s);
    }
}

WITH_BOTH_QUEUES;

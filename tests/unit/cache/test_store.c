/* test_store.c: objects, indexes, moments: one at a time, against a plain model under random changes,
 * under readers, without memory. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/store/store.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/store_changes.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- help --------------------------------------------------------------------------------------------------------- */

/* The labels' values; an object labelled "fail" fails, with "rot" it says so only to the values. */
static ki_status index_labels(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    const char *name, *value;
    for (size_t i = 0; ki_object_label_at(obj, i, &name, &value); i++) {
        ki_status status = ki_index_values_add(values, value);
        if (status)
            return status;
    }
    if (ki_object_label(obj, "rot"))
        (void)!ki_index_values_add(values, NULL);
    return ki_object_label(obj, "fail") ? KI_ERR_INVALID : KI_OK;
}

/* Twice the same value, which is the first letter of the name. */
static ki_status index_letter(const ki_object *obj, ki_index_values *values, void *user) {
    char letter[2] = { ki_object_name(obj)[0], '\0' };
    ++*(size_t *)user;
    ki_status status = ki_index_values_add(values, letter);
    return status ? status : ki_index_values_add(values, letter);
}

static ki_status index_many(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    char text[24];
    for (size_t i = 0; i < *(size_t *)user; i++) {
        snprintf(text, sizeof text, "%zu", i);
        (void)!ki_index_values_add(values, text); /* looks past the limit */
    }
    return KI_OK;
}

static const ki_indexer label_indexer = { .name = "labels", .index = index_labels };

static char index_errors[256];
static size_t index_error_count;

static void note_index_error(const ki_error *err, const char *key, void *user) {
    (void)user;
    assert_non_null(strstr(ki_error_message(err), key));
    index_error_count++;
    snprintf(index_errors + strlen(index_errors), sizeof index_errors - strlen(index_errors), "%s;", key);
}

static ki_store *new_store(const ki_allocator *allocator, bool namespaced) {
    ki_store_options options = { .size = sizeof(ki_store_options),
                                 .allocator = allocator,
                                 .seed = 5,
                                 .namespaced = namespaced,
                                 .on_index_error = note_index_error };
    ki_store *store = NULL;
    index_errors[0] = '\0';
    index_error_count = 0;
    assert_int_equal(ki_store_new(&options, &store, NULL), KI_OK);
    return store;
}

static void put(ki_store *store, const char *key, const char *version, const char *labels) {
    assert_int_equal(store_take(store, make_object(key, version, labels), version), KI_OK);
}

static void take_out(ki_store *store, const char *key, const char *version) {
    assert_int_equal(ki_store_delete(store, key, version, NULL), KI_OK);
}

static int compare_words(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a=1 b=2 ": what a walk gives, sorted, each with what `second` says of it. */
static const char *walk(const ki_snapshot *snapshot, const char *index, const char *value) {
    static char text[4096];
    char words[64][64];
    const char *sorted[64];
    size_t count = 0;
    ki_cursor cursor = KI_CURSOR_INIT;
    for (;;) {
        const ki_object *obj = NULL;
        const char *word = NULL;
        if (!index)
            obj = ki_snapshot_next(snapshot, &cursor);
        else if (value)
            obj = ki_snapshot_next_by_index(snapshot, index, value, &cursor);
        else
            word = ki_snapshot_next_index_value(snapshot, index, &cursor);
        if (!obj && !word)
            break;
        assert_in_range(count, 0, 63);
        if (obj)
            snprintf(words[count], sizeof *words, "%s=%s", ki_object_key(obj), ki_object_resource_version(obj));
        else
            snprintf(words[count], sizeof *words, "%s:%zu", word, ki_snapshot_count_by_index(snapshot, index, word));
        sorted[count] = words[count];
        count++;
    }
    qsort(sorted, count, sizeof *sorted, compare_words);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        strcat(strcat(text, sorted[i]), " ");
    return text;
}

static void assert_walk(const ki_store *store, const char *index, const char *value, const char *expected) {
    ki_snapshot *now = ki_store_snapshot(store);
    assert_string_equal(walk(now, index, value), expected);
    ki_snapshot_free(now);
}

static void assert_version(const ki_store *store, const char *version) {
    ki_snapshot *now = ki_store_snapshot(store);
    assert_string_equal(ki_snapshot_resource_version(now), version);
    ki_snapshot_free(now);
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

TEST(objects_are_put_got_replaced_and_taken_out) {
    ki_store *store = new_store(&ki_allocator_default, true);
    assert_int_equal(ki_store_count(store), 0);
    assert_null(ki_store_get(store, "a/x"));
    ki_object *first = make_object("a/x", "1", NULL), *second = make_object("a/x", "2", NULL);
    assert_int_equal(ki_store_put(store, first, NULL, NULL), KI_OK);
    assert_int_equal(ki_store_put(store, second, NULL, NULL), KI_OK);
    put(store, "a/y", "3", NULL);
    assert_int_equal(ki_store_count(store), 2);
    assert_walk(store, NULL, NULL, "a/x=2 a/y=3 ");
    ki_object *got = ki_store_get(store, "a/x");
    assert_ptr_equal(got, second);
    ki_object_unref(got);
    assert_int_equal(ki_store_delete(store, "a/z", NULL, NULL), KI_OK);
    assert_int_equal(ki_store_count(store), 2);
    assert_int_equal(ki_store_delete(store, "a/x", NULL, NULL), KI_OK);
    assert_null(ki_store_get(store, "a/x"));
    assert_walk(store, NULL, NULL, "a/y=3 ");
    ki_object_unref(first);
    ki_object_unref(second);
    ki_store_free(store);
    ki_store_free(NULL);
}

TEST(a_replace_leaves_what_is_in_the_list) {
    ki_store *store = new_store(&ki_allocator_default, true);
    put(store, "a/x", "1", NULL);
    put(store, "b/y", "1", NULL);
    ki_object *list[] = { make_object("b/y", "2", NULL), make_object("c/z", "3", NULL), make_object("c/z", "4", NULL) };
    assert_int_equal(ki_store_replace(store, list, 3, "9", NULL), KI_OK);
    assert_walk(store, NULL, NULL, "b/y=2 c/z=4 ");
    assert_walk(store, "namespace", NULL, "b:1 c:1 ");
    assert_version(store, "9");
    assert_int_equal(ki_store_replace(store, NULL, 0, NULL, NULL), KI_OK);
    assert_int_equal(ki_store_count(store), 0);
    assert_walk(store, "namespace", NULL, "");
    assert_version(store, "9");
    for (size_t i = 0; i < 3; i++)
        ki_object_unref(list[i]);
    ki_store_free(store);
}

TEST(the_store_knows_the_version_it_is_at) {
    ki_store *store = new_store(&ki_allocator_default, false);
    assert_version(store, "");
    put(store, "x", "10", NULL);
    assert_version(store, "10");
    take_out(store, "x", "11");
    assert_version(store, "11");
    take_out(store, "x", "12"); /* gone already: the version moves all the same */
    assert_version(store, "12");
    take_out(store, "x", NULL);
    assert_version(store, "12");
    assert_int_equal(ki_store_set_resource_version(store, "13", NULL), KI_OK);
    assert_version(store, "13");
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    assert_version(store, "13");
    ki_store_free(store);
}

TEST(a_snapshot_does_not_change_and_outlives_the_store) {
    ki_store *store = new_store(&ki_allocator_default, true);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    put(store, "a/x", "1", "l=red");
    put(store, "b/y", "2", "l=blue");
    ki_snapshot *held = ki_store_snapshot(store);
    put(store, "a/x", "3", "l=blue");
    take_out(store, "b/y", "4");
    put(store, "c/z", "5", "l=red");
    ki_store_free(store);
    assert_int_equal(ki_snapshot_count(held), 2);
    assert_string_equal(ki_snapshot_resource_version(held), "2");
    assert_string_equal(walk(held, NULL, NULL), "a/x=1 b/y=2 ");
    assert_string_equal(walk(held, "labels", "blue"), "b/y=2 ");
    assert_string_equal(walk(held, "labels", NULL), "blue:1 red:1 ");
    assert_string_equal(walk(held, "namespace", NULL), "a:1 b:1 ");
    assert_string_equal(ki_object_resource_version(ki_snapshot_get(held, "a/x")), "1");
    assert_null(ki_snapshot_get(held, "c/z"));
    ki_snapshot_free(held);
    ki_snapshot_free(NULL);
}

/* --- indexes ------------------------------------------------------------------------------------------------------ */

TEST(namespaced_stores_have_a_namespace_index_and_others_none) {
    ki_store *store = new_store(&ki_allocator_default, true);
    put(store, "a/x", "1", NULL);
    put(store, "a/y", "1", NULL);
    put(store, "b/x", "1", NULL);
    assert_walk(store, KI_NAMESPACE_INDEX, "a", "a/x=1 a/y=1 ");
    assert_walk(store, KI_NAMESPACE_INDEX, NULL, "a:2 b:1 ");
    ki_store_free(store);
    store = new_store(&ki_allocator_default, false);
    ki_snapshot *now = ki_store_snapshot(store);
    assert_false(ki_snapshot_has_index(now, KI_NAMESPACE_INDEX));
    ki_snapshot_free(now);
    ki_store_free(store);
}

TEST(an_unknown_index_differs_from_an_empty_one) {
    ki_store *store = new_store(&ki_allocator_default, true);
    ki_snapshot *now = ki_store_snapshot(store);
    assert_true(ki_snapshot_has_index(now, "namespace"));
    assert_false(ki_snapshot_has_index(now, "labels"));
    assert_string_equal(walk(now, "labels", "x"), "");
    assert_string_equal(walk(now, "labels", NULL), "");
    assert_int_equal(ki_snapshot_count_by_index(now, "labels", "x"), 0);
    ki_snapshot_free(now);
    ki_store_free(store);
}

TEST(an_index_follows_every_change) {
    ki_store *store = new_store(&ki_allocator_default, false);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    put(store, "x", "1", "l=red,m=round");
    put(store, "y", "1", "l=red");
    assert_walk(store, "labels", NULL, "red:2 round:1 ");
    put(store, "x", "2", "l=red,m=square"); /* one stays, one goes, one comes */
    assert_walk(store, "labels", NULL, "red:2 square:1 ");
    assert_walk(store, "labels", "red", "x=2 y=1 ");
    assert_walk(store, "labels", "square", "x=2 ");
    put(store, "x", "3", "l=square,m=red"); /* the same values */
    assert_walk(store, "labels", NULL, "red:2 square:1 ");
    assert_walk(store, "labels", "square", "x=3 ");
    put(store, "x", "4", NULL);
    assert_walk(store, "labels", NULL, "red:1 ");
    put(store, "z", "5", "l=red");
    take_out(store, "y", NULL);
    assert_walk(store, "labels", "red", "z=5 "); /* a set that is not empty stays */
    take_out(store, "z", NULL);
    assert_walk(store, "labels", NULL, ""); /* an empty one goes */
    put(store, "e", "6", "l=");
    assert_walk(store, "labels", NULL, ":1 "); /* an empty value is a value */
    assert_walk(store, "labels", "", "e=6 ");
    ki_store_free(store);
}

TEST(an_object_is_under_each_of_its_values) {
    static const struct {
        const char *key, *labels; /* labels NULL: taken out */
        const char *foo, *bar, *baz;
    } steps[] = {
        { "k1", "a=foo", "k1=0 ", "", "" },
        { "k2", "a=bar", "k1=0 ", "k2=1 ", "" },
        { "k2", "a=foo,b=bar", "k1=0 k2=2 ", "k2=2 ", "" },
        { "k1", "a=foo,b=bar", "k1=3 k2=2 ", "k1=3 k2=2 ", "" },
        { "k3", "a=foo,b=bar,c=baz", "k1=3 k2=2 k3=4 ", "k1=3 k2=2 k3=4 ", "k3=4 " },
        { "k1", "a=foo", "k1=5 k2=2 k3=4 ", "k2=2 k3=4 ", "k3=4 " },
        { "k2", "a=bar", "k1=5 k3=4 ", "k2=6 k3=4 ", "k3=4 " },
        { "k1", NULL, "k3=4 ", "k2=6 k3=4 ", "k3=4 " },
        { "k3", NULL, "", "k2=6 ", "" },
    };
    ki_store *store = new_store(&ki_allocator_default, false);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char version[2] = { (char)('0' + i), '\0' };
        if (steps[i].labels)
            put(store, steps[i].key, version, steps[i].labels);
        else
            take_out(store, steps[i].key, version);
        assert_walk(store, "labels", "foo", steps[i].foo);
        assert_walk(store, "labels", "bar", steps[i].bar);
        assert_walk(store, "labels", "baz", steps[i].baz);
    }
    assert_walk(store, "labels", NULL, "bar:1 ");
    ki_store_free(store);
}

TEST(an_index_added_late_knows_what_is_there) {
    ki_store *store = new_store(&ki_allocator_default, true);
    put(store, "a/x", "1", "l=red");
    put(store, "b/y", "2", "l=red");
    ki_snapshot *before = ki_store_snapshot(store);
    size_t calls = 0;
    const ki_indexer more[] = { label_indexer, { .name = "letter", .index = index_letter, .user = &calls } };
    assert_int_equal(ki_store_add_indexers(store, more, 2, NULL), KI_OK);
    assert_int_equal(calls, 2); /* once for each object */
    assert_walk(store, "labels", "red", "a/x=1 b/y=2 ");
    assert_walk(store, "letter", NULL, "x:1 y:1 ");
    assert_walk(store, "namespace", NULL, "a:1 b:1 ");
    assert_false(ki_snapshot_has_index(before, "labels"));
    assert_string_equal(walk(before, "namespace", NULL), "a:1 b:1 ");
    put(store, "a/x", "3", "l=blue");
    assert_walk(store, "labels", NULL, "blue:1 red:1 ");
    assert_string_equal(walk(before, NULL, NULL), "a/x=1 b/y=2 ");
    ki_snapshot_free(before);
    ki_store_free(store);
}

TEST(indexers_are_added_all_or_none) {
    ki_store *store = new_store(&ki_allocator_default, true);
    const ki_indexer fresh = { .name = "fresh", .index = index_labels };
    static const struct {
        ki_indexer second;
        ki_status status;
    } cases[] = {
        { { .name = "namespace", .index = index_labels }, KI_ERR_EXISTS },
        { { .name = "fresh", .index = index_labels }, KI_ERR_EXISTS },
        { { .name = "", .index = index_labels }, KI_ERR_INVALID },
        { { .name = NULL, .index = index_labels }, KI_ERR_INVALID },
        { { .name = "none", .index = NULL }, KI_ERR_INVALID },
        { { .name = "both", .index = index_labels, .path = "a" }, KI_ERR_INVALID },
        { { .name = "path", .path = "a[" }, KI_ERR_PARSE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        const ki_indexer both[] = { fresh, cases[i].second };
        assert_int_equal(ki_store_add_indexers(store, both, 2, &err), cases[i].status);
        assert_int_equal(err.code, cases[i].status);
        ki_snapshot *now = ki_store_snapshot(store);
        assert_false(ki_snapshot_has_index(now, "fresh"));
        ki_snapshot_free(now);
    }
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 0, NULL), KI_OK);
    char name[16];
    for (int i = 1; i < 64; i++) { /* with the namespaces' 64 */
        snprintf(name, sizeof name, "i%d", i);
        assert_int_equal(ki_store_add_indexers(store, &(ki_indexer){ .name = name, .index = index_labels }, 1, NULL),
                         KI_OK);
    }
    assert_int_equal(ki_store_add_indexers(store, &fresh, 1, NULL), KI_ERR_LIMIT);
    ki_store_free(store);
}

TEST(an_index_function_that_fails_leaves_out_that_object_only) {
    ki_store *store = new_store(&ki_allocator_default, true);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    put(store, "a/good", "1", "l=red");
    put(store, "a/bad", "1", "l=red,fail=1");
    put(store, "a/rot", "1", "l=red,rot=1");
    assert_string_equal(index_errors, "a/bad;a/rot;");
    assert_int_equal(index_error_count, 2);
    assert_walk(store, "labels", "red", "a/good=1 ");
    assert_walk(store, "namespace", "a", "a/bad=1 a/good=1 a/rot=1 "); /* not in that index only */
    put(store, "a/bad", "2", "l=red");
    assert_walk(store, "labels", "red", "a/bad=2 a/good=1 ");
    put(store, "a/bad", "3", "l=red,fail=1"); /* and out again */
    assert_walk(store, "labels", "red", "a/good=1 ");
    take_out(store, "a/bad", NULL);
    assert_int_equal(index_error_count, 3);
    assert_int_equal(ki_store_count(store), 2);
    ki_store_free(store);
}

TEST(values_have_limits) {
    ki_store *store = new_store(&ki_allocator_default, false);
    size_t count = 1000;
    assert_int_equal(
        ki_store_add_indexers(store, &(ki_indexer){ .name = "many", .index = index_many, .user = &count }, 1, NULL),
        KI_OK);
    put(store, "x", "1", NULL);
    assert_int_equal(index_error_count, 0);
    assert_walk(store, "many", "999", "x=1 ");
    count = 1001; /* one too many: as if it had failed */
    put(store, "y", "2", NULL);
    assert_int_equal(index_error_count, 1);
    assert_walk(store, "many", "7", "x=1 ");
    assert_int_equal(ki_store_count(store), 2);
    ki_store_free(store);
}

static void put_json(ki_store *store, const char *json) {
    assert_int_equal(store_take(store, make_object_from_json(json), "1"), KI_OK);
}

TEST(an_index_by_path_has_the_scalars_that_are_there) {
    ki_store *store = new_store(&ki_allocator_default, false);
    char ip_path[] = "s.ips[*].ip";
    const ki_indexer indexers[] = { { .name = "ip", .path = ip_path }, { .name = "any", .path = "s.any" } };
    assert_int_equal(ki_store_add_indexers(store, indexers, 2, NULL), KI_OK);
    ip_path[0] = '[';                                                               /* copied */
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK); /* after others */
    put_json(store,
             "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"1\"},\"s\":{\"ips\":[{\"ip\":\"1\"},{},{\"ip\":"
             "\"2\"},{\"ip\":\"1\"}],\"any\":true}}");
    put_json(store,
             "{\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"1\"},\"s\":{\"ips\":[{\"ip\":\"2\"}],\"any\":-7.5}}");
    put_json(store,
             "{\"metadata\":{\"name\":\"z\",\"resourceVersion\":\"1\"},\"s\":{\"ips\":null,\"any\":\"q\\\"\\u0041\"}}");
    put_json(store, "{\"metadata\":{\"name\":\"w\",\"resourceVersion\":\"1\"},\"s\":{\"any\":null}}");
    put_json(store, "{\"metadata\":{\"name\":\"v\",\"resourceVersion\":\"1\"},\"s\":{\"any\":[\"list\"]}}");
    assert_walk(store, "ip", NULL, "1:1 2:2 ");
    assert_walk(store, "ip", "2", "x=1 y=1 ");
    assert_walk(store, "any", NULL, "-7.5:1 q\"A:1 true:1 ");
    put_json(store, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"2\"},\"s\":{\"ips\":[{\"ip\":\"3\"}]}}");
    take_out(store, "z", NULL);
    assert_walk(store, "ip", NULL, "2:1 3:1 ");
    assert_walk(store, "any", NULL, "-7.5:1 ");
    assert_int_equal(index_error_count, 0);
    ki_store_free(store);
}

/* Not what the interface asks for: what it says of an object changes. */
static ki_status index_by_whim(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    return ki_index_values_add(values, user);
}

TEST(an_index_function_that_changes_its_mind_does_no_harm) {
    static char whim[70000] = "first";
    ki_store *store = new_store(&ki_allocator_default, false);
    assert_int_equal(
        ki_store_add_indexers(store, &(ki_indexer){ .name = "whim", .index = index_by_whim, .user = whim }, 1, NULL),
        KI_OK);
    put(store, "x", "1", NULL);
    put(store, "y", "1", NULL);
    strncpy(whim, "second", sizeof whim - 1);
    take_out(store, "x", NULL);
    assert_walk(store, "whim", NULL, "first:2 "); /* out of date, and alive */
    assert_walk(store, "whim", "first", "x=1 y=1 ");
    put(store, "y", "2", NULL);
    put(store, "z", "2", NULL);
    strncpy(whim, "first", sizeof whim - 1);
    take_out(store, "z", NULL);
    assert_walk(store, "whim", "second", "y=2 z=2 ");
    memset(whim, 'v', sizeof whim - 1); /* longer than a value may be */
    put(store, "long", "3", NULL);
    assert_int_equal(index_error_count, 1);
    assert_walk(store, "whim", NULL, "first:2 second:2 ");
    ki_store_free(store);
}

TEST(a_list_with_a_key_twice_is_indexed_as_the_last_of_them) {
    ki_store *store = new_store(&ki_allocator_default, false);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    ki_object *list[] = { make_object("y", "1", "l=red"), make_object("x", "1", "l=red"),
                          make_object("x", "2", "l=blue"), make_object("x", "3", "l=green") };
    assert_int_equal(ki_store_replace(store, list, 4, NULL, NULL), KI_OK);
    assert_walk(store, "labels", NULL, "green:1 red:1 ");
    assert_walk(store, "labels", "red", "y=1 ");
    assert_walk(store, "labels", "green", "x=3 ");
    for (size_t i = 0; i < 4; i++)
        ki_object_unref(list[i]);
    ki_store_free(store);
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static unsigned next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

enum {
    NAMES = 40,
    COLOURS = 6
};

/* What should be in a store: the version of each object, and its labels as bits. */
typedef struct model {
    unsigned version[NAMES];
    unsigned colours[NAMES];
} model;

static void assert_like(const ki_snapshot *snapshot, const model *m) {
    char text[32];
    size_t count = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(text, sizeof text, "n%u/x%u", i % 3, i);
        const ki_object *obj = ki_snapshot_get(snapshot, text);
        assert_int_equal(obj ? strtoul(ki_object_resource_version(obj), NULL, 10) : 0, m->version[i]);
        count += m->version[i] != 0;
    }
    assert_int_equal(ki_snapshot_count(snapshot), count);
    size_t used = 0;
    for (unsigned c = 0; c < COLOURS; c++) {
        size_t in_set = 0;
        for (unsigned i = 0; i < NAMES; i++)
            in_set += m->version[i] && (m->colours[i] & 1u << c);
        used += in_set != 0;
        snprintf(text, sizeof text, "c%u", c);
        assert_int_equal(ki_snapshot_count_by_index(snapshot, "labels", text), in_set);
        ki_cursor cursor = KI_CURSOR_INIT;
        const ki_object *obj;
        while ((obj = ki_snapshot_next_by_index(snapshot, "labels", text, &cursor))) {
            assert_ptr_equal(obj, ki_snapshot_get(snapshot, ki_object_key(obj)));
            assert_non_null(ki_object_label(obj, text));
            in_set--;
        }
        assert_int_equal(in_set, 0);
    }
    ki_cursor cursor = KI_CURSOR_INIT;
    while (ki_snapshot_next_index_value(snapshot, "labels", &cursor))
        used--;
    assert_int_equal(used, 0);
}

static ki_object *coloured(unsigned number, unsigned version, unsigned colours) {
    char key[32], text[32], labels[COLOURS * 8 + 1] = "";
    for (unsigned c = 0; c < COLOURS; c++)
        if (colours & 1u << c)
            sprintf(labels + strlen(labels), "%sc%u=c%u", *labels ? "," : "", c, c);
    snprintf(key, sizeof key, "n%u/x%u", number % 3, number);
    snprintf(text, sizeof text, "%u", version);
    return make_object(key, text, labels);
}

static void random_replace(ki_store *store, model *m, unsigned version, uint64_t *random) {
    ki_object *list[NAMES];
    size_t count = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        m->version[i] = next_random(random) % 2 ? version : 0;
        m->colours[i] = next_random(random) % (1u << COLOURS);
        if (m->version[i])
            list[count++] = coloured(i, version, m->colours[i]);
    }
    assert_int_equal(ki_store_replace(store, list, count, NULL, NULL), KI_OK);
    while (count)
        ki_object_unref(list[--count]);
}

TEST(objects_and_indexes_agree_with_a_model_under_random_changes) {
    enum {
        OPERATIONS = 20000,
        HELD = 4
    };
    ki_store *store = new_store(&ki_allocator_default, true);
    assert_int_equal(ki_store_add_indexers(store, &label_indexer, 1, NULL), KI_OK);
    model now = { { 0 }, { 0 } }, then[HELD];
    ki_snapshot *held[HELD] = { NULL };
    uint64_t random = 11;
    for (unsigned version = 1; version <= OPERATIONS; version++) {
        unsigned i = next_random(&random) % NAMES;
        unsigned what = next_random(&random) % 100;
        if (what == 0) {
            random_replace(store, &now, version, &random);
        } else if (what < 60) {
            now.version[i] = version;
            now.colours[i] = next_random(&random) % (1u << COLOURS);
            ki_object *obj = coloured(i, version, now.colours[i]);
            assert_int_equal(ki_store_put(store, obj, NULL, NULL), KI_OK);
            ki_object_unref(obj);
        } else {
            char key[32];
            snprintf(key, sizeof key, "n%u/x%u", i % 3, i);
            now.version[i] = 0;
            take_out(store, key, NULL);
        }
        if (version % 50 == 0) {
            unsigned h = next_random(&random) % HELD;
            if (held[h])
                assert_like(held[h], &then[h]);
            ki_snapshot_free(held[h]);
            held[h] = ki_store_snapshot(store);
            then[h] = now;
        }
    }
    ki_snapshot *last = ki_store_snapshot(store);
    assert_like(last, &now);
    ki_snapshot_free(last);
    ki_store_free(store);
    for (unsigned h = 0; h < HELD; h++) {
        assert_like(held[h], &then[h]);
        ki_snapshot_free(held[h]);
    }
}

/* --- readers on other threads ------------------------------------------------------------------------------------- */

typedef struct reading {
    ki_store *store;
    _Atomic bool done;
    _Atomic size_t rounds;
    const char *_Atomic complaint;
} reading;

enum {
    GENERATION = 30
}; /* objects of one generation: every moment between two replaces has that many, all of one version */

/* What is wrong with the moment that is published, or NULL. */
static const char *read_one_moment(const ki_store *store) {
    const char *complaint = NULL;
    ki_snapshot *now = ki_store_snapshot(store);
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    size_t count = 0;
    while ((obj = ki_snapshot_next(now, &cursor))) {
        count++;
        if (strcmp(ki_object_resource_version(obj), ki_snapshot_resource_version(now)) != 0)
            complaint = "half of a replace";
    }
    if (count != ki_snapshot_count(now) || count != ki_snapshot_count_by_index(now, "namespace", "n"))
        complaint = "index and objects do not agree";
    ki_snapshot_free(now);
    ki_object *one = ki_store_get(store, "n/7");
    if (!one || ki_store_count(store) != GENERATION)
        complaint = "an object is missing";
    ki_object_unref(one);
    return complaint;
}

static void *read_until_done(void *user) {
    reading *r = user;
    while (!atomic_load(&r->done)) {
        const char *complaint = read_one_moment(r->store);
        if (complaint)
            atomic_store(&r->complaint, complaint);
        atomic_fetch_add(&r->rounds, 1);
    }
    return NULL;
}

static void replace_generation(ki_store *store, unsigned generation) {
    ki_object *list[GENERATION];
    char key[16], version[16];
    snprintf(version, sizeof version, "%u", generation);
    for (unsigned i = 0; i < GENERATION; i++) {
        snprintf(key, sizeof key, "n/%u", i);
        list[i] = make_object(key, version, NULL);
    }
    assert_int_equal(ki_store_replace(store, list, GENERATION, version, NULL), KI_OK);
    for (unsigned i = 0; i < GENERATION; i++)
        ki_object_unref(list[i]);
}

TEST(readers_never_see_half_of_a_change) {
    enum {
        READERS = 3
    };
    reading r = { .store = new_store(&ki_allocator_default, true) };
    pthread_t threads[READERS];
    replace_generation(r.store, 1);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_until_done, &r), 0);
    for (unsigned generation = 2; generation < 300 || atomic_load(&r.rounds) < 100; generation++)
        replace_generation(r.store, generation);
    atomic_store(&r.done, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    if (r.complaint)
        fail_msg("%s", r.complaint);
    ki_store_free(r.store);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Does one step of a fixed row of changes; the same step again is harmless. */
static ki_status step(ki_store *store, int number, ki_error *err) {
    static size_t calls;
    ki_object *objects[3] = { NULL, NULL, NULL };
    const ki_indexer more[] = { label_indexer, { .name = "letter", .index = index_letter, .user = &calls } };
    ki_status status = KI_OK;
    switch (number) {
    case 0:
        objects[0] = make_object("a/x", "1", "l=red,m=blue");
        status = ki_store_put(store, objects[0], "1", err);
        break;
    case 1:
        status = ki_store_add_indexers(store, more, 2, err);
        break;
    case 2:
        objects[0] = make_object("b/y", "2", "l=red");
        status = ki_store_put(store, objects[0], "2", err);
        break;
    case 3:
        objects[0] = make_object("a/x", "3", "l=blue,m=green");
        status = ki_store_put(store, objects[0], "3", err);
        break;
    case 4:
        status = ki_store_delete(store, "b/y", "4", err);
        break;
    case 5:
        objects[0] = make_object("a/x", "5", "l=blue");
        objects[1] = make_object("a/y", "5", "l=blue");
        objects[2] = make_object("c/x", "5", "l=a-value-that-needs-more-room-than-the-others-had-before-it");
        status = ki_store_replace(store, objects, 3, "5", err);
        break;
    default:
        status = ki_store_set_resource_version(store, "6", err);
        break;
    }
    for (int i = 0; i < 3; i++)
        ki_object_unref(objects[i]);
    return status;
}

enum {
    STEPS = 7
};

static void describe(const ki_store *store, char *text, size_t size) {
    ki_snapshot *now = ki_store_snapshot(store);
    snprintf(text, size, "%s: %s|", ki_snapshot_resource_version(now), walk(now, NULL, NULL));
    static const char *const names[] = { "namespace", "labels", "letter" };
    for (size_t i = 0; i < 3; i++) {
        snprintf(text + strlen(text), size - strlen(text), "%s%s", ki_snapshot_has_index(now, names[i]) ? "" : "no ",
                 walk(now, names[i], NULL));
        snprintf(text + strlen(text), size - strlen(text), "|%s|", walk(now, names[i], "blue"));
    }
    ki_snapshot_free(now);
}

TEST(lack_of_memory_leaves_the_store_as_it_was) {
    enum {
        TEXT = 1024
    };
    char expected[STEPS][TEXT];
    ki_store *store = new_store(&ki_allocator_default, true);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(step(store, i, NULL), KI_OK);
        describe(store, expected[i], TEXT);
    }
    ki_store_free(store);
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_store_options options = {
            .size = sizeof(ki_store_options), .allocator = &memory.allocator, .seed = 5, .namespaced = true
        };
        ki_error err = KI_ERROR_INIT;
        store = NULL;
        ki_status status = ki_store_new(&options, &store, &err);
        if (status) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            assert_int_equal(err.code, KI_ERR_NO_MEMORY);
            assert_null(store);
            continue;
        }
        char before[TEXT], after[TEXT];
        for (int i = 0; i < STEPS; i++) {
            describe(store, before, TEXT);
            status = step(store, i, &err);
            describe(store, after, TEXT);
            if (status) {
                assert_int_equal(status, KI_ERR_NO_MEMORY);
                assert_non_null(strstr(err.message, "out of memory"));
                assert_string_equal(after, before);
                assert_int_equal(step(store, i, NULL), KI_OK);
                describe(store, after, TEXT);
            }
            assert_string_equal(after, expected[i]);
        }
        assert_int_equal(index_error_count, 0); /* it is no fault of the index functions */
        ki_store_free(store);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

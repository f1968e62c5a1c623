/* test_published.c: what readers read stays until they leave, and goes then; whoever comes later holds up nothing for
 * long; readers on many threads while a writer publishes. */

#include "src/base/memory.h"
#include "src/cache/store/published.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    READERS = 8,
    SWAPS = 20000
};

static ki_schema *schema;

static ki_snapshot *make(int version) {
    char text[16];
    snprintf(text, sizeof text, "%d", version);
    ki_snapshot *snapshot = ki_snapshot_new(schema, ki_str_of(text));
    assert_non_null(snapshot);
    return snapshot;
}

static void begin(ki_published *published) {
    assert_int_equal(ki_schema_new(&ki_allocator_default, 1, NULL, NULL, 0, &schema, NULL), KI_OK);
    assert_int_equal(ki_published_init(published, make(0), NULL), KI_OK);
}

static void end(ki_published *published) {
    ki_published_destroy(published);
    ki_schema_unref(schema);
}

/* Publishes another snapshot. Returns the one before, with a reference for the test. */
static ki_snapshot *swap(ki_published *published, int version) {
    ki_snapshot *before = ki_published_take(published);
    ki_published_swap(published, make(version));
    assert_int_equal(atoi(ki_published_of_writer(published)->resource_version), version);
    return before;
}

/* Returns true if only the test has the snapshot, and releases it then. */
static bool is_released(ki_snapshot *snapshot) {
    bool is_only = ki_refcount_is_one(&snapshot->refs);
    if (is_only)
        ki_snapshot_free(snapshot);
    return is_only;
}

TEST(without_readers_a_snapshot_goes_at_once) {
    ki_published published;
    begin(&published);
    for (int i = 1; i < 5; i++)
        assert_true(is_released(swap(&published, i)));
    end(&published);
}

TEST(a_reader_keeps_what_it_reads_until_it_leaves) {
    ki_published published;
    unsigned stripe;
    begin(&published);
    const ki_snapshot *read = ki_published_enter(&published, &stripe);
    ki_snapshot *first = swap(&published, 1), *second = swap(&published, 2), *third = swap(&published, 3);
    assert_ptr_equal(read, first);
    assert_string_equal(read->resource_version, "0");
    assert_false(is_released(first));
    assert_false(is_released(second)); /* it waits behind the first one */
    assert_false(is_released(third));
    ki_published_leave(&published, stripe);
    assert_true(is_released(first));
    assert_true(is_released(second));
    assert_true(is_released(third));
    end(&published);
}

TEST(the_last_reader_of_a_stripe_lets_a_snapshot_go) {
    ki_published published;
    unsigned before, after;
    begin(&published);
    (void)ki_published_enter(&published, &before);
    ki_snapshot *first = swap(&published, 1);
    assert_string_equal(ki_published_enter(&published, &after)->resource_version, "1");
    assert_int_equal(before, after); /* the same thread */
    ki_published_leave(&published, before);
    assert_false(is_released(first)); /* who left is not known */
    ki_published_leave(&published, after);
    assert_true(is_released(first));
    end(&published);
}

TEST(what_still_waits_goes_with_the_store) {
    ki_published published;
    unsigned stripe;
    begin(&published);
    (void)ki_published_enter(&published, &stripe);
    ki_published_swap(&published, make(1));
    ki_published_swap(&published, make(2));
    end(&published);
}

typedef struct reading {
    ki_published *published;
    _Atomic bool *has_ended;
} reading;

static void *read_on(void *user) {
    const reading *self = user;
    int before = 0;
    for (unsigned turn = 0; !atomic_load(self->has_ended); turn++) {
        unsigned stripe;
        ki_snapshot *kept = turn % 8 ? NULL : ki_published_take(self->published);
        int version = atoi(ki_published_enter(self->published, &stripe)->resource_version);
        ki_published_leave(self->published, stripe);
        assert_true(version >= before && version <= SWAPS);
        before = version;
        assert_true(!kept || atoi(kept->resource_version) <= version);
        ki_snapshot_free(kept);
    }
    return NULL;
}

TEST(readers_on_many_threads_see_states_in_order_and_all_go) {
    ki_published published;
    _Atomic bool has_ended = false;
    pthread_t threads[READERS];
    reading self = { &published, &has_ended };
    begin(&published);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &self), 0);
    for (int i = 1; i <= SWAPS; i++)
        ki_published_swap(&published, make(i));
    atomic_store(&has_ended, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_null(published.retiring);
    assert_null(published.retired);
    end(&published);
}

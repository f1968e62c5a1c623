/* test_published.c: a snapshot stays until its readers leave, and is released then; later readers do not delay that;
 * readers on many threads while a writer publishes. */

#include "src/base/memory.h"
#include "src/cache/store/published.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    READERS = 40, /* more than stripes */
    SWAPS = 20000
};

static ki_schema *schema;

static ki_snapshot *make(int version) {
    char text[16];
    snprintf(text, sizeof text, "%d", version);
    ki_snapshot *snapshot = ki_snapshot_new(schema, text);
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
    assert_int_equal(atoi(atomic_load(&published->now)->resource_version), version);
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
    ki_reading reading;
    begin(&published);
    const ki_snapshot *read = ki_published_enter(&published, &reading);
    ki_snapshot *first = swap(&published, 1), *second = swap(&published, 2), *third = swap(&published, 3);
    assert_ptr_equal(read, first);
    assert_string_equal(read->resource_version, "0");
    assert_false(is_released(first));
    assert_false(is_released(second)); /* it waits behind the first one */
    assert_false(is_released(third));
    ki_published_leave(&published, reading);
    assert_true(is_released(first));
    assert_true(is_released(second));
    assert_true(is_released(third));
    end(&published);
}

/* What an allocator has freed, in order. */
typedef struct frees {
    const void *of[16];
    size_t count;
} frees;

static void note_free(void *memory, void *user) {
    frees *noted = user;
    if (noted->count < sizeof noted->of / sizeof *noted->of)
        noted->of[noted->count++] = memory;
    ki_allocator_default.free(memory, NULL);
}

TEST(what_waited_is_released_from_the_oldest_on) {
    enum {
        WAITING = 5
    };
    frees noted = { .count = 0 };
    ki_allocator allocator = ki_allocator_default;
    ki_published published;
    ki_reading reading;
    const ki_snapshot *waiting[WAITING];
    allocator.free = note_free;
    allocator.user = &noted;
    assert_int_equal(ki_schema_new(&allocator, 1, NULL, NULL, 0, &schema, NULL), KI_OK);
    assert_int_equal(ki_published_init(&published, make(0), NULL), KI_OK);
    waiting[0] = ki_published_enter(&published, &reading);
    for (int i = 1; i <= WAITING; i++) {
        ki_published_swap(&published, make(i));
        if (i < WAITING)
            waiting[i] = atomic_load(&published.now);
    }
    noted.count = 0;
    ki_published_leave(&published, reading);
    assert_int_equal(noted.count, WAITING);
    for (size_t i = 0; i < WAITING; i++)
        assert_ptr_equal(noted.of[i], waiting[i]);
    end(&published);
}

TEST(who_finds_the_stripe_taken_holds_up_nothing) {
    ki_published published;
    ki_reading before, after;
    begin(&published);
    (void)ki_published_enter(&published, &before);
    ki_snapshot *first = swap(&published, 1);
    assert_string_equal(ki_published_enter(&published, &after)->resource_version, "1"); /* the same thread and stripe */
    assert_non_null(after.held);
    ki_published_leave(&published, before);
    assert_true(is_released(first)); /* although the second reader came before the first one left */
    ki_snapshot *second = swap(&published, 2);
    assert_string_equal(after.held->resource_version, "1");
    assert_false(is_released(second));
    ki_published_leave(&published, after);
    assert_true(is_released(second));
    end(&published);
}

TEST(what_still_waits_goes_with_the_store) {
    ki_published published;
    ki_reading reading;
    begin(&published);
    (void)ki_published_enter(&published, &reading);
    ki_published_swap(&published, make(1));
    ki_published_swap(&published, make(2));
    end(&published);
}

typedef struct reader {
    ki_published *published;
    _Atomic bool *has_ended;
} reader;

static void *read_on(void *user) {
    const reader *self = user;
    int before = 0;
    for (unsigned turn = 0; !atomic_load(self->has_ended); turn++) {
        ki_reading reading;
        ki_snapshot *kept = turn % 8 ? NULL : ki_published_take(self->published);
        int version = atoi(ki_published_enter(self->published, &reading)->resource_version);
        ki_published_leave(self->published, reading);
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
    reader self = { &published, &has_ended };
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

/* A cache of a recorder keeps so many entries, and those that were used last. */
#include "controllers/events/event_lru.h"

#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>

typedef struct entry {
    ki_event_lru_node node;
    char *held;
} entry;

static void drop(void *user, const ki_allocator *allocator) {
    entry *e = user;
    ki_free(allocator, e->held);
}

static ki_event_key key_of(const char *text) {
    return ki_event_key_of(1, &text, 1);
}

static entry *get(ki_event_lru *lru, const char *text) {
    const ki_event_key key = key_of(text);
    return ki_event_lru_get(lru, &key);
}

static entry *add(ki_event_lru *lru, const char *text) {
    const ki_event_key key = key_of(text);
    entry *e = ki_event_lru_add(lru, &key);
    if (e)
        e->held = ki_strdup(lru->allocator, text);
    return e;
}

static void open_lru(ki_event_lru *lru, const ki_allocator *allocator) {
    ki_event_lru_init(lru, allocator, sizeof(entry), 3, 1);
    lru->drop = drop;
}

TEST(the_entry_that_was_used_longest_ago_goes) {
    ki_event_lru lru;
    open_lru(&lru, &ki_allocator_default);
    entry *a = add(&lru, "a");
    add(&lru, "b");
    add(&lru, "c");
    assert_ptr_equal(get(&lru, "a"), a);
    add(&lru, "d");
    assert_null(get(&lru, "b"));
    assert_non_null(get(&lru, "c"));
    add(&lru, "e");
    assert_null(get(&lru, "a"));
    assert_non_null(get(&lru, "d"));
    assert_string_equal(get(&lru, "c")->held, "c");
    ki_event_lru_remove(&lru, get(&lru, "d"));
    assert_null(get(&lru, "d"));
    add(&lru, "f");
    assert_non_null(get(&lru, "c"));
    assert_non_null(get(&lru, "e"));
    assert_non_null(get(&lru, "f"));
    ki_event_lru_free(&lru);
}

TEST(texts_with_other_borders_have_other_keys) {
    static const char *const texts[][3] = {
        { "ab", "c", "" }, { "a", "bc", "" }, { "", "abc", "" }, { "abc", "", "" }, { "", "", "abc" }
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const ki_event_key one = ki_event_key_of(7, texts[i], 3), again = ki_event_key_of(7, texts[i], 3);
        const ki_event_key seeded = ki_event_key_of(8, texts[i], 3), shorter = ki_event_key_of(7, texts[i], 2);
        assert_true(ki_event_key_equal(&one, &again));
        assert_false(ki_event_key_equal(&one, &seeded));
        assert_false(ki_event_key_equal(&one, &shorter));
        for (size_t j = 0; j < i; j++) {
            const ki_event_key other = ki_event_key_of(7, texts[j], 3);
            assert_false(ki_event_key_equal(&one, &other));
        }
    }
}

TEST(each_allocation_may_fail) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_event_lru lru;
        open_lru(&lru, &memory.allocator);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (add(&lru, names[i]))
                assert_non_null(get(&lru, names[i]));
            else
                assert_null(get(&lru, names[i]));
        assert_true(lru.map.count <= 3);
        ki_event_lru_free(&lru);
    }
}

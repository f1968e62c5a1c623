/* test_wait_table.c: who waits for which version: which changes end which waits, in which order they are handed out. */

#include "src/base/memory.h"
#include "src/cache/informer/wait_table.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/time/growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 256,
    MANY = 10000
};

static void handler(ki_informer *informer, ki_status status, void *user) {
    (void)informer;
    (void)status;
    (void)user;
}

static void other_handler(ki_informer *informer, ki_status status, void *user) {
    handler(informer, status, user);
}

static ki_version_wait wait_for(const char *key, const char *version, int64_t deadline) {
    return (ki_version_wait){ .key = key, .version = version, .deadline = deadline, .handler = handler };
}

/* Those handed out, by their place in `waits`, with the first letter of their status: "0o 2t ". */
static void expect(ki_wait_table *table, const ki_version_wait *waits, const char *expected) {
    char text[TEXT] = "";
    const ki_version_wait *wait;
    while ((wait = ki_wait_table_next_decided(table)))
        snprintf(text + strlen(text), TEXT - strlen(text), "%d%c ", (int)(wait - waits),
                 ki_status_name(wait->status)[0]);
    assert_string_equal(text, expected);
}

TEST(a_change_ends_the_waits_for_it_and_for_what_was_before) {
    static const struct {
        const char *key, *version;
        bool is_gone;
        const char *ended;
    } cases[] = {
        { NULL, "5", false, "" },
        { NULL, "7", false, "0o 2o 6o " },
        { NULL, "100", false, "0o 1o 2o 3o 6o " },
        { NULL, "x", false, "4o 5o " },
        { NULL, "y", false, "" },
        { NULL, "", false, "" },
        { "a", "9", false, "2o 7o " },
        { "a", "9", true, "2o " },
        { "a", "x", false, "5o 7o " },
        { "a", "", false, "7o " },
        { "b", "100", false, "3o 6o " },
        { "c", "100", false, "" },
        { "a-key-longer-than-any-other", "100", false, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_wait_table table;
        ki_wait_table_init(&table, &ki_allocator_default, i);
        ki_version_wait waits[] = {
            wait_for(NULL, "7", INT64_MAX),  wait_for(NULL, "10", INT64_MAX), wait_for("a", "7", INT64_MAX),
            wait_for("b", "100", INT64_MAX), wait_for(NULL, "x", INT64_MAX),  wait_for("a", "x", INT64_MAX),
            wait_for("b", "6", INT64_MAX),   wait_for("a", "", INT64_MAX),
        };
        size_t count = sizeof waits / sizeof *waits;
        for (size_t w = 0; w < count; w++)
            assert_int_equal(ki_wait_table_add(&table, &waits[w]), KI_OK);
        ki_wait_table_seen(&table, cases[i].key, cases[i].version, cases[i].is_gone);
        expect(&table, waits, cases[i].ended);
        ki_wait_table_cancel_all(&table);
        assert_int_equal(table.count, 0);
        while (ki_wait_table_next_decided(&table)) {}
        assert_null(table.maps);
    }
}

TEST(a_wait_ends_once_by_what_comes_first) {
    ki_wait_table table;
    ki_wait_table_init(&table, &ki_allocator_default, 1);
    ki_version_wait waits[] = { wait_for(NULL, "5", 100), wait_for("a", "5", 50), wait_for(NULL, "9", 100),
                                wait_for(NULL, "9", INT64_MAX) };
    waits[3].handler = other_handler;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    assert_int_equal(ki_wait_table_next_deadline(&table), 50);
    ki_wait_table_expire(&table, 49);
    expect(&table, waits, "");
    ki_wait_table_expire(&table, 50);
    ki_wait_table_seen(&table, NULL, "6", false);
    ki_wait_table_seen(&table, "a", "6", false);
    assert_true(ki_wait_table_cancel(&table, handler, NULL));
    assert_false(ki_wait_table_cancel(&table, handler, NULL));
    assert_false(ki_wait_table_cancel(&table, other_handler, &table));
    ki_wait_table_expire(&table, INT64_MAX);
    expect(&table, waits, "0o 1t 2c ");
    assert_int_equal(ki_wait_table_next_deadline(&table), INT64_MAX);
    ki_wait_table_remove(&table, &waits[3]);
    assert_int_equal(table.count, 0);
    ki_wait_table_free(&table);
}

TEST(ten_thousand_waits_are_cancelled_in_the_order_of_asking) {
    ki_wait_table table;
    ki_wait_table_init(&table, &ki_allocator_default, 1);
    ki_version_wait *waits = calloc(MANY, sizeof *waits);
    char(*keys)[24] = calloc(MANY, sizeof *keys);
    assert_true(waits && keys);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "%zu", i * 7919 % MANY);
        waits[i] = wait_for(i % 2 ? keys[i] : NULL, "5", INT64_MAX);
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    }
    ki_wait_table_cancel_all(&table);
    for (size_t i = 0; i < MANY; i++) {
        assert_ptr_equal(ki_wait_table_next_decided(&table), &waits[i]);
        assert_int_equal(waits[i].status, KI_ERR_CANCELLED);
    }
    assert_false(ki_wait_table_has_decided(&table));
    ki_wait_table_free(&table);
    free(waits);
    free(keys);
}

/* Numbers of more than 64 bits, leading zeros and 0 are compared as the API's rules say. */
TEST(versions_are_compared_as_numbers_of_any_length) {
    static const struct {
        const char *seen, *wanted;
        bool is_reached;
    } cases[] = {
        { "18446744073709551616", "18446744073709551615", true },
        { "18446744073709551615", "18446744073709551616", false },
        { "9999999999999999999", "10000000000000000000", false },
        { "10000000000000000000", "9999999999999999999", true },
        { "1", "99999999999999999999999999", false },
        { "10", "9", true },
        { "9", "10", false },
        { "9x", "9", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_wait_table table;
        ki_wait_table_init(&table, &ki_allocator_default, 1);
        ki_version_wait wait = wait_for(NULL, cases[i].wanted, INT64_MAX);
        assert_int_equal(ki_wait_table_add(&table, &wait), KI_OK);
        ki_wait_table_seen(&table, NULL, cases[i].seen, false);
        assert_int_equal(wait.is_decided, cases[i].is_reached);
        ki_wait_table_cancel_all(&table);
        ki_wait_table_free(&table);
    }
}

static bool lacks(const ki_version_wait *wait, void *user) {
    (void)wait;
    return *(const bool *)user;
}

TEST(a_held_wait_ends_by_its_object_or_once_the_state_is_there) {
    bool is_lacking = true;
    ki_wait_table table;
    ki_wait_table_init(&table, &ki_allocator_default, 1);
    table.may_lack = lacks;
    table.may_lack_user = &is_lacking;
    ki_version_wait waits[] = { wait_for(NULL, "5", INT64_MAX), wait_for("a", "5", INT64_MAX) };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    ki_wait_table_seen(&table, NULL, "6", false);
    ki_wait_table_check_held(&table);
    expect(&table, waits, "");
    ki_wait_table_seen(&table, "a", "6", false);
    expect(&table, waits, "1o ");
    is_lacking = false;
    ki_wait_table_check_held(&table);
    expect(&table, waits, "0o ");
    ki_wait_table_free(&table);
}

TEST(the_version_of_a_namespace_ends_only_the_waits_for_its_objects) {
    ki_wait_table table;
    ki_wait_table_init(&table, &ki_allocator_default, 1);
    table.is_set = true;
    ki_version_wait waits[] = { wait_for("a/x", "5", INT64_MAX), wait_for("b/x", "5", INT64_MAX),
                                wait_for(NULL, "5", INT64_MAX), wait_for("a/y", "odd", INT64_MAX),
                                wait_for("b/y", "9", INT64_MAX) };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    ki_wait_table_seen_in(&table, "a", "6");
    expect(&table, waits, "0o ");
    ki_wait_table_seen_in(&table, "a", "odd");
    expect(&table, waits, "3o ");
    ki_wait_table_seen_in(&table, "", "7");
    ki_wait_table_seen_in(&table, "c", "7");
    expect(&table, waits, "");
    ki_wait_table_seen(&table, NULL, "7", false);
    expect(&table, waits, "1o 2o ");
    ki_wait_table_seen_in(&table, "b", "9");
    expect(&table, waits, "4o ");
    ki_wait_table_free(&table);
}

TEST(a_wait_without_memory_is_not_added) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_wait_table table;
        ki_wait_table_init(&table, &memory.allocator, 1);
        ki_version_wait wait = wait_for("a", "5", INT64_MAX);
        ki_status status = ki_wait_table_add(&table, &wait);
        assert_int_equal(table.count, status ? 0 : 1);
        ki_wait_table_seen(&table, NULL, "5", false);
        assert_ptr_equal(ki_wait_table_next_decided(&table), status ? NULL : &wait);
        ki_wait_table_free(&table);
    }
}

/* --- many --------------------------------------------------------------------------------------------------------- */

static bool has_gone(const ki_version_wait *wait, void *user) {
    (void)user;
    return wait->uid != NULL;
}

/* Each change ends one wait. Half of the waits are for an object, half of these for its deletion. */
static void end_one_by_one(size_t count, void *user) {
    (void)user;
    ki_wait_table table;
    ki_version_wait *waits = calloc(count, sizeof *waits);
    char(*texts)[24] = calloc(count, sizeof *texts);
    assert_true(waits && texts);
    ki_wait_table_init(&table, &ki_allocator_default, 1);
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%zu", i + 1);
        waits[i] = wait_for(i % 2 ? texts[i] : NULL, i % 2 ? "" : texts[i], (int64_t)(count - i));
        waits[i].uid = i % 4 == 3 ? "" : NULL;
        waits[i].user = &waits[i];
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
        assert_int_equal(ki_wait_table_next_deadline(&table), (int64_t)(count - i));
    }
    for (size_t i = 0; i < count; i++) {
        ki_wait_table_check_deletions(&table, texts[i], has_gone, NULL);
        ki_wait_table_seen(&table, texts[i], texts[i], false);
        ki_wait_table_seen(&table, NULL, texts[i], false);
        ki_wait_table_check_held(&table);
        ki_wait_table_expire(&table, 0);
        assert_ptr_equal(ki_wait_table_next_decided(&table), &waits[i]);
        assert_int_equal(waits[i].status, KI_OK);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(ki_wait_table_cancel(&table, handler, &waits[i]));
    while (ki_wait_table_next_decided(&table)) {}
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
    for (size_t i = 0; i < count; i++) {
        ki_wait_table_expire(&table, (int64_t)i + 1);
        assert_ptr_equal(ki_wait_table_next_decided(&table), &waits[count - 1 - i]);
    }
    assert_int_equal(table.count, 0);
    ki_wait_table_free(&table);
    free(waits);
    free(texts);
}

TEST(the_time_for_many_waits_is_linear) {
    assert_true(growth_of(end_one_by_one, MANY / GROWTH_FACTOR, NULL) < GROWTH_LINEAR_MAX);
}

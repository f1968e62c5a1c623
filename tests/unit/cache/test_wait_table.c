/* test_wait_table.c: who waits for which version: which changes end which waits, in which order they are handed out, and how much looking it
 * takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/memory.h"
#include "src/cache/wait_table.h"
#include "tests/support/scarce_memory.h"

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

static void a_change_ends_the_waits_for_it_and_for_what_was_before(void **state) {
    (void)state;
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
        assert_int_equal(table.undecided, 0);
        while (ki_wait_table_next_decided(&table)) {}
        assert_int_equal(table.count, 0);
        assert_int_equal(table.keyed, 0);
        assert_int_equal(table.groups.count, 0);
        ki_wait_table_free(&table);
    }
}

static void a_wait_ends_once_by_what_comes_first(void **state) {
    (void)state;
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

/* Comparisons of versions and map lookups are all that a change costs: with so many waits and changes they may grow with the logarithm of the
 * number only. */
static void ten_thousand_waits_and_changes_are_not_quadratic(void **state) {
    (void)state;
    static const char *const kinds[] = { "copy", "keys", "one key", "opaque" };
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        ki_wait_table table;
        ki_wait_table_init(&table, &ki_allocator_default, 1);
        ki_version_wait *waits = calloc(MANY, sizeof *waits);
        char(*texts)[2][24] = calloc(MANY, sizeof *texts);
        assert_true(waits && texts);
        for (size_t i = 0; i < MANY; i++) {
            size_t version = 1 + i * 7919 % MANY; /* in no order */
            snprintf(texts[i][0], sizeof texts[i][0], kind == 3 ? "v%zu" : "%zu", version);
            snprintf(texts[i][1], sizeof texts[i][1], "key-%zu", kind == 2 ? 1 : version);
            waits[i] = wait_for(kind == 0 ? NULL : texts[i][1], texts[i][0], (int64_t)(MANY + i));
            waits[i].user = kind == 3 ? &waits[i] : NULL;
            assert_int_equal(ki_wait_table_add(&table, &waits[i]), KI_OK);
        }
        size_t ended = 0;
        for (size_t i = 1; i <= MANY; i++) {
            char version[24], key[24];
            snprintf(version, sizeof version, kind == 3 ? "v%zu" : "%zu", i);
            snprintf(key, sizeof key, "key-%zu", kind == 2 ? 1 : i);
            ki_wait_table_seen(&table, NULL, kind == 0 ? version : "0", false);
            ki_wait_table_seen(&table, key, version, false);
            ki_wait_table_expire(&table, (int64_t)i - 1);
            while (ki_wait_table_next_decided(&table))
                ended++;
            assert_int_equal(ended, i);
        }
        /* In and out of three heaps of 2^14 at most, twice 14 comparisons each, and a few to look. */
        if (table.comparisons > (uint64_t)MANY * (3 * 2 * 2 * 14))
            fail_msg("%s: %llu comparisons", kinds[kind], (unsigned long long)table.comparisons);
        assert_int_equal(table.count, 0);
        ki_wait_table_free(&table);
        free(waits);
        free(texts);
    }
}

static void ten_thousand_waits_are_cancelled_in_the_order_of_asking(void **state) {
    (void)state;
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

static void without_memory_a_wait_is_not_in_and_the_others_are(void **state) {
    (void)state;
    for (size_t fail_at = 0;; fail_at++) {
        ki_wait_table table;
        scarce_memory memory;
        scarce_memory_init(&memory, fail_at);
        ki_wait_table_init(&table, &memory.allocator, 1);
        ki_version_wait waits[] = { wait_for(NULL, "5", 7), wait_for("a", "v5", 8), wait_for("b", "5", INT64_MAX),
                                    wait_for("b", "", INT64_MAX) };
        size_t in = 0;
        for (size_t i = 0; i < 4; i++) {
            size_t before = table.count;
            ki_status status = ki_wait_table_add(&table, &waits[i]);
            assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            in += status == KI_OK;
            assert_int_equal(table.count - before, status == KI_OK);
        }
        assert_true(in >= 3);
        ki_wait_table_cancel_all(&table);
        while (ki_wait_table_next_decided(&table))
            in--;
        assert_int_equal(in, 0);
        assert_int_equal(table.groups.count, 0);
        ki_wait_table_free(&table);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!scarce_memory_failed(&memory))
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_ends_the_waits_for_it_and_for_what_was_before),
        cmocka_unit_test(a_wait_ends_once_by_what_comes_first),
        cmocka_unit_test(ten_thousand_waits_and_changes_are_not_quadratic),
        cmocka_unit_test(ten_thousand_waits_are_cancelled_in_the_order_of_asking),
        cmocka_unit_test(without_memory_a_wait_is_not_in_and_the_others_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

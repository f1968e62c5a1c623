/* test_workqueue_parts.c: a work queue's parts that hold many keys: the table of items by key, the heap of items by
 * rank, and the inbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/memory.h"
#include "src/workqueue/inbox.h"
#include "src/workqueue/item_heap.h"
#include "src/workqueue/key_table.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITEMS = 5000,
    KEY = 16
};

static ki_work_item *make_item(const ki_key_table *table, unsigned number) {
    ki_work_item *item = calloc(1, sizeof *item + KEY);
    assert_non_null(item);
    item->key_size = (uint16_t)snprintf(item->key, KEY, "key-%u", number);
    item->hash = table ? ki_key_table_hash(table, item->key, item->key_size) : 0;
    item->place = KI_WORK_ITEM_OUT;
    return item;
}

static ki_work_item *find(const ki_key_table *table, unsigned number, uint32_t hash_mask) {
    char key[KEY];
    size_t size = (size_t)snprintf(key, sizeof key, "key-%u", number);
    return ki_key_table_find(table, key, size, ki_key_table_hash(table, key, size) & hash_mask);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* With few different hashes, buckets overflow. */
static void the_table_finds_what_is_in_it_and_nothing_else(void **state) {
    (void)state;
    static const uint32_t masks[] = { UINT32_MAX, 0xff, 0xfffff00f, 0 };
    static ki_work_item *items[ITEMS];
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        unsigned count = masks[m] == UINT32_MAX ? ITEMS : ITEMS / 10;
        ki_key_table table;
        assert_int_equal(ki_key_table_init(&table, &ki_allocator_default, 42), KI_OK);
        for (unsigned i = 0; i < count; i++) {
            items[i] = make_item(&table, i);
            items[i]->hash &= masks[m];
            assert_null(find(&table, i, masks[m]));
            ki_key_table_add(&table, items[i]);
        }
        /* Out in another order than in, and some of them in again. */
        for (unsigned i = 0; i < count; i++) {
            unsigned number = (unsigned)((uint64_t)i * 7919 % count);
            assert_ptr_equal(find(&table, number, masks[m]), items[number]);
            ki_key_table_remove(&table, items[number]);
            assert_null(find(&table, number, masks[m]));
            if (i % 3 == 0)
                ki_key_table_add(&table, items[number]);
        }
        for (unsigned i = 0; i < count; i++) {
            unsigned number = (unsigned)((uint64_t)i * 7919 % count);
            assert_ptr_equal(find(&table, number, masks[m]), i % 3 ? NULL : items[number]);
        }
        assert_int_equal(table.count, (count + 2) / 3);
        size_t taken = 0;
        while (ki_key_table_take_any(&table))
            taken++;
        assert_int_equal(taken, (count + 2) / 3);
        for (unsigned i = 0; i < count; i++)
            free(items[i]);
        ki_key_table_free(&table);
    }
}

static void the_table_gives_back_memory(void **state) {
    (void)state;
    static ki_work_item *items[ITEMS];
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_key_table table;
    assert_int_equal(ki_key_table_init(&table, &memory.allocator, 42), KI_OK);
    size_t empty = scarce_memory_in_use(&memory);
    for (unsigned i = 0; i < ITEMS; i++)
        ki_key_table_add(&table, items[i] = make_item(&table, i));
    assert_true(scarce_memory_in_use(&memory) > empty + 10);
    for (unsigned i = 0; i < ITEMS; i++) {
        ki_key_table_remove(&table, items[i]);
        free(items[i]);
    }
    assert_int_equal(scarce_memory_in_use(&memory), empty);
    ki_key_table_free(&table);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

static void the_table_works_on_without_memory(void **state) {
    (void)state;
    static ki_work_item *items[ITEMS];
    for (size_t n = 0; n < 40; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        memory.forever = true;
        ki_key_table table;
        ki_status status = ki_key_table_init(&table, &memory.allocator, 42);
        assert_int_equal(status, n < 2 ? KI_ERR_NO_MEMORY : KI_OK);
        for (unsigned i = 0; !status && i < ITEMS; i++)
            ki_key_table_add(&table, items[i] = make_item(&table, i));
        memory.forever = false; /* it grows now */
        for (unsigned i = 0; !status && i < ITEMS; i++)
            assert_ptr_equal(find(&table, i, UINT32_MAX), items[i]);
        for (unsigned i = 0; !status && i < ITEMS; i++) {
            ki_key_table_remove(&table, items[i]);
            free(items[i]);
        }
        ki_key_table_free(&table);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static void items_come_out_by_rank_and_ties_by_sequence(void **state) {
    (void)state;
    static ki_work_item *items[ITEMS];
    ki_item_heap heap;
    ki_item_heap_init(&heap, &ki_allocator_default);
    assert_null(ki_item_heap_first(&heap));
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i] = make_item(NULL, i);
        assert_int_equal(ki_item_heap_reserve(&heap, i + 1), KI_OK);
        ki_item_heap_push(&heap, items[i], (int64_t)(i * 7919u % 100) - 50, i);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        if (i % 3 == 0)
            ki_item_heap_remove(&heap, items[i]);
        if (i % 3 == 1)
            ki_item_heap_move(&heap, items[i], (int64_t)(i % 70), i);
    }
    int64_t rank = INT64_MIN;
    uint64_t sequence = 0;
    size_t count = 0;
    for (const ki_item_slot *first; (first = ki_item_heap_first(&heap)); count++) {
        assert_true(first->rank > rank || (first->rank == rank && first->sequence > sequence));
        rank = first->rank;
        sequence = first->sequence;
        assert_int_equal(ki_item_heap_rank(&heap, first->item), rank);
        ki_item_heap_remove(&heap, first->item);
        ki_item_heap_trim(&heap, heap.count);
    }
    assert_int_equal(count, ITEMS - (ITEMS + 2) / 3);
    assert_true(heap.chunk_count <= 2);
    for (unsigned i = 0; i < ITEMS; i++) {
        assert_int_equal(items[i]->place, KI_WORK_ITEM_OUT);
        free(items[i]);
    }
    ki_item_heap_free(&heap);
}

static void reserving_without_memory_leaves_the_heap_as_it_was(void **state) {
    (void)state;
    for (size_t n = 0; n < 12; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        ki_item_heap heap;
        ki_item_heap_init(&heap, &memory.allocator);
        ki_status status = KI_OK;
        for (size_t count = 1; !status && count < ITEMS; count += 1000)
            status = ki_item_heap_reserve(&heap, count);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        memory.fail_at = SIZE_MAX;
        assert_int_equal(ki_item_heap_reserve(&heap, ITEMS), KI_OK);
        assert_int_equal(ki_item_heap_reserve(&heap, SIZE_MAX), KI_ERR_NO_MEMORY);
        ki_item_heap_free(&heap);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

/* --- the inbox ---------------------------------------------------------------------------------------------------- */

static void an_inbox_gives_its_items_oldest_first(void **state) {
    (void)state;
    ki_inbox inbox;
    ki_work_item *items[3];
    bool must_empty;
    ki_inbox_init(&inbox);
    assert_false(ki_inbox_has_items(&inbox));
    assert_null(ki_inbox_take(&inbox));
    for (unsigned i = 0; i < 3; i++) {
        items[i] = make_item(NULL, i);
        assert_int_equal(ki_inbox_add(&inbox, items[i], &must_empty), KI_OK);
        assert_false(must_empty);
    }
    assert_true(ki_inbox_has_items(&inbox));
    assert_false(ki_inbox_request_wake(&inbox)); /* the inbox has items */
    const ki_work_item *item = ki_inbox_take(&inbox);
    for (unsigned i = 0; i < 3; i++, item = item->next)
        assert_ptr_equal(item, items[i]);
    assert_null(item);
    assert_false(ki_inbox_has_items(&inbox));
    /* The next add reports the requested wake, once. */
    assert_true(ki_inbox_request_wake(&inbox));
    assert_true(ki_inbox_request_wake(&inbox));
    assert_null(ki_inbox_take(&inbox));
    assert_int_equal(ki_inbox_add(&inbox, items[0], &must_empty), KI_OK);
    assert_true(must_empty);
    assert_int_equal(ki_inbox_add(&inbox, items[1], &must_empty), KI_OK);
    assert_false(must_empty);
    /* A closed one lets nothing in. */
    assert_ptr_equal(ki_inbox_close(&inbox), items[0]);
    assert_int_equal(ki_inbox_add(&inbox, items[2], &must_empty), KI_ERR_CLOSED);
    assert_null(ki_inbox_close(&inbox));
    assert_null(ki_inbox_take(&inbox));
    assert_true(ki_inbox_request_wake(&inbox));
    for (unsigned i = 0; i < 3; i++)
        free(items[i]);
}

static void who_adds_looks_before_an_inbox_gets_long(void **state) {
    (void)state;
    ki_inbox inbox;
    ki_inbox_init(&inbox);
    bool must_empty = false;
    size_t count = 0;
    for (; !must_empty && count < ITEMS; count++)
        assert_int_equal(ki_inbox_add(&inbox, make_item(NULL, 1), &must_empty), KI_OK);
    assert_in_range(count, 2, 100);
    for (ki_work_item *item = ki_inbox_take(&inbox); item; count--) {
        ki_work_item *next = item->next;
        free(item);
        item = next;
    }
    assert_int_equal(count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_finds_what_is_in_it_and_nothing_else),
        cmocka_unit_test(the_table_gives_back_memory),
        cmocka_unit_test(the_table_works_on_without_memory),
        cmocka_unit_test(items_come_out_by_rank_and_ties_by_sequence),
        cmocka_unit_test(reserving_without_memory_leaves_the_heap_as_it_was),
        cmocka_unit_test(an_inbox_gives_its_items_oldest_first),
        cmocka_unit_test(who_adds_looks_before_an_inbox_gets_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

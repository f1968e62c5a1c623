/* test_delta_fifo_slices.c: lists and resyncs that the DeltaFIFO works off a unit at a time: what comes out, and
 * when. */

#include "src/base/memory.h"
#include "tests/support/fifo_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum {
    KNOWN = 4
};

/* A DeltaFIFO over a store of a, b, k and l that works off one unit in each pop. */
static void open_slicing(fifo_stage *f) {
    delta_fifo_open(f, "a=1 b=1 k=1 l=1", &ki_allocator_default);
    f->queue->slice = 1;
}

/* Pops until a key has been handed out. Returns the units that were worked off before it. */
static size_t pop(fifo_stage *f) {
    size_t slices = 0;
    f->popped[0] = '\0';
    do {
        assert_int_equal(f->queue->ops->pop(f->queue, fifo_note, f, NULL), KI_OK);
        assert_true(f->queue->work <= 1);
        assert_true(f->popped[0] == '\0' || f->queue->work == 0);
        slices += f->queue->work;
    } while (f->queue->work);
    return slices;
}

static void a_list_is_worked_off_a_slice_at_a_time_before_any_key_is_handed_out(void **state) {
    (void)state;
    static const char *const rest[] = { "k: Updated 2 Tombstone 2; ", "c: Replaced 3; ", "b: Deleted 4; ",
                                        "l: Tombstone 1; ", "d: Added 5; " };
    fifo_stage f;
    open_slicing(&f);
    fifo_play(&f, "update a=2; update k=2; replace@3 a=3 c=3; update a=4; delete b=4; add d=5; resync");
    assert_true(pop(&f) > 10);
    assert_string_equal(f.popped, "a: Updated 2 Replaced 3 Updated 4; ");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        assert_int_equal(pop(&f), 0);
        assert_string_equal(f.popped, rest[i]);
    }
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    fifo_close(&f);
}

static void a_resync_is_under_way_until_its_last_key_is_processed(void **state) {
    (void)state;
    fifo_stage f;
    open_slicing(&f);
    assert_false(f.queue->ops->is_resyncing(f.queue));
    fifo_play(&f, "resync; add z=1");
    for (size_t i = 0; i < KNOWN; i++) {
        assert_true(f.queue->ops->is_resyncing(f.queue));
        pop(&f);
        assert_non_null(strstr(f.popped, "Sync 1"));
    }
    assert_false(f.queue->ops->is_resyncing(f.queue));
    pop(&f);
    assert_string_equal(f.popped, "z: Added 1; ");
    fifo_close(&f);
}

static void what_is_not_worked_off_is_freed_with_the_queue(void **state) {
    (void)state;
    for (unsigned pops = 0; pops < 20; pops++) {
        fifo_stage f;
        open_slicing(&f);
        fifo_play(&f, "update a=2; replace@3 a=3 c=3; resync; update a=4");
        for (unsigned i = 0; i < pops; i++)
            (void)f.queue->ops->pop(f.queue, fifo_note, &f, NULL);
        fifo_close(&f);
    }
}

KT_TESTS(delta_fifo_slices) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_worked_off_a_slice_at_a_time_before_any_key_is_handed_out),
        cmocka_unit_test(a_resync_is_under_way_until_its_last_key_is_processed),
        cmocka_unit_test(what_is_not_worked_off_is_freed_with_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

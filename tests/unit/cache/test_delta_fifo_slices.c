/* test_delta_fifo_slices.c: lists and resyncs that the DeltaFIFO works off a unit at a time: what comes out, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/memory.h"
#include "src/cache/delta_fifo.h"
#include "tests/support/make_object.h"

#include <stdio.h>
#include <string.h>

enum {
    KNOWN = 4,
    TEXT = 512
};

typedef struct fixture {
    ki_object *known[KNOWN]; /* a, b, k, l at version 1 */
    ki_queue *queue;
    char popped[TEXT];
} fixture;

static ki_object *known_get(const char *key, void *user) {
    const fixture *f = user;
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(ki_object_key(f->known[i]), key) == 0)
            return ki_object_ref(f->known[i]);
    return NULL;
}

static ki_object *known_next(ki_known_walk *walk, void *user) {
    const fixture *f = user;
    return walk->cursor.index[0] < KNOWN ? f->known[walk->cursor.index[0]++] : NULL;
}

static void known_end(ki_known_walk *walk, void *user) {
    (void)walk;
    (void)user;
}

static void set_up(fixture *f) {
    static const char *const keys[KNOWN] = { "a", "b", "k", "l" };
    *f = (fixture){ .popped = "" };
    for (size_t i = 0; i < KNOWN; i++)
        f->known[i] = make_object(keys[i], "1", NULL);
    ki_delta_fifo_options options = { .allocator = &ki_allocator_default,
                                      .known = { known_get, known_next, known_end, f },
                                      .seed = 3 };
    assert_int_equal(ki_delta_fifo_new(&options, &f->queue, NULL), KI_OK);
    f->queue->slice = 1;
}

static void tear_down(fixture *f) {
    f->queue->ops->free(f->queue);
    for (size_t i = 0; i < KNOWN; i++)
        ki_object_unref(f->known[i]);
}

static void change(fixture *f, char what, const char *key, const char *version) {
    const ki_queue_ops *ops = f->queue->ops;
    ki_object *obj = make_object(key, version, NULL);
    ki_status status = what == '+'   ? ops->add(f->queue, obj, NULL)
                       : what == '~' ? ops->update(f->queue, obj, NULL)
                                     : ops->remove(f->queue, obj, true, NULL);
    assert_int_equal(status, KI_OK);
    ki_object_unref(obj);
}

/* A list of a and c. */
static void replace(fixture *f, const char *version) {
    ki_object **objects = ki_alloc_array(&ki_allocator_default, 2, sizeof(ki_object *));
    assert_non_null(objects);
    objects[0] = make_object("a", version, NULL);
    objects[1] = make_object("c", version, NULL);
    const ki_listing list = { .objects = objects, .count = 2, .resource_version = version };
    assert_int_equal(f->queue->ops->replace(f->queue, &list, NULL), KI_OK);
}

static void resync(fixture *f) {
    assert_int_equal(f->queue->ops->resync(f->queue, NULL), KI_OK);
}

static ki_status note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    static const char *const names[] = { "Added", "Updated", "Deleted", "Replaced", "Sync" };
    fixture *f = user;
    (void)ret_requeue;
    (void)err;
    char *at = f->popped + strlen(f->popped);
    at += sprintf(at, "%s:", deltas->key);
    for (size_t i = 0; i < deltas->count; i++)
        at += sprintf(at, " %s %s", deltas->items[i].tombstone ? "Tombstone" : names[deltas->items[i].type],
                      ki_object_resource_version(deltas->items[i].obj));
    strcpy(at, "; ");
    return KI_OK;
}

/* Pops until a key has been handed out. Returns the units that were worked off before it. */
static size_t pop(fixture *f) {
    size_t slices = 0;
    f->popped[0] = '\0';
    do {
        assert_int_equal(f->queue->ops->pop(f->queue, note, f, NULL), KI_OK);
        assert_true(f->queue->work <= 1);
        assert_true(f->popped[0] == '\0' || f->queue->work == 0);
        slices += f->queue->work;
    } while (f->queue->work);
    return slices;
}

static void a_list_is_worked_off_a_slice_at_a_time_before_any_key_is_handed_out(void **state) {
    static const char *const rest[] = { "k: Updated 2 Tombstone 2; ", "c: Replaced 3; ", "b: Deleted 4; ",
                                        "l: Tombstone 1; ", "d: Added 5; " };
    fixture f;
    (void)state;
    set_up(&f);
    change(&f, '~', "a", "2");
    change(&f, '~', "k", "2");
    replace(&f, "3");
    change(&f, '~', "a", "4");
    change(&f, '-', "b", "4");
    change(&f, '+', "d", "5");
    resync(&f);
    assert_true(pop(&f) > 10);
    assert_string_equal(f.popped, "a: Updated 2 Replaced 3 Updated 4; ");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        assert_int_equal(pop(&f), 0);
        assert_string_equal(f.popped, rest[i]);
    }
    assert_int_equal(f.queue->ops->length(f.queue), 0);
    tear_down(&f);
}

static void a_resync_is_under_way_until_its_last_key_is_processed(void **state) {
    fixture f;
    (void)state;
    set_up(&f);
    assert_false(f.queue->ops->is_resyncing(f.queue));
    resync(&f);
    change(&f, '+', "z", "1");
    for (size_t i = 0; i < KNOWN; i++) {
        assert_true(f.queue->ops->is_resyncing(f.queue));
        pop(&f);
        assert_non_null(strstr(f.popped, "Sync 1"));
    }
    assert_false(f.queue->ops->is_resyncing(f.queue));
    pop(&f);
    assert_string_equal(f.popped, "z: Added 1; ");
    tear_down(&f);
}

static void what_is_not_worked_off_is_freed_with_the_queue(void **state) {
    (void)state;
    for (unsigned pops = 0; pops < 20; pops++) {
        fixture f;
        set_up(&f);
        change(&f, '~', "a", "2");
        replace(&f, "3");
        resync(&f);
        change(&f, '~', "a", "4");
        for (unsigned i = 0; i < pops; i++)
            (void)f.queue->ops->pop(f.queue, note, &f, NULL);
        tear_down(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_worked_off_a_slice_at_a_time_before_any_key_is_handed_out),
        cmocka_unit_test(a_resync_is_under_way_until_its_last_key_is_processed),
        cmocka_unit_test(what_is_not_worked_off_is_freed_with_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

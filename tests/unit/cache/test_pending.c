/* test_pending.c: the notifications that wait for one listener: order, marks, memory. */

#include "src/base/memory.h"
#include "src/cache/listener/pending.h"
#include "src/object/format.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void push(ki_pending *pending, ki_event_type type, const char *version, const char *old_version,
                 const char *uid) {
    ki_object *obj = noted_object("default/a", version, uid);
    ki_object *old = old_version ? noted_object("default/a", old_version, NULL) : NULL;
    assert_int_equal(ki_pending_push(pending, &(ki_change){ .type = type, .obj = obj, .old = old }), KI_OK);
    ki_object_unref(obj);
    ki_object_unref(old);
}

TEST(all_of_them_come_in_order) {
    enum {
        MANY = 1000
    };
    ki_pending pending;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_pending_init(&pending, &memory.allocator);
    /* In and out in waves, so that blocks begin and end everywhere. */
    int in = 0, out = 0;
    for (int wave = 1; out < MANY; wave++) {
        char version[16];
        for (int i = 0; i < wave * 3 && in < MANY; i++) {
            snprintf(version, sizeof version, "%d", in++);
            push(&pending, KI_EVENT_ADD, version, NULL, NULL);
        }
        ki_change n;
        for (int i = 0; i < wave * 2 && ki_pending_pop(&pending, &n); i++) {
            assert_int_equal(atoi(ki_object_resource_version(n.obj)), out++);
            ki_object_unref(n.obj);
        }
        assert_int_equal(pending.changes.count, in - out);
    }
    assert_true(scarce_memory_in_use(&memory) <= 2); /* a drained queue keeps little */
    ki_pending_clear(&pending);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

static void release(const ki_change *change) {
    ki_object_unref(change->obj);
    ki_object_unref(change->old);
}

TEST(a_push_without_memory_changes_nothing) {
    enum {
        MANY = 130
    };
    ki_pending pending;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_pending_init(&pending, &memory.allocator);
    int failures = 0;
    for (int i = 0; i < MANY; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        ki_object *obj = noted_object(key, "6", NULL), *old = noted_object(key, "5", NULL);
        const ki_change change = { .type = KI_EVENT_UPDATE, .obj = obj, .old = old };
        for (size_t fail_at = 0;; fail_at++) {
            memory.fail_at = memory.calls + fail_at;
            if (ki_pending_push(&pending, &change) == KI_OK)
                break;
            assert_int_equal(pending.changes.count, i);
            failures++;
        }
        memory.fail_at = SIZE_MAX;
        assert_int_equal(pending.changes.count, i + 1);
        ki_object_unref(obj);
        ki_object_unref(old);
    }
    assert_true(failures > 1);
    ki_change n;
    for (int i = 0; i < MANY; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        assert_true(ki_pending_pop(&pending, &n));
        assert_string_equal(ki_object_key(n.obj), key);
        release(&n);
    }
    assert_false(ki_pending_pop(&pending, &n));
    ki_pending_clear(&pending);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(the_mark_is_reached_when_what_was_before_it_is_out) {
    ki_pending pending;
    ki_change n;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_pending_init(&pending, &memory.allocator);
    assert_true(ki_pending_mark_is_reached(&pending, KI_MARK_SYNCED));
    push(&pending, KI_EVENT_ADD, "1", NULL, NULL);
    ki_pending_set_mark(&pending, KI_MARK_SYNCED);
    assert_false(ki_pending_mark_is_reached(&pending, KI_MARK_SYNCED));
    ki_object *other = noted_object("default/b", "2", NULL);
    assert_int_equal(ki_pending_push(&pending, &(ki_change){ .type = KI_EVENT_ADD, .obj = other }), KI_OK);
    ki_object_unref(other);
    assert_false(ki_pending_mark_is_reached(&pending, KI_MARK_SYNCED));
    assert_true(ki_pending_pop(&pending, &n));
    ki_object_unref(n.obj);
    assert_true(ki_pending_mark_is_reached(&pending, KI_MARK_SYNCED));
    ki_pending_clear(&pending);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(each_mark_has_its_own_place) {
    static const char *const keys[] = { "default/a", "default/b", "default/c" };
    ki_pending pending;
    ki_change n;
    ki_pending_init(&pending, &ki_allocator_default);
    for (int i = 0; i < 3; i++) {
        ki_object *obj = noted_object(keys[i], "1", NULL);
        assert_int_equal(ki_pending_push(&pending, &(ki_change){ .type = KI_EVENT_ADD, .obj = obj }), KI_OK);
        ki_object_unref(obj);
        if (i < 2)
            ki_pending_set_mark(&pending, i ? KI_MARK_NAMESPACES : KI_MARK_SYNCED);
    }
    for (int popped = 0; popped < 3; popped++) {
        assert_int_equal(ki_pending_mark_is_reached(&pending, KI_MARK_SYNCED), popped >= 1);
        assert_int_equal(ki_pending_mark_is_reached(&pending, KI_MARK_NAMESPACES), popped >= 2);
        assert_true(ki_pending_pop(&pending, &n));
        ki_change_release(&n);
    }
    ki_pending_clear(&pending);
}

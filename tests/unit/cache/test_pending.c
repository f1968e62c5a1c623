/* test_pending.c: the notifications that wait for one listener, against a model: order, latest by key, the mark,
 * memory. */

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

/* "+5 ~5>6 -6>7": what it was told before stands first. */
static void expect(ki_pending *pending, const char *all) {
    char text[1024] = "";
    ki_change n;
    while (ki_pending_pop(pending, &n)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%c%s%s%s%s", used ? " " : "", " +~-"[n.type],
                 n.old ? ki_object_resource_version(n.old) : "", n.old ? ">" : "", ki_object_resource_version(n.obj),
                 n.final_state_unknown ? "?" : "");
        ki_object_unref(n.obj);
        ki_object_unref(n.old);
    }
    assert_string_equal(text, all);
    assert_int_equal(pending->count, 0);
}

TEST(all_of_them_come_in_order) {
    enum {
        MANY = 1000
    };
    ki_pending pending;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_pending_init(&pending, &memory.allocator, KI_DELIVER_ALL, 1);
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
        assert_int_equal(pending.count, in - out);
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
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        ki_pending pending;
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_pending_init(&pending, &memory.allocator, (ki_delivery)delivery, 1);
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
                assert_int_equal(pending.count, i);
                failures++;
            }
            memory.fail_at = SIZE_MAX;
            assert_int_equal(pending.count, i + 1);
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
}

TEST(latest_is_the_shortest_true_story) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_pending pending;
    ki_pending_init(&pending, &memory.allocator, KI_DELIVER_LATEST, 1);
    push(&pending, KI_EVENT_ADD, "1", NULL, NULL);
    push(&pending, KI_EVENT_UPDATE, "2", "1", NULL);
    expect(&pending, "+2");
    push(&pending, KI_EVENT_UPDATE, "3", "2", NULL);
    push(&pending, KI_EVENT_UPDATE, "4", "3", NULL);
    expect(&pending, "~2>4");
    push(&pending, KI_EVENT_UPDATE, "5", "4", NULL);
    push(&pending, KI_EVENT_DELETE, "6", "5", NULL);
    expect(&pending, "-4>6");
    push(&pending, KI_EVENT_ADD, "7", NULL, NULL);
    push(&pending, KI_EVENT_DELETE, "8", "7", NULL);
    expect(&pending, "");
    push(&pending, KI_EVENT_DELETE, "9", "7", NULL);
    push(&pending, KI_EVENT_ADD, "10", NULL, NULL);
    expect(&pending, "~7>10");
    push(&pending, KI_EVENT_DELETE, "11", "10", NULL);
    push(&pending, KI_EVENT_ADD, "12", NULL, "other");
    expect(&pending, "-10>10? +12");
    push(&pending, KI_EVENT_DELETE, "11", "10", NULL);
    push(&pending, KI_EVENT_ADD, "12", NULL, "other");
    ki_change n;
    assert_true(ki_pending_pop(&pending, &n)); /* the half of it */
    ki_object_unref(n.obj);
    ki_object_unref(n.old);
    push(&pending, KI_EVENT_DELETE, "13", "12", "other");
    expect(&pending, "");
    ki_pending_clear(&pending);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

/* Returns an object whose format has the views of `format`. */
static ki_object *viewed_object(ki_object_format *format) {
    static const char json[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"resourceVersion\":\"6\"}}";
    ki_object *obj = NULL;
    assert_int_equal(ki_object_from_json(format, KI_STR(json), NULL, NULL, &obj, NULL), KI_OK);
    return obj;
}

TEST(latest_has_the_view_that_a_relist_brings) {
    static const ki_field fields[] = { { "metadata.name", 0, sizeof(char *), KI_FIELD_TYPE_STRING, NULL },
                                       KI_FIELD_END };
    ki_object_format *narrow = NULL, *wide = NULL;
    assert_int_equal(ki_object_format_new(NULL, NULL, &narrow, NULL), KI_OK);
    assert_int_equal(ki_object_format_add_view(narrow, fields, &wide, NULL), KI_OK);
    ki_object *before = viewed_object(narrow), *after = viewed_object(wide),
              *old = noted_object("default/a", "5", NULL);
    for (int type = KI_EVENT_ADD; type <= KI_EVENT_UPDATE; type++) {
        const ki_change first = { .type = (ki_event_type)type,
                                  .obj = before,
                                  .old = type == KI_EVENT_ADD ? NULL : old };
        const ki_change relist = {
            .type = KI_EVENT_UPDATE, .obj = after, .old = before, .is_resync = true, .is_listed = true
        };
        ki_pending pending;
        ki_change n = { .obj = NULL };
        ki_pending_init(&pending, &ki_allocator_default, KI_DELIVER_LATEST, 1);
        assert_int_equal(ki_pending_push(&pending, &first), KI_OK);
        assert_int_equal(ki_pending_push(&pending, &relist), KI_OK);
        assert_true(ki_pending_pop(&pending, &n));
        assert_int_equal(n.type, type);
        assert_false(n.is_resync); /* the change is not lost */
        assert_non_null(ki_object_view_of(n.obj, fields));
        release(&n);
        ki_pending_clear(&pending);
    }
    ki_object_unref(before);
    ki_object_unref(after);
    ki_object_unref(old);
    ki_object_format_unref(wide);
    ki_object_format_unref(narrow);
}

TEST(the_mark_is_reached_when_what_was_before_it_is_out) {
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        ki_pending pending;
        ki_change n;
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_pending_init(&pending, &memory.allocator, (ki_delivery)delivery, 1);
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
}

TEST(each_mark_has_its_own_place) {
    for (int delivery = KI_DELIVER_ALL; delivery <= KI_DELIVER_LATEST; delivery++) {
        static const char *const keys[] = { "default/a", "default/b", "default/c" };
        ki_pending pending;
        ki_change n;
        ki_pending_init(&pending, &ki_allocator_default, (ki_delivery)delivery, 1);
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
}

static size_t largest;

static void *note_alloc(size_t size, void *user) {
    (void)user;
    largest = size > largest ? size : largest;
    return malloc(size);
}

static void *note_realloc(void *block, size_t size, void *user) {
    (void)user;
    largest = size > largest ? size : largest;
    return realloc(block, size);
}

static void note_free(void *block, void *user) {
    (void)user;
    free(block);
}

/* No call moves them all: the table grows in parts. */
TEST(the_latest_of_many_keys_grows_in_small_steps) {
    enum {
        MANY = 20000,
        AT_MOST = 80000 /* bytes; a table of so many keys has 262,144 */
    };
    const ki_allocator allocator = { note_alloc, note_realloc, note_free, NULL };
    ki_pending pending;
    ki_pending_init(&pending, &allocator, KI_DELIVER_LATEST, 1);
    largest = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            char key[32];
            snprintf(key, sizeof key, "default/k%d", i);
            ki_object *obj = noted_object(key, round ? "2" : "1", NULL), *old = noted_object(key, "1", NULL);
            const ki_change change = { .type = round ? KI_EVENT_UPDATE : KI_EVENT_ADD, .obj = obj, .old = old };
            assert_int_equal(ki_pending_push(&pending, &change), KI_OK);
            ki_object_unref(obj);
            ki_object_unref(old);
        }
        assert_int_equal(pending.count, MANY);
    }
    assert_true(largest <= AT_MOST);
    ki_change n;
    for (int i = 0; ki_pending_pop(&pending, &n); i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        assert_string_equal(ki_object_key(n.obj), key);
        assert_string_equal(ki_object_resource_version(n.obj), "2");
        ki_object_unref(n.obj);
        ki_object_unref(n.old);
    }
    assert_int_equal(pending.by_key.count, 0);
    ki_pending_clear(&pending);
}

/* Where the table comes apart, too. */
TEST(lack_of_memory_loses_nothing_of_many_keys) {
    enum {
        MANY = 4100,
        FROM = 4090
    };
    for (size_t fail_at = 0; fail_at < 200; fail_at++) {
        ki_pending pending;
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_pending_init(&pending, &memory.allocator, KI_DELIVER_LATEST, 1);
        for (int i = 0; i < MANY; i++) {
            char key[32];
            snprintf(key, sizeof key, "default/k%d", i);
            ki_object *obj = noted_object(key, "1", NULL);
            if (i == FROM)
                memory.fail_at = memory.calls + fail_at;
            const ki_change change = { .type = KI_EVENT_ADD, .obj = obj };
            if (ki_pending_push(&pending, &change)) {
                assert_int_equal(pending.by_key.count, i);
                assert_int_equal(ki_pending_push(&pending, &change), KI_OK);
            }
            ki_object_unref(obj);
        }
        assert_int_equal(pending.by_key.count, MANY);
        ki_pending_clear(&pending);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

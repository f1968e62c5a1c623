/* test_tree.c: the persistent trie against a plain array, its versions, its balance of references and nodes, lack of
 * memory. */

#include "src/base/memory.h"
#include "src/base/refcount.h"
#include "src/cache/store/tree.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* --- help --------------------------------------------------------------------------------------------------------- */

typedef struct item {
    ki_refcount refs;
    unsigned number;
    unsigned stamp;
    char key[16];
} item;

static size_t items_alive;

static ki_str item_key(const void *value) {
    return ki_str_of(((const item *)value)->key);
}

static bool item_has_key(const void *value, ki_str key) {
    return ki_str_equal(item_key(value), key);
}

static void item_ref(void *value) {
    ki_refcount_inc(&((item *)value)->refs);
}

static void item_unref(void *value) {
    if (!ki_refcount_dec(&((item *)value)->refs))
        return;
    items_alive--;
    free(value);
}

static item *item_new(unsigned number, unsigned stamp) {
    item *it = malloc(sizeof *it);
    assert_non_null(it);
    ki_refcount_init(&it->refs);
    it->number = number;
    it->stamp = stamp;
    snprintf(it->key, sizeof it->key, "item-%u", number);
    items_alive++;
    return it;
}

/* Hashes that fill a few nodes only, and hashes that are all alike: long paths and the last level. */
static uint64_t coarse_hash(ki_str key, uint64_t seed) {
    return ki_hash(key.data, key.size, seed) % 7 * 0x1000000000000000u;
}

static uint64_t same_hash(ki_str key, uint64_t seed) {
    (void)key;
    (void)seed;
    return 42;
}

static const ki_tree_kind kinds[] = {
    { &ki_allocator_default, 1, item_key, item_has_key, item_ref, item_unref, NULL },
    { &ki_allocator_default, 1, item_key, item_has_key, item_ref, item_unref, coarse_hash },
    { &ki_allocator_default, 1, item_key, item_has_key, item_ref, item_unref, same_hash },
};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

/* The last version, its change, and all that earlier versions have and it has not. */
typedef struct lineage {
    ki_tree tree;
    ki_tree_edit edit;
} lineage;

static ki_status own(const ki_tree_kind *kind, lineage *last, ki_str key, void ***ret_place) {
    return ki_tree_own(kind, &last->edit, &last->tree, key, ki_tree_hash(kind, key), ret_place);
}

/* Begins the next version, and returns the present one. */
static ki_tree next_version(lineage *last) {
    last->edit.version++;
    return last->tree;
}

/* Ends all versions: each node goes once. */
static void end(const ki_tree_kind *kind, lineage *last) {
    ki_tree_drain drain;
    ki_tree_drain_begin(&drain, &last->tree, 0);
    for (item *it; (it = ki_tree_drain_next(kind, &drain));)
        item_unref(it);
    for (ki_tree_part *next; last->edit.dead; last->edit.dead = next) {
        next = last->edit.dead->next_dead;
        ki_tree_free_node(kind, last->edit.dead);
    }
}

static void put_new(const ki_tree_kind *kind, lineage *last, unsigned number, unsigned stamp) {
    item *it = item_new(number, stamp);
    assert_int_equal(ki_tree_put(kind, &last->edit, &last->tree, it, NULL), KI_OK);
    item_unref(it);
}

static item *get(const ki_tree_kind *kind, const ki_tree *tree, unsigned number) {
    char key[16];
    snprintf(key, sizeof key, "item-%u", number);
    return ki_tree_get(kind, tree, ki_str_of(key));
}

static ki_status take_out(const ki_tree_kind *kind, lineage *last, unsigned number) {
    char key[16];
    snprintf(key, sizeof key, "item-%u", number);
    return ki_tree_remove(kind, &last->edit, &last->tree, ki_str_of(key), NULL);
}

/* Numbers of a linear congruential generator: the same in every run. */
static unsigned next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
}

/* A model holds a stamp for each number, 0 for none. */
static void assert_like(const ki_tree_kind *kind, const ki_tree *tree, const unsigned *model, unsigned size) {
    size_t count = 0;
    for (unsigned i = 0; i < size; i++) {
        const item *it = get(kind, tree, i);
        assert_int_equal(it ? it->stamp : 0, model[i]);
        count += model[i] != 0;
    }
    assert_int_equal(tree->count, count);
    ki_cursor cursor = KI_CURSOR_INIT;
    unsigned char *seen = calloc(size, 1);
    assert_non_null(seen);
    const item *it;
    while ((it = ki_tree_next(tree, &cursor))) {
        assert_false(seen[it->number]);
        seen[it->number] = 1;
        assert_int_equal(it->stamp, model[it->number]);
        count--;
    }
    assert_int_equal(count, 0);
    assert_null(ki_tree_next(tree, &cursor));
    free(seen);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

TEST(an_empty_tree_has_nothing_and_needs_nothing) {
    lineage last = { .edit.version = 1 };
    ki_cursor cursor = KI_CURSOR_INIT;
    assert_null(get(&kinds[0], &last.tree, 1));
    assert_null(ki_tree_next(&last.tree, &cursor));
    assert_null(ki_tree_next(&last.tree, &cursor));
    void *old = &last;
    assert_int_equal(ki_tree_remove(&kinds[0], &last.edit, &last.tree, KI_STR("x"), &old), KI_OK);
    assert_null(old);
    end(&kinds[0], &last);
}

TEST(what_was_replaced_or_taken_out_is_handed_back) {
    for (int k = 0; k < KINDS; k++) {
        lineage last = { .edit.version = 1 };
        item *first = item_new(1, 1), *second = item_new(1, 2);
        void *old = first;
        assert_int_equal(ki_tree_put(&kinds[k], &last.edit, &last.tree, first, &old), KI_OK);
        assert_null(old);
        assert_int_equal(ki_tree_put(&kinds[k], &last.edit, &last.tree, second, &old), KI_OK);
        assert_ptr_equal(old, first);
        item_unref(old);
        item_unref(first);
        assert_int_equal(last.tree.count, 1);
        assert_int_equal(ki_tree_remove(&kinds[k], &last.edit, &last.tree, KI_STR("item-1"), &old), KI_OK);
        assert_ptr_equal(old, second);
        item_unref(old);
        item_unref(second);
        assert_int_equal(last.tree.count, 0);
        assert_null(last.tree.root);
        assert_null(last.edit.dead);
        assert_int_equal(items_alive, 0);
    }
}

/* Random changes, a few in each version. Some versions are held: they must not change while the later ones do. */
static void random_changes(const ki_tree_kind *kind, unsigned size, unsigned operations) {
    enum {
        HELD = 5,
        LAST = HELD,
        VERSIONS
    };
    lineage last = { .edit.version = 1 };
    ki_tree held[HELD] = { { NULL, 0 } };
    unsigned *models[VERSIONS];
    uint64_t random = 7;
    for (int v = 0; v < VERSIONS; v++)
        assert_non_null(models[v] = calloc(size, sizeof **models));
    for (unsigned i = 1; i <= operations; i++) {
        unsigned what = next_random(&random) % 1000;
        unsigned number = next_random(&random) % size;
        if (what < 550) {
            put_new(kind, &last, number, i);
            models[LAST][number] = i;
        } else if (what < 900) {
            assert_int_equal(take_out(kind, &last, number), KI_OK);
            models[LAST][number] = 0;
        } else if (what < 995) {
            (void)next_version(&last);
        } else {
            unsigned v = next_random(&random) % HELD;
            assert_like(kind, &held[v], models[v], size);
            held[v] = next_version(&last);
            memcpy(models[v], models[LAST], size * sizeof **models);
        }
    }
    assert_like(kind, &last.tree, models[LAST], size);
    for (int v = 0; v < HELD; v++)
        assert_like(kind, &held[v], models[v], size);
    for (int v = 0; v < VERSIONS; v++)
        free(models[v]);
    end(kind, &last);
    assert_int_equal(items_alive, 0);
}

TEST(versions_behave_like_arrays_under_random_changes) {
    random_changes(&kinds[0], 2000, 100000);
    random_changes(&kinds[0], 40, 20000);
}

TEST(keys_with_equal_hashes_stay_different) {
    random_changes(&kinds[1], 100, 10000);
    random_changes(&kinds[2], 50, 10000);
}

TEST(a_tree_of_many_is_filled_and_emptied) {
    enum {
        MANY = 20000
    };
    lineage last = { .edit.version = 1 };
    for (unsigned i = 0; i < MANY; i++)
        put_new(&kinds[0], &last, i, i + 1);
    assert_int_equal(last.tree.count, MANY);
    assert_null(last.edit.dead); /* all of it is of one version */
    const ki_tree all = next_version(&last);
    for (unsigned i = 0; i < MANY; i += 2)
        assert_int_equal(take_out(&kinds[0], &last, i), KI_OK);
    assert_int_equal(last.tree.count, MANY / 2);
    assert_int_equal(all.count, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_non_null(get(&kinds[0], &all, i));
        assert_int_equal(get(&kinds[0], &last.tree, i) != NULL, i % 2);
    }
    for (unsigned i = 1; i < MANY; i += 2)
        assert_int_equal(take_out(&kinds[0], &last, i), KI_OK);
    assert_null(last.tree.root);
    end(&kinds[0], &last);
    assert_int_equal(items_alive, 0);
}

TEST(a_tree_that_has_shrunk_gives_its_memory_back) {
    for (int k = 0; k < KINDS; k++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_tree_kind kind = kinds[k];
        kind.allocator = &memory.allocator;
        lineage last = { .edit.version = 1 };
        for (unsigned i = 0; i < 500; i++)
            put_new(&kind, &last, i, 1);
        for (unsigned i = 1; i < 500; i++)
            assert_int_equal(take_out(&kind, &last, i), KI_OK);
        assert_int_equal(scarce_memory_in_use(&memory), 1); /* the root, with the one that is left */
        assert_non_null(get(&kind, &last.tree, 0));
        end(&kind, &last);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(values_without_references_stay_their_owners) {
    ki_tree_kind kind = kinds[0];
    kind.ref = NULL;
    kind.unref = NULL;
    lineage last = { .edit.version = 1 };
    item *items[100];
    for (unsigned i = 0; i < 100; i++) {
        items[i] = item_new(i, 1);
        assert_int_equal(ki_tree_put(&kind, &last.edit, &last.tree, items[i], NULL), KI_OK);
        (void)next_version(&last);
    }
    for (unsigned i = 0; i < 99; i++)
        assert_int_equal(take_out(&kind, &last, i), KI_OK);
    (void)next_version(&last);
    ki_tree_remove_last(&kind, &last.edit, &last.tree);
    assert_null(last.tree.root);
    end(&kind, &last);
    assert_int_equal(items_alive, 100);
    for (unsigned i = 0; i < 100; i++)
        item_unref(items[i]);
}

/* The place of each value is replaced; allocation number `fail_at` fails. True where it did. */
static bool own_without_memory(const ki_tree_kind *like, size_t fail_at) {
    enum {
        ITEMS = 40
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_tree_kind kind = *like;
    kind.allocator = &memory.allocator;
    kind.ref = kind.unref = NULL;
    lineage last = { .edit.version = 1 };
    item *items[2][ITEMS];
    unsigned before_model[ITEMS + 1] = { 0 }, model[ITEMS + 1] = { 0 };
    for (unsigned i = 0; i < ITEMS; i++) {
        items[0][i] = item_new(i, 1);
        items[1][i] = item_new(i, 2);
        assert_int_equal(ki_tree_put(&kind, &last.edit, &last.tree, items[0][i], NULL), KI_OK);
        before_model[i] = model[i] = 1;
    }
    const ki_tree before = next_version(&last);
    memory.fail_at = memory.calls + fail_at;
    void **place = NULL;
    for (unsigned i = 0; i < ITEMS; i++) {
        ki_status status = own(&kind, &last, item_key(items[0][i]), &place);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        if (status)
            continue;
        assert_ptr_equal(*place, items[0][i]);
        *place = items[1][i];
        model[i] = 2;
    }
    bool failed = scarce_memory_failed(&memory);
    if (own(&kind, &last, KI_STR("missing"), &place) == KI_OK)
        assert_null(place);
    assert_like(&kind, &before, before_model, ITEMS + 1);
    assert_like(&kind, &last.tree, model, ITEMS + 1);
    size_t calls = memory.calls;
    for (unsigned i = 0; i < ITEMS; i++) /* all nodes are of this version now */
        if (model[i] == 2)
            assert_int_equal(own(&kind, &last, item_key(items[0][i]), &place), KI_OK);
    assert_int_equal(memory.calls, calls);
    ki_tree_drain drain;
    ki_tree_drain_begin(&drain, &last.tree, 0);
    while (ki_tree_drain_next(&kind, &drain))
        continue;
    last.tree = (ki_tree){ NULL, 0 };
    end(&kind, &last);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        item_unref(items[0][i]);
        item_unref(items[1][i]);
    }
    assert_int_equal(items_alive, 0);
    return failed;
}

TEST(an_own_place_is_of_the_last_version_alone) {
    lineage none = { .edit.version = 1 };
    void **place;
    assert_int_equal(own(&kinds[0], &none, KI_STR("missing"), &place), KI_OK);
    assert_null(place);
    assert_null(none.tree.root);
    for (int k = 0; k < KINDS; k++)
        for (size_t fail_at = 0; own_without_memory(&kinds[k], fail_at);)
            fail_at++;
}

/* A tree of `size`, a version of which is held, is changed at `number`; allocation number `fail_at` of that fails. True
 * where it did. */
static bool change_without_memory(const ki_tree_kind *like, unsigned size, unsigned number, bool removal,
                                  size_t fail_at) {
    enum {
        MOST = 65
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_tree_kind kind = *like;
    kind.allocator = &memory.allocator;
    lineage last = { .edit.version = 1 };
    unsigned model[MOST] = { 0 };
    for (unsigned i = 0; i < size; i++) {
        put_new(&kind, &last, i, 1);
        model[i] = 1;
    }
    const ki_tree before = next_version(&last);
    memory.fail_at = memory.calls + fail_at;
    item *it = item_new(number, 2);
    ki_status status = removal ? take_out(&kind, &last, number) : ki_tree_put(&kind, &last.edit, &last.tree, it, NULL);
    bool failed = scarce_memory_failed(&memory);
    assert_like(&kind, &before, model, MOST);
    if (!status)
        model[number] = removal ? 0 : 2;
    else
        assert_int_equal(status, KI_ERR_NO_MEMORY);
    assert_like(&kind, &last.tree, model, MOST);
    item_unref(it);
    end(&kind, &last);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    assert_int_equal(items_alive, 0);
    return failed;
}

/* Each allocation of a put and of a removal fails once: the content stays, nothing leaks. */
TEST(lack_of_memory_leaves_the_content_as_it_was) {
    static const unsigned sizes[] = { 1, 2, 60 };
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < 3; s++)
            for (unsigned number = 0; number < sizes[s] + 5; number++)
                for (int removal = 0; removal < 2; removal++)
                    for (size_t fail_at = 0; change_without_memory(&kinds[k], sizes[s], number, removal, fail_at);)
                        fail_at++;
}

TEST(an_empty_tree_whose_first_put_fails_stays_empty) {
    for (size_t fail_at = 0; fail_at < 2; fail_at++) {
        scarce_memory memory;
        scarce_memory_init(&memory, fail_at);
        ki_tree_kind kind = kinds[0];
        kind.allocator = &memory.allocator;
        lineage last = { .edit.version = 1 };
        item *it = item_new(1, 1);
        assert_int_equal(ki_tree_put(&kind, &last.edit, &last.tree, it, NULL), KI_ERR_NO_MEMORY);
        assert_null(last.tree.root);
        item_unref(it);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

/* A version that is dropped is drained a value at a time: only what is its own goes. */
TEST(a_version_that_is_drained_leaves_the_others_whole) {
    enum {
        COUNT = 200
    };
    for (size_t k = 0; k < KINDS; k++) {
        const ki_tree_kind *kind = &kinds[k];
        lineage last = { .edit.version = 1 };
        for (unsigned i = 0; i < COUNT; i++)
            put_new(kind, &last, i, 1);
        ki_tree kept = next_version(&last);
        for (unsigned i = 0; i < COUNT; i += 2)
            put_new(kind, &last, i, 2);
        for (int is_last = 0; is_last < 2; is_last++) {
            ki_tree_drain drain;
            size_t drained = 0, alive = items_alive;
            ki_tree_drain_begin(&drain, is_last ? &kept : &last.tree, is_last ? 0 : last.edit.version);
            item *it;
            while ((it = ki_tree_drain_next(kind, &drain))) {
                drained++;
                item_unref(it);
            }
            assert_null(ki_tree_drain_next(kind, &drain));
            assert_true(drained >= COUNT / 2);
            assert_int_equal(items_alive, alive - (is_last ? COUNT : COUNT / 2));
            for (unsigned i = 0; !is_last && i < COUNT; i++)
                assert_int_equal(get(kind, &kept, i)->stamp, 1);
        }
        assert_int_equal(items_alive, 0);
    }
}

/* Gives how many values a walk over what `tree` does not share with `other` has; each that `other` does not have is
 * among them, once. */
static size_t check_changes(const ki_tree_kind *kind, const ki_tree *tree, const ki_tree *other) {
    ki_tree_changes changes;
    ki_tree_changes_begin(&changes, tree, other);
    size_t seen = 0, missing = 0;
    for (const item *it; (it = ki_tree_changes_next(&changes)); seen++) {
        assert_ptr_equal(get(kind, tree, it->number), it);
        missing += get(kind, other, it->number) != it;
    }
    assert_null(ki_tree_changes_next(&changes));
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const item *it; (it = ki_tree_next(tree, &cursor));)
        missing -= get(kind, other, it->number) != it;
    assert_int_equal(missing, 0);
    return seen;
}

TEST(a_walk_over_changes_gives_all_that_another_version_lacks) {
    enum {
        COUNT = 2000,
        CHANGES = 40
    };
    for (size_t k = 0; k < KINDS; k++) {
        const ki_tree_kind *kind = &kinds[k];
        unsigned count = kind->hash ? COUNT / 20 : COUNT;
        lineage last = { .edit.version = 1 };
        const ki_tree empty = { NULL, 0 };
        for (unsigned i = 0; i < count; i++)
            put_new(kind, &last, i, 1);
        assert_int_equal(check_changes(kind, &last.tree, &empty), count);
        assert_int_equal(check_changes(kind, &empty, &last.tree), 0);
        for (unsigned changes = 0; changes < CHANGES; changes++) {
            const ki_tree before = next_version(&last);
            assert_int_equal(check_changes(kind, &last.tree, &before), 0);
            for (unsigned i = 0; i < changes; i++) {
                unsigned number = (changes * 131 + i * 37) % (2 * count);
                if ((changes + i) % 3 == 0)
                    assert_int_equal(take_out(kind, &last, number), KI_OK);
                else
                    put_new(kind, &last, number, changes + 2);
            }
            size_t gone = check_changes(kind, &before, &last.tree);
            size_t come = check_changes(kind, &last.tree, &before);
            if (!kind->hash) /* what is shared is not looked at: a change comes with those in the nodes on its path */
                assert_true(gone + come <= changes * 100);
        }
        end(kind, &last);
        assert_int_equal(items_alive, 0);
    }
}

/* test_tree.c: the persistent trie against a plain array, its versions, its balance of references, lack
 * of memory. */

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

static void item_ref(void *value) {
    ki_refcount_inc(&((item *)value)->refs);
}

static void item_unref(void *value, const ki_tree_kind *kind) {
    (void)kind;
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
    { &ki_allocator_default, 1, item_key, item_ref, item_unref, NULL, NULL },
    { &ki_allocator_default, 1, item_key, item_ref, item_unref, coarse_hash, NULL },
    { &ki_allocator_default, 1, item_key, item_ref, item_unref, same_hash, NULL },
};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

static void put_new(const ki_tree_kind *kind, ki_tree *tree, unsigned number, unsigned stamp) {
    item *it = item_new(number, stamp);
    assert_int_equal(ki_tree_put(kind, tree, it, NULL), KI_OK);
    item_unref(it, kind);
}

static item *get(const ki_tree_kind *kind, const ki_tree *tree, unsigned number) {
    char key[16];
    snprintf(key, sizeof key, "item-%u", number);
    return ki_tree_get(kind, tree, ki_str_of(key));
}

static ki_status take_out(const ki_tree_kind *kind, ki_tree *tree, unsigned number) {
    char key[16];
    snprintf(key, sizeof key, "item-%u", number);
    return ki_tree_remove(kind, tree, ki_str_of(key), NULL);
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
    ki_tree tree = { NULL, 0 };
    ki_cursor cursor = KI_CURSOR_INIT;
    assert_null(get(&kinds[0], &tree, 1));
    assert_null(ki_tree_next(&tree, &cursor));
    assert_null(ki_tree_next(&tree, &cursor));
    void *old = &tree;
    assert_int_equal(ki_tree_remove(&kinds[0], &tree, KI_STR("x"), &old), KI_OK);
    assert_null(old);
    ki_tree other = ki_tree_ref(&tree);
    ki_tree_unref(&kinds[0], &other);
    ki_tree_unref(&kinds[0], &tree);
}

TEST(what_was_replaced_or_taken_out_is_handed_back) {
    for (int k = 0; k < KINDS; k++) {
        ki_tree tree = { NULL, 0 };
        item *first = item_new(1, 1), *second = item_new(1, 2);
        void *old = first;
        assert_int_equal(ki_tree_put(&kinds[k], &tree, first, &old), KI_OK);
        assert_null(old);
        assert_int_equal(ki_tree_put(&kinds[k], &tree, second, &old), KI_OK);
        assert_ptr_equal(old, first);
        item_unref(old, NULL);
        item_unref(first, NULL);
        assert_int_equal(tree.count, 1);
        assert_int_equal(ki_tree_remove(&kinds[k], &tree, KI_STR("item-1"), &old), KI_OK);
        assert_ptr_equal(old, second);
        item_unref(old, NULL);
        item_unref(second, NULL);
        assert_int_equal(tree.count, 0);
        assert_null(tree.root);
        assert_int_equal(items_alive, 0);
    }
}

/* Random changes on a few versions at once; some versions are held and must not change while the others
 * go on. */
static void random_changes(const ki_tree_kind *kind, unsigned size, unsigned operations) {
    enum {
        VERSIONS = 6
    };
    ki_tree trees[VERSIONS] = { { NULL, 0 } };
    unsigned *models[VERSIONS];
    uint64_t random = 7;
    for (int v = 0; v < VERSIONS; v++)
        assert_non_null(models[v] = calloc(size, sizeof **models));
    for (unsigned i = 1; i <= operations; i++) {
        unsigned what = next_random(&random) % 1000;
        unsigned v = next_random(&random) % 2; /* two are changed, the others are held */
        unsigned number = next_random(&random) % size;
        if (what < 550) {
            put_new(kind, &trees[v], number, i);
            models[v][number] = i;
        } else if (what < 995) {
            assert_int_equal(take_out(kind, &trees[v], number), KI_OK);
            models[v][number] = 0;
        } else {
            unsigned held = next_random(&random) % VERSIONS;
            assert_like(kind, &trees[held], models[held], size);
            if (held == v)
                continue;
            ki_tree_unref(kind, &trees[held]);
            trees[held] = ki_tree_ref(&trees[v]);
            memcpy(models[held], models[v], size * sizeof **models);
        }
    }
    for (int v = 0; v < VERSIONS; v++) {
        assert_like(kind, &trees[v], models[v], size);
        ki_tree_unref(kind, &trees[v]);
        free(models[v]);
    }
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
    ki_tree tree = { NULL, 0 };
    for (unsigned i = 0; i < MANY; i++)
        put_new(&kinds[0], &tree, i, i + 1);
    assert_int_equal(tree.count, MANY);
    ki_tree half = ki_tree_ref(&tree);
    for (unsigned i = 0; i < MANY; i += 2)
        assert_int_equal(take_out(&kinds[0], &half, i), KI_OK);
    assert_int_equal(half.count, MANY / 2);
    assert_int_equal(tree.count, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_non_null(get(&kinds[0], &tree, i));
        assert_int_equal(get(&kinds[0], &half, i) != NULL, i % 2);
        assert_int_equal(take_out(&kinds[0], &tree, i), KI_OK);
    }
    assert_null(tree.root);
    ki_tree_unref(&kinds[0], &half);
    assert_int_equal(items_alive, 0);
}

TEST(a_tree_that_has_shrunk_gives_its_memory_back) {
    for (int k = 0; k < KINDS; k++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_tree_kind kind = kinds[k];
        kind.allocator = &memory.allocator;
        ki_tree tree = { NULL, 0 };
        for (unsigned i = 0; i < 500; i++)
            put_new(&kind, &tree, i, 1);
        for (unsigned i = 1; i < 500; i++)
            assert_int_equal(take_out(&kind, &tree, i), KI_OK);
        assert_int_equal(scarce_memory_in_use(&memory), 1); /* the root, with the one that is left */
        assert_non_null(get(&kind, &tree, 0));
        ki_tree_unref(&kind, &tree);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(only_what_no_other_version_reaches_is_unshared) {
    const ki_tree_kind *kind = &kinds[0];
    ki_tree tree = { NULL, 0 };
    for (unsigned i = 0; i < 1000; i++)
        put_new(kind, &tree, i, 1);
    assert_non_null(ki_tree_get_unshared(kind, &tree, KI_STR("item-5")));
    ki_tree other = ki_tree_ref(&tree);
    assert_null(ki_tree_get_unshared(kind, &tree, KI_STR("item-5")));
    put_new(kind, &tree, 5, 2);
    const item *mine = ki_tree_get_unshared(kind, &tree, KI_STR("item-5"));
    assert_non_null(mine);
    assert_int_equal(mine->stamp, 2);
    assert_null(ki_tree_get_unshared(kind, &other, KI_STR("item-900")));
    ki_tree_unref(kind, &tree);
    assert_non_null(ki_tree_get_unshared(kind, &other, KI_STR("item-5")));
    ki_tree_unref(kind, &other);
}

/* A tree of `size`, another version of which is held, is changed at `number`; allocation number
 * `fail_at` of that fails. True where it did. */
static bool change_without_memory(const ki_tree_kind *like, unsigned size, unsigned number, bool removal,
                                  size_t fail_at) {
    enum {
        MOST = 65
    };
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_tree_kind kind = *like;
    kind.allocator = &memory.allocator;
    ki_tree tree = { NULL, 0 };
    unsigned model[MOST] = { 0 };
    for (unsigned i = 0; i < size; i++) {
        put_new(&kind, &tree, i, 1);
        model[i] = 1;
    }
    ki_tree before = ki_tree_ref(&tree);
    memory.fail_at = memory.calls + fail_at;
    item *it = item_new(number, 2);
    ki_status status = removal ? take_out(&kind, &tree, number) : ki_tree_put(&kind, &tree, it, NULL);
    bool failed = scarce_memory_failed(&memory);
    assert_like(&kind, &before, model, MOST);
    if (!status)
        model[number] = removal ? 0 : 2;
    else
        assert_int_equal(status, KI_ERR_NO_MEMORY);
    assert_like(&kind, &tree, model, MOST);
    item_unref(it, NULL);
    ki_tree_unref(&kind, &tree);
    ki_tree_unref(&kind, &before);
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
        ki_tree tree = { NULL, 0 };
        item *it = item_new(1, 1);
        assert_int_equal(ki_tree_put(&kind, &tree, it, NULL), KI_ERR_NO_MEMORY);
        assert_null(tree.root);
        item_unref(it, NULL);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

/* Of two versions one is drained, a value at a time: only what the other one does not reach goes. */
TEST(a_version_that_is_drained_leaves_the_others_whole) {
    enum {
        COUNT = 200
    };
    for (size_t k = 0; k < KINDS; k++) {
        const ki_tree_kind *kind = &kinds[k];
        ki_tree tree = { NULL, 0 };
        for (unsigned i = 0; i < COUNT; i++)
            put_new(kind, &tree, i, 1);
        ki_tree kept = ki_tree_ref(&tree);
        for (unsigned i = 0; i < COUNT; i += 2)
            put_new(kind, &tree, i, 2);
        for (int is_last = 0; is_last < 2; is_last++) {
            ki_tree_drain drain;
            size_t drained = 0, alive = items_alive;
            ki_tree_drain_begin(&drain, is_last ? &kept : &tree);
            item *it;
            while ((it = ki_tree_drain_next(kind, &drain))) {
                drained++;
                item_unref(it, kind);
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
        ki_tree tree = { NULL, 0 };
        const ki_tree empty = { NULL, 0 };
        for (unsigned i = 0; i < count; i++)
            put_new(kind, &tree, i, 1);
        assert_int_equal(check_changes(kind, &tree, &empty), count);
        assert_int_equal(check_changes(kind, &empty, &tree), 0);
        for (unsigned changes = 0; changes < CHANGES; changes++) {
            ki_tree before = ki_tree_ref(&tree);
            assert_int_equal(check_changes(kind, &tree, &before), 0);
            for (unsigned i = 0; i < changes; i++) {
                unsigned number = (changes * 131 + i * 37) % (2 * count);
                if ((changes + i) % 3 == 0)
                    assert_int_equal(take_out(kind, &tree, number), KI_OK);
                else
                    put_new(kind, &tree, number, changes + 2);
            }
            size_t gone = check_changes(kind, &before, &tree), come = check_changes(kind, &tree, &before);
            if (!kind->hash) /* what is shared is not looked at: a change comes with those in the nodes on its path */
                assert_true(gone + come <= changes * 100);
            ki_tree_unref(kind, &before);
        }
        ki_tree_unref(kind, &tree);
        assert_int_equal(items_alive, 0);
    }
}

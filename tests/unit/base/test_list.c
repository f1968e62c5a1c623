/* A list has its items in order, whatever is added and removed. */
#include "src/base/list.h"
#include "tests/support/test.h"

typedef struct item {
    struct item *next, *previous;
    char name;
} item;

/* Fails the test if the list has other items, or links that do not lead back. */
static void assert_list(item *list, const char *names) {
    item *last = NULL;
    for (item *at = list; at; last = at, at = at->next) {
        assert_int_equal(at->name, *names++);
        assert_true(KI_LIST_HAS(at));
        assert_ptr_equal(at->previous, last ? last : list->previous);
    }
    assert_int_equal(*names, '\0');
    assert_ptr_equal(list ? list->previous : NULL, last);
}

TEST(items_are_appended_behind_and_prepended_before_the_others) {
    item items[] = { { .name = 'a' }, { .name = 'b' }, { .name = 'c' }, { .name = 'd' } }, *list = NULL;
    KI_LIST_PREPEND(list, &items[1]);
    assert_list(list, "b");
    KI_LIST_APPEND(list, &items[2]);
    KI_LIST_PREPEND(list, &items[0]);
    KI_LIST_APPEND(list, &items[3]);
    assert_list(list, "abcd");
}

TEST(each_item_can_be_removed_and_added_again) {
    static const char *const left[] = { "bc", "ac", "ab" }, *const again[] = { "bca", "acb", "abc" };
    for (size_t i = 0; i < 3; i++) {
        item items[] = { { .name = 'a' }, { .name = 'b' }, { .name = 'c' } }, *list = NULL;
        for (size_t k = 0; k < 3; k++)
            KI_LIST_APPEND(list, &items[k]);
        KI_LIST_REMOVE(list, &items[i]);
        assert_list(list, left[i]);
        assert_false(KI_LIST_HAS(&items[i]));
        assert_null(items[i].next);
        KI_LIST_APPEND(list, &items[i]);
        assert_list(list, again[i]);
    }
}

TEST(a_list_is_emptied_from_its_head) {
    item items[] = { { .name = 'a' }, { .name = 'b' }, { .name = 'c' } }, *list = NULL;
    for (size_t i = 0; i < 3; i++)
        KI_LIST_PREPEND(list, &items[i]);
    for (size_t i = 3; i-- > 0;) {
        assert_ptr_equal(list, &items[i]);
        KI_LIST_REMOVE(list, list);
    }
    assert_null(list);
}

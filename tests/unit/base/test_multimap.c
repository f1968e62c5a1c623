/* The nodes of each key are a list in the order of their adding, whichever nodes were removed in between. */
#include "src/base/multimap.h"

#include "src/base/memory.h"
#include "tests/support/test.h"

#include <string.h>

enum {
    KEYS = 7,
    COUNT = 60
};

typedef struct element {
    ki_multimap_node node;
    char key[2]; /* its own: the map's key must not be that of a removed element */
    unsigned added_at;
    bool is_in;
} element;

static void check_key(const ki_map *map, const element *elements, const char *key) {
    unsigned last = 0;
    size_t count = 0, expected = 0;
    for (ki_multimap_node *node = ki_multimap_first(map, ki_str_of(key)); node; node = node->next, count++) {
        const element *at = (const element *)node;
        assert_true(at->is_in && at->added_at > last);
        assert_string_equal(at->key, key);
        last = at->added_at;
    }
    for (int i = 0; i < COUNT; i++)
        expected += elements[i].is_in && strcmp(elements[i].key, key) == 0;
    assert_int_equal(count, expected);
}

TEST(the_nodes_of_a_key_stay_in_the_order_of_their_adding) {
    static element elements[COUNT];
    ki_map map;
    uint32_t random = 1;
    ki_map_init(&map, &ki_allocator_default, 7);
    for (unsigned turn = 1; turn < 5000; turn++) {
        random = random * 1664525 + 1013904223;
        element *at = &elements[(random >> 8) % COUNT];
        if (at->is_in) {
            ki_multimap_remove(&map, &at->node);
            at->key[0] = '?'; /* nobody reads it any more */
        } else {
            ki_multimap_remove(&map, &at->node); /* does nothing */
            at->key[0] = (char)('0' + (random >> 20) % KEYS);
            at->added_at = turn;
            assert_int_equal(ki_multimap_add(&map, &at->node, ki_str_of(at->key)), KI_OK);
        }
        at->is_in = !at->is_in;
        for (int i = 0; i < KEYS; i++) {
            const char key[] = { (char)('0' + i), '\0' };
            check_key(&map, elements, key);
        }
    }
    for (int i = 0; i < COUNT; i++)
        ki_multimap_remove(&map, &elements[i].node);
    assert_int_equal(map.count, 0);
    ki_map_free(&map);
}

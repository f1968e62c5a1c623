/* The last changes as lines, within a limit of bytes. */
#include "cli/top/history.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

/* Compares the lines of an object (NULL: of all), the newest first. */
static void assert_lines(const history *h, const char *key, const char *expected) {
    char text[1024] = "";
    size_t size = 0;
    for (const history_line *l = NULL; (l = history_next(h, key, l)) && size < sizeof text;) {
        assert_true(!key || strcmp(l->key, key) == 0);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s;", l->text);
    }
    assert_string_equal(text, expected);
}

TEST(the_lines_of_an_object_are_there_newest_first) {
    history *h = history_new(4096);
    assert_lines(h, "x/a", "");
    assert_lines(h, NULL, "");
    assert_true(history_add(h, "x/a", "+ 1"));
    assert_true(history_add(h, "x/b", "+ 2"));
    assert_true(history_add(h, "x/a", "~ 3"));
    assert_true(history_add(h, "x/a", "- 4"));
    assert_lines(h, "x/a", "- 4;~ 3;+ 1;");
    assert_lines(h, "x/b", "+ 2;");
    assert_lines(h, "x", "");
    assert_lines(h, NULL, "- 4;~ 3;+ 2;+ 1;");
    history_free(h);
}

TEST(the_oldest_lines_go_once_the_limit_is_reached) {
    enum {
        LIMIT = 1000,
        LINES = 200
    };
    history *h = history_new(LIMIT);
    char text[24];
    for (int i = 0; i < LINES; i++) {
        snprintf(text, sizeof text, "line %d", i);
        assert_true(history_add(h, i % 2 ? "odd" : "even", text));
        size_t bytes = 0;
        int next = i;
        for (const history_line *l = NULL; (l = history_next(h, NULL, l)); next--) {
            snprintf(text, sizeof text, "line %d", next);
            assert_string_equal(l->text, text);
            bytes += strlen(l->key) + strlen(l->text) + 2;
        }
        assert_in_range(bytes, 1, LIMIT);
        assert_true(next == -1 || i - next >= LIMIT / 100);
    }
    history_free(h);
}

TEST(a_line_that_is_larger_than_the_limit_is_not_kept) {
    char large[300];
    history *h = history_new(200);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    assert_true(history_add(h, "a", "first"));
    assert_true(history_add(h, "a", large));
    assert_lines(h, "a", "first;");
    history_free(h);
    history_free(NULL);
}

/* The picture of the screen: what is added, cut and marked. */
#include "cli/screen/canvas.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

static canvas *new_canvas(size_t width, size_t height) {
    canvas *c = canvas_new();
    assert_non_null(c);
    assert_true(canvas_begin(c, width, height));
    return c;
}

static void assert_text(const canvas *c, const char *expected) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    canvas_write(c, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_run(const canvas *c, size_t line, size_t index, canvas_run expected) {
    assert_true(index < canvas_run_count(c, line));
    const canvas_run r = canvas_run_at(c, line, index);
    assert_string_equal(r.text, expected.text);
    assert_int_equal(r.style, expected.style);
    assert_int_equal(r.column, expected.column);
    assert_int_equal(r.width, expected.width);
}

TEST(a_line_has_its_parts_in_their_styles) {
    canvas *c = new_canvas(20, 3);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_HEADING, "NAME", 0);
    canvas_move(c, 8, STYLE_PLAIN);
    canvas_printf(c, STYLE_BAD, "%d/%d", 1, 2);
    assert_int_equal(canvas_column(c), 11);
    assert_true(canvas_line(c));
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_DIM, "end  ", 0);
    assert_text(c, "NAME    1/2\n\nend\n");
    assert_int_equal(canvas_run_count(c, 0), 3);
    assert_run(c, 0, 0, (canvas_run){ .style = STYLE_HEADING, .text = "NAME", .column = 0, .width = 4 });
    assert_run(c, 0, 1, (canvas_run){ .style = STYLE_PLAIN, .text = "    ", .column = 4, .width = 4 });
    assert_run(c, 0, 2, (canvas_run){ .style = STYLE_BAD, .text = "1/2", .column = 8, .width = 3 });
    assert_int_equal(canvas_run_count(c, 1), 0);
    assert_run(c, 2, 0, (canvas_run){ .style = STYLE_DIM, .text = "end  ", .column = 0, .width = 5 });
    canvas_free(c);
}

TEST(a_text_is_cut_at_its_width_and_at_the_end_of_the_line) {
    canvas *c = new_canvas(10, 1);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "default", 4);
    canvas_add(c, STYLE_PLAIN, "/web", 4);
    canvas_add(c, STYLE_PLAIN, "-5d", 9);
    canvas_add(c, STYLE_PLAIN, "more", 0);
    assert_text(c, "def…/web-…\n");
    assert_int_equal(canvas_run_count(c, 0), 3);
    assert_run(c, 0, 0, (canvas_run){ .text = "def…", .column = 0, .width = 4 });
    assert_run(c, 0, 2, (canvas_run){ .text = "-…", .column = 8, .width = 2 });
    canvas_free(c);
}

TEST(a_text_that_fits_exactly_is_not_cut) {
    canvas *c = new_canvas(4, 1);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "shop", 4);
    assert_text(c, "shop\n");
    canvas_free(c);
}

TEST(wide_characters_fill_two_columns) {
    canvas *c = new_canvas(6, 2);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "日本語", 0);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "日本語", 5);
    canvas_add(c, STYLE_PLAIN, "x", 0);
    assert_text(c, "日本語\n日本…x\n");
    assert_run(c, 0, 0, (canvas_run){ .text = "日本語", .column = 0, .width = 6 });
    assert_run(c, 1, 1, (canvas_run){ .text = "x", .column = 5, .width = 1 });
    canvas_free(c);
}

TEST(what_could_drive_the_terminal_is_a_question_mark) {
    canvas *c = new_canvas(30, 4);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "a\033[2Jb\tc\n\177", 0);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "right\342\200\256left", 0); /* U+202E */
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "\377\300\200-\342\200", 0); /* not UTF-8 */
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "\033\033\033\033", 3);
    assert_text(c, "a?[2Jb?c?\?\nright?\?\?left\n?\?\?-?\?\n?\?…\n");
    assert_run(c, 1, 0, (canvas_run){ .text = "right?\?\?left", .width = 12 });
    canvas_free(c);
}

TEST(what_is_added_below_the_last_line_is_skipped) {
    canvas *c = new_canvas(10, 1);
    canvas_add(c, STYLE_PLAIN, "before", 0);
    canvas_select_line(c);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "first", 0);
    assert_false(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "second", 0);
    canvas_move(c, 9, STYLE_BAR);
    canvas_select_line(c);
    assert_int_equal(canvas_column(c), 0);
    assert_text(c, "first\n");
    assert_false(canvas_is_selected(c, 0));
    assert_int_equal(canvas_run_count(c, 1), 0);
    canvas_free(c);
}

TEST(the_cursor_has_a_line) {
    canvas *c = new_canvas(10, 3);
    assert_true(canvas_line(c));
    assert_true(canvas_line(c));
    canvas_select_line(c);
    canvas_add(c, STYLE_PLAIN, "here", 0);
    assert_true(canvas_line(c));
    assert_false(canvas_is_selected(c, 0));
    assert_true(canvas_is_selected(c, 1));
    assert_false(canvas_is_selected(c, 2));
    assert_false(canvas_is_selected(c, 3));
    canvas_free(c);
}

TEST(blanks_end_at_the_edge_and_never_go_back) {
    canvas *c = new_canvas(8, 1);
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "abc", 0);
    canvas_move(c, 2, STYLE_PLAIN);
    canvas_move(c, 3, STYLE_PLAIN);
    canvas_move(c, 99, STYLE_BAR);
    assert_int_equal(canvas_run_count(c, 0), 2);
    assert_run(c, 0, 1, (canvas_run){ .style = STYLE_BAR, .text = "     ", .column = 3, .width = 5 });
    canvas_free(c);
}

TEST(a_new_picture_begins_empty_and_with_its_own_size) {
    canvas *c = new_canvas(10, 1);
    assert_true(canvas_line(c));
    canvas_select_line(c);
    canvas_add(c, STYLE_PLAIN, "first", 0);
    assert_true(canvas_begin(c, 300, 100));
    assert_int_equal(canvas_width(c), 300);
    assert_int_equal(canvas_height(c), 100);
    assert_text(c, "");
    for (size_t i = 0; i < 100; i++) {
        assert_true(canvas_line(c));
        canvas_printf(c, STYLE_PLAIN, "%300zu", i);
    }
    assert_false(canvas_line(c));
    assert_int_equal(canvas_run_at(c, 99, 0).width, 300);
    assert_string_equal(canvas_run_at(c, 99, 0).text + 298, "99");
    assert_true(canvas_begin(c, 0, 1));
    assert_true(canvas_line(c));
    canvas_add(c, STYLE_PLAIN, "x", 0);
    canvas_move(c, 5, STYLE_PLAIN);
    assert_int_equal(canvas_run_count(c, 0), 0);
    assert_true(canvas_begin(c, 5, 0));
    assert_false(canvas_line(c));
    assert_false(canvas_has_failed(c));
    canvas_free(c);
}

/* The objects of a resource as the lines of a table. */
#include "cli/top/rows.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <string.h>

TEST(objects_are_lines_by_namespace_and_name) {
    static const char *const names[] = { "x/b", "x/a", "w/c", "x-y/a" };
    static const char *const expected[] = { "w/c", "x/a", "x/b", "x-y/a" };
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(KI_CONFIGMAPS, NULL, 0, NULL, &columns, &err), KI_OK);
    rows *r = rows_new(columns, false);
    for (size_t i = 0; i < 4; i++) {
        ki_object *obj = make_object(names[i], "1", NULL);
        assert_int_equal(rows_change(r, CHANGE_ADDED, obj, true, 0, &err), KI_OK);
        ki_object_unref(obj);
    }
    assert_int_equal(rows_line_count(r), 0);
    assert_int_equal(rows_settle(r, 0, 0, &err), KI_OK);
    assert_int_equal(rows_line_count(r), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(ki_object_key(rows_line_at(r, i).obj), expected[i]);
        assert_int_equal(rows_line_of(r, expected[i], NULL), i);
    }
    rows_free(r);
    ki_columns_free(columns);
}

/* Characters as the locale's terminal shows them. */
#include "cli/screen/glyphs.h"
#include "tests/support/test.h"

#include <locale.h>

enum {
    GLYPHS_MAX = 16
};

static void assert_glyphs(const char *text, size_t width, const wchar_t *expected) {
    wchar_t found[GLYPHS_MAX + 1];
    size_t count = glyphs_fill(found, GLYPHS_MAX, text, width);
    assert_true(count <= GLYPHS_MAX);
    found[count] = L'\0';
    if (wcscmp(found, expected) != 0)
        fail_msg("\"%ls\" instead of \"%ls\"", found, expected);
}

TEST(a_text_fills_its_columns) {
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_glyphs("shop", 6, L"shop  ");
    assert_glyphs("shop", 3, L"sho");
    assert_glyphs("", 2, L"  ");
    assert_glyphs("1 → 2 …", 7, L"1 \u2192 2 \u2026");
    assert_glyphs("日本", 5, L"\u65e5\u672c ");
    assert_glyphs("日本", 3, L"\u65e5 ");
    assert_glyphs("12345678901234567890", 20, L"1234567890123456");
}

TEST(an_accent_has_a_letter_before_it) {
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_glyphs("e\314\201", 2, L"e\u0301 ");
    assert_glyphs("\314\201e", 2, L"?e");
}

TEST(characters_that_the_locale_lacks_are_similar_ones) {
    assert_non_null(setlocale(LC_CTYPE, "C"));
    assert_glyphs("1 → 2 …", 7, L"1 > 2 .");
    assert_glyphs("┌─┐│▲é日", 8, L"+-+|^?? ");
}

/* test_yaml_json.c: YAML bodies as JSON, and that none takes the machine. */
#include "src/base/memory.h"
#include "testing/values/yaml_json.h"
#include "tests/support/scarce_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void documents_are_read_as_kubernetes_reads_them(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *json; /* NULL: refused */
    } rows[] = {
        { "a: 1\nb:\n- x\n- {c: d, e: [1, 2]}\n", "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\",\"e\":[1,2]}]}" },
        { "{\"a\": [true, null, \"x\\u00e4\"]}", "{\"a\":[true,null,\"x\xc3\xa4\"]}" },
        { "a: yes\nb: off\nc: 'yes'\nd: \"1\"\ne: ~\nf:\n",
          "{\"a\":true,\"b\":false,\"c\":\"yes\",\"d\":\"1\",\"e\":null,\"f\":null}" },
        { "[0644, 0x1f, +5, -0x10, 1.50, .5, 5., 1e3, 0o17, 1.2.3, 10.96.0.1, 2001-01-01, 1_000, -, +]",
          "[420,31,5,-16,1.50,0.5,5,1e3,15,\"1.2.3\",\"10.96.0.1\",\"2001-01-01\",\"1_000\",\"-\",\"+\"]" },
        { "yes: a\n017: b\n'no': c\nx: d\n", "{\"true\":\"a\",\"15\":\"b\",\"no\":\"c\",\"x\":\"d\"}" },
        { "a: |\n  two\n  lines\nb: >-\n  one\n  line\n", "{\"a\":\"two\\nlines\\n\",\"b\":\"one line\"}" },
        { "a: &x {k: v}\nb: *x\nc: [*x, &y 7, *y]\n",
          "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"},\"c\":[{\"k\":\"v\"},7,7]}" },
        { "a: 1\n---\nb: 2\n", "{\"a\":1}" },
        { "# nothing\n", "null" },
        { "", "null" },
        { "a: [1\n", NULL },
        { "a: *x\n", NULL },
        { "a: &x [*x]\n", NULL },
        { "? [a]\n: b\n", NULL },
        { "a:\tb: c: d", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_buffer out;
        const char *why = NULL;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        ki_status status = kt_yaml_to_json(ki_str_of(rows[i].yaml), &out, &why);
        if (status != (rows[i].json ? KI_OK : KI_ERR_PARSE))
            fail_msg("%s: %d, %s", rows[i].yaml, status, why ? why : "");
        if (rows[i].json)
            assert_string_equal(out.data, rows[i].json);
        else
            assert_non_null(why);
        ki_buffer_free(&out);
    }
}

static void what_is_deep_or_grows_is_rejected(void **state) {
    (void)state;
    static char deep[100 * 1000];
    ki_buffer text, out;
    const char *why = NULL;
    memset(deep, '[', sizeof deep);
    ki_buffer_init(&out, &ki_allocator_default, 1024 * 1024);
    assert_int_equal(kt_yaml_to_json((ki_str){ deep, sizeof deep }, &out, &why), KI_ERR_PARSE);
    assert_string_equal(why, "too deep");
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_buffer_append_string(&text, "- &a0 [x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 20; i++)
        ki_buffer_printf(&text, "- &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i - 1, i - 1, i - 1, i - 1);
    ki_buffer_reset(&out, 1024 * 1024);
    assert_int_equal(kt_yaml_to_json((ki_str){ text.data, text.size }, &out, &why), KI_ERR_LIMIT);
    ki_buffer_free(&text);
    ki_buffer_free(&out);
}

static void lack_of_memory_at_any_point_leaks_nothing(void **state) {
    (void)state;
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_buffer out;
        const char *why = NULL;
        ki_buffer_init(&out, &memory.allocator, 0);
        ki_status status = kt_yaml_to_json(KI_STR("a: &x [1, {b: c}]\nd: *x\n"), &out, &why);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_buffer_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_read_as_kubernetes_reads_them),
        cmocka_unit_test(what_is_deep_or_grows_is_rejected),
        cmocka_unit_test(lack_of_memory_at_any_point_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

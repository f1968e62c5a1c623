/* test_json_patch.c: JSON patches of RFC 6902, and that none takes the machine. */
#include "src/base/memory.h"
#include "testing/rest/patch.h"
#include "testing/values/json.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_status apply(const ki_allocator *allocator, ki_str old, ki_str patch, ki_buffer *out, int *ret_code) {
    yyjson_doc *old_doc = NULL, *patch_doc = NULL;
    ki_status status = kt_json_read(allocator, old, &old_doc, NULL);
    *ret_code = 0;
    if (!status)
        status = kt_json_read(allocator, patch, &patch_doc, NULL);
    if (!status)
        status = kt_patch_json(allocator, yyjson_doc_get_root(old_doc), yyjson_doc_get_root(patch_doc), out, ret_code);
    yyjson_doc_free(old_doc);
    yyjson_doc_free(patch_doc);
    return status;
}

TEST(each_operation_does_what_it_says) {
    static const struct {
        const char *old, *patch, *now; /* NULL: 422 */
    } rows[] = {
        { "{}", "[]", "{}" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":[2]}]", "{\"a\":1,\"b\":[2]}" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":2}]", "{\"a\":2}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":0}]", "{\"a\":[0,1]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":2}]", "{\"a\":[1,2]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/-\",\"value\":2}]", "{\"a\":[1,2]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":2}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/00\",\"value\":2}]", "{\"a\":[2,1]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/x\",\"value\":2}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b/c\",\"value\":2}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/c\",\"value\":2}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":{\"b\":2}}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":2}]", NULL },
        { "{}", "[{\"op\":\"add\",\"path\":\"/\",\"value\":2}]", "{\"\":2}" },
        { "{\"a\":{}}", "[{\"op\":\"add\",\"path\":\"/a/\",\"value\":2}]", "{\"a\":{\"\":2}}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a~1b~0c\",\"value\":2}]", "{\"a/b~c\":2}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a~2\",\"value\":2}]", "{\"a~2\":2}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a~\",\"value\":2}]", "{\"a~\":2}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":2}]", NULL },
        { "{}", "[{\"op\":\"add\",\"path\":\"x/a\",\"value\":2}]", "{\"a\":2}" },
        { "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}" },
        { "{}", "[{\"op\":\"add\",\"value\":2}]", NULL },
        { "{}", "[{\"op\":\"what\",\"path\":\"/a\"}]", NULL },
        { "{}", "[{\"path\":\"/a\"}]", NULL },
        { "{}", "[1]", NULL },
        { "{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}" },
        { "{\"a\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", "{\"a\":[1,3]}" },
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/-\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
        { "{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":3}]", "{\"a\":[1,3]}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":3}]", "{\"a\":1,\"b\":3}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b/c\",\"value\":3}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a/c\",\"value\":3}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":3}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"replace\",\"path\":\"/a/-\",\"value\":3}]", NULL },
        { "{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/-1\",\"value\":3}]", "{\"a\":[1,3]}" },
        { "{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/-2\"}]", "{\"a\":[2]}" },
        { "{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/-3\"}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/-1\",\"value\":2}]", "{\"a\":[1,2]}" },
        { "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/+1\",\"value\":2}]", "{\"a\":[1,2]}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a\"}]", "{\"a\":null}" },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":3}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]", "{}" },
        { "{\"a\":{\"b\":1},\"c\":{}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c/d\"}]",
          "{\"a\":{},\"c\":{\"d\":1}}" },
        { "{\"a\":[1,2,3]}", "[{\"op\":\"move\",\"from\":\"/a/2\",\"path\":\"/a/0\"}]", "{\"a\":[3,1,2]}" },
        { "{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"move\",\"path\":\"/b\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a\"}]", NULL },
        { "{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/c\"}]",
          "{\"a\":{\"b\":1,\"c\":{\"b\":1}}}" },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/c\",\"path\":\"/b\"}]", "{\"a\":1,\"b\":null}" },
        { "{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/c/d\",\"path\":\"/b\"}]", NULL },
        { "{\"a\":{\"b\":1,\"c\":2}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"c\":2,\"b\":1}}]",
          "{\"a\":{\"b\":1,\"c\":2}}" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":2}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":null}]", "{\"a\":1}" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\"}]", "{\"a\":1}" },
        { "{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}" },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\"}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b/c\",\"value\":null}]", NULL },
        { "{\"a\":[1]}", "[{\"op\":\"test\",\"path\":\"/a/1\",\"value\":null}]", NULL },
        { "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}" },
        { "{\"a\":1}",
          "[{\"op\":\"test\",\"path\":\"/b\",\"value\":null},{\"op\":\"add\",\"path\":\"/b\",\"value\":[]}]",
          "{\"a\":1,\"b\":[]}" },
        { "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2},{\"op\":\"remove\",\"path\":\"/c\"}]", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_buffer out;
        int code;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        assert_int_equal(apply(&ki_allocator_default, ki_str_of(rows[i].old), ki_str_of(rows[i].patch), &out, &code),
                         KI_OK);
        if (code != (rows[i].now ? 0 : 422))
            fail_msg("%s gives %d", rows[i].patch, code);
        if (rows[i].now)
            assert_string_equal(out.data, rows[i].now);
        ki_buffer_free(&out);
    }
}

static int code_of(const char *old, const ki_buffer *patch) {
    ki_buffer out;
    int code;
    assert_int_equal(patch->failed, KI_OK);
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(apply(&ki_allocator_default, ki_str_of(old), (ki_str){ patch->data, patch->size }, &out, &code),
                     KI_OK);
    ki_buffer_free(&out);
    return code;
}

static void append_path(ki_buffer *out, const char *step, size_t count) {
    for (size_t i = 0; i < count; i++)
        ki_buffer_append_string(out, step);
}

TEST(copies_into_themselves_do_not_get_deeper_than_a_body) {
    ki_buffer patch;
    ki_buffer_init(&patch, &ki_allocator_default, 0);
    const char *comma = "[";
    for (size_t depth = 2; depth < 300 * 1000; depth *= 2, comma = ",") {
        ki_buffer_printf(&patch, "%s{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"", comma);
        append_path(&patch, "/a", depth + 1);
        ki_buffer_append_string(&patch, "\"}");
    }
    ki_buffer_append_string(&patch, "]");
    assert_int_equal(code_of("{\"a\":{\"a\":{}}}", &patch), 422);
    ki_buffer_free(&patch);
}

static void append_round(ki_buffer *patch, size_t *rounds) {
    ki_buffer_printf(patch,
                     "%s{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/a\"},{\"op\":\"move\",\"from\":\"/b\",\"path\":"
                     "\"/a\"},{\"op\":\"add\",\"path\":\"/b\",\"value\":{}}",
                     (*rounds)++ ? "," : "[");
}

TEST(moves_do_not_get_deeper_than_a_body) {
    ki_buffer patch;
    size_t rounds = 0;
    ki_buffer_init(&patch, &ki_allocator_default, 0);
    while (rounds < KT_JSON_MAX_DEPTH - 2) /* the object, and /a, are the first two */
        append_round(&patch, &rounds);
    ki_buffer_append_string(&patch, "]");
    assert_int_equal(code_of("{\"a\":{},\"b\":{}}", &patch), 0);
    patch.size--;
    append_round(&patch, &rounds);
    ki_buffer_append_string(&patch, "]");
    assert_int_equal(code_of("{\"a\":{},\"b\":{}}", &patch), 422);
    ki_buffer_free(&patch);
}

TEST(what_looks_at_too_much_is_rejected) {
    ki_buffer old, patch;
    ki_buffer_init(&old, &ki_allocator_default, 0);
    ki_buffer_init(&patch, &ki_allocator_default, 0);
    ki_buffer_append_string(&old, "{\"a\":[0");
    for (size_t i = 1; i < 100 * 1000; i++)
        ki_buffer_append_string(&old, ",0");
    ki_buffer_append_string(&old, "]}");
    for (size_t i = 0; i < 10 * 1000; i++)
        ki_buffer_printf(&patch, "%s{\"op\":\"test\",\"path\":\"/a/99998\",\"value\":0}", i ? "," : "[");
    ki_buffer_append_string(&patch, "]");
    assert_int_equal(old.failed, KI_OK);
    assert_int_equal(code_of(old.data, &patch), 413);
    ki_buffer_free(&patch);
    ki_buffer_free(&old);
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const char old[] = "{\"a\":{\"b\":[1,2]},\"c\":1}";
    static const char patch[] =
        "[{\"op\":\"add\",\"path\":\"/a/d\",\"value\":{\"x\":[1]}},{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/e\"},{"
        "\"op\":\"test\",\"path\":\"/e\",\"value\":{\"d\":{\"x\":[1]},\"b\":[1,2]}},{\"op\":\"move\",\"from\":\"/c\","
        "\"path\":\"/a/b/0\"},{\"op\":\"remove\",\"path\":\"/e\"}]";
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_buffer out;
        int code;
        ki_buffer_init(&out, &memory.allocator, 0);
        ki_status status = apply(&memory.allocator, KI_STR(old), KI_STR(patch), &out, &code);
        bool failed = scarce_memory_failed(&memory);
        assert_int_equal(status, failed ? KI_ERR_NO_MEMORY : KI_OK);
        if (!failed)
            assert_string_equal(out.data, "{\"a\":{\"b\":[1,1,2],\"d\":{\"x\":[1]}}}");
        ki_buffer_free(&out);
    }
}

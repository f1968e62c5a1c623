/* A list's items come out one by one, whatever the chunks and the order of its members. */
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/wire/list_decoder.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct record {
    ki_buffer text;
    int items;
    int stop_after;
} record;

static ki_status note_item(ki_str item, void *user) {
    record *seen = user;
    ki_buffer_printf(&seen->text, "%.*s;", (int)item.size, item.data);
    return ++seen->items == seen->stop_after ? KI_ERR_CANCELLED : KI_OK;
}

static ki_status note_bad(const ki_error *why, ki_str sample, void *user) {
    record *seen = user;
    ki_buffer_printf(&seen->text, "bad %s: %s [%.*s];", ki_status_name(why->code), why->message, (int)sample.size,
                     sample.data);
    return ++seen->items == seen->stop_after ? KI_ERR_CANCELLED : KI_OK;
}

/* Everything a list gave, as one text: items, then the metadata, or the failure. */
static char *decode(const ki_allocator *allocator, ki_str text, size_t limit, size_t first, int stop_after,
                    ki_status *ret_status) {
    record seen = { .stop_after = stop_after };
    ki_error err = KI_ERROR_INIT;
    ki_buffer_init(&seen.text, &ki_allocator_default, 0);
    ki_list_sink sink = { note_item, note_bad, NULL, &seen };
    ki_list_decoder *decoder = NULL;
    ki_status status = ki_list_decoder_new(allocator, limit, &sink, &decoder, &err);
    size_t at = 0;
    while (!status && at < text.size) {
        size_t step = first == SIZE_MAX ? 1 : at == 0 && first ? first : text.size - at;
        status = ki_list_decoder_feed(decoder, &(ki_str){ text.data + at, step }, &err);
        at += step;
    }
    if (decoder) {
        ki_status finished = ki_list_decoder_finish(decoder, status ? NULL : &err);
        assert_true(!status || finished == status);
        status = finished;
    }
    if (status) {
        ki_buffer_printf(&seen.text, " %s", ki_status_name(status));
        assert_true(err.code == status || status == KI_ERR_CANCELLED);
    } else {
        const ki_list_meta *meta = ki_list_decoder_meta(decoder);
        ki_buffer_printf(&seen.text, " %s %s %s '%s' %lld", meta->api_version, meta->kind, meta->resource_version,
                         meta->continue_token, (long long)meta->remaining_item_count);
    }
    ki_list_decoder_free(decoder);
    *ret_status = status;
    return ki_buffer_take(&seen.text, NULL);
}

static void assert_decodes(ki_str text, size_t limit, const char *expected) {
    for (size_t split = 0; split <= text.size + 1; split++) {
        ki_status status;
        char *got = decode(&ki_allocator_default, text, limit, split > text.size ? SIZE_MAX : split, 0, &status);
        if (strcmp(got, expected) != 0)
            fail_msg("%.*s\n  split at %zu gave %s\n  expected %s", (int)text.size, text.data, split, got, expected);
        ki_free(&ki_allocator_default, got);
    }
}

#define HEAD "\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"}"

TEST(items_come_out_whatever_the_order_of_members) {
    assert_decodes(KI_STR("{" HEAD ",\"items\":[{\"a\":1},{\"b\":\"]}\\\"\"}]}"), 1000,
                   "{\"a\":1};{\"b\":\"]}\\\"\"}; v1 PodList 7 '' -1");
    assert_decodes(KI_STR("{\"items\":[{\"a\":1},{}]," HEAD "}\n"), 1000, "{\"a\":1};{}; v1 PodList 7 '' -1");
    assert_decodes(
        KI_STR(" { \"items\" : [ {} , {} ] , \"x\" : [ 1 , \"y\" , { } ] , \"n\" : null , \"z\":-1 , " HEAD " } "),
        1000, "{};{}; v1 PodList 7 '' -1");
    assert_decodes(KI_STR("{" HEAD ",\"items\":[]}"), 1000, " v1 PodList 7 '' -1");
    assert_decodes(KI_STR("{" HEAD ",\"items\":null}"), 1000, " v1 PodList 7 '' -1");
    assert_decodes(KI_STR("{" HEAD "}"), 1000, " v1 PodList 7 '' -1");
    assert_decodes(KI_STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"a\\\"b\","
                          "\"remainingItemCount\":5},\"items\":[]}"),
                   1000, "  PodList 7 'a\"b' 5");
    /* A number that what is there cannot be added to is none. */
    assert_decodes(KI_STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"a\","
                          "\"remainingItemCount\":9223372036854775807},\"items\":[]}"),
                   1000, "  PodList 7 'a' -1");
    assert_decodes(KI_STR("{" HEAD ",\"a name that is longer than any of those which have a meaning here, by "
                          "far\":1,\"i\\\"tems\":1,\"items\":[{}]}"),
                   1000, "{}; v1 PodList 7 '' -1");
}

/* As of OpenShift's projects, of metrics-server and of componentstatuses. */
TEST(a_list_may_have_no_version) {
    assert_decodes(KI_STR("{\"kind\":\"ProjectList\",\"apiVersion\":\"project.openshift.io/v1\",\"metadata\":{},"
                          "\"items\":[{\"a\":1}]}"),
                   1000, "{\"a\":1}; project.openshift.io/v1 ProjectList  '' -1");
    assert_decodes(KI_STR("{\"kind\":\"rTestList\",\"apiVersion\":\"vTest\",\"items\":[{}]}"), 1000,
                   "{}; vTest rTestList  '' -1");
    assert_decodes(KI_STR("{\"kind\":\"PodList\",\"metadata\":null,\"items\":[]}"), 1000, "  PodList  '' -1");
    assert_decodes(KI_STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"\"}}"), 1000, "  PodList  '' -1");
}

TEST(what_is_no_list_is_rejected) {
    const struct {
        ki_str text;
        const char *expected;
    } cases[] = {
        { KI_STR(""), " unexpected EOF" },
        { KI_STR("{"), " unexpected EOF" },
        { KI_STR("{" HEAD ",\"items\":[{}"), "{}; unexpected EOF" },
        { KI_STR("{" HEAD ",\"items\":[{}]"), "{}; unexpected EOF" },
        { KI_STR("{" HEAD ",\"items\":[{\"a"), " unexpected EOF" },
        { KI_STR("<html>"), " protocol violation" },
        { KI_STR("\xEF\xBB\xBF{}"), " protocol violation" },
        { KI_STR("[]"), " protocol violation" },
        { KI_STR("{}"), " protocol violation" },
        { KI_STR("{,}"), " protocol violation" },
        { KI_STR("{" HEAD ",}"), " protocol violation" },
        { KI_STR("{" HEAD "} x"), " protocol violation" },
        { KI_STR("{" HEAD "]"), " protocol violation" },
        { KI_STR("{" HEAD " \"items\":[]}"), " protocol violation" },
        { KI_STR("{\"items\" []}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[{}],\"items\":[{}]}"), "{}; protocol violation" },
        { KI_STR("{" HEAD ",\"items\":null,\"items\":[]}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[],\"metadata\":{\"resourceVersion\":\"8\"}}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[],\"kind\":\"NodeList\"}"), " protocol violation" },
        { KI_STR("{\"items\":]}"), " protocol violation" },
        { KI_STR("{\"x\":,}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":{}}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":7}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[{},]}"), "{}; protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[,{}]}"), " protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[{}{}]}"), "{}; protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[{}}"), "{}; protocol violation" },
        { KI_STR("{" HEAD ",\"items\":[:]}"), " protocol violation" },
        { KI_STR("{\"metadata\":{1},\"kind\":\"PodList\"}"), " protocol violation" },
        { KI_STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":7}}"), " protocol violation" },
        { KI_STR("{\"kind\":\"PodList\",\"metadata\":7}"), " protocol violation" },
        { KI_STR("{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"7\"},\"rows\":[{}]}"),
          " protocol violation" },
        { KI_STR("{\"kind\":7,\"metadata\":{\"resourceVersion\":\"7\"}}"), " protocol violation" },
        { KI_STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
                 "\"1234567890123456789012345678901234567890123456789012345678901234\"}}"),
          " protocol violation" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_decodes(cases[i].text, 1000, cases[i].expected);
}

TEST(messages_say_what_came) {
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        { "<html>", "expected a JSON object, got \"<html>\"" },
        { "{\"kind\":\"Status\",\"status\":\"Failure\"}", "expected a list, got kind Status" },
        { "{\"x\":1}", "expected a list, got no kind" },
        { "{\"kind\":\"PodList\",\"metadata\":7}", "the list's metadata is no JSON object" },
        { "{\"items\":{\"a\":1}}", "expected an array of items, got \"{\"a\":1}\"" },
        { "{\"items\":[", "the list is incomplete" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        record seen = { .items = 0 };
        ki_buffer_init(&seen.text, &ki_allocator_default, 0);
        ki_list_sink sink = { note_item, note_bad, NULL, &seen };
        ki_list_decoder *decoder = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_list_decoder_new(&ki_allocator_default, 1000, &sink, &decoder, NULL), KI_OK);
        if (!ki_list_decoder_feed(decoder, &(ki_str){ cases[i].text, strlen(cases[i].text) }, &err))
            assert_int_not_equal(ki_list_decoder_finish(decoder, &err), KI_OK);
        assert_string_equal(err.message, cases[i].message);
        ki_list_decoder_free(decoder);
        ki_buffer_free(&seen.text);
    }
    ki_list_decoder_free(NULL);
}

TEST(bad_items_are_reported_and_the_rest_continues) {
    assert_decodes(
        KI_STR("{" HEAD ",\"items\":[{},{\"a\":\"long long\"},7,\"x\",null,[],{}]}"), 10,
        "{};bad limit reached: an item is larger than 10 bytes [{\"a\":\"long];bad malformed: an item is not "
        "a JSON object [7];"
        "bad malformed: an item is not a JSON object [\"x\"];bad malformed: an item is not a JSON object [null];"
        "bad malformed: an item is not a JSON object [[]];{}; v1 PodList 7 '' -1");
}

TEST(the_metadata_is_limited_and_other_members_are_not_stored) {
    enum {
        SIZE = 2 * 1024 * 1024
    };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (int other = 0; other < 2; other++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        memset(text, 'x', SIZE);
        size_t used = (size_t)sprintf(text, other ? "{" HEAD ",\"other\":{\"a\":\"" : "{\"metadata\":{\"a\":\"");
        text[used] = 'x';
        memcpy(text + SIZE - 3, "\"}}", 3);
        ki_status status;
        char *got = decode(&memory.allocator, (ki_str){ text, SIZE }, 1000, SIZE / 2, 0, &status);
        assert_string_equal(got, other ? " v1 PodList 7 '' -1" : " limit reached");
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        ki_free(&ki_allocator_default, got);
    }
    free(text);
}

TEST(what_the_sink_returns_ends_the_reading_at_once) {
    ki_status status;
    char *got = decode(&ki_allocator_default, KI_STR("{\"items\":[{},7,{}]," HEAD "}"), 1000, 1, 2, &status);
    assert_int_equal(status, KI_ERR_CANCELLED);
    assert_string_equal(got, "{};bad malformed: an item is not a JSON object [7]; cancelled");
    ki_free(&ki_allocator_default, got);
}

TEST(what_nests_too_deep_is_skipped) {
    static const struct {
        const char *before, *after, *expected;
    } cases[] = {
        { "{" HEAD ",\"items\":[{},", ",{}]}", "bad limit reached: an item is nested deeper than 512 [" },
        { "{" HEAD ",\"items\":[{}],\"x\":", "}", "{}; v1 PodList 7 '' -1" },
        { "{" HEAD ",\"metadata\":", "}", " protocol violation" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256 + 4 * KI_JSON_DEPTH_MAX];
        size_t size = (size_t)sprintf(text, "%s", cases[i].before);
        memset(text + size, '[', 2 * KI_JSON_DEPTH_MAX);
        memset(text + size + 2 * KI_JSON_DEPTH_MAX, ']', 2 * KI_JSON_DEPTH_MAX);
        strcpy(text + size + 4 * KI_JSON_DEPTH_MAX, cases[i].after);
        ki_status status;
        char *got = decode(&ki_allocator_default, ki_str_of(text), 100000, 20, 0, &status);
        assert_non_null(strstr(got, cases[i].expected));
        if (i == 0)
            assert_non_null(strstr(got, ";{}; v1 PodList 7 '' -1"));
        ki_free(&ki_allocator_default, got);
    }
}

TEST(each_allocation_may_fail) {
    ki_str text = KI_STR("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"a\":\"............................."
                         "...............................\"}],"
                         "\"other\":[1,2],\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"}}");
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_status status;
        char *got = decode(&memory.allocator, text, 1000, SIZE_MAX, 0, &status);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_free(&ki_allocator_default, got);
    }
}

TEST(an_api_version_that_is_too_long_is_cut) {
    enum {
        LONG = 300
    };
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_buffer_append_string(&text, "{\"kind\":\"PodList\",\"items\":[],\"apiVersion\":\"");
    for (int i = 0; i < LONG; i++)
        ki_buffer_append_string(&text, "a");
    ki_buffer_append_string(&text, "\"}");
    record seen = { .stop_after = 0 };
    const ki_list_sink sink = { note_item, note_bad, NULL, &seen };
    ki_list_decoder *decoder = NULL;
    assert_int_equal(ki_list_decoder_new(&ki_allocator_default, 1000, &sink, &decoder, NULL), KI_OK);
    assert_int_equal(ki_list_decoder_feed(decoder, &(ki_str){ text.data, text.size }, NULL), KI_OK);
    const ki_list_meta *meta = ki_list_decoder_meta(decoder);
    assert_int_equal(strlen(meta->api_version), sizeof meta->api_version - 1);
    assert_string_equal(meta->kind, "PodList");
    ki_list_decoder_free(decoder);
    ki_buffer_free(&text);
}

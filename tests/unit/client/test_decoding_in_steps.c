/* test_decoding_in_steps.c: one buffer may hold thousands of items. No step of the engine decodes more of them than it
 * has work for; what is left waits, and so does the end that came behind it. */

#include "tests/support/http_source_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    ITEMS = 2000
};

static void open_call(http_source_stage *self, bool watches) {
    if (watches)
        http_source_watch(self);
    else
        http_source_list(self);
}

static void close_call(http_source_stage *self) {
    assert_int_equal(self->objects, 0);
    http_source_close(self);
}

/* ITEMS times `item` in one buffer. */
static void send_many(http_source_stage *self, const char *before, const char *item, const char *after) {
    char *text = malloc(strlen(before) + ITEMS * strlen(item) + strlen(after) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, before);
    for (size_t i = 0; i < ITEMS; i++)
        at = stpcpy(at, item);
    at = stpcpy(at, after);
    (void)kt_memory_call_data(self->call, text, (size_t)(at - text));
    free(text);
}

static void send_items(http_source_stage *self, bool watches) {
    if (watches)
        send_many(self, "", "{\"type\":\"X\"}\n", "");
    else
        send_many(self, "{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[null", ",null",
                  "]}");
}

TEST(a_step_of_one_unit_decodes_an_item_or_two) {
    for (int watches = 0; watches < 2; watches++) {
        http_source_stage self;
        http_source_open(&self, &things);
        open_call(&self, watches);
        send_items(&self, watches);
        kt_memory_call_end(self.call, NULL);
        assert_int_equal(self.ends, 0); /* there is something before it */
        size_t most = 0;
        while (!self.ends) {
            size_t before = self.bad;
            assert_int_equal(ki_engine_timeout(self.engine.engine), 0);
            assert_int_equal(ki_engine_step(self.engine.engine, 1, NULL), KI_OK);
            most = self.bad - before > most ? self.bad - before : most;
        }
        assert_true(most <= 2);
        assert_int_equal(self.bad, watches ? ITEMS : ITEMS + 1);
        assert_int_equal(self.end.code, KI_OK);
        close_call(&self);
    }
}

TEST(an_error_behind_what_waits_comes_after_it) {
    http_source_stage self;
    ki_error cut = KI_ERROR_INIT;
    cut.code = KI_ERR_UNEXPECTED_EOF;
    http_source_open(&self, &things);
    open_call(&self, true);
    send_items(&self, true);
    kt_memory_call_end(self.call, &cut);
    assert_int_equal(self.ends, 0);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.bad, ITEMS);
    assert_int_equal(self.ends, 1);
    assert_int_equal(self.end.code, KI_ERR_UNEXPECTED_EOF);
    close_call(&self);
}

TEST(what_arrives_behind_what_waits_is_decoded_after_it) {
    http_source_stage self;
    http_source_open(&self, &things);
    open_call(&self, true);
    send_items(&self, true);
    size_t before = self.bad;
    send_items(&self, true); /* a transport that cannot pause */
    assert_int_equal(self.bad, before);
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.bad, 2 * ITEMS);
    close_call(&self);
}

TEST(nothing_stays_of_what_waited) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    http_source_stage self;
    http_source_open_in(&self, &things, &memory.allocator);
    open_call(&self, true);
    size_t before = memory.bytes;
    send_items(&self, true);
    assert_true(memory.bytes >= before + ITEMS / 2 * strlen("{\"type\":\"X\"}"));
    assert_true(test_engine_settle(&self.engine));
    assert_int_equal(self.bad, ITEMS);
    assert_true(memory.bytes < before + 2 * sizeof(ki_error)); /* of the last bad event */
    close_call(&self);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(each_allocation_for_what_waits_may_fail) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        http_source_stage self;
        ki_error cut = KI_ERROR_INIT;
        cut.code = KI_ERR_UNEXPECTED_EOF;
        http_source_open_in(&self, &things, &memory.allocator);
        open_call(&self, true);
        scarce_memory_begin(&memory);
        send_items(&self, true);
        if (!self.ends)
            kt_memory_call_end(self.call, &cut);
        assert_true(test_engine_settle(&self.engine));
        assert_int_equal(self.ends, 1);
        assert_true(self.end.code == KI_ERR_UNEXPECTED_EOF ||
                    (scarce_memory_failed(&memory) && self.end.code == KI_ERR_NO_MEMORY));
        close_call(&self);
    }
}

TEST(a_cancel_in_the_middle_ends_it_at_once) {
    for (int watches = 0; watches < 2; watches++) {
        http_source_stage self;
        http_source_open(&self, &things);
        self.cancel_at = ITEMS / 2;
        open_call(&self, watches);
        send_items(&self, watches);
        assert_true(test_engine_settle(&self.engine));
        assert_int_equal(self.bad, ITEMS / 2);
        assert_int_equal(self.ends, 0);
        close_call(&self);
    }
}

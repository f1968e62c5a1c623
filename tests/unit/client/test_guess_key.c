/* test_guess_key.c: what an object is called that could not be read. */

#include <kinformer/allocator.h>

#include "src/base/memory.h"
#include "src/client/guess_key.h"
#include "src/object/json.h"
#include "src/wire/watch_decoder.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

TEST(a_key_is_guessed_from_what_there_is) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "{\"metadata\":{\"name\":\"a\"}}", "a" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"", "n/a" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n", "a" },
        { "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\"},oops", "n/a" },
        { "{\"spec\":{\"name\":\"x\"},\"metadata\":{\"labels\":{\"name\":\"y\"},\"name\":\"a\"}}", "a" },
        { "{\"spec\":[{\"metadata\":{\"name\":\"x\"}}]}", "" },
        { "{\"metadata\":{\"name\":\"a\\u0000\"}}", "" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"\xc2\xa0\\n\"}}", "" },
        { "{\"metadata\":{\"name\":{\"name\":\"x\"}}}", "" },
        { "}}}}{\"metadata\":{\"name\":\"a\"}", "a" },
        { "[[[[[[[[\"name\"", "" },
        { "\"metadata", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_guess guess;
        ki_guess_object(ki_str_of(cases[i].text), &guess);
        if (strcmp(guess.key, cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].text, guess.key);
        assert_int_equal(guess.has_namespace, strchr(cases[i].want, '/') != NULL);
    }
}

TEST(an_event_s_type_and_version_are_guessed_too) {
    static const struct {
        const char *text, *version;
        bool is_deleted;
    } cases[] = {
        { "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"", "7", true },
        { "{\"object\":{\"metadata\":{\"resourceVersion\":\"7\"},bad},\"type\":\"DELETED\"}", "7", true },
        { "{\"type\":\"MODIFIED\",\"object\":{\"type\":\"DELETED\"", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"7", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"7\\u0000\"}}", "", false },
        { "{\"spec\":{\"resourceVersion\":\"7\"}}", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_guess guess;
        ki_guess_object(ki_str_of(cases[i].text), &guess);
        assert_string_equal(guess.resource_version, cases[i].version);
        assert_int_equal(guess.is_deleted, cases[i].is_deleted);
    }
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

typedef struct guesses {
    char keys[2048];
} guesses;

static void note_guess(guesses *found, const ki_watch_event *event) {
    ki_guess guess;
    size_t used = strlen(found->keys);
    if (event->part != KI_WATCH_BAD)
        return;
    ki_guess_object(event->object, &guess);
    snprintf(found->keys + used, sizeof found->keys - used, "%s:%s@%s%s ", ki_status_name(event->why->code), guess.key,
             guess.resource_version, guess.is_deleted ? "!" : "");
}

static bool is_valid(ki_str json) {
    yyjson_doc *doc = NULL;
    bool valid = !ki_json_parse(&ki_allocator_default, json, &doc, NULL) && !ki_json_is_deep(doc, KI_JSON_DEPTH_MAX);
    yyjson_doc_free(doc);
    return valid;
}

static guesses decode(const char *text, size_t limit, size_t chunk) {
    guesses found = { "" };
    ki_watch_decoder *decoder;
    ki_watch_event event;
    assert_int_equal(ki_watch_decoder_new(&ki_allocator_default, limit, &decoder, NULL), KI_OK);
    for (size_t at = 0, size = strlen(text); at < size; at += chunk) {
        ki_str part = { text + at, size - at < chunk ? size - at : chunk };
        while (part.size) {
            assert_int_equal(ki_watch_decoder_next(decoder, &part, &event, NULL), KI_OK);
            if (event.part == KI_WATCH_CHANGE && event.is_assumed && !is_valid(event.object))
                assert_int_equal(ki_watch_decoder_reread(decoder, &part, &event, NULL), KI_OK);
            note_guess(&found, &event);
        }
    }
    ki_watch_decoder_free(decoder);
    return found;
}

TEST(a_guess_does_not_depend_on_how_the_bytes_come) {
#define HEAD "{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{"
#define WHO "\"name\":\"bad\",\"namespace\":\"default\",\"resourceVersion\":\"21\""
#define GOOD "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"good\"}}}\n"
    static const char *const texts[] = {
        HEAD WHO "},\"data\":{\"a\":\"0123456789012345678901234567890123456789\"}}}\n" GOOD,
        HEAD WHO "},,\"data\":{\"a\":\"0123456789\"}},}\n" GOOD,
        HEAD WHO "\n" GOOD,
        HEAD "\"name\":\"ba\n" GOOD GOOD,
        "{\"type\":\"X\",\n\"object\":\n{\"metadata\":{" WHO "}}}\n" GOOD,
        "{\"object\":{\"metadata\":{" WHO "}}\n,\"type\":\"DELETED\",,}\n" GOOD,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t limit = 1; limit < 300; limit++) {
            const guesses whole = decode(texts[i], limit, strlen(texts[i]));
            for (size_t chunk = 1; chunk < 120; chunk++) {
                const guesses pieces = decode(texts[i], limit, chunk);
                if (strcmp(pieces.keys, whole.keys) != 0)
                    fail_msg("text %zu, limit %zu, chunks of %zu: \"%s\", and whole \"%s\"", i, limit, chunk,
                             pieces.keys, whole.keys);
            }
        }
    }
}

/* Nested deeper than an object may be, and only then it says whose it is. */
TEST(a_guess_reaches_behind_what_is_too_deep) {
    enum {
        DEEP = 600
    };
    char text[2 * DEEP + 512];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"type\":\"MODIFIED\",\"object\":{\"data\":");
    memset(text + used, '[', DEEP);
    memset(text + used + DEEP, ']', DEEP);
    snprintf(text + used + 2 * DEEP, sizeof text - used - 2 * DEEP, ",\"metadata\":{" WHO "}}}\n" GOOD);
    for (size_t chunk = 1; chunk < sizeof text; chunk += 7)
        assert_string_equal(decode(text, 100000, chunk).keys, "limit reached:default/bad@21 ");
}

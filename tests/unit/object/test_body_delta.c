/* A delta gives back the text that it was made of, is small where the texts are alike, and never leads outside. All
 * texts are in memory of exactly their size, so that the address sanitizer sees a byte too many. */
#include "sim/random.h"
#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/body_delta.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    COUNT_SIZE = 2 /* bytes of a delta before its steps */
};

static ki_str copy_of(ki_str text) {
    char *copy = malloc(text.size ? text.size : 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    return (ki_str){ copy, text.size };
}

static void free_copy(ki_str copy) {
    free((char *)(uintptr_t)copy.data);
}

/* Returns the delta, as a copy. */
static ki_str delta_of(ki_str base, ki_str text) {
    char *out = malloc(ki_body_delta_max(text.size));
    assert_non_null(out);
    size_t size = ki_body_delta_write(base, text, out);
    assert_true(size >= COUNT_SIZE && size <= ki_body_delta_max(text.size));
    ki_str delta = copy_of((ki_str){ out, size });
    free(out);
    return delta;
}

/* Applies the delta. Returns false if it is none of a text of this size, else whether it is that of `wanted`. */
static bool gives(ki_str base, ki_str delta, size_t size, ki_str wanted) {
    char *out = malloc(size ? size : 1);
    assert_non_null(out);
    bool is_applied = ki_body_delta_apply(base, delta, out, size);
    bool is_wanted = is_applied && ki_str_equal((ki_str){ out, size }, wanted);
    free(out);
    return is_wanted;
}

/* Checks that the text comes back. Returns the delta's size. */
static size_t round_trip(ki_str base, ki_str text) {
    ki_str a = copy_of(base), b = copy_of(text), delta = delta_of(a, b);
    size_t size = delta.size;
    assert_true(gives(a, delta, b.size, b));
    free_copy(delta);
    free_copy(a);
    free_copy(b);
    return size;
}

/* --- pairs of texts ----------------------------------------------------------------------------------------------- */

#define MEMBERS "\"first\":\"the first value\",\"second\":\"the second value\""

static const struct pair {
    const char *base, *text;
    size_t most; /* bytes of the delta: 2, the steps, and the literals */
} pairs[] = {
    { "", "", 2 },
    { "{}", "", 2 },
    { "", "{}", 2 + 3 + 2 },
    { "{" MEMBERS "}", "{" MEMBERS "}", 2 },
    /* The one begins with the other. */
    { "{" MEMBERS "}", "{" MEMBERS, 2 },
    { "{" MEMBERS, "{" MEMBERS "}", 2 + 3 + 1 },
    /* The one ends with the other. */
    { "{" MEMBERS "}", "\"first\":\"the first value\",\"second\":\"the second value\"}", 2 + 3 },
    { "\"first\":\"the first value\",\"second\":\"the second value\"}", "{" MEMBERS "}", 2 + 3 + 1 },
    /* A member more, and one less. */
    { "{" MEMBERS "}", "{\"zero\":\"0\"," MEMBERS "}", 2 + 6 + 13 },
    { "{\"zero\":\"0\"," MEMBERS "}", "{" MEMBERS "}", 2 + 6 + 12 },
    { "{\"a\":1," MEMBERS ",\"z\":{\"more\":\"that is the same\"}}", "{\"a\":1,\"z\":{\"more\":\"that is the same\"}}",
      2 + 3 + 8 },
    { "{\"a\":1,\"z\":{\"more\":\"that is the same\"}}", "{\"a\":1," MEMBERS ",\"z\":{\"more\":\"that is the same\"}}",
      2 + 3 + sizeof MEMBERS + 8 },
    /* Other values, as long and longer. */
    { "{\"name\":\"cart-mdgxn\",\"namespace\":\"shop\"}", "{\"name\":\"cart-7q5r9\",\"namespace\":\"shop\"}",
      2 + 2 + 5 },
    { "{\"name\":\"cart-mdgxn\",\"namespace\":\"shop\"}", "{\"name\":\"cart-10\",\"namespace\":\"shop\"}", 2 + 3 + 2 },
    { "{\"name\":\"cart-1\",\"namespace\":\"shop\"}", "{\"name\":\"cart-1000\",\"namespace\":\"shop\"}", 2 + 3 + 3 },
    { "{\"count\":17,\"restartPolicy\":\"Always\"}", "{\"count\":5,\"restartPolicy\":\"Always\"}", 2 + 3 + 2 },
    /* No quotes. */
    { "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]", "[1,2,3,4,5,6,7,0,9,10,11,12,13,14,15]", 2 + 2 + 22 },
    { "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 2 + 3 + 33 },
    /* Quotes at the ends, where fewer bytes follow than are compared. */
    { "\"a\"", "\"b\"", 2 + 2 + 2 },
    { "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"", "\"x\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
      2 + 3 + 24 },
    { "\"", "\"\"", 2 + 3 + 1 },
    /* Zeros, and bytes that are no text. */
    { "\xff\xfe\x80", "\x80\xfe\xff", 2 + 2 + 3 },
};

TEST(a_delta_gives_the_text_back) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ki_str base = ki_str_of(pairs[i].base), text = ki_str_of(pairs[i].text);
        size_t size = round_trip(base, text);
        if (size > pairs[i].most)
            fail_msg("%s: the delta against %s has %zu bytes", text.data, base.data, size);
        (void)round_trip(text, base);
        (void)round_trip(base, base);
    }
}

TEST(zeros_are_bytes_like_others) {
    static const char base[] = "{\"a\":\"\0\0\0\",\"b\":\"the same text\"}",
                      text[] = "{\"a\":\"\0x\0\",\"b\":\"the same text\"}";
    assert_int_equal(round_trip((ki_str){ base, sizeof base }, (ki_str){ text, sizeof text }), 2 + 2 + 2);
}

/* Appends `count` bytes without a quote. */
static void append_filler(ki_buffer *text, size_t count, char with) {
    for (size_t i = 0; i < count; i++)
        ki_buffer_append_char(text, with);
}

/* How far apart differences and sizes are: about the window in which the texts are looked through, and about the sizes
 * whose numbers take a byte more. */
static const size_t distances[] = { 0,    1,    5,    11,   12,   13,   63,   64,    127,   128,   129,   2034,
                                    2035, 2036, 2047, 2048, 2049, 8191, 8192, 16383, 16384, 16385, 100000 };

TEST(differences_of_any_size_come_back) {
    ki_buffer base, text;
    ki_buffer_init(&base, &ki_allocator_default, 0);
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        for (size_t j = 0; j < sizeof distances / sizeof *distances; j++) {
            ki_buffer_reset(&base, SIZE_MAX);
            ki_buffer_reset(&text, SIZE_MAX);
            ki_buffer_append_string(&base, "{\"begin\":\"");
            ki_buffer_append_string(&text, "{\"begin\":\"");
            append_filler(&base, distances[i], 'a');
            append_filler(&text, distances[j], 'b');
            ki_buffer_append_string(&base, "\",\"the same\":\"value\"}");
            ki_buffer_append_string(&text, "\",\"the same\":\"value\"}");
            size_t size = round_trip((ki_str){ base.data, base.size }, (ki_str){ text.data, text.size });
            if (distances[i] < 2048 && distances[j] < 2048)
                assert_true(size <= COUNT_SIZE + 6 + distances[j]);
        }
    }
    ki_buffer_free(&base);
    ki_buffer_free(&text);
}

TEST(equal_bytes_of_any_number_come_back) {
    ki_buffer base, text;
    ki_buffer_init(&base, &ki_allocator_default, 0);
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        ki_buffer_reset(&base, SIZE_MAX);
        append_filler(&base, distances[i], 'a');
        ki_buffer_reset(&text, SIZE_MAX);
        ki_buffer_append(&text, base.data, base.size);
        ki_buffer_append_string(&base, "1\",\"the same\":\"value\"");
        ki_buffer_append_string(&text, "23\",\"the same\":\"value\"");
        append_filler(&base, distances[i], 'c');
        append_filler(&text, distances[i], 'c');
        size_t size = round_trip((ki_str){ base.data, base.size }, (ki_str){ text.data, text.size });
        assert_true(size <= COUNT_SIZE + 5 + 2);
    }
    ki_buffer_free(&base);
    ki_buffer_free(&text);
}

TEST(more_differences_than_a_delta_has_steps_come_back) {
    ki_buffer base, text;
    ki_buffer_init(&base, &ki_allocator_default, 0);
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (unsigned members = 1000; members <= 5000; members += 7) {
        ki_buffer_reset(&base, SIZE_MAX);
        ki_buffer_reset(&text, SIZE_MAX);
        for (unsigned i = 0; i < members; i++) {
            ki_buffer_printf(&base, "\"member\":\"%c\",", 'a' + (int)(i % 7));
            ki_buffer_printf(&text, "\"member\":\"%c%s\",", 'A' + (int)(i % 5), i % members % 3 ? "" : "longer");
        }
        ki_str one = { base.data, base.size }, other = { text.data, text.size };
        size_t size = round_trip(one, other);
        assert_true(size <= COUNT_SIZE + KI_BODY_DELTA_STEPS_MAX + other.size);
        if (members == 1000)
            assert_true(size < other.size / 2);
    }
    ki_buffer_free(&base);
    ki_buffer_free(&text);
}

/* --- random pairs ------------------------------------------------------------------------------------------------- */

static void make_text(ki_buffer *text, sim_random *random) {
    ki_buffer_reset(text, SIZE_MAX);
    for (uint64_t i = 0, count = sim_below(random, 60); i < count; i++)
        ki_buffer_printf(text, sim_chance(random, 80) ? "\"name-%u\":\"value %u\"," : "%u%u",
                         (unsigned)sim_below(random, 100), (unsigned)sim_below(random, 1000000));
}

/* Copies the text with some parts left out, added, overwritten or taken from elsewhere in it. */
static void mutate(ki_str text, ki_buffer *to, sim_random *random) {
    ki_buffer_reset(to, SIZE_MAX);
    for (uint64_t i = sim_below(random, 8); i > 0; i--) {
        size_t size = (size_t)sim_below(random, text.size + 1), more = (size_t)sim_below(random, 40);
        ki_buffer_append(to, text.data, size);
        text = (ki_str){ text.data + size, text.size - size };
        size = more < text.size ? more : text.size;
        switch (sim_below(random, 4)) {
        case 0: /* left out */
            text = (ki_str){ text.data + size, text.size - size };
            break;
        case 1: /* twice */
            ki_buffer_append(to, text.data, size);
            break;
        case 2:
            append_filler(to, more, sim_chance(random, 50) ? '"' : 'x');
            break;
        default: /* overwritten */
            append_filler(to, size, (char)sim_below(random, 256));
            text = (ki_str){ text.data + size, text.size - size };
        }
    }
    ki_buffer_append(to, text.data, text.size);
}

TEST(random_pairs_come_back) {
    sim_random random = sim_random_from(1, 1);
    ki_buffer base, text;
    ki_buffer_init(&base, &ki_allocator_default, 0);
    ki_buffer_init(&text, &ki_allocator_default, 0);
    for (size_t i = 0, count = test_case_count(20000); i < count; i++) {
        make_text(&base, &random);
        mutate((ki_str){ base.data, base.size }, &text, &random);
        (void)round_trip((ki_str){ base.data, base.size }, (ki_str){ text.data, text.size });
    }
    ki_buffer_free(&base);
    ki_buffer_free(&text);
}

/* --- what is no delta --------------------------------------------------------------------------------------------- */

static const char damaged_base[] =
    "{\"name\":\"cart-mdgxn\",\"gone\":\"that is gone\",\"namespace\":\"shop\",\"uid\":\"00000000\"}";
static const char damaged_text[] =
    "{\"name\":\"cart-1\",\"namespace\":\"shop\",\"uid\":\"0123\",\"more\":\"that is new\"}";

TEST(a_delta_that_was_cut_or_grew_is_none) {
    ki_str base = copy_of(ki_str_of(damaged_base)), text = ki_str_of(damaged_text), delta = delta_of(base, text);
    for (size_t size = 0; size < delta.size; size++) {
        ki_str cut = copy_of((ki_str){ delta.data, size });
        assert_false(gives(base, cut, text.size, text));
        char *out = malloc(text.size);
        assert_non_null(out);
        assert_false(ki_body_delta_apply(base, cut, out, text.size));
        free(out);
        free_copy(cut);
    }
    ki_buffer longer;
    ki_buffer_init(&longer, &ki_allocator_default, 0);
    ki_buffer_append(&longer, delta.data, delta.size);
    ki_buffer_append_char(&longer, 'x');
    assert_false(gives(base, (ki_str){ longer.data, longer.size }, text.size, text));
    ki_buffer_free(&longer);
    free_copy(delta);
    free_copy(base);
}

TEST(a_damaged_delta_leads_nowhere_outside) {
    ki_str base = copy_of(ki_str_of(damaged_base)), text = ki_str_of(damaged_text), delta = delta_of(base, text);
    char *bytes = (char *)(uintptr_t)delta.data;
    size_t steps = (unsigned char)bytes[0];
    for (size_t at = 0; at < delta.size; at++) {
        const char before = bytes[at];
        for (unsigned value = 0; value < 256; value++) {
            bytes[at] = (char)(unsigned char)value;
            bool is_same = gives(base, delta, text.size, text);
            if (at >= COUNT_SIZE + steps) /* a literal */
                assert_int_equal(is_same, bytes[at] == before);
            else if (bytes[at] == before)
                assert_true(is_same);
        }
        bytes[at] = before;
    }
    /* Other sizes than the text's. */
    for (size_t size = 0; size < 2 * text.size; size++)
        if (size != text.size)
            assert_false(gives(base, delta, size, text));
    /* A base that is shorter than that which the delta was made with. */
    for (size_t size = 0; size < base.size; size++) {
        ki_str cut = copy_of((ki_str){ base.data, size });
        (void)gives(cut, delta, text.size, text);
        free_copy(cut);
    }
    free_copy(delta);
    free_copy(base);
}

#define DELTA(bytes) \
    { (bytes), sizeof(bytes) - 1 }

/* The base is "abcdefgh", the text has 4 bytes. */
static const struct {
    ki_str delta;
    const char *text; /* NULL: it is none */
} by_hand[] = {
    { DELTA("\0\0"), "abcd" },
    { DELTA("\2\0\4\0"), "abcd" },
    { DELTA("\2\0\2\4xy"), "abxy" },
    { DELTA("\3\0\2\1\3"), "abfg" },
    { DELTA("\3\0\0\1\4"), "efgh" },
    { DELTA("\3\0\0\3\4x"), "xefg" },
    { DELTA("\4\0\1\2\1\2xy"), "axcy" },
    { DELTA("\3\0\2\x84\0xy"), "abxy" },     /* a number with a byte more than it needs */
    { DELTA("\5\0\0\1\x84\x80\0"), "efgh" }, /* the same */
    { DELTA("\3\0\0\1\5"), NULL },           /* the base ends */
    { DELTA("\3\0\0\1\x8"), NULL },
    { DELTA("\3\0\0\1\x9"), NULL },
    { DELTA("\2\0\5\0"), NULL }, /* more than the text's size */
    { DELTA("\2\0\0\xax"
            "yxyx"),
      NULL },
    { DELTA("\2\0\2\6xy"), NULL },  /* fewer literals than the steps want */
    { DELTA("\2\0\2\4xyz"), NULL }, /* more of them */
    { DELTA("\1\0\4"), NULL },      /* the steps end in a step */
    { DELTA("\2\0\0\1"), NULL },
    { DELTA("\2\0\0\x80"), NULL }, /* and in a number */
    { DELTA("\3\0\4"), NULL },     /* fewer steps than the delta says */
    { DELTA("\0\1"), NULL },
    { DELTA("\6\0\x80\x80\x80\x80\x10\0"), NULL }, /* 2 to the power of 32 */
    { DELTA("\6\0\xff\xff\xff\xff\xf\0"), NULL },  /* the largest number */
    { DELTA("\6\0\0\xff\xff\xff\xff\xf"), NULL },
    { DELTA("\7\0\0\1\xff\xff\xff\xff\xf"), NULL },
    { DELTA("\7\0\x80\x80\x80\x80\x80\0\0"), NULL }, /* a number of six bytes */
    { DELTA("\0"), NULL },
    { DELTA(""), NULL },
};

TEST(what_is_no_delta_of_a_text_of_this_size_is_refused) {
    ki_str base = copy_of(KI_STR("abcdefgh"));
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        ki_str delta = copy_of(by_hand[i].delta);
        char *out = malloc(4);
        assert_non_null(out);
        bool is_delta = ki_body_delta_apply(base, delta, out, 4);
        if (is_delta != (by_hand[i].text != NULL))
            fail_msg("delta %zu", i);
        if (is_delta)
            assert_memory_equal(out, by_hand[i].text, 4);
        free(out);
        free_copy(delta);
    }
    free_copy(base);
}

TEST(any_bytes_can_be_applied) {
    sim_random random = sim_random_from(2, 1);
    char bytes[24];
    ki_str base = copy_of(ki_str_of(damaged_base));
    for (size_t i = 0, count = test_case_count(50000); i < count; i++) {
        ki_str delta = { bytes, (size_t)sim_below(&random, sizeof bytes + 1) };
        for (size_t at = 0; at < delta.size; at++)
            bytes[at] = (char)sim_below(&random, sim_chance(&random, 50) ? 8 : 256);
        if (delta.size > 1 && sim_chance(&random, 80))
            bytes[1] = 0;
        ki_str copy = copy_of(delta);
        (void)gives(base, copy, (size_t)sim_below(&random, 60), base);
        free_copy(copy);
    }
    free_copy(base);
}

/* What is typed to find objects: which texts parse, and which objects pass. */
#include "cli/rows/query.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <string.h>

static const int64_t wall_ms = INT64_C(1700000000000); /* 2023-11-14T22:13:20Z */

static ki_columns *columns_of(const ki_resource *resource) {
    ki_error err = KI_ERROR_INIT;
    ki_columns *columns = NULL;
    assert_int_equal(ki_columns_new(resource, NULL, 0, NULL, &columns, &err), KI_OK);
    return columns;
}

TEST(a_text_that_does_not_parse_says_why) {
    static const struct {
        const char *text, *message; /* NULL: it parses */
    } rows[] = {
        { "", NULL },
        { "  shop \t cart ", NULL },
        { "!", NULL },
        { "!shop ready!=true restarts>3 age<5m node~eu spec.nodeName=n1", NULL },
        { "nominated-node=<none>", NULL },
        { "ready", NULL },
        { "ready!", "ready!: a value is missing" },
        { "ready!=", "ready!=: a value is missing" },
        { "shop restarts>", "restarts>: a value is missing" },
        { "restarts>=", "restarts>=: a value is missing" },
        { "restarts>x", "restarts>x: \"x\" is no number, quantity or age" },
        { "=x", "a condition has no name; write status!=Running" },
        { "redy=true", "there is no column \"redy\", but name, ready, status, restarts, age, ip, node" },
        { "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g", "too many words" },
        { "a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a a=a "
          "a=a a=a a=a a=a a=a a=a",
          "at most 32 conditions" },
    };
    ki_columns *columns = columns_of(KI_PODS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        query q;
        char message[FILTER_MESSAGE_MAX] = "";
        bool is_ok = query_open(&q, rows[i].text, columns, message);
        if (is_ok != !rows[i].message || (!is_ok && strncmp(message, rows[i].message, strlen(rows[i].message)) != 0))
            fail_msg("'%s': '%s'", rows[i].text, message);
        query_close(&q);
    }
    ki_columns_free(columns);
}

TEST(a_query_without_words_and_conditions_is_empty) {
    ki_columns *columns = columns_of(KI_PODS);
    query q = { .source = NULL };
    char message[FILTER_MESSAGE_MAX];
    assert_true(query_is_empty(&q));
    assert_true(query_open(&q, " ", columns, message));
    assert_true(query_is_empty(&q));
    query_close(&q);
    assert_true(query_open(&q, "a", columns, message));
    assert_false(query_is_empty(&q));
    query_close(&q);
    assert_true(query_open(&q, "age>1d", columns, message));
    assert_false(query_is_empty(&q));
    query_close(&q);
    ki_columns_free(columns);
}

TEST(objects_pass_that_have_all_words_and_fulfil_all_conditions) {
    static const char pod[] =
        "{\"metadata\":{\"name\":\"cart-7d\",\"namespace\":\"shop\",\"creationTimestamp\":"
        "\"2023-11-14T22:03:20Z\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"},"
        "{\"name\":\"d\"}]},\"status\":{\"phase\":\"Running\"}}"; /* its age is 10m */
    static const struct {
        const char *text;
        bool passes;
    } rows[] = {
        { "", true },
        { "shop", true },
        { "SHOP", true },
        { "cart", true },
        { "shop/cart", true },
        { "run", true }, /* a cell */
        { "0/2", true },
        { "n1 cart", true },
        { "n1 cart web", false },
        { "10m", false }, /* an age */
        { "!cart", false },
        { "!web", true },
        { "!web !shop", false },
        { "cart ready!=true", true },
        { "cart ready=true", false },
        { "web ready!=true", false },
        { "status=running restarts<1", true },
        { "status=running restarts>0", false },
        { "spec.nodeName~N", true },
        { "age>9m", true },
        { "age<=10m", true },
        { "age<10m", false },
    };
    ki_columns *columns = columns_of(KI_PODS);
    ki_object *obj = make_object_from_json(pod);
    ki_error err = KI_ERROR_INIT;
    row cells = { .text = NULL };
    assert_int_equal(row_read(&cells, columns, obj, wall_ms, &err), KI_OK);
    const filter_subject subject = { .columns = columns, .cells = &cells, .obj = obj, .age_ms = -1 };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        query q;
        char message[FILTER_MESSAGE_MAX];
        bool passes = false;
        assert_true(query_open(&q, rows[i].text, columns, message));
        assert_int_equal(query_passes(&q, &subject, &passes, &err), KI_OK);
        if (passes != rows[i].passes)
            fail_msg("'%s': %s", rows[i].text, passes ? "passes" : "does not pass");
        query_close(&q);
    }
    row_clear(&cells);
    ki_object_unref(obj);
    ki_columns_free(columns);
}

TEST(ages_grow_after_the_cells_are_read) {
    static const char event[] = "{\"metadata\":{\"name\":\"e\",\"namespace\":\"shop\"},\"lastTimestamp\":"
                                "\"2023-11-14T22:13:00Z\"}"; /* LAST SEEN is 20s */
    static const struct {
        const char *text;
        int64_t elapsed_ms;
        bool passes;
    } rows[] = {
        { "last-seen<1m", 0, true },
        { "last-seen<1m", 39000, true },
        { "last-seen<1m", 40000, false },
        { "last-seen>59s", 40000, true },
    };
    ki_columns *columns = columns_of(KI_EVENTS);
    ki_object *obj = make_object_from_json(event);
    ki_error err = KI_ERROR_INIT;
    row cells = { .text = NULL };
    assert_int_equal(row_read(&cells, columns, obj, wall_ms, &err), KI_OK);
    assert_string_equal(row_cell(&cells, 0), "20s");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        query q;
        char message[FILTER_MESSAGE_MAX];
        bool passes = false;
        const filter_subject subject = {
            .columns = columns, .cells = &cells, .obj = obj, .elapsed_ms = rows[i].elapsed_ms, .age_ms = -1
        };
        assert_true(query_open(&q, rows[i].text, columns, message));
        assert_true(q.has_ages);
        assert_int_equal(query_passes(&q, &subject, &passes, &err), KI_OK);
        if (passes != rows[i].passes)
            fail_msg("'%s' after %d ms: %s", rows[i].text, (int)rows[i].elapsed_ms,
                     passes ? "passes" : "does not pass");
        query_close(&q);
    }
    row_clear(&cells);
    ki_object_unref(obj);
    ki_columns_free(columns);
}

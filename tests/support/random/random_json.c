/* random_json.c: see random_json.h. A part is appended to all texts at once; white space only to `text`. */
#include "tests/support/random/random_json.h"

#include "src/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DEPTH_MAX = 6,
    DEEP = 300, /* brackets of a value that is only deep */
    MEMBERS_MAX = 6,
    LONG_STRING = 20000 /* pieces */
};

/* Returns a number below `limit` (splitmix64). */
static unsigned below(random_json *self, unsigned limit) {
    uint64_t z = self->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % limit);
}

static bool one_of(random_json *self, unsigned times) {
    return below(self, times) == 0;
}

static void put(random_json *self, const char *part) {
    ki_buffer_append_string(&self->text, part);
    ki_buffer_append_string(&self->whole, part);
    if (!self->in_managed_fields)
        ki_buffer_append_string(&self->without, part);
}

static void put_char(random_json *self, char c) {
    put(self, (const char[]){ c, '\0' });
}

static void put_space(random_json *self, bool is_compact) {
    static const char *const spaces[] = { " ", "\n", "\t", "\r\n", "        " };
    while (!is_compact && one_of(self, 3))
        ki_buffer_append_string(&self->text, spaces[below(self, 5)]);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static void put_digits(random_json *self, unsigned most) {
    put_char(self, (char)('1' + below(self, 9)));
    for (unsigned count = below(self, most); count > 0; count--)
        put_char(self, (char)('0' + below(self, 10)));
}

static void put_number(random_json *self) {
    static const char *const some[] = { "0",
                                        "-0",
                                        "0.0",
                                        "-0.0e-0",
                                        "9007199254740993",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1E+05",
                                        "1.7976931348623157e308",
                                        "5e-324",
                                        "0.1",
                                        "1.10" };
    if (one_of(self, 3)) {
        put(self, some[below(self, sizeof some / sizeof *some)]);
        return;
    }
    if (one_of(self, 3))
        put_char(self, '-');
    put_digits(self, one_of(self, 4) ? 40 : 6);
    if (one_of(self, 3)) {
        put_char(self, '.');
        put_digits(self, 20);
    }
    if (one_of(self, 5)) {
        static const char *const signs[] = { "e", "E", "e+", "E-", "e-0" };
        put(self, signs[below(self, 5)]);
        put_digits(self, 2);
    }
}

static void put_string(random_json *self, unsigned most) {
    static const char *const pieces[] = {
        "a",
        "Z",
        "7",
        " ",
        "-",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "'",
        "\x7f",
        "\\u0000",
        "\\u001f",
        "\\u00e4",
        "\\uFFFF",
        "\\ud83d\\ude00",
        "\xc3\xa4",
        "\xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "\\\\\\\"",
        "\\\"managedFields\\\":[",
        "kubernetes.io/",
        "0123456789abcdef",
        "\"" /* never chosen: the last */
    };
    put_char(self, '"');
    for (unsigned count = below(self, most); count > 0; count--)
        put(self, pieces[below(self, sizeof pieces / sizeof *pieces - 1)]);
    put_char(self, '"');
}

static void put_value(random_json *self, unsigned depth, bool is_compact);

/* A name of a member: also those that mean something elsewhere. */
static void put_name(random_json *self) {
    static const char *const names[] = { "\"metadata\"", "\"managedFields\"", "\"kind\"",  "\"apiVersion\"",
                                         "\"\"",         "\"name\"",          "\"items\"", "\"data\"" };
    if (one_of(self, 6))
        put(self, names[below(self, sizeof names / sizeof *names)]);
    else
        put_string(self, 8);
}

static void put_container(random_json *self, unsigned depth, bool is_map, bool is_compact) {
    unsigned count = below(self, MEMBERS_MAX);
    put_char(self, is_map ? '{' : '[');
    for (unsigned i = 0; i < count; i++) {
        if (i)
            put_char(self, ',');
        put_space(self, is_compact);
        if (is_map) {
            put_name(self);
            put_space(self, is_compact);
            put_char(self, ':');
            put_space(self, is_compact);
        }
        put_value(self, depth + 1, is_compact);
        put_space(self, is_compact);
    }
    put_char(self, is_map ? '}' : ']');
}

static void put_deep(random_json *self) {
    unsigned depth = below(self, DEEP);
    for (unsigned i = 0; i < depth; i++)
        put(self, i % 3 ? "[" : "{\"a\":");
    put(self, "[]");
    for (unsigned i = depth; i > 0; i--)
        put(self, (i - 1) % 3 ? "]" : "}");
}

static void put_value(random_json *self, unsigned depth, bool is_compact) {
    static const char *const words[] = { "null", "true", "false" };
    switch (below(self, depth < DEPTH_MAX ? 7 : 4)) {
    case 0:
        put(self, words[below(self, 3)]);
        break;
    case 1:
        put_number(self);
        break;
    case 2:
    case 3:
        put_string(self, one_of(self, 20000) ? LONG_STRING : 12);
        break;
    case 4:
        put_container(self, depth, false, is_compact);
        break;
    default:
        put_container(self, depth, true, is_compact);
    }
}

/* --- the object --------------------------------------------------------------------------------------------------- */

/* One member of a map that is written member by member. */
typedef struct member {
    void (*put_value)(random_json *self, bool is_compact);
    const char *name;       /* NULL: any */
    bool is_managed_fields; /* not in `without` */
} member;

static void put_any(random_json *self, bool is_compact) {
    if (one_of(self, 500))
        put_deep(self);
    else
        put_value(self, 1, is_compact);
}

static void put_word(random_json *self, bool is_compact) {
    (void)is_compact;
    put(self, "\"n-");
    put_digits(self, 12);
    put_char(self, '"');
}

static void put_labels(random_json *self, bool is_compact) {
    put_container(self, DEPTH_MAX, true, is_compact);
}

static void put_managed(random_json *self, bool is_compact) {
    put_container(self, 2, one_of(self, 8), is_compact);
}

/* Writes the members in any order. */
static void put_members(random_json *self, const member *members, size_t count, bool is_compact) {
    size_t order[16];
    bool is_first = true, is_first_without = true;
    for (size_t i = 0; i < count; i++) {
        size_t other = below(self, (unsigned)i + 1);
        order[i] = i;
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < count; i++) {
        const member *one = &members[order[i]];
        if (!is_first) {
            ki_buffer_append_char(&self->text, ',');
            ki_buffer_append_char(&self->whole, ',');
        }
        if (!is_first_without && !one->is_managed_fields)
            ki_buffer_append_char(&self->without, ',');
        self->in_managed_fields = one->is_managed_fields;
        put_space(self, is_compact);
        if (one->name) {
            put_char(self, '"');
            put(self, one->name);
            put_char(self, '"');
        } else {
            put(self, "\"x"); /* no name that the library reads */
            put_digits(self, 8);
            put_char(self, '"');
        }
        put_space(self, is_compact);
        put_char(self, ':');
        put_space(self, is_compact);
        one->put_value(self, is_compact);
        put_space(self, is_compact);
        self->in_managed_fields = false;
        is_first = false;
        is_first_without = is_first_without && one->is_managed_fields;
    }
}

static void put_metadata(random_json *self, bool is_compact) {
    static const member all[] = {
        { put_word, "name", false },
        { put_managed, "managedFields", true },
        { put_word, "namespace", false },
        { put_word, "uid", false },
        { put_word, "resourceVersion", false },
        { put_labels, "labels", false },
        { put_any, "annotations", false },
        { put_any, NULL, false },
    };
    member chosen[sizeof all / sizeof *all];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (i == 0 || !one_of(self, 3)) /* an object has a name */
            chosen[count++] = all[i];
    put_char(self, '{');
    put_members(self, chosen, count, is_compact);
    put_char(self, '}');
}

static void put_object(random_json *self, bool is_compact) {
    member members[16] = { { put_metadata, "metadata", false } };
    size_t count = 1;
    bool has_api_version = one_of(self, 2), has_kind = one_of(self, 2);
    if (has_api_version)
        members[count++] = (member){ put_word, "apiVersion", false };
    if (has_kind)
        members[count++] = (member){ put_word, "kind", false };
    for (unsigned more = below(self, MEMBERS_MAX); more > 0; more--)
        members[count++] = (member){ put_any, NULL, false };
    put_space(self, is_compact);
    put_char(self, '{');
    ki_buffer *const made[] = { &self->whole, &self->without };
    for (size_t i = 0; i < 2; i++) {
        if (!has_api_version)
            ki_buffer_append_string(made[i], "\"apiVersion\":\"" RANDOM_JSON_API_VERSION "\",");
        if (!has_kind)
            ki_buffer_append_string(made[i], "\"kind\":\"" RANDOM_JSON_KIND "\",");
    }
    put_members(self, members, count, is_compact);
    put_char(self, '}');
    put_space(self, is_compact);
}

void random_json_init(random_json *self) {
    *self = (random_json){ .state = 0 };
    ki_buffer_init(&self->text, &ki_allocator_default, 0);
    ki_buffer_init(&self->whole, &ki_allocator_default, 0);
    ki_buffer_init(&self->without, &ki_allocator_default, 0);
}

void random_json_free(random_json *self) {
    ki_buffer_free(&self->text);
    ki_buffer_free(&self->whole);
    ki_buffer_free(&self->without);
}

void random_json_make(random_json *self, uint64_t seed) {
    self->state = seed;
    ki_buffer_reset(&self->text, SIZE_MAX);
    ki_buffer_reset(&self->whole, SIZE_MAX);
    ki_buffer_reset(&self->without, SIZE_MAX);
    put_object(self, !one_of(self, 4)); /* API servers send compact JSON */
    if (self->text.failed || self->whole.failed || self->without.failed) {
        fprintf(stderr, "random_json: no memory\n");
        exit(1);
    }
}

/* test_absent_fields.c: fields of a view that no object has, which a misspelt path would be. */
#include "tests/support/byte_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

typedef struct fields {
    const char *name, *value, *nothing;
    ki_string_map labels;
    ki_list owners;
    int64_t generation;
} fields;

typedef struct owner {
    const char *name;
    int64_t uid;
    ki_list references;
} owner;

static const ki_field owner_fields[] = { KI_FIELD(owner, name, "name"), KI_FIELD_END };

#define LIST(items) \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" items "]" \
    "}"
#define A "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"data\":{\"value\":\"1\",\"null\":null}}"
#define B \
    "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"name\":" \
    "\"o\"}]}}"

#define C(name, number) "{\"metadata\":{\"name\":\"" name "\"},\"data\":{\"number\":" number "}}"

static void expect_synced(const char *list, const ki_field *view, const char *line) {
    byte_stage s;
    byte_stage_open(&s, list, KI_FACTORY_OPTIONS(.no_streaming_list = true), &KI_INFORMER_OPTIONS(.view = view));
    assert_string_equal(s.synced, line);
    byte_stage_close(&s);
}

TEST(the_line_synced_names_the_fields_that_no_object_has) {
    static const ki_field present[] = { KI_FIELD(fields, name, "metadata.name"), KI_FIELD(fields, value, "data.value"),
                                        KI_FIELD(fields, nothing, "data.null"), KI_FIELD_END };
    static const ki_field misspelt[] = { KI_FIELD(fields, name, "metadata.nam"), KI_FIELD(fields, value, "data.value"),
                                         KI_FIELD(fields, generation, "metadata.generatoin"), KI_FIELD_END };
    static const ki_field many[] = { KI_FIELD(fields, labels, "metadata.labels"),
                                     KI_FIELD_LIST(fields, owners, owner_fields, "metadata.ownerReferences"),
                                     KI_FIELD_END };
    expect_synced(LIST(A), present, "configmaps: synced, 1 object");
    expect_synced(LIST(A "," B), misspelt, "configmaps: synced, 2 objects; none has metadata.nam, metadata.generatoin");
    expect_synced(LIST(A "," B), many, "configmaps: synced, 2 objects");
    expect_synced(LIST(A), many, "configmaps: synced, 1 object; none has metadata.labels, metadata.ownerReferences");
}

TEST(fields_inside_a_list_are_named_if_the_list_has_items) {
    static const ki_field misspelt[] = { KI_FIELD(owner, name, "nam"), KI_FIELD(owner, uid, "['u.id']"), KI_FIELD_END };
    static const ki_field array[] = { KI_FIELD_LIST(fields, owners, misspelt, "metadata.ownerReferences"),
                                      KI_FIELD_END };
    static const ki_field all[] = { KI_FIELD_LIST(fields, owners, misspelt, "metadata.ownerReferences[*]"),
                                    KI_FIELD(fields, generation, "metadata.generatoin"), KI_FIELD_END };
    static const ki_field outer[] = { KI_FIELD_LIST(owner, references, misspelt, "ownerReferences"), KI_FIELD_END };
    static const ki_field nested[] = { KI_FIELD_LIST(fields, owners, outer, "items[*].metadata"), KI_FIELD_END };
    expect_synced(LIST(A "," B), array,
                  "configmaps: synced, 2 objects; none has metadata.ownerReferences[*].nam, "
                  "metadata.ownerReferences[*]['u.id']");
    expect_synced(LIST(A "," B), all,
                  "configmaps: synced, 2 objects; none has metadata.ownerReferences[*].nam, "
                  "metadata.ownerReferences[*]['u.id'], metadata.generatoin");
    expect_synced(LIST(A), array, "configmaps: synced, 1 object; none has metadata.ownerReferences");
    expect_synced(LIST("{\"metadata\":{\"name\":\"c\"},\"items\":[" B "]}"), nested,
                  "configmaps: synced, 1 object; none has items[*].metadata[*].ownerReferences[*].nam, "
                  "items[*].metadata[*].ownerReferences[*]['u.id']");
}

TEST(fields_whose_values_never_fit_their_members_are_named) {
    static const ki_field wrong[] = { KI_FIELD(fields, generation, "data.value"),
                                      KI_FIELD(fields, name, "metadata.nam"), KI_FIELD(fields, nothing, "data.null"),
                                      KI_FIELD_END };
    static const ki_field once[] = { KI_FIELD(fields, generation, "data.number"), KI_FIELD_END };
    static const ki_field inside[] = { KI_FIELD(owner, uid, "name"), KI_FIELD_END };
    static const ki_field list[] = { KI_FIELD_LIST(fields, owners, inside, "metadata.ownerReferences"),
                                     KI_FIELD(fields, labels, "metadata.labels.app"), KI_FIELD_END };
    static const ki_field strings[] = { KI_FIELD_LIST(fields, owners, inside, "list"), KI_FIELD_END };
    static const ki_field labels[] = { KI_FIELD(fields, labels, "metadata.labels"), KI_FIELD_END };
    expect_synced(LIST(A "," B), wrong,
                  "configmaps: synced, 2 objects; none has metadata.nam; of another type or out of range: data.value");
    expect_synced(LIST(C("c", "1") "," C("d", "\"x\"")), once, "configmaps: synced, 2 objects");
    expect_synced(LIST(C("c", "9223372036854775808") "," C("d", "\"x\"")), once,
                  "configmaps: synced, 2 objects; of another type or out of range: data.number");
    expect_synced(LIST(A "," B), list,
                  "configmaps: synced, 2 objects; of another type or out of range: "
                  "metadata.ownerReferences[*].name, metadata.labels.app");
    expect_synced(LIST("{\"metadata\":{\"name\":\"c\"},\"list\":[\"x\"]}"), strings,
                  "configmaps: synced, 1 object; of another type or out of range: list");
    expect_synced(LIST("{\"metadata\":{\"name\":\"c\",\"labels\":3}}"), labels,
                  "configmaps: synced, 1 object; of another type or out of range: metadata.labels");
}

TEST(an_empty_cache_says_nothing_of_fields) {
    static const ki_field view[] = { KI_FIELD(fields, name, "metadata.nam"), KI_FIELD_END };
    expect_synced(LIST(""), view, "configmaps: synced, 0 objects");
}

TEST(more_names_than_fit_are_cut) {
    enum {
        COUNT = 70
    };
    ki_field view[COUNT + 1] = { [COUNT] = KI_FIELD_END };
    char paths[COUNT][16], line[2048];
    int used = snprintf(line, sizeof line, "configmaps: synced, 1 object");
    const int cut = used + 255;
    for (int i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], "absent%02d", i);
        view[i] = (ki_field){ paths[i], 0, sizeof(const char *), KI_FIELD_TYPE_STRING, NULL };
        used += snprintf(line + used, sizeof line - (size_t)used, "%s%s", i ? ", " : "; none has ", paths[i]);
    }
    line[cut] = '\0';
    expect_synced(LIST(A), view, line);
}

/* Named fields: what is accepted, and where a wrong one is reported. */
#include "cli/gen/header.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char document[] =
    "{\"components\":{\"schemas\":{\"Quantity\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
    "\"x.resource.Quantity\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
    "\"Node\":{\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\"},"
    "\"next\":{\"$ref\":\"#/components/schemas/Node\"}}},"
    "\"Thing\":{\"type\":\"object\",\"description\":\"A thing. It has more text.\",\"properties\":{"
    "\"apiVersion\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},"
    "\"metadata\":{\"type\":\"object\",\"properties\":{\"labels\":{\"type\":\"object\",\"additionalProperties\":"
    "{\"type\":\"string\"}},\"creationTimestamp\":{\"type\":\"string\",\"format\":\"date-time\"}}},"
    "\"spec\":{\"type\":\"object\",\"properties\":{\"nodeName\":{\"type\":\"string\"},\"replicas\":{\"type\":"
    "\"integer\","
    "\"format\":\"int32\"},\"port\":{\"x-kubernetes-int-or-string\":true},"
    "\"ratio\":{\"type\":\"number\"},\"count\":{\"type\":\"integer\"},\"on\":{\"type\":[\"boolean\",\"null\"]},"
    "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"image\":{\"type\":\"string\"},"
    "\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}},"
    "\"numbers\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
    "\"grid\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
    "\"objects\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"string\"}}}},\"limits\":{\"type\":\"object\",\"additionalProperties\":{\"allOf\":[{\"$ref\":"
    "\"#/components/schemas/x.resource.Quantity\"}]}},"
    "\"raw\":{\"type\":\"object\"},\"free\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
    "\"x-kubernetes-preserve-unknown-fields\":true},\"chain\":{\"$ref\":\"#/components/schemas/Node\"},"
    "\"loop\":{\"$ref\":\"#/components/schemas/Loop\"}}}},"
    "\"x-kubernetes-group-version-kind\":[{\"group\":\"example.com\",\"version\":\"v1\",\"kind\":\"Thing\"}]},"
    "\"Loop\":{\"allOf\":[{\"$ref\":\"#/components/schemas/Loop\"}]}}}}";

static gen_schema schema;
static char *header;

static int set_up(void **state) {
    (void)state;
    return gen_schema_find(document, sizeof document - 1, "the test", "thing", NULL, &schema, NULL) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    gen_schema_free(&schema);
    free(header);
    header = NULL;
    return 0;
}

#define FIELDS_TEST(name) TEST_WITH(set_up, tear_down, name)

static ki_status make(const char *fields, ki_error *err) {
    size_t size = 0;
    const gen_request request = {
        .resource = "things", .fields = &fields, .field_count = fields ? 1 : 0, .command = "kinformer gen things"
    };
    free(header);
    header = NULL;
    FILE *out = open_memstream(&header, &size);
    assert_non_null(out);
    ki_status status = gen_header_write(&schema, &request, out, err);
    assert_int_equal(fclose(out), 0);
    return status;
}

FIELDS_TEST(each_path_gives_its_member) {
    static const struct {
        const char *fields, *entry;
    } rows[] = {
        { "spec.nodeName", "KI_FIELD(struct thing, spec.node_name, \"spec.nodeName\")" },
        { ".spec.nodeName", "KI_FIELD(struct thing, spec.node_name, \"spec.nodeName\")" },
        { "spec['nodeName']", "KI_FIELD(struct thing, spec.node_name, \"spec.nodeName\")" },
        { "spec.replicas", "    int32_t replicas;" },
        { "spec.count", "    int64_t count;" },
        { "spec.ratio", "    double ratio;" },
        { "spec.on", "    bool on;" },
        { "spec.port", "KI_FIELD_TEXT(struct thing, spec.port, \"spec.port\")" },
        { "spec.port:int32", "KI_FIELD(struct thing, spec.port, \"spec.port\")" },
        { "spec.limits", "KI_FIELD(struct thing, spec.limits, \"spec.limits\")" },
        { "spec.limits.cpu", "KI_FIELD_MILLI(struct thing, spec.limits.cpu_milli, \"spec.limits.cpu\")" },
        { "spec.limits.cpu:string", "KI_FIELD(struct thing, spec.limits.cpu, \"spec.limits.cpu\")" },
        { "spec.limits.memory", "KI_FIELD_QUANTITY(struct thing, spec.limits.memory, \"spec.limits.memory\")" },
        { "spec.limits['a.io/gpu']", "spec.limits.a_io_gpu, \"spec.limits['a.io/gpu']\")" },
        { "spec.limits.a\\.io/gpu", "spec.limits.a_io_gpu, \"spec.limits['a.io/gpu']\")" },
        { "metadata.labels", "    ki_string_map labels;" },
        { "metadata.labels.app", "KI_FIELD(struct thing, metadata.labels.app, \"metadata.labels.app\")" },
        { "metadata.creationTimestamp", "KI_FIELD_TIME(struct thing, metadata.creation_timestamp, " },
        { "metadata.creationTimestamp:present", "metadata.has_creation_timestamp, " },
        { "spec.items[].image", "KI_FIELD(struct thing_spec_item, image, \"image\")" },
        { "spec.items[*].image", "KI_FIELD_LIST(struct thing, spec.items, thing_spec_item_fields, \"spec.items\")" },
        { "spec.items[].args[]", "    ki_string_list args;" },
        { "spec.items", "    ki_string_list args;" },
        { "spec.items[]", "    ki_string_list args;" },
        { "spec.items[0].image", "KI_FIELD(struct thing, spec.items_0.image, \"spec.items[0].image\")" },
        { "spec.items[2].args[1]", "spec.items_2.args_1, \"spec.items[2].args[1]\")" },
        { "spec.numbers[1]", "KI_FIELD(struct thing, spec.numbers_1, \"spec.numbers[1]\")" },
        { "spec.objects.one.a", "KI_FIELD(struct thing, spec.objects.one.a, \"spec.objects.one.a\")" },
        { "spec.raw.deep.thing:int64", "KI_FIELD(struct thing, spec.raw.deep.thing, \"spec.raw.deep.thing\")" },
        { "spec.raw.list[].name:string", "KI_FIELD(struct thing_spec_raw_list_item, name, \"name\")" },
        { "spec.raw:present", "KI_FIELD_PRESENT(struct thing, spec.has_raw, \"spec.raw\")" },
        { "spec.free.b:string", "KI_FIELD(struct thing, spec.free.b, \"spec.free.b\")" },
        { "spec.chain.next.next.value", "spec.chain.next.next.value, \"spec.chain.next.next.value\")" },
        { "spec", "KI_FIELD_PRESENT(struct thing, spec.chain.has_next, \"spec.chain.next\")" },
        { "spec", "/* grid: left out: a list of lists */" },
        { "spec.nodeName, spec.count ,\n spec.on", "    bool on;" },
        { "spec.nodeName,spec.nodeName",
          "\n    KI_FIELD(struct thing, spec.node_name, \"spec.nodeName\"),\n    KI_FIELD_END" },
        { "spec.limits.cpu,spec.limits.cpu:present", "spec.limits.has_cpu, " },
        { NULL, "KI_FIELD_TIME(struct thing, metadata.creation_timestamp, " },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        if (make(rows[i].fields, &err))
            fail_msg("%s: %s", rows[i].fields, ki_error_message(&err));
        if (!strstr(header, rows[i].entry))
            fail_msg("%s: no %s in %s", rows[i].fields, rows[i].entry, header);
    }
}

FIELDS_TEST(a_wrong_field_is_reported_with_its_place) {
    static const struct {
        const char *fields;
        ki_status status;
        const char *message;
    } rows[] = {
        { "spec.nodeNam", KI_ERR_NOT_FOUND, "character 6: \"spec\" has no field \"nodeNam\"; did you mean nodeName?" },
        { "spce.nodeName", KI_ERR_NOT_FOUND, "character 1: the object has no field \"spce\"; did you mean spec?" },
        { "spec.on,spec.zzzzz", KI_ERR_NOT_FOUND, "character 14: \"spec\" has no field \"zzzzz\"" },
        { "spec.items.image", KI_ERR_NOT_FOUND, "\"spec.items\" is a list; write spec.items[].image" },
        { "spec.items[].imag", KI_ERR_NOT_FOUND, "\"spec.items[]\" has no field \"imag\"; did you mean image?" },
        { "spec.nodeName.x", KI_ERR_NOT_FOUND, "character 15: \"spec.nodeName\" is a string and has no field \"x\"" },
        { "spec.nodeName[]", KI_ERR_INVALID, "character 14: \"spec.nodeName\" is a string, not a list" },
        { "spec[0]", KI_ERR_INVALID, "\"spec\" is an object, not a list" },
        { "spec.numbers", KI_ERR_INVALID, "character 1: a list of integers: a view cannot have it" },
        { "spec.numbers[].x", KI_ERR_NOT_FOUND, "has no field" },
        { "spec.grid", KI_ERR_INVALID, "a list of lists" },
        { "spec.grid[0][1]", KI_ERR_INVALID, "character 13: a list of lists" },
        { "spec.objects", KI_ERR_INVALID, "a map of objects" },
        { "spec.raw", KI_ERR_INVALID, "no type for this field; append how to read it" },
        { "spec.loop", KI_ERR_INVALID, "no type for this field" },
        { "spec.count:tiem", KI_ERR_PARSE, "character 12: there is no type \"tiem\"; did you mean time?" },
        { "spec.count:", KI_ERR_PARSE, "there is no type \"\"; write string, text," },
        { "spec.count:bool", KI_ERR_INVALID, "the value is an integer: it cannot be read as bool" },
        { "spec.items:string", KI_ERR_INVALID, "the value is a list: it cannot be read as string" },
        { "", KI_ERR_PARSE, "character 1: a field is missing" },
        { "spec.on,", KI_ERR_PARSE, "character 9: a field is missing" },
        { "spec.on,,spec", KI_ERR_PARSE, "character 9: a field is missing" },
        { "spec..on", KI_ERR_PARSE, "character 6: a name is missing" },
        { "spec.", KI_ERR_PARSE, "character 6: a name is missing" },
        { "spec.items[", KI_ERR_PARSE, "character 12: ']' is missing" },
        { "spec.items[x]", KI_ERR_PARSE, "character 12: ']' is missing" },
        { "spec.items[-1]", KI_ERR_PARSE, "']' is missing; write [], [2] or ['a.name']" },
        { "spec.items[99999999999]", KI_ERR_PARSE, "the index is too large" },
        { "spec['on", KI_ERR_PARSE, "character 6: the quote is not closed" },
        { "spec.on\\", KI_ERR_PARSE, "character 8: nothing after the backslash" },
        { "spec.on spec", KI_ERR_PARSE, "character 9: ',' expected between two fields" },
        { "spec.on]", KI_ERR_PARSE, "character 8: ',' expected between two fields" },
        { "[0]", KI_ERR_INVALID, "character 1: a path begins with a name" },
        { "metadata.labels,metadata.labels.app", KI_ERR_EXISTS, "character 17: \"labels\" gives the member" },
        { "spec.limits.a,spec.limits.a:string", KI_ERR_EXISTS, "character 15: \"a\" gives the member" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_status status = make(rows[i].fields, &err);
        if (status != rows[i].status || !strstr(ki_error_message(&err), rows[i].message))
            fail_msg("%s: %d, %s", rows[i].fields, (int)status, ki_error_message(&err));
        assert_string_equal(header, "");
    }
}

FIELDS_TEST(a_path_has_a_limit) {
    char fields[4096] = "spec.raw";
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < 40; i++)
        strcat(fields, ".a");
    assert_int_equal(make(fields, &err), KI_ERR_LIMIT);
    strcpy(fields, "spec.raw.");
    memset(fields + strlen(fields), 'a', 2000);
    assert_int_equal(make(fields, &err), KI_ERR_LIMIT);
    /* Five structs in each other. */
    assert_int_equal(make("spec.raw.a[].b[].c[].d:string", &err), KI_OK);
    assert_int_equal(make("spec.raw.a[].b[].c[].d[].e:string", &err), KI_ERR_LIMIT);
}

/* Finding the schema of a resource in documents, and what is said of a document without it. */
#include "cli/gen/schema.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define VERSION(name, served, storage) \
    "{\"name\":\"" name "\",\"served\":" served ",\"storage\":" storage \
    ",\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"description\":\"" name "\"}}}"
#define DEFINITION(group, plural, kind, versions) \
    "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"" group "\",\"names\":{\"plural\":\"" plural \
    "\",\"singular\":\"one" plural "\",\"kind\":\"" kind "\",\"shortNames\":[\"sh" plural \
    "\"]},\"versions\":[" versions "]}}"
#define FOOS \
    DEFINITION("example.com", "foos", "Foo", VERSION("v1alpha1", "true", "false") "," VERSION("v1", "true", "true"))

static const char openapi[] =
    "{\"paths\":{\"/apis/x.io/v1/namespaces/{namespace}/mice/{name}\":{\"get\":{\"x-kubernetes-group-version-kind\":"
    "{\"group\":\"x.io\",\"version\":\"v1\",\"kind\":\"Mouse\"}}},\"/apis/x.io/v1/{name}/mice/{name}/status\":{}},"
    "\"components\":{\"schemas\":{\"shared\":{\"x-kubernetes-group-version-kind\":[{\"kind\":\"Mouse\"},{\"kind\":"
    "\"Mouse\"}]},"
    "\"mouse\":{\"description\":\"m\",\"x-kubernetes-group-version-kind\":[{\"group\":\"x.io\",\"version\":\"v1\","
    "\"kind\":"
    "\"Mouse\"}]},\"core\":{\"description\":\"c\",\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"version\":"
    "\"v1\","
    "\"kind\":\"Core\"}]}}}}";

TEST(a_resource_is_found_by_each_of_its_names) {
    static const struct {
        const char *text, *name, *version, *plural;
    } rows[] = {
        { FOOS, "foos", "v1", "foos" },
        { FOOS, "Foo", "v1", "foos" },
        { FOOS, "onefoos", "v1", "foos" },
        { FOOS, "shfoos", "v1", "foos" },
        { FOOS, "foos.example.com", "v1", "foos" },
        { FOOS, "foos.v1alpha1.example.com", "v1alpha1", "foos" },
        { FOOS "\n\n" DEFINITION("b.io", "bars", "Bar", VERSION("v2", "true", "true")), "bars", "v2", "bars" },
        { "{\"kind\":\"List\",\"items\":[{}," FOOS "]}", "foo", "v1", "foos" },
        { openapi, "mice", "v1", "mice" },
        { openapi, "mouse.x.io", "v1", "mice" },
        { openapi, "Core", "v1", "" },
        { openapi, "core.v1", "v1", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gen_schema schema;
        ki_error err = KI_ERROR_INIT;
        if (gen_schema_find(rows[i].text, strlen(rows[i].text), "f", rows[i].name, NULL, &schema, &err))
            fail_msg("%s: %s", rows[i].name, ki_error_message(&err));
        assert_string_equal(schema.version, rows[i].version);
        assert_string_equal(schema.plural, rows[i].plural);
        assert_non_null(schema.root);
        gen_schema_free(&schema);
    }
}

TEST(a_document_without_the_resource_is_reported) {
    static const struct {
        const char *text, *name;
        ki_status status;
        const char *message;
    } rows[] = {
        { FOOS, "fooz", KI_ERR_NOT_FOUND, "f has no schema of the resource \"fooz\"; did you mean foos?" },
        { FOOS, "foos.other.com", KI_ERR_NOT_FOUND, "no schema of the resource" },
        { FOOS, "foos.v3.example.com", KI_ERR_NOT_FOUND, "no schema of the resource" },
        { FOOS, "foos.v1x", KI_ERR_NOT_FOUND, "no schema of the resource" },
        { openapi, "mise", KI_ERR_NOT_FOUND, "did you mean mice?" },
        { "", "foos", KI_ERR_NOT_FOUND,
          "f has no schemas: an OpenAPI v3 document or a CustomResourceDefinition is expected" },
        { "[1]", "foos", KI_ERR_NOT_FOUND, "has no schemas" },
        { "{\"kind\":\"CustomResourceDefinition\"}", "foos", KI_ERR_NOT_FOUND, "has no schemas" },
        { "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"versions\":3,\"names\":[]}}", "foos", KI_ERR_NOT_FOUND,
          "has no" },
        { DEFINITION("b.io", "bars", "Bar", "{\"name\":\"v1\",\"served\":true,\"storage\":true}"), "bars",
          KI_ERR_NOT_FOUND, "f: bars.b.io has no schema of version v1" },
        { DEFINITION("b.io", "bars", "Bar", "{\"name\":\"v1\",\"served\":true,\"schema\":{\"openAPIV3Schema\":\"x\"}}"),
          "bars", KI_ERR_NOT_FOUND, "f: bars.b.io has no schema of version v1" },
        { DEFINITION("b.io", "bars", "Bar",
                     "{\"name\":\"v1\",\"served\":true,\"schema\":{\"openAPIV3Schema\":{\"properties\":3}}}"),
          "bars", KI_ERR_NOT_FOUND, "f: bars.b.io has no schema of version v1" },
        { "{\"a\":", "foos", KI_ERR_PARSE, "f: invalid JSON at byte 5" },
        { FOOS "\nx", "bars", KI_ERR_PARSE, "f: invalid JSON at byte" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gen_schema schema;
        ki_error err = KI_ERROR_INIT;
        ki_status status = gen_schema_find(rows[i].text, strlen(rows[i].text), "f", rows[i].name, NULL, &schema, &err);
        if (status != rows[i].status || !strstr(ki_error_message(&err), rows[i].message))
            fail_msg("row %zu: %d, %s", i, (int)status, ki_error_message(&err));
    }
}

TEST(one_version_of_a_resource_can_be_asked_for) {
    static const ki_resource mouse = { "x.io", "v1", "mice", "Mouse", true },
                             old = { "x.io", "v0", "mice", "Mouse", true };
    gen_schema schema;
    assert_int_equal(gen_schema_find(openapi, sizeof openapi - 1, "f", "mice", &mouse, &schema, NULL), KI_OK);
    assert_string_equal(schema.kind, "Mouse");
    gen_schema_free(&schema);
    assert_int_equal(gen_schema_find(openapi, sizeof openapi - 1, "f", "mice", &old, &schema, NULL), KI_ERR_NOT_FOUND);
}

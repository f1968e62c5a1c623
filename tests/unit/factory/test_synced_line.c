/* test_synced_line.c: the line in the log of an informer that has synced names the fields of its view that no object of
 * any informer with that view has. On the embedded API server, in the engine's time. */
#include "tests/support/controller_stage.h"

#include <string.h>

struct any_object {
    const char *node, *type, *misspelt;
};

static const ki_field any_fields[] = { KI_FIELD(struct any_object, node, "spec.nodeName"),
                                       KI_FIELD(struct any_object, type, "type"),
                                       KI_FIELD(struct any_object, misspelt, "metadata.nam"), KI_FIELD_END };

static void request_any(const ki_resource *resource) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(stage.factory, resource,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "shop", .view = any_fields), &informer,
                                         NULL),
                     KI_OK);
}

static void start_with_any(void) {
    stage_put(&stage, KI_PODS, "shop/a", "\"labels\":{}},\"spec\":{\"nodeName\":\"n\"");
    stage_put(&stage, KI_SECRETS, "shop/a", "\"labels\":{}},\"type\":\"t\",\"data\":{");
    stage_start(&stage);
}

CONTROLLER_TEST(the_line_synced_names_the_fields_that_no_informer_with_the_struct_has) {
    request_any(KI_PODS);
    request_any(KI_SECRETS);
    start_with_any();
    const char *first = strstr(stage.synced, "; none has ");
    assert_non_null(first); /* of the last one */
    assert_string_equal(first, "; none has metadata.nam\n");
    assert_non_null(strstr(stage.synced, "pods in shop: synced, 1 object"));
    assert_non_null(strstr(stage.synced, "secrets in shop: synced, 1 object"));
}

CONTROLLER_TEST(alone_with_a_struct_an_informer_names_what_its_objects_lack) {
    request_any(KI_PODS);
    start_with_any();
    assert_non_null(strstr(stage.synced, "pods in shop: synced, 1 object; none has type, metadata.nam\n"));
}

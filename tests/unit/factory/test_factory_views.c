/* test_factory_views.c: two who ask for one informer, each with a view; objects made as the informer's own are, by its
 * view. */

#include "tests/support/test.h"

#include <kinformer/kinformer.h>

#include <stdio.h>
#include <string.h>

/* A view lies within the shared objects: read as another struct it would be memory that is not there. */
TEST(who_shares_an_informer_agrees_on_its_view) {
    enum {
        P = sizeof(char *)
    };
    static const ki_field none[] = { KI_FIELD_END };
    static const ki_field first[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      { "spec.b", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      KI_FIELD_END };
    static const ki_field same[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     { "spec.b", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     KI_FIELD_END };
    static const ki_field words[] = { { "['spec'].a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      { "spec.b", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      KI_FIELD_END };
    static const ki_field path[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     { "spec.c", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     KI_FIELD_END };
    static const ki_field step[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     { "spec[1]", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     KI_FIELD_END };
    static const ki_field depth[] = { { "spec.a.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      { "spec.b", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                      KI_FIELD_END };
    static const ki_field offset[] = { { "spec.a", P, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                       { "spec.b", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                       KI_FIELD_END };
    static const ki_field size[] = { { "spec.a", 0, 3 * P, KI_FIELD_TYPE_STRING, NULL },
                                     { "spec.b", P, 3 * P, KI_FIELD_TYPE_STRING, NULL },
                                     KI_FIELD_END };
    static const ki_field fewer[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    static const ki_field type[] = { { "spec.a", 0, 2 * P, KI_FIELD_TYPE_STRING, NULL },
                                     { "spec.b", P, 2 * P, KI_FIELD_TYPE_BOOL, NULL },
                                     KI_FIELD_END };
    static const ki_field invalid[] = { { "spec[", 0, P, KI_FIELD_TYPE_STRING, NULL }, KI_FIELD_END };
    static const struct {
        const ki_field *first, *second;
        ki_status status;
    } rows[] = {
        { first, first, KI_OK },
        { first, same, KI_OK },
        { first, NULL, KI_OK },
        { first, none, KI_OK },
        { NULL, NULL, KI_OK },
        { NULL, none, KI_OK },
        { first, words, KI_ERR_INVALID },
        { first, path, KI_ERR_INVALID },
        { first, step, KI_ERR_INVALID },
        { first, depth, KI_ERR_INVALID },
        { first, offset, KI_ERR_INVALID },
        { first, size, KI_ERR_INVALID },
        { first, fewer, KI_ERR_INVALID },
        { fewer, first, KI_ERR_INVALID },
        { first, type, KI_ERR_INVALID },
        { NULL, first, KI_ERR_INVALID },
        { none, first, KI_ERR_INVALID },
        { first, invalid, KI_ERR_INVALID },
    };
    ki_config *config = NULL;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_factory *factory = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_informer *informer = NULL, *again = NULL;
        assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
        assert_int_equal(
            ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = rows[i].first), &informer, NULL), KI_OK);
        ki_status status =
            ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = rows[i].second), &again, &err);
        if (status != rows[i].status)
            fail_msg("row %zu: %s: %s", i, ki_status_name(status), ki_error_message(&err));
        assert_ptr_equal(again, status ? NULL : informer);
        if (rows[i].second == path)
            assert_string_equal(err.message,
                                "the informer of pods has a view of spec.a, spec.b, and is requested with a view of "
                                "spec.a, spec.c: an informer has the view of its first request; read other fields by "
                                "path");
        if (status && !rows[i].first)
            assert_non_null(strstr(err.message, "pods has no view, and is requested with a view of spec.a, spec.b:"));
        ki_factory_free(factory);
    }
    ki_config_free(config);
}

TEST(a_long_view_is_cut_in_the_message) {
    static ki_field fields[32];
    static char paths[31][64];
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < 31; i++) {
        snprintf(paths[i], sizeof paths[i], "metadata.annotations['example.com/%zu']", i);
        fields[i] = (ki_field){ paths[i], i * sizeof(char *), 31 * sizeof(char *), KI_FIELD_TYPE_STRING, NULL };
    }
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = fields), &informer, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_informer(factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = fields + 1), &informer, &err),
                     KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "..., and is requested with a view of metadata.annotations['example.com/1']"));
    assert_non_null(
        strstr(err.message, "...: an informer has the view of its first request; read other fields by path"));
    ki_factory_free(factory);
    ki_config_free(config);
}

TEST(what_a_write_gave_back_becomes_an_object_like_the_informer_s_own) {
    struct deployment {
        const char *strategy;
        int64_t replicas;
    };
    static const ki_field fields[] = { KI_FIELD(struct deployment, strategy, "spec.strategy.type"),
                                       KI_FIELD(struct deployment, replicas, "spec.replicas"), KI_FIELD_END };
    static const char response[] = "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"resourceVersion\":\"7\"},"
                                   "\"spec\":{\"replicas\":3,\"strategy\":{\"type\":\"Recreate\"}}}";
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    ki_object *obj = NULL;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
    assert_int_equal(ki_factory_new(config, NULL, &factory, NULL), KI_OK);
    assert_int_equal(
        ki_factory_informer(factory, KI_DEPLOYMENTS, &KI_INFORMER_OPTIONS(.view = fields), &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_object_from_json(informer, response, sizeof response - 1, &obj, NULL), KI_OK);
    assert_string_equal(ki_object_key(obj), "shop/web");
    assert_string_equal(ki_object_kind(obj), "Deployment");
    assert_string_equal(ki_object_api_version(obj), "apps/v1");
    const struct deployment *view = ki_object_view(obj);
    assert_string_equal(view->strategy, "Recreate");
    assert_int_equal(view->replicas, 3);
    ki_object_unref(obj);

    obj = NULL;
    assert_int_equal(ki_informer_object_from_json(informer, "{\"metadata\":{}}", 15, &obj, &err), KI_ERR_PARSE);
    assert_int_equal(ki_informer_object_from_json(informer, NULL, 0, &obj, &err), KI_ERR_INVALID);
    assert_null(obj);
    ki_factory_free(factory);
    ki_config_free(config);
}

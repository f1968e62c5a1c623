/* test_claim.c: a controller adopts and releases its children by their labels, as the ControllerRefManager of
 * Kubernetes' own controllers does. The server is the embedded one, in the same process. */
#include "tests/support/controller_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static ki_client *client;
static ki_object *owner;

/* The children are Secrets, and the owner is the ConfigMap default/owner. */
static int open_stage(void **state) {
    (void)state;
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    stage_put(&stage, KI_CONFIGMAPS, "default/owner", "\"finalizers\":[\"example.com/x\"]");
    stage_start(&stage);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, 60000, NULL, NULL), KI_OK);
    owner = ki_informer_get(stage.configmaps, "default/owner");
    assert_non_null(owner);
    return 0;
}

static int close_stage(void **state) {
    ki_object_unref(owner);
    return stage_tear_down(state);
}

#define CLAIM_TEST(name) TEST_WITH(open_stage, close_stage, name)

/* Puts a Secret with a label and owner references, and waits until the informer has it. */
static void put_secret(const char *name, const char *app, const char *references) {
    char key[64], more[512];
    snprintf(key, sizeof key, "default/%s", name);
    snprintf(more, sizeof more, "\"labels\":{\"app\":\"%s\"},\"ownerReferences\":[%s]", app, references);
    stage_put(&stage, KI_SECRETS, key, more);
    ki_object *obj = NULL;
    assert_int_equal(ki_client_get(client, KI_SECRETS, "default", name, NULL, &obj, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_version(stage.secrets, key, ki_object_resource_version(obj), 60000, NULL),
                     KI_OK);
    ki_object_unref(obj);
}

static const char *reference(const char *uid, bool controls) {
    static char text[2][256];
    static int next;
    char *at = text[next++ % 2];
    snprintf(at, sizeof text[0], "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"%s\"%s}",
             uid, controls ? ",\"controller\":true" : "");
    return at;
}

static ki_status claim(const ki_object *by, ki_object_list *ret_list, ki_error *err) {
    return ki_client_claim(client, KI_CONFIGMAPS, by, stage.secrets, "app=web", NULL, ret_list, err);
}

/* Asserts the names that are claimed, in the order of the list. */
static void expect_claimed(const ki_object *by, const char *names) {
    char text[256] = "";
    ki_error err = KI_ERROR_INIT;
    ki_object_list list = { NULL, 0, NULL };
    if (claim(by, &list, &err))
        fail_msg("%s", ki_error_message(&err));
    static const char *const known[] = { "a", "b", "c", "d", "e" };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (size_t i = 0; i < list.count; i++)
            if (strcmp(ki_object_name(list.objects[i]), known[k]) == 0)
                strcat(text, known[k]);
    assert_string_equal(text, names);
    assert_int_equal(list.count, strlen(names));
    ki_object_list_free(&list);
}

static void expect_controlled(const char *name, bool is_controlled) {
    ki_object *obj = NULL;
    assert_int_equal(ki_client_get(client, KI_SECRETS, "default", name, NULL, &obj, NULL), KI_OK);
    assert_int_equal(ki_object_is_controlled_by(obj, owner), is_controlled);
    ki_object_unref(obj);
}

CLAIM_TEST(orphans_that_match_are_adopted_and_others_released) {
    put_secret("a", "web", "");
    put_secret("b", "web", reference(ki_object_uid(owner), true));
    put_secret("c", "other", reference(ki_object_uid(owner), true));
    put_secret("d", "web", reference("another", true));
    put_secret("e", "other", "");
    expect_claimed(owner, "ab");
    expect_controlled("a", true);
    expect_controlled("b", true);
    expect_controlled("c", false);
    expect_controlled("d", false);
    expect_controlled("e", false);
}

CLAIM_TEST(other_references_stay) {
    char both[600];
    snprintf(both, sizeof both, "%s,%s", reference("another", false), reference(ki_object_uid(owner), true));
    put_secret("a", "web", reference("another", false));
    put_secret("b", "other", both);
    expect_claimed(owner, "a");
    static const char *const names[] = { "a", "b" };
    for (size_t i = 0; i < 2; i++) {
        ki_object *obj = NULL;
        ki_owner_reference *references = NULL;
        size_t count = 0;
        assert_int_equal(ki_client_get(client, KI_SECRETS, "default", names[i], NULL, &obj, NULL), KI_OK);
        assert_int_equal(ki_object_owner_references(obj, &references, &count, NULL), KI_OK);
        assert_int_equal(count, i == 0 ? 2 : 1);
        assert_string_equal(references[0].uid, "another");
        ki_owner_references_free(references);
        ki_object_unref(obj);
    }
}

CLAIM_TEST(an_owner_that_is_being_deleted_claims_nothing_new) {
    put_secret("a", "web", "");
    put_secret("b", "web", reference(ki_object_uid(owner), true));
    put_secret("c", "other", reference(ki_object_uid(owner), true));
    ki_error err = KI_ERROR_INIT;
    ki_object_list list;
    assert_int_equal(ki_client_delete(client, KI_CONFIGMAPS, "default", "owner", NULL, NULL, NULL), KI_OK);
    assert_int_equal(claim(owner, &list, &err), KI_ERR_STATE); /* the cached owner is older: it is read again */
    assert_non_null(strstr(err.message, "cannot adopt default/a: ConfigMap default/owner has just been deleted"));
    expect_controlled("a", false);
    expect_controlled("c", false); /* a release needs no such check */
    ki_object *deleted = NULL;
    assert_int_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "owner", NULL, &deleted, NULL), KI_OK);
    put_secret("c", "other", reference(ki_object_uid(owner), true));
    expect_claimed(deleted, "b");
    expect_controlled("a", false);
    expect_controlled("c", true); /* and the deleted owner releases nothing */
    ki_object_unref(deleted);
}

CLAIM_TEST(an_owner_that_is_gone_adopts_nothing) {
    ki_error err = KI_ERROR_INIT;
    ki_object_list list;
    put_secret("a", "web", "");
    put_secret("b", "web", "");
    stage_delete(&stage, KI_CONFIGMAPS, "default/owner");
    ki_object *cached = ki_object_ref(owner);
    assert_int_equal(claim(cached, &list, &err), KI_ERR_HTTP);
    assert_true(ki_error_is_not_found(&err));
    stage_put(&stage, KI_CONFIGMAPS, "default/owner", ""); /* another one of that name */
    assert_int_equal(claim(cached, &list, &err), KI_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "is gone: its name has uid"));
    expect_controlled("a", false);
    ki_object_unref(cached);
}

CLAIM_TEST(a_child_that_is_gone_is_no_error) {
    put_secret("a", "web", "");
    put_secret("b", "other", reference(ki_object_uid(owner), true));
    stage_delete(&stage, KI_SECRETS, "default/a"); /* the cache may still have both */
    stage_delete(&stage, KI_SECRETS, "default/b");
    expect_claimed(owner, "");
}

CLAIM_TEST(bad_input_is_an_error) {
    ki_object_list list;
    ki_error err = KI_ERROR_INIT;
    const struct {
        const ki_object *owner;
        const char *selector, *why;
        ki_status status;
    } cases[] = {
        { owner, "", "would adopt all of them", KI_ERR_INVALID },
        { owner, NULL, "would adopt all of them", KI_ERR_INVALID },
        { owner, "a=b=c", "", KI_ERR_PARSE },
        { NULL, "app=web", "", KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            ki_client_claim(client, KI_CONFIGMAPS, cases[i].owner, stage.secrets, cases[i].selector, NULL, &list, &err),
            cases[i].status);
        assert_non_null(strstr(err.message, cases[i].why));
    }
    assert_int_equal(ki_client_claim(client, KI_CONFIGMAPS, owner, stage.secrets, "app=web",
                                     &(ki_request_options){ .size = 0 }, &list, &err),
                     KI_ERR_INVALID);
}

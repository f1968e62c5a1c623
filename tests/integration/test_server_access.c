/* test_server_access.c: the embedded server over TLS: its certificates, clients' certificates, tokens, and all of them
 * renewed while it runs. The client is libcurl. */
#include <kinformer-testing/access.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/base64.h"
#include "tests/support/test.h"

enum {
    RESPONSE_MAX = 64 * 1024,
    PATIENCE_S = 90 /* only a broken server reaches it */
};

static ki_testing_server *server;
static ki_testing_text ca = KI_TESTING_TEXT_INIT;

typedef struct response {
    CURLcode code;
    long status;
    char text[RESPONSE_MAX];
    size_t size;
} response;

static response last;

static int tear_down(void **state) {
    (void)state;
    ki_testing_text_clear(&ca);
    ki_testing_server_free(server);
    server = NULL;
    return 0;
}

#define ACCESS_TEST(name) TEST_WITH(NULL, tear_down, name)

static void start(const ki_testing_server_options *options) {
    ki_error err = KI_ERROR_INIT;
    if (ki_testing_server_new(options, &server, &err) || ki_testing_server_ca(server, &ca, &err))
        fail_msg("%s", ki_error_message(&err));
}

static size_t keep(char *data, size_t size, size_t count, void *user) {
    (void)user;
    size *= count;
    if (size > sizeof last.text - 1 - last.size)
        size = sizeof last.text - 1 - last.size;
    memcpy(last.text + last.size, data, size);
    last.size += size;
    last.text[last.size] = '\0';
    return size;
}

static void set_blob(CURL *curl, CURLoption option, const ki_testing_text *text) {
    struct curl_blob blob = { .data = text->data, .len = text->size, .flags = CURL_BLOB_COPY };
    assert_int_equal(curl_easy_setopt(curl, option, &blob), CURLE_OK);
}

static const char *const *more_headers; /* of the next get; ended with NULL */

/* GETs on a connection of its own; `token` and the certificate with its key may be NULL. */
static long get(const char *path, const char *token, const ki_testing_text *pem, const ki_testing_text *key) {
    char url[256], header[256];
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    assert_non_null(curl);
    memset(&last, 0, sizeof last);
    snprintf(url, sizeof url, "%s%s", ki_testing_server_url(server), path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)PATIENCE_S);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    set_blob(curl, CURLOPT_CAINFO_BLOB, &ca);
    if (token) {
        snprintf(header, sizeof header, "Authorization: Bearer %s", token);
        headers = curl_slist_append(NULL, header);
    }
    for (; more_headers && *more_headers; more_headers++)
        headers = curl_slist_append(headers, *more_headers);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (pem) {
        set_blob(curl, CURLOPT_SSLCERT_BLOB, pem);
        set_blob(curl, CURLOPT_SSLKEY_BLOB, key);
    }
    last.code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &last.status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return last.code == CURLE_OK ? last.status : -(long)last.code;
}

ACCESS_TEST(a_server_with_tls_lets_its_own_token_in_and_no_other) {
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_memory_equal(ki_testing_server_url(server), "https://", 8);
    assert_int_equal(get("/api/v1/pods", ki_testing_server_token(server), NULL, NULL), 200);
    assert_int_equal(get("/api/v1/pods", "no", NULL, NULL), 401);
    assert_int_equal(get("/api/v1/pods", NULL, NULL, NULL), 403);
    assert_int_equal(get("/version", NULL, NULL, NULL), 200);
}

ACCESS_TEST(headers_say_in_whose_name_it_is) {
    static const char *const jane[] = { "impersonate-user: jane", "Impersonate-Group: ops", "Impersonate-Group: dev",
                                        NULL };
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_int_equal(ki_testing_server_allow(server, "group=dev,verb=get+list,resource=pods", NULL), KI_OK);
    more_headers = jane;
    assert_int_equal(get("/api/v1/pods", ki_testing_server_token(server), NULL, NULL), 200);
    more_headers = jane;
    assert_int_equal(get("/api/v1/secrets", ki_testing_server_token(server), NULL, NULL), 403);
    assert_non_null(strstr(last.text, "secrets is forbidden: User \\\"jane\\\" cannot list resource"));
}

ACCESS_TEST(a_client_certificate_says_who_it_is) {
    ki_testing_text pem = KI_TESTING_TEXT_INIT, key = KI_TESTING_TEXT_INIT;
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_int_equal(ki_testing_server_allow(server, "group=dev,verb=get+list,resource=pods", NULL), KI_OK);
    assert_int_equal(ki_testing_server_issue_certificate(server, "jane", "dev+ops", 600, &pem, &key, NULL), KI_OK);
    assert_int_equal(get("/api/v1/pods", NULL, &pem, &key), 200);
    assert_int_equal(get("/api/v1/secrets", NULL, &pem, &key), 403);
    assert_non_null(strstr(last.text, "secrets is forbidden: User \\\"jane\\\" cannot list resource"));
    ki_testing_text_clear(&pem);
    ki_testing_text_clear(&key);
}

ACCESS_TEST(a_name_in_a_certificate_may_have_any_character) {
    ki_testing_text pem = KI_TESTING_TEXT_INIT, key = KI_TESTING_TEXT_INIT;
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_int_equal(ki_testing_server_allow(server, "user=x,verb=get,resource=pods", NULL), KI_OK);
    assert_int_equal(ki_testing_server_issue_certificate(server, "#jane,doe=<x>;+", NULL, 600, &pem, &key, NULL),
                     KI_OK);
    assert_int_equal(get("/api/v1/secrets", NULL, &pem, &key), 403);
    assert_non_null(strstr(last.text, "secrets is forbidden: User \\\"#jane,doe=<x>;+\\\" cannot list resource"));
    ki_testing_text_clear(&pem);
    ki_testing_text_clear(&key);
}

ACCESS_TEST(a_certificate_that_is_over_is_not_let_in) {
    ki_testing_text pem = KI_TESTING_TEXT_INIT, key = KI_TESTING_TEXT_INIT;
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_int_equal(ki_testing_server_issue_certificate(server, "jane", NULL, -1, &pem, &key, NULL), KI_OK);
    assert_int_equal(get("/api/v1/pods", NULL, &pem, &key), 401);
    ki_testing_text_clear(&pem);
    ki_testing_text_clear(&key);
}

ACCESS_TEST(a_new_certificate_of_the_same_ca_is_trusted_and_one_of_another_is_not) {
    ki_testing_text pem = KI_TESTING_TEXT_INIT, key = KI_TESTING_TEXT_INIT;
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    const char *token = ki_testing_server_token(server);
    assert_int_equal(ki_testing_server_issue_certificate(server, "jane", NULL, 600, &pem, &key, NULL), KI_OK);
    assert_int_equal(ki_testing_server_renew_certificate(server, false, NULL), KI_OK);
    assert_int_equal(get("/version", token, &pem, &key), 200);
    assert_int_equal(ki_testing_server_renew_certificate(server, true, NULL), KI_OK);
    assert_true(get("/version", token, NULL, NULL) < 0);
    ki_testing_text_clear(&ca);
    assert_int_equal(ki_testing_server_ca(server, &ca, NULL), KI_OK);
    assert_int_equal(get("/version", token, NULL, NULL), 200);
    assert_int_equal(get("/version", NULL, &pem, &key), 401); /* the old CA's */
    ki_testing_text_clear(&pem);
    ki_testing_text_clear(&key);
}

ACCESS_TEST(a_token_that_was_taken_away_is_401_and_another_takes_its_place) {
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    assert_int_equal(ki_testing_server_add_token(server, "token=one,user=jane", NULL), KI_OK);
    assert_int_equal(get("/api/v1/pods", "one", NULL, NULL), 200);
    assert_int_equal(ki_testing_server_remove_token(server, "one", NULL), KI_OK);
    assert_int_equal(ki_testing_server_add_token(server, "token=two,user=jane", NULL), KI_OK);
    assert_int_equal(get("/api/v1/pods", "one", NULL, NULL), 401);
    assert_int_equal(get("/api/v1/pods", "two", NULL, NULL), 200);
}

ACCESS_TEST(a_restarted_server_has_what_it_had_at_the_same_address) {
    start(&KI_TESTING_SERVER_OPTIONS(.tls = true));
    char url[128];
    snprintf(url, sizeof url, "%s", ki_testing_server_url(server));
    assert_int_equal(ki_testing_server_put(server, KI_CONFIGMAPS,
                                           "{\"metadata\":{\"name\":\"kept\",\"namespace\":\"default\"}}", 0, NULL),
                     KI_OK);
    assert_int_equal(ki_testing_server_restart(server, 1, NULL), KI_OK);
    assert_string_equal(ki_testing_server_url(server), url);
    assert_int_equal(get("/api/v1/namespaces/default/configmaps/kept", ki_testing_server_token(server), NULL, NULL),
                     200);
}

ACCESS_TEST(certificates_from_files_are_served) {
    const ki_testing_server_options options = { .size = sizeof options,
                                                .tls_certificate = KI_TEST_DATA_DIR "/tls/server.pem",
                                                .tls_key = KI_TEST_DATA_DIR "/tls/server.key",
                                                .tls_ca = KI_TEST_DATA_DIR "/tls/ca.pem" };
    start(&options);
    assert_int_equal(get("/version", NULL, NULL, NULL), 200);
    assert_int_equal(ki_testing_server_renew_certificate(server, false, NULL), KI_ERR_STATE);
}

ACCESS_TEST(files_that_do_not_fit_are_rejected_with_their_names) {
    static const struct {
        const char *certificate, *key, *ca, *words;
        ki_status status;
    } rows[] = {
        { KI_TEST_DATA_DIR "/tls/server.pem", KI_TEST_DATA_DIR "/tls/client.key", NULL, "client.key", KI_ERR_TLS },
        { KI_TEST_DATA_DIR "/tls/server.pem", NULL, NULL, "needs its key", KI_ERR_INVALID },
        { KI_TEST_DATA_DIR "/tls/none.pem", KI_TEST_DATA_DIR "/tls/server.key", NULL, "none.pem", KI_ERR_SYSTEM },
        { KI_TEST_DATA_DIR "/pod.json", KI_TEST_DATA_DIR "/tls/server.key", NULL, "pod.json", KI_ERR_TLS },
        { KI_TEST_DATA_DIR, KI_TEST_DATA_DIR "/tls/server.key", NULL, "data", KI_ERR_SYSTEM },
        { NULL, NULL, KI_TEST_DATA_DIR "/tls/ca.pem", "a CA without", KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        const ki_testing_server_options options = {
            .size = sizeof options, .tls_certificate = rows[i].certificate, .tls_key = rows[i].key, .tls_ca = rows[i].ca
        };
        assert_int_equal(ki_testing_server_new(&options, &server, &err), rows[i].status);
        assert_non_null(strstr(ki_error_message(&err), rows[i].words));
    }
}

static int start_curl(void **state) {
    (void)state;
    return curl_global_init(CURL_GLOBAL_DEFAULT) ? -1 : 0;
}

static int end_curl(void **state) {
    (void)state;
    curl_global_cleanup();
    return 0;
}

TEST_GROUP(server_access, start_curl, end_curl);

/* Copies the text after `name` up to the next quote. */
static void copy_member(const char *json, const char *name, char ret_text[64]) {
    const char *at = strstr(json, name);
    assert_non_null(at);
    at += strlen(name);
    assert_true(strcspn(at, "\"") < 64);
    snprintf(ret_text, 64, "%.*s", (int)strcspn(at, "\""), at);
}

typedef struct guessable {
    char name[64], uid[64], id[64]; /* a generated name, the account's uid, the token's id */
} guessable;

static void ask_for_token(guessable *ret_made) {
    char target[256], token[4096], claims[4096] = "";
    ki_testing_text text = KI_TESTING_TEXT_INIT;
    size_t size = 0;
    assert_int_equal(ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.seed = 7), &server, NULL), KI_OK);
    assert_int_equal(ki_testing_server_request(server, "POST", "/api/v1/namespaces/default/serviceaccounts", NULL,
                                               "{\"metadata\":{\"generateName\":\"robot-\"}}", 0, &text, NULL),
                     KI_OK);
    copy_member(text.data, "\"name\":\"", ret_made->name);
    copy_member(text.data, "\"uid\":\"", ret_made->uid);
    ki_testing_text_clear(&text);
    snprintf(target, sizeof target, "/api/v1/namespaces/default/serviceaccounts/%s/token", ret_made->name);
    assert_int_equal(ki_testing_server_request(server, "POST", target, NULL, "{}", 0, &text, NULL), KI_OK);
    const char *second = strchr(strstr(text.data, "\"token\":\""), '.') + 1;
    snprintf(token, sizeof token, "%.*s", (int)strcspn(second, "."), second);
    while (strlen(token) % 4)
        strcat(token, "=");
    assert_true(ki_base64_decode(ki_str_of(token), claims, &size));
    copy_member(claims, "\"jti\":\"", ret_made->id);
    ki_testing_text_clear(&text);
    (void)tear_down(NULL);
}

ACCESS_TEST(uids_names_and_tokens_cannot_be_computed_from_the_seed) {
    guessable first, second;
    ask_for_token(&first);
    ask_for_token(&second);
    assert_string_not_equal(first.uid, second.uid);
    assert_string_not_equal(first.id, second.id);
    assert_string_not_equal(first.name, second.name);
}

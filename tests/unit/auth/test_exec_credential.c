/* test_exec_credential.c: what a credential plugin gets, and what is used of its output. */

#include "src/auth/exec_credential.h"
#include "src/base/memory.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define V1 "client.authentication.k8s.io/v1"
#define PEM(letter) "-----BEGIN " letter "-----\\nAAAA\\n-----END " letter "-----\\n" /* as JSON has it */
#define PAIR "\"clientCertificateData\":\"" PEM("c") "\",\"clientKeyData\":\"" PEM("k") "\""
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\""

static ki_secret text(const char *value) {
    return (ki_secret){ ki_strdup(&ki_allocator_default, value), strlen(value) };
}

TEST(a_response_has_a_token_or_a_pair_or_is_rejected) {
    static const struct {
        const char *output, *token, *certificate;
        int64_t expires;
        const char *message;
    } cases[] = {
        { HEAD ",\"status\":{\"token\":\"t\"}}", "t", NULL, INT64_MAX, NULL },
        { "\n " HEAD ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"2030-01-02T03:04:05Z\"}}\n", "t", NULL,
          1893553445, NULL },
        { HEAD ",\"spec\":{},\"status\":{\"token\":\"t\",\"expirationTimestamp\":null,\"clientKeyData\":\"\"}}", "t",
          NULL, INT64_MAX, NULL },
        { HEAD ",\"status\":{" PAIR "}}", NULL, "c", INT64_MAX, NULL },
        { HEAD ",\"status\":{\"token\":\"t\"," PAIR "}}", "t", "c", INT64_MAX, NULL },
        { HEAD ",\"status\":{\"clientCertificateData\":\"c\"}}", NULL, NULL, 0, "only one of" },
        { HEAD ",\"status\":{\"clientCertificateData\":\"bar\",\"clientKeyData\":\"foo\"}}", NULL, NULL, 0,
          "status.clientCertificateData has no PEM block" },
        { HEAD ",\"status\":{\"clientCertificateData\":\"" PEM("c") "\",\"clientKeyData\":\"secret\"}}", NULL, NULL, 0,
          "status.clientKeyData has no PEM block" },
        { HEAD ",\"status\":{\"token\":\"t\",\"clientKeyData\":\"secret\"}}", NULL, NULL, 0, "only one of" },
        { HEAD ",\"status\":{}}", NULL, NULL, 0, "neither token nor" },
        { HEAD ",\"status\":{\"token\":\"\"}}", NULL, NULL, 0, "neither token nor" },
        { HEAD "}", NULL, NULL, 0, "no status" },
        { HEAD ",\"status\":\"secret\"}", NULL, NULL, 0, "no status" },
        { HEAD ",\"status\":{\"token\":17}}", NULL, NULL, 0, "status.token is not a string" },
        { HEAD ",\"status\":{\"token\":\"secret\\nX: y\"}}", NULL, NULL, 0, "control character" },
        { HEAD ",\"status\":{\"token\":\"secret\",\"expirationTimestamp\":\"soon\"}}", NULL, NULL, 0, "is not a date" },
        { "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{}}", NULL,
          NULL, 0,
          "its output has the apiVersion \"client.authentication.k8s.io/v1beta1\", the kubeconfig requires " V1 },
        { "{\"apiVersion\":\"" V1 "\"}", NULL, NULL, 0, "has the kind \"\"" },
        { "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}", NULL, NULL, 0,
          "its output has the apiVersion \"\", the kubeconfig requires " V1 },
        { "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}", NULL, NULL, 0, "has the kind \"Status\"" },
        { "", NULL, NULL, 0, "it printed nothing" },
        { " \n", NULL, NULL, 0, "it printed nothing" },
        { "secret", NULL, NULL, 0, "is not JSON" },
        { "x\n", NULL, NULL, 0, "is not JSON" },
        { HEAD ",\"status\":{\"token\":\"secret\"}", NULL, NULL, 0, "is not JSON" },
        { "[]", NULL, NULL, 0, "has the kind" },
        { "\xff\xfe\x01", NULL, NULL, 0, "is not JSON" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_exec_result response = { .expires = 0 };
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_exec_result_parse(&ki_allocator_default, V1, ki_str_of(cases[i].output), &response, &err);
        if (!status != !cases[i].message || response.expires != cases[i].expires ||
            (status && !strstr(err.message, cases[i].message)))
            fail_msg("%s: %s, %lld", cases[i].output, err.message, (long long)response.expires);
        assert_null(strstr(err.message, "secret"));
        assert_int_equal(!response.token.data, !cases[i].token);
        assert_int_equal(!response.certificate.data, !cases[i].certificate);
        if (cases[i].token)
            assert_string_equal(response.token.data, cases[i].token);
        if (cases[i].certificate)
            assert_string_equal(response.key.data, "-----BEGIN k-----\nAAAA\n-----END k-----\n");
        ki_exec_result_clear(&ki_allocator_default, &response);
    }
}

/* PEM as JSON has it. */
static char *escaped(const char *name) {
    char path[256];
    size_t size, used = 0;
    snprintf(path, sizeof path, KI_TEST_DATA_DIR "/tls/%s", name);
    char *pem = fixture_read(path, &size), *out = calloc(2, size + 1);
    assert_non_null(out);
    for (size_t i = 0; i < size; i++) {
        if (pem[i] == '\n')
            out[used++] = '\\';
        out[used++] = pem[i] == '\n' ? 'n' : pem[i];
    }
    free(pem);
    return out;
}

TEST(a_key_that_does_not_fit_its_certificate_is_rejected) {
    static const struct {
        const char *key;
        bool fits;
    } cases[] = { { "client.key", true }, { "server.key", false }, { "rsa.key", false }, { "ca.pem", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *certificate = escaped("client.pem"), *key = escaped(cases[i].key), *output = NULL;
        assert_true(asprintf(&output, HEAD ",\"status\":{\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}}",
                             certificate, key) >= 0);
        ki_exec_result response = { .expires = 0 };
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_exec_result_parse(&ki_allocator_default, V1, ki_str_of(output), &response, &err);
        assert_int_equal(status, cases[i].fits ? KI_OK : KI_ERR_CONFIG);
        if (!cases[i].fits)
            assert_string_equal(err.message, "its status.clientKeyData is not the key of its clientCertificateData");
        ki_exec_result_clear(&ki_allocator_default, &response);
        free(certificate);
        free(key);
        free(output);
    }
}

TEST(the_request_names_the_cluster_where_it_was_asked_for) {
    ki_config config = { .allocator = ki_allocator_default };
    config.server = text("https://there:6443");
    config.exec.api_version = text(V1);
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(ki_exec_request(&config, &out), KI_OK);
    assert_string_equal(out.data, HEAD ",\"spec\":{\"interactive\":false}}");
    config.exec.provide_cluster_info = true;
    ki_buffer_reset(&out, out.capacity);
    assert_int_equal(ki_exec_request(&config, &out), KI_OK);
    assert_string_equal(out.data,
                        HEAD ",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://there:6443\"}}}");
    config.tls_server_name = text("name");
    config.insecure_skip_tls_verify = config.disable_compression = true;
    config.ca = text("pem!");
    config.proxy_url = text("http://p");
    config.exec.cluster_extension = text("{\"a\":[1]}");
    ki_buffer_reset(&out, out.capacity);
    assert_int_equal(ki_exec_request(&config, &out), KI_OK);
    assert_string_equal(out.data,
                        HEAD ",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://there:6443\","
                             "\"tls-server-name\":\"name\",\"insecure-skip-tls-verify\":true,"
                             "\"certificate-authority-data\":\"cGVtIQ==\",\"proxy-url\":\"http://p\","
                             "\"disable-compression\":true,\"config\":{\"a\":[1]}}}}");
    config.exec.provide_cluster_info = false;
    ki_secret_clear(&ki_allocator_default, &config.exec.api_version);
    config.exec.api_version = text("client.authentication.k8s.io/v1beta1");
    ki_buffer_reset(&out, out.capacity);
    assert_int_equal(ki_exec_request(&config, &out), KI_OK);
    assert_string_equal(out.data,
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
                        "\"spec\":{\"interactive\":false}}");
    ki_buffer_free(&out);
    ki_secret *const all[] = { &config.server, &config.exec.api_version, &config.tls_server_name,
                               &config.ca,     &config.proxy_url,        &config.exec.cluster_extension };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ki_secret_clear(&ki_allocator_default, all[i]);
}

TEST(every_lack_of_memory_is_reported) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_exec_result response = { .expires = 0 };
        ki_status status = ki_exec_result_parse(
            &memory.allocator, V1, KI_STR(HEAD ",\"status\":{\"token\":\"t\"," PAIR "}}"), &response, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_exec_result_clear(&memory.allocator, &response);
    }
}
